//! Filters and resizing of images.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyString;
use tripipe::filter::{AffineMap, Border, FilterError, Interpolation, PixelType, Raster};
use tripipe::{Context, Image, Pixel, Size};
use tripipe_cpu::{self as cpu, Threads};

use crate::array::PyArray;
use crate::chain::{self, ParsedChain, result_shape};
use crate::context::{PyContext, resolve};
use crate::elements::{Elements, Stored, for_pixels};
use crate::error;
use crate::explanation::PyExplanation;
use crate::host::{ElementType, HostArray, image_shape, shape_text, type_name};
use crate::wait;

/// Bytes of an image from which on the CPU path may take so long that somebody presses Ctrl-C.
const LONG_BYTES: usize = 4 << 20;

/// What a size is.
pub(crate) const SIZE: &str = "(rows, columns), two whole numbers of at least 0";

/// The result of a chain of filters on an image.
///
/// `img` has (rows, columns) or (rows, columns, channels), in any strides. An `Array` gives an `Array`, which stays on
/// its device; anything else gives an array of NumPy, or is written to `out`, which may be `img` itself.
///
/// Axes before these are a stack of images. `channels` says whether the last axis is one of channels; without it, it is
/// if there are at least three axes and 1 to 4 places along the last. Pixels of bool and of integers and floats of other
/// sizes are computed in the nearest type that images have, and converted back: float64 and int32 in float32, which is
/// exact for integers up to 2^24 (larger ones are refused).
///
/// A text may have steps `resize:WIDTHxHEIGHT[:HOW]` and `rotate:DEGREES[:HOW]` between stages.
#[pyfunction]
#[pyo3(
    name = "filter",
    signature = (img, chain, *, border = None, keep_alpha = None, channels = None, out = None, context = None)
)]
pub(crate) fn filter<'py>(
    img: &Bound<'py, PyAny>,
    chain: &Bound<'py, PyAny>,
    border: Option<&str>,
    keep_alpha: Option<bool>,
    channels: Option<bool>,
    out: Option<&Bound<'py, PyAny>>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if chain.cast::<PyString>().is_ok_and(|text| {
        text.to_str().is_ok_and(|text| ["resize", "rotate"].iter().any(|step| text.contains(step)))
    }) {
        let arguments = (img, chain, border, keep_alpha, channels, out, context);
        return img.py().import("tripipe._images")?.call_method1("in_steps", arguments);
    }
    let chain = chain::of_argument(chain, border, keep_alpha)?;
    apply(img, Work::Chain(chain), channels, out, context)
}

/// As [`filter`], for a parsed chain.
pub(crate) fn run<'py>(
    img: &Bound<'py, PyAny>,
    chain: &Arc<ParsedChain>,
    out: Option<&Bound<'py, PyAny>>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    apply(img, Work::Chain(Arc::clone(chain)), None, out, context)
}

/// The image with `size` = (rows, columns), by `nearest`, `linear`, `area`, `cubic` or `lanczos4`.
///
/// Images are those of `filter`.
#[pyfunction]
#[pyo3(signature = (img, size, interpolation = "linear", *, channels = None, out = None, context = None))]
pub(crate) fn resize<'py>(
    img: &Bound<'py, PyAny>,
    size: &Bound<'py, PyAny>,
    interpolation: &str,
    channels: Option<bool>,
    out: Option<&Bound<'py, PyAny>>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let interpolation: Interpolation =
        interpolation.parse().map_err(|failed| error::value("interpolation", failed))?;
    let (rows, columns) = error::extracted("size", size, SIZE)?;
    apply(img, Work::Resize(Size::new(columns, rows), interpolation), channels, out, context)
}

