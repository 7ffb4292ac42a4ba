//! Arrays on a device.

use pyo3::prelude::*;
use tripipe::Extents;
use tripipe::filter::Raster;

use crate::context::{PyContext, resolve};
use crate::elements::{Elements, for_elements};
use crate::error;
use crate::host::{HostArray, image_shape, shape_text, type_name};
use crate::numbers::PythonNumber as _;
use crate::wait;

mod methods;

/// An array in the memory of a device: an image, a matrix or a vector. Its contents never change.
#[pyclass(name = "Array", module = "tripipe", frozen)]
pub(crate) struct PyArray {
    context: Py<PyContext>,
    elements: Elements,
    shape: Vec<usize>,
    /// Whether the memory has the elements of the transposed matrix.
    is_transposed: bool,
}

impl PyArray {
    /// Elements in C order.
    pub(crate) fn new(context: &Bound<'_, PyContext>, elements: Elements, shape: Vec<usize>) -> Self {
        Self { context: context.clone().unbind(), elements, shape, is_transposed: false }
    }

    /// A copy of an array of the host.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub(crate) fn upload(context: &Bound<'_, PyContext>, host: HostArray) -> PyResult<Self> {
        let py = context.py();
        let host = host.contiguous(py)?;
        let inner = context.get().inner();
        let elements = py.detach(|| Elements::upload(inner, &host)).map_err(|failed| error::of(&failed))?;
        Ok(Self::new(context, elements, host.shape().to_vec()))
    }

    /// An argument as an array of a context: itself, or a copy of an array of the host.
    ///
    /// # Errors
    /// It is not an array, or one of another context.
    pub(crate) fn on<'py>(
        argument: &str,
        object: &Bound<'py, PyAny>,
        context: &Bound<'py, PyContext>,
    ) -> PyResult<Bound<'py, Self>> {
        let Ok(array) = object.cast::<Self>() else {
            return Bound::new(object.py(), Self::upload(context, HostArray::of(argument, object)?)?);
        };
        if array.get().context.is(context) {
            return Ok(array.clone());
        }
        let (own, other) = (array.get().context.get().inner().name(), context.get().inner().name());
        Err(error::value(argument, format!("it is on {own}, the operation is on {other}: copy it with to()")))
    }

    /// Its context, which is also that of the argument `context` if there is one.
    ///
    /// # Errors
    /// The argument is another context.
    pub(crate) fn context_of<'py>(
        &self,
        py: Python<'py>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyContext>> {
        if context.is_some() && !resolve(py, context)?.is(&self.context) {
            return Err(error::value("context", "the array is in another context: copy it with to()"));
        }
        Ok(self.context.bind(py).clone())
    }

    /// Its layout as an image.
    ///
    /// # Errors
    /// It is not an image.
    pub(crate) fn raster(&self, argument: &str) -> PyResult<Raster> {
        let (size, channels) = image_shape(argument, &self.shape)?;
        Ok(Raster::packed(size, channels, self.elements.element().pixel(argument)?))
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements as they are in memory, and whether they are those of the transposed matrix.
    pub(crate) fn stored(&self) -> (&Elements, bool) {
        (&self.elements, self.is_transposed)
    }

    /// The elements in C order. Queued.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub(crate) fn plain(&self) -> Result<Elements, tripipe::Error> {
        match self.shape[..] {
            [rows, columns] if self.is_transposed => self.elements.transposed(Extents::new(columns, rows)),
            _ => Ok(self.elements.clone()),
        }
    }

    pub(crate) fn dtype_name(&self) -> &'static str {
        self.elements.element().name()
    }

    /// A new array with elements that are computed from this one's, in C order.
    pub(crate) fn with<F>(&self, py: Python<'_>, compute: F) -> PyResult<Self>
    where
        F: FnOnce(&Elements) -> Result<Elements, tripipe::Error> + Send,
    {
        let made = py.detach(|| compute(&self.plain()?)).map_err(|failed| error::of(&failed))?;
        Ok(Self::new(self.context.bind(py), made, self.shape.clone()))
    }

    pub(crate) fn described(&self) -> String {
        format!("{} of {}", shape_text(&self.shape), self.dtype_name())
    }

    /// The position of the smallest or largest element in C order, and its value.
    fn extreme<'py>(&self, py: Python<'py>, is_largest: bool) -> PyResult<(Bound<'py, PyAny>, usize)> {
        let elements = py.detach(|| self.plain()).map_err(|failed| error::of(&failed))?;
        for_elements!(&elements, vector: T => {
            let queued = py.detach(|| if is_largest { vector.max() } else { vector.min() });
            let found = wait::wait(py, queued.map_err(|failed| error::of(&failed))?)?;
            let (value, index) = found.ok_or_else(|| {
                error::Error::new_err("there is no smallest or largest element: none, or only NaN")
            })?;
            Ok((T::to_python(py, value)?, index))
        })
    }
}

/// An array on a device: a copy of an array of the host.
#[pyfunction]
#[pyo3(signature = (array, context = None))]
pub(crate) fn array(array: &Bound<'_, PyAny>, context: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
    let py = array.py();
    if array.cast::<PyArray>().is_ok() {
        return Err(error::wrong_type(
            "array",
            format!("{} is on a device: copy it with to()", type_name(array)),
        ));
    }
    PyArray::upload(&resolve(py, context)?, HostArray::of("array", array)?)
}
