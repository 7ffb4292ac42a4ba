//! `TRIPIPE_EXECUTE=sample`: work-groups that the timing model runs are computed, the others' bytes are undefined.

use std::ptr::{null, null_mut};

use opencl_sys as cl;

use crate::support::{again, application};

/// More work-items than are needed to predict the time.
const MANY: usize = 1 << 22;

const SOURCE: &str = "
kernel void fill(global uint *to, global const uint *from) {
    size_t i = get_global_id(0);
    uint sum = i;
    for (int k = 0; k < 8; k++) sum = sum * 3 + from[(i + k) & 63];
    to[i] = sum;
}
kernel void pick(global uint *to, global const uint *from) { to[get_global_id(0)] = from[get_global_id(0)]; }";

fn filled(i: u32, from: &[u32]) -> u32 {
    (0..8).fold(i, |sum, k| sum.wrapping_mul(3).wrapping_add(from[(i as usize + k) & 63]))
}

fn run_samples() {
    let app = application(0);
    let numbers: Vec<u32> = (0..64).map(|i| i * 11).collect();
    let (from, large) = (app.buffer(cl::CL_MEM_READ_ONLY, &numbers), app.buffer(0, &vec![5u32; MANY]));
    let picked = app.buffer(0, &[0u32; 64]);
    let fill = app.kernel(SOURCE, "fill");
    app.set(fill, 0, &large);
    app.set(fill, 1, &from);
    app.run(fill, MANY);
    // What the kernel cannot write is as it was; the rest reads as the pattern.
    assert_eq!(app.read::<u32>(from, 64), numbers);
    assert!(app.read::<u32>(large, MANY).iter().all(|number| *number == u32::MAX));
    // A launch that the timing model runs as a whole is computed as a whole, from what the samples have written.
    let pick = app.kernel(SOURCE, "pick");
    app.set(pick, 0, &picked);
    app.set(pick, 1, &large);
    app.run(pick, 64);
    let expected: Vec<u32> = (0..64).map(|i| filled(i, &numbers)).collect();
    assert_eq!(app.read::<u32>(picked, 64), expected);
    // What the application writes is defined again.
    let two = [1u32, 2];
    let written =
        cl!(clEnqueueWriteBuffer(app.queue, large, 1, 4, 8, two.as_ptr().cast(), 0, null(), null_mut()));
    assert_eq!(written, cl::CL_SUCCESS);
    assert_eq!(app.read::<u32>(large, 4), [u32::MAX, 1, 2, u32::MAX]);
    // So is a small launch over the same memory, in the part that it was given.
    app.run(fill, 64);
    let after = app.read::<u32>(large, 4);
    assert_eq!(after[1..3], [filled(1, &numbers), filled(2, &numbers)]);
}

#[test]
fn samples_are_computed_and_the_rest_is_undefined() {
    let variables = [("TRIPIPE_EXECUTE", "sample"), ("TRIPIPE_LOG", "1")];
    let Some(said) = again("sample::samples_are_computed_and_the_rest_is_undefined", &variables) else {
        run_samples();
        return;
    };
    assert!(
        said.contains(&format!("{} bytes that are read are undefined", MANY * 4)) && said.contains("0xff"),
        "{said}"
    );
}
