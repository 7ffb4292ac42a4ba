//! The rate of dot products of bytes.

use std::collections::HashMap;
use std::sync::Arc;

use tripipe_device::{DeviceKind, Probe};
use tripipe_kernels::bench::Bench;
use tripipe_kernels::ceilings::arithmetic::{
    ITEMS_MAX, ITEMS_MIN, ITEMS_PER_UNIT, STARTS, STEPS, check, fastest,
};
use tripipe_kernels::ceilings::{Effort, PeakError};
use tripipe_launch::{Argument, Launch, NdRange, Program};

/// The row's name.
pub(super) const NAME: &str = "dot int8";

/// The factors that a chain's bytes are multiplied by, and the addend: chosen so that chains visit thousands of
/// values.
const BY: [i8; 4] = [77, -31, 5, 101];
const ADD: i32 = 12_345;

/// The value of `DOT` in `dot.cl` for a device, and the language option.
fn offered(probe: &Probe) -> Option<(u8, Option<&'static str>)> {
    if probe.has_extension("cl_arm_integer_dot_product_accumulate_int8") {
        return Some((2, None));
    }
    let khr = probe.has_extension("cl_khr_integer_dot_product") && probe.opencl_c >= (3, 0);
    khr.then_some((1, Some("-cl-std=CL3.0")))
}

/// Operations per second: a dot product of four bytes added to a sum counts as four multiply-adds, 8 operations.
pub(super) fn rate(bench: &mut Bench<'_>, effort: Effort) -> Result<f64, PeakError> {
    let probe = bench.probe();
    let Some((dot, language)) = offered(probe) else {
        let what = "a dot product of bytes (cl_arm_integer_dot_product_accumulate_int8, or cl_khr_integer_dot_product with OpenCL C 3.0)";
        return Err(PeakError::NotOffered { what: what.to_owned() });
    };
    let chains = if probe.kind == DeviceKind::Cpu { 8 } else { 4 };
    let items =
        (probe.compute_units as usize * ITEMS_PER_UNIT).next_power_of_two().clamp(ITEMS_MIN, ITEMS_MAX);
    let mut program = Program::from_source("peaks/dot.cl", include_str!("dot.cl"))
        .define("DOT", dot)
        .define("CHAINS", chains);
    if let Some(language) = language {
        program = program.option(language);
    }
    let bytes = items * chains * size_of::<i32>();
    let results = bench.output(bytes)?;
    let mut launch = Launch {
        program: Arc::new(program),
        entry: "dot_rate".to_owned(),
        arguments: vec![
            Argument::Memory(results),
            i32::from_ne_bytes(BY.map(|byte| byte as u8)).into(),
            ADD.into(),
        ],
        range: NdRange::d1(items),
    };
    let (turns, best) = fastest(bench, &mut launch, 1 << 24, effort)?;
    let expected: Vec<u8> = (0..STARTS)
        .flat_map(|item| (0..chains).map(move |chain| (item + chain) as i32))
        .flat_map(|start| after(start, u64::from(turns) * u64::from(STEPS)).to_ne_bytes())
        .collect();
    bench.verify(results, bytes, |found| check(found, &expected, turns))?;
    Ok(8.0 * f64::from(STEPS) * f64::from(turns) * (chains * items) as f64 / best)
}

/// One step of a chain.
fn step(x: i32) -> i32 {
    x.to_ne_bytes().iter().zip(BY).map(|(byte, by)| i32::from(*byte as i8) * i32::from(by)).sum::<i32>() + ADD
}

/// The value of a chain after this many steps. Values are bounded, so the chain soon repeats.
fn after(start: i32, steps: u64) -> i32 {
    let (mut seen, mut order, mut x) = (HashMap::new(), Vec::new(), start);
    while (order.len() as u64) < steps {
        if let Some(first) = seen.insert(x, order.len()) {
            let period = order.len() - first;
            let at = first as u64 + (steps - first as u64) % period as u64;
            return order[at as usize];
        }
        order.push(x);
        x = step(x);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coming_back_is_the_loop() {
        for start in 0..12 {
            let mut x = start;
            for steps in 0..5000 {
                if steps % 617 == 0 {
                    assert_eq!(after(start, steps), x, "{steps} steps from {start}");
                }
                x = step(x);
            }
        }
        assert_ne!(after(3, 1_000_000), after(3, 1_000_001));
    }

    #[test]
    fn dot_products_depend_on_extension_and_version() {
        let probe = |extension: &str, opencl_c| Probe {
            extensions: vec![extension.to_owned()],
            opencl_c,
            ..Probe::default()
        };
        assert_eq!(offered(&probe("cl_khr_integer_dot_product", (1, 2))), None);
        assert_eq!(offered(&probe("cl_khr_integer_dot_product", (3, 0))).map(|found| found.0), Some(1));
        let arm = probe("cl_arm_integer_dot_product_accumulate_int8", (1, 2));
        assert_eq!(offered(&arm).map(|found| found.0), Some(2));
    }
}
