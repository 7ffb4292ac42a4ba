//! An on-disk cache of build results, so that the next start need not build them again.
//!
//! An entry is found by a [`Key`]: a hash of everything it was made from. Entries of several kinds share a folder and
//! its limit; the least recently used ones are evicted. Entries are written to a temporary file and renamed, so any
//! number of processes may share a folder. An entry is returned only if magic, version, key, length and checksum are
//! valid; otherwise it is deleted. If the folder cannot be written, nothing is cached; that is never an error.
//!
//! The environment selects the cache unless the program does: `TRIPIPE_CACHE=off` switches it off, `TRIPIPE_CACHE_DIR`
//! names the folder.

mod entry;
mod key;
mod tally;

use std::ffi::OsStr;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use key::Key;
use tally::Tally;

/// The environment variable that switches the cache off (`off`, `0` or `no`).
pub const SWITCH: &str = "TRIPIPE_CACHE";
/// The environment variable that names the folder.
pub const FOLDER: &str = "TRIPIPE_CACHE_DIR";
/// Default limit for the total size of all entries: 64 MiB.
pub const DEFAULT_LIMIT_BYTES: u64 = 64 << 20;

/// The size from which on no line is [appended](Cache::append) to those of a key: 4 MiB.
pub const LINES_LIMIT_BYTES: u64 = 4 << 20;

/// A cache folder and its size limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    limit_bytes: u64,
}

/// Which cache to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheChoice {
    /// The one that the environment selects, by default in the user's cache folder.
    #[default]
    Environment,
    /// No cache.
    Off,
    /// The given cache.
    At(Cache),
}

impl CacheChoice {
    /// The cache, or `None` if caching is off.
    pub fn cache(&self) -> Option<Cache> {
        match self {
            Self::Environment => Cache::from_environment(),
            Self::Off => None,
            Self::At(cache) => Some(cache.clone()),
        }
    }
}

