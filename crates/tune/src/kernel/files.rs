//! The files that a launch file refers to, kept as they were read.

use std::collections::BTreeMap;

use tripipe_launch_file::{Array, Files, Pixels};

/// Files that were read once, by the path that the launch file has for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelFiles {
    pub(super) bytes: BTreeMap<String, Vec<u8>>,
    pub(super) arrays: BTreeMap<String, Array>,
    /// With the number of channels that was asked for; 0 for the picture's own.
    pub(super) pictures: BTreeMap<(String, usize), Pixels>,
}

impl KernelFiles {
    /// Number of bytes of all of them.
    pub fn size(&self) -> usize {
        let mut size = 0;
        self.each(&mut |bytes| size += bytes.len());
        size
    }

    /// Calls `add` with the name and the contents of each.
    pub(super) fn each(&self, add: &mut dyn FnMut(&[u8])) {
        for (path, bytes) in &self.bytes {
            add(path.as_bytes());
            add(bytes);
        }
        for (path, array) in &self.arrays {
            add(path.as_bytes());
            add(&array.bytes);
        }
        for ((path, _), pixels) in &self.pictures {
            add(path.as_bytes());
            add(&pixels.bytes);
        }
    }
}

fn within<T>(found: T, path: &str, bytes: usize, at_most: u64) -> Result<T, String> {
    if bytes as u64 > at_most {
        return Err(format!("{path} has {bytes} bytes instead of {at_most}"));
    }
    Ok(found)
}

fn not_kept(path: &str) -> String {
    format!("{path} was not read with the first candidate, and cannot be read for another one")
}

impl Files for KernelFiles {
    fn bytes(&mut self, path: &str, at_most: u64) -> Result<Vec<u8>, String> {
        let found = self.bytes.get(path).ok_or_else(|| not_kept(path))?;
        within(found, path, found.len(), at_most).cloned()
    }

    fn array(&mut self, path: &str, at_most: u64) -> Result<Array, String> {
        let found = self.arrays.get(path).ok_or_else(|| not_kept(path))?;
        within(found, path, found.bytes.len(), at_most).cloned()
    }

    fn picture(&mut self, path: &str, channels: Option<usize>, at_most: u64) -> Result<Pixels, String> {
        let found =
            self.pictures.get(&(path.to_owned(), channels.unwrap_or(0))).ok_or_else(|| not_kept(path))?;
        within(found, path, found.bytes.len(), at_most).cloned()
    }
}

/// Reads files, and keeps what was read.
pub struct Recorder<'f> {
    files: &'f mut dyn Files,
    /// What was read so far.
    pub kept: KernelFiles,
}

impl<'f> Recorder<'f> {
    /// Reads by `files`.
    pub fn new(files: &'f mut dyn Files) -> Self {
        Self { files, kept: KernelFiles::default() }
    }
}

impl Files for Recorder<'_> {
    fn bytes(&mut self, path: &str, at_most: u64) -> Result<Vec<u8>, String> {
        let found = self.files.bytes(path, at_most)?;
        self.kept.bytes.insert(path.to_owned(), found.clone());
        Ok(found)
    }

    fn array(&mut self, path: &str, at_most: u64) -> Result<Array, String> {
        let found = self.files.array(path, at_most)?;
        self.kept.arrays.insert(path.to_owned(), found.clone());
        Ok(found)
    }

    fn picture(&mut self, path: &str, channels: Option<usize>, at_most: u64) -> Result<Pixels, String> {
        let found = self.files.picture(path, channels, at_most)?;
        self.kept.pictures.insert((path.to_owned(), channels.unwrap_or(0)), found.clone());
        Ok(found)
    }
}
