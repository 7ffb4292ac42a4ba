//! The contents of memory in generated launches.

use tripipe_launch::{ImageShape, ScalarType};
use tripipe_launch_file::{
    ArrayShape, Contents, ElementType, Given, LaunchFile, Memory, MemoryShape, Number, Random, Scalar,
};

/// What memory is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As the launch says, with other random numbers; what is unwritten stays unwritten.
    AsGiven,
    /// Random bits for integers; for floats, numbers of both signs and of magnitudes from 2^-12 to 2^12. Nothing is
    /// unwritten.
    Mixed,
    /// Zero.
    Zero,
    /// The largest number of the type; floats that do not overflow when a few are added or multiplied.
    Largest,
    /// The smallest number of the type; as for the largest.
    Smallest,
}

impl Kind {
    /// All kinds.
    pub(super) const ALL: [Self; 5] = [Self::AsGiven, Self::Mixed, Self::Largest, Self::Zero, Self::Smallest];

    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AsGiven => "memory as in the launch",
            Self::Mixed => "random numbers",
            Self::Zero => "zeros",
            Self::Largest => "the largest numbers",
            Self::Smallest => "the smallest numbers",
        }
    }

    /// Fills the memory of a launch. `given` are the contents of the memory objects in order, if they are from files or
    /// listed; they are repeated or cut.
    pub(super) fn fill(self, launch: &mut LaunchFile, given: &[GivenContents], seed: u64) {
        let mut given = given.iter();
        for (position, entry) in launch.arguments.iter_mut().enumerate() {
            let Given::Memory(Memory { shape, contents, .. }) = &mut entry.given else { continue };
            let own = given.next();
            let Some(array) = array(shape) else { continue };
            let seed = seed.wrapping_mul(1000).wrapping_add(position as u64);
            let scalar = array.element.scalar();
            *contents = match (self, &*contents) {
                (Self::AsGiven, Contents::Random(random)) => Contents::Random(Random { seed, ..*random }),
                (Self::AsGiven, Contents::Unwritten | Contents::Fill(_) | Contents::Range { .. }) => continue,
                (Self::AsGiven, _) => match own {
                    Some(own) if !own.numbers.is_empty() => {
                        let count = array.elements().unwrap_or(0) * array.element.lanes();
                        Contents::Values(own.numbers.iter().copied().cycle().take(count).collect())
                    }
                    _ => continue,
                },
                (Self::Mixed, _) => mixed(&array, seed),
                (Self::Zero, _) => Contents::Fill(vec![Number::Integer(0)]),
                (Self::Largest, _) => Contents::Fill(vec![limit(scalar, true)]),
                (Self::Smallest, _) => Contents::Fill(vec![limit(scalar, false)]),
            };
        }
    }
}

/// The contents of a memory object that a launch lists or reads from a file.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenContents {
    numbers: Vec<Number>,
}

/// The most numbers that are kept of a memory object.
const KEPT: usize = 1 << 16;

impl GivenContents {
    /// The first numbers of an array.
    pub(super) fn of(array: &ArrayShape, bytes: &[u8]) -> Self {
        let scalar = array.element.scalar();
        let number = |bytes: &[u8]| match Scalar::from_bytes(scalar, bytes) {
            Scalar::Integer(number) => Number::Integer(number),
            float => Number::Float(float.to_f64()),
        };
        Self { numbers: array.numbers(bytes).take(KEPT).map(number).collect() }
    }
}

/// The array of a memory object of known size.
fn array(shape: &MemoryShape) -> Option<ArrayShape> {
    match shape {
        MemoryShape::Buffer { element, extents } => {
            Some(ArrayShape { element: *element, extents: extents.clone()? })
        }
        MemoryShape::Image { extent, order, channel } => {
            Some(ArrayShape::of_image(&ImageShape { extent: (*extent)?, order: *order, channel: *channel }))
        }
    }
}

fn is_float(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::F16 | ScalarType::F32 | ScalarType::F64)
}

/// Random numbers of all magnitudes.
fn mixed(array: &ArrayShape, seed: u64) -> Contents {
    if !is_float(array.element.scalar()) {
        return Contents::Random(Random { seed, low: None, high: None });
    }
    let mut generator = fastrand::Rng::with_seed(seed);
    let count = array.elements().unwrap_or(0) * array.element.lanes();
    let number = |_| {
        let sign = if generator.bool() { 1.0 } else { -1.0 };
        Number::Float(sign * (1.0 + generator.f64()) * 2f64.powi(generator.i32(-12..12)))
    };
    Contents::Values((0..count).map(number).collect())
}

/// The largest or the smallest number of a type.
fn limit(scalar: ScalarType, is_largest: bool) -> Number {
    let sign = if is_largest { 1.0 } else { -1.0 };
    match scalar {
        ScalarType::F16 => Number::Float(sign * 64.0),
        ScalarType::F32 => Number::Float(sign * 2f64.powi(40)),
        ScalarType::F64 => Number::Float(sign * 2f64.powi(300)),
        _ => {
            let bits = 8 * ElementType::scalar_of(scalar).bytes() as u32;
            let is_signed =
                matches!(scalar, ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64);
            Number::Integer(match (is_signed, is_largest) {
                (true, true) => (1i128 << (bits - 1)) - 1,
                (true, false) => -(1i128 << (bits - 1)),
                (false, true) => (1i128 << bits) - 1,
                // Zero has a kind of its own.
                (false, false) => 1,
            })
        }
    }
}
