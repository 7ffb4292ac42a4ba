//! What real drivers do wrong, made by this one on purpose (`TRIPIPE_INJECT`).

use std::ptr::{null, null_mut};

use opencl_sys as cl;

use crate::support::{Application, again, application};

/// Packs nibbles through 8-bit numbers; another kernel of the same program through words.
const NIBBLES: &str = "kernel void k(global const uint *from, global uint *to) {
    uint word = from[get_global_id(0)];
    uchar low = (word & 0xF) | ((word >> 8 & 0xF) << 4);
    uchar high = (word >> 16 & 0xF) | ((word >> 24 & 0xF) << 4);
    to[get_global_id(0)] = low | (uint)high << 8;
}
kernel void words(global const uint *from, global uint *to) {
    uint word = from[get_global_id(0)];
    uint low = (word & 0xFu) + (word >> 8 & 0xFu) * 16u;
    uint high = (word >> 16 & 0xFu) + (word >> 24 & 0xFu) * 16u;
    to[get_global_id(0)] = low | high << 8;
}";

fn packed(app: &Application, name: &str) -> Vec<u32> {
    let kernel = app.kernel(NIBBLES, name);
    let (from, to) = (app.buffer(0, &[0x0102_0304u32, 5, 0, 0xFFFF_FFFF]), app.buffer(0, &[0u32; 4]));
    app.set(kernel, 0, &from);
    app.set(kernel, 1, &to);
    app.run(kernel, 4);
    app.read(to, 4)
}

#[test]
fn results_are_wrong_where_the_pattern_is() {
    let test = "inject::results_are_wrong_where_the_pattern_is";
    let right = [0x1234, 5, 0, 0xFFFF];
    let Some(said) = again::<&str>(test, &[("TRIPIPE_INJECT", "adreno-nibble-packing")]) else {
        let app = application(0);
        assert_eq!(packed(&app, "k"), right.map(|word| word ^ 1));
        assert_eq!(packed(&app, "words"), right);
        return;
    };
    assert!(!said.contains("tripipe:"), "{said}");
    assert_eq!(packed(&application(0), "k"), right);
}

#[test]
fn a_program_does_not_build_and_its_log_says_why() {
    let test = "inject::a_program_does_not_build_and_its_log_says_why";
    let source = |what: &str| format!("kernel void k(global int *p, int n) {{ p[0] = {what}; }}");
    let build = |app: &Application, what: &str| {
        let program = app.program(&source(what));
        let built = cl!(clBuildProgram(program, 0, null(), null(), None, null_mut()));
        (built, app.log(program))
    };
    let Some(_) = again::<&str>(test, &[("TRIPIPE_INJECT", "adreno-min-of-local-size")]) else {
        let app = application(0);
        let (built, log) = build(&app, "min(n, (int)get_local_size(0))");
        assert_eq!(built, cl::CL_BUILD_PROGRAM_FAILURE);
        assert!(log.contains("kernel `k`") && log.contains("adreno-min-of-local-size"), "{log}");
        assert_eq!(build(&app, "min(n, 5)").0, cl::CL_SUCCESS);
        return;
    };
    assert_eq!(build(&application(0), "min(n, (int)get_local_size(0))").0, cl::CL_SUCCESS);
}

#[test]
fn launches_fail_as_with_too_few_resources() {
    let test = "inject::launches_fail_as_with_too_few_resources";
    let launched = || {
        let app = application(0);
        let kernel = app.kernel("kernel void k(global int *p) { p[get_global_id(0)] = 1; }", "k");
        app.set(kernel, 0, &app.buffer(0, &[0i32; 4]));
        app.enqueue(kernel, 4)
    };
    let Some(_) = again::<&str>(test, &[("TRIPIPE_INJECT", "mali-t860-resources")]) else {
        assert_eq!(launched(), cl::CL_OUT_OF_RESOURCES);
        return;
    };
    assert_eq!(launched(), cl::CL_SUCCESS);
}

/// Whether messages are asked for or not: right results would seem to prove something.
#[test]
fn an_unknown_id_is_named_once() {
    let test = "inject::an_unknown_id_is_named_once";
    let Some(said) = again::<&str>(test, &[("TRIPIPE_INJECT", "adreno-nibble-pakking")]) else {
        let app = application(0);
        assert_eq!(packed(&app, "k"), packed(&app, "words"));
        return;
    };
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("tripipe:")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(
        lines[0].contains("TRIPIPE_INJECT") && lines[0].contains("did you mean `adreno-nibble-packing`"),
        "{said}"
    );
}
