//! Arrays in numpy's `.npy` format.

use std::io::{Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use bytemuck::allocation::zeroed_vec;
use bytemuck::{Pod, cast_slice_mut};
use half::f16;
use tripipe_launch::ScalarType;
use tripipe_launch_file::Array;

use super::input::{self, Input, shown, shown_input};
use super::memory;
use super::npy_header::{HEADER_MAX, Header};
use super::output::Sink;

/// A dense row-major matrix, or several of the same extents, one after another.
#[derive(Debug, PartialEq)]
pub(crate) struct Matrix {
    /// The number of matrices in an array of three dimensions; `None` for an array of two.
    pub(crate) count: Option<usize>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) elements: Elements,
}

/// The elements of a matrix.
#[derive(Debug, PartialEq)]
pub(crate) enum Elements {
    I8(Vec<i8>),
    I32(Vec<i32>),
    F16(Vec<f16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Elements {
    /// The name of the type in `.npy` tools.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::I8(_) => "int8",
            Self::I32(_) => "int32",
            Self::F16(_) => "float16",
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
        }
    }
}

/// Reads an array of a type that can be multiplied, in either order: two dimensions, or three, which make a batch of
/// matrices. The path `-` is standard input.
///
/// # Errors
/// The file does not exist, is not a `.npy` file, has an unsupported type or number of dimensions, is big-endian, or
/// has fewer bytes than its header says. Nothing is allocated before the header's size is checked against the file's
/// size, or against the available memory.
pub(crate) fn read(path: &Path) -> Result<Matrix> {
    let shown = shown_input(path);
    let matrix = read_any(path)?;
    if let Elements::I32(_) = matrix.elements {
        bail!(
            "{shown} cannot be multiplied: it holds '<i4', and products of integers take int8; {}",
            lossless(ScalarType::I32)
        );
    }
    Ok(matrix)
}

/// As [`read`], for matrices that are added to products: int32 too.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_any(path: &Path) -> Result<Matrix> {
    let shown = shown_input(path);
    let opened = Opened::open(input::open_or_standard(path, "an array")?, &shown)?;
    let extents: Vec<usize> = opened.header.shape.iter().map(|extent| *extent as usize).collect();
    let (count, rows, columns) = match *extents {
        [rows, columns] => (None, rows, columns),
        [count, rows, columns] => (Some(count), rows, columns),
        _ => {
            let hint = match extents.len() {
                1 => "make a row of it with a.reshape(1, -1) or a column with a.reshape(-1, 1)",
                _ => "make a batch of it with a.reshape(-1, *a.shape[-2:])",
            };
            bail!(
                "{shown} has {} dimensions {extents:?}; a matrix has 2, a batch of matrices 3; {hint}",
                extents.len()
            )
        }
    };
    Ok(Matrix { count, rows, columns, elements: opened.elements()? })
}

/// Reads a vector: an array of one dimension, or a matrix of one row or column. The path `-` is standard input.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_vector(path: &Path) -> Result<Elements> {
    let shown = shown_input(path);
    let opened = Opened::open(input::open_or_standard(path, "an array")?, &shown)?;
    let shape = &opened.header.shape;
    if shape.iter().filter(|extent| **extent != 1).count() > 1 {
        bail!("{shown} is an array of {shape:?}, but a bias is a vector; use a row or a column of it");
    }
    opened.elements()
}

