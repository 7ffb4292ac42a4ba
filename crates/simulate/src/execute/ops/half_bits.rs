//! Half precision to single and back, in a form that compilers turn into vector code.

#![allow(clippy::inline_always, reason = "has to become part of the loops it is used in")]

/// The value of a half as single: exact.
#[inline(always)]
pub(crate) fn widen(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let sign = u32::from(bits & 0x8000) << 16;
    // The exponent's bias differs by 112; by this product subnormals come out right as well.
    let scaled = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let special = magnitude >= 0x0f80_0000;
    let magnitude = if special { magnitude | 0x7f80_0000 } else { scaled.to_bits() };
    f32::from_bits(magnitude | sign)
}

/// The half nearest to a single, ties to even; NaNs stay NaNs, quiet.
#[inline(always)]
pub(crate) fn narrow(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    // Normal halves: rebias, round to nearest even on the 13 bits that go.
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_add(0xc800_0000).wrapping_add(0xfff).wrapping_add(odd) >> 13;
    // Subnormal halves: the addition of 0.5 rounds to a multiple of 2^-24.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    let half = if magnitude > 0x7f80_0000 {
        nan
    } else if magnitude >= 0x4780_0000 {
        0x7c00
    } else if magnitude < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    half as u16 | sign
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    /// Every half, and the singles halfway between two and right beside those, as the `half` crate has them.
    #[test]
    fn agrees_with_the_half_crate() {
        for bits in 0..=u16::MAX {
            let want = f16::from_bits(bits);
            assert!(widen(bits) == want.to_f32() || (widen(bits).is_nan() && want.is_nan()), "{bits:x}");
            if want.is_nan() {
                assert!(f16::from_bits(narrow(widen(bits))).is_nan());
                continue;
            }
            assert_eq!(narrow(widen(bits)), bits);
            let next = widen(bits.wrapping_add(1));
            let middle = widen(bits).midpoint(next);
            for single in [middle, middle.next_up(), middle.next_down(), middle * 1.01] {
                if !single.is_nan() {
                    assert_eq!(narrow(single), f16::from_f32(single).to_bits(), "{single:e}");
                }
            }
        }
        for exponent in 0..=255u32 {
            for fraction in [0, 1, 0xfff, 0x1000, 0x1001, 0x3000, 0x7f_ffff] {
                let single = f32::from_bits(exponent << 23 | fraction);
                let want = f16::from_f32(single);
                let found = f16::from_bits(narrow(single));
                assert!(found == want || (found.is_nan() && want.is_nan()), "{single:e}");
            }
        }
    }
}
