//! Doubles on Midgard: a register holds half as many of them as of floats.

use std::sync::Arc;

use tripipe_device::{Family, catalog};
use tripipe_launch::{Argument, NdRange, Program, Value};

use super::{Passed, time};

const CHAIN: &str = "
kernel void chain(global TYPE *out, TYPE a)
{
    TYPE x = a, y = (TYPE)get_local_id(0);
    #pragma nounroll
    for (int turn = 0; turn < 16; ++turn) {
        #pragma unroll
        for (int i = 0; i < 64; ++i) {
            x = mad(y, x, y);
            y = mad(x, y, x);
        }
    }
    out[get_global_id(0)] = y;
}";

/// clpeak measured 17.2 and 9.0 GFLOP/s on a Mali-T628, 25.4 and 12.6 on a Mali-T860.
#[test]
fn a_chain_of_doubles_takes_twice_as_long_as_one_of_floats() {
    let midgard: Vec<_> = catalog().iter().filter(|gpu| gpu.family() == Family::Midgard).collect();
    assert!(midgard.len() >= 8);
    for gpu in midgard {
        let seconds = |ty: &'static str, value: Value| {
            let program = Program::from_source("chain.cl", CHAIN).define("TYPE", ty);
            let passed = vec![Passed::buffer(8 << 15), Passed::Argument(Argument::Value(value))];
            let range = NdRange::d1(1 << 15).local(64, 1, 1);
            Some(time(gpu, &Arc::new(program), "chain", passed, range)?.seconds)
        };
        let (float, double) =
            (seconds("float", Value::from(1.0_f32)), seconds("double", Value::from(1.0_f64)));
        let (Some(float), Some(double)) = (float, double) else { return };
        assert!(double >= 1.9 * float, "{}: {double} and {float} s", gpu.name());
    }
}
