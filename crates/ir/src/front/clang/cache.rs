//! Built kernels on disk, by content.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

use sha2::{Digest as _, Sha256};

/// The name of what is built from that text with those tools and options. `name` counts too: line information has it.
pub(super) fn key(described: &str, name: &str, preprocessed: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [described.as_bytes(), name.as_bytes(), preprocessed] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What is kept under a key, if it is whole.
pub(super) fn read(folder: &Path, key: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(folder.join(format!("{key}.spv"))).ok()?;
    let (digest, spirv) = bytes.split_at_checked(32)?;
    (Sha256::digest(spirv).as_slice() == digest).then(|| spirv.to_vec())
}

/// Keeps a module, behind its own digest.
pub(super) fn write(folder: &Path, key: &str, spirv: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&Sha256::digest(spirv))?;
    file.write_all(spirv)?;
    file.persist(folder.join(format!("{key}.spv")))?;
    Ok(())
}
