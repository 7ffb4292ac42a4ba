//! Arrays in host memory: NumPy's, and any other with `__array_struct__`.

use std::ffi::{CStr, c_char, c_int, c_void};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use tripipe::Size;
use tripipe::filter::{ChannelLayout, PixelType, Raster};

use crate::error;

/// The type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F16,
    F32,
    F64,
}

impl ElementType {
    /// All types with their names in NumPy, their kinds and sizes in bytes.
    const ALL: [(Self, &'static str, u8, usize); 9] = [
        (Self::U8, "uint8", b'u', 1),
        (Self::I8, "int8", b'i', 1),
        (Self::U16, "uint16", b'u', 2),
        (Self::I16, "int16", b'i', 2),
        (Self::U32, "uint32", b'u', 4),
        (Self::I32, "int32", b'i', 4),
        (Self::F16, "float16", b'f', 2),
        (Self::F32, "float32", b'f', 4),
        (Self::F64, "float64", b'f', 8),
    ];

    fn entry(self) -> &'static (Self, &'static str, u8, usize) {
        let found = Self::ALL.iter().find(|(element, ..)| *element == self);
        // `ALL` has every variant.
        found.unwrap_or(&Self::ALL[0])
    }

    /// Its name in NumPy.
    pub(crate) fn name(self) -> &'static str {
        self.entry().1
    }

    /// Its size.
    pub(crate) fn bytes(self) -> usize {
        self.entry().3
    }

    /// Its kind and size as in `__array_interface__`, without the order of bytes.
    pub(crate) fn code(self) -> String {
        let (_, _, kind, bytes) = self.entry();
        format!("{}{bytes}", char::from(*kind))
    }

    fn of(kind: u8, bytes: usize) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, _, known, size)| (*known, *size) == (kind, bytes));
        found.map(|(element, ..)| *element)
    }

    /// The type with a name: anything that `numpy.dtype` accepts.
    ///
    /// # Errors
    /// Not such a name, or a type without an equivalent.
    pub(crate) fn named(argument: &str, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = dtype.py();
        let dtype = numpy(py)?
            .getattr(intern!(py, "dtype"))?
            .call1((dtype,))
            .map_err(|_| error::wrong_type(argument, format!("{dtype} is not a type of elements")))?;
        let name: String = dtype.getattr(intern!(py, "name"))?.extract()?;
        let found = Self::ALL.iter().find(|(_, known, ..)| *known == name);
        found.map(|(element, ..)| *element).ok_or_else(|| unsupported(argument, &name))
    }

    /// The type of pixels that it is.
    ///
    /// # Errors
    /// Images do not have such elements.
    pub(crate) fn pixel(self, argument: &str) -> PyResult<PixelType> {
        match self {
            Self::U8 => Ok(PixelType::U8),
            Self::U16 => Ok(PixelType::U16),
            Self::I16 => Ok(PixelType::I16),
            Self::F16 => Ok(PixelType::F16),
            Self::F32 => Ok(PixelType::F32),
            _ => Err(error::wrong_type(
                argument,
                format!(
                    "pixels of {}: images have uint8, uint16, int16, float16 or float32; convert it with astype",
                    self.name()
                ),
            )),
        }
    }

    /// The type of the elements of an image.
    pub(crate) fn of_pixel(pixel: PixelType) -> Self {
        match pixel {
            PixelType::U8 => Self::U8,
            PixelType::U16 => Self::U16,
            PixelType::I16 => Self::I16,
            PixelType::F16 => Self::F16,
            PixelType::F32 => Self::F32,
        }
    }
}

fn unsupported(argument: &str, name: &str) -> PyErr {
    let names: Vec<&str> = ElementType::ALL.iter().map(|(_, name, ..)| *name).collect();
    error::wrong_type(
        argument,
        format!("elements of {name} are not supported, but {}: convert it with astype", names.join(", ")),
    )
}

/// The module `numpy`.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static NUMPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    NUMPY.get_or_try_init(py, || Ok(py.import("numpy")?.into_any().unbind())).map(|module| module.bind(py))
}

