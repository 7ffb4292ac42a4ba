//! Chains of filters.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use tripipe::filter::{Border, Chain, FilterError, Raster, Stage};

use crate::error;
use crate::filter;
use crate::host::{ElementType, image_shape, type_name};

/// A chain of image filters with its border, such as `gray,gaussian:5,sobel`.
#[pyclass(name = "Chain", module = "tripipe", frozen)]
pub(crate) struct PyChain {
    text: Text,
    chain: Arc<ParsedChain>,
}

/// A chain that was parsed.
pub(crate) struct ParsedChain {
    chain: Chain,
    /// The last image and its result: most programs filter images of one size.
    last: Mutex<Option<(Raster, Raster)>>,
}

impl Deref for ParsedChain {
    type Target = Chain;

    fn deref(&self) -> &Chain {
        &self.chain
    }
}

impl ParsedChain {
    /// The layout of the result of an image.
    ///
    /// # Errors
    /// As [`Chain::apply_to`].
    pub(crate) fn result(&self, from: &Raster) -> Result<Raster, FilterError> {
        let lock = || self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, to)) = lock().filter(|(known, _)| known == from) {
            return Ok(to);
        }
        let to = self.chain.apply_to(from)?;
        *lock() = Some((*from, to));
        Ok(to)
    }
}

/// A chain as it is written.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Text {
    stages: String,
    border: String,
    keep_alpha: bool,
}

/// The border of OpenCV.
pub(crate) const BORDER: &str = "reflect101";
/// The number of parsed chains that are retained.
const RETAINED: usize = 256;

impl Text {
    fn parse(&self) -> PyResult<ParsedChain> {
        let border: Border = self.border.parse().map_err(|failed| error::value("border", failed))?;
        let chain = Chain::parse(&self.stages, border).map_err(|failed| error::value("chain", failed))?;
        Ok(ParsedChain { chain: chain.keep_alpha(self.keep_alpha), last: Mutex::new(None) })
    }
}

/// The chain of an argument: a `Chain`, or the text of one with a border.
///
/// # Errors
/// Another type; an unknown stage or border; a border for a `Chain`, which has one.
pub(crate) fn of_argument(
    chain: &Bound<'_, PyAny>,
    border: Option<&str>,
    keep_alpha: Option<bool>,
) -> PyResult<Arc<ParsedChain>> {
    static PARSED: Mutex<ParsedChains> = Mutex::new(ParsedChains { last: None, all: None });
    if let Ok(chain) = chain.cast::<PyChain>() {
        for (name, is_given) in [("border", border.is_some()), ("keep_alpha", keep_alpha.is_some())] {
            if is_given {
                return Err(error::value(name, "a Chain has its own: give it to Chain(...)"));
            }
        }
        return Ok(Arc::clone(&chain.get().chain));
    }
    let Ok(stages) = chain.cast::<PyString>() else {
        return Err(error::wrong_type(
            "chain",
            format!("{} is not a Chain or a text such as \"gray,sobel\"", type_name(chain)),
        ));
    };
    let (stages, border) = (stages.to_str()?, border.unwrap_or(BORDER));
    let keep_alpha = keep_alpha.unwrap_or(false);
    let lock = || PARSED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = lock().find(stages, border, keep_alpha) {
        return Ok(known);
    }
    let text = Text { stages: stages.to_owned(), border: border.to_owned(), keep_alpha };
    let chain = Arc::new(text.parse()?);
    lock().keep(text, Arc::clone(&chain));
    Ok(chain)
}

/// Parsed chains. The last one is found without a hash, because most programs repeat one.
struct ParsedChains {
    last: Option<(Text, Arc<ParsedChain>)>,
    all: Option<HashMap<Text, Arc<ParsedChain>>>,
}

impl ParsedChains {
    fn find(&mut self, stages: &str, border: &str, keep_alpha: bool) -> Option<Arc<ParsedChain>> {
        if let Some((text, chain)) = &self.last
            && (text.stages.as_str(), text.border.as_str(), text.keep_alpha) == (stages, border, keep_alpha)
        {
            return Some(Arc::clone(chain));
        }
        let text = Text { stages: stages.to_owned(), border: border.to_owned(), keep_alpha };
        let chain = Arc::clone(self.all.as_ref()?.get(&text)?);
        self.last = Some((text, Arc::clone(&chain)));
        Some(chain)
    }

