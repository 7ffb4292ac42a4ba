//! Operands: all of them, or every exponent and the neighbourhoods of special points.

use core::f64::consts::{LN_2, LOG10_2, PI};

use fastrand::Rng;

use crate::math::kind::Kind;

/// Every `half`; for the other types every exponent with both signs, subnormals by their leading digit, and the
/// neighbourhoods of [`points`].
pub(crate) fn numbers<T: Kind>() -> Vec<T> {
    if T::BITS == 16 {
        return (0..=0xffff).map(T::of).collect();
    }
    let random = if T::BITS == 32 { 16 } else { 5 };
    let mut rng = Rng::with_seed(1);
    let mut numbers = Vec::new();
    let fraction = T::PRECISION - 1;
    let ones = (1u64 << fraction) - 1;
    for exponent in 0..1u64 << (T::BITS - T::PRECISION) {
        let mut fractions = vec![0, 1, ones, ones / 2, ones / 2 + 1];
        fractions.extend((0..random).map(|_| rng.u64(0..=ones)));
        if exponent == 0 {
            fractions.extend((0..fraction).map(|shift| ones >> shift));
            fractions.extend((0..fraction).map(|shift| 1 << shift));
        }
        numbers.extend(fractions.iter().map(|fraction_bits| exponent << fraction | fraction_bits));
    }
    for point in points::<T>() {
        let bits = T::nearest(point).bits();
        numbers.extend(bits.saturating_sub(3)..=bits + 3);
    }
    let sign = 1 << (T::BITS - 1);
    numbers.into_iter().flat_map(|bits| [T::of(bits), T::of(bits | sign)]).collect()
}

/// Positive numbers near which functions turn, overflow, underflow or lose digits.
fn points<T: Kind>() -> Vec<f64> {
    let mut rng = Rng::with_seed(2);
    let mut points: Vec<f64> = (1..400).map(|n| f64::from(n) / 2.0).collect();
    points.extend((1..200).map(|n| f64::from(n) * (PI / 4.0)));
    points.extend((0..200).map(|_| f64::from(rng.u32(200..1 << 24)) * (PI / 2.0)));
    // Where powers of 2, e and 10 leave the range; slightly beyond for the hyperbolic functions.
    for exponent in
        [T::MAX_EXPONENT + 1, T::LEAST, T::LEAST - T::PRECISION as i32, T::LEAST - T::PRECISION as i32 + 1]
    {
        for base in [1.0, LN_2, LOG10_2] {
            points.push(f64::from(exponent.abs()) * base);
            points.push(f64::from(exponent.abs() + 1) * base);
        }
    }
    // Where the gamma function leaves the ranges, and the zeros of its logarithm.
    points.extend([9.2, 35.04, 171.62, 2.457_024_738, 2.747_682_646, 3.143_580_888, 3.955_294_284]);
    points.extend((-30i32..=30).map(|n| 1.0 + 2f64.powi(-n.abs()) * f64::from(n.signum())));
    points.extend((0..=T::PRECISION).map(|n| 2f64.powi(n as i32) - 0.5));
    points
}

/// Numbers of every class, with both signs.
pub(crate) fn special<T: Kind>() -> Vec<T> {
    let infinity = T::from_bits(T::INFINITE).bits();
    let one = T::nearest(1.0).bits();
    let normal = T::nearest(2f64.powi(T::LEAST)).bits();
    let mut bits =
        vec![0, 1, 2, normal - 1, normal, normal + 1, one - 1, one, one + 1, infinity - 1, infinity];
    let digits = 2f64.powi(T::PRECISION as i32 - 1);
    for number in
        [0.25, 0.5, 1.5, 2.0, 2.5, 3.0, PI, 4.0, 7.0, 10.0, 64.0, digits, digits - 1.0, 2.0 * digits]
    {
        bits.push(T::nearest(number).bits());
    }
    let sign = 1 << (T::BITS - 1);
    let mut numbers: Vec<T> = bits.into_iter().flat_map(|bits| [T::of(bits), T::of(bits | sign)]).collect();
    numbers.push(T::from_bits(T::QUIET));
    numbers
}

