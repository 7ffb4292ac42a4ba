//! Integer functions. The type determines whether the numbers are signed or unsigned.

use core::fmt::Debug;
use core::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

mod sealed {
    pub trait Sealed {}
}

/// An integer of 8, 16, 32 or 64 bits, signed or unsigned.
pub trait Int:
    sealed::Sealed
    + Copy
    + Debug
    + Default
    + Ord
    + Send
    + Sync
    + 'static
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The signed integer of the same width.
    type Signed: Int<Signed = Self::Signed, Unsigned = Self::Unsigned>;
    /// The unsigned integer of the same width.
    type Unsigned: Int<Signed = Self::Signed, Unsigned = Self::Unsigned>;

    /// The width in bits.
    const BITS: u32;
    /// The smallest number.
    const MIN: Self;
    /// The largest number.
    const MAX: Self;

    /// The same bits.
    fn signed(self) -> Self::Signed;
    /// The same bits.
    fn unsigned(self) -> Self::Unsigned;
    /// The same bits.
    #[must_use]
    fn from_signed(bits: Self::Signed) -> Self;
    /// The same bits.
    #[must_use]
    fn from_unsigned(bits: Self::Unsigned) -> Self;
    /// The low bits of `number`.
    #[must_use]
    fn from_u32(number: u32) -> Self;
    /// The low 32 bits.
    fn low(self) -> u32;
    /// The sum modulo 2 to the width.
    #[must_use]
    fn wrapping_add(self, other: Self) -> Self;
    /// The difference modulo 2 to the width.
    #[must_use]
    fn wrapping_sub(self, other: Self) -> Self;
    /// The product modulo 2 to the width.
    #[must_use]
    fn wrapping_mul(self, other: Self) -> Self;
    /// The sum, or the nearest end of the range.
    #[must_use]
    fn saturating_add(self, other: Self) -> Self;
    /// The difference, or the nearest end of the range.
    #[must_use]
    fn saturating_sub(self, other: Self) -> Self;
    /// The high half of the product.
    #[must_use]
    fn mul_high(self, other: Self) -> Self;
    /// `self * b + c`, or the nearest end of the range.
    #[must_use]
    fn saturating_mul_add(self, b: Self, c: Self) -> Self;
    /// Rotates left by `by` modulo the width.
    #[must_use]
    fn rotate_left(self, by: u32) -> Self;
    /// Number of zeros above the highest 1; the width for 0.
    fn leading_zeros(self) -> u32;
    /// Number of zeros below the lowest 1; the width for 0.
    fn trailing_zeros(self) -> u32;
}

/// An integer for which an integer of twice the width exists.
pub trait Narrow: Int {
    /// The integer of twice the width and the same signedness.
    type Wide: Int;

    /// The number with the upper half `high` and the lower half `low`.
    fn join(high: Self, low: Self::Unsigned) -> Self::Wide;
}

macro_rules! int {
    ($int:ident, $signed:ident, $unsigned:ident, $wide:ident) => {
        impl sealed::Sealed for $int {}

        #[allow(clippy::cast_lossless, reason = "one text for widths on both sides of the cast's")]
        impl Int for $int {
            type Signed = $signed;
            type Unsigned = $unsigned;

            const BITS: u32 = $int::BITS;
            const MIN: Self = $int::MIN;
            const MAX: Self = $int::MAX;

            #[inline(always)]
            fn signed(self) -> $signed {
                self as $signed
            }

            #[inline(always)]
            fn unsigned(self) -> $unsigned {
                self as $unsigned
            }

            #[inline(always)]
            fn from_signed(bits: $signed) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn from_unsigned(bits: $unsigned) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn from_u32(number: u32) -> Self {
                number as Self
            }

            #[inline(always)]
            fn low(self) -> u32 {
                self as u32
            }

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn saturating_add(self, other: Self) -> Self {
                self.saturating_add(other)
            }

            #[inline(always)]
            fn saturating_sub(self, other: Self) -> Self {
                self.saturating_sub(other)
            }

            #[inline(always)]
            fn mul_high(self, other: Self) -> Self {
                ($wide::from(self) * $wide::from(other) >> $int::BITS) as Self
            }

            #[inline(always)]
            fn saturating_mul_add(self, b: Self, c: Self) -> Self {
                let exact = $wide::from(self) * $wide::from(b) + $wide::from(c);
                exact.clamp($int::MIN.into(), $int::MAX.into()) as Self
            }

            #[inline(always)]
            fn rotate_left(self, by: u32) -> Self {
                self.rotate_left(by)
            }

            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                self.leading_zeros()
            }

            #[inline(always)]
            fn trailing_zeros(self) -> u32 {
                self.trailing_zeros()
            }
        }
    };
}

macro_rules! narrow {
    ($int:ident, $wide:ident) => {
        impl Narrow for $int {
            type Wide = $wide;

            #[inline(always)]
            fn join(high: Self, low: Self::Unsigned) -> $wide {
                $wide::from(high) << $int::BITS | $wide::from(low)
            }
        }
    };
}

