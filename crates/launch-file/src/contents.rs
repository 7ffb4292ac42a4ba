//! The contents of buffers, images and expectations, and their bytes.

use std::iter;
use std::ops::RangeInclusive;

use crate::element::{ArrayShape, append, append_float, append_integer, integer_range, is_float};
use tripipe_device::document::Number;
use tripipe_launch::ScalarType;

/// The source of an array's contents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Contents {
    /// None: the array is unwritten.
    Unwritten,
    /// Every element has this value: one number for all lanes, or one per lane.
    Fill(Vec<Number>),
    /// `start`, `start + step`, ... through the lanes of all elements. Integers wrap around as their type does; floats
    /// are computed as `start + i * step` in double precision and rounded once.
    Range {
        /// The first number.
        start: Number,
        /// The difference between consecutive numbers.
        step: Number,
    },
    /// Random numbers, see [`Random`].
    Random(Random),
    /// All numbers in order; their count is elements times lanes.
    Values(Vec<Number>),
    /// The bytes of a file, unchanged; vectors of 3 occupy the space of 4.
    File {
        /// Its path, as given in the launch file.
        path: String,
    },
    /// The numbers of a `.npy` file, of exactly the element's type.
    Npy {
        /// Its path, as given in the launch file.
        path: String,
    },
    /// The channels of a picture: unchanged for `uchar`, scaled to 0.0 to 1.0 for `half` and `float`.
    Picture {
        /// Its path, as given in the launch file.
        path: String,
    },
}

/// Uniformly distributed numbers, the same on every machine.
///
/// The generator is Wyrand (as in wyhash, final version 4.2), a 64-bit counter: `s += 0x2d358dccaa6c78a5`, then the two
/// halves of the 128-bit product `s * (s ^ 0x8bb84b93962eacc9)` are combined by exclusive or; `s` starts as the seed.
/// Every number takes one 64-bit draw `x`. A float is `low + (high - low) * (x >> 11) / 2^53`, computed in double
/// precision and rounded once (to at most `high`); an integer is `low + floor(x * (high - low + 1) / 2^64)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    /// The seed of the generator. Two arrays of the same type, size and seed are equal.
    pub seed: u64,
    /// The lowest number; `None` means 0 for floats and the type's minimum for integers.
    pub low: Option<Number>,
    /// The highest number; `None` means 1 for floats and the type's maximum for integers.
    pub high: Option<Number>,
}

/// A number that its element type cannot represent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Misfit {
    /// The number.
    pub(crate) number: Number,
    /// The type.
    pub(crate) scalar: ScalarType,
}

