//! Keys of entries.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Identifies an entry: its kind, and a hash of everything it was made from.
///
/// Prints as the entry's file name: 64 hexadecimal digits, a dot, the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    kind: &'static str,
    hash: [u8; 32],
}

impl Key {
    /// The key of an entry of `kind` (letters only). Each part is hashed with its length, so that different lists give
    /// different keys. Include the format version of the entry as a part.
    pub fn of(kind: &'static str, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in [kind.as_bytes()].iter().chain(parts) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self { kind, hash: hash.finalize().into() }
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.hash
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ".{}", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let split = Key::of("kind", &[b"ab", b"c"]);
        assert_ne!(split, Key::of("kind", &[b"a", b"bc"]));
        assert_ne!(split, Key::of("other", &[b"ab", b"c"]));
        assert_eq!(split, Key::of("kind", &[b"ab", b"c"]));
        let name = split.to_string();
        assert_eq!((name.len(), name.rsplit_once('.').unwrap().1), (64 + 5, "kind"));
    }
}
