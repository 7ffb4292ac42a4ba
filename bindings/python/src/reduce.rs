//! Reductions and camera frames.

use pyo3::prelude::*;
use tripipe::filter::Semiplanar;
use tripipe::{Image, Size, Vector};

use crate::array::PyArray;
use crate::context::context_of_host;
use crate::elements::{Elements, Stored};
use crate::error;
use crate::filter::SIZE;
use crate::host::{ElementType, HostArray, shape_text};
use crate::wait;

/// The number of occurrences of each value over all channels of an image of uint8; for uint16, of the upper 8 bits.
#[pyfunction]
#[pyo3(signature = (img, *, context = None))]
pub(crate) fn histogram<'py>(
    img: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = img.py();
    let array = operand("img", img, context)?;
    let array = array.get();
    let raster = array.raster("img")?;
    let queued = py.detach(|| {
        let elements = array.plain()?;
        match &elements {
            Elements::U8(vector) => Ok(Some(vector.share().into_image(raster)?.histogram()?)),
            Elements::U16(vector) => Ok(Some(vector.share().into_image(raster)?.histogram()?)),
            _ => Ok(None),
        }
    });
    let queued = queued.map_err(|failed| error::of_argument("img", &failed))?;
    let Some(queued) = queued else {
        return Err(error::wrong_type("img", "a histogram counts uint8 or uint16"));
    };
    let counts = wait::wait(py, queued)?;
    let mut host = HostArray::empty(py, &[counts.len()], ElementType::U32)?;
    host.elements_mut::<u32>().copy_from_slice(&counts);
    Ok(host.object(py))
}

/// An argument as an array of its own context, or of the one for arrays of the host.
fn operand<'py>(
    argument: &str,
    object: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray>> {
    let context = match object.cast::<PyArray>() {
        Ok(array) => array.get().context_of(object.py(), context)?,
        Err(_) => context_of_host(object.py(), context)?,
    };
    PyArray::on(argument, object, &context)
}

/// The layout of a frame without gaps.
fn frame_layout(format: &str, (height, width): (usize, usize)) -> PyResult<Semiplanar> {
    match format {
        "nv12" => Ok(Semiplanar::nv12(Size::new(width, height))),
        "nv21" => Ok(Semiplanar::nv21(Size::new(width, height))),
        _ => {
            Err(error::value("format", format!("unknown format {format:?}: there are \"nv12\" and \"nv21\"")))
        }
    }
}

/// The image of a camera's frame: bytes of luma, then of chroma, for a size of (rows, columns). It has 3 channels, RGB,
/// or 4, RGBA.
#[pyfunction]
#[pyo3(signature = (frame, size, format = "nv12", *, channels = None, context = None))]
pub(crate) fn from_frame<'py>(
    frame: &Bound<'py, PyAny>,
    size: &Bound<'py, PyAny>,
    format: &str,
    channels: Option<&Bound<'py, PyAny>>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = frame.py();
    let size = error::extracted("size", size, SIZE)?;
    let layout = frame_layout(format, size)?;
    let channels = channels.map_or(Ok(3), |channels| error::extracted("channels", channels, "3 or 4"))?;
    if ![3, 4].contains(&channels) {
        return Err(error::value("channels", format!("{channels}: want 3 or 4")));
    }
    let array = operand("frame", frame, context)?;
    let array = array.get();
    let own = array.context_of(py, None)?;
    let made = py.detach(|| match &array.plain()? {
        Elements::U8(bytes) => {
            let image = Image::from_frame(bytes, &layout, channels)?;
            Ok(Some(u8::store(image.into_vector()?)))
        }
        _ => Ok(None),
    });
    let made = made.map_err(|failed| error::of_argument("frame", &failed))?;
    let made = made.ok_or_else(|| error::wrong_type("frame", "want uint8"))?;
    given_back(frame, PyArray::new(&own, made, vec![size.0, size.1, channels]))
}

/// The frame of an image, RGB or RGBA: bytes of luma, then of chroma.
#[pyfunction]
#[pyo3(signature = (img, format = "nv12", *, context = None))]
pub(crate) fn to_frame<'py>(
    img: &Bound<'py, PyAny>,
    format: &str,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = img.py();
    let array = operand("img", img, context)?;
    let array = array.get();
    let raster = array.raster("img")?;
    let layout = frame_layout(format, (raster.height, raster.width))?;
    if raster.channels < 3 {
        let found = shape_text(array.shape());
        return Err(error::value(
            "img",
            format!("shape {found}: want (rows, columns, 3) or (rows, columns, 4)"),
        ));
    }
    let own = array.context_of(py, None)?;
    let inner = own.get().inner();
    let made = py.detach(|| match &array.plain()? {
        Elements::U8(pixels) => {
            let mut frame = Vector::<u8>::zeros(inner, layout.bytes())?;
            drop(pixels.share().into_image(raster)?.to_frame(&mut frame, &layout)?);
            Ok(Some(u8::store(frame)))
        }
        _ => Ok(None),
    });
    let made = made.map_err(|failed| error::of_argument("img", &failed))?;
    let made = made.ok_or_else(|| error::wrong_type("img", "want uint8"))?;
    given_back(img, PyArray::new(&own, made, vec![layout.bytes()]))
}

/// The result as the operand was: an array of a device, or one of NumPy.
fn given_back<'py>(operand: &Bound<'py, PyAny>, result: PyArray) -> PyResult<Bound<'py, PyAny>> {
    let py = operand.py();
    let result = Bound::new(py, result)?;
    if operand.cast::<PyArray>().is_ok() { Ok(result.into_any()) } else { result.call_method0("numpy") }
}