/// `PyArrayInterface` of NumPy's C interface, which every version has.
#[repr(C)]
struct ArrayInterface {
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *mut isize,
    strides: *mut isize,
    data: *mut c_void,
    descr: *mut c_void,
}

const ALIGNED: c_int = 0x100;
const NOT_SWAPPED: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

/// The largest number of dimensions.
const DIMENSIONS: usize = 4;

/// An array in host memory, which it keeps alive.
///
/// Its memory is read and written without the interpreter's lock. As for every extension that releases the lock, other
/// threads must not write it meanwhile, nor read what is written.
pub(crate) struct HostArray {
    owner: Py<PyAny>,
    data: *mut u8,
    element: ElementType,
    shape: [usize; DIMENSIONS],
    strides: [isize; DIMENSIONS],
    dimensions: usize,
    is_aligned: bool,
    is_writeable: bool,
}

// SAFETY: the pointer belongs to `owner`, which keeps the memory alive on any thread; memory has no thread of its own.
unsafe impl Send for HostArray {}
// SAFETY: shared references only read the memory; see the type's documentation about other writers.
unsafe impl Sync for HostArray {}

impl HostArray {
    /// The array `object`, or one that `numpy.asarray` makes of it.
    ///
    /// # Errors
    /// It is not an array; elements of another type; too many dimensions. The error names the argument.
    pub(crate) fn of(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(capsule) = object.getattr(intern!(py, "__array_struct__")) {
            return Self::described(argument, object, &capsule);
        }
        let array = numpy(py)?.getattr(intern!(py, "asarray"))?.call1((object,)).map_err(|failed| {
            let wrong = error::wrong_type(argument, format!("{} is not an array", type_name(object)));
            wrong.set_cause(py, Some(failed));
            wrong
        })?;
        let capsule = array.getattr(intern!(py, "__array_struct__"))?;
        Self::described(argument, &array, &capsule)
    }

    fn described(argument: &str, object: &Bound<'_, PyAny>, capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        const NO_NAME: Option<&CStr> = None;
        let py = object.py();
        let capsule = capsule
            .cast::<PyCapsule>()
            .map_err(|_| error::wrong_type(argument, format!("{} is not an array", type_name(object))))?;
        let pointer = capsule.pointer_checked(NO_NAME)?.cast::<ArrayInterface>();
        // SAFETY: the protocol of `__array_struct__` puts this structure into the capsule, which lives until here.
        let found = unsafe { pointer.as_ref() };
        if found.two != 2 {
            return Err(error::wrong_type(argument, "its __array_struct__ has an unknown version"));
        }
        let dimensions = found.nd.max(0) as usize;
        if dimensions > DIMENSIONS {
            return Err(error::value(
                argument,
                format!("{dimensions} dimensions: at most {DIMENSIONS} are supported"),
            ));
        }
        let [kind, bytes] = [found.typekind as u8 as usize, found.itemsize.max(0) as usize];
        let Some(element) = ElementType::of(kind as u8, bytes) else {
            let name =
                object.getattr(intern!(py, "dtype")).and_then(|dtype| dtype.str()?.extract::<String>());
            let name = name.unwrap_or_else(|_| format!("{}{bytes}", char::from(kind as u8)));
            return Err(unsupported(argument, &name));
        };
        if bytes > 1 && found.flags & NOT_SWAPPED == 0 {
            let native = object.call_method1("astype", (element.name(),))?;
            let capsule = native.getattr(intern!(py, "__array_struct__"))?;
            return Self::described(argument, &native, &capsule);
        }
        let (mut shape, mut strides) = ([1; DIMENSIONS], [0; DIMENSIONS]);
        for axis in 0..dimensions {
            // SAFETY: both have `nd` entries, by the protocol; the capsule keeps them alive.
            let (extent, stride) = unsafe { (*found.shape.add(axis), *found.strides.add(axis)) };
            (shape[axis], strides[axis]) = (extent.max(0) as usize, stride);
        }
        Ok(Self {
            owner: object.clone().unbind(),
            data: found.data.cast(),
            element,
            shape,
            strides,
            dimensions,
            is_aligned: found.flags & ALIGNED != 0,
            is_writeable: found.flags & WRITEABLE != 0,
        })
    }

