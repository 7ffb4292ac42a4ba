//! The file format of a cache entry.
//!
//! All numbers are little-endian: magic (8 bytes), format version (u32), key (32), length of the rest
//! after the checksum (u64), SHA-256 of that rest (32); then the kernels with their arguments, and the
//! driver's binary. The arguments are kept because drivers need not know them of a program made from a
//! binary, and launches are checked against them.

use sha2::{Digest as _, Sha256};

use super::Key;
use crate::kernel::{ArgumentInfo, Space};

/// Raised whenever the format, or anything about how binaries are made, changes.
pub(super) const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"TRIPIPE\n";
const HEADER: usize = 8 + 4 + 32 + 8 + 32;

/// A program as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What the driver gave.
    pub(crate) binary: Vec<u8>,
    /// The kernels whose arguments were known.
    pub(crate) kernels: Vec<RecordedKernel>,
}

/// A kernel and its arguments, as the driver told them when the program was built from source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedKernel {
    pub(crate) name: String,
    pub(crate) arguments: Vec<ArgumentInfo>,
}

impl Entry {
    pub(super) fn encode(&self, key: &Key) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.binary.len() + 256);
        put_count(&mut body, self.kernels.len());
        for kernel in &self.kernels {
            put_bytes(&mut body, kernel.name.as_bytes());
            put_count(&mut body, kernel.arguments.len());
            for argument in &kernel.arguments {
                put_bytes(&mut body, argument.name.as_bytes());
                put_bytes(&mut body, argument.type_name.as_bytes());
                body.push(match argument.space {
                    Space::Global => 0,
                    Space::Constant => 1,
                    Space::Local => 2,
                    Space::Private => 3,
                });
            }
        }
        put_bytes(&mut body, &self.binary);

        let mut file = Vec::with_capacity(HEADER + body.len());
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&VERSION.to_le_bytes());
        file.extend_from_slice(key.bytes());
        file.extend_from_slice(&(body.len() as u64).to_le_bytes());
        file.extend_from_slice(&Sha256::digest(&body));
        file.extend_from_slice(&body);
        file
    }

    /// # Errors
    /// What is wrong with it, in a few words.
    pub(super) fn decode(file: &[u8], key: &Key) -> Result<Self, &'static str> {
        let mut header = Reader(file);
        if header.take(8) != Some(MAGIC) {
            return Err("not a cache entry");
        }
        if header.take(4) != Some(&VERSION.to_le_bytes()) {
            return Err("of another version");
        }
        if header.take(32) != Some(key.bytes()) {
            return Err("of another program");
        }
        let len = header.number().ok_or("truncated")?;
        let checksum = header.take(32).ok_or("truncated")?;
        let body = header.0;
        if body.len() as u64 != len {
            return Err("of the wrong length");
        }
        if *Sha256::digest(body) != *checksum {
            return Err("corrupt");
        }
        Self::decode_body(&mut Reader(body)).ok_or("malformed")
    }

    fn decode_body(body: &mut Reader<'_>) -> Option<Self> {
        let mut kernels = Vec::new();
        for _ in 0..body.number()? {
            let name = body.text()?;
            let mut arguments = Vec::new();
            for _ in 0..body.number()? {
                let (name, type_name) = (body.text()?, body.text()?);
                let space = match body.take(1)? {
                    [0] => Space::Global,
                    [1] => Space::Constant,
                    [2] => Space::Local,
                    [3] => Space::Private,
                    _ => return None,
                };
                arguments.push(ArgumentInfo { name, type_name, space });
            }
            kernels.push(RecordedKernel { name, arguments });
        }
        let binary = body.bytes()?.to_vec();
        body.0.is_empty().then_some(Self { binary, kernels })
    }
}

fn put_count(to: &mut Vec<u8>, count: usize) {
    to.extend_from_slice(&(count as u64).to_le_bytes());
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_count(to, bytes.len());
    to.extend_from_slice(bytes);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_binary_come_back() {
        let argument = |name: &str, type_name: &str, space| ArgumentInfo {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            space,
        };
        let entry = Entry {
            binary: vec![1, 2, 3],
            kernels: vec![
                RecordedKernel { name: "none".to_owned(), arguments: Vec::new() },
                RecordedKernel {
                    name: "all".to_owned(),
                    arguments: vec![
                        argument("a", "float*", Space::Global),
                        argument("b", "float4*", Space::Constant),
                        argument("c", "int*", Space::Local),
                        argument("d", "uint", Space::Private),
                    ],
                },
            ],
        };
        let key = Key::of(&[b"x"]);
        assert_eq!(Entry::decode(&entry.encode(&key), &key), Ok(entry));
    }

    #[test]
    fn a_length_that_lies_is_no_panic() {
        // A sound checksum over a body whose inner lengths point past its end.
        let key = Key::of(&[b"x"]);
        for body in [u64::MAX.to_le_bytes().to_vec(), [1u64.to_le_bytes(), u64::MAX.to_le_bytes()].concat()] {
            let mut file = Vec::new();
            file.extend_from_slice(MAGIC);
            file.extend_from_slice(&VERSION.to_le_bytes());
            file.extend_from_slice(key.bytes());
            file.extend_from_slice(&(body.len() as u64).to_le_bytes());
            file.extend_from_slice(&Sha256::digest(&body));
            file.extend_from_slice(&body);
            assert_eq!(Entry::decode(&file, &key), Err("malformed"));
        }
    }
}
