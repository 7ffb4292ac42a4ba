//! Numbers as bytes, random numbers, and the allowed values of a result.

use bytemuck::Pod;
use half::f16;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Kind {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// The smallest and the largest integer; `None` for floating-point types.
    pub fn range(self) -> Option<[f64; 2]> {
        Some(match self {
            Self::U8 => [0.0, 255.0],
            Self::I8 => [-128.0, 127.0],
            Self::U16 => [0.0, 65535.0],
            Self::I16 => [-32768.0, 32767.0],
            Self::U32 => [0.0, 4_294_967_295.0],
            Self::I32 => [-2_147_483_648.0, 2_147_483_647.0],
            Self::I64 => [-9.3e18, 9.3e18],
            Self::F16 | Self::F32 | Self::F64 => return None,
        })
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        self.range().is_none()
    }

    /// Element `index` of `bytes`.
    pub fn load(self, bytes: &[u8], index: usize) -> f64 {
        fn read<T: Pod>(bytes: &[u8], index: usize) -> T {
            bytemuck::pod_read_unaligned(&bytes[index * size_of::<T>()..][..size_of::<T>()])
        }
        match self {
            Self::U8 => f64::from(bytes[index]),
            Self::I8 => f64::from(read::<i8>(bytes, index)),
            Self::U16 => f64::from(read::<u16>(bytes, index)),
            Self::I16 => f64::from(read::<i16>(bytes, index)),
            Self::U32 => f64::from(read::<u32>(bytes, index)),
            Self::I32 => f64::from(read::<i32>(bytes, index)),
            Self::I64 => read::<i64>(bytes, index) as f64,
            Self::F16 => read::<f16>(bytes, index).to_f64(),
            Self::F32 => f64::from(read::<f32>(bytes, index)),
            Self::F64 => read::<f64>(bytes, index),
        }
    }

    /// Appends the bytes of a number that the type can represent.
    pub fn append(self, bytes: &mut Vec<u8>, value: f64) {
        match self {
            Self::U8 => bytes.push(value as u8),
            Self::I8 => bytes.extend((value as i8).to_ne_bytes()),
            Self::U16 => bytes.extend((value as u16).to_ne_bytes()),
            Self::I16 => bytes.extend((value as i16).to_ne_bytes()),
            Self::U32 => bytes.extend((value as u32).to_ne_bytes()),
            Self::I32 => bytes.extend((value as i32).to_ne_bytes()),
            Self::I64 => bytes.extend((value as i64).to_ne_bytes()),
            Self::F16 => bytes.extend(f16::from_f64(value).to_ne_bytes()),
            Self::F32 => bytes.extend((value as f32).to_ne_bytes()),
            Self::F64 => bytes.extend(value.to_ne_bytes()),
        }
    }

    /// The nearest number of the type, ties to even; integers are saturated, and NaN becomes 0.
    pub fn nearest(self, value: f64) -> f64 {
        match (self, self.range()) {
            (_, Some([low, high])) => {
                if value.is_nan() {
                    return 0.0;
                }
                let below = value.floor();
                let up = match value - below {
                    rest if rest > 0.5 => true,
                    rest if rest < 0.5 => false,
                    _ => below.rem_euclid(2.0) == 1.0,
                };
                (if up { below + 1.0 } else { below }).clamp(low, high)
            }
            (Self::F16, None) => f16::from_f64(value).to_f64(),
            (Self::F32, None) => f64::from(value as f32),
            _ => value,
        }
    }

    /// Unit roundoff, smallest normal number and largest number of a floating-point type.
    pub fn precision(self) -> [f64; 3] {
        match self {
            Self::F16 => [2f64.powi(-11), 2f64.powi(-14), 65504.0],
            Self::F64 => [2f64.powi(-53), f64::MIN_POSITIVE, f64::MAX],
            _ => [2f64.powi(-24), f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)],
        }
    }
}

