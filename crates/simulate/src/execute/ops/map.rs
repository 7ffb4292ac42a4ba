//! Applies one function to all lanes of registers, in the widest vectors of the machine.

#![allow(
    clippy::inline_always,
    reason = "code that is not inlined into the dispatch is compiled for the baseline, without wider vectors"
)]

use bytemuck::Pod;

use crate::execute::code::Inst;
use crate::execute::rows::{numbers, numbers_mut};
use crate::execute::state::State;
use crate::math::arrays::{Map1, Map2, Map3};

/// Result = f(operand 0), lane by lane.
#[inline(always)]
pub(crate) fn unary<A: Pod, D: Pod>(s: &mut State<'_>, i: &Inst, f: impl Fn(A) -> D) -> bool {
    // Inactive lanes are computed too, which is cheaper than leaving them out; the executor restores what they still need.
    let mut out = s.warp.rows.take(i.out);
    s.arch.dispatch(Map1(s.warp.rows.numbers::<A>(i.args[0]), numbers_mut::<D>(&mut out), f));
    s.warp.rows.put(i.out, out);
    true
}

/// Result = f(operand 0, operand 1), lane by lane.
#[inline(always)]
pub(crate) fn binary<A: Pod, B: Pod, D: Pod>(s: &mut State<'_>, i: &Inst, f: impl Fn(A, B) -> D) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let rows = &s.warp.rows;
    let (a, b) = (numbers::<A>(rows.words(i.args[0])), numbers::<B>(rows.words(i.args[1])));
    s.arch.dispatch(Map2(a, b, numbers_mut::<D>(&mut out), f));
    s.warp.rows.put(i.out, out);
    true
}

/// Result = f(operand 0, operand 1, operand 2), lane by lane.
#[inline(always)]
pub(crate) fn ternary<A: Pod, B: Pod, C: Pod, D: Pod>(
    s: &mut State<'_>,
    i: &Inst,
    f: impl Fn(A, B, C) -> D,
) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let rows = &s.warp.rows;
    let a = numbers::<A>(rows.words(i.args[0]));
    let b = numbers::<B>(rows.words(i.args[1]));
    let c = numbers::<C>(rows.words(i.args[2]));
    s.arch.dispatch(Map3(a, b, c, numbers_mut::<D>(&mut out), f));
    s.warp.rows.put(i.out, out);
    true
}

/// `f(a)`; fixes the type of a closure's operand.
#[inline(always)]
pub(crate) fn of1<A, D>(f: impl Fn(A) -> D, a: A) -> D {
    f(a)
}

/// `f(a, b)`
#[inline(always)]
pub(crate) fn of2<A, D>(f: impl Fn(A, A) -> D, a: A, b: A) -> D {
    f(a, b)
}

/// `f(&a, &b)`
#[inline(always)]
pub(crate) fn by2<A: Copy>(f: impl Fn(&A, &A) -> bool, a: A, b: A) -> bool {
    f(&a, &b)
}

/// The `Run` of a generic function for the bits of a component of this many bytes.
macro_rules! by_width {
    ($bytes:expr, $run:ident) => {
        match $bytes {
            1 => $run::<u8> as Run,
            2 => $run::<u16>,
            4 => $run::<u32>,
            _ => $run::<u64>,
        }
    };
}

/// The `Run` of a map for the unsigned integer of each width; `bool` counts as 8 bits.
macro_rules! unsigned {
    ($map:ident, $scalar:expr, $f:expr) => {
        ints!($map, $scalar, $f, u8, u16, u32, u64)
    };
}

/// The `Run` of a map for the signed integer of each width.
macro_rules! signed {
    ($map:ident, $scalar:expr, $f:expr) => {
        ints!($map, $scalar, $f, i8, i16, i32, i64)
    };
}

