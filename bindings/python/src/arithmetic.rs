//! Operators, parts and reductions of arrays on a device.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple};
use tripipe::{Elementwise, Extents, Float, MatrixView, Order};

use crate::array::PyArray;
use crate::elements::{Elements, Stored, for_elements};
use crate::error;
use crate::host::{HostArray, numpy, shape_text};
use crate::numbers::PythonNumber as _;
use crate::wait;

/// An elementwise operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    /// Of floating-point numbers.
    Divide,
}

/// An operation with another array of the same type, or with a number. Shapes are equal, or broadcast as NumPy's: what is
/// smaller is then copied through the host's memory.
///
/// # Errors
/// Other shapes or types; a number that the type does not have; a division of integers.
pub(crate) fn combined(
    operation: Operation,
    array: &Bound<'_, PyArray>,
    other: &Bound<'_, PyAny>,
) -> PyResult<PyArray> {
    let (py, own) = (array.py(), array.get());
    if operation == Operation::Divide {
        floating(own)?;
    }
    if other.extract::<f64>().is_ok() {
        return with_number(operation, own, other);
    }
    let context = own.context_of(py, None)?;
    let other = PyArray::on("other", other, &context)?;
    let shape = shape_of_both(own.shape(), other.get().shape());
    let same_type = other.get().dtype_name() == own.dtype_name();
    let Some(shape) = shape.filter(|_| same_type) else {
        let (own, found) = (own.described(), other.get().described());
        return Err(error::value(
            "other",
            format!("{found} with {own}: types must be equal, and shapes too, or broadcast as NumPy's"),
        ));
    };
    let (array, other) = (expanded(array, &shape)?, expanded(&other, &shape)?);
    let other = other.get();
    array.get().with(py, |elements| {
        let others = other.plain()?;
        match (operation, elements) {
            (Operation::Divide, Elements::F16(_)) => quotient::<tripipe::f16>(elements, &others),
            (Operation::Divide, Elements::F32(_)) => quotient::<f32>(elements, &others),
            (Operation::Divide, _) => quotient::<f64>(elements, &others),
            _ => for_elements!(elements, vector: T => {
                let Some(others) = T::stored(&others) else { return Ok(elements.clone()) };
                let start = Elementwise::new(&**vector);
                let computed = match operation {
                    Operation::Add => start.add(&**others),
                    Operation::Subtract => start.subtract(&**others),
                    Operation::Multiply | Operation::Divide => start.multiply(&**others),
                };
                Ok(T::store(computed.into_array()?))
            }),
        }
    })
}

/// As [`combined`], with the other operand on the left.
///
/// # Errors
/// As [`combined`].
pub(crate) fn reversed(
    operation: Operation,
    array: &Bound<'_, PyArray>,
    other: &Bound<'_, PyAny>,
) -> PyResult<PyArray> {
    let (py, own) = (array.py(), array.get());
    // A number is as an array of it.
    let other = if other.extract::<f64>().is_ok() {
        numpy(py)?.call_method1(intern!(py, "full"), (own.shape().to_vec(), other, own.dtype_name()))?
    } else {
        other.clone()
    };
    combined(operation, &PyArray::on("other", &other, &own.context_of(py, None)?)?, array)
}

fn with_number(operation: Operation, array: &PyArray, number: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    let py = number.py();
    if operation == Operation::Divide {
        let divisor: f64 = number.extract()?;
        return array.with(py, |elements| divided(elements, divisor));
    }
    for_elements!(array.stored().0, own: T => {
        let _ = own;
        let value = T::number_of(number)?;
        array.with(py, |elements| {
            let Some(vector) = T::stored(elements) else { return Ok(elements.clone()) };
            let start = Elementwise::new(&**vector);
            let computed = match operation {
                Operation::Add => start.add_scalar(value),
                Operation::Subtract => start.subtract_scalar(value),
                Operation::Multiply | Operation::Divide => start.multiply_scalar(value),
            };
            Ok(T::store(computed.into_array()?))
        })
    })
}

/// Floating-point elements divided by a number that their type has.
fn divided(elements: &Elements, number: f64) -> Result<Elements, tripipe::Error> {
    fn by<T: Stored + Float>(elements: &Elements, number: T) -> Result<Elements, tripipe::Error> {
        let Some(vector) = T::stored(elements) else { return Ok(elements.clone()) };
        Ok(T::store(Elementwise::new(&**vector).divide_scalar(number).into_array()?))
    }
    match elements {
        Elements::F16(_) => by(elements, tripipe::f16::from_f64(number)),
        Elements::F32(_) => by(elements, number as f32),
        _ => by(elements, number),
    }
}

fn quotient<T: Stored + Float>(elements: &Elements, others: &Elements) -> Result<Elements, tripipe::Error> {
    let (Some(vector), Some(others)) = (T::stored(elements), T::stored(others)) else {
        return Ok(elements.clone());
    };
    Ok(T::store(Elementwise::new(&**vector).divide(&**others).into_array()?))
}

/// # Errors
/// Integers, which are not divided.
fn floating(array: &PyArray) -> PyResult<()> {
    if matches!(array.stored().0, Elements::F16(_) | Elements::F32(_) | Elements::F64(_)) {
        return Ok(());
    }
    let name = array.dtype_name();
    Err(error::wrong_type(
        "other",
        format!("a division of {name}: convert the array with astype(\"float32\")"),
    ))
}

