//! Functions of the OpenCL library, one per row.
//!
//! Error bounds are those of the full profile, in units in the last place: from the OpenCL C specification 3.0, section
//! 7.4 "Relative Error as ULPs", the tables "ULP values for single precision built-in math functions" and "ULP values
//! for double precision built-in math functions"; for half precision from `cl_khr_fp16`, the table "ULP Values for Half
//! Precision Floating-Point Arithmetic Operations", column "Full Profile".

/// The operands of a function and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinSignature {
    /// This many floats, or vectors of them, of the result's type.
    Float(u8),
    /// This many integers of the result's type.
    Int(u8),
    /// This many operands of the result's type, integer or float.
    Any(u8),
    /// A float, and as many `i32` lanes; the result has the float's type.
    FloatInt,
    /// A float; the result has as many `i32` lanes.
    FloatToInt,
    /// Two floats; the result has as many `i32` lanes.
    FloatsToInt,
    /// An integer; the result is a float of the same width.
    IntToFloat,
    /// This many floats; the result is one lane of them.
    FloatsToScalar(u8),
    /// Two vectors of 3 or 4 floats; the result has the same type.
    Cross,
    /// High and low half; the result is twice as wide.
    Upsample,
    /// This many vectors, and a mask of integers as wide as their lanes; the result has as many lanes as the mask.
    Shuffle(u8),
}

impl BuiltinSignature {
    /// The number of operands.
    pub const fn operands(self) -> usize {
        match self {
            Self::Float(n) | Self::Int(n) | Self::Any(n) | Self::FloatsToScalar(n) => n as usize,
            Self::FloatToInt | Self::IntToFloat => 1,
            Self::FloatInt | Self::FloatsToInt | Self::Cross | Self::Upsample => 2,
            Self::Shuffle(n) => n as usize + 1,
        }
    }
}

/// The maximum error of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ulp {
    /// Correctly rounded; for integers, exact.
    Exact,
    /// This many units in the last place.
    Within(f32),
    /// `a + b n` units in the last place for `n` lanes.
    Length(f32, f32),
    /// Implementation-defined, or bounded in another unit: `mix` to 1e-3, `smoothstep` to 1e-5, `mad` as one rounding
    /// or two, `dot` and `cross` by the greatest operand.
    Free,
}

/// The group of functions that a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `sin`, `pow` ...
    Math,
    /// `half_sin` ...
    Half,
    /// `native_sin` ...
    Native,
    /// `mix`, `step` ...
    Common,
    /// `length`, `cross` ...
    Geometric,
    /// `mad24`, `add_sat` ...
    Integer,
    /// `bitselect`
    Relational,
    /// `shuffle`
    Vector,
}

use BuiltinSignature::{
    Any, Cross, Float, FloatInt, FloatToInt, FloatsToInt, FloatsToScalar, Int, IntToFloat, Shuffle, Upsample,
};
use Ulp::{Exact, Free, Length, Within};

macro_rules! builtins {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $number:expr, $family:ident, $signature:expr, $ulp:expr;)*) => {
        /// A function of the OpenCL library, lane by lane unless its [`BuiltinSignature`] says otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Builtin { $($(#[$doc])* $variant,)* }

        impl Builtin {
            /// Every function, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in the OpenCL.std instruction set.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The number in the OpenCL.std instruction set; `None` for `dot`, and for the second results of functions
            /// with two results.
            pub const fn number(self) -> Option<u32> {
                match self { $(Self::$variant => $number,)* }
            }

            /// Its family.
            pub const fn family(self) -> Family {
                match self { $(Self::$variant => Family::$family,)* }
            }

            /// Its operands and result.
            pub const fn signature(self) -> BuiltinSignature {
                match self { $(Self::$variant => $signature,)* }
            }

            const fn bounds(self) -> [Ulp; 3] {
                match self { $(Self::$variant => $ulp,)* }
            }
        }
    };
}

