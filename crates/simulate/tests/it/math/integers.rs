//! Compares integer functions with arbitrary-precision arithmetic.

use rug::Integer;
use tripipe_ir::op::Builtin;
use tripipe_simulate::math::{self, Int, Narrow};

/// An integer type under test, with conversions to numbers.
trait Number: Int {
    const SIGNED: bool;
    fn number(self) -> Integer;
    /// The low bits of a number.
    fn of(number: &Integer) -> Self;
}

macro_rules! number {
    ($($int:ident $signed:literal),*) => {
        $(impl Number for $int {
            const SIGNED: bool = $signed;

            fn number(self) -> Integer {
                self.into()
            }

            fn of(number: &Integer) -> Self {
                let low = Integer::from(number.keep_bits_ref($int::BITS));
                low.to_u64().unwrap() as $int
            }
        })*
    };
}

number!(i8 true, u8 false, i16 true, u16 false, i32 true, u32 false, i64 true, u64 false);

/// All 8-bit integers; for wider types the ends, the middle, powers of two and their neighbours, and some others.
fn samples<T: Number>() -> Vec<T> {
    if T::BITS == 8 {
        return (0..=255).map(|n| T::of(&Integer::from(n))).collect();
    }
    let mut rng = fastrand::Rng::with_seed(7);
    let mut numbers: Vec<Integer> = Vec::new();
    for shift in (0..=T::BITS).step_by(if T::BITS == 64 { 3 } else { 1 }) {
        let power = Integer::from(1) << shift;
        numbers.extend([power.clone() - 1, -power.clone(), power]);
    }
    numbers.extend((0..60).map(|_| Integer::from(rng.u64(..) >> rng.u32(0..64))));
    numbers.iter().map(T::of).collect()
}

fn saturated<T: Number>(number: Integer) -> Integer {
    number.clamp(&T::MIN.number(), &T::MAX.number())
}

/// The true result, from the operands and the width.
type OfOne = fn(Integer, u32) -> Integer;
type OfTwo = fn(Integer, Integer, u32) -> Integer;
type OfThree = fn(Integer, Integer, Integer) -> Integer;

fn functions<T: Number>() {
    let numbers = samples::<T>();
    let pick = |signed, unsigned| if T::SIGNED { signed } else { unsigned };
    let bits = T::BITS;

    let one: [(Builtin, OfOne); 3] = [
        (pick(Builtin::SAbs, Builtin::UAbs), |x, _| x.abs()),
        (Builtin::Clz, |x, bits| Integer::from(bits - x.keep_bits(bits).significant_bits())),
        (Builtin::Ctz, |x, bits| Integer::from(x.keep_bits(bits).find_one(0).unwrap_or(bits))),
    ];
    for (builtin, exact) in one {
        let got = math::int1::<T>(builtin).unwrap();
        for &x in &numbers {
            assert_eq!(got(x), T::of(&exact(x.number(), bits)), "{builtin:?} {x:?}");
        }
    }

    let two: [(Builtin, OfTwo); 8] = [
        (pick(Builtin::SAbsDiff, Builtin::UAbsDiff), |x, y, _| (x - y).abs()),
        (pick(Builtin::SAddSat, Builtin::UAddSat), |x, y, _| saturated::<T>(x + y)),
        (pick(Builtin::SSubSat, Builtin::USubSat), |x, y, _| saturated::<T>(x - y)),
        // Shifts of arbitrary-precision numbers round down.
        (pick(Builtin::SHadd, Builtin::UHadd), |x, y, _| (x + y) >> 1),
        (pick(Builtin::SRhadd, Builtin::URhadd), |x, y, _| (x + y + 1) >> 1),
        (pick(Builtin::SMax, Builtin::UMax), |x, y, _| x.max(y)),
        (pick(Builtin::SMin, Builtin::UMin), |x, y, _| x.min(y)),
        (pick(Builtin::SMulHi, Builtin::UMulHi), |x, y, bits| (x * y) >> bits),
    ];
    for (builtin, exact) in two {
        let got = math::int2::<T>(builtin).unwrap();
        for &x in &numbers {
            for &y in &numbers {
                assert_eq!(got(x, y), T::of(&exact(x.number(), y.number(), bits)), "{builtin:?} {x:?} {y:?}");
            }
        }
    }
    let rotate = math::int2::<T>(Builtin::Rotate).unwrap();
    for &x in &numbers {
        for by in 0..2 * bits {
            let twice = x.number().keep_bits(bits) * ((Integer::from(1) << bits) + 1);
            let want = T::of(&(twice >> (bits - by % bits)));
            assert_eq!(rotate(x, T::from_u32(by)), want, "{x:?} {by}");
        }
        // A rotation left by -1 is a rotation right by 1.
        assert_eq!(rotate(x, T::of(&Integer::from(-1))), rotate(x, T::from_u32(bits - 1)));
    }

    let mut rng = fastrand::Rng::with_seed(8);
    let three: [(Builtin, OfThree); 4] = [
        (pick(Builtin::SMadSat, Builtin::UMadSat), |a, b, c| saturated::<T>(a * b + c)),
        (pick(Builtin::SMadHi, Builtin::UMadHi), |a, b, c| ((a * b) >> T::BITS) + c),
        (pick(Builtin::SClamp, Builtin::UClamp), |x, low, high| x.max(low).min(high)),
        (Builtin::Bitselect, |a, b, c| (a & !c.clone()) | (b & c)),
    ];
    for (builtin, exact) in three {
        let got = math::int3::<T>(builtin).unwrap();
        for &x in &numbers {
            for &y in &numbers {
                let z = numbers[rng.usize(..numbers.len())];
                let want = T::of(&exact(x.number(), y.number(), z.number()));
                assert_eq!(got(x, y, z), want, "{builtin:?} {x:?} {y:?} {z:?}");
            }
        }
    }
}

