//! What a cached binary belongs to.

use std::fmt;

use sha2::{Digest as _, Sha256};
use tripipe_launch::{Program, Source};

use super::entry;
use crate::devices::Device;

/// A hash over all that makes a program's binary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// The key of `program` on `device`, built with `options` (all of them, in order).
    pub(crate) fn new(program: &Program, options: &str, device: &Device) -> Self {
        let probe = device.probe();
        let (form, source): (&[u8], &[u8]) = match &program.source {
            Source::OpenClC(text) => (b"c", text.as_bytes()),
            Source::SpirV(words) => (b"spirv", words),
            _ => (b"", b""),
        };
        Self::of(&[
            &entry::VERSION.to_le_bytes(),
            form,
            source,
            options.as_bytes(),
            probe.name.as_bytes(),
            probe.vendor.as_bytes(),
            probe.version.as_bytes(),
            probe.driver.as_bytes(),
            probe.platform.as_bytes(),
            device.platform_version().as_bytes(),
        ])
    }

    /// Each part counts with its length, so that no two lists give the same bytes.
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let split = Key::of(&[b"ab", b"c"]);
        assert!(split != Key::of(&[b"a", b"bc"]));
        assert!(split == Key::of(&[b"ab", b"c"]));
        assert_eq!(split.to_string().len(), 64);
    }
}
