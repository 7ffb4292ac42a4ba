//! Constant folding, exactly as a kernel computes.

use half::f16;

use crate::Scalar;
use crate::op::{Binary, Compare, Convert, Number, Rounding};

/// The result of an operation on two lanes; `None` where it is undefined or not folded.
pub fn binary(op: Binary, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    if scalar.is_float() {
        return float_binary(op, scalar, a, b);
    }
    let (signed_a, signed_b) = (scalar.to_i64(a), scalar.to_i64(b));
    let bits = scalar.bits();
    let divides = b != 0 && !(signed_b == -1 && a == 1 << (bits - 1));
    let shifts = b < u64::from(bits);
    let result = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::UDiv => a.checked_div(b)?,
        Binary::URem => a.checked_rem(b)?,
        Binary::SDiv if divides => signed_a.wrapping_div(signed_b).cast_unsigned(),
        Binary::SRem if divides => signed_a.wrapping_rem(signed_b).cast_unsigned(),
        Binary::SMod if divides => {
            let remainder = signed_a.wrapping_rem(signed_b);
            let other_sign = remainder != 0 && (remainder < 0) != (signed_b < 0);
            (if other_sign { remainder.wrapping_add(signed_b) } else { remainder }).cast_unsigned()
        }
        Binary::Shl if shifts => a << b,
        Binary::LShr if shifts => a >> b,
        Binary::AShr if shifts => (signed_a >> b).cast_unsigned(),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        _ => return None,
    };
    Some(result & scalar.mask())
}

fn float_binary(op: Binary, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    // NaNs are not folded: which one results depends on the hardware, and its origin is reported as a finding.

    match scalar {
        Scalar::F32 => {
            let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let result = match op {
                Binary::FAdd => a + b,
                Binary::FSub => a - b,
                Binary::FMul => a * b,
                Binary::FDiv => a / b,
                _ => return None,
            };
            if result.is_nan() { None } else { Some(u64::from(result.to_bits())) }
        }
        Scalar::F64 => {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            let result = match op {
                Binary::FAdd => a + b,
                Binary::FSub => a - b,
                Binary::FMul => a * b,
                Binary::FDiv => a / b,
                _ => return None,
            };
            if result.is_nan() { None } else { Some(result.to_bits()) }
        }
        _ => None,
    }
}

/// Whether a comparison of two lanes holds.
pub fn compare(op: Compare, scalar: Scalar, a: u64, b: u64) -> Option<bool> {
    if op.is_float() {
        if !scalar.is_float() {
            return None;
        }
        let (a, b) = (scalar.to_f64(a), scalar.to_f64(b));
        let unordered = a.is_nan() || b.is_nan();
        return Some(match op {
            Compare::FEq => a == b,
            Compare::FNe => !unordered && a != b,
            Compare::FLt => a < b,
            Compare::FLe => a <= b,
            Compare::FGt => a > b,
            Compare::FGe => a >= b,
            Compare::FUEq => unordered || a == b,
            Compare::FUNe => a != b,
            Compare::FULt => unordered || a < b,
            Compare::FULe => unordered || a <= b,
            Compare::FUGt => unordered || a > b,
            Compare::FUGe => unordered || a >= b,
            Compare::FOrd => !unordered,
            _ => unordered,
        });
    }
    let (signed_a, signed_b) = (scalar.to_i64(a), scalar.to_i64(b));
    Some(match op {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::ULt => a < b,
        Compare::ULe => a <= b,
        Compare::UGt => a > b,
        Compare::UGe => a >= b,
        Compare::SLt => signed_a < signed_b,
        Compare::SLe => signed_a <= signed_b,
        Compare::SGt => signed_a > signed_b,
        _ => signed_a >= signed_b,
    })
}

/// A conversion of one lane; `None` where it is undefined or not folded.
pub fn convert(op: Convert, from: Scalar, to: Scalar, bits: u64) -> Option<u64> {
    match (from.is_float(), to.is_float()) {
        (false, false) if !op.saturate => {
            let wide = if op.from == Number::Signed { from.to_i64(bits).cast_unsigned() } else { bits };
            Some(wide & to.mask())
        }
        (false, true) if op.rounding == Rounding::Nearest => {
            let signed = from.to_i64(bits);
            let is_signed = op.from == Number::Signed;
            match to {
                Scalar::F32 if is_signed => Some(u64::from((signed as f32).to_bits())),
                Scalar::F32 => Some(u64::from((bits as f32).to_bits())),
                Scalar::F64 if is_signed => Some((signed as f64).to_bits()),
                Scalar::F64 => Some((bits as f64).to_bits()),
                _ => None,
            }
        }
        (true, true) if op.rounding == Rounding::Nearest => {
            let value = from.to_f64(bits);
            match to {
                _ if value.is_nan() => None,
                Scalar::F16 => Some(u64::from(f16::from_f64(value).to_bits())),
                Scalar::F32 => Some(u64::from((value as f32).to_bits())),
                Scalar::F64 => Some(value.to_bits()),
                _ => None,
            }
        }
        (true, false) if op.rounding == Rounding::Zero => {
            let value = from.to_f64(bits).trunc();
            let in_range = if op.to == Number::Signed {
                let limit = 2_f64.powi(to.bits() as i32 - 1);
                value >= -limit && value < limit
            } else {
                value >= 0.0 && value < 2_f64.powi(to.bits() as i32)
            };
            in_range.then(|| {
                let bits =
                    if op.to == Number::Signed { (value as i64).cast_unsigned() } else { value as u64 };
                bits & to.mask()
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_undefined_stays() {
        assert_eq!(binary(Binary::Add, Scalar::I8, 255, 2), Some(1));
        assert_eq!(binary(Binary::SDiv, Scalar::I32, 0x8000_0000, 0xFFFF_FFFF), None);
        assert_eq!(binary(Binary::SRem, Scalar::I16, 0xFFF9, 2), Some(0xFFFF));
        assert_eq!(binary(Binary::SMod, Scalar::I16, 0xFFF9, 2), Some(1));
        assert_eq!(binary(Binary::Shl, Scalar::I32, 1, 32), None);
        assert_eq!(binary(Binary::AShr, Scalar::I8, 0x80, 7), Some(0xFF));
        assert_eq!(compare(Compare::SLt, Scalar::I8, 0xFF, 0), Some(true));
        assert_eq!(compare(Compare::ULt, Scalar::I8, 0xFF, 0), Some(false));
    }

    #[test]
    fn conversions_out_of_range_stay() {
        let to_int =
            Convert { from: Number::Float, to: Number::Signed, rounding: Rounding::Zero, saturate: false };
        assert_eq!(convert(to_int, Scalar::F32, Scalar::I8, u64::from((-128.9_f32).to_bits())), Some(0x80));
        assert_eq!(convert(to_int, Scalar::F32, Scalar::I8, u64::from(128_f32.to_bits())), None);
        assert_eq!(convert(to_int, Scalar::F32, Scalar::I32, u64::from(f32::NAN.to_bits())), None);
    }
}
