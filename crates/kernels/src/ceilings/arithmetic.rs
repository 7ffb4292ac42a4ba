//! Multiply-add rates.

use std::sync::Arc;

use half::f16;
use tripipe_device::DeviceKind;
use tripipe_launch::{Argument, Launch, NdRange, Program, ScalarType};

use super::{Effort, PeakError};
use crate::bench::Bench;

/// A type whose multiply-adds are measured.
#[derive(Clone, Copy, Debug)]
pub struct MultiplyAddType {
    /// The row's name.
    pub name: &'static str,
    element: ScalarType,
    how: MultiplyAddForm,
    /// Each iteration applies x * factor + plus 31 times, then x * factor + minus once.
    factor: i64,
    plus: i64,
    minus: i64,
    /// Maximum number of iterations for which all values are exact.
    turns_max: u32,
}

/// The form of the multiply-add in OpenCL C; the number is `HOW` in `arithmetic.cl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MultiplyAddForm {
    /// `x * factor + plus`.
    Expression = 0,
    /// `mad()`.
    Mad = 1,
    /// `mad24()`: 24-bit integers.
    Mad24 = 2,
    /// `mul24()`, then an addition.
    Mul24 = 3,
}

/// Multiply-adds per iteration of each chain, as in `arithmetic.cl`.
pub const STEPS: u32 = 32;
/// Starting values repeat after this many work-items.
pub const STARTS: usize = 4;
/// Enough work-items to fill a compute unit several times; desktop GPUs hold 2048 of them.
pub const ITEMS_PER_UNIT: usize = 2048;
/// Minimum number of work-items.
pub const ITEMS_MIN: usize = 1 << 12;
/// Maximum number of work-items.
pub const ITEMS_MAX: usize = 1 << 20;

/// Integers: a factor of 1 modulo 4 and an odd summand visit all values of the type before one repeats. Floats and
/// 24-bit integers: whole numbers, up to 2^53 in double, 2^24 in float, 2^11 in half and 2^23 in 24 bits; the 31
/// steps of an iteration need a few of these.
pub const MADS: &[MultiplyAddType] = &[
    MultiplyAddType::counting("mad float", ScalarType::F32, MultiplyAddForm::Mad, 1 << 23),
    MultiplyAddType::counting("mad half", ScalarType::F16, MultiplyAddForm::Mad, 1900),
    MultiplyAddType::counting("mad double", ScalarType::F64, MultiplyAddForm::Mad, 1 << 24),
    MultiplyAddType {
        name: "mad int",
        element: ScalarType::I32,
        how: MultiplyAddForm::Expression,
        factor: 1_664_525,
        plus: 1_013_904_223,
        minus: 12_345,
        turns_max: 1 << 24,
    },
    MultiplyAddType::counting("mad24 int", ScalarType::I32, MultiplyAddForm::Mad24, (1 << 23) - 100),
    MultiplyAddType::counting("mul24 int", ScalarType::I32, MultiplyAddForm::Mul24, (1 << 23) - 100),
    MultiplyAddType {
        name: "mad short",
        element: ScalarType::I16,
        how: MultiplyAddForm::Expression,
        factor: 25_173,
        plus: 13_849,
        minus: 4_321,
        turns_max: 1 << 24,
    },
    MultiplyAddType {
        name: "mad char",
        element: ScalarType::I8,
        how: MultiplyAddForm::Expression,
        factor: 77,
        plus: 31,
        minus: 9,
        turns_max: 1 << 24,
    },
];

impl MultiplyAddType {
    /// A multiply-add that counts iterations: each adds exactly 1.
    const fn counting(name: &'static str, element: ScalarType, how: MultiplyAddForm, turns_max: u32) -> Self {
        Self { name, element, how, factor: 1, plus: 1, minus: -30, turns_max }
    }

    /// Whether this is the reference rate for arithmetic in `element`.
    pub fn stands_for(&self, element: ScalarType) -> bool {
        use ScalarType::{F16, F32, F64, I8, I16, I32, U8, U16, U32};
        if matches!(self.how, MultiplyAddForm::Mad24 | MultiplyAddForm::Mul24) {
            return false;
        }
        match self.element {
            F64 => element == F64,
            F32 => element == F32,
            F16 => element == F16,
            I32 => matches!(element, I32 | U32),
            I16 => matches!(element, I16 | U16),
            I8 => matches!(element, I8 | U8),
            _ => false,
        }
    }