/// The function determines the signedness, not the type.
fn reinterprets<T: Number, U: Number<Signed = T::Signed>>() {
    for &builtin in Builtin::ALL {
        let (Some(f), Some(g)) = (math::int2::<T>(builtin), math::int2::<U>(builtin)) else { continue };
        for &x in &samples::<T>() {
            for &y in samples::<T>().iter().step_by(7) {
                let (as_t, as_u) = (f(x, y), g(U::of(&x.number()), U::of(&y.number())));
                assert_eq!(as_t, T::of(&as_u.number()), "{builtin:?} {x:?} {y:?}");
            }
        }
    }
}

#[test]
fn bytes() {
    functions::<i8>();
    functions::<u8>();
    reinterprets::<i8, u8>();
}

#[test]
fn shorts() {
    functions::<i16>();
    functions::<u16>();
    reinterprets::<i16, u16>();
}

#[test]
fn ints() {
    functions::<i32>();
    functions::<u32>();
    reinterprets::<i32, u32>();
}

#[test]
fn longs() {
    functions::<i64>();
    functions::<u64>();
    reinterprets::<i64, u64>();
}

/// The low 24 bits of each operand, with their sign.
#[test]
fn words_of_24_bits() {
    let low = |x: i32| Integer::from(x).keep_signed_bits(24);
    let (mul, mad) =
        (math::int2::<i32>(Builtin::SMul24).unwrap(), math::int3::<i32>(Builtin::SMad24).unwrap());
    for &x in &samples::<i32>() {
        for &y in &samples::<i32>() {
            assert_eq!(mul(x, y), i32::of(&(low(x) * low(y))), "{x} {y}");
            assert_eq!(mad(x, y, x), i32::of(&(low(x) * low(y) + x)), "{x} {y}");
        }
    }
    let low = |x: u32| Integer::from(x).keep_bits(24);
    let (mul, mad) =
        (math::int2::<u32>(Builtin::UMul24).unwrap(), math::int3::<u32>(Builtin::UMad24).unwrap());
    for &x in &samples::<u32>() {
        for &y in &samples::<u32>() {
            assert_eq!(mul(x, y), u32::of(&(low(x) * low(y))), "{x} {y}");
            assert_eq!(mad(x, y, x), u32::of(&(low(x) * low(y) + x)), "{x} {y}");
        }
    }
}

/// Bytes joined in memory order.
#[test]
fn halves_joined() {
    fn joined<T: Narrow + Number>(wide: impl Fn(T::Wide) -> Integer)
    where
        T::Unsigned: Number,
    {
        for builtin in [Builtin::SUpsample, Builtin::UUpsample] {
            let upsample = math::upsample::<T>(builtin).unwrap();
            for &high in &samples::<T>() {
                for &low in &samples::<T::Unsigned>() {
                    let want = (high.number() << T::BITS) + low.number();
                    assert_eq!(wide(upsample(high, low)), want, "{high:?} {low:?}");
                }
            }
        }
    }
    joined::<i8>(Number::number);
    joined::<u8>(Number::number);
    joined::<i16>(Number::number);
    joined::<u16>(Number::number);
    joined::<i32>(Number::number);
    joined::<u32>(Number::number);
}