/// The image under an affine map, as `scipy.ndimage.affine_transform`: pixel `o` = (row, column) of the result shows the
/// place `matrix @ o + offset` of the image. The matrix is 2 x 2, 2 x 3 with the offset as its last column, or 3 x 3.
///
/// By `nearest`, `linear` or `cubic`; `size` is (rows, columns), that of the image by default. `border` is what is outside
/// of it. Images are those of `filter`.
#[pyfunction]
#[pyo3(signature = (
    img, matrix, offset = None, *, size = None, interpolation = "linear", border = "constant", channels = None,
    out = None, context = None
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn affine<'py>(
    img: &Bound<'py, PyAny>,
    matrix: &Bound<'py, PyAny>,
    offset: Option<&Bound<'py, PyAny>>,
    size: Option<&Bound<'py, PyAny>>,
    interpolation: &str,
    border: &str,
    channels: Option<bool>,
    out: Option<&Bound<'py, PyAny>>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    const MATRIX: &str = "2 x 2, 2 x 3 or 3 x 3 numbers, the third row 0, 0, 1";
    let rows: Vec<Vec<f64>> = error::extracted("matrix", matrix, MATRIX)?;
    let moved = match offset {
        None => (0.0, 0.0),
        Some(offset) => match offset.extract::<f64>() {
            Ok(both) => (both, both),
            Err(_) => error::extracted("offset", offset, "a number, or (rows, columns)")?,
        },
    };
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let (row, column) = match rows[..] {
        [&[a, b], &[c, d]] => ([a, b, moved.0], [c, d, moved.1]),
        [&[a, b, y], &[c, d, x]] | [&[a, b, y], &[c, d, x], &[0.0, 0.0, 1.0]] if offset.is_none() => {
            ([a, b, y], [c, d, x])
        }
        _ if offset.is_some() && rows.iter().all(|row| row.len() == 3) => {
            return Err(error::value("offset", "the matrix has one: leave it out"));
        }
        _ => return Err(error::value("matrix", format!("want {MATRIX}"))),
    };
    let map = AffineMap { x: [column[1], column[0], column[2]], y: [row[1], row[0], row[2]] };
    let size = size.map(|size| error::extracted("size", size, SIZE)).transpose()?;
    let size = size.map(|(rows, columns)| Size::new(columns, rows));
    apply(img, map_work(Mapping::Map(map, size), interpolation, border)?, channels, out, context)
}

/// The image turned by `angle` degrees anticlockwise about its centre, as `scipy.ndimage.rotate`; with `reshape` the
/// result is so large that all of the image is in it. Everything else is as with `affine`.
#[pyfunction]
#[pyo3(signature = (
    img, angle, *, reshape = true, interpolation = "linear", border = "constant", channels = None, out = None,
    context = None
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn rotate<'py>(
    img: &Bound<'py, PyAny>,
    angle: f64,
    reshape: bool,
    interpolation: &str,
    border: &str,
    channels: Option<bool>,
    out: Option<&Bound<'py, PyAny>>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let place = Mapping::Turned { degrees: angle, whole: reshape };
    apply(img, map_work(place, interpolation, border)?, channels, out, context)
}

fn map_work(place: Mapping, interpolation: &str, border: &str) -> PyResult<Work> {
    let interpolation: Interpolation =
        interpolation.parse().map_err(|failed| error::value("interpolation", failed))?;
    let border: Border = border.parse().map_err(|failed| error::value("border", failed))?;
    // Of all maps.
    let none = Raster::packed(Size::square(0), 1, PixelType::U8);
    let still = AffineMap { x: [0.0; 3], y: [0.0; 3] };
    let argument = if border == Border::None { "border" } else { "interpolation" };
    still.check(interpolation, border, [&none; 2]).map_err(|failed| error::value(argument, failed))?;
    Ok(Work::Map(place, interpolation, border))
}