impl Contents {
    /// The path of the source file, as given in the launch file; `None` if the contents are not from a file.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::File { path } | Self::Npy { path } | Self::Picture { path } => Some(path),
            _ => None,
        }
    }

    /// The numbers given explicitly, all of which must fit the element's type.
    pub(crate) fn written(&self) -> impl Iterator<Item = Number> {
        let (list, pair): (&[Number], [Option<Number>; 2]) = match self {
            Self::Fill(numbers) | Self::Values(numbers) => (numbers, [None, None]),
            Self::Range { start, .. } => (&[], [Some(*start), None]),
            Self::Random(random) => (&[], [random.low, random.high]),
            _ => (&[], [None, None]),
        };
        list.iter().copied().chain(pair.into_iter().flatten())
    }

    /// The bytes of generated contents; `None` for contents from a file and for unwritten ones.
    ///
    /// The caller has checked that the size of `array` does not overflow and is within the limit.
    pub(crate) fn generate(&self, array: &ArrayShape) -> Result<Option<Vec<u8>>, Misfit> {
        let (scalar, lanes) = (array.element.scalar(), array.element.lanes());
        let elements = array.elements().unwrap_or(0);
        let mut bytes = Vec::with_capacity(elements * array.element.bytes());
        let padding = vec![0; array.element.bytes() - lanes * scalar.bytes()];
        let append = |number: Number, bytes: &mut Vec<u8>| {
            if append(number, scalar, bytes) { Ok(()) } else { Err(Misfit { number, scalar }) }
        };
        match self {
            Self::Fill(numbers) => {
                let mut element = Vec::new();
                for number in numbers.iter().cycle().take(lanes) {
                    append(*number, &mut element)?;
                }
                element.extend(&padding);
                return Ok(Some(element.repeat(elements)));
            }
            Self::Values(numbers) => {
                for element in numbers.chunks(lanes) {
                    for number in element {
                        append(*number, &mut bytes)?;
                    }
                    bytes.extend(&padding);
                }
            }
            Self::Range { start, step } => {
                let number = ranging(*start, *step, scalar);
                let mut numbers = 0..;
                for _ in 0..elements {
                    numbers.by_ref().take(lanes).for_each(|index| number(index, &mut bytes));
                    bytes.extend(&padding);
                }
            }
            Self::Random(random) => {
                let mut draw = random.drawing(scalar);
                for _ in 0..elements {
                    (0..lanes).for_each(|_| draw(&mut bytes));
                    bytes.extend(&padding);
                }
            }
            Self::Unwritten | Self::File { .. } | Self::Npy { .. } | Self::Picture { .. } => return Ok(None),
        }
        Ok(Some(bytes))
    }
}

/// Returns a function that appends number `index` of a range.
fn ranging(start: Number, step: Number, scalar: ScalarType) -> impl Fn(u64, &mut Vec<u8>) {
    let (first, distance) = (start.to_f64(), step.to_f64());
    move |index, bytes| match (start, step) {
        (Number::Integer(start), Number::Integer(step)) if !is_float(scalar) => {
            append_integer(start.wrapping_add(step.wrapping_mul(index.into())), scalar, bytes);
        }
        _ => {
            append_float(first + index as f64 * distance, scalar, bytes);
        }
    }
}

/// Appends a random number.
type Draw = Box<dyn FnMut(&mut Vec<u8>)>;

impl Random {
    /// Whether `low` is at most `high`, with the defaults of `scalar` for missing bounds.
    pub(crate) fn is_ordered(&self, scalar: ScalarType) -> bool {
        if let Some(all) = integer_range(scalar) {
            let [low, high] = self.integer_bounds(&all);
            low <= high
        } else {
            let [low, high] = self.float_bounds();
            low <= high && (high - low).is_finite()
        }
    }

    fn float_bounds(&self) -> [f64; 2] {
        [self.low.map_or(0.0, Number::to_f64), self.high.map_or(1.0, Number::to_f64)]
    }

    fn integer_bounds(&self, all: &RangeInclusive<i128>) -> [i128; 2] {
        let bound = |number: Option<Number>, default| match number {
            Some(Number::Integer(number)) => number,
            _ => default,
        };
        [bound(self.low, *all.start()), bound(self.high, *all.end())]
    }

    /// Returns a function that appends the next random number.
    fn drawing(&self, scalar: ScalarType) -> Draw {
        let mut generator = fastrand::Rng::with_seed(self.seed);
        let Some(all) = integer_range(scalar) else {
            let [low, high] = self.float_bounds();
            return Box::new(move |bytes| {
                let part = (generator.u64(..) >> 11) as f64 / (1u64 << 53) as f64;
                append_float((low + (high - low) * part).min(high), scalar, bytes);
            });
        };
        let [low, high] = self.integer_bounds(&all);
        let span = (high - low + 1) as u128;
        Box::new(move |bytes| {
            let part = (u128::from(generator.u64(..)) * span) >> 64;
            append_integer(low + part as i128, scalar, bytes);
        })
    }
}