macro_rules! ints {
    (unary, $scalar:expr, $f:expr, $a:ty, $b:ty, $c:ty, $d:ty) => {
        ints!(@ $scalar, |s, i| unary::<$a, $a>(s, i, $f), |s, i| unary::<$b, $b>(s, i, $f),
            |s, i| unary::<$c, $c>(s, i, $f), |s, i| unary::<$d, $d>(s, i, $f))
    };
    (binary, $scalar:expr, $f:expr, $a:ty, $b:ty, $c:ty, $d:ty) => {
        ints!(@ $scalar, |s, i| binary::<$a, $a, $a>(s, i, $f), |s, i| binary::<$b, $b, $b>(s, i, $f),
            |s, i| binary::<$c, $c, $c>(s, i, $f), |s, i| binary::<$d, $d, $d>(s, i, $f))
    };
    (ternary, $scalar:expr, $f:expr, $a:ty, $b:ty, $c:ty, $d:ty) => {
        ints!(@ $scalar, |s, i| ternary::<$a, $a, $a, $a>(s, i, $f), |s, i| ternary::<$b, $b, $b, $b>(s, i, $f),
            |s, i| ternary::<$c, $c, $c, $c>(s, i, $f), |s, i| ternary::<$d, $d, $d, $d>(s, i, $f))
    };
    (compare, $scalar:expr, $f:expr, $a:ty, $b:ty, $c:ty, $d:ty) => {
        ints!(@ $scalar, |s, i| binary::<$a, $a, u8>(s, i, |a, b| u8::from(by2($f, a, b))),
            |s, i| binary::<$b, $b, u8>(s, i, |a, b| u8::from(by2($f, a, b))),
            |s, i| binary::<$c, $c, u8>(s, i, |a, b| u8::from(by2($f, a, b))),
            |s, i| binary::<$d, $d, u8>(s, i, |a, b| u8::from(by2($f, a, b))))
    };
    (@ $scalar:expr, $a:expr, $b:expr, $c:expr, $d:expr) => {
        match $scalar {
            Scalar::Bool | Scalar::I8 => Some($a as Run),
            Scalar::I16 => Some($b as Run),
            Scalar::I32 => Some($c as Run),
            Scalar::I64 => Some($d as Run),
            _ => None,
        }
    };
}

/// The `Run` of a map on floats. Half is computed in single precision and rounded once; for one operation of two
/// operands this is the correctly rounded result (24 bits are twice 11 plus two).
macro_rules! floats {
    (unary, $scalar:expr, $f:expr) => {
        floats!(@ $scalar, |s, i| unary::<f16, f16>(s, i, |a| f16::narrow(of1($f, a.widen()))),
            |s, i| unary::<f32, f32>(s, i, $f), |s, i| unary::<f64, f64>(s, i, $f))
    };
    (binary, $scalar:expr, $f:expr) => {
        floats!(@ $scalar, |s, i| binary::<f16, f16, f16>(s, i, |a, b| f16::narrow(of2($f, a.widen(), b.widen()))),
            |s, i| binary::<f32, f32, f32>(s, i, $f), |s, i| binary::<f64, f64, f64>(s, i, $f))
    };
    (test, $scalar:expr, $f:expr) => {
        floats!(@ $scalar, |s, i| unary::<f16, u8>(s, i, |a| u8::from(of1($f, a.widen()))),
            |s, i| unary::<f32, u8>(s, i, |a| u8::from(of1($f, a))),
            |s, i| unary::<f64, u8>(s, i, |a| u8::from(of1($f, a))))
    };
    (compare, $scalar:expr, $f:expr) => {
        floats!(@ $scalar, |s, i| binary::<f16, f16, u8>(s, i, |a, b| u8::from(by2($f, a.widen(), b.widen()))),
            |s, i| binary::<f32, f32, u8>(s, i, |a, b| u8::from(by2($f, a, b))),
            |s, i| binary::<f64, f64, u8>(s, i, |a, b| u8::from(by2($f, a, b))))
    };
    (@ $scalar:expr, $a:expr, $b:expr, $c:expr) => {
        match $scalar {
            Scalar::F16 => Some($a as Run),
            Scalar::F32 => Some($b as Run),
            Scalar::F64 => Some($c as Run),
            _ => None,
        }
    };
}

pub(crate) use {by_width, floats, ints, signed, unsigned};