/// What a chain does on a device, and why; nothing is computed.
#[pyfunction]
#[pyo3(signature = (img, chain, *, border = None, keep_alpha = None, context = None))]
pub(crate) fn explain(
    img: &Bound<'_, PyAny>,
    chain: &Bound<'_, PyAny>,
    border: Option<&str>,
    keep_alpha: Option<bool>,
    context: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyExplanation> {
    let py = img.py();
    let chain = chain::of_argument(chain, border, keep_alpha)?;
    let (from, context) = if let Ok(array) = img.cast::<PyArray>() {
        (array.get().raster("img")?, array.get().context_of(py, context)?)
    } else {
        let host = HostArray::of("img", img)?;
        let (size, channels) = image_shape("img", host.shape())?;
        (Raster::packed(size, channels, host.element().pixel("img")?), resolve(py, context)?)
    };
    let to = Work::Chain(Arc::clone(&chain)).result(&from)?;
    let inner = context.get().inner();
    let is_array = img.cast::<PyArray>().is_ok();
    let explained = py.detach(|| {
        let filter = if is_array {
            inner.filter(&chain, &from, &to)
        } else {
            inner.filter_of_host(&chain, &from, &to)
        };
        filter.map(|filter| filter.explain())
    });
    explained.map(PyExplanation::new).map_err(|failed| error::of_argument("chain", &failed))
}

/// What is done with an image.
#[derive(Clone)]
enum Work {
    Chain(Arc<ParsedChain>),
    Resize(Size, Interpolation),
    Map(Mapping, Interpolation, Border),
}

/// Where the pixels of a result are in the source.
#[derive(Clone, Copy)]
enum Mapping {
    /// A map, and the size of the result if it is another one.
    Map(AffineMap, Option<Size>),
    Turned {
        degrees: f64,
        whole: bool,
    },
}

impl Mapping {
    /// The map, and the size of the result.
    fn of(self, from: Size) -> Result<(AffineMap, Size), FilterError> {
        match self {
            Self::Map(map, size) => Ok((map, size.unwrap_or(from))),
            Self::Turned { degrees, whole } => AffineMap::rotation(degrees, from, whole),
        }
    }
}

impl Work {
    /// The result of an image with this layout, packed.
    ///
    /// # Errors
    /// The image does not fit.
    fn result(&self, from: &Raster) -> PyResult<Raster> {
        let made = match self {
            Self::Chain(chain) => chain.result(from).map_err(|failed| error::value("chain", failed))?,
            Self::Resize(size, _) => {
                let made = Raster::packed(*size, from.channels, from.element);
                if from.is_empty() != made.is_empty() {
                    let found = shape_text(&[size.height, size.width]);
                    return Err(error::value(
                        "size",
                        format!(
                            "{found} for an image of {} pixels: either both are empty, or neither is",
                            from.size()
                        ),
                    ));
                }
                made
            }
            Self::Map(place, interpolation, border) => {
                let failed = |failed: FilterError| error::value(self.argument(), failed);
                let (map, size) = place.of(from.size()).map_err(failed)?;
                let made = Raster::packed(size, from.channels, from.element);
                map.check(*interpolation, *border, [from, &made]).map_err(failed)?;
                made
            }
        };
        Ok(Raster::packed(made.size(), made.channels, made.element))
    }

    /// The argument that an error is about.
    fn argument(&self) -> &'static str {
        match self {
            Self::Chain(_) => "chain",
            Self::Resize(..) => "size",
            Self::Map(Mapping::Map(..), ..) => "matrix",
            Self::Map(Mapping::Turned { .. }, ..) => "angle",
        }
    }

    /// On the CPU path or with copies on the device of a context, whichever is faster.
    fn on_fastest(
        &self,
        context: &Context,
        from: &Raster,
        source: &[u8],
        to: &Raster,
        result: &mut [u8],
    ) -> Result<(), tripipe::Error> {
        match self {
            Self::Chain(chain) => context.filter_bytes(chain, from, source, to, result),
            Self::Resize(_, interpolation) => context.resize_bytes(*interpolation, from, source, to, result),
            Self::Map(place, interpolation, border) => {
                let (map, _) = place.of(from.size())?;
                context.map_bytes(&map, (*interpolation, *border), from, source, to, result)
            }
        }
    }

    /// On the CPU path, from memory to memory.
    fn on_host(
        &self,
        from: &Raster,
        source: &[u8],
        to: &Raster,
        result: &mut [u8],
        threads: Threads,
    ) -> Result<(), tripipe::Error> {
        match self {
            Self::Chain(chain) => cpu::filter(chain, from, source, to, result, threads)?,
            Self::Resize(_, interpolation) => {
                cpu::resize(*interpolation, from, source, to, result, threads)?;
            }
            Self::Map(place, interpolation, border) => {
                let (map, _) = place.of(from.size())?;
                cpu::affine(&map, *interpolation, *border, [from, to], source, result, threads)?;
            }
        }
        Ok(())
    }

    /// On the device of an image.
    fn queued<S: Pixel + Stored>(&self, image: &Image<S>) -> Result<Elements, tripipe::Error> {
        match self {
            Self::Chain(chain) => {
                let to = chain.apply_to(image.raster())?;
                for_pixels!(to.element, R => {
                    let made: Image<R> = image.filtered(chain)?;
                    Ok(R::store(made.into_vector()?))
                })
            }
            Self::Resize(size, interpolation) => {
                Ok(S::store(image.resized(*size, *interpolation)?.into_vector()?))
            }
            Self::Map(place, interpolation, border) => {
                let (map, size) = place.of(image.size())?;
                Ok(S::store(image.mapped(&map, size, *interpolation, *border)?.into_vector()?))
            }
        }
    }
}

