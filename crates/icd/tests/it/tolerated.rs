//! Errors of applications that no GPU stops for: their results are as on a phone, and the driver says what is wrong.

use std::ptr::null;

use opencl_sys as cl;

use crate::support::{Application, again, application};

/// The numbers that a kernel makes of 3.
fn made_of_three(app: &Application, source: &str) -> Vec<i32> {
    let kernel = app.kernel(source, "k");
    let (from, to) = (app.buffer(0, &[7i32, 8, 9]), app.buffer(0, &[-1i32; 4]));
    app.set(kernel, 0, &from);
    app.set(kernel, 1, &to);
    app.run(kernel, 4);
    app.run(kernel, 4);
    app.read(to, 4)
}

#[test]
fn loads_outside_of_a_buffer_are_zeros_and_named_once() {
    let test = "tolerated::loads_outside_of_a_buffer_are_zeros_and_named_once";
    let Some(said) = again::<&str>(test, &[]) else {
        let app = application(0);
        let each =
            "kernel void k(global int *p, global int *q) { int i = get_global_id(0); q[i] = p[i] + 1; }";
        assert_eq!(made_of_three(&app, each), [8, 9, 10, 1]);
        // The part of a vector that is inside.
        let pair = "kernel void k(global int2 *p, global int *q) {
            int2 both = p[get_global_id(0) / 2];
            q[get_global_id(0)] = get_global_id(0) % 2 ? both.y : both.x;
        }";
        assert_eq!(made_of_three(&app, pair), [7, 8, 9, 0]);
        // All work-items from one address.
        let same = "kernel void k(global int2 *p, global int *q) { q[get_global_id(0)] = p[1].x + p[1].y; }";
        assert_eq!(made_of_three(&app, same), [9; 4]);
        return;
    };
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("tripipe:")).collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].contains("reads 4 bytes at offset 12 of `p`, which has 12 bytes"), "{said}");
}

#[test]
fn local_memory_of_an_argument_ends_where_the_next_may_begin() {
    let test = "tolerated::local_memory_of_an_argument_ends_where_the_next_may_begin";
    let source = "kernel void k(global float *to, local float *sum) {
        if (get_local_id(0) == 0) sum[0] = 5;
        barrier(CLK_LOCAL_MEM_FENCE);
        to[get_global_id(0)] = sum[0];
    }";
    let Some(said) = again::<&str>(test, &[("TRIPIPE_CHECK", "1")]) else {
        return shorter(&application(0), source);
    };
    assert!(said.contains("of `sum`, which has 2 bytes"), "{said}");
    shorter(&application(0), source);
}

/// Runs a kernel whose local `float` has 2 bytes.
fn shorter(app: &Application, source: &str) {
    let kernel = app.kernel(source, "k");
    let to = app.buffer(0, &[0f32; 4]);
    app.set(kernel, 0, &to);
    assert_eq!(cl!(clSetKernelArg(kernel, 1, 2, null())), cl::CL_SUCCESS);
    app.run(kernel, 4);
    if std::env::var_os("TRIPIPE_CHECK").is_none() {
        assert_eq!(app.read::<f32>(to, 4), [5.0; 4]);
    }
}