    fn keep(&mut self, text: Text, chain: Arc<ParsedChain>) {
        let all = self.all.get_or_insert_default();
        if all.len() >= RETAINED {
            all.clear();
        }
        self.last = Some((text.clone(), Arc::clone(&chain)));
        all.insert(text, chain);
    }
}

/// The shape of the array of an image that was made of an array with `dimensions` dimensions.
pub(crate) fn result_shape(dimensions: usize, from: &Raster, to: &Raster) -> Vec<usize> {
    let keeps_axis = dimensions == 3 && from.channels == 1;
    if to.channels == 1 && !keeps_axis {
        vec![to.height, to.width]
    } else {
        vec![to.height, to.width, to.channels]
    }
}

#[pymethods]
impl PyChain {
    #[new]
    #[pyo3(signature = (stages, border = "reflect101", *, keep_alpha = false))]
    fn new(stages: &str, border: &str, keep_alpha: bool) -> PyResult<Self> {
        let text = Text { stages: stages.trim().to_owned(), border: border.to_owned(), keep_alpha };
        let chain = Arc::new(text.parse()?);
        Ok(Self { text, chain })
    }

    /// The stages, as they were given.
    #[getter]
    fn stages(&self) -> &str {
        &self.text.stages
    }

    /// What windows see outside of the image: `none`, `constant:VALUE`, `replicate`, `reflect`, `reflect101`, `wrap`.
    #[getter]
    fn border(&self) -> &str {
        &self.text.border
    }

    /// Whether the last of 4 channels is alpha, which windows copy.
    #[getter]
    fn keep_alpha(&self) -> bool {
        self.text.keep_alpha
    }

    /// How many rows and columns around a pixel its result depends on.
    #[getter]
    fn depth(&self) -> (usize, usize) {
        let [columns, rows] = self
            .chain
            .stages
            .iter()
            .map(Stage::window)
            .fold([0; 2], |depth, window| [depth[0] + window.width / 2, depth[1] + window.height / 2]);
        (rows, columns)
    }

    /// The shape and the type of the result for an image of this shape and type.
    fn output<'py>(
        &self,
        py: Python<'py>,
        shape: &Bound<'py, PyAny>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyAny>)> {
        let shape: Vec<usize> = error::extracted("shape", shape, "whole numbers of at least 0")?;
        let (size, channels) = image_shape("shape", &shape)?;
        let element = ElementType::named("dtype", dtype)?.pixel("dtype")?;
        let from = Raster::packed(size, channels, element);
        let to = self.chain.apply_to(&from).map_err(|failed| error::value("chain", failed))?;
        let made = PyTuple::new(py, result_shape(shape.len(), &from, &to))?;
        let name = ElementType::of_pixel(to.element).name();
        Ok((made, crate::host::numpy(py)?.getattr("dtype")?.call1((name,))?))
    }

    /// The filtered image: as `tripipe.filter`.
    #[pyo3(signature = (img, *, out = None, context = None))]
    fn __call__<'py>(
        &self,
        img: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        filter::run(img, &self.chain, out, context)
    }

    fn __repr__(&self) -> String {
        let alpha = if self.text.keep_alpha { ", keep_alpha=True" } else { "" };
        format!("Chain({:?}, {:?}{alpha})", self.text.stages, self.text.border)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().text == self.text)
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String, String, bool))> {
        let make = slf.py().import("tripipe._tripipe")?.getattr("_chain")?;
        let Text { stages, border, keep_alpha } = slf.get().text.clone();
        Ok((make, (stages, border, keep_alpha)))
    }
}

/// The chain with these properties, for `pickle`.
#[pyfunction]
#[pyo3(name = "_chain")]
pub(crate) fn unpickled(stages: &str, border: &str, keep_alpha: bool) -> PyResult<PyChain> {
    PyChain::new(stages, border, keep_alpha)
}

/// The stages that a chain can have: name, numbers, and what each does.
#[pyfunction]
pub(crate) fn stages() -> Vec<(&'static str, &'static str, &'static str)> {
    Stage::names().to_vec()
}
