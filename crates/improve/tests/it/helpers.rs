//! Kernels that call functions of their own, as beginners write them.

use std::time::Duration;

use tripipe_improve::{ALL, Options, Subject, search};
use tripipe_launch_file::NoFiles;

use crate::rewrites::{holds, leaves_alone};
use crate::{PICTURE, subject, targets};

/// A kernel over [`PICTURE`] with functions before it.
pub(crate) fn picture(functions: &str, body: &str) -> Subject {
    let source = format!(
        "{functions}\nkernel void k(global const uchar *source, global uchar *target, int width, int height) {{\n    \
        int x = get_global_id(0);\n    int y = get_global_id(1);\n    if (x >= width || y >= height) return;\n{body}}}\n"
    );
    subject(&source, PICTURE)
}

fn clamped() -> Subject {
    picture(
        "// A pixel; the border repeats.
int px(global const uchar *p, int x, int y, int w, int h)
{
    x = clamp(x, 0, w - 1);
    y = clamp(y, 0, h - 1);
    return p[y * w + x];
}
",
        "    int sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += px(source, x + i, y + j, width, height); // the window
    target[y * width + x] = sum / 9;
",
    )
}

fn zero_outside() -> Subject {
    picture(
        "inline int at(global const uchar *img, int x, int y, int w, int h) {
    if (x < 0 || x >= w) return 0;
    if (y < 0 || y >= h) return 0;
    return img[x + y * w];
}",
        "    int gx = at(source, x + 1, y, width, height) - at(source, x - 1, y, width, height);
    int gy = at(source, x, y + 1, width, height) - at(source, x, y - 1, width, height);
    target[y * width + x] = min((int)(abs(gx) + abs(gy)), 255);
",
    )
}

fn sorted() -> Subject {
    picture(
        "void sort2(uchar *a, uchar *b) { uchar t = *a; *a = min(t, *b); *b = max(t, *b); }
size_t index(int x, int y, int w) { return (size_t)y * w + x; }",
        "    uchar a = source[index(max(x - 1, 0), y, width)];
    uchar b = source[index(x, y, width)];
    uchar c = source[index(min(x + 1, width - 1), y, width)];
    sort2(&a, &b);
    sort2(&b, &c);
    sort2(&a, &b);
    target[index(x, y, width)] = b;
",
    )
}

fn with_loop() -> Subject {
    picture(
        "#define RADIUS 2
float weight(int d) { return 1.0f / (1 + d * d); }
float row(global const uchar *line, int x, int w) {
    float sum = 0;
    float norm = 0;
    for (int i = -RADIUS; i <= RADIUS; ++i) {
        int at = x + i;
        if (at < 0) at = 0;
        else if (at > w - 1) at = w - 1;
        float f = weight(i);
        sum += f * line[at];
        norm += f;
    }
    return sum / norm;
}
void put(global uchar *out, int at, float value) { out[at] = (uchar)(value + 0.5f); }",
        "    put(target, y * width + x, row(source + y * width, x, width));
",
    )
}

#[test]
fn calls_are_written_out() {
    let text = holds("inline-helpers", &clamped());
    let line =
        "sum += source[clamp(y + j, 0, height - 1) * width + clamp(x + i, 0, width - 1)]; // the window";
    assert!(text.contains(line), "{text}");
    let text = holds("inline-helpers", &zero_outside());
    assert!(!text[text.find("kernel").unwrap()..].contains(" at("), "{text}");
    for subject in [sorted(), with_loop()] {
        let text = holds("inline-helpers", &subject);
        let kernel = &text[text.find("kernel").unwrap()..];
        assert!(
            !["sort2(", "index(", "row(", "put(", "weight("].iter().any(|it| kernel.contains(it)),
            "{text}"
        );
    }
}

#[test]
fn arguments_keep_their_types_and_their_order() {
    // A `uchar` wraps, an `int` of a `float` is cut off, and the last argument is the old value.
    let subject = picture(
        "int wrap(uchar a, int b) { return a + b; }
int half_of(int a) { return a / 2; }
uchar low(int a) { return a; }
void next(int *a, int b) { *a = b + 1; *a += b; }",
        "    int v = source[y * width + x];
    int w = wrap(v * 3, half_of(v * 0.75f)) + max((int)low(v * 5), 7);
    next(&v, v);
    next(&w, v * w);
    target[y * width + x] = v + w + (v > 3 ? wrap(w, low(w)) : 1);
",
    );
    holds("inline-helpers", &subject);
}

#[test]
fn what_cannot_be_written_out_stays() {
    let search = picture(
        "int find(global const uchar *p, int n) { for (int i = 0; i < n; i++) if (p[i] > 100) return i; return n; }",
        "    target[y * width + x] = find(source, 5);\n",
    );
    leaves_alone("inline-helpers", &search);
    // `x` of the file is not the kernel's.
    let captured = picture(
        "constant int scale = 3;\nint scaled(int a) { return a * scale; }",
        "    int scale = 2;\n    target[y * width + x] = scaled(source[y * width + x]) + scale;\n",
    );
    leaves_alone("inline-helpers", &captured);
}

/// The same kernels without functions become vectors.
#[test]
fn calls_do_not_stop_vectors() {
    for subject in [clamped(), zero_outside(), sorted(), with_loop()] {
        gains(&subject, &["inline-helpers", "widen"], 0.5);
    }
}

/// Both rewrites are applied, and the kernel takes less than a share of its time on a Mali-T604.
pub(crate) fn gains(subject: &Subject, codes: &[&str], share: f64) {
    let targets = targets(&["mali-t604"]);
    let options = Options { depth: 2, width: 1, limit: Duration::from_secs(600), ..Options::default() };
    let rewrites: Vec<_> = ALL.iter().copied().filter(|rewrite| codes.contains(&rewrite.rule.code)).collect();
    let found = search(subject, &targets, &rewrites, &NoFiles, &options, &mut |_| {}).unwrap();
    let steps: Vec<&str> = found.steps.iter().map(|step| step.code).collect();
    assert_eq!(steps, codes, "{}\n{:?}", found.original.source, found.refused);
    assert!(found.ratio() < share, "{}: {}", found.original.source, found.ratio());
}