/// Reads an array of any number of dimensions, of integers or floats, in either order.
///
/// # Errors
/// As [`read`]; more than `at_most` bytes of data.
pub(crate) fn read_array(path: &Path, at_most: u64) -> Result<Array> {
    let shown = shown(path);
    let opened = Opened::open(input::open(path, "an array")?, &shown)?;
    let scalar = opened.header.scalar().with_context(|| format!("{shown} cannot be used"))?;
    let bytes = opened.bytes(scalar.bytes())?;
    if bytes > at_most {
        bail!("{shown} holds {bytes} bytes of numbers, and at most {at_most} are allowed; raise the limit");
    }
    let extents = opened.header.shape.iter().map(|extent| *extent as usize).collect();
    let bytes = match scalar {
        ScalarType::I8 => opened.number_bytes::<i8>(),
        ScalarType::U8 => opened.number_bytes::<u8>(),
        ScalarType::I16 => opened.number_bytes::<i16>(),
        ScalarType::U16 => opened.number_bytes::<u16>(),
        ScalarType::I32 => opened.number_bytes::<i32>(),
        ScalarType::U32 => opened.number_bytes::<u32>(),
        ScalarType::I64 => opened.number_bytes::<i64>(),
        ScalarType::U64 => opened.number_bytes::<u64>(),
        ScalarType::F16 => opened.number_bytes::<f16>(),
        ScalarType::F32 => opened.number_bytes::<f32>(),
        ScalarType::F64 => opened.number_bytes::<f64>(),
    }?;
    Ok(Array { extents, scalar, bytes })
}

/// How to convert integers that cannot be multiplied without losing any.
fn lossless(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::I32 | ScalarType::U32 => "a.astype('float64') keeps every number",
        ScalarType::I64 | ScalarType::U64 => "a.astype('float64') keeps every number up to 2^53",
        _ => "a.astype('float32') keeps every number",
    }
}

/// A `.npy` file whose header has been read.
struct Opened {
    header: Header,
    /// The data after the header.
    data: Box<dyn Read>,
    /// Bytes after the header; `None` for a stream, whose length is unknown.
    there: Option<u64>,
    shown: String,
}

impl Opened {
    /// The elements, of a type that can be multiplied or that products accumulate in.
    fn elements(self) -> Result<Elements> {
        let shown = self.shown.clone();
        let scalar = self.header.scalar().with_context(|| format!("{shown} cannot be multiplied"))?;
        Ok(match scalar {
            ScalarType::I8 => Elements::I8(self.numbers()?),
            ScalarType::I32 => Elements::I32(self.numbers()?),
            ScalarType::F16 => Elements::F16(self.numbers()?),
            ScalarType::F32 => Elements::F32(self.numbers()?),
            ScalarType::F64 => Elements::F64(self.numbers()?),
            _ => bail!(
                "{shown} cannot be multiplied: it holds {}, not int8, float16, float32 or float64; {}",
                self.header.kind(),
                lossless(scalar)
            ),
        })
    }

    fn open(input: Input, shown: &str) -> Result<Self> {
        let (mut rest, length): (Box<dyn Read>, _) = match input {
            Input::File(file, bytes) => (Box::new(file), Some(bytes)),
            Input::Stream(stream) => (stream, None),
        };
        let mut start = Vec::new();
        (&mut rest)
            .take(HEADER_MAX as u64)
            .read_to_end(&mut start)
            .with_context(|| format!("{shown} cannot be read"))?;
        let (header, data_offset) = Header::parse(&start).with_context(|| {
            format!("{shown} is not a .npy file that can be read; write it with numpy.save")
        })?;
        let there = length.map(|length| length.saturating_sub(data_offset));
        let behind = start.split_off(start.len().min(data_offset as usize));
        Ok(Self { header, data: Box::new(Cursor::new(behind).chain(rest)), there, shown: shown.to_owned() })
    }

    /// Bytes of all elements of `item_bytes` each. The file has that many; for a stream, the memory for them is
    /// available.
    fn bytes(&self, item_bytes: usize) -> Result<u64> {
        let extents = &self.header.shape;
        let numbers = extents.iter().try_fold(1u64, |all, extent| all.checked_mul(*extent));
        let bytes = numbers.and_then(|numbers| numbers.checked_mul(item_bytes as u64));
        match (bytes, self.there) {
            (Some(bytes), Some(there)) if bytes <= there => Ok(bytes),
            (Some(bytes), None) => {
                // Once as they are read, once as numbers.
                memory::check(&self.shown, bytes.checked_mul(2), "read it from a file")?;
                Ok(bytes)
            }
            (_, there) => Err(self.cut_short(item_bytes, there.unwrap_or(0))),
        }
    }

