//! Byte strings as one record, and their digest.

use sha2::{Digest as _, Sha256};

/// SHA-256.
pub(super) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Concatenates several byte strings, each preceded by its length.
pub(super) fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts
        .iter()
        .flat_map(|part| (part.len() as u64).to_le_bytes().into_iter().chain(part.iter().copied()))
        .collect()
}

/// Reverses [`join`]; `None` for any other input.
pub(super) fn split(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        parts.push(part);
        bytes = rest;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        for parts in [&[][..], &[&b""[..]], &[b"a", b"", b"bc"]] {
            assert_eq!(split(&join(parts)).unwrap(), parts);
        }
        assert_eq!(split(&join(&[b"abc"])[..10]), None);
        assert_eq!(split(&[0xff; 8]), None);
        assert_eq!(split(&[0; 7]), None);
    }
}
