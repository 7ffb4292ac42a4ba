//! What Python sees of an array.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::PyArray;
use crate::arithmetic::{self, Operation};
use crate::context::{PyContext, resolve};
use crate::elements::{Elements, Stored, for_elements};
use crate::error;
use crate::host::{ElementType, HostArray, numpy, shape_text};
use crate::product;
use crate::view;
use crate::wait;

#[pymethods]
impl PyArray {
    /// The extents.
    #[getter(shape)]
    fn shape_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The type of the elements, as NumPy's.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy(py)?.getattr(intern!(py, "dtype"))?.call1((self.dtype_name(),))
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The size of the elements in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.size() * self.elements.element().bytes()
    }

    /// The context that it lives in.
    #[getter]
    fn context(&self, py: Python<'_>) -> Py<PyContext> {
        self.context.clone_ref(py)
    }

    /// The transposed matrix, in the same memory.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Self> {
        let [rows, columns] = self.shape[..] else {
            return Err(error::value("T", format!("shape {}: only matrices", shape_text(&self.shape))));
        };
        Ok(Self {
            context: self.context.clone_ref(py),
            elements: self.elements.clone(),
            shape: vec![columns, rows],
            is_transposed: !self.is_transposed,
        })
    }

    /// The same elements with another shape.
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyAny>) -> PyResult<Self> {
        let shape: Vec<usize> = error::extracted("shape", shape, "whole numbers of at least 0")?;
        if shape.iter().product::<usize>() != self.size() || shape.len() > 4 {
            let (own, wanted) = (shape_text(&self.shape), shape_text(&shape));
            return Err(error::value("shape", format!("{wanted} has another number of elements than {own}")));
        }
        Ok(Self { shape, ..self.with(py, |elements| Ok(elements.clone()))? })
    }

    /// A copy as an array of NumPy. Waits for the operations that it depends on.
    pub(crate) fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut shape = self.shape.clone();
        if self.is_transposed {
            shape.reverse();
        }
        let mut host = HostArray::empty(py, &shape, self.elements.element())?;
        let array = host.object(py);
        let elements = self.elements.clone();
        wait::run(py, true, move || elements.read(&mut host))?;
        if self.is_transposed { array.getattr(intern!(py, "T")) } else { Ok(array) }
    }

    /// The elements for NumPy: on the CPU path without a copy, and read-only.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let in_place = self.context.get().is_host() && copy != Some(true);
        if !in_place && copy == Some(false) {
            return Err(error::value("copy", "elements of a device have to be copied"));
        }
        let array = if in_place { view::of(py, self.stored(), &self.shape)? } else { self.numpy(py)? };
        let Some(dtype) = dtype else { return Ok(array) };
        let options = PyDict::new(py);
        options.set_item("copy", false)?;
        let converted = array.call_method("astype", (dtype,), Some(&options))?;
        if copy == Some(false) && !converted.is(&array) {
            return Err(error::value("copy", "a conversion to another type has to copy"));
        }
        Ok(converted)
    }

    /// The elements for other libraries, in the host's memory: on the CPU path without a copy where the library
    /// understands read-only arrays, otherwise a copy.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(error::value("stream", "memory of the host has no streams"));
        }
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err(
                "dl_device: arrays are exported in the host's memory, (1, 0)",
            ));
        }
        let options = PyDict::new(py);
        if let Some(version) = max_version {
            options.set_item("max_version", version)?;
        }
        if copy != Some(true) && self.context.get().is_host() {
            let view = view::of(py, self.stored(), &self.shape)?;
            if let Ok(capsule) = view.call_method("__dlpack__", (), Some(&options)) {
                return Ok(capsule);
            }
        }
        if copy == Some(false) {
            return Err(PyBufferError::new_err("copy: this array has to be copied"));
        }
        let array = self.numpy(py)?;
        match array.call_method("__dlpack__", (), Some(&options)) {
            // NumPy before 2.1 has no `max_version`.
            Err(failed) if failed.is_instance_of::<PyTypeError>(py) => array.call_method0("__dlpack__"),
            exported => exported,
        }
    }

    /// The host's memory.
    #[allow(clippy::unused_self, reason = "a method of the protocol")]
    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    /// A copy in another context.
    fn to(&self, py: Python<'_>, context: &Bound<'_, PyAny>) -> PyResult<Self> {
        let context = resolve(py, Some(context))?;
        let inner = context.get().inner().clone();
        let elements = self.elements.clone();
        let copied = wait::run(
            py,
            true,
            move || for_elements!(&elements, vector: T => Ok(T::store(vector.to_context(&inner)?))),
        )?;
        let made = Self::new(&context, copied, self.shape.clone());
        Ok(Self { is_transposed: self.is_transposed, ..made })
    }

    /// The elements in another type: rounded to the nearest, saturated.
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        fn to<U: Stored>(elements: &Elements) -> Result<Elements, tripipe::Error> {
            for_elements!(elements, vector: T => Ok(U::store(vector.converted::<U>(1.0, 0.0)?)))
        }
        let element = ElementType::named("dtype", dtype)?;
        self.with(py, |elements| match element {
            ElementType::U8 => to::<u8>(elements),
            ElementType::I8 => to::<i8>(elements),
            ElementType::U16 => to::<u16>(elements),
            ElementType::I16 => to::<i16>(elements),
            ElementType::U32 => to::<u32>(elements),
            ElementType::I32 => to::<i32>(elements),
            ElementType::F16 => to::<tripipe::f16>(elements),
            ElementType::F32 => to::<f32>(elements),
            ElementType::F64 => to::<f64>(elements),
        })
    }

    /// The sum of all elements: exact for integers, in float32 for float16 and float32. With an axis, or several: sums
    /// along it by NumPy, as an array of NumPy.
    #[pyo3(signature = (axis = None))]
    fn sum<'py>(slf: &Bound<'py, Self>, axis: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(axis) = axis {
            return arithmetic::along(slf, "sum", axis);
        }
        let py = slf.py();
        for_elements!(&slf.get().elements, vector: T => {
            let queued = py.detach(|| vector.sum()).map_err(|failed| error::of(&failed))?;
            wait::wait(py, queued)?.into_bound_py_any(py)
        })
    }

    /// The mean of all elements, a `float`; NaN without any. With an axis as [`Self::sum`].
    #[pyo3(signature = (axis = None))]
    fn mean<'py>(slf: &Bound<'py, Self>, axis: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match axis {
            Some(axis) => arithmetic::along(slf, "mean", axis),
            None if slf.get().size() == 0 => f64::NAN.into_bound_py_any(slf.py()),
            None => Self::sum(slf, None)?.div(slf.get().size()),
        }
    }

    /// The smallest element; NaN is ignored. With an axis as [`Self::sum`].
    #[pyo3(signature = (axis = None))]
    fn min<'py>(slf: &Bound<'py, Self>, axis: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match axis {
            Some(axis) => arithmetic::along(slf, "nanmin", axis),
            None => Ok(slf.get().extreme(slf.py(), false)?.0),
        }
    }

    /// The largest element; NaN is ignored. With an axis as [`Self::sum`].
    #[pyo3(signature = (axis = None))]
    fn max<'py>(slf: &Bound<'py, Self>, axis: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match axis {
            Some(axis) => arithmetic::along(slf, "nanmax", axis),
            None => Ok(slf.get().extreme(slf.py(), true)?.0),
        }
    }

    /// The position in C order of the smallest element; NaN is ignored.
    fn argmin(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.extreme(py, false)?.1)
    }

    /// The position in C order of the largest element; NaN is ignored.
    fn argmax(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.extreme(py, true)?.1)
    }

    /// The sum of the products with the elements of an array of the same shape and type.
    fn dot<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let other = Self::on("other", other, self.context.bind(py))?;
        let other = other.get();
        if other.shape != self.shape || other.elements.element() != self.elements.element() {
            let (own, found) = (self.described(), other.described());
            return Err(error::value("other", format!("{found} with {own}: shapes and types must be equal")));
        }
        let both = py.detach(|| Ok((self.plain()?, other.plain()?))).map_err(|failed| error::of(&failed))?;
        for_elements!(&both.0, vector: T => {
            let Some(others) = T::stored(&both.1) else {
                return Err(error::wrong_type("other", "another type"));
            };
            let queued = py.detach(|| vector.dot(others)).map_err(|failed| error::of(&failed))?;
            wait::wait(py, queued)?.into_bound_py_any(py)
        })
    }

    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::combined(Operation::Add, slf, other)
    }

    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::combined(Operation::Add, slf, other)
    }

    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::combined(Operation::Subtract, slf, other)
    }

    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::reversed(Operation::Subtract, slf, other)
    }

    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::combined(Operation::Multiply, slf, other)
    }

    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::combined(Operation::Multiply, slf, other)
    }

    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::combined(Operation::Divide, slf, other)
    }

    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        arithmetic::reversed(Operation::Divide, slf, other)
    }

    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<Self> {
        arithmetic::combined(Operation::Multiply, slf, &(-1).into_bound_py_any(slf.py())?)
    }

    /// A part along the first two axes, which indices and slices without a step select; a number for a single element.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        arithmetic::part(slf, key)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        product::matmul(slf, other, None, None, None, None)
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        product::matmul(other, slf, None, None, None, None)
    }

    /// NumPy leaves `x + array` to this class, and computes nothing with a copy of the elements: `numpy.asarray(array)`
    /// is such a copy.
    #[classattr]
    fn __array_ufunc__() -> Option<u8> {
        None
    }

    fn __len__(&self) -> PyResult<usize> {
        self.shape
            .first()
            .copied()
            .ok_or_else(|| PyTypeError::new_err("an array without dimensions has no length"))
    }

    fn __repr__(&self) -> String {
        let device = self.context.get().device();
        format!("Array(shape={}, dtype={}, device={device:?})", shape_text(&self.shape), self.dtype_name())
    }

    /// The array for notebooks: its properties, and a small preview.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tripipe._notebook")?.call_method1("array_html", (slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let make = slf.py().import("tripipe._tripipe")?.getattr("array")?;
        let own = slf.get();
        let arguments = (own.numpy(slf.py())?, own.context.clone_ref(slf.py()));
        (make, arguments).into_pyobject(slf.py())
    }
}
