//! Operations on numbers and lanes.

use std::fmt;

use super::names::named;

named! {
    /// Operations with one operand.
    pub enum Unary {
        /// Two's complement negation.
        Neg = "neg",
        /// Bitwise complement; also of `bool`.
        Not = "not",
        /// Sign bit inverted, also of NaNs.
        FNeg = "fneg",
        /// Bits in reverse order.
        BitReverse = "bitreverse",
        /// Number of bits set.
        PopCount = "popcount",
        /// Whether any lane is true: `bool` lanes to `bool`.
        Any = "any",
        /// Whether all lanes are true: `bool` lanes to `bool`.
        All = "all",
        /// Whether it is a NaN: float lanes to `bool` lanes, like the four below.
        IsNan = "isnan",
        /// Whether it is infinite.
        IsInf = "isinf",
        /// Whether it is neither NaN nor infinite.
        IsFinite = "isfinite",
        /// Whether it is neither zero, subnormal, infinite nor NaN.
        IsNormal = "isnormal",
        /// Whether the sign bit is set.
        SignBit = "signbit",
    }
}

named! {
    /// Operations with two operands of one type. Integers wrap.
    pub enum Binary {
        /// Integer sum.
        Add = "add",
        /// Integer difference.
        Sub = "sub",
        /// Low half of the product.
        Mul = "mul",
        /// Unsigned quotient. Division by zero is undefined.
        UDiv = "udiv",
        /// Signed quotient toward zero. Undefined for division by zero, and for the least value divided by -1.
        SDiv = "sdiv",
        /// Unsigned remainder.
        URem = "urem",
        /// Signed remainder with the dividend's sign.
        SRem = "srem",
        /// Signed remainder with the divisor's sign.
        SMod = "smod",
        /// Shift left. A count of the width or more is undefined in SPIR-V; OpenCL C front ends mask it.
        Shl = "shl",
        /// Logical shift right.
        LShr = "lshr",
        /// Arithmetic shift right.
        AShr = "ashr",
        /// Bitwise and; also of `bool`.
        And = "and",
        /// Bitwise or; also of `bool`.
        Or = "or",
        /// Bitwise exclusive or; also of `bool`.
        Xor = "xor",
        /// Float sum.
        FAdd = "fadd",
        /// Float difference.
        FSub = "fsub",
        /// Float product.
        FMul = "fmul",
        /// Float quotient; 2.5 ULP in single precision, exact in half and double (OpenCL C 3.0, 7.4).
        FDiv = "fdiv",
        /// Float remainder with the dividend's sign.
        FRem = "frem",
        /// Float remainder with the divisor's sign.
        FMod = "fmod",
    }
}

named! {
    /// Comparisons. With a NaN, `f...` are false, except for `u` ones, which are true.
    pub enum Compare {
        /// Equal: integers, `bool`, pointers.
        Eq = "eq",
        /// Not equal: integers, `bool`, pointers.
        Ne = "ne",
        /// Unsigned less; also of pointers, like the three below.
        ULt = "ult",
        /// Unsigned less or equal.
        ULe = "ule",
        /// Unsigned greater.
        UGt = "ugt",
        /// Unsigned greater or equal.
        UGe = "uge",
        /// Signed less.
        SLt = "slt",
        /// Signed less or equal.
        SLe = "sle",
        /// Signed greater.
        SGt = "sgt",
        /// Signed greater or equal.
        SGe = "sge",
        /// Ordered and equal.
        FEq = "feq",
        /// Ordered and not equal.
        FNe = "fne",
        /// Ordered and less.
        FLt = "flt",
        /// Ordered and less or equal.
        FLe = "fle",
        /// Ordered and greater.
        FGt = "fgt",
        /// Ordered and greater or equal.
        FGe = "fge",
        /// Unordered or equal.
        FUEq = "fueq",
        /// Unordered or not equal: C's `!=`.
        FUNe = "fune",
        /// Unordered or less.
        FULt = "fult",
        /// Unordered or less or equal.
        FULe = "fule",
        /// Unordered or greater.
        FUGt = "fugt",
        /// Unordered or greater or equal.
        FUGe = "fuge",
        /// Neither is a NaN.
        FOrd = "ford",
        /// Either is a NaN.
        FUno = "funo",
    }
}