impl Cache {
    /// A cache in `folder`, which is created on the first write.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), limit_bytes: DEFAULT_LIMIT_BYTES }
    }

    /// Sets the size limit in bytes; the least recently used entries are evicted.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit_bytes = bytes;
        self
    }

    /// The cache that the environment selects: `None` if it is switched off, or the user has no cache folder.
    pub fn from_environment() -> Option<Self> {
        let switch = std::env::var_os(SWITCH);
        let folder = std::env::var_os(FOLDER);
        choose(switch.as_deref(), folder.as_deref(), dirs::cache_dir())
    }

    /// The folder of the entries.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Deletes all entries.
    ///
    /// # Errors
    /// An entry cannot be deleted. A missing folder is not an error.
    pub fn clear(&self) -> io::Result<()> {
        for file in self.files()? {
            removed(std::fs::remove_file(&file.path))?;
        }
        removed(self.tally().forget())
    }

    fn tally(&self) -> Tally {
        Tally::of(&self.folder)
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.to_string())
    }

    /// The contents of the entry of `key`, or `None` if there is no valid one. An invalid entry is deleted.
    pub fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "not in the cache");
                return None;
            }
        };
        match entry::decode(bytes, key) {
            Ok(contents) => {
                // The modification time is the time of last use, for eviction. It stays unchanged in a read-only
                // folder.
                let touched = std::fs::File::options()
                    .append(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(SystemTime::now()));
                if let Err(error) = touched {
                    tracing::debug!(path = %path.display(), %error, "cannot mark a cache entry as used");
                }
                Some(contents)
            }
            Err(reason) => {
                tracing::warn!(path = %path.display(), reason, "cache entry dropped");
                self.remove(key);
                None
            }
        }
    }

    /// Stores an entry. On failure nothing is stored.
    ///
    /// The folder is read only when the entries may exceed the limit, and after some hundred stores: a file in it counts
    /// the bytes that all processes have stored. Eviction leaves room for some more entries, a sixteenth of the limit.
    pub fn store(&self, key: &Key, contents: &[u8]) {
        let bytes = entry::encode(key, contents);
        if bytes.len() as u64 > self.limit_bytes {
            tracing::debug!(bytes = bytes.len(), "entry larger than the whole cache");
            return;
        }
        if let Err(error) = self.write(key, &bytes) {
            tracing::debug!(folder = %self.folder.display(), %error, "entry not cached");
            return;
        }
        let total = self.tally().add(bytes.len() as u64);
        if total.is_some_and(|total| total <= self.limit_bytes) {
            return;
        }
        if let Err(error) = self.evict() {
            tracing::debug!(folder = %self.folder.display(), %error, "cache not tidied");
        }
    }

    /// The lines that were [appended](Self::append) under a key, oldest first; empty without any. A line that a process left
    /// unfinished is a line too: readers ignore what they cannot parse.
    pub fn lines(&self, key: &Key) -> Vec<String> {
        let path = self.path(key);
        let Ok(bytes) = std::fs::read(&path) else { return Vec::new() };
        // As in `load`: the time of last use.
        if let Ok(file) = std::fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        // An empty line comes from a writer that saw a part of another one's line.
        String::from_utf8_lossy(&bytes).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Appends a line to those of a key, which are a text file and evicted like an entry. Any number of processes may
    /// append to the same. The line is in the file when this returns, so it survives a crash of the process.
    ///
    /// # Errors
    /// The folder cannot be written, or the lines have reached [`LINES_LIMIT_BYTES`].
    pub fn append(&self, key: &Key, line: &str) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let mut file = std::fs::File::options().read(true).append(true).create(true).open(self.path(key))?;
        let length = file.metadata()?.len();
        if length > LINES_LIMIT_BYTES.min(self.limit_bytes) {
            return Err(io::Error::other("too many lines"));
        }
        // One write, so that lines of several processes do not mix. A line break before it ends what a process that was
        // killed while writing may have left.
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(io::SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let before = if last == *b"\n" { "" } else { "\n" };
        file.write_all(format!("{before}{}\n", line.replace(['\n', '\r'], " ")).as_bytes())
    }

    fn write(&self, key: &Key, bytes: &[u8]) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        // In the same folder, so that the rename is atomic.
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).suffix(".tmp").tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Deletes an entry that is not usable.
    pub fn remove(&self, key: &Key) {
        if let Err(error) = std::fs::remove_file(self.path(key)) {
            tracing::debug!(%error, "cache entry cannot be deleted");
        }
    }

    /// Entries and temporary files; empty if the folder does not exist.
    fn files(&self) -> io::Result<Vec<Stored>> {
        let listing = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing?,
        };
        let mut files = Vec::new();
        for file in listing {
            let file = file?;
            let name = file.file_name();
            let name = name.to_string_lossy();
            let temporary = name.starts_with(TEMPORARY);
            let digits = name.split_once('.').map_or("", |name| name.0);
            let ours =
                temporary || (digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            // Another process may delete the file at any time; then it is skipped.
            let Ok(facts) = file.metadata() else { continue };
            if ours && facts.is_file() {
                let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push(Stored { path: file.path(), bytes: facts.len(), used, temporary });
            }
        }
        Ok(files)
    }

    /// Reads the folder. If the entries exceed the limit, the least recently used ones are deleted.
    fn evict(&self) -> io::Result<()> {
        let mut files = self.files()?;
        files.sort_by_key(|file| file.used);
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        // With room for more entries, or the next store would have to read the folder again.
        let room = self.limit_bytes / ROOM;
        let most = if total > self.limit_bytes { self.limit_bytes - room } else { self.limit_bytes };
        let now = SystemTime::now();
        for file in files {
            let age = now.duration_since(file.used).unwrap_or_default();
            // A process that died while writing leaves its temporary file.
            let forgotten = file.temporary && age > FORGOTTEN;
            if forgotten || (total > most && !file.temporary) {
                removed(std::fs::remove_file(&file.path))?;
                total -= file.bytes;
            }
        }
        self.tally().set(total)
    }
}

/// The result of deleting a file; one that another process has deleted is no error.
fn removed(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Eviction leaves the limit divided by this free.
const ROOM: u64 = 16;

const TEMPORARY: &str = "writing-";
const FORGOTTEN: Duration = Duration::from_secs(3600);

struct Stored {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
    temporary: bool,
}

fn choose(switch: Option<&OsStr>, folder: Option<&OsStr>, user: Option<PathBuf>) -> Option<Cache> {
    let off = |value: &&OsStr| ["off", "0", "no"].iter().any(|no| value.eq_ignore_ascii_case(no));
    if switch.as_ref().is_some_and(off) {
        return None;
    }
    match folder {
        Some(folder) if !folder.is_empty() => Some(Cache::at(folder)),
        _ => user.map(|user| Cache::at(user.join("tripipe"))),
    }
}

#[cfg(test)]
mod tests;
