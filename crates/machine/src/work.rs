//! The operations that the data files price.

use std::fmt;

/// Declares the operations with their names in the data files.
macro_rules! works {
    ($($(#[$doc:meta])* $work:ident = $name:literal,)*) => {
        /// What an operation does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Work {
            $($(#[$doc])* $work,)*
        }

        impl Work {
            /// All operations, in the order of their names.
            pub const ALL: &[Self] = &[$(Self::$work,)*];

            /// Its name in the data files and in listings.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$work => $name,)*
                }
            }
        }
    };
}

works! {
    /// Absolute value.
    Abs = "abs",
    /// Absolute difference of integers.
    AbsDiff = "abs_diff",
    /// Addition or subtraction.
    Add = "add",
    /// Addition or subtraction with saturation.
    AddSat = "add_sat",
    /// An address from a base and an index, where it is a value of its own.
    Address = "address",
    /// Arc sine or arc cosine.
    Asin = "asin",
    /// Arc tangent.
    Atan = "atan",
    /// An atomic operation on memory.
    Atomic = "atomic",
    /// A barrier of a work-group.
    Barrier = "barrier",
    /// Reversal of the order of bits.
    Bitreverse = "bitreverse",
    /// Selection bit by bit.
    Bitselect = "bitselect",
    /// A branch on a condition in a register.
    Branch = "branch",
    /// Count of leading zeros.
    Clz = "clz",
    /// A comparison with a result in a register.
    Compare = "compare",
    /// A comparison and the branch on its result.
    CompareBranch = "compare_branch",
    /// A comparison and the selection by its result.
    CompareSelect = "compare_select",
    /// A quotient.
    Divide = "divide",
    /// A dot product of up to four lanes.
    Dot = "dot",
    /// A dot product of 8-bit integers.
    Dot8 = "dot8",
    /// Two to a power.
    Exp2 = "exp2",
    /// A load of a spilled register.
    Fill = "fill",
    /// A float from a wider float.
    FloatNarrow = "float_narrow",
    /// An integer from a float.
    FloatToInt = "float_to_int",
    /// A float from a narrower float.
    FloatWiden = "float_widen",
    /// Multiplication and addition with one rounding.
    Fma = "fma",
    /// Mantissa or exponent of a float.
    Frexp = "frexp",
    /// Lanes of several registers collected in one.
    Gather = "gather",
    /// A collective function of a work-group or a sub-group.
    Group = "group",
    /// Average of integers.
    Hadd = "hadd",
    /// Size or format of an image.
    ImageQuery = "image_query",
    /// A read of an image without a sampler.
    ImageRead = "image_read",
    /// A read of an image through a sampler.
    ImageSample = "image_sample",
    /// A write to an image.
    ImageWrite = "image_write",
    /// A float from a 16-bit integer.
    Int16ToFloat = "int16_to_float",
    /// A float from a 32-bit integer.
    Int32ToFloat = "int32_to_float",
    /// A float from an 8-bit integer.
    Int8ToFloat = "int8_to_float",
    /// A jump without a condition.
    Jump = "jump",
    /// A float times a power of two.
    Ldexp = "ldexp",
    /// A load from memory.
    Load = "load",
    /// Logarithm to base two.
    Log2 = "log2",
    /// Bitwise logic.
    Logic = "logic",
    /// Multiplication and addition.
    Mad = "mad",
    /// Multiplication of 24-bit integers, and addition.
    Mad24 = "mad24",
    /// Minimum or maximum.
    Minmax = "minmax",
    /// Multiplication.
    Mul = "mul",
    /// Multiplication of 24-bit integers.
    Mul24 = "mul24",
    /// The upper half of a product.
    MulHi = "mul_hi",
    /// An integer of half the width.
    Narrow = "narrow",
    /// Negation of a float.
    Negate = "negate",
    /// Number of bits that are set.
    Popcount = "popcount",
    /// The id of a work-item.
    QueryId = "query_id",
    /// Reciprocal.
    Rcp = "rcp",
    /// Rounding to an integer.
    Round = "round",
    /// Reciprocal square root.
    Rsqrt = "rsqrt",
    /// Selection by a condition in a register.
    Select = "select",
    /// A shift.
    Shift = "shift",
    /// Sine or cosine of full precision.
    Sin = "sin",
    /// Sine or cosine of native precision.
    SinNative = "sin_native",
    /// A store of a register to memory, because there are too few registers.
    Spill = "spill",
    /// Square root.
    Sqrt = "sqrt",
    /// A store to memory.
    Store = "store",
    /// Tangent.
    Tan = "tan",
    /// An integer of a greater width.
    Widen = "widen",
}

impl Work {
    /// The operation of that name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|work| work.name() == name)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
