//! The number of bytes in a folder, as far as it is known without reading the folder.
//!
//! A file of numbers of 8 bytes, little-endian: the total when the folder was last read, then the sizes of the entries that
//! were stored since, by all processes. It is an estimate: entries that replace others count twice, deleted ones still
//! count, and a process that reads the folder may drop the number that another one adds meanwhile. It is dropped after
//! [`MOST`] numbers.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Most numbers in the file; then the folder is read again.
const MOST: usize = 512;

/// The file.
pub(crate) struct Tally {
    path: PathBuf,
}

impl Tally {
    /// The tally of a folder.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { path: folder.join("stored") }
    }

    /// Adds an entry of `bytes`. Returns the estimate; `None` if the folder has to be read.
    pub(crate) fn add(&self, bytes: u64) -> Option<u64> {
        // Not created: without the total of a folder, the numbers say nothing.
        let mut file = File::options().read(true).append(true).open(&self.path).ok()?;
        // One write, which lands at the end, also if other processes add a number.
        file.write_all(&bytes.to_le_bytes()).ok()?;
        io::Seek::rewind(&mut file).ok()?;
        let mut numbers = Vec::with_capacity(8 * (MOST + 1));
        file.take(8 * (MOST as u64 + 1)).read_to_end(&mut numbers).ok()?;
        let (numbers, rest) = numbers.as_chunks::<8>();
        // A tally has its total and this entry at least.
        if !rest.is_empty() || !(2..=MOST).contains(&numbers.len()) {
            return None;
        }
        numbers.iter().try_fold(0u64, |total, number| total.checked_add(u64::from_le_bytes(*number)))
    }

    /// Begins again with the total of the folder.
    pub(crate) fn set(&self, total: u64) -> io::Result<()> {
        std::fs::write(&self.path, total.to_le_bytes())
    }

    /// Deletes the file.
    pub(crate) fn forget(&self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}
