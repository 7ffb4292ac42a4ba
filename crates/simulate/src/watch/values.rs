//! Results that the specification leaves undefined, and floats that become NaN or lose their value.

use bytemuck::Pod;
use pulp::{Simd, WithSimd};
use tripipe_ir::diagnostic::Rule;
use tripipe_ir::op::{Binary, Builtin, Convert, Number};
use tripipe_ir::{Op, Scalar, Type};

use super::findings::Occurrence;
use super::rules;
use super::state::Watch;
use super::taint::flow::pure;
use crate::execute::code::Inst;
use crate::execute::rows::{lanes, numbers};
use crate::execute::state::State;

/// Whether any number of a row satisfies `test`.
struct Any<'a, T, F>(&'a [T], F);

impl<T: Copy, F: Fn(T) -> bool> WithSimd for Any<'_, T, F> {
    type Output = bool;

    #[allow(clippy::inline_always, reason = "else it is compiled for the baseline")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let mut any = false;
        for number in self.0 {
            any |= (self.1)(*number);
        }
        any
    }
}

fn any<T: Pod>(s: &State<'_>, slot: u32, test: impl Fn(T) -> bool) -> bool {
    s.arch.dispatch(Any(numbers::<T>(s.warp.rows.words(slot)), test))
}

/// Whether the bits of any integer of a row satisfy `test`.
fn any_bits(s: &State<'_>, slot: u32, bytes: u32, test: impl Fn(u64) -> bool) -> bool {
    match bytes {
        1 => any::<u8>(s, slot, |bits| test(bits.into())),
        2 => any::<u16>(s, slot, |bits| test(bits.into())),
        4 => any::<u32>(s, slot, |bits| test(bits.into())),
        _ => any::<u64>(s, slot, test),
    }
}

/// The type of an operand.
fn ty(s: &State<'_>, i: &Inst, operand: usize) -> Type {
    s.kernel.ty(s.kernel.insts[i.origin].operands[operand])
}