    /// A new array, not initialised.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn empty(py: Python<'_>, shape: &[usize], element: ElementType) -> PyResult<Self> {
        static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static TYPES: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
        let make = EMPTY.get_or_try_init(py, || Ok::<_, PyErr>(numpy(py)?.getattr("empty")?.unbind()))?;
        let types = TYPES.get_or_try_init(py, || {
            let dtype = numpy(py)?.getattr("dtype")?;
            ElementType::ALL
                .iter()
                .map(|(_, name, ..)| Ok(dtype.call1((*name,))?.unbind()))
                .collect::<PyResult<_>>()
        })?;
        let dtype = types[element as usize].bind(py);
        let array = make.bind(py).call1((PyTuple::new(py, shape)?, dtype))?;
        Self::of("the result", &array)
    }

    /// A copy without gaps, in C order; itself if it is one.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn contiguous(self, py: Python<'_>) -> PyResult<Self> {
        if self.is_dense() {
            return Ok(self);
        }
        let require = numpy(py)?.getattr(intern!(py, "require"))?;
        let options = PyDict::new(py);
        options.set_item("requirements", ["C", "A"])?;
        let copy = require.call((self.owner.bind(py),), Some(&options))?;
        Self::of("the copy", &copy)
    }

    /// The extents.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape[..self.dimensions]
    }

    /// The type of the elements.
    pub(crate) fn element(&self) -> ElementType {
        self.element
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.shape().iter().product()
    }

    pub(crate) fn is_writeable(&self) -> bool {
        self.is_writeable
    }

    /// The object in Python.
    pub(crate) fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.owner.bind(py).clone()
    }

    /// Whether elements are where a slice of their type has them: aligned, in C order, without gaps.
    pub(crate) fn is_dense(&self) -> bool {
        let mut want = self.element.bytes();
        let axes = self.shape.iter().zip(&self.strides).take(self.dimensions).rev();
        self.is_aligned
            && (self.len() == 0
                || axes.into_iter().all(|(extent, stride)| {
                    let lies = *extent == 1 || *stride == want as isize;
                    want *= extent;
                    lies
                }))
    }

    /// Strides in elements; `None` for an array that has to be copied: not aligned, or with negative strides.
    pub(crate) fn element_strides(&self) -> Option<[usize; DIMENSIONS]> {
        if !self.is_aligned {
            return None;
        }
        self.distances()
    }

    fn distances(&self) -> Option<[usize; DIMENSIONS]> {
        let bytes = self.element.bytes();
        let mut distances = [0; DIMENSIONS];
        let axes = self.shape.iter().zip(&self.strides).take(self.dimensions);
        for ((extent, stride), distance) in axes.zip(&mut distances) {
            // The stride of one element is never used.
            let stride = if *extent <= 1 { Some(0) } else { usize::try_from(*stride).ok() };
            *distance = stride.filter(|stride| stride.is_multiple_of(bytes))? / bytes;
        }
        Some(distances)
    }

    /// Its layout as an image of rows, columns and channels; `None` if such an image has to be a copy.
    ///
    /// # Errors
    /// It is not an image. The error names the argument.
    pub(crate) fn raster(&self, argument: &str) -> PyResult<Option<Raster>> {
        let (size, channels) = image_shape(argument, self.shape())?;
        let element = self.element.pixel(argument)?;
        let dense = Raster::packed(size, channels, element);
        if dense.is_empty() {
            return Ok(Some(dense));
        }
        let Some([row, column, channel, _]) = self.distances() else { return Ok(None) };
        let Size { width, height } = size;
        let is_column = |distance: usize| width <= 1 || column == distance;
        if (channels == 1 || channel == 1) && is_column(channels) {
            let pitch = if height <= 1 { dense.pitch } else { row };
            return Ok((pitch >= dense.pitch).then_some(Raster { pitch, ..dense }));
        }
        let pitch = if height <= 1 { width } else { row };
        let plane = (height - 1) * pitch + width;
        Ok((is_column(1) && pitch >= width && channel >= plane).then_some(Raster {
            layout: ChannelLayout::Planar,
            pitch,
            plane_pitch: channel,
            ..dense
        }))
    }

    /// The number of bytes from the first element to the end of the last one, for strides that are not negative.
    fn span(&self) -> usize {
        if self.len() == 0 {
            return 0;
        }
        let axes = self.shape.iter().zip(&self.strides).take(self.dimensions);
        let last: usize = axes.map(|(extent, stride)| (extent - 1) * stride.max(&0).unsigned_abs()).sum();
        last + self.element.bytes()
    }

    /// The bytes from the first element to the last one, gaps included.
    pub(crate) fn bytes(&self) -> &[u8] {
        let span = self.span();
        if span == 0 || self.strides[..self.dimensions].iter().any(|stride| *stride < 0) {
            return &[];
        }
        // SAFETY: the array has elements from `data` on, the last of which ends after `span` bytes, since no stride is
        // negative; `owner` keeps them alive. Bytes have no alignment, and every pattern is valid.
        unsafe { std::slice::from_raw_parts(self.data, span) }
    }

    /// As [`Self::bytes`], for writing; empty if the array is read-only.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let span = self.span();
        if span == 0 || !self.is_writeable || self.strides[..self.dimensions].iter().any(|stride| *stride < 0)
        {
            return &mut [];
        }
        // SAFETY: as in `bytes`; the array may be written, and this value is borrowed mutably. `overlaps` has been used
        // to refuse arrays that share memory with an input.
        unsafe { std::slice::from_raw_parts_mut(self.data, span) }
    }

    /// The elements from the first to the last one, gaps included; empty for another type, or elements that are not
    /// aligned.
    pub(crate) fn elements<T: bytemuck::Pod>(&self) -> &[T] {
        if self.element.bytes() != size_of::<T>() {
            return &[];
        }
        // Memory without elements has any address.
        bytemuck::try_cast_slice(self.bytes()).unwrap_or_default()
    }

    /// As [`Self::elements`], for writing.
    pub(crate) fn elements_mut<T: bytemuck::Pod>(&mut self) -> &mut [T] {
        if self.element.bytes() != size_of::<T>() {
            return &mut [];
        }
        bytemuck::try_cast_slice_mut(self.bytes_mut()).unwrap_or_default()
    }

    /// Whether it shares bytes with another, as far as first and last bytes tell.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let range = |array: &Self| {
            let axes = || array.shape.iter().zip(&array.strides).take(array.dimensions);
            let reach = |signum: isize| -> isize {
                axes()
                    .filter(|(_, stride)| stride.signum() == signum)
                    .map(|(extent, stride)| (*extent as isize - 1).max(0) * stride)
                    .sum()
            };
            let start = array.data as isize;
            start + reach(-1)..start + reach(1) + array.element.bytes() as isize
        };
        let (own, others) = (range(self), range(other));
        self.len() > 0 && other.len() > 0 && own.start < others.end && others.start < own.end
    }
}

/// Width and height, and the number of channels, of an array of rows x columns or rows x columns x channels.
///
/// # Errors
/// It is not such an array. The error names the argument.
pub(crate) fn image_shape(argument: &str, shape: &[usize]) -> PyResult<(Size, usize)> {
    match *shape {
        [height, width] => Ok((Size::new(width, height), 1)),
        [height, width, channels] if (1..=4).contains(&channels) => Ok((Size::new(width, height), channels)),
        _ => {
            let found = shape_text(shape);
            let want = "an image has (rows, columns) or (rows, columns, channels) with 1 to 4 channels";
            Err(error::value(argument, format!("shape {found}: {want}")))
        }
    }
}

/// A shape as Python writes it.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if extents.len() == 1 { "," } else { "" };
    format!("({}{comma})", extents.join(", "))
}

/// The name of the type of an object.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this object".to_owned(), |name| name.to_string())
}
