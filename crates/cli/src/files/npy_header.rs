//! Headers of `.npy` files: a dictionary in Python syntax, with three keys.
//!
//! Own code: `npyz` and `ndarray-npy` parse it by `py_literal`, which needs a parser generator and 20 more crates, and
//! refuses the `3L` of Python 2.

use anyhow::{Result, bail};
use tripipe_launch::ScalarType;

/// Longest header that is accepted, in bytes; numpy's own headers are far shorter.
pub(super) const HEADER_MAX: usize = 1 << 16;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Data starts at a multiple of this.
const ALIGNMENT: usize = 64;

/// The header's description of the data.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    /// The type in numpy's notation, e.g. `<f4`; `None` for records.
    kind: Option<String>,
    /// Whether the first extent varies fastest, not the last.
    pub(super) fortran: bool,
    /// Extents; their product fits into a `u64`.
    pub(super) shape: Vec<u64>,
}

impl Header {
    /// Parses the header at the start of a file; also returns the offset of the data.
    ///
    /// # Errors
    /// There is no header, it is truncated, or its numbers are impossible.
    pub(super) fn parse(start: &[u8]) -> Result<(Self, u64)> {
        if start.is_empty() {
            bail!("it is empty");
        }
        if !start.starts_with(MAGIC) {
            bail!("it does not start as one");
        }
        let (text_start, text_bytes): (usize, usize) = match start.get(6..12) {
            Some([1, _, low, high, ..]) => (10, usize::from(u16::from_le_bytes([*low, *high]))),
            Some([2 | 3, _, a, b, c, d]) => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
            Some([version, _, _, _, _, _]) => bail!("its version {version} is unknown"),
            _ => bail!("it ends in its header"),
        };
        let end = text_start.checked_add(text_bytes);
        let Some((end, text)) = end.and_then(|end| Some((end, start.get(text_start..end)?))) else {
            bail!("it ends in its header, or the header is over {HEADER_MAX} bytes");
        };
        let text = String::from_utf8_lossy(text);
        let Some(header) = Text(&text).header() else {
            bail!("its header is not the dictionary that numpy writes");
        };
        let elements = header.shape.iter().try_fold(1u64, |all, extent| all.checked_mul((*extent).max(1)));
        if elements.is_none() {
            bail!("its shape has too many elements");
        }
        Ok((header, end as u64))
    }

    /// The type of the elements.
    ///
    /// # Errors
    /// Records, types other than integers and floats, big-endian numbers.
    pub(super) fn scalar(&self) -> Result<ScalarType> {
        let Some(kind) = self.kind.as_deref() else {
            bail!("it holds records; save one field of it, e.g. a['x']")
        };
        let scalar = match kind.trim_start_matches(['<', '>', '|', '=']) {
            "i1" => ScalarType::I8,
            "u1" => ScalarType::U8,
            "i2" => ScalarType::I16,
            "u2" => ScalarType::U16,
            "i4" => ScalarType::I32,
            "u4" => ScalarType::U32,
            "i8" => ScalarType::I64,
            "u8" => ScalarType::U64,
            "f2" => ScalarType::F16,
            "f4" => ScalarType::F32,
            "f8" => ScalarType::F64,
            other => bail!(
                "it holds '{kind}', neither integers nor floats of 16, 32 or 64 bits; {}",
                match other.chars().next() {
                    Some('b') => "a.astype('int8') keeps every value",
                    Some('c') => "save its parts, a.real and a.imag",
                    Some('f') => "a.astype('float64') is the nearest type, and rounds",
                    _ => "save an array of numbers",
                }
            ),
        };
        if kind.starts_with('>') && scalar.bytes() > 1 {
            let little = kind.replace('>', "<");
            bail!("it holds big-endian numbers ('{kind}'); save a.astype('{little}') instead");
        }
        Ok(scalar)
    }

    /// The type in numpy's notation.
    pub(super) fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("records")
    }

    /// The start of a file, up to its data: little-endian, the last extent varying fastest.
    pub(super) fn written(scalar: ScalarType, extents: &[usize]) -> Vec<u8> {
        let kind = match scalar {
            ScalarType::I8 => "|i1",
            ScalarType::U8 => "|u1",
            ScalarType::I16 => "<i2",
            ScalarType::U16 => "<u2",
            ScalarType::I32 => "<i4",
            ScalarType::U32 => "<u4",
            ScalarType::I64 => "<i8",
            ScalarType::U64 => "<u8",
            ScalarType::F16 => "<f2",
            ScalarType::F32 => "<f4",
            ScalarType::F64 => "<f8",
        };
        let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (");
        for extent in extents {
            text.push_str(&extent.to_string());
            text.push_str(", ");
        }
        // Python's notation: `(3,)`, `(3, 4)`.
        match extents.len() {
            0 => {}
            1 => text.truncate(text.len() - 1),
            _ => text.truncate(text.len() - 2),
        }
        text.push_str("), }");
        // Version 2 has four bytes for the length.
        let long = text.len() + ALIGNMENT > usize::from(u16::MAX);
        let start = MAGIC.len() + if long { 6 } else { 4 };
        let blanks = (start + text.len() + 1).next_multiple_of(ALIGNMENT) - (start + text.len() + 1);
        text.extend(std::iter::repeat_n(' ', blanks));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        if long {
            bytes.extend([2, 0]);
            bytes.extend((text.len() as u32).to_le_bytes());
        } else {
            bytes.extend([1, 0]);
            bytes.extend((text.len() as u16).to_le_bytes());
        }
        bytes.extend(text.as_bytes());
        bytes
    }
}