/// What is done with one image, for stacks and for other types of pixels (`tripipe._images`).
#[pyclass(name = "_Work", module = "tripipe._tripipe", frozen)]
pub(crate) struct PyWork {
    work: Work,
    context: Option<Py<PyAny>>,
}

#[pymethods]
impl PyWork {
    #[pyo3(signature = (img, out = None))]
    fn __call__<'py>(
        &self,
        img: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let context = self.context.as_ref().map(|context| context.bind(img.py()));
        apply(img, self.work.clone(), None, out, context)
    }
}

/// Whether an array is a single image with pixels that images have. `channels` says whether its last axis is one of
/// channels.
fn is_image(array: &HostArray, channels: Option<bool>) -> bool {
    let fits = match *array.shape() {
        [_, _] => channels != Some(true),
        [_, _, last] => channels != Some(false) && (1..=4).contains(&last),
        // Not enough axes for any image: the error is that of a single one.
        ref few => few.len() < 2,
    };
    fits && array.element().pixel("img").is_ok()
}

fn apply<'py>(
    img: &Bound<'py, PyAny>,
    work: Work,
    channels: Option<bool>,
    out: Option<&Bound<'py, PyAny>>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = img.py();
    if let Ok(array) = img.cast::<PyArray>() {
        if out.is_some() {
            return Err(error::value("out", "results of an Array stay on its device: leave it out"));
        }
        if channels.is_some() {
            return Err(error::value(
                "channels",
                "an Array is one image: give it the shape of one by reshape()",
            ));
        }
        return on_device(array.get(), &work, py, context)?.into_bound_py_any(py);
    }
    let images = || py.import("tripipe._images");
    let source = match HostArray::of("img", img) {
        Ok(source) if is_image(&source, channels) => Some(source),
        Ok(_) => None,
        Err(_) if images()?.call_method1("takes", (img,))?.extract()? => None,
        Err(failed) => return Err(failed),
    };
    let Some(mut source) = source else {
        let work = PyWork { work, context: context.map(|context| context.clone().unbind()) };
        return images()?.call_method1("stacked", (img, work, channels, out));
    };
    let (size, channels) = image_shape("img", source.shape())?;
    let from = Raster::packed(size, channels, source.element().pixel("img")?);
    let to = work.result(&from)?;
    let shape = result_shape(source.shape().len(), &from, &to);
    let (result, to) = match out {
        Some(out) => given(out, &shape, &to)?,
        None => (HostArray::empty(py, &shape, ElementType::of_pixel(to.element))?, to),
    };
    let object = result.object(py);
    let context = resolve(py, context)?;
    if result.overlaps(&source) {
        // As NumPy's functions with an `out` over their input.
        source = HostArray::of("img", &source.object(py).call_method0("copy")?)?;
    }
    let (source, from) = match source.raster("img")? {
        Some(from) => (source, from),
        None => (source.contiguous(py)?, from),
    };
    if to.is_empty() {
        return Ok(object);
    }
    in_memory(&context, work, source, from, result, to)?;
    Ok(object)
}