/// Converts consecutive numbers to elements: vectors of 3 are padded to 4.
pub(crate) fn with_padding(array: &ArrayShape, numbers: Vec<u8>) -> Vec<u8> {
    let dense = array.element.lanes() * array.element.scalar().bytes();
    let padding = array.element.bytes() - dense;
    if padding == 0 {
        return numbers;
    }
    numbers
        .chunks(dense)
        .flat_map(|element| element.iter().copied().chain(iter::repeat_n(0, padding)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;

    fn array(element: &str, count: usize) -> ArrayShape {
        ArrayShape { element: ElementType::from_opencl_name(element).unwrap(), extents: vec![count] }
    }

    fn generate(contents: &Contents, element: &str, count: usize) -> Vec<u8> {
        contents.generate(&array(element, count)).unwrap().unwrap()
    }

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
    }

    #[test]
    fn fill_goes_to_every_lane_or_lane_by_lane() {
        let all = Contents::Fill(vec![Number::Integer(7)]);
        assert_eq!(generate(&all, "uchar3", 2), [7, 7, 7, 0, 7, 7, 7, 0]);
        let each = Contents::Fill(vec![Number::Integer(1), Number::Integer(2)]);
        assert_eq!(generate(&each, "uchar2", 2), [1, 2, 1, 2]);
    }

    #[test]
    fn ranges_run_through_lanes_and_wrap() {
        let range = |start, step| Contents::Range { start, step };
        let wrapping = range(Number::Integer(254), Number::Integer(1));
        assert_eq!(generate(&wrapping, "uchar3", 2), [254, 255, 0, 0, 1, 2, 3, 0]);
        let down = range(Number::Integer(1), Number::Integer(-1));
        assert_eq!(generate(&down, "char", 3), [1, 0, 255]);
        // 0.1 * 3 in double precision is 0.30000000000000004; the nearest float is the same as that of 0.3.
        let tenths = range(Number::Integer(0), Number::Float(0.1));
        assert_eq!(floats(&generate(&tenths, "float", 4)), [0.0, 0.1, 0.2, 0.3]);
    }

    #[test]
    fn random_numbers_are_those_the_documentation_says() {
        // From another implementation of the formula: python3
        //   s = (s + 0x2d358dccaa6c78a5) % 2**64; t = s * (s ^ 0x8bb84b93962eacc9); x = (t ^ t >> 64) % 2**64
        let random = |seed, low, high| Contents::Random(Random { seed, low, high });
        let raw = generate(&random(1, None, None), "ulong", 3);
        let raw: Vec<u64> =
            raw.chunks(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(raw, [0xa833_bdcd_b6d1_beb1, 0x88dc_97e5_aab5_fe3d, 0x3d58_bb03_f31a_4686]);
        let dice = random(1, Some(Number::Integer(1)), Some(Number::Integer(6)));
        assert_eq!(generate(&dice, "uchar", 8), [4, 4, 2, 5, 1, 5, 5, 6]);
        let doubles = generate(&random(1, None, Some(Number::Integer(2))), "double", 2);
        let doubles: Vec<f64> =
            doubles.chunks(8).map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(doubles, [1.314_079_022_833_210_2, 1.069_231_974_737_178_1]);
    }

    #[test]
    fn random_numbers_stay_in_their_range() {
        for seed in 0..50 {
            let wide = Random { seed, low: Some(Number::Float(-1.0)), high: Some(Number::Float(1.0)) };
            let numbers = floats(&generate(&Contents::Random(wide), "float", 100));
            assert!(numbers.iter().all(|number| (-1.0..=1.0).contains(number)));
            assert!(numbers.iter().any(|number| *number < 0.0) && numbers.iter().any(|number| *number > 0.0));
            let narrow = Random { seed, low: Some(Number::Integer(-2)), high: Some(Number::Integer(1)) };
            let numbers = generate(&Contents::Random(narrow), "char", 100);
            for number in [254, 255, 0, 1] {
                assert!(numbers.contains(&number));
            }
            assert!(numbers.iter().all(|number| [254, 255, 0, 1].contains(number)));
        }
    }
}