builtins! {
    /// Arc cosine.
    Acos = "acos", Some(0), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// Inverse hyperbolic cosine.
    Acosh = "acosh", Some(1), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// acos(x) / pi.
    Acospi = "acospi", Some(2), Math, Float(1), [Within(5.0), Within(5.0), Within(2.0)];
    /// Arc sine.
    Asin = "asin", Some(3), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// Inverse hyperbolic sine.
    Asinh = "asinh", Some(4), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// asin(x) / pi.
    Asinpi = "asinpi", Some(5), Math, Float(1), [Within(5.0), Within(5.0), Within(2.0)];
    /// Arc tangent.
    Atan = "atan", Some(6), Math, Float(1), [Within(5.0), Within(5.0), Within(2.0)];
    /// Arc tangent of y / x.
    Atan2 = "atan2", Some(7), Math, Float(2), [Within(6.0), Within(6.0), Within(2.0)];
    /// Inverse hyperbolic tangent.
    Atanh = "atanh", Some(8), Math, Float(1), [Within(5.0), Within(5.0), Within(2.0)];
    /// atan(x) / pi.
    Atanpi = "atanpi", Some(9), Math, Float(1), [Within(5.0), Within(5.0), Within(2.0)];
    /// atan2(y, x) / pi.
    Atan2pi = "atan2pi", Some(10), Math, Float(2), [Within(6.0), Within(6.0), Within(2.0)];
    /// Cube root.
    Cbrt = "cbrt", Some(11), Math, Float(1), [Within(2.0), Within(2.0), Within(2.0)];
    /// Rounded up to an integer.
    Ceil = "ceil", Some(12), Math, Float(1), [Exact, Exact, Exact];
    /// The first operand with the second's sign.
    Copysign = "copysign", Some(13), Math, Float(2), [Exact, Exact, Exact];
    /// Cosine.
    Cos = "cos", Some(14), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// Hyperbolic cosine.
    Cosh = "cosh", Some(15), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// cos(pi x).
    Cospi = "cospi", Some(16), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// Complementary error function.
    Erfc = "erfc", Some(17), Math, Float(1), [Within(16.0), Within(16.0), Within(4.0)];
    /// Error function.
    Erf = "erf", Some(18), Math, Float(1), [Within(16.0), Within(16.0), Within(4.0)];
    /// e to the x.
    Exp = "exp", Some(19), Math, Float(1), [Within(3.0), Within(3.0), Within(2.0)];
    /// 2 to the x.
    Exp2 = "exp2", Some(20), Math, Float(1), [Within(3.0), Within(3.0), Within(2.0)];
    /// 10 to the x.
    Exp10 = "exp10", Some(21), Math, Float(1), [Within(3.0), Within(3.0), Within(2.0)];
    /// exp(x) - 1.
    Expm1 = "expm1", Some(22), Math, Float(1), [Within(3.0), Within(3.0), Within(2.0)];
    /// Sign bit cleared.
    Fabs = "fabs", Some(23), Math, Float(1), [Exact, Exact, Exact];
    /// x - y if positive, else 0.
    Fdim = "fdim", Some(24), Math, Float(2), [Exact, Exact, Exact];
    /// Rounded down to an integer.
    Floor = "floor", Some(25), Math, Float(1), [Exact, Exact, Exact];
    /// a * b + c, rounded once.
    Fma = "fma", Some(26), Math, Float(3), [Exact, Exact, Exact];
    /// The greater; the other if one is a NaN.
    Fmax = "fmax", Some(27), Math, Float(2), [Exact, Exact, Exact];
    /// The lesser; the other if one is a NaN.
    Fmin = "fmin", Some(28), Math, Float(2), [Exact, Exact, Exact];
    /// Remainder with the dividend's sign.
    Fmod = "fmod", Some(29), Math, Float(2), [Exact, Exact, Exact];
    /// fmin(x - floor(x), the number below 1); the floor is a separate `floor`.
    Fract = "fract", Some(30), Math, Float(1), [Exact, Exact, Exact];
    /// Mantissa in [0.5, 1); the exponent is a separate `frexp_exponent`.
    Frexp = "frexp", Some(31), Math, Float(1), [Exact, Exact, Exact];
    /// sqrt(x x + y y) without undue overflow.
    Hypot = "hypot", Some(32), Math, Float(2), [Within(4.0), Within(4.0), Within(2.0)];
    /// Exponent as an integer.
    Ilogb = "ilogb", Some(33), Math, FloatToInt, [Exact, Exact, Exact];
    /// x times 2 to the n.
    Ldexp = "ldexp", Some(34), Math, FloatInt, [Exact, Exact, Exact];
    /// Logarithm of the absolute gamma function.
    Lgamma = "lgamma", Some(35), Math, Float(1), [Free, Free, Free];
    /// Sign of the gamma function, as stored by `lgamma_r`.
    LgammaSign = "lgamma_sign", None, Math, FloatToInt, [Exact, Exact, Exact];
    /// Natural logarithm.
    Log = "log", Some(37), Math, Float(1), [Within(3.0), Within(3.0), Within(2.0)];
    /// Logarithm to base 2.
    Log2 = "log2", Some(38), Math, Float(1), [Within(3.0), Within(3.0), Within(2.0)];
    /// Logarithm to base 10.
    Log10 = "log10", Some(39), Math, Float(1), [Within(3.0), Within(3.0), Within(2.0)];
    /// log(1 + x).
    Log1p = "log1p", Some(40), Math, Float(1), [Within(2.0), Within(2.0), Within(2.0)];
    /// Exponent as a float.
    Logb = "logb", Some(41), Math, Float(1), [Exact, Exact, Exact];
    /// a * b + c, rounded once or twice: `mad`, and where contraction is allowed.
    Mad = "mad", Some(42), Math, Float(3), [Free, Free, Free];
    /// The operand with the greater magnitude.
    Maxmag = "maxmag", Some(43), Math, Float(2), [Exact, Exact, Exact];
    /// The operand with the lesser magnitude.
    Minmag = "minmag", Some(44), Math, Float(2), [Exact, Exact, Exact];
    /// Fraction with the sign of x; the integral part is a separate `trunc`.
    Modf = "modf", Some(45), Math, Float(1), [Exact, Exact, Exact];
    /// A quiet NaN with this payload.
    Nan = "nan", Some(46), Math, IntToFloat, [Exact, Exact, Exact];
    /// The next number after x in the direction of y.
    Nextafter = "nextafter", Some(47), Math, Float(2), [Exact, Exact, Exact];
    /// x to the y.
    Pow = "pow", Some(48), Math, Float(2), [Within(16.0), Within(16.0), Within(4.0)];
    /// x to the integer n.
    Pown = "pown", Some(49), Math, FloatInt, [Within(16.0), Within(16.0), Within(4.0)];
    /// x to the y, x not negative.
    Powr = "powr", Some(50), Math, Float(2), [Within(16.0), Within(16.0), Within(4.0)];
    /// x - n y, n nearest to x / y.
    Remainder = "remainder", Some(51), Math, Float(2), [Exact, Exact, Exact];
    /// Like `remainder`; the quotient is a separate `remquo_quotient`.
    Remquo = "remquo", Some(52), Math, Float(2), [Exact, Exact, Exact];
    /// Rounded to an integer, ties to even.
    Rint = "rint", Some(53), Math, Float(1), [Exact, Exact, Exact];
    /// n-th root.
    Rootn = "rootn", Some(54), Math, FloatInt, [Within(16.0), Within(16.0), Within(4.0)];
    /// Rounded to an integer, ties away from zero.
    Round = "round", Some(55), Math, Float(1), [Exact, Exact, Exact];
    /// 1 / sqrt(x).
    Rsqrt = "rsqrt", Some(56), Math, Float(1), [Within(2.0), Within(2.0), Within(1.0)];
    /// Sine.
    Sin = "sin", Some(57), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// Hyperbolic sine.
    Sinh = "sinh", Some(59), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// sin(pi x).
    Sinpi = "sinpi", Some(60), Math, Float(1), [Within(4.0), Within(4.0), Within(2.0)];
    /// Square root.
    Sqrt = "sqrt", Some(61), Math, Float(1), [Within(3.0), Exact, Exact];
    /// Tangent.
    Tan = "tan", Some(62), Math, Float(1), [Within(5.0), Within(5.0), Within(2.0)];
    /// Hyperbolic tangent.
    Tanh = "tanh", Some(63), Math, Float(1), [Within(5.0), Within(5.0), Within(2.0)];
    /// tan(pi x).
    Tanpi = "tanpi", Some(64), Math, Float(1), [Within(6.0), Within(6.0), Within(2.0)];
    /// Gamma function.
    Tgamma = "tgamma", Some(65), Math, Float(1), [Within(16.0), Within(16.0), Within(4.0)];
    /// Rounded toward zero to an integer.
    Trunc = "trunc", Some(66), Math, Float(1), [Exact, Exact, Exact];
    /// Exponent of x as in `frexp`.
    FrexpExponent = "frexp_exponent", None, Math, FloatToInt, [Exact, Exact, Exact];
    /// Seven low bits of x / y with its sign, as stored by `remquo`.
    RemquoQuotient = "remquo_quotient", None, Math, FloatsToInt, [Exact, Exact, Exact];
    /// `cos` to 11 bits.
    HalfCos = "half_cos", Some(67), Half, Float(1), [Within(8192.0), Free, Free];
    /// `divide` to 11 bits.
    HalfDivide = "half_divide", Some(68), Half, Float(2), [Within(8192.0), Free, Free];
    /// `exp` to 11 bits.
    HalfExp = "half_exp", Some(69), Half, Float(1), [Within(8192.0), Free, Free];
    /// `exp2` to 11 bits.
    HalfExp2 = "half_exp2", Some(70), Half, Float(1), [Within(8192.0), Free, Free];
    /// `exp10` to 11 bits.
    HalfExp10 = "half_exp10", Some(71), Half, Float(1), [Within(8192.0), Free, Free];
    /// `log` to 11 bits.
    HalfLog = "half_log", Some(72), Half, Float(1), [Within(8192.0), Free, Free];
    /// `log2` to 11 bits.
    HalfLog2 = "half_log2", Some(73), Half, Float(1), [Within(8192.0), Free, Free];
    /// `log10` to 11 bits.
    HalfLog10 = "half_log10", Some(74), Half, Float(1), [Within(8192.0), Free, Free];
    /// `powr` to 11 bits.
    HalfPowr = "half_powr", Some(75), Half, Float(2), [Within(8192.0), Free, Free];
    /// `recip` to 11 bits.
    HalfRecip = "half_recip", Some(76), Half, Float(1), [Within(8192.0), Free, Free];
    /// `rsqrt` to 11 bits.
    HalfRsqrt = "half_rsqrt", Some(77), Half, Float(1), [Within(8192.0), Free, Free];
    /// `sin` to 11 bits.
    HalfSin = "half_sin", Some(78), Half, Float(1), [Within(8192.0), Free, Free];
    /// `sqrt` to 11 bits.
    HalfSqrt = "half_sqrt", Some(79), Half, Float(1), [Within(8192.0), Free, Free];
    /// `tan` to 11 bits.
    HalfTan = "half_tan", Some(80), Half, Float(1), [Within(8192.0), Free, Free];
    /// `cos` in hardware precision.
    NativeCos = "native_cos", Some(81), Native, Float(1), [Free, Free, Free];
    /// `divide` in hardware precision.
    NativeDivide = "native_divide", Some(82), Native, Float(2), [Free, Free, Free];
    /// `exp` in hardware precision.
    NativeExp = "native_exp", Some(83), Native, Float(1), [Free, Free, Free];
    /// `exp2` in hardware precision.
    NativeExp2 = "native_exp2", Some(84), Native, Float(1), [Free, Free, Free];
    /// `exp10` in hardware precision.
    NativeExp10 = "native_exp10", Some(85), Native, Float(1), [Free, Free, Free];
    /// `log` in hardware precision.
    NativeLog = "native_log", Some(86), Native, Float(1), [Free, Free, Free];
    /// `log2` in hardware precision.
    NativeLog2 = "native_log2", Some(87), Native, Float(1), [Free, Free, Free];
    /// `log10` in hardware precision.
    NativeLog10 = "native_log10", Some(88), Native, Float(1), [Free, Free, Free];
    /// `powr` in hardware precision.
    NativePowr = "native_powr", Some(89), Native, Float(2), [Free, Free, Free];
    /// `recip` in hardware precision.
    NativeRecip = "native_recip", Some(90), Native, Float(1), [Free, Free, Free];
    /// `rsqrt` in hardware precision.
    NativeRsqrt = "native_rsqrt", Some(91), Native, Float(1), [Free, Free, Free];
    /// `sin` in hardware precision.
    NativeSin = "native_sin", Some(92), Native, Float(1), [Free, Free, Free];
    /// `sqrt` in hardware precision.
    NativeSqrt = "native_sqrt", Some(93), Native, Float(1), [Free, Free, Free];
    /// `tan` in hardware precision.
    NativeTan = "native_tan", Some(94), Native, Float(1), [Free, Free, Free];
    /// fmin(fmax(x, low), high).
    Fclamp = "fclamp", Some(95), Common, Float(3), [Exact, Exact, Exact];
    /// Radians to degrees.
    Degrees = "degrees", Some(96), Common, Float(1), [Within(2.0), Within(2.0), Within(2.0)];
    /// The greater; no NaNs.
    FmaxCommon = "fmax_common", Some(97), Common, Float(2), [Exact, Exact, Exact];
    /// The lesser; no NaNs.
    FminCommon = "fmin_common", Some(98), Common, Float(2), [Exact, Exact, Exact];
    /// x + (y - x) a.
    Mix = "mix", Some(99), Common, Float(3), [Free, Free, Free];
    /// Degrees to radians.
    Radians = "radians", Some(100), Common, Float(1), [Within(2.0), Within(2.0), Within(2.0)];
    /// 0 if x < edge, else 1: edge, x.
    Step = "step", Some(101), Common, Float(2), [Exact, Exact, Exact];
    /// Hermite step between two edges.
    Smoothstep = "smoothstep", Some(102), Common, Float(3), [Free, Free, Free];
    /// 1, -1, a zero, or 0 for NaN.
    Sign = "sign", Some(103), Common, Float(1), [Exact, Exact, Exact];
    /// Cross product of 3 or 4 lanes.
    Cross = "cross", Some(104), Geometric, Cross, [Free, Free, Free];
    /// Length of a - b.
    Distance = "distance", Some(105), Geometric, FloatsToScalar(2),
        [Length(2.5, 2.0), Length(5.5, 2.0), Length(0.0, 2.0)];
    /// Euclidean length.
    Length = "length", Some(106), Geometric, FloatsToScalar(1),
        [Length(2.75, 0.5), Length(5.5, 1.0), Length(0.25, 0.5)];
    /// The vector scaled to length 1.
    Normalize = "normalize", Some(107), Geometric, Float(1), [Length(2.0, 1.0), Length(4.5, 1.0), Length(1.0, 1.0)];
    /// `distance` to 11 bits.
    FastDistance = "fast_distance", Some(108), Geometric, FloatsToScalar(2), [Length(8191.5, 2.0), Free, Free];
    /// `length` to 11 bits.
    FastLength = "fast_length", Some(109), Geometric, FloatsToScalar(1), [Length(8191.5, 1.0), Free, Free];
    /// `normalize` to 11 bits.
    FastNormalize = "fast_normalize", Some(110), Geometric, Float(1), [Length(8192.0, 1.0), Free, Free];
    /// Sum of lane products (`OpDot`).
    Dot = "dot", None, Geometric, FloatsToScalar(2), [Free, Free, Free];
    /// Absolute value, as unsigned.
    SAbs = "s_abs", Some(141), Integer, Int(1), [Exact, Exact, Exact];
    /// Absolute difference of signed, as unsigned.
    SAbsDiff = "s_abs_diff", Some(142), Integer, Int(2), [Exact, Exact, Exact];
    /// Signed saturating sum.
    SAddSat = "s_add_sat", Some(143), Integer, Int(2), [Exact, Exact, Exact];
    /// Unsigned saturating sum.
    UAddSat = "u_add_sat", Some(144), Integer, Int(2), [Exact, Exact, Exact];
    /// Half of the signed sum, rounded down.
    SHadd = "s_hadd", Some(145), Integer, Int(2), [Exact, Exact, Exact];
    /// Half of the unsigned sum, rounded down.
    UHadd = "u_hadd", Some(146), Integer, Int(2), [Exact, Exact, Exact];
    /// Half of the signed sum, rounded up.
    SRhadd = "s_rhadd", Some(147), Integer, Int(2), [Exact, Exact, Exact];
    /// Half of the unsigned sum, rounded up.
    URhadd = "u_rhadd", Some(148), Integer, Int(2), [Exact, Exact, Exact];
    /// Signed clamp: x, low, high.
    SClamp = "s_clamp", Some(149), Integer, Int(3), [Exact, Exact, Exact];
    /// Unsigned clamp: x, low, high.
    UClamp = "u_clamp", Some(150), Integer, Int(3), [Exact, Exact, Exact];
    /// Leading zeros; the width in bits for 0.
    Clz = "clz", Some(151), Integer, Int(1), [Exact, Exact, Exact];
    /// Trailing zeros; the width in bits for 0.
    Ctz = "ctz", Some(152), Integer, Int(1), [Exact, Exact, Exact];
    /// `s_mul_hi(a, b) + c`.
    SMadHi = "s_mad_hi", Some(153), Integer, Int(3), [Exact, Exact, Exact];
    /// a * b + c unsigned, saturated.
    UMadSat = "u_mad_sat", Some(154), Integer, Int(3), [Exact, Exact, Exact];
    /// a * b + c signed, saturated.
    SMadSat = "s_mad_sat", Some(155), Integer, Int(3), [Exact, Exact, Exact];
    /// Signed maximum.
    SMax = "s_max", Some(156), Integer, Int(2), [Exact, Exact, Exact];
    /// Unsigned maximum.
    UMax = "u_max", Some(157), Integer, Int(2), [Exact, Exact, Exact];
    /// Signed minimum.
    SMin = "s_min", Some(158), Integer, Int(2), [Exact, Exact, Exact];
    /// Unsigned minimum.
    UMin = "u_min", Some(159), Integer, Int(2), [Exact, Exact, Exact];
    /// High half of the signed product.
    SMulHi = "s_mul_hi", Some(160), Integer, Int(2), [Exact, Exact, Exact];
    /// Rotated left, by the count modulo the width.
    Rotate = "rotate", Some(161), Integer, Int(2), [Exact, Exact, Exact];
    /// Signed saturating difference.
    SSubSat = "s_sub_sat", Some(162), Integer, Int(2), [Exact, Exact, Exact];
    /// Unsigned saturating difference.
    USubSat = "u_sub_sat", Some(163), Integer, Int(2), [Exact, Exact, Exact];
    /// (high << width) | low.
    UUpsample = "u_upsample", Some(164), Integer, Upsample, [Exact, Exact, Exact];
    /// (high << width) | low.
    SUpsample = "s_upsample", Some(165), Integer, Upsample, [Exact, Exact, Exact];
    /// a * b + c for signed 24-bit a and b.
    SMad24 = "s_mad24", Some(167), Integer, Int(3), [Exact, Exact, Exact];
    /// a * b + c for unsigned 24-bit a and b.
    UMad24 = "u_mad24", Some(168), Integer, Int(3), [Exact, Exact, Exact];
    /// Product of signed 24-bit values.
    SMul24 = "s_mul24", Some(169), Integer, Int(2), [Exact, Exact, Exact];
    /// Product of unsigned 24-bit values.
    UMul24 = "u_mul24", Some(170), Integer, Int(2), [Exact, Exact, Exact];
    /// Lanes selected by a run-time mask: vector, mask.
    Shuffle = "shuffle", Some(182), Vector, Shuffle(1), [Exact, Exact, Exact];
    /// Lanes of two vectors selected by a run-time mask: a, b, mask.
    Shuffle2 = "shuffle2", Some(183), Vector, Shuffle(2), [Exact, Exact, Exact];
    /// Bits of b where c is set, else of a.
    Bitselect = "bitselect", Some(186), Relational, Any(3), [Exact, Exact, Exact];
    /// The value itself.
    UAbs = "u_abs", Some(201), Integer, Int(1), [Exact, Exact, Exact];
    /// Absolute difference of unsigned.
    UAbsDiff = "u_abs_diff", Some(202), Integer, Int(2), [Exact, Exact, Exact];
    /// High half of the unsigned product.
    UMulHi = "u_mul_hi", Some(203), Integer, Int(2), [Exact, Exact, Exact];
    /// `u_mul_hi(a, b) + c`.
    UMadHi = "u_mad_hi", Some(204), Integer, Int(3), [Exact, Exact, Exact];
}

impl Builtin {
    /// The error that the specification allows in this precision; meaningless for integers.
    pub const fn ulp(self, precision: crate::Scalar) -> Ulp {
        let [single, double, half] = self.bounds();
        match precision {
            crate::Scalar::F16 => half,
            crate::Scalar::F64 => double,
            _ => single,
        }
    }

    /// The function with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|builtin| builtin.name() == name)
    }

    /// The function with this number in the OpenCL.std instruction set.
    pub fn numbered(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|builtin| builtin.number() == Some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers and names match the instruction set in the `spirv` crate.
    #[test]
    fn numbers_are_those_of_the_instruction_set() {
        let mut known = 0;
        for builtin in Builtin::ALL {
            if let Some(number) = builtin.number() {
                let op = rspirv::spirv::OpenclStd100Op::from_u32(number).expect("a number of OpenCL.std");
                assert_eq!(format!("{op:?}"), builtin.name());
                known += 1;
            }
        }
        assert!(known > 120, "{known}");
    }
}