    fn cut_short(&self, item_bytes: usize, there: u64) -> anyhow::Error {
        let extents: Vec<String> = self.header.shape.iter().map(ToString::to_string).collect();
        anyhow::anyhow!(
            "{} is cut short: its header says {} elements of {item_bytes} bytes, {there} bytes follow; save it again",
            self.shown,
            extents.join("x")
        )
    }

    /// All elements, with the last extent varying fastest. `T` is the type in the header.
    fn numbers<T: Number>(mut self) -> Result<Vec<T>> {
        let bytes = self.bytes(size_of::<T>())?;
        let context = || format!("{} cannot be read", self.shown);
        if self.there.is_none() {
            // A stream is read before memory is allocated by what its header says.
            let mut all = Vec::new();
            (&mut self.data).take(bytes).read_to_end(&mut all).with_context(context)?;
            if (all.len() as u64) < bytes {
                return Err(self.cut_short(size_of::<T>(), all.len() as u64));
            }
            self.data = Box::new(Cursor::new(all));
        }
        let extents: Vec<usize> = self.header.shape.iter().map(|extent| *extent as usize).collect();
        let mut stored = zeroed_vec::<T>(bytes as usize / size_of::<T>());
        self.data.read_exact(cast_slice_mut(&mut stored)).with_context(context)?;
        turn(&mut stored);
        Ok(if self.header.fortran { row_major(&stored, &extents) } else { stored })
    }

    /// As [`Self::numbers`], as bytes in host order.
    fn number_bytes<T: Number>(self) -> Result<Vec<u8>> {
        Ok(bytemuck::cast_slice(&self.numbers::<T>()?).to_vec())
    }
}

/// A type of elements in files.
pub(crate) trait Number: Pod {
    /// The scalar type it stands for.
    const SCALAR: ScalarType;
}

macro_rules! numbers {
    ($($type:ty: $scalar:ident)*) => { $(
        impl Number for $type {
            const SCALAR: ScalarType = ScalarType::$scalar;
        }
    )* };
}

numbers!(i8: I8 u8: U8 i16: I16 u16: U16 i32: I32 u32: U32 i64: I64 u64: U64 f16: F16 f32: F32 f64: F64);

/// Converts elements from little-endian order to the host's, or back.
fn turn<T: Number>(numbers: &mut [T]) {
    if cfg!(target_endian = "big") {
        for number in cast_slice_mut::<T, u8>(numbers).chunks_exact_mut(size_of::<T>()) {
            number.reverse();
        }
    }
}

/// Reorders elements stored with the first extent varying fastest, so that the last one does.
fn row_major<T: Copy>(stored: &[T], extents: &[usize]) -> Vec<T> {
    let strides: Vec<usize> =
        (0..extents.len()).map(|dimension| extents[..dimension].iter().product()).collect();
    let mut index = vec![0; extents.len()];
    let mut numbers = Vec::with_capacity(stored.len());
    while numbers.len() < stored.len() {
        numbers.push(stored[index.iter().zip(&strides).map(|(index, stride)| index * stride).sum::<usize>()]);
        for (index, extent) in index.iter_mut().zip(extents).rev() {
            *index += 1;
            if *index < *extent {
                break;
            }
            *index = 0;
        }
    }
    numbers
}

/// Writes an array, little-endian, in C order (the last extent varies fastest).
///
/// # Errors
/// Writing to the sink fails.
pub(crate) fn write<T: Number>(sink: &mut dyn Sink, extents: &[usize], elements: &[T]) -> Result<()> {
    write_array(sink, extents, T::SCALAR, bytemuck::cast_slice(elements))
}

