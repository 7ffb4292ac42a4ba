//! Neighbouring values of a parameter have neighbouring times: what the front end unrolls is no cliff.

use std::sync::Arc;

use tripipe_device::find;
use tripipe_launch::{NdRange, Program};
use tripipe_timing::Options;

use crate::engine::{Passed, device, time, zeros};

/// Loops of STEPS turns: sums of a row and of a column, and arithmetic alone. The column is left out on Midgard, where the
/// registers of unrolled loads change the threads of a core.
const LOOPS: &str = "
kernel void taps(global const float *restrict in, global float *restrict out, int width)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int i = 0; i < STEPS; ++i) sum += in[y * width + x + i];
    out[y * width + x] = sum / STEPS;
}
kernel void column(global const float *restrict a, global const float *restrict by, global float *restrict out)
{
    const int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < STEPS; ++k) sum += a[k * 4096 + row] * by[k];
    out[row] = sum;
}
kernel void iterated(global const float *restrict in, global float *restrict out, int width)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const float a = in[y * width + x], b = 0.001f * y;
    float u = 0, v = 0, sum = 0;
    for (int i = 0; i < STEPS; ++i) {
        const float t = u * u - v * v + a;
        v = 2 * u * v + b;
        u = t;
        sum += fmin(u * u + v * v, 4.0f);
    }
    out[y * width + x] = sum;
}
";

/// Each value is at most a third more than the one before, so that the work of a turn decides the time.
#[test]
fn one_more_turn_of_a_loop_is_no_cliff() {
    const WIDTH: usize = 512;
    for (entry, gpus) in [
        ("taps", &["mali-t860", "mali-g77", "mali-g710", "adreno-640"][..]),
        ("iterated", &["mali-t860", "mali-g77", "mali-g710", "adreno-640"]),
        ("column", &["mali-g77", "mali-g710", "adreno-640"]),
    ] {
        for name in gpus {
            let mut before: Option<(usize, f64)> = None;
            for steps in [96, 128, 160, 192, 256] {
                let program = Arc::new(Program::from_source("loops.cl", LOOPS).define("STEPS", steps));
                let Some(mut gpu) = device(find(name).unwrap(), Options::default(), &program, entry) else {
                    return;
                };
                let square = || zeros(4 * WIDTH * WIDTH);
                let (passed, range) = if entry == "column" {
                    (vec![zeros(4 * 4096 * steps), square(), square()], NdRange::d1(4096).local(64, 1, 1))
                } else {
                    let range = NdRange::d2(WIDTH / 2, 64).local(64, 1, 1);
                    (vec![square(), square(), Passed::Int(WIDTH)], range)
                };
                let seconds = time(&mut gpu, &program, entry, &passed, range).seconds / steps as f64;
                if let Some((fewer, less)) = before {
                    let ratio = seconds / less;
                    assert!(
                        (1.0 / 1.5..=1.5).contains(&ratio),
                        "{entry} on {name}: a turn of {steps} takes {ratio:.2} times one of {fewer}"
                    );
                }
                before = Some((steps, seconds));
            }
        }
    }
}
