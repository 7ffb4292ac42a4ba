//! Two launches as one: what is fused computes what the two compute, and twins that must stay two.

use std::time::Duration;

use tripipe_improve::{Fused, Pair, Subject, Verifier, fuse};
use tripipe_launch_file::{LaunchFile, NoFiles, Overrides, parse_sequence};

use crate::targets;

/// Two kernels, and two launches of them: `out` of the first is `in` of the second.
fn pair(kernels: &str, sizes: [&str; 2], more: [&str; 2]) -> Option<(Subject, Fused)> {
    let [first, second] = sizes;
    let [own, its] = more;
    let text = format!(
        "source = 'k.cl'\n\
         [[launch]]\nkernel = 'a'\nglobal = {first}\n\
         [[launch.argument]]\nname = 'in'\nbuffer = 'float'\ncount = [48, 60]\nrandom = {{ seed = 1 }}\n\
         [[launch.argument]]\nname = 'out'\nbuffer = 'float'\ncount = [48, 60]\nfill = 0\n\
         [[launch.argument]]\nname = 'width'\nvalue = 60\n{own}\
         [[launch]]\nkernel = 'b'\nglobal = {second}\n\
         [[launch.argument]]\nname = 'in'\nuse = 'a.out'\n\
         [[launch.argument]]\nname = 'out'\nbuffer = 'float'\ncount = [48, 60]\nfill = 0\n\
         [[launch.argument]]\nname = 'w'\nvalue = 60\n{its}"
    );
    let list = parse_sequence(&text, "k.toml", &Overrides::default()).unwrap().unwrap();
    let files: Vec<LaunchFile> = (0..2).filter_map(|launch| list.alone(launch)).collect();
    let targets = targets(&["mali-g78"]);
    let subject = Subject {
        name: "k.cl".to_owned(),
        source: kernels.to_owned(),
        folder: std::path::PathBuf::new(),
        kernel: "a".to_owned(),
        launch: files[0].clone(),
    };
    let tree = subject.tree(Some(targets[0].offered.clone())).unwrap();
    let launches = [("a", &files[0]), ("b", &files[1])];
    let fused = fuse(&tree, &Pair { launches, shared: &[(1, 0)], passing: &[1] }).ok()?;
    let source = fused.source.clone();
    Some((Subject { source, kernel: fused.kernel.clone(), launch: fused.launch.clone(), ..subject }, fused))
}

/// What the kernel in place of two computes is what the two do, in one of `sizes` and in others.
fn holds(kernels: &str, sizes: &str) -> Fused {
    let (subject, fused) =
        pair(kernels, [sizes; 2], [""; 2]).unwrap_or_else(|| panic!("two stay two: {kernels}"));
    let targets = targets(&["mali-g78"]);
    let verifier =
        Verifier::of_calls(&subject, &fused.calls, &targets, &NoFiles, Duration::from_secs(60)).unwrap();
    let verified =
        verifier.verify(&subject, &[], &[], 0.0).unwrap_or_else(|error| panic!("{error}\n{}", fused.source));
    assert!(verified.launches > 3 && verified.whole, "{verified:?}");
    // Something else is found out.
    let at = subject.source.rfind("* 0.5f").unwrap();
    let wrong = format!("{}* 0.25f{}", &subject.source[..at], &subject.source[at + 6..]);
    let wrong = Subject { source: wrong, ..subject };
    assert!(verifier.verify(&wrong, &[], &[], 0.0).is_err(), "{}", wrong.source);
    fused
}

fn stays(kernels: &str, sizes: [&str; 2]) {
    assert!(pair(kernels, sizes, [""; 2]).is_none(), "{kernels}");
}

const SCALE: &str = "kernel void a(global const float *in, global float *out, int width) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width) return;
    out[y * width + x] = in[y * width + x] * 0.5f;
}\n";

