//! Matrix products.

use std::ops::Add;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use tripipe::cpu::{self, Position, StridedLayout, Threads};
use tripipe::gemm::{Accumulate, Factor, Product, Strides};
use tripipe::{Matrix, MatrixView, Vector, f16};

use crate::array::PyArray;
use crate::context::{PyContext, resolve};
use crate::elements::{Elements, Stored};
use crate::error;
use crate::explanation::PyExplanation;
use crate::host::{ElementType, HostArray, shape_text};
use crate::packed::PyPacked;
use crate::wait;

/// Multiply-adds from which on the CPU path may take so long that somebody presses Ctrl-C.
const LONG_OPERATIONS: usize = 1 << 26;

/// The product of two matrices, or of two stacks of matrices; `b` can be packed weights.
///
/// Elements are float32, float64, float16 or int8, whose products are summed in int32. `bias` has a number for each
/// column. `activation` is `relu`, `relu6` or a pair of limits. `accumulate`, for float16, is the type of sums: `f32` or
/// `f16`. Arrays of a device give an array there, anything else gives an array of NumPy.
#[pyfunction]
#[pyo3(signature = (a, b, *, bias = None, activation = None, accumulate = None, context = None))]
pub(crate) fn matmul<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    bias: Option<&Bound<'py, PyAny>>,
    activation: Option<&Bound<'py, PyAny>>,
    accumulate: Option<&str>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    if let Ok(packed) = b.cast::<PyPacked>() {
        for (name, is_given) in [
            ("bias", bias.is_some()),
            ("activation", activation.is_some()),
            ("accumulate", accumulate.is_some()),
        ] {
            if is_given {
                return Err(error::value(name, "products with packed weights have none"));
            }
        }
        return packed.get().times(a, context);
    }
    let activation = Activation::of(activation)?;
    let on_device =
        [Some(a), Some(b), bias].into_iter().flatten().find_map(|operand| operand.cast::<PyArray>().ok());
    if let Some(array) = on_device {
        let context = array.get().context_of(py, context)?;
        return product_on_device(a, b, bias, activation, accumulate, &context)?.0.into_bound_py_any(py);
    }
    let context = resolve(py, context)?;
    if context.get().is_host() {
        return product_on_host(a, b, bias, activation, accumulate);
    }
    let (product, shape) = product_on_device(a, b, bias, activation, accumulate, &context)?;
    let (elements, _) = product.stored();
    let mut host = HostArray::empty(py, &shape, elements.element())?;
    let object = host.object(py);
    let elements = elements.clone();
    wait::run(py, true, move || elements.read(&mut host))?;
    Ok(object)
}