/// The kind of numbers that fill a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers {
    /// All elements are equal.
    Flat(i16),
    /// Small integers: floating-point sums of them are exact.
    Small,
    /// The whole range of integers; floating-point numbers between -1 and 1, times this.
    Noise(f32),
    /// The ends of the range and their neighbours; floating-point numbers over 20 powers of two.
    Ends,
    /// Runs of this length at one end of the range, then at the other; 0 and 1 for floating-point types.
    Edges(u32),
    /// Noise in which one number in this many is NaN, infinite, -0, subnormal or the largest.
    Special(u32),
}

/// The contents of a buffer. Element `index` depends only on the seed and the index, so a smaller buffer has the same
/// first elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    pub numbers: Numbers,
    pub seed: u32,
}

/// A pseudorandom number from 0 to 2^64 - 1 (`SplitMix64`).
pub fn scrambled(seed: u64, index: u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ index.wrapping_add(0x632B_E59B_D9B4_E019);
    for factor in [0xBF58_476D_1CE4_E5B9u64, 0x94D0_49BB_1331_11EB] {
        state = (state ^ (state >> 30)).wrapping_mul(factor);
        state ^= state >> 27;
    }
    state ^ (state >> 31)
}

impl Fill {
    /// The contents as bytes.
    pub fn bytes(self, kind: Kind, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count * kind.bytes());
        for index in 0..count {
            kind.append(&mut bytes, self.number(kind, index));
        }
        bytes
    }

    fn number(self, kind: Kind, index: usize) -> f64 {
        let random = scrambled(u64::from(self.seed), index as u64);
        let other = scrambled(u64::from(self.seed) ^ 0xABCD_EF01, index as u64);
        let part = (random >> 11) as f64 / (1u64 << 53) as f64;
        let signed = 2.0 * part - 1.0;
        if let Numbers::Edges(run) = self.numbers {
            let [low, high] = kind.range().unwrap_or([0.0, 1.0]);
            return if (index / run.max(1) as usize).is_multiple_of(2) { low } else { high };
        }
        let Some([low, high]) = kind.range() else {
            return match self.numbers {
                Numbers::Flat(value) => f64::from(value) / 16.0,
                Numbers::Small => (random % 9) as f64 - 4.0,
                Numbers::Noise(scale) => signed * f64::from(scale),
                Numbers::Ends | Numbers::Edges(_) => signed * 2f64.powi((other % 21) as i32 - 10),
                Numbers::Special(one_in) => {
                    if other.is_multiple_of(u64::from(one_in.max(1))) {
                        special(kind, other >> 32)
                    } else {
                        signed * 100.0
                    }
                }
            };
        };
        match self.numbers {
            Numbers::Flat(value) => f64::from(value).clamp(low, high),
            Numbers::Small => ((random % 9) as f64 - if low < 0.0 { 4.0 } else { 0.0 }).clamp(low, high),
            Numbers::Ends | Numbers::Edges(_) => match other % 6 {
                0 => low,
                1 => high,
                2 => low + 1.0,
                3 => high - 1.0,
                4 => 0.0,
                _ => (low + part * (high - low)).floor(),
            },
            Numbers::Noise(_) | Numbers::Special(_) => (low + part * (high - low + 1.0)).floor().min(high),
        }
    }
}

fn special(kind: Kind, which: u64) -> f64 {
    let [_, least, most] = kind.precision();
    match which % 8 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => -0.0,
        4 => least / 4.0,
        5 => -least / 8.0,
        6 => most,
        _ => -most,
    }
}

/// The allowed values of a number after correct arithmetic: the exact value, and the interval that rounding may lead
/// to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub low: f64,
    pub value: f64,
    pub high: f64,
    /// Whether any value is allowed, including NaN.
    pub any: bool,
}

impl Span {
    pub fn exact(value: f64) -> Self {
        Self { low: value, value, high: value, any: false }
    }

    /// Any value is allowed.
    pub fn any() -> Self {
        Self { low: f64::NEG_INFINITY, value: 0.0, high: f64::INFINITY, any: true }
    }

    pub fn is_exact(self) -> bool {
        !self.any && self.low == self.high
    }

