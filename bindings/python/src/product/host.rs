//! Matrix products on the CPU path.

use std::ops::Add;

use pyo3::prelude::*;
use tripipe::f16;
use tripipe::gemm::Accumulate;
use tripipe_cpu::{self as cpu, Position, StridedLayout, Threads};

use super::{Activation, StackExtents, check_types};
use crate::context::PyContext;
use crate::host::{ElementType, HostArray};
use crate::wait;

/// Multiply-adds from which on the CPU path may take so long that somebody presses Ctrl-C: a second on one core of a
/// phone. Below, a thread that is started for the product, and may get no processor at once, costs more than it gives.
const LONG_OPERATIONS: usize = 1 << 33;

/// On the CPU path, in the memory of the arrays.
pub(super) fn product<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    bias: Option<&Bound<'py, PyAny>>,
    activation: Activation,
    accumulate: Option<&str>,
    context: &Bound<'py, PyContext>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    let (a, b) = (HostArray::of("a", a)?, HostArray::of("b", b)?);
    let extents = StackExtents::of(a.shape(), b.shape())?;
    let bias = bias.map(|bias| HostArray::of("bias", bias)?.contiguous(py)).transpose()?;
    let of_bias = bias.as_ref().map(|bias| (bias.element(), bias.shape()));
    let (result, accumulate) = check_types(a.element(), b.element(), of_bias, extents.n, accumulate)?;
    let with_strides = |operand: HostArray| {
        if operand.element_strides().is_some() { Ok(operand) } else { operand.contiguous(py) }
    };
    let (a, b) = (with_strides(a)?, with_strides(b)?);
    let mut c = HostArray::empty(py, &extents.shape(), result)?;
    let object = c.object(py);
    let operations =
        extents.m.saturating_mul(extents.n).saturating_mul(extents.k).saturating_mul(extents.count);
    let element = a.element();
    let threads = context.get().inner().threads();
    let work = OnHost { extents, a, b, bias, activation, accumulate, threads };
    wait::run(py, operations >= LONG_OPERATIONS, move || match element {
        ElementType::F32 => work.run::<f32>(&mut c),
        ElementType::F64 => work.run::<f64>(&mut c),
        ElementType::F16 => work.run::<f16>(&mut c),
        _ => work.run::<i8>(&mut c),
    })?;
    Ok(object)
}

/// A product of arrays in host memory.
struct OnHost {
    extents: StackExtents,
    a: HostArray,
    b: HostArray,
    bias: Option<HostArray>,
    activation: Activation,
    accumulate: Accumulate,
    threads: Threads,
}

/// Sums that have limits.
trait Limited: Copy + PartialOrd {
    /// The value of the type at or next to a limit, as kernels take it.
    fn limit(limit: f32) -> Self;
}

impl Limited for f32 {
    fn limit(limit: f32) -> Self {
        limit
    }
}

impl Limited for f64 {
    fn limit(limit: f32) -> Self {
        limit.into()
    }
}

impl Limited for i32 {
    fn limit(limit: f32) -> Self {
        limit as Self
    }
}

/// Sums of integers wrap around.
trait Biased: Sized {
    fn biased(self, bias: Self) -> Self;
}

impl Biased for i32 {
    fn biased(self, bias: Self) -> Self {
        self.wrapping_add(bias)
    }
}

impl Biased for f32 {
    fn biased(self, bias: Self) -> Self {
        self.add(bias)
    }
}

impl Biased for f64 {
    fn biased(self, bias: Self) -> Self {
        self.add(bias)
    }
}

impl OnHost {
    fn run<T>(&self, c: &mut HostArray) -> Result<(), tripipe::Error>
    where
        T: cpu::GemmElement + bytemuck::Pod,
        T::Result: bytemuck::Pod + Into<T::Sum>,
        T::Sum: Limited + Biased,
    {
        let StackExtents { m, n, k, count, stacks, dimensions } = self.extents;
        let layout = |array: &HostArray, axes: [Option<usize>; 2], stack: usize| {
            let strides = array.element_strides().unwrap_or_default();
            let stride = |axis: Option<usize>| axis.map_or(0, |axis| strides[axis]);
            StridedLayout {
                offset: 0,
                row_stride: stride(axes[0]),
                column_stride: stride(axes[1]),
                batch_stride: if stack > 1 { strides[0] } else { 0 },
            }
        };
        let axes = |dimensions: usize, is_row: bool| match dimensions {
            1 if is_row => [None, Some(0)],
            1 => [Some(0), None],
            2 => [Some(0), Some(1)],
            _ => [Some(1), Some(2)],
        };
        let [zero, one] = [0i8, 1].map(T::Sum::from);
        let description = cpu::Gemm {
            m,
            n,
            k,
            alpha: one,
            beta: zero,
            a: layout(&self.a, axes(dimensions[0], true), stacks[0]),
            b: layout(&self.b, axes(dimensions[1], false), stacks[1]),
            c: StridedLayout { batch_stride: m * n, ..StridedLayout::row_major(n) },
            batch: count,
        };
        let bias: &[T::Result] = self.bias.as_ref().map_or(&[], HostArray::elements);
        let half = |limit: f32| {
            if self.accumulate == Accumulate::F16 { f16::from_f32(limit).to_f32() } else { limit }
        };
        let limits = self.activation.limits().map(|limits| limits.map(|limit| T::Sum::limit(half(limit))));
        let finish = |place: Position, values: &mut [T::Sum]| {
            for (further, value) in values.iter_mut().enumerate() {
                if !bias.is_empty() {
                    let column = if place.down { place.column } else { place.column + further };
                    *value = value.biased(bias[column].into());
                }
                // Unlike `max` and `min`, this keeps NaN.
                if let Some([least, most]) = limits {
                    if *value < least {
                        *value = least;
                    } else if *value > most {
                        *value = most;
                    }
                }
            }
        };
        let (a, b) = (self.a.elements(), self.b.elements());
        cpu::gemm::<T>(&description, a, b, c.elements_mut(), finish, self.threads)?;
        Ok(())
    }
}