int!(i8, i8, u8, i16);
int!(u8, i8, u8, u16);
int!(i16, i16, u16, i32);
int!(u16, i16, u16, u32);
int!(i32, i32, u32, i64);
int!(u32, i32, u32, u64);
int!(i64, i64, u64, i128);
int!(u64, i64, u64, u128);
narrow!(i8, i16);
narrow!(u8, u16);
narrow!(i16, i32);
narrow!(u16, u32);
narrow!(i32, i64);
narrow!(u32, u64);

/// |x|, to be interpreted as unsigned: the smallest signed number keeps its bits.
#[inline(always)]
pub fn abs<T: Int>(x: T) -> T {
    if x < T::default() { T::default().wrapping_sub(x) } else { x }
}

/// |x - y|, to be interpreted as unsigned.
#[inline(always)]
pub fn abs_diff<T: Int>(x: T, y: T) -> T {
    if x < y { y.wrapping_sub(x) } else { x.wrapping_sub(y) }
}

/// x + y, or the nearest end of the range.
#[inline(always)]
pub fn add_sat<T: Int>(x: T, y: T) -> T {
    x.saturating_add(y)
}

/// x - y, or the nearest end of the range.
#[inline(always)]
pub fn sub_sat<T: Int>(x: T, y: T) -> T {
    x.saturating_sub(y)
}

/// (x + y) / 2 without overflow, rounded down.
#[inline(always)]
pub fn hadd<T: Int>(x: T, y: T) -> T {
    (x & y).wrapping_add((x ^ y) >> 1)
}

/// (x + y + 1) / 2 without overflow, rounded down.
#[inline(always)]
pub fn rhadd<T: Int>(x: T, y: T) -> T {
    (x | y).wrapping_sub((x ^ y) >> 1)
}

/// `min(max(x, low), high)`.
#[inline(always)]
pub fn clamp<T: Int>(x: T, low: T, high: T) -> T {
    min(max(x, low), high)
}

/// The larger one.
#[inline(always)]
pub fn max<T: Int>(x: T, y: T) -> T {
    if x < y { y } else { x }
}

/// The smaller one.
#[inline(always)]
pub fn min<T: Int>(x: T, y: T) -> T {
    if y < x { y } else { x }
}

/// Number of zeros above the highest 1; the width for 0.
#[inline(always)]
pub fn clz<T: Int>(x: T) -> T {
    T::from_u32(x.leading_zeros())
}

/// Number of zeros below the lowest 1; the width for 0.
#[inline(always)]
pub fn ctz<T: Int>(x: T) -> T {
    T::from_u32(x.trailing_zeros())
}

/// The high half of x * y.
#[inline(always)]
pub fn mul_hi<T: Int>(x: T, y: T) -> T {
    x.mul_high(y)
}

/// `mul_hi(a, b) + c`, modulo 2 to the width.
#[inline(always)]
pub fn mad_hi<T: Int>(a: T, b: T, c: T) -> T {
    a.mul_high(b).wrapping_add(c)
}

/// a * b + c, or the nearest end of the range.
#[inline(always)]
pub fn mad_sat<T: Int>(a: T, b: T, c: T) -> T {
    a.saturating_mul_add(b, c)
}

/// x rotated left by y modulo the width.
#[inline(always)]
pub fn rotate<T: Int>(x: T, y: T) -> T {
    x.rotate_left(y.low() % T::BITS)
}

/// The low 32 bits of the product of the low 24 bits of x and y, interpreted as signed.
#[inline(always)]
pub fn s_mul24(x: i32, y: i32) -> i32 {
    (x << 8 >> 8).wrapping_mul(y << 8 >> 8)
}

/// The low 32 bits of the product of the low 24 bits of x and y.
#[inline(always)]
pub fn u_mul24(x: u32, y: u32) -> u32 {
    (x & 0x00ff_ffff).wrapping_mul(y & 0x00ff_ffff)
}

/// `s_mul24(a, b) + c`, modulo 2^32.
#[inline(always)]
pub fn s_mad24(a: i32, b: i32, c: i32) -> i32 {
    s_mul24(a, b).wrapping_add(c)
}

/// `u_mul24(a, b) + c`, modulo 2^32.
#[inline(always)]
pub fn u_mad24(a: u32, b: u32, c: u32) -> u32 {
    u_mul24(a, b).wrapping_add(c)
}

/// Each bit is that of b where c has a 1, else that of a.
#[inline(always)]
pub fn bitselect<T: Int>(a: T, b: T, c: T) -> T {
    (a & !c) | (b & c)
}

/// The number with the upper half `high` and the lower half `low`.
#[inline(always)]
pub fn upsample<T: Narrow>(high: T, low: T::Unsigned) -> T::Wide {
    T::join(high, low)
}