    fn argument(&self, value: i64) -> Argument {
        match self.element {
            ScalarType::F64 => (value as f64).into(),
            ScalarType::F32 => (value as f32).into(),
            ScalarType::F16 => f16::from_f32(value as f32).into(),
            ScalarType::I16 => (value as i16).into(),
            ScalarType::I8 => (value as i8).into(),
            _ => (value as i32).into(),
        }
    }

    fn write(&self, value: i64, to: &mut Vec<u8>) {
        match self.element {
            ScalarType::F64 => to.extend((value as f64).to_ne_bytes()),
            ScalarType::F32 => to.extend((value as f32).to_ne_bytes()),
            ScalarType::F16 => to.extend(f16::from_f32(value as f32).to_ne_bytes()),
            ScalarType::I16 => to.extend((value as i16).to_ne_bytes()),
            ScalarType::I8 => to.extend((value as i8).to_ne_bytes()),
            _ => to.extend((value as i32).to_ne_bytes()),
        }
    }

    /// The value of `start` after `turns` iterations, in wrapping 64-bit arithmetic; narrower types use the low bits.
    fn after(&self, start: i64, turns: u32) -> i64 {
        let step = Affine { factor: self.factor, summand: self.plus };
        let last = Affine { factor: self.factor, summand: self.minus };
        step.repeated(STEPS - 1).then(last).repeated(turns).apply(start)
    }

    /// The values that [`STARTS`] neighbouring work-items write.
    fn expected(&self, chains: usize, width: usize, turns: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for item in 0..STARTS {
            for chain in 0..chains {
                for lane in 0..width {
                    self.write(self.after((item + chain + lane) as i64, turns), &mut bytes);
                }
            }
        }
        bytes
    }
}

/// x * factor + summand, wrapping.
#[derive(Clone, Copy)]
struct Affine {
    factor: i64,
    summand: i64,
}

impl Affine {
    fn apply(self, x: i64) -> i64 {
        x.wrapping_mul(self.factor).wrapping_add(self.summand)
    }

    /// The composition: first `self`, then `next`.
    fn then(self, next: Self) -> Self {
        Self { factor: self.factor.wrapping_mul(next.factor), summand: next.apply(self.summand) }
    }

    fn repeated(self, mut times: u32) -> Self {
        let (mut all, mut power) = (Self { factor: 1, summand: 0 }, self);
        while times > 0 {
            if times & 1 == 1 {
                all = all.then(power);
            }
            power = power.then(power);
            times >>= 1;
        }
        all
    }
}

/// Operations per second of one type at one vector width.
///
/// # Errors
/// The device lacks the type or failed, or the result is wrong.
pub fn rate(
    bench: &mut Bench<'_>,
    mad: &MultiplyAddType,
    width: usize,
    effort: Effort,
) -> Result<f64, PeakError> {
    let half = mad.element == ScalarType::F16;
    let probe = bench.probe();
    // A CPU's compiler fuses the expression; PoCL's mad() is a separate multiplication and addition.
    let how = match mad.how {
        MultiplyAddForm::Mad if probe.kind == DeviceKind::Cpu => MultiplyAddForm::Expression,
        how => how,
    };
    if half && !probe.fp16() {
        return Err(PeakError::NotOffered { what: "half-precision arithmetic (cl_khr_fp16)".to_owned() });
    }
    let double = mad.element == ScalarType::F64;
    if double && !probe.fp64() {
        return Err(PeakError::NotOffered { what: "double-precision arithmetic (cl_khr_fp64)".to_owned() });
    }
    let chains = match (probe.kind, width) {
        // A core runs one work-item at a time: only independent chains hide the latency of two wide multiply-adds per
        // clock, of 4 to 6 clocks each.
        (DeviceKind::Cpu, _) => 12,
        // Many work-items hide it, and four chains of wide vectors would exceed the registers of a Mali.
        (_, 1..=4) => 4,
        _ => 2,
    };
    let item_bytes = chains * width * mad.element.bytes();
    let mut items =
        (probe.compute_units as usize * ITEMS_PER_UNIT).next_power_of_two().clamp(ITEMS_MIN, ITEMS_MAX);
    while probe.max_buffer_bytes != 0
        && (items * item_bytes) as u64 > probe.max_buffer_bytes / 4
        && items > STARTS
    {
        items /= 2;
    }
    let program = Program::from_source("ceilings/arithmetic.cl", include_str!("arithmetic.cl"))
        .define("TYPE", mad.element.opencl_name())
        .define("HOW", how as u8)
        .define("HALF", u8::from(half))
        .define("DOUBLE", u8::from(double))
        .define("WIDTH", width)
        .define("CHAINS", chains);
    let results = bench.output(items * item_bytes)?;
    let [factor, plus, minus] = [mad.factor, mad.plus, mad.minus].map(|value| mad.argument(value));
    let mut launch = Launch {
        program: Arc::new(program),
        entry: "mad_rate".to_owned(),
        arguments: vec![Argument::Memory(results), factor, plus, minus],
        range: NdRange::d1(items),
    };
    let (turns, best) = fastest(bench, &mut launch, mad.turns_max, effort)?;
    let expected = mad.expected(chains, width, turns);
    bench.verify(results, items * item_bytes, |found| check(found, &expected, turns))?;
    Ok(2.0 * f64::from(STEPS) * f64::from(turns) * (chains * width * items) as f64 / best)
}

