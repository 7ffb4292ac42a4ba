//! Loops as beginners write them: `while`, pointers that walk, counters declared at the top.

use crate::helpers::{gains, picture};
use crate::rewrites::{holds, leaves_alone, rows};
use tripipe_improve::Subject;

fn with_while() -> Subject {
    picture(
        "constant int taps[5] = { 1, 4, 6, 4, 1 };",
        "    int k, sum = 0;
    int at;
    k = -2;
    while (k <= 2) {
        at = clamp(x + k, 0, width - 1);
        sum += taps[k + 2] * source[y * width + at];
        k++;
    }
    target[y * width + x] = sum / 16;
",
    )
}

fn with_pointer() -> Subject {
    picture(
        "",
        "    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    global const uchar *p = source + (y - 1) * width + x - 1;
    int sum = 0;
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++)
            sum += *p++;
        p += width - 3;
    }
    target += y * width + x;
    *target = sum / 9;
",
    )
}

fn with_index() -> Subject {
    picture(
        "",
        "    if (x + 7 >= width) return;
    int i = 0, best = 0;
    int at = y * width + x;
    do {
        int v = source[at++];
        if (v > best) best = v;
        i += 1;
    } while (i < 8);
    target[y * width + x] = best;
",
    )
}

fn product() -> Subject {
    rows(
        "    global const float *p = in + r * columns;
    int k = 0;
    float sum = 0;
    while (k < columns) {
        sum += *p * p[0];
        p++;
        ++k;
    }
    out[r] = sum;",
    )
}

#[test]
fn loops_count() {
    let text = holds("count-loops", &with_while());
    assert!(text.contains("for (k = -2; k <= 2; k++) {"), "{text}");
    let text = holds("count-loops", &with_pointer());
    assert!(!text.contains("p++") && !text.contains("+=  "), "{text}");
    let text = holds("count-loops", &with_index());
    assert!(text.contains("for (int i = 0; i < 8; i += 1)"), "{text}");
    let text = holds("count-loops", &product());
    assert!(text.contains("sum += p[k] * p[k];"), "{text}");
}

#[test]
fn what_is_read_later_has_its_value() {
    let subject = rows(
        "    int k = 0, steps = 0;
    float sum = 0;
    global const float *p = in + r * columns + columns;
    while (k < columns) { sum += *--p; if (sum > 3) steps += 2; k += 3; }
    int j = columns;
    for (; j > 2; j -= 2) sum -= in[r * columns + j - 1] * 0.5f;
    out[r] = sum + k + steps + j + (p - in) * 0.001f;",
    );
    holds("count-loops", &subject);
    let subject = rows(
        "    int n = 0, at = r * columns;
    float sum = 0;
    for (int i = 0; i < (int)r % 5; i++) { sum += in[at]; at += 2; n++; for (int j = 0; j < n; j++) sum += in[at + j % 3]; }
    out[r] = sum + at + n;",
    );
    holds("count-loops", &subject);
}

#[test]
fn what_does_not_count_stays() {
    let search = rows(
        "    int k = 0;
    while (k < columns) { if (in[r * columns + k] > 0.9f) break; k += in[r] > 0.5f ? 1 : 2; }
    out[r] = k;",
    );
    leaves_alone("count-loops", &search);
    leaves_alone(
        "count-loops",
        &rows("    float s = 0;\n    for (int k = 0; k < columns; k++) s += in[k];\n    out[r] = s;"),
    );
}

#[test]
fn loops_do_not_stop_vectors() {
    gains(&with_while(), &["count-loops", "widen"], 0.6);
    gains(&with_pointer(), &["count-loops", "widen"], 0.6);
    gains(&with_index(), &["count-loops", "widen"], 0.6);
    gains(&product(), &["count-loops", "batch-loads"], 0.8);
}

#[test]
fn what_is_said_about_a_loop_stays() {
    for hint in ["#pragma unroll", "__attribute__((opencl_unroll_hint(3)))"] {
        let subject = picture(
            "",
            &format!(
                "    int sum = 0;\n    {hint}\n    for (int i = -1; i <= 1; i++)\n        \
                sum += source[y * width + clamp(x + i, 0, width - 1)];\n    target[y * width + x] = sum / 3;\n"
            ),
        );
        assert!(holds("widen", &subject).contains(hint));
        holds("batch-loads", &product_with(hint));
    }
}

fn product_with(hint: &str) -> Subject {
    rows(&format!(
        "    float sum = 0;\n    for (int j = 0; j < 2; j++)\n    {hint}\n    for (int k = 0; k < columns; k++) sum += in[r * columns + k];\n    out[r] = sum;"
    ))
}

/// Both forms of a window whose border repeats, and one that is left out outside.
#[test]
fn limits_are_seen() {
    let window = |limits: &str| {
        picture(
            "",
            &format!(
                "    int sum = 0, i;\n    for (int j = -1; j <= 1; j++)\n        for (i = -1; i <= 1; i++) {{\n            \
                int xx = x + i, yy = y + j;\n{limits}            sum += source[yy * width + xx];\n        }}\n    \
                target[y * width + x] = sum / 9;\n"
            ),
        )
    };
    let limited = window(
        "            if (xx < 0) xx = 0;
            if (xx >= width) { xx = width - 1; }
            yy = yy < 0 ? 0 : yy;
            yy = height > yy ? yy : height - 1;
",
    );
    let text = holds("clamp-indices", &limited);
    let line = "int xx = min(max(x + i, 0), width - 1), yy = min(max(y + j, 0), height - 1);";
    assert!(text.contains(line), "{text}");
    let skipped = window("            if (xx < 0 || yy < 0 || xx >= width || yy > height - 1) continue;\n");
    let text = holds("clamp-indices", &skipped);
    assert!(text.contains("if (xx >= 0 && yy >= 0 && xx < width && yy <= height - 1) {"), "{text}");
    gains(&limited, &["clamp-indices", "widen"], 0.4);
    leaves_alone("clamp-indices", &rows("    float v = in[r];\n    if (v < 0) v = 0;\n    out[r] = v;"));
    holds(
        "count-loops",
        &rows(
            "    float sum = 0;\n    int k = 0;\n    do { sum += in[r * columns + k]; } while (++k < columns - 69);\n    out[r] = sum + k;",
        ),
    );
}