/// What a product does on a device, and why; nothing is computed.
#[pyfunction]
#[pyo3(signature = (a, b, *, bias = None, activation = None, accumulate = None, context = None))]
pub(crate) fn explain_matmul(
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    activation: Option<&Bound<'_, PyAny>>,
    accumulate: Option<&str>,
    context: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyExplanation> {
    let py = a.py();
    let activation = Activation::of(activation)?;
    let on_device = [a, b].into_iter().find_map(|operand| operand.cast::<PyArray>().ok());
    let context = match on_device {
        Some(array) => array.get().context_of(py, context)?,
        None => resolve(py, context)?,
    };
    let operands = OnDevice::of(a, b, bias, activation, accumulate, &context)?;
    let explained = py.detach(|| match operands.a.elements.element() {
        ElementType::F32 => operands.explain::<f32>(),
        ElementType::F64 => operands.explain::<f64>(),
        ElementType::F16 => operands.explain::<f16>(),
        _ => operands.explain::<i8>(),
    });
    let explained = explained.map_err(|failed| error::of_argument("b", &failed))?;
    explained.map(PyExplanation::new).ok_or_else(other_type)
}

/// What is done with each element of a product.
#[derive(Clone, Copy, PartialEq)]
enum Activation {
    None,
    Relu,
    Relu6,
    Clamp(f32, f32),
}

impl Activation {
    fn of(activation: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(activation) = activation else { return Ok(Self::None) };
        if let Ok((least, most)) = activation.extract::<(f32, f32)>() {
            if least <= most {
                return Ok(Self::Clamp(least, most));
            }
            return Err(error::value(
                "activation",
                format!("the limits {least} and {most} are not in order"),
            ));
        }
        match activation.extract::<String>().as_deref() {
            Ok("relu") => Ok(Self::Relu),
            Ok("relu6") => Ok(Self::Relu6),
            Ok(name) => Err(error::value(
                "activation",
                format!("unknown activation {name:?}: there are \"relu\", \"relu6\" and pairs of limits"),
            )),
            Err(_) => Err(error::wrong_type("activation", "want \"relu\", \"relu6\" or a pair of limits")),
        }
    }

    /// The limits of values.
    fn limits(self) -> Option<[f32; 2]> {
        match self {
            Self::None => None,
            Self::Relu => Some([0.0, f32::INFINITY]),
            Self::Relu6 => Some([0.0, 6.0]),
            Self::Clamp(least, most) => Some([least, most]),
        }
    }
}

/// The extents of a product of stacks of matrices.
#[derive(Clone, Copy)]
struct Extents {
    m: usize,
    n: usize,
    k: usize,
    /// The number of products; 1 for matrices and vectors.
    count: usize,
    /// The number of matrices in A and in B: `count`, or 1 for one that all products share.
    stacks: [usize; 2],
    /// The number of dimensions of A and of B.
    dimensions: [usize; 2],
}

impl Extents {
    /// As NumPy's `matmul`: vectors are a row of A and a column of B, stacks of one matrix are repeated.
    fn of(a: &[usize], b: &[usize]) -> PyResult<Self> {
        let ([a_count, m, k], [b_count, k_of_b, n]) = (
            match *a {
                [k] => [1, 1, k],
                [m, k] => [1, m, k],
                [count, m, k] => [count, m, k],
                _ => {
                    return Err(error::value(
                        "a",
                        format!("shape {}: want 1 to 3 dimensions", shape_text(a)),
                    ));
                }
            },
            match *b {
                [k] => [1, k, 1],
                [k, n] => [1, k, n],
                [count, k, n] => [count, k, n],
                _ => {
                    return Err(error::value(
                        "b",
                        format!("shape {}: want 1 to 3 dimensions", shape_text(b)),
                    ));
                }
            },
        );
        if k != k_of_b {
            let (a, b) = (shape_text(a), shape_text(b));
            return Err(error::value(
                "b",
                format!("shape {b} does not fit a with shape {a}: {k} columns need {k} rows"),
            ));
        }
        if a_count != b_count && a_count != 1 && b_count != 1 {
            return Err(error::value("b", format!("{b_count} matrices do not fit {a_count} matrices of a")));
        }
        let count = if a_count == 1 { b_count } else { a_count };
        Ok(Self { m, n, k, count, stacks: [a_count, b_count], dimensions: [a.len(), b.len()] })
    }

    fn shape(&self) -> Vec<usize> {
        let mut shape = Vec::new();
        if self.dimensions.contains(&3) {
            shape.push(self.count);
        }
        if self.dimensions[0] > 1 {
            shape.push(self.m);
        }
        if self.dimensions[1] > 1 {
            shape.push(self.n);
        }
        shape
    }
}

/// Checks that the types of a product's operands fit, and which type sums have.
fn check_types(
    a: ElementType,
    b: ElementType,
    bias: Option<(ElementType, &[usize])>,
    n: usize,
    accumulate: Option<&str>,
) -> PyResult<(ElementType, Accumulate)> {
    let result = match a {
        ElementType::F32 | ElementType::F64 | ElementType::F16 => a,
        ElementType::I8 => ElementType::I32,
        _ => {
            let name = a.name();
            return Err(error::wrong_type(
                "a",
                format!("a product of {name}: there are float32, float64, float16, int8"),
            ));
        }
    };
    if a != b {
        return Err(error::wrong_type("b", format!("{}, but a has {}", b.name(), a.name())));
    }
    if let Some((element, shape)) = bias {
        if element != result {
            return Err(error::wrong_type(
                "bias",
                format!("{}, but the product has {}", element.name(), result.name()),
            ));
        }
        if shape != [n] {
            return Err(error::value(
                "bias",
                format!("shape {}, the product has {n} columns", shape_text(shape)),
            ));
        }
    }
    let accumulate = match accumulate {
        Some("f32" | "f16") if a != ElementType::F16 => {
            return Err(error::value("accumulate", format!("only for float16, and these are {}", a.name())));
        }
        None | Some("f32") => Accumulate::F32,
        Some("f16") => Accumulate::F16,
        Some(name) => {
            return Err(error::value(
                "accumulate",
                format!("unknown type {name:?}: there are \"f32\" and \"f16\""),
            ));
        }
    };
    Ok((result, accumulate))
}

fn other_type() -> PyErr {
    error::wrong_type("b", "its type is not that of a")
}

/// An operand on a device.
struct Placed {
    elements: Elements,
    is_transposed: bool,
    shape: Vec<usize>,
}

/// The operands of a product on a device.
struct OnDevice {
    extents: Extents,
    a: Placed,
    b: Placed,
    bias: Option<Elements>,
    activation: Activation,
    accumulate: Accumulate,
}

impl OnDevice {
    fn of(
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        bias: Option<&Bound<'_, PyAny>>,
        activation: Activation,
        accumulate: Option<&str>,
        context: &Bound<'_, PyContext>,
    ) -> PyResult<Self> {
        let place = |name, operand: &Bound<'_, PyAny>| -> PyResult<Placed> {
            let array = PyArray::on(name, operand, context)?;
            let (elements, is_transposed) = array.get().stored();
            Ok(Placed { elements: elements.clone(), is_transposed, shape: array.get().shape().to_vec() })
        };
        let (a, b) = (place("a", a)?, place("b", b)?);
        let extents = Extents::of(&a.shape, &b.shape)?;
        let bias = bias.map(|bias| PyArray::on("bias", bias, context)).transpose()?;
        let of_bias = bias.as_ref().map(|bias| (bias.get().stored().0.element(), bias.get().shape()));
        let (_, accumulate) =
            check_types(a.elements.element(), b.elements.element(), of_bias, extents.n, accumulate)?;
        // Vectors are in C order.
        let bias = bias.map(|bias| bias.get().stored().0.clone());
        Ok(Self { extents, a, b, bias, activation, accumulate })
    }

    /// Calls `work` with the product and its first operand; `None` if the elements are not of type `T`.
    fn with<T, R>(
        &self,
        work: impl FnOnce(Product<'_, T>, &Vector<T>) -> Result<R, tripipe::Error>,
    ) -> Result<Option<R>, tripipe::Error>
    where
        T: Factor + Stored,
        T::Sum: Stored,
    {
        let Extents { m, n, k, count, stacks, .. } = self.extents;
        let (Some(a), Some(b)) = (T::stored(&self.a.elements), T::stored(&self.b.elements)) else {
            return Ok(None);
        };
        let a_view = first(a, [m, k], stacks[0], self.a.is_transposed)?;
        let b_view = first(b, [k, n], stacks[1], self.b.is_transposed)?;
        let mut product = Product::new(a_view, b_view)?.accumulate(self.accumulate);
        if count > 1 {
            let stride =
                |extents: [usize; 2], stack: usize| if stack > 1 { extents[0] * extents[1] } else { 0 };
            let strides = Strides { a: stride([m, k], stacks[0]), b: stride([k, n], stacks[1]), c: m * n };
            product = product.strided(count, strides);
        }
        if let Some(bias) = self.bias.as_ref().and_then(<T::Sum as Stored>::stored) {
            product = product.bias_columns(bias);
        }
        product = match self.activation {
            Activation::None => product,
            Activation::Relu => product.relu(),
            Activation::Relu6 => product.relu6(),
            Activation::Clamp(least, most) => product.clamp(least, most),
        };
        work(product, a).map(Some)
    }

    fn explain<T>(&self) -> Result<Option<tripipe::Explanation>, tripipe::Error>
    where
        T: Factor + Stored,
        T::Sum: Stored,
    {
        self.with::<T, _>(|product, _| product.explain())
    }

    /// Queues the product.
    fn run<T>(&self) -> Result<Option<Elements>, tripipe::Error>
    where
        T: Factor + Stored,
        T::Sum: Stored,
    {
        let Extents { m, n, count, .. } = self.extents;
        self.with::<T, _>(|product, a| {
            if count == 1 {
                return Ok(T::Sum::store(product.to_matrix()?.into_vector()?));
            }
            let mut c = Matrix::<T::Sum>::zeros(a.context(), [count * m, n])?;
            if count > 0 {
                drop(product.store(c.block_mut(0..m, 0..n)?)?);
            }
            Ok(T::Sum::store(c.into_vector()?))
        })
    }
}

/// The first of `stack` matrices with these extents.
fn first<T: tripipe::Element>(
    vector: &Vector<T>,
    [rows, columns]: [usize; 2],
    stack: usize,
    is_transposed: bool,
) -> Result<MatrixView<'_, T>, tripipe::Error> {
    if is_transposed {
        return Ok(vector.as_matrix([columns, rows])?.transposed());
    }
    let taken = rows.min(rows * stack);
    vector.as_matrix([stack * rows, columns])?.block(0..taken, 0..columns)
}