/// The shape that two arrays have together; `None` if they do not fit.
fn shape_of_both(one: &[usize], other: &[usize]) -> Option<Vec<usize>> {
    let dimensions = one.len().max(other.len());
    let extent = |shape: &[usize], axis: usize| {
        (axis + shape.len()).checked_sub(dimensions).map_or(1, |axis| shape[axis])
    };
    (0..dimensions)
        .map(|axis| match (extent(one, axis), extent(other, axis)) {
            (one, other) if one == other || other == 1 => Some(one),
            (1, other) => Some(other),
            _ => None,
        })
        .collect()
}

/// An array with a larger shape: itself, or a copy that repeats its elements.
fn expanded<'py>(array: &Bound<'py, PyArray>, shape: &[usize]) -> PyResult<Bound<'py, PyArray>> {
    let (py, own) = (array.py(), array.get());
    if own.shape() == shape {
        return Ok(array.clone());
    }
    let whole = numpy(py)?.call_method1(intern!(py, "broadcast_to"), (own.numpy(py)?, shape.to_vec()))?;
    let context = own.context_of(py, None)?;
    Bound::new(py, PyArray::upload(&context, HostArray::of("other", &whole)?)?)
}

/// Places along an axis: the first one, their number, and whether the axis is kept.
struct Places {
    first: usize,
    count: usize,
    is_kept: bool,
}

impl Places {
    /// # Errors
    /// Outside; a step; neither an index nor a slice.
    fn of(key: &Bound<'_, PyAny>, axis: usize, extent: usize) -> PyResult<Self> {
        if let Ok(slice) = key.cast::<PySlice>() {
            let found = slice.indices(extent as isize)?;
            if found.step != 1 && found.slicelength > 1 {
                return Err(PyIndexError::new_err(format!(
                    "axis {axis}: a slice with the step {}: numpy.asarray(array)[...] has all of NumPy's indexing",
                    found.step
                )));
            }
            let count = found.slicelength;
            return Ok(Self {
                first: if count == 0 { 0 } else { found.start as usize },
                count,
                is_kept: true,
            });
        }
        let Ok(index) = key.extract::<isize>() else {
            return Err(PyIndexError::new_err(format!(
                "axis {axis}: an index or a slice; numpy.asarray(array)[...] has all of NumPy's indexing"
            )));
        };
        let place = if index < 0 { index + extent as isize } else { index };
        if place < 0 || place >= extent as isize {
            return Err(PyIndexError::new_err(format!(
                "axis {axis}: {index} is outside of its extent {extent}"
            )));
        }
        Ok(Self { first: place as usize, count: 1, is_kept: false })
    }

    fn whole(extent: usize) -> Self {
        Self { first: 0, count: extent, is_kept: true }
    }
}

/// The part of an array that a key selects along its first two axes, copied on its device.
///
/// # Errors
/// An `IndexError` for other keys, and for places outside.
pub(crate) fn part<'py>(array: &Bound<'py, PyArray>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (py, own) = (array.py(), array.get());
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let shape = own.shape();
    if keys.len() > shape.len().min(2) {
        return Err(PyIndexError::new_err(format!(
            "{} indices for shape {}: at most two; numpy.asarray(array)[...] has all of NumPy's indexing",
            keys.len(),
            shape_text(shape)
        )));
    }
    let extent = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    let places = |axis: usize| match keys.get(axis) {
        Some(key) => Places::of(key, axis, extent(axis)),
        None => Ok(Places::whole(extent(axis))),
    };
    let (rows, columns) = (places(0)?, places(1)?);
    let inner: usize = shape.iter().skip(2).product();
    let mut made = Vec::new();
    for (places, _) in
        [(&rows, 0), (&columns, 1)].into_iter().filter(|(places, axis)| places.is_kept && *axis < shape.len())
    {
        made.push(places.count);
    }
    made.extend(shape.iter().skip(2));
    let stride = extent(1) * inner;
    let offset = rows.first * stride + columns.first * inner;
    let extents = Extents::new(rows.count, columns.count * inner);
    let elements = py.detach(|| {
        let elements = own.plain()?;
        for_elements!(&elements, vector: T => {
            if extents.rows * extents.columns == 0 {
                return Ok(T::store(tripipe::Vector::zeros(vector.context(), 0)?));
            }
            let view = MatrixView::within(vector, offset, extents, Order::RowMajor, stride)?;
            Ok(T::store(Elementwise::new(view).into_array()?.into_vector()?))
        })
    });
    let elements: Elements = elements.map_err(|failed: tripipe::Error| error::of(&failed))?;
    if !made.is_empty() {
        return PyArray::new(&own.context_of(py, None)?, elements, made).into_bound_py_any(py);
    }
    for_elements!(elements, vector: T => {
        let found = wait::run(py, true, move || vector.to_vec())?;
        match found.first() {
            Some(value) => T::to_python(py, *value),
            None => Err(PyIndexError::new_err("no element")),
        }
    })
}

/// A reduction of NumPy along an axis, of the elements in the host's memory; those of float16 are summed in float32.
pub(crate) fn along<'py>(
    array: &Bound<'py, PyArray>,
    name: &str,
    axis: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let elements = numpy(py)?.call_method1(intern!(py, "asarray"), (array,))?;
    let options = PyDict::new(py);
    options.set_item("axis", axis)?;
    let is_half = array.get().dtype_name() == "float16";
    if is_half && ["sum", "mean"].contains(&name) {
        options.set_item("dtype", "float32")?;
    }
    numpy(py)?.call_method(name, (elements,), Some(&options))
}