/// Writes an array of any number of dimensions from its bytes in host order, with the last extent varying fastest:
/// little-endian, in C order.
///
/// # Errors
/// Writing to the sink fails.
pub(crate) fn write_array(
    sink: &mut dyn Sink,
    extents: &[usize],
    scalar: ScalarType,
    bytes: &[u8],
) -> Result<()> {
    sink.write_all(&Header::written(scalar, extents))?;
    if cfg!(target_endian = "big") {
        for number in bytes.chunks_exact(scalar.bytes()) {
            let turned: Vec<u8> = number.iter().rev().copied().collect();
            sink.write_all(&turned)?;
        }
    } else {
        sink.write_all(bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        text.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read_bytes(bytes: &[u8]) -> Result<Matrix> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.npy");
        fs::write(&path, bytes)?;
        read(&path)
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn both_orders_read_the_same() {
        let want = Matrix {
            count: None,
            rows: 2,
            columns: 3,
            elements: Elements::F32(vec![1., 2., 3., 4., 5., 6.]),
        };
        let c = file("<f4", "False", "(2, 3)", &floats(&[1., 2., 3., 4., 5., 6.]));
        let fortran = file("<f4", "True", "(2, 3)", &floats(&[1., 4., 2., 5., 3., 6.]));
        assert_eq!(read_bytes(&c).unwrap(), want);
        assert_eq!(read_bytes(&fortran).unwrap(), want);
    }

    #[test]
    fn a_batch_in_either_order() {
        // From numpy: a = np.arange(12, dtype='<f4').reshape(2, 3, 2), and a.ravel('F').
        let values: Vec<f32> = (0..12u8).map(f32::from).collect();
        let fortran = [0., 6., 2., 8., 4., 10., 1., 7., 3., 9., 5., 11.];
        let want = Matrix { count: Some(2), rows: 3, columns: 2, elements: Elements::F32(values.clone()) };
        assert_eq!(read_bytes(&file("<f4", "False", "(2, 3, 2)", &floats(&values))).unwrap(), want);
        assert_eq!(read_bytes(&file("<f4", "True", "(2, 3, 2)", &floats(&fortran))).unwrap(), want);
    }

    #[test]
    fn streams_are_read_up_to_the_length_in_their_header() {
        let stream = |bytes: Vec<u8>| Opened::open(Input::Stream(Box::new(Cursor::new(bytes))), "it");
        let data = floats(&[1.0, 2.0, 3.0]);
        let read = |data: &[u8]| stream(file("<f4", "False", "(3,)", data)).and_then(Opened::elements);
        let want = Elements::F32(vec![1.0, 2.0, 3.0]);
        assert_eq!(read(&data).unwrap(), want);
        assert_eq!(read(&[data.clone(), vec![9; 5]].concat()).unwrap(), want);
        assert!(read(&data[..11]).unwrap_err().to_string().contains("11 bytes follow"));
        let liar = stream(file("<f4", "False", "(1000000, 1000000, 1000)", &data)).unwrap();
        assert!(liar.elements().unwrap_err().to_string().contains("read it from a file"));
    }

    #[test]
    fn empty_arrays_are_read() {
        let empty = read_bytes(&file("<f8", "False", "(0, 3)", &[])).unwrap();
        assert_eq!(empty, Matrix { count: None, rows: 0, columns: 3, elements: Elements::F64(vec![]) });
    }

    #[test]
    fn written_files_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.npy");
        let values = [0.5, -1.0, 65504.0].map(f16::from_f64);
        let mut out = Cursor::new(Vec::new());
        write(&mut out, &[3, 1], &values).unwrap();
        fs::write(&path, out.into_inner()).unwrap();
        let want = Matrix { count: None, rows: 3, columns: 1, elements: Elements::F16(values.to_vec()) };
        assert_eq!(read(&path).unwrap(), want);
    }

    fn read_array_bytes(bytes: &[u8], at_most: u64) -> Result<Array> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.npy");
        fs::write(&path, bytes)?;
        read_array(&path, at_most)
    }

    #[test]
    fn arrays_of_any_type_and_dimensions() {
        // From numpy: a = np.arange(24, dtype='<i2').reshape(2, 3, 4), and a.ravel('F').
        let c: Vec<i16> = (0..24).collect();
        let fortran: [i16; 24] =
            [0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23];
        let data =
            |numbers: &[i16]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
        let want = Array {
            extents: vec![2, 3, 4],
            scalar: ScalarType::I16,
            bytes: c.iter().flat_map(|number| number.to_ne_bytes()).collect(),
        };
        assert_eq!(read_array_bytes(&file("<i2", "False", "(2, 3, 4)", &data(&c)), 48).unwrap(), want);
        assert_eq!(read_array_bytes(&file("<i2", "True", "(2, 3, 4)", &data(&fortran)), 48).unwrap(), want);
        let error = read_array_bytes(&file("<i2", "False", "(2, 3, 4)", &data(&c)), 47).unwrap_err();
        assert!(error.to_string().contains("48 bytes"), "{error}");
        let number = read_array_bytes(&file("|u1", "False", "()", &[7]), 1).unwrap();
        assert_eq!(number, Array { extents: vec![], scalar: ScalarType::U8, bytes: vec![7] });
        for (kind, data, word) in [("|b1", &[1][..], "'|b1'"), (">i2", &[0, 1], "'<i2'")] {
            let error = format!("{:#}", read_array_bytes(&file(kind, "False", "(1,)", data), 9).unwrap_err());
            assert!(error.contains(word) && error.contains("a.npy"), "{error}");
        }
    }

    #[test]
    fn written_arrays_read_back() {
        for (scalar, size) in
            [(ScalarType::I8, 1), (ScalarType::U16, 2), (ScalarType::F32, 4), (ScalarType::I64, 8)]
        {
            let bytes: Vec<u8> = (0..6 * size).collect();
            let mut out = Cursor::new(Vec::new());
            write_array(&mut out, &[3, 1, 2], scalar, &bytes).unwrap();
            let back = read_array_bytes(&out.into_inner(), 48).unwrap();
            assert_eq!(back, Array { extents: vec![3, 1, 2], scalar, bytes });
        }
    }

    #[test]
    fn refusals_say_why() {
        let cases = [
            (b"P5 not numpy".to_vec(), "not a .npy file"),
            (b"\x93NUMPY\x01".to_vec(), "ends in its header"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "ends in its header"),
            (file(">f4", "False", "(1, 1)", &[0; 4]), "big-endian"),
            (file("<i4", "False", "(1, 1)", &[0; 4]), "'<i4'"),
            (file("<c8", "False", "(1, 1)", &[0; 8]), "'<c8'"),
            (file("<f4", "False", "(3,)", &[0; 12]), "1 dimensions"),
            (file("<f4", "False", "(1, 1, 1, 3)", &[0; 12]), "4 dimensions"),
            (file("<f4", "False", "(2, 3)", &[0; 23]), "cut short"),
            (file("<f4", "False", "(1048576, 1048576)", &[0; 8]), "cut short"),
            (file("<f4", "False", "(4294967296, 4294967296)", &[0; 8]), "too many elements"),
            (file("<f4", "False", "(0, 4294967296, 4294967296)", &[0; 8]), "too many elements"),
            (file("<f4", "False", &"(".repeat(5000), &[0; 8]), "dictionary"),
            (file("<f4", "False", "'two'", &[0; 8]), "not a .npy file"),
        ];
        for (bytes, want) in cases {
            let message = format!("{:#}", read_bytes(&bytes).unwrap_err());
            assert!(message.contains(want) && message.contains("a.npy"), "{want}: {message}");
        }
    }
}