impl Compare {
    /// The integer comparison that is true where this one is false; `None` for floats.
    pub fn negated(self) -> Option<Self> {
        Some(match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::ULt => Self::UGe,
            Self::ULe => Self::UGt,
            Self::UGt => Self::ULe,
            Self::UGe => Self::ULt,
            Self::SLt => Self::SGe,
            Self::SLe => Self::SGt,
            Self::SGt => Self::SLe,
            Self::SGe => Self::SLt,
            _ => return None,
        })
    }

    /// The equivalent integer comparison with exchanged operands; `None` for floats.
    pub fn mirrored(self) -> Option<Self> {
        Some(match self {
            Self::Eq | Self::Ne => self,
            Self::ULt => Self::UGt,
            Self::ULe => Self::UGe,
            Self::UGt => Self::ULt,
            Self::UGe => Self::ULe,
            Self::SLt => Self::SGt,
            Self::SLe => Self::SGe,
            Self::SGt => Self::SLt,
            Self::SGe => Self::SLe,
            _ => return None,
        })
    }

    /// Whether it compares floats.
    pub fn is_float(self) -> bool {
        self >= Self::FEq
    }
}

named! {
    /// The interpretation of the bits of a conversion's operand or result.
    pub enum Number {
        /// Two's complement.
        Signed = "s",
        /// Unsigned.
        Unsigned = "u",
        /// Floating point.
        Float = "f",
    }
}

named! {
    /// Rounding of a conversion.
    pub enum Rounding {
        /// To nearest, ties to even.
        Nearest = "rte",
        /// Toward zero.
        Zero = "rtz",
        /// Toward positive infinity.
        Up = "rtp",
        /// Toward negative infinity.
        Down = "rtn",
    }
}

/// A conversion between numbers. Integer to integer truncates or extends according to the *operand's* interpretation;
/// float to integer out of range is undefined unless it saturates, where a NaN gives 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convert {
    /// The interpretation of the operand.
    pub from: Number,
    /// The interpretation of the result; for integers it only matters for saturation.
    pub to: Number,
    /// Rounding; the front end inserts the default: to nearest, toward zero for float to integer.
    pub rounding: Rounding,
    /// Whether results out of range are clamped to the range.
    pub saturate: bool,
}

/// The lanes of a shuffle.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShuffleMask {
    lanes: [u8; crate::Type::MAX_LANES],
    count: u8,
}

impl ShuffleMask {
    /// A lane whose value does not matter.
    const ANY: u8 = 255;

    /// A mask of 2 to 32 lanes; `None` for a lane whose value does not matter. Returns `None` for other lengths or
    /// lanes above 63.
    pub fn new(lanes: &[Option<u8>]) -> Option<Self> {
        let count = u8::try_from(lanes.len()).ok()?;
        let valid = crate::Type::LANES.contains(&count) && lanes.iter().flatten().all(|lane| *lane < 64);
        let mut mask = [Self::ANY; crate::Type::MAX_LANES];
        for (slot, lane) in mask.iter_mut().zip(lanes) {
            *slot = lane.unwrap_or(Self::ANY);
        }
        valid.then_some(Self { lanes: mask, count })
    }

    /// Lanes in order.
    pub fn lanes(&self) -> impl ExactSizeIterator<Item = Option<u8>> + '_ {
        self.lanes[..usize::from(self.count)].iter().map(|lane| (*lane != Self::ANY).then_some(*lane))
    }
}

impl fmt::Debug for ShuffleMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lanes()).finish()
    }
}