/// A number of any class, with all exponents equally likely.
pub(crate) fn any<T: Kind>(rng: &mut Rng) -> T {
    T::of(rng.u64(..) >> (64 - T::BITS))
}

/// Pairs of all special numbers; of any numbers; of numbers of similar magnitude; of x and y for which x to the y is
/// in range or close to its ends.
pub(crate) fn pairs<T: Kind>() -> Vec<(T, T)> {
    let special = special::<T>();
    let mut rng = Rng::with_seed(3);
    let mut pairs: Vec<(T, T)> = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
    for _ in 0..6000 {
        pairs.push((any(&mut rng), any(&mut rng)));
        let x: T = any(&mut rng);
        pairs.push((x, T::nearest(x.to_f64() * (rng.f64() - 0.5) * 64.0)));
        let x = any::<T>(&mut rng);
        let most = f64::from(T::MAX_EXPONENT) * 1.2;
        let y = T::nearest((rng.f64() * 2.0 - 1.0) * most / x.to_f64().abs().log2());
        pairs.push((x, y));
        pairs.push((x, T::nearest(y.to_f64().round())));
        // Close to 1, where the logarithm is small.
        let x = T::nearest(1.0 + (rng.f64() - 0.5) * 2f64.powi(-rng.i32(0..T::PRECISION as i32)));
        pairs.push((x, T::nearest((rng.f64() * 2.0 - 1.0) * most / x.to_f64().log2())));
    }
    pairs
}

/// Numbers with integers: small ones, those near the range of exponents, the ends.
pub(crate) fn with_integers<T: Kind>() -> Vec<(T, i32)> {
    let mut integers: Vec<i32> = (-40..=40).collect();
    for n in [
        T::MAX_EXPONENT,
        -T::LEAST,
        T::PRECISION as i32 - T::LEAST,
        2 * T::MAX_EXPONENT + T::PRECISION as i32,
    ] {
        integers.extend((n - 2..=n + 2).chain(-n - 2..=-n + 2));
    }
    integers.extend([i32::MIN, i32::MIN + 1, -1_000_001, -65_536, 65_537, 1_000_000, i32::MAX - 1, i32::MAX]);
    let mut rng = Rng::with_seed(4);
    let special = special::<T>();
    let mut pairs: Vec<(T, i32)> =
        special.iter().flat_map(|&x| integers.iter().map(move |&n| (x, n))).collect();
    for _ in 0..6000 {
        let x = any::<T>(&mut rng);
        pairs.push((x, integers[rng.usize(..integers.len())]));
        pairs.push((x, rng.i32(..) >> rng.u32(0..31)));
        // The n-th power of x is in range.
        let x = T::nearest(1.0 + (rng.f64() - 0.5) * 2f64.powi(-rng.i32(0..T::PRECISION as i32)));
        let most = f64::from(T::MAX_EXPONENT) * 1.2;
        pairs.push((x, ((rng.f64() * 2.0 - 1.0) * most / x.to_f64().log2()) as i32));
    }
    pairs
}

/// Triples of all special numbers, of any numbers, and of a, b and c with a b and c of similar magnitude.
pub(crate) fn triples<T: Kind>() -> Vec<(T, T, T)> {
    let special = special::<T>();
    let mut rng = Rng::with_seed(5);
    let mut triples = Vec::new();
    for &a in &special {
        for &b in &special {
            triples.extend((0..6).map(|_| (a, b, special[rng.usize(..special.len())])));
        }
    }
    for _ in 0..6000 {
        let (a, b) = (any::<T>(&mut rng), any::<T>(&mut rng));
        triples.push((a, b, any(&mut rng)));
        let size = 2f64.powi(rng.i32(-30..30));
        triples.push((a, b, T::nearest(-a.to_f64() * b.to_f64() * size)));
        // a b is just beside the midpoint of two numbers of c's magnitude.
        let c = T::nearest(1.0 + rng.f64());
        let a = T::nearest(
            2f64.powi(-(T::PRECISION as i32))
                * (1.0 + rng.f64() * 2f64.powi(-rng.i32(0..T::PRECISION as i32))),
        );
        let b = T::nearest(1.0 - rng.f64() * 2f64.powi(-rng.i32(0..T::PRECISION as i32)));
        triples.push((a, b, c));
    }
    triples
}
