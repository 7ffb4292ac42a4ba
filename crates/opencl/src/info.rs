//! Decodes the answers of `clGet...Info` calls.

use opencl_sys::cl_device_id;

use crate::api::queries;

/// Decodes a string: up to the first NUL, trimmed, invalid UTF-8 replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// Decodes an unsigned number of 1, 4 or 8 bytes; `None` for any other length.
///
/// Drivers differ in the width of some answers (32-bit builds, `cl_bool` as one byte), so the width of the answer
/// decides, not the one in the specification.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    match *bytes {
        [a] => Some(u64::from(a)),
        [a, b, c, d] => Some(u64::from(u32::from_ne_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Some(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    }
}

/// Decodes a list of `size_t`.
pub(crate) fn sizes(bytes: &[u8]) -> Vec<usize> {
    bytes
        .chunks_exact(size_of::<usize>())
        .filter_map(|chunk| number(chunk).map(|number| number as usize))
        .collect()
}

/// Queries of one device; `None` for a query that it refuses.
#[derive(Clone, Copy)]
pub(crate) struct Ask(pub(crate) cl_device_id);

impl Ask {
    pub(crate) fn bytes(self, question: u32) -> Option<Vec<u8>> {
        match queries::device_info(self.0, question) {
            Ok(bytes) => Some(bytes),
            Err(code) => {
                tracing::trace!(question = format_args!("{question:#x}"), code, "device does not say");
                None
            }
        }
    }

    pub(crate) fn text(self, question: u32) -> String {
        self.bytes(question).map(|bytes| text(&bytes)).unwrap_or_default()
    }

    pub(crate) fn number(self, question: u32) -> Option<u64> {
        number(&self.bytes(question)?)
    }

    /// Like [`Self::number`], but 0 if the device does not answer.
    pub(crate) fn or_zero(self, question: u32) -> u64 {
        self.number(question).unwrap_or(0)
    }

    pub(crate) fn is(self, question: u32) -> bool {
        self.or_zero(question) != 0
    }

    pub(crate) fn sizes(self, question: u32) -> Vec<usize> {
        self.bytes(question).map(|bytes| sizes(&bytes)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_the_first_nul() {
        assert_eq!(text(b"  Mali-G610 \0junk"), "Mali-G610");
        assert_eq!(text(b"no end"), "no end");
        assert_eq!(text(b""), "");
    }

    #[test]
    fn numbers_take_the_width_that_came() {
        assert_eq!(number(&1u8.to_ne_bytes()), Some(1));
        assert_eq!(number(&7u32.to_ne_bytes()), Some(7));
        assert_eq!(number(&(1u64 << 40).to_ne_bytes()), Some(1 << 40));
        assert_eq!(number(&[]), None);
        assert_eq!(number(&[1, 2, 3]), None);
    }
}
