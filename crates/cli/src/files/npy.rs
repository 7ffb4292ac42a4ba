//! Matrices in the `.npy` format of numerical Python.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use half::f16;
use npyz::{
    AutoSerialize, DType, Deserialize, Endianness, NpyFile, NpyHeader, Order, TypeChar, WriterBuilder,
};

use super::output::{Sink, plain};

/// Longest header that is read, in bytes; numpy itself stays far below.
const HEADER_MAX: usize = 1 << 16;
/// Deepest nesting of brackets in a header; an array of numbers has two levels.
const NESTING_MAX: usize = 16;

/// A dense row-major matrix.
#[derive(Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) elements: Elements,
}

/// The elements of a matrix.
#[derive(Debug, PartialEq)]
pub(crate) enum Elements {
    F16(Vec<f16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Elements {
    /// The type as `.npy` tools call it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::F16(_) => "float16",
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
        }
    }
}

/// Reads a two-dimensional array of half, float or double, in either order.
///
/// # Errors
/// No such file, no `.npy` file, another type or number of dimensions, big-endian numbers, fewer bytes than its header
/// says. Nothing is allocated before the header's size was checked against the file's.
pub(crate) fn read(path: &Path) -> Result<Matrix> {
    let shown = path.display();
    let mut file = File::open(path)
        .map_err(|error| anyhow!("{shown} cannot be read: {}; check the path", plain(&error)))?;
    let metadata = file.metadata().with_context(|| format!("{shown} cannot be read"))?;
    if !metadata.is_file() {
        bail!("{shown} is not a regular file; save the array to one with numpy.save");
    }
    let mut start = Vec::new();
    (&mut file)
        .take(HEADER_MAX as u64)
        .read_to_end(&mut start)
        .with_context(|| format!("{shown} cannot be read"))?;
    let (header, data_offset) = parse_header(&start)
        .with_context(|| format!("{shown} is not a .npy file that can be read; write it with numpy.save"))?;

    let [rows, columns] = *header.shape() else {
        let shape = header.shape();
        let hint = match shape.len() {
            1 => "make a row of it with a.reshape(1, -1) or a column with a.reshape(-1, 1)",
            _ => "a product takes one matrix at a time, e.g. a[0]",
        };
        bail!("{shown} has {} dimensions {shape:?}, a matrix has 2; {hint}", shape.len());
    };
    let (kind, item_bytes) =
        element_kind(&header).with_context(|| format!("{shown} cannot be multiplied"))?;
    let bytes = rows.checked_mul(columns).and_then(|count| count.checked_mul(item_bytes));
    let there = metadata.len().saturating_sub(data_offset);
    match bytes {
        Some(bytes) if bytes <= there => {}
        _ => bail!(
            "{shown} is cut short: its header says {rows}x{columns} elements of {item_bytes} bytes, {there} bytes \
             follow; save it again"
        ),
    }
    file.seek(SeekFrom::Start(data_offset)).with_context(|| format!("{shown} cannot be read"))?;
    let array = NpyFile::with_header(header, BufReader::with_capacity(1 << 20, file));
    let (rows, columns) = (rows as usize, columns as usize);
    let name = shown.to_string();
    let elements = match kind {
        Kind::F16 => Elements::F16(row_major(array, rows, columns, &name)?),
        Kind::F32 => Elements::F32(row_major(array, rows, columns, &name)?),
        Kind::F64 => Elements::F64(row_major(array, rows, columns, &name)?),
    };
    Ok(Matrix { rows, columns, elements })
}

#[derive(Clone, Copy)]
enum Kind {
    F16,
    F32,
    F64,
}

/// The header, and where the data starts.
fn parse_header(start: &[u8]) -> Result<(NpyHeader, u64)> {
    // Checked ahead of the library, which would allocate, recurse and multiply as the file says.
    if !start.starts_with(b"\x93NUMPY") {
        bail!("it does not start as one");
    }
    let (text_start, text_bytes): (usize, usize) = match start.get(6..12) {
        Some([1, _, low, high, ..]) => (10, usize::from(u16::from_le_bytes([*low, *high]))),
        Some([_, _, a, b, c, d]) => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => bail!("it ends in its header"),
    };
    let Some(text) = text_start.checked_add(text_bytes).and_then(|end| start.get(text_start..end)) else {
        bail!("it ends in its header, or the header is over {HEADER_MAX} bytes");
    };
    let mut depth = 0usize;
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_MAX {
            bail!("its header is nested too deeply");
        }
    }
    if shape_overflows(&String::from_utf8_lossy(text)) {
        bail!("its shape has more elements than can be counted");
    }
    let mut cursor = Cursor::new(start);
    let header = NpyHeader::from_reader(&mut cursor)?;
    Ok((header, cursor.position()))
}