fn product_on_device(
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    activation: Activation,
    accumulate: Option<&str>,
    context: &Bound<'_, PyContext>,
) -> PyResult<(PyArray, Vec<usize>)> {
    let py = a.py();
    let operands = OnDevice::of(a, b, bias, activation, accumulate, context)?;
    let made = py.detach(|| match operands.a.elements.element() {
        ElementType::F32 => operands.run::<f32>(),
        ElementType::F64 => operands.run::<f64>(),
        ElementType::F16 => operands.run::<f16>(),
        _ => operands.run::<i8>(),
    });
    let made = made.map_err(|failed| error::of_argument("b", &failed))?.ok_or_else(other_type)?;
    let shape = operands.extents.shape();
    Ok((PyArray::new(context, made, shape.clone()), shape))
}

/// On the CPU path, in the memory of the arrays.
fn product_on_host<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    bias: Option<&Bound<'py, PyAny>>,
    activation: Activation,
    accumulate: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    let (a, b) = (HostArray::of("a", a)?, HostArray::of("b", b)?);
    let extents = Extents::of(a.shape(), b.shape())?;
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
    let work = OnHost { extents, a, b, bias, activation, accumulate };
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
    extents: Extents,
    a: HostArray,
    b: HostArray,
    bias: Option<HostArray>,
    activation: Activation,
    accumulate: Accumulate,
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
        let Extents { m, n, k, count, stacks, dimensions } = self.extents;
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
        cpu::gemm::<T>(&description, a, b, c.elements_mut(), finish, Threads::All)?;
        Ok(())
    }
}