/// The part of a header that has not been parsed yet.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// The complete header: three keys in any order, followed by nothing.
    fn header(mut self) -> Option<Header> {
        let (mut kind, mut fortran, mut shape) = (None, None, None);
        self.take('{')?;
        while self.take('}').is_none() {
            let key = self.string()?;
            self.take(':')?;
            let repeated = match key {
                "descr" => kind.replace(self.kind()?).is_some(),
                "fortran_order" => fortran.replace(self.truth()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return None,
            };
            if repeated || (self.take(',').is_none() && !self.0.starts_with('}')) {
                return None;
            }
        }
        let rest = self.0.trim();
        rest.is_empty().then_some(Header { kind: kind?, fortran: fortran?, shape: shape? })
    }

    /// Consumes the character if it comes next, and the blanks around it.
    fn take(&mut self, character: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(character)?.trim_start();
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = self.0.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
        let (string, rest) = self.0[1..].split_once(quote)?;
        self.0 = rest;
        Some(string)
    }

    /// A type, or `None` for the fields of records.
    #[allow(clippy::option_option, reason = "not a header, a header of records, a header of one type")]
    fn kind(&mut self) -> Option<Option<String>> {
        if !self.0.starts_with('[') {
            return self.string().map(|kind| Some(kind.to_owned()));
        }
        let mut open = 0usize;
        loop {
            let at = self.0.find(['[', ']', '\'', '"'])?;
            self.0 = &self.0[at..];
            match self.0.as_bytes()[0] {
                b'[' => open += 1,
                b']' => open -= 1,
                _ => {
                    self.string()?;
                    continue;
                }
            }
            self.0 = &self.0[1..];
            if open == 0 {
                return Some(None);
            }
        }
    }

    fn truth(&mut self) -> Option<bool> {
        let (truth, rest) = match self.0.strip_prefix("True") {
            Some(rest) => (true, rest),
            None => (false, self.0.strip_prefix("False")?),
        };
        self.0 = rest;
        Some(truth)
    }

    /// Numbers in parentheses. Python 2 writes `3L`.
    fn shape(&mut self) -> Option<Vec<u64>> {
        let mut shape = Vec::new();
        self.take('(')?;
        while self.take(')').is_none() {
            let digits = self.0.find(|character: char| !character.is_ascii_digit())?;
            let (number, rest) = self.0.split_at(digits);
            shape.push(number.parse().ok()?);
            self.0 = rest.strip_prefix('L').unwrap_or(rest);
            if self.take(',').is_none() && !self.0.trim_start().starts_with(')') {
                return None;
            }
        }
        Some(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header> {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        let (header, end) = Header::parse(&bytes)?;
        assert_eq!(end, bytes.len() as u64);
        Ok(header)
    }

    #[test]
    fn headers_in_the_forms_that_numpy_has_written() {
        let want = Header { kind: Some("<f4".to_owned()), fortran: true, shape: vec![2, 30] };
        for text in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 30), }          \n",
            "{'shape': (2L, 30L), 'fortran_order': True, 'descr': '<f4'}",
            "{ \"descr\" : \"<f4\" , \"fortran_order\" : True , \"shape\" : ( 2 , 30 , ) , }\n",
        ] {
            assert_eq!(parse(text).unwrap(), want, "{text}");
        }
        let records = parse(
            "{'descr': [('a]', '<f4'), ('b', [('c', '<i2', (2,))])], 'fortran_order': False, 'shape': ()}",
        )
        .unwrap();
        assert_eq!(records, Header { kind: None, fortran: false, shape: vec![] });
        assert!(records.scalar().unwrap_err().to_string().contains("records"));
    }

    #[test]
    fn invalid_headers_are_rejected() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': [[['<f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': ü, 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [ü, 'fortran_order': False, 'shape': (1,)}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn headers_are_written_as_numpy_writes_them() {
        // From numpy 2: np.save of np.zeros(shape, dtype), up to the data.
        for (scalar, extents, text) in [
            (ScalarType::F32, &[2, 30][..], "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 30), }"),
            (ScalarType::I8, &[7], "{'descr': '|i1', 'fortran_order': False, 'shape': (7,), }"),
            (ScalarType::F16, &[], "{'descr': '<f2', 'fortran_order': False, 'shape': (), }"),
        ] {
            let written = Header::written(scalar, extents);
            assert_eq!(&written[..8], b"\x93NUMPY\x01\x00");
            assert_eq!(&written[8..10], b"\x76\x00");
            assert_eq!(written.len(), 128);
            assert_eq!(String::from_utf8_lossy(&written[10..]), format!("{text:<117}\n"));
            let (header, end) = Header::parse(&written).unwrap();
            assert_eq!((header.scalar().unwrap(), end), (scalar, 128));
        }
        // More dimensions than fit into the two length bytes of version 1.
        let extents = vec![1; 30_000];
        let written = Header::written(ScalarType::U8, &extents);
        assert_eq!((written[6], written.len() % ALIGNMENT), (2, 0));
    }
}