/// Whether the extents in the header's shape multiply to more than a `u64`. What is no shape is left to the parser.
fn shape_overflows(text: &str) -> bool {
    let extents =
        text.split_once("shape").and_then(|(_, rest)| rest.split_once(['(', '['])).map(|(_, rest)| rest);
    let Some(extents) = extents.and_then(|rest| rest.split([')', ']']).next()) else { return false };
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let product = extents.map(str::parse::<u64>).try_fold(1u64, |product, extent| match extent {
        Ok(extent) => product.checked_mul(extent.max(1)),
        Err(_) => Some(product),
    });
    product.is_none()
}

fn element_kind(header: &NpyHeader) -> Result<(Kind, u64)> {
    let DType::Plain(kind) = header.dtype() else {
        bail!("it holds records; save one field of it, e.g. a['x'].astype('float32')")
    };
    let found = match (kind.type_char(), kind.size_field()) {
        (TypeChar::Float, 2) => (Kind::F16, 2),
        (TypeChar::Float, 4) => (Kind::F32, 4),
        (TypeChar::Float, 8) => (Kind::F64, 8),
        _ => {
            bail!("it holds '{kind}', not float16, float32 or float64; convert it, e.g. a.astype('float32')")
        }
    };
    if kind.endianness() == Endianness::Big {
        bail!("it holds big-endian numbers ('{kind}'); save a.astype('<f{}') instead", found.1);
    }
    Ok(found)
}

fn row_major<T: Deserialize + Copy>(
    array: NpyFile<impl Read>,
    rows: usize,
    columns: usize,
    shown: &str,
) -> Result<Vec<T>> {
    let order = array.order();
    let stored: Vec<T> = array.into_vec().with_context(|| format!("{shown} cannot be read"))?;
    Ok(match order {
        Order::C => stored,
        Order::Fortran => (0..rows)
            .flat_map(|row| (0..columns).map(move |column| (row, column)))
            .map(|(row, column)| stored[column * rows + row])
            .collect(),
    })
}

/// Writes a row-major matrix, little-endian, in C order.
///
/// # Errors
/// The sink fails.
pub(crate) fn write<T: AutoSerialize + Copy>(
    sink: &mut dyn Sink,
    rows: usize,
    columns: usize,
    elements: &[T],
) -> Result<()> {
    let shape = [rows as u64, columns as u64];
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(sink).begin_nd()?;
    writer.extend(elements.iter().copied())?;
    writer.finish()?;
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
        let want = Matrix { rows: 2, columns: 3, elements: Elements::F32(vec![1., 2., 3., 4., 5., 6.]) };
        let c = file("<f4", "False", "(2, 3)", &floats(&[1., 2., 3., 4., 5., 6.]));
        let fortran = file("<f4", "True", "(2, 3)", &floats(&[1., 4., 2., 5., 3., 6.]));
        assert_eq!(read_bytes(&c).unwrap(), want);
        assert_eq!(read_bytes(&fortran).unwrap(), want);
    }

    #[test]
    fn empty_arrays_are_read() {
        let empty = read_bytes(&file("<f8", "False", "(0, 3)", &[])).unwrap();
        assert_eq!(empty, Matrix { rows: 0, columns: 3, elements: Elements::F64(vec![]) });
    }

    #[test]
    fn what_is_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.npy");
        let values = [0.5, -1.0, 65504.0].map(f16::from_f64);
        let mut out = Cursor::new(Vec::new());
        write(&mut out, 3, 1, &values).unwrap();
        fs::write(&path, out.into_inner()).unwrap();
        let want = Matrix { rows: 3, columns: 1, elements: Elements::F16(values.to_vec()) };
        assert_eq!(read(&path).unwrap(), want);
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
            (file("<f4", "False", "(1, 1, 3)", &[0; 12]), "3 dimensions"),
            (file("<f4", "False", "(2, 3)", &[0; 23]), "cut short"),
            (file("<f4", "False", "(1048576, 1048576)", &[0; 8]), "cut short"),
            (file("<f4", "False", "(4294967296, 4294967296)", &[0; 8]), "more elements"),
            (file("<f4", "False", "(0, 4294967296, 4294967296)", &[0; 8]), "more elements"),
            (file("<f4", "False", &"(".repeat(5000), &[0; 8]), "nested"),
            (file("<f4", "False", "'two'", &[0; 8]), "not a .npy file"),
        ];
        for (bytes, want) in cases {
            let message = format!("{:#}", read_bytes(&bytes).unwrap_err());
            assert!(message.contains(want) && message.contains("a.npy"), "{want}: {message}");
        }
    }
}