#[test]
fn what_passes_stays_in_a_register() {
    let fused = holds(
        &format!(
            "{SCALE}kernel void b(global const float *restrict in, global float *out, int w) {{
    size_t col = get_global_id(0), row = get_global_id(1);
    if (col >= w)
        return;
    float sum = in[row * w + col];
    out[row * w + col] = sum * in[row * w + col] + w; // both loads
}}\n"
        ),
        "[60, 48]",
    );
    assert_eq!(fused.kernel, "a_b");
    let (shorter, dropped) = fused.shorter.unwrap();
    assert_eq!(dropped, [1]);
    assert!(
        shorter.contains("kernel void a_b(global const float *in, int width, global float *out_1)"),
        "{shorter}"
    );
    assert!(shorter.contains("\n    float out_2 = in[y * width + x] * 0.5f;\n"), "{shorter}");
    assert!(shorter.contains("out_1[row * width + col] = sum * out_2 + width; // both loads"), "{shorter}");
    // The second test says what the first does, and is left out.
    assert!(shorter.matches("return;").count() == 3, "{shorter}");
    assert!(fused.conditions[0].contains("`width` of `a` and `w` of `b`"), "{:?}", fused.conditions);
}

#[test]
fn tests_of_the_same_form_pass_too() {
    let fused = holds(
        "kernel void a(global const float *in, global float *out, int width) {
    int i = get_global_id(0);
    if (i < width) out[i] = in[i] * 0.5f;
}
kernel void b(global const float *in, global float *out, int w) {
    int k = get_global_id(0);
    if (k < w) { out[k] = in[k] + 1; }
}\n",
        "64",
    );
    assert!(fused.shorter.unwrap().0.contains("out_1[i] = out_2 + 1;"));
    // Without the test, work-items behind the width load what was there before.
    let fused = holds(
        "kernel void a(global const float *in, global float *out, int width) {
    int i = get_global_id(0);
    if (i < width) out[i] = in[i] * 0.5f;
}
kernel void b(global const float *in, global float *out, int w) {
    int k = get_global_id(0);
    out[k] = in[k] + 1;
}\n",
        "64",
    );
    assert!(fused.shorter.is_none() && fused.source.contains("out_1[i] = out[i] + 1;"), "{}", fused.source);
}

#[test]
fn launches_that_differ_stay_two() {
    let plain = "kernel void b(global const float *in, global float *out, int w) {
    out[get_global_id(1) * w + get_global_id(0)] = in[get_global_id(1) * w + get_global_id(0)];
}\n";
    // Other sizes; an end of the first kernel that is none of the second.
    stays(&format!("{SCALE}{plain}"), ["[60, 48]", "[48, 60]"]);
    stays(&format!("{SCALE}{plain}"), ["[60, 48]"; 2]);
    for second in [
        // A neighbour; the other order; a step that one work-item makes alone; an address of its own.
        "out[y * w + x] = in[y * w + max(x - 1, 0)];",
        "out[y * w + x] = in[x * 48 + y];",
        "if (x == 0) for (int k = 0; k < w; k++) out[y * w + k] = in[y * w + k];",
        "out[y * w + x] = vload2(0, in + y * w + x).x;",
        // A barrier.
        "barrier(CLK_GLOBAL_MEM_FENCE); out[y * w + x] = in[y * w + x];",
    ] {
        let second = format!(
            "kernel void b(global const float *in, global float *out, int w) {{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= w) return;
    {second}
}}\n"
        );
        stays(&format!("{SCALE}{second}"), ["[60, 48]"; 2]);
    }
    // Something that is done where the first kernel has ended.
    let early = "kernel void b(global const float *in, global float *out, int w) {
    const int x = get_global_id(0), y = get_global_id(1);
    out[y * 60 + x] = 1.0f;
    if (x >= w) return;
    out[y * 60 + x] = in[y * w + x];
}\n";
    stays(&format!("{SCALE}{early}"), ["[60, 48]"; 2]);
    // An element for several work-items.
    let many = "kernel void a(global const float *in, global float *out, int width) {
    out[get_global_id(0)] = in[get_global_id(0)] * 0.5f;
}
kernel void b(global const float *in, global float *out, int w) {
    out[get_global_id(0)] = in[get_global_id(0)];
}\n";
    stays(many, ["[60, 48]"; 2]);
}