    pub fn is_finite(self) -> bool {
        !self.any && self.low.is_finite() && self.high.is_finite()
    }

    /// The largest possible magnitude.
    pub fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    pub fn plus(self, other: Self) -> Self {
        if self.any || other.any {
            return Self::any();
        }
        let sum = Self {
            low: self.low + other.low,
            value: self.value + other.value,
            high: self.high + other.high,
            any: false,
        };
        sum.checked()
    }

    /// If some of the values are NaN and others are not, any value is allowed.
    fn checked(self) -> Self {
        let nans = [self.low, self.value, self.high].map(f64::is_nan);
        match nans {
            [true, true, true] | [false, false, false] => self,
            _ => Self::any(),
        }
    }

    pub fn times(self, factor: f64) -> Self {
        if self.any {
            return self;
        }
        let [a, b] = [self.low * factor, self.high * factor];
        let (low, high) = if a > b { (b, a) } else { (a, b) };
        let product = Self { low, value: self.value * factor, high, any: false };
        // Infinity times a number of unknown sign.
        if factor.is_infinite() && !self.is_exact() && self.low <= 0.0 && self.high >= 0.0 {
            return Self::any();
        }
        product.checked()
    }

    /// The interval, widened by `error` on both sides.
    pub fn widened(self, error: f64) -> Self {
        if self.any || !self.value.is_finite() {
            return self;
        }
        if !error.is_finite() {
            return Self::any();
        }
        Self { low: self.low - error, high: self.high + error, ..self }
    }

    /// The result of a function that does not decrease.
    pub fn map(self, rising: impl Fn(f64) -> f64) -> Self {
        if self.any {
            return self;
        }
        Self { low: rising(self.low), value: rising(self.value), high: rising(self.high), any: false }
    }

    /// Rounded once to a floating-point type, by a device that may flush subnormal numbers. If the number may exceed
    /// the range of the type, any value is allowed.
    pub fn rounded(self, kind: Kind) -> Self {
        let [unit, tiny, most] = kind.precision();
        if self.any || !self.value.is_finite() {
            return self;
        }
        let wide = self.widened(unit * self.magnitude() + tiny);
        if wide.magnitude() > most { Self::any() } else { wide }
    }

    /// The number after conversion to a type.
    pub fn stored(self, kind: Kind) -> Self {
        if self.any {
            return self;
        }
        self.map(|value| kind.nearest(value))
    }

    /// Whether a result is allowed.
    pub fn holds(self, found: f64) -> bool {
        if self.any {
            true
        } else if self.value.is_nan() || found.is_nan() {
            self.value.is_nan() && found.is_nan()
        } else {
            self.low <= found && found <= self.high
        }
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.any {
            f.write_str("anything")
        } else if self.is_exact() || self.value.is_nan() {
            write!(f, "{}", self.value)
        } else {
            write!(f, "{} to {}", self.low, self.high)
        }
    }
}

/// A random element of a list.
pub fn choose<T: Clone>(random: &mut fastrand::Rng, from: &[T]) -> T {
    from[random.usize(..from.len())].clone()
}

/// A random extent: mostly small, often near powers of two, sometimes `large`.
pub fn extent(random: &mut fastrand::Rng, large: usize) -> usize {
    match random.u32(..20) {
        0 => 0,
        1 | 2 => 1,
        3..=9 => random.usize(1..=9),
        10..=13 => random.usize(1..=20),
        14..=16 => choose(random, &[15, 16, 17, 31, 32, 33, 63, 64, 65]).min(large),
        17 | 18 => random.usize(1..=40.min(large)),
        _ => random.usize(1..=large),
    }
}

/// Smaller extents to try instead.
pub fn smaller_extents(extent: usize) -> Vec<usize> {
    let mut found: Vec<usize> = [0, 1, 2, extent / 2, extent.saturating_sub(1)]
        .into_iter()
        .filter(|smaller| *smaller < extent)
        .collect();
    found.dedup();
    found
}