/// Enough iterations to fill a round, at most `turns_max`, and their seconds. The number of iterations is the
/// launch's last argument.
///
/// # Errors
/// The device failed, or its clock shows no time passing.
pub fn fastest(
    bench: &mut Bench<'_>,
    launch: &mut Launch,
    turns_max: u32,
    effort: Effort,
) -> Result<(u32, f64), PeakError> {
    let others = launch.arguments.len();
    let turned = |launch: &mut Launch, turns: u32| {
        launch.arguments.truncate(others);
        launch.arguments.push(turns.into());
    };
    // The first launch also builds and warms up.
    let mut turns = 8;
    turned(launch, turns);
    bench.seconds(launch)?;
    let mut seconds = bench.seconds(launch)?;
    let round = bench.round_seconds(effort);
    while seconds < round / 2.0 && turns < turns_max {
        let more = (round / seconds.max(1e-9)).clamp(2.0, 64.0);
        turns = ((f64::from(turns) * more) as u32).min(turns_max);
        turned(launch, turns);
        seconds = bench.seconds(launch)?;
    }
    Ok((turns, bench.best_seconds(launch, effort)?))
}

/// Compares the output of all work-items with the expected output of [`STARTS`] of them, repeated.
///
/// # Errors
/// The first work-items whose output differs.
pub fn check(found: &[u8], expected: &[u8], turns: u32) -> Result<(), PeakError> {
    match found.chunks(expected.len()).position(|block| block != expected) {
        None => Ok(()),
        Some(block) => {
            let what = format!(
                "{turns} iterations, work-items {} to {}",
                block * STARTS,
                block * STARTS + STARTS - 1
            );
            Err(PeakError::Wrong { what })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the closed form with the loop, in each type's own arithmetic.
    #[test]
    fn closed_form_is_the_loop() {
        for mad in MADS {
            for (start, turns) in [(0, 1), (3, 2), (19, 7), (5, 100)] {
                let mut x: i64 = start;
                let narrow = |x: i64| match mad.element {
                    ScalarType::I16 => i64::from(x as i16),
                    ScalarType::I8 => i64::from(x as i8),
                    ScalarType::I32 => i64::from(x as i32),
                    ScalarType::F16 => f16::from_f32(x as f32).to_f32() as i64,
                    ScalarType::F64 => x as f64 as i64,
                    _ => (x as f32) as i64,
                };
                for _ in 0..turns {
                    for step in 1..=STEPS {
                        let add = if step == STEPS { mad.minus } else { mad.plus };
                        x = narrow(narrow(x.wrapping_mul(mad.factor)).wrapping_add(add));
                    }
                }
                assert_eq!(narrow(mad.after(start, turns)), x, "{} after {turns} iterations", mad.name);
            }
        }
    }

    #[test]
    fn floats_stay_exact_to_the_last_turn() {
        // The largest start is 3 + 11 + 15; an iteration rises by 31 before it falls back.
        for mad in MADS {
            let exact: i64 = match mad.element {
                ScalarType::F32 => 1 << 24,
                ScalarType::F16 => 1 << 11,
                ScalarType::F64 => 1 << 53,
                _ if mad.factor == 1 => 1 << 23,
                _ => continue,
            };
            assert_eq!(mad.after(29, mad.turns_max), 29 + i64::from(mad.turns_max), "{}", mad.name);
            assert!(29 + i64::from(mad.turns_max) + 31 <= exact, "{}", mad.name);
        }
    }

    #[test]
    fn results_depend_on_the_number_of_iterations() {
        for mad in MADS {
            assert_ne!(mad.expected(2, 4, 100), mad.expected(2, 4, 99), "{}", mad.name);
        }
    }
}