/// Records a violation for every number of the active lanes for which `bad` returns a message.
fn each(
    watch: &mut Watch,
    s: &State<'_>,
    i: &Inst,
    rule: &'static Rule,
    fix: &str,
    bad: impl Fn(&State<'_>, usize) -> Option<String>,
) {
    if watch.checks.has(rule) {
        let width = usize::from(i.width);
        let mut count = 0;
        let mut first: Option<(usize, String)> = None;
        for component in 0..usize::from(i.components) {
            let mask = if width == 1 { 1 } else { s.mask };
            for lane in lanes(mask) {
                if let Some(message) = bad(s, component * width + lane) {
                    count += if width == 1 { u64::from(s.mask.count_ones()) } else { 1 };
                    if first.as_ref().is_none_or(|(other, _)| lane < *other) {
                        first = Some((lane, message));
                    }
                }
            }
        }
        if let Some((lane, message)) = first {
            let lane = if width == 1 { s.mask.trailing_zeros() as usize } else { lane };
            watch
                .findings
                .note(rule, Some(i.origin), count, || Occurrence::new(&s.group, s.item(lane), message, fix));
        }
    }
}

/// Checks division and remainder of integers.
pub(crate) fn divide(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = pure(watch, s, i);
    let Some(scalar) = ty(s, i, 0).scalar() else { return goes_on };
    let bytes = scalar.bytes();
    let zero = any_bits(s, i.args[1], bytes, |bits| bits == 0);
    if zero {
        each(
            watch,
            s,
            i,
            &rules::DIVISION_BY_ZERO,
            "Test the divisor first, or make sure that it cannot be 0.",
            |s, index| {
                (s.warp.rows.bits(i.args[1], index, bytes) == 0).then(|| {
                    let a = scalar.to_i64(s.warp.rows.bits(i.args[0], index, bytes));
                    format!("divides {a} by zero")
                })
            },
        );
    }
    let op = s.kernel.insts[i.origin].op;
    if matches!(op, Op::Binary(Binary::SDiv | Binary::SRem | Binary::SMod)) {
        let least = i64::MIN >> (64 - scalar.bits());
        let minus = any_bits(s, i.args[1], bytes, |bits| bits == scalar.mask());
        if minus {
            each(
                watch,
                s,
                i,
                &rules::DIVISION_OVERFLOW,
                "Divide in a wider type, or handle the smallest value separately.",
                |s, index| {
                    let a = scalar.to_i64(s.warp.rows.bits(i.args[0], index, bytes));
                    let b = scalar.to_i64(s.warp.rows.bits(i.args[1], index, bytes));
                    (a == least && b == -1).then(|| format!("divides {a} by -1: the quotient does not fit"))
                },
            );
        }
    }
    goes_on
}

/// Checks a shift's count, before or after it is reduced modulo the width.
pub(crate) fn shift(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = pure(watch, s, i);
    let Some(scalar) = ty(s, i, 0).scalar() else { return goes_on };
    let (bytes, bits) = (scalar.bytes(), u64::from(scalar.bits()));
    // The count is the second operand; if an `and` reduces it, the count is the first non-constant operand of the
    // `and`.
    let data = &s.kernel.insts[i.origin];
    let slot = match data.op {
        Op::Binary(Binary::And) => i.args[usize::from(s.kernel.constant(data.operands[0]).is_some())],
        _ => i.args[1],
    };
    let past = any_bits(s, slot, bytes, |count| count >= bits);
    if past {
        each(
            watch,
            s,
            i,
            &rules::SHIFT_PAST_WIDTH,
            "Keep the count below the width: OpenCL takes it modulo the width, C does not define it.",
            |s, index| {
                let count = scalar.to_i64(s.warp.rows.bits(slot, index, bytes));
                (!(0..bits.cast_signed()).contains(&count))
                    .then(|| format!("shifts a {bits}-bit value by {count}"))
            },
        );
    }
    goes_on
}

/// Checks signed arithmetic from which an address is computed.
pub(crate) fn address_overflow(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let fix = "Compute the index in long or size_t: cast before the multiplication.";
    overflow(watch, s, i, &rules::ADDRESS_OVERFLOW, fix, ", and an address depends on it")
}

/// Checks signed arithmetic for overflow.
pub(crate) fn signed_overflow(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let fix = "Compute in a wider type, or in an unsigned one where wrapping is intended.";
    overflow(watch, s, i, &rules::SIGNED_OVERFLOW, fix, "")
}

fn overflow(
    watch: &mut Watch,
    s: &mut State<'_>,
    i: &Inst,
    rule: &'static Rule,
    fix: &'static str,
    besides: &str,
) -> bool {
    let goes_on = pure(watch, s, i);
    let Some(scalar) = ty(s, i, 0).scalar() else { return goes_on };
    let Op::Binary(op) = s.kernel.insts[i.origin].op else { return goes_on };
    let bytes = scalar.bytes();
    let exact = |a: i64, b: i64| match op {
        Binary::Add => i128::from(a) + i128::from(b),
        Binary::Sub => i128::from(a) - i128::from(b),
        _ => i128::from(a) * i128::from(b),
    };
    let quick = match scalar {
        Scalar::I32 => {
            let a = numbers::<i32>(s.warp.rows.words(i.args[0]));
            let b = numbers::<i32>(s.warp.rows.words(i.args[1]));
            let wrong = |a: &i32, b: &i32| match op {
                Binary::Add => a.overflowing_add(*b).1,
                Binary::Sub => a.overflowing_sub(*b).1,
                _ => a.overflowing_mul(*b).1,
            };
            a.iter().zip(b).fold(false, |any, (a, b)| any | wrong(a, b))
        }
        _ => true,
    };
    if quick {
        each(watch, s, i, rule, fix, |s, index| {
            let a = scalar.to_i64(s.warp.rows.bits(i.args[0], index, bytes));
            let b = scalar.to_i64(s.warp.rows.bits(i.args[1], index, bytes));
            let value = exact(a, b);
            let fits = value >= i128::from(i64::MIN >> (64 - scalar.bits()))
                && value <= i128::from(i64::MAX >> (64 - scalar.bits()));
            (!fits).then(|| {
                let sign = match op {
                    Binary::Add => '+',
                    Binary::Sub => '-',
                    _ => '*',
                };
                format!("{a} {sign} {b} does not fit {} bits{besides}", scalar.bits())
            })
        });
    }
    goes_on
}

/// Checks a conversion: floats out of the range of integers, and overflow to half.
pub(crate) fn convert(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = pure(watch, s, i);
    let Op::Convert(Convert { from, to, saturate, .. }) = s.kernel.insts[i.origin].op else { return goes_on };
    let Some(source) = ty(s, i, 0).scalar() else { return goes_on };
    let Some(target) = s.kernel.insts[i.origin].result.and_then(|result| s.kernel.ty(result).scalar()) else {
        return goes_on;
    };
    if from == Number::Float && to != Number::Float && !saturate {
        let (low, high) = if to == Number::Signed {
            let half = 2f64.powi(target.bits() as i32 - 1);
            (-half, half)
        } else {
            (0.0, 2f64.powi(target.bits() as i32))
        };
        // Truncation: all values above low - 1 and below high have a result.
        let fits = move |value: f64| value > low - 1.0 && value < high || (value == low);
        let wrong = match source {
            Scalar::F32 => any::<f32>(s, i.args[0], |value| {
                let value = f64::from(value);
                !(value > low - 1.0 && value < high) && value != low
            }),
            _ => true,
        };
        if wrong {
            each(
                watch,
                s,
                i,
                &rules::FLOAT_TO_INT_RANGE,
                "Use convert_..._sat, or clamp before the conversion.",
                |s, index| {
                    let value = source.to_f64(s.warp.rows.bits(i.args[0], index, source.bytes()));
                    (!fits(value)).then(|| {
                        let kind = if to == Number::Signed { "a signed" } else { "an unsigned" };
                        format!("converts {value} to {kind} {}-bit integer", target.bits())
                    })
                },
            );
        }
    }
    if target == Scalar::F16 && source != Scalar::F16 {
        half(watch, s, i, |s, index| {
            let bits = s.warp.rows.bits(i.args[0], index, source.bytes());
            match from {
                Number::Float => source.to_f64(bits),
                Number::Signed => source.to_i64(bits) as f64,
                Number::Unsigned => bits as f64,
            }
        });
    }
    goes_on
}

/// Reports half results that lost their value: infinite although the exact result is finite, or 0 or subnormal
/// although the exact result is not 0.
fn half(watch: &mut Watch, s: &State<'_>, i: &Inst, exact: impl Fn(&State<'_>, usize) -> f64) {
    let special = any::<u16>(s, i.out, |bits| bits & 0x7c00 == 0x7c00 || bits & 0x7c00 == 0);
    if !special {
        return;
    }
    each(watch, s, i, &rules::HALF_OVERFLOW, "Scale the values, or accumulate in float.", |s, index| {
        let infinite = s.warp.rows.bits(i.out, index, 2) & 0x7fff == 0x7c00;
        let value = if infinite { exact(s, index) } else { f64::NAN };
        value.is_finite().then(|| {
            format!(
                "{value} does not fit half, whose largest number is 65504: the result is \
                infinite"
            )
        })
    });
    each(watch, s, i, &rules::HALF_UNDERFLOW, "Scale the values, or compute in float.", |s, index| {
        let bits = s.warp.rows.bits(i.out, index, 2) & 0x7fff;
        let value = if bits < 0x0400 { exact(s, index) } else { 0.0 };
        (value != 0.0 && value.is_finite() && value.abs() < 6.103_515_625e-5).then(|| {
            format!(
                "{value:e} is below half's smallest normal number, 6.1e-5: digits are lost, and \
                    many GPUs return 0"
            )
        })
    });
}

