//! Comparison of results with expected numbers.

use crate::element::{ArrayShape, Scalar, is_float};

/// How far a number may be from the expected one: within `absolute` plus `relative`, or within `ulp`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Absolute distance.
    pub absolute: f64,
    /// Relative distance, added to `absolute`: a factor of the expected number's magnitude.
    pub relative: f64,
    /// Distance in steps between neighbouring floats of the type; 0 accepts only the expected number.
    pub ulp: u64,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Numbers compared.
    pub numbers: usize,
    /// Numbers out of tolerance.
    pub differing: usize,
    /// The first differing numbers, at most [`Comparison::SHOWN`].
    pub first: Vec<Difference>,
    /// The largest distance of all; NaN if exactly one side of a pair is NaN. 0 if there are no differences.
    pub largest: f64,
}

/// A number that differs from the expected one.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its index in the array, by dimension; for a vector, the lane is last.
    pub index: Vec<usize>,
    /// The number found.
    pub found: Scalar,
    /// The number expected.
    pub want: Scalar,
}

impl Comparison {
    /// Maximum number of differences stored.
    pub const SHOWN: usize = 10;

    /// Compares the numbers of two arrays of the same shape. NaN equals NaN, and 0 equals -0. The fourth lane of a
    /// vector of 3 is ignored.
    pub fn of(array: &ArrayShape, found: &[u8], want: &[u8], tolerance: &Tolerance) -> Self {
        let mut comparison = Self { numbers: 0, differing: 0, first: Vec::new(), largest: 0.0 };
        let extents = array.number_extents();
        let scalar = array.element.scalar();
        for (position, (found, want)) in array.numbers(found).zip(array.numbers(want)).enumerate() {
            comparison.numbers += 1;
            if found == want {
                continue;
            }
            let (found, want) = (Scalar::from_bytes(scalar, found), Scalar::from_bytes(scalar, want));
            let distance = distance(found, want);
            if distance.is_nan() || distance > comparison.largest {
                comparison.largest = distance;
            }
            if tolerance.accepts(found, want, distance) {
                continue;
            }
            comparison.differing += 1;
            if comparison.first.len() < Self::SHOWN {
                comparison.first.push(Difference { index: index(position, &extents), found, want });
            }
        }
        comparison
    }
}

impl Comparison {
    /// Compares the sums of all numbers of two arrays of the same type, whose sizes may differ. Sums of integers are
    /// equal if they are as numbers of that type, which wraps around.
    pub fn of_sums(arrays: [&ArrayShape; 2], bytes: [&[u8]; 2], tolerance: &Tolerance) -> Self {
        let [found, want] = [0, 1].map(|side| sum(arrays[side], bytes[side]));
        let distance = distance(found, want);
        let differs = !tolerance.accepts(found, want, distance);
        let first = differs.then(|| Difference { index: Vec::new(), found, want });
        Self {
            numbers: 1,
            differing: usize::from(differs),
            first: first.into_iter().collect(),
            largest: distance,
        }
    }
}

/// The sum of all numbers: in double precision, or as an unsigned integer as long as those of the array.
fn sum(array: &ArrayShape, bytes: &[u8]) -> Scalar {
    let scalar = array.element.scalar();
    let numbers = array.numbers(bytes).map(|number| Scalar::from_bytes(scalar, number));
    if is_float(scalar) {
        return Scalar::F64(numbers.map(Scalar::to_f64).sum());
    }
    let integer = |number| if let Scalar::Integer(number) = number { number } else { 0 };
    let all = numbers.map(integer).fold(0i128, i128::wrapping_add);
    Scalar::Integer(all.rem_euclid(1i128 << (8 * scalar.bytes())))
}

/// The index in each dimension.
fn index(position: usize, extents: &[usize]) -> Vec<usize> {
    let mut rest = position;
    let mut index: Vec<usize> = extents
        .iter()
        .rev()
        .map(|extent| {
            let here = rest % extent;
            rest /= extent;
            here
        })
        .collect();
    index.reverse();
    index
}

fn distance(found: Scalar, want: Scalar) -> f64 {
    if let (Scalar::Integer(found), Scalar::Integer(want)) = (found, want) {
        return (found - want).unsigned_abs() as f64;
    }
    let (found, want) = (found.to_f64(), want.to_f64());
    if found == want || (found.is_nan() && want.is_nan()) { 0.0 } else { (found - want).abs() }
}

impl Tolerance {
    fn accepts(&self, found: Scalar, want: Scalar, distance: f64) -> bool {
        // Infinity matches only itself.
        let bound = self.absolute + self.relative * want.to_f64().abs();
        if distance == 0.0 || (distance <= bound && distance.is_finite()) {
            return true;
        }
        let finite = found.to_f64().is_finite() && want.to_f64().is_finite();
        match (position(found), position(want)) {
            (Some(found), Some(want)) if finite => found.abs_diff(want) <= u128::from(self.ulp),
            _ => false,
        }
    }
}

