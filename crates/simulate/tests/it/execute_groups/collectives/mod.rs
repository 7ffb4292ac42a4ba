//! Barriers and collective functions of work-groups and sub-groups.

mod sub_groups;
mod work_groups;

use std::fmt::{Debug, Write as _};

use bytemuck::Pod;
use half::f16;

/// A type with the operations of reductions.
trait Number: Pod + PartialEq + Debug {
    const NAME: &'static str;
    const LEAST: Self;
    const GREATEST: Self;
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn less(self, other: Self) -> bool;
    fn random(random: &mut fastrand::Rng) -> Self;
}

macro_rules! integer {
    ($($type:ty = $name:literal,)*) => {
        $(impl Number for $type {
            const NAME: &'static str = $name;
            const LEAST: Self = <$type>::MIN;
            const GREATEST: Self = <$type>::MAX;
            const ZERO: Self = 0;
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            fn less(self, other: Self) -> bool { self < other }
            fn random(random: &mut fastrand::Rng) -> Self { random.u64(..) as $type }
        })*
    };
}
integer! { i32 = "int", u32 = "uint", i64 = "long", u64 = "ulong", }

macro_rules! float {
    ($($type:ty = $name:literal,)*) => {
        $(impl Number for $type {
            const NAME: &'static str = $name;
            const LEAST: Self = <$type>::NEG_INFINITY;
            const GREATEST: Self = <$type>::INFINITY;
            const ZERO: Self = <$type>::from_bits(0);
            fn add(self, other: Self) -> Self { self + other }
            fn less(self, other: Self) -> bool { self < other }
            /// Sums of these numbers are exact in every order.
            fn random(random: &mut fastrand::Rng) -> Self { f16::from_f32(random.i8(-4..=4).into()).into() }
        })*
    };
}
float! { f16 = "half", f32 = "float", f64 = "double", }

/// The functions of OpenCL C 2.0, 6.13.15: name, operation on two numbers, identity.
fn reductions<T: Number>() -> [(&'static str, fn(T, T) -> T, T); 3] {
    [
        ("add", T::add, T::ZERO),
        ("min", |a, b| if b.less(a) { b } else { a }, T::GREATEST),
        ("max", |a, b| if a.less(b) { b } else { a }, T::LEAST),
    ]
}

fn source<T: Number>(scope: &str) -> String {
    let t = T::NAME;
    let mut text = String::from(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        #pragma OPENCL EXTENSION cl_khr_fp64 : enable
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable\n",
    );
    for (name, ..) in reductions::<T>() {
        writeln!(
            text,
            "kernel void {name}(global const {t} *in, global {t} *out) {{
                size_t i = get_global_linear_id();
                {t} x = in[i];
                out[3 * i] = {scope}_reduce_{name}(x);
                out[3 * i + 1] = {scope}_scan_inclusive_{name}(x);
                out[3 * i + 2] = {scope}_scan_exclusive_{name}(x);
            }}"
        )
        .unwrap();
    }
    text
}

/// The results of the three functions for each member of a group.
fn model<T: Number>(all: &[T], with: fn(T, T) -> T, start: T) -> Vec<T> {
    let sum = all[1..].iter().fold(all[0], |sum, x| with(sum, *x));
    let mut before = None;
    let mut out = Vec::new();
    for x in all {
        let inclusive = before.map_or(*x, |before| with(before, *x));
        out.extend([sum, inclusive, before.unwrap_or(start)]);
        before = Some(inclusive);
    }
    out
}

/// One-dimensional ranges: number of work-items, group size.
const SIZES: [(usize, usize); 7] = [(3, 1), (21, 7), (64, 64), (130, 65), (512, 256), (300, 128), (77, 64)];
