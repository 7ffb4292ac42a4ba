//! Matrix products: arguments, and what they have in common on all devices.

mod device;
mod host;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use tripipe::f16;
use tripipe::gemm::Accumulate;

use crate::array::PyArray;
use crate::context::resolve;
use crate::error;
use crate::explanation::PyExplanation;
use crate::host::{ElementType, HostArray, shape_text};
use crate::packed::PyPacked;
use crate::wait;
use device::OnDevice;

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
        return device::product(a, b, bias, activation, accumulate, &context)?.0.into_bound_py_any(py);
    }
    let context = resolve(py, context)?;
    if context.get().is_host() {
        return host::product(a, b, bias, activation, accumulate, &context);
    }
    let (product, shape) = device::product(a, b, bias, activation, accumulate, &context)?;
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
struct StackExtents {
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

impl StackExtents {
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