/// The position of a float in the order of all floats of its type, 0 at zero; `None` for an integer.
fn position(number: Scalar) -> Option<i128> {
    let (magnitude, negative) = match number {
        Scalar::Integer(_) => return None,
        Scalar::F16(number) => (u64::from(number.to_bits() & 0x7fff), number.is_sign_negative()),
        Scalar::F32(number) => (u64::from(number.abs().to_bits()), number.is_sign_negative()),
        Scalar::F64(number) => (number.abs().to_bits(), number.is_sign_negative()),
    };
    Some(if negative { -i128::from(magnitude) } else { magnitude.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;

    fn array(element: &str, extents: &[usize]) -> ArrayShape {
        let element = ElementType::from_opencl_name(element).unwrap();
        ArrayShape { element, extents: extents.to_vec() }
    }

    fn floats(found: &[f32], want: &[f32], tolerance: Tolerance) -> Comparison {
        let bytes =
            |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
        Comparison::of(&array("float", &[found.len()]), &bytes(found), &bytes(want), &tolerance)
    }

    fn differing(found: f32, want: f32, tolerance: Tolerance) -> bool {
        floats(&[found], &[want], tolerance).differing == 1
    }

    #[test]
    fn comparison_is_exact_by_default() {
        let exact = Tolerance::default();
        assert!(!differing(1.5, 1.5, exact));
        assert!(!differing(0.0, -0.0, exact));
        assert!(!differing(f32::NAN, -f32::NAN, exact));
        assert!(!differing(f32::INFINITY, f32::INFINITY, exact));
        assert!(differing(1.0, 1.0 + f32::EPSILON, exact));
        assert!(differing(f32::NAN, 0.0, exact));
        assert!(differing(0.0, f32::NAN, Tolerance { absolute: 1e30, relative: 1.0, ulp: u64::MAX }));
        assert!(differing(f32::MAX, f32::INFINITY, Tolerance { absolute: 1e39, relative: 1.0, ulp: 5 }));
    }

    #[test]
    fn each_tolerance_by_itself() {
        let absolute = Tolerance { absolute: 0.25, ..Tolerance::default() };
        assert!(!differing(1.25, 1.0, absolute) && differing(1.26, 1.0, absolute));
        let relative = Tolerance { relative: 0.25, ..Tolerance::default() };
        assert!(!differing(-5.0, -4.0, relative) && differing(-5.1, -4.0, relative));
        let ulp = Tolerance { ulp: 2, ..Tolerance::default() };
        assert!(
            !differing(1.0 + 2.0 * f32::EPSILON, 1.0, ulp) && differing(1.0 + 3.0 * f32::EPSILON, 1.0, ulp)
        );
        // Across zero: the smallest floats of either sign are two steps apart.
        let smallest = f32::from_bits(1);
        assert!(!differing(smallest, -smallest, ulp));
    }

    #[test]
    fn sums_of_arrays_of_different_sizes_are_compared() {
        let bytes = |numbers: &[u8]| numbers.to_vec();
        let sums = |found: &[u8], want: &[u8]| {
            let arrays = [&array("uchar", &[found.len()]), &array("uchar", &[want.len()])];
            Comparison::of_sums(arrays, [&bytes(found), &bytes(want)], &Tolerance::default()).differing
        };
        assert_eq!(sums(&[1, 2, 3], &[6]), 0);
        assert_eq!(sums(&[200, 100], &[44]), 0, "bytes wrap around");
        assert_eq!(sums(&[1, 2, 3], &[4, 1]), 1);
        let floats =
            |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
        let arrays = [&array("float", &[2]), &array("float4", &[1])];
        let near = Tolerance { relative: 1e-3, ..Tolerance::default() };
        let both = [&floats(&[0.5, 1.0])[..], &floats(&[0.25, 0.25, 0.5, 0.5001])];
        assert_eq!(Comparison::of_sums(arrays, both, &near).differing, 0);
        assert_eq!(Comparison::of_sums(arrays, both, &Tolerance::default()).differing, 1);
    }

    #[test]
    fn differences_are_counted_and_placed() {
        let found: Vec<i16> = (0..24).collect();
        let mut want = found.clone();
        (want[13], want[23]) = (-32768, 20);
        let bytes =
            |numbers: &[i16]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
        let exact = Tolerance::default();
        let comparison = Comparison::of(&array("short2", &[3, 4]), &bytes(&found), &bytes(&want), &exact);
        assert_eq!((comparison.numbers, comparison.differing, comparison.largest), (24, 2, 32781.0));
        let indices: Vec<&[usize]> = comparison.first.iter().map(|first| first.index.as_slice()).collect();
        // Number 13 is element 6 of a 3x4 array, its second lane.
        assert_eq!(indices, [[1, 2, 1], [2, 3, 1]]);
        let near = Tolerance { absolute: 3.0, ..exact };
        let comparison = Comparison::of(&array("short2", &[3, 4]), &bytes(&found), &bytes(&want), &near);
        assert_eq!(comparison.differing, 1);
    }
}