/// The array that a result is written to, and its layout.
///
/// # Errors
/// Another shape or type; read-only; strides that images do not have.
fn given(out: &Bound<'_, PyAny>, shape: &[usize], to: &Raster) -> PyResult<(HostArray, Raster)> {
    if out.cast::<PyArray>().is_ok() {
        return Err(error::wrong_type("out", format!("{} instead of an array of NumPy", type_name(out))));
    }
    let result = HostArray::of("out", out)?;
    let wanted = ElementType::of_pixel(to.element);
    if result.shape() != shape || result.element() != wanted {
        let found = (shape_text(result.shape()), result.element().name());
        let want = (shape_text(shape), wanted.name());
        return Err(error::value(
            "out",
            format!("{} of {}, the result is {} of {}", found.0, found.1, want.0, want.1),
        ));
    }
    if !result.object(out.py()).is(out) || !result.is_writeable() {
        return Err(error::value("out", "it is not writeable"));
    }
    match result.raster("out")? {
        Some(raster) => Ok((result, raster)),
        None => Err(error::value(
            "out",
            "its strides are not those of an image: rows may have gaps, the channels of a pixel are adjacent or in planes",
        )),
    }
}

/// Computes in the memory of the arrays, or with copies on a device.
fn in_memory(
    context: &Bound<'_, PyContext>,
    work: Work,
    source: HostArray,
    from: Raster,
    mut result: HostArray,
    to: Raster,
) -> PyResult<()> {
    let own = context.get();
    let is_large = source.bytes().len().max(result.bytes_mut().len()) >= LONG_BYTES;
    // Where the CPU path may not be used, the call waits for the driver's compiler.
    let is_long = is_large || !own.is_host() && !own.cpu_when_faster();
    let (is_host, inner) = (own.is_host(), own.inner().clone());
    let threads = inner.threads();
    wait::run(context.py(), is_long, move || {
        if is_host {
            work.on_host(&from, source.bytes(), &to, result.bytes_mut(), threads)
        } else {
            work.on_fastest(&inner, &from, source.bytes(), &to, result.bytes_mut())
        }
    })
}

/// The result of an array, on its device.
fn on_device(
    array: &PyArray,
    work: &Work,
    py: Python<'_>,
    context: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let context = array.context_of(py, context)?;
    let from = array.raster("img")?;
    let to = work.result(&from)?;
    let shape = result_shape(array.shape().len(), &from, &to);
    let queued = py.detach(|| {
        let elements = array.plain()?;
        for_pixels!(from.element, S => match S::stored(&elements) {
            Some(vector) => work.queued(&vector.share().into_image(from)?),
            // The raster was made for these elements.
            None => Ok(elements.clone()),
        })
    });
    let made = queued.map_err(|failed| error::of_argument(work.argument(), &failed))?;
    Ok(PyArray::new(&context, made, shape))
}

/// Writes the part of a chain's result that begins at (row, column) of it and has the extents of `out`, on the CPU path:
/// for chunks, whose neighbours were put around them.
#[pyfunction]
#[pyo3(name = "_filter_inside")]
pub(crate) fn filter_inside(
    img: &Bound<'_, PyAny>,
    chain: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    start: (usize, usize),
    context: &Bound<'_, PyContext>,
) -> PyResult<()> {
    let py = img.py();
    let chain = chain::of_argument(chain, None, None)?;
    let source = HostArray::of("img", img)?;
    let mut result = HostArray::of("out", out)?;
    let strides = |argument| move || error::value(argument, "its strides are not those of an image");
    let from = source.raster("img")?.ok_or_else(strides("img"))?;
    let to = result.raster("out")?.ok_or_else(strides("out"))?;
    if !result.is_writeable() || result.overlaps(&source) {
        return Err(error::value("out", "it is not writeable, or shares memory with img"));
    }
    let threads = context.get().inner().threads();
    let is_large = source.bytes().len() >= LONG_BYTES;
    wait::run(py, is_large, move || {
        let (row, column) = start;
        let done = cpu::filter_inside(
            &chain,
            &from,
            source.bytes(),
            [column, row],
            &to,
            result.bytes_mut(),
            threads,
        );
        Ok(done?)
    })
}
