//! The file format of an entry.
//!
//! All numbers are little-endian: magic (8 bytes), format version (u32), key (32), length of the contents (u64),
//! SHA-256 of the contents (32); then the contents.

use sha2::{Digest as _, Sha256};

use crate::Key;

const MAGIC: &[u8; 8] = b"TRIPIPE\n";
const VERSION: u32 = 2;

/// Encodes the file of an entry.
pub(crate) fn encode(key: &Key, contents: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(key.bytes());
    file.extend_from_slice(&(contents.len() as u64).to_le_bytes());
    file.extend_from_slice(&Sha256::digest(contents));
    file.extend_from_slice(contents);
    file
}

/// Decodes the file of the entry of `key` and returns its contents.
///
/// # Errors
/// A short description of what is wrong with the file.
pub(crate) fn decode(mut file: Vec<u8>, key: &Key) -> Result<Vec<u8>, &'static str> {
    let mut rest = &file[..];
    let mut take = |bytes: usize| {
        let (taken, behind) = rest.split_at_checked(bytes)?;
        rest = behind;
        Some(taken)
    };
    if take(8) != Some(MAGIC) {
        return Err("not a cache entry");
    }
    if take(4) != Some(&VERSION.to_le_bytes()) {
        return Err("of another version");
    }
    if take(32) != Some(key.bytes()) {
        return Err("of another key");
    }
    let len = take(8).ok_or("truncated")?;
    let checksum = take(32).ok_or("truncated")?;
    if len != (rest.len() as u64).to_le_bytes() {
        return Err("of the wrong length");
    }
    if *Sha256::digest(rest) != *checksum {
        return Err("corrupt");
    }
    let header = file.len() - rest.len();
    file.drain(..header);
    Ok(file)
}
