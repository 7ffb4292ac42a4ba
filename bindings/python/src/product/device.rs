//! Matrix products on a device.

use pyo3::prelude::*;
use tripipe::gemm::{Accumulate, Factor, Product, Strides};
use tripipe::{Extents, Matrix, MatrixView, Vector, f16};

use super::{Activation, StackExtents, check_types, other_type};
use crate::array::PyArray;
use crate::context::PyContext;
use crate::elements::{Elements, Stored};
use crate::error;
use crate::host::ElementType;

/// An operand on a device.
pub(super) struct ProductOperand {
    pub(super) elements: Elements,
    is_transposed: bool,
    shape: Vec<usize>,
}

/// The operands of a product on a device.
pub(super) struct OnDevice {
    extents: StackExtents,
    pub(super) a: ProductOperand,
    b: ProductOperand,
    bias: Option<Elements>,
    activation: Activation,
    accumulate: Accumulate,
}

impl OnDevice {
    /// The operands of arguments.
    ///
    /// # Errors
    /// They do not fit; the error names the argument.
    pub(super) fn of(
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        bias: Option<&Bound<'_, PyAny>>,
        activation: Activation,
        accumulate: Option<&str>,
        context: &Bound<'_, PyContext>,
    ) -> PyResult<Self> {
        let place = |name, operand: &Bound<'_, PyAny>| -> PyResult<ProductOperand> {
            let array = PyArray::on(name, operand, context)?;
            let (elements, is_transposed) = array.get().stored();
            Ok(ProductOperand {
                elements: elements.clone(),
                is_transposed,
                shape: array.get().shape().to_vec(),
            })
        };
        let (a, b) = (place("a", a)?, place("b", b)?);
        let extents = StackExtents::of(&a.shape, &b.shape)?;
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
        let StackExtents { m, n, k, count, stacks, .. } = self.extents;
        let (Some(a), Some(b)) = (T::stored(&self.a.elements), T::stored(&self.b.elements)) else {
            return Ok(None);
        };
        let (of_a, of_b) = (Extents::new(m, k), Extents::new(k, n));
        let a_view = first(a, of_a, stacks[0], self.a.is_transposed)?;
        let b_view = first(b, of_b, stacks[1], self.b.is_transposed)?;
        let mut product = Product::new(a_view, b_view)?.accumulate(self.accumulate);
        if count > 1 {
            let stride = |elements: usize, stack: usize| if stack > 1 { elements } else { 0 };
            let strides = Strides { a: stride(m * k, stacks[0]), b: stride(k * n, stacks[1]), c: m * n };
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

    /// What the product does; `None` if the elements are not of type `T`.
    pub(super) fn explain<T>(&self) -> Result<Option<tripipe::Explanation>, tripipe::Error>
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
        let StackExtents { m, n, count, .. } = self.extents;
        self.with::<T, _>(|product, a| {
            if count == 1 {
                return Ok(T::Sum::store(product.into_matrix()?.into_vector()?));
            }
            let mut c = Matrix::<T::Sum>::zeros(a.context(), Extents::new(count * m, n))?;
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
    extents: Extents,
    stack: usize,
    is_transposed: bool,
) -> Result<MatrixView<'_, T>, tripipe::Error> {
    if is_transposed {
        return Ok(vector.as_matrix(extents.transposed())?.transposed());
    }
    let Extents { rows, columns } = extents;
    let taken = rows.min(rows * stack);
    vector.as_matrix(Extents::new(stack * rows, columns))?.block(0..taken, 0..columns)
}

/// Queues a product: the result with its shape.
pub(super) fn product(
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
