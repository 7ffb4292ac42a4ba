//! Packed weights.

use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tripipe::quantised::{ActivationElement, PackedWeights, StoredWeights, WeightFormat};
use tripipe::{Extents, Matrix, f16};

use crate::array::PyArray;
use crate::context::{PyContext, resolve};
use crate::elements::{Elements, Stored};
use crate::error;
use crate::explanation::PyExplanation;
use crate::host::{ElementType, HostArray, shape_text};
use crate::wait;

/// The weights of a layer, packed once for the kernels of a device: `x @ packed` is their product with x.
#[pyclass(name = "Packed", module = "tripipe", frozen)]
pub(crate) struct PyPacked {
    weights: PackedWeights,
    /// What `pickle` sends: the packed layout is the device's own.
    stored: StoredWeights,
    context: Py<PyContext>,
}

/// Quantises and packs weights, an array of (outputs, inputs), as `f16`, `i8`, `q8_0` or `q4_0`.
#[pyfunction]
#[pyo3(signature = (weights, format = "q4_0", *, context = None))]
pub(crate) fn pack(
    weights: &Bound<'_, PyAny>,
    format: &str,
    context: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyPacked> {
    let py = weights.py();
    let format: WeightFormat = format.parse().map_err(|failed| error::value("format", failed))?;
    let mut host = HostArray::of("weights", weights)?;
    let [outputs, inputs] = *host.shape() else {
        return Err(error::value(
            "weights",
            format!("shape {}: want (outputs, inputs)", shape_text(host.shape())),
        ));
    };
    if host.element() != ElementType::F32 {
        if !matches!(host.element(), ElementType::F16 | ElementType::F64) {
            return Err(error::wrong_type("weights", format!("{}: want float32", host.element().name())));
        }
        let converted = host.object(py).call_method1(intern!(py, "astype"), ("float32",))?;
        host = HostArray::of("weights", &converted)?;
    }
    let host = host.contiguous(py)?;
    let context = resolve(py, context)?;
    let inner = context.get().inner();
    let packed = py.detach(|| {
        let stored = StoredWeights::quantise(format, host.elements(), Extents::new(outputs, inputs))?;
        Ok((PackedWeights::new(inner, &stored)?, stored))
    });
    let (weights, stored) = packed.map_err(|failed| error::of_argument("weights", &failed))?;
    Ok(PyPacked { weights, stored, context: context.clone().unbind() })
}

/// Packed weights of what `pickle` sent.
#[pyfunction]
#[pyo3(name = "_packed")]
pub(crate) fn unpickled_packed(
    py: Python<'_>,
    format: &str,
    extents: (usize, usize),
    bytes: Vec<u8>,
    scales: Vec<f32>,
    context: &Bound<'_, PyContext>,
) -> PyResult<PyPacked> {
    let format: WeightFormat = format.parse().map_err(|failed| error::value("format", failed))?;
    let inner = context.get().inner();
    let packed = py.detach(|| {
        let stored = StoredWeights::from_parts(format, bytes, scales, Extents::new(extents.0, extents.1))?;
        Ok((PackedWeights::new(inner, &stored)?, stored))
    });
    let (weights, stored) = packed.map_err(|failed| error::of_argument("weights", &failed))?;
    Ok(PyPacked { weights, stored, context: context.clone().unbind() })
}

impl PyPacked {
    /// The product of x (inputs) or (vectors, inputs) and the weights.
    pub(crate) fn times<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let own = self.context.bind(py);
        if context.is_some() && !resolve(py, context)?.is(own) {
            return Err(error::value("context", "the weights are in another context"));
        }
        let array = PyArray::on("a", x, own)?;
        let array = array.get();
        let shape = array.shape();
        let (vectors, inputs) = match *shape {
            [inputs] => (1, inputs),
            [vectors, inputs] => (vectors, inputs),
            _ => {
                return Err(error::value(
                    "a",
                    format!("shape {}: want 1 or 2 dimensions", shape_text(shape)),
                ));
            }
        };
        if inputs != self.weights.inputs() {
            let want = self.weights.inputs();
            return Err(error::value(
                "a",
                format!("shape {}, the weights have {want} inputs", shape_text(shape)),
            ));
        }
        let made = py.detach(|| {
            let elements = array.plain()?;
            match elements.element() {
                ElementType::F32 => self.product::<f32>(&elements, Extents::new(vectors, inputs)),
                ElementType::F16 => self.product::<f16>(&elements, Extents::new(vectors, inputs)),
                _ => Ok(None),
            }
        });
        let made = made.map_err(|failed| error::of_argument("a", &failed))?;
        let Some(made) = made else {
            let name = array.stored().0.element().name();
            return Err(error::wrong_type("a", format!("{name}: want float32 or float16")));
        };
        let mut result: Vec<usize> = shape[..shape.len() - 1].to_vec();
        result.push(self.weights.outputs());
        if x.cast::<PyArray>().is_ok() {
            return PyArray::new(own, made, result).into_bound_py_any(py);
        }
        let mut host = HostArray::empty(py, &result, made.element())?;
        let object = host.object(py);
        wait::run(py, true, move || made.read(&mut host))?;
        Ok(object)
    }

    fn product<T: ActivationElement + Stored>(
        &self,
        x: &Elements,
        extents: Extents,
    ) -> Result<Option<Elements>, tripipe::Error> {
        let Some(x) = T::stored(x) else { return Ok(None) };
        let product: Matrix<T> = self.weights.to_matrix(x.as_matrix(extents)?)?;
        Ok(Some(T::store(product.into_vector()?)))
    }
}

#[pymethods]
impl PyPacked {
    /// The format.
    #[getter]
    fn format(&self) -> String {
        self.weights.format().to_string()
    }

    /// The number of inputs and of outputs: the shape of the matrix that `x @ packed` multiplies with.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.weights.inputs(), self.weights.outputs())
    }

    /// The size in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.weights.bytes()
    }

    /// The context that they live in.
    #[getter]
    fn context(&self, py: Python<'_>) -> Py<PyContext> {
        self.context.clone_ref(py)
    }

    /// What a product with this number of vectors does, and why; of one vector by default.
    #[pyo3(signature = (vectors = None))]
    fn explain(&self, py: Python<'_>, vectors: Option<&Bound<'_, PyAny>>) -> PyResult<PyExplanation> {
        let want = "a whole number of at least 0";
        let vectors = vectors.map_or(Ok(1), |vectors| error::extracted("vectors", vectors, want))?;
        let explained = py.detach(|| self.weights.explain::<f32>(vectors));
        explained.map(PyExplanation::new).map_err(|failed| error::of_argument("vectors", &failed))
    }

    fn __rmatmul__<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.times(x, None)
    }

    /// NumPy leaves `x @ packed` to this class.
    #[classattr]
    fn __array_ufunc__() -> Option<u8> {
        None
    }

    /// The weights in their format, with the context by its name.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, own) = (slf.py(), slf.get());
        let make = py.import("tripipe._tripipe")?.getattr("_packed")?;
        let extents = (own.weights.outputs(), own.weights.inputs());
        let (bytes, scales) = (PyBytes::new(py, own.stored.bytes()), own.stored.scales().to_vec());
        (make, (own.format(), extents, bytes, scales, own.context.clone_ref(py))).into_bound_py_any(py)
    }

    fn __repr__(&self) -> String {
        let (inputs, outputs) = self.shape();
        format!(
            "<tripipe.Packed {} {outputs} outputs x {inputs} inputs, {} bytes>",
            self.format(),
            self.nbytes()
        )
    }
}