/// Checks a float operation: NaNs from operands that are not NaN, and half results out of range.
pub(crate) fn float_result(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = pure(watch, s, i);
    let data = &s.kernel.insts[i.origin];
    let Some(scalar) = data.result.and_then(|result| s.kernel.ty(result).scalar()) else { return goes_on };
    let nan = match scalar {
        Scalar::F16 => any::<u16>(s, i.out, |bits| bits & 0x7fff > 0x7c00),
        Scalar::F32 => any::<f32>(s, i.out, f32::is_nan),
        _ => any::<f64>(s, i.out, f64::is_nan),
    };
    let count = data.operands.len().min(3);
    let op = data.op;
    let width = usize::from(i.width);
    let operands: Vec<(u32, Type)> = (0..count).map(|operand| (i.args[operand], ty(s, i, operand))).collect();
    let result_lanes = usize::from(i.components);
    if nan {
        each(
            watch,
            s,
            i,
            &rules::NAN_BORN,
            "Check the operands: 0/0, infinity minus infinity, the root or logarithm of a negative number.",
            |s, index| {
                if !scalar.to_f64(s.warp.rows.bits(i.out, index, scalar.bytes())).is_nan() {
                    return None;
                }
                let mut shown = Vec::new();
                for (slot, ty) in &operands {
                    let of = ty.scalar()?;
                    let lanes = usize::from(ty.lanes());
                    // Operations over whole vectors: every component counts.
                    let indices: Vec<usize> = if lanes == result_lanes {
                        vec![index]
                    } else {
                        (0..lanes).map(|component| component * width + index % width).collect()
                    };
                    for index in indices {
                        let bits = s.warp.rows.bits(*slot, index, of.bytes());
                        if of.is_float() {
                            let value = of.to_f64(bits);
                            if value.is_nan() {
                                return None;
                            }
                            shown.push(value.to_string());
                        } else {
                            shown.push(of.to_i64(bits).to_string());
                        }
                    }
                }
                Some(format!("{op} of {} is not a number", shown.join(" and ")))
            },
        );
    }
    if scalar == Scalar::F16 && operands.iter().all(|(_, ty)| ty.scalar() == Some(Scalar::F16)) {
        let value = |s: &State<'_>, operand: usize, index: usize| {
            Scalar::F16.to_f64(s.warp.rows.bits(operands[operand].0, index, 2))
        };
        match (op, count) {
            (Op::Binary(op), 2) => half(watch, s, i, |s, index| {
                let (a, b) = (value(s, 0, index), value(s, 1, index));
                match op {
                    Binary::FAdd => a + b,
                    Binary::FSub => a - b,
                    Binary::FMul => a * b,
                    Binary::FDiv if b != 0.0 => a / b,
                    _ => f64::NAN,
                }
            }),
            (Op::Builtin(Builtin::Mad | Builtin::Fma), 3) => {
                half(watch, s, i, |s, index| value(s, 0, index) * value(s, 1, index) + value(s, 2, index));
            }
            _ => {}
        }
    }
    goes_on
}

/// Checks a component index computed at run time.
pub(crate) fn dynamic(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = pure(watch, s, i);
    let insert = matches!(s.kernel.insts[i.origin].op, Op::InsertDynamic);
    let slot = i.args[if insert { 2 } else { 1 }];
    let components = i64::from(ty(s, i, 0).lanes());
    for lane in lanes(if i.width == 1 { 1 } else { s.mask }) {
        let index = Scalar::I32.to_i64(s.warp.rows.bits(slot, lane, 4));
        if !(0..components).contains(&index) {
            let lane = if i.width == 1 { s.mask.trailing_zeros() as usize } else { lane };
            watch.note(&rules::LANE_OUT_OF_RANGE, i, 1, || {
                let message = format!("component {index} of a vector of {components}");
                let fix = "Keep the index within the vector, or use an array.";
                Occurrence::new(&s.group, s.item(lane), message, fix)
            });
        }
    }
    goes_on
}
