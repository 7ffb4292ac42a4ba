//! Memory of the CPU path as arrays of NumPy.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::elements::Elements;
use crate::host::{HostArray, numpy};
use crate::wait;

/// Memory of the CPU path, for NumPy to look at.
#[pyclass(frozen)]
struct HostView {
    /// Keeps the memory.
    _elements: Elements,
    interface: Py<PyDict>,
}

#[pymethods]
impl HostView {
    #[getter]
    fn __array_interface__(&self, py: Python<'_>) -> Py<PyDict> {
        self.interface.clone_ref(py)
    }
}

/// A read-only array of NumPy over the memory of an array with a shape, on the CPU path; `is_transposed` says whether the
/// memory has the elements of the transposed matrix.
///
/// # Errors
/// The operation that made the array failed.
pub(crate) fn of<'py>(
    py: Python<'py>,
    (elements, is_transposed): (&Elements, bool),
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let elements = elements.clone();
    let waited = elements.clone();
    let (address, bytes) = wait::run(py, true, move || waited.address())?;
    if bytes == 0 {
        return Ok(HostArray::empty(py, shape, elements.element())?.object(py));
    }
    let interface = PyDict::new(py);
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let element = elements.element();
    let order = if element.bytes() == 1 { '|' } else { order };
    let mut shape = shape.to_vec();
    if is_transposed {
        shape.reverse();
    }
    interface.set_item("shape", PyTuple::new(py, &shape)?)?;
    interface.set_item("typestr", format!("{order}{}", element.code()))?;
    interface.set_item("data", (address, true))?;
    interface.set_item("version", 3)?;
    let view = Bound::new(py, HostView { _elements: elements, interface: interface.unbind() })?;
    let array = numpy(py)?.call_method1(intern!(py, "asarray"), (view,))?;
    if is_transposed { array.getattr(intern!(py, "T")) } else { Ok(array) }
}
