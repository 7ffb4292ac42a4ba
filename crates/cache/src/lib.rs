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

use std::ffi::OsStr;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use key::Key;

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
            match std::fs::remove_file(&file.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
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

    fn evict(&self) -> io::Result<()> {
        let mut files = self.files()?;
        files.sort_by_key(|file| file.used);
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        let now = SystemTime::now();
        for file in files {
            let age = now.duration_since(file.used).unwrap_or_default();
            // A process that died while writing leaves its temporary file.
            let forgotten = file.temporary && age > FORGOTTEN;
            if forgotten || (total > self.limit_bytes && !file.temporary) {
                match std::fs::remove_file(&file.path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => total -= file.bytes,
                }
            }
        }
        Ok(())
    }
}

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
mod tests {
    use super::*;

    fn key(seed: u8) -> Key {
        Key::of("test", &[&[seed]])
    }

    fn contents(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| i as u8).collect()
    }

    #[test]
    fn the_environment_chooses() {
        let user = || Some(PathBuf::from("/home/x/.cache"));
        assert_eq!(choose(None, None, user()), Some(Cache::at("/home/x/.cache/tripipe")));
        assert_eq!(choose(None, Some("/tmp/c".as_ref()), user()), Some(Cache::at("/tmp/c")));
        assert_eq!(choose(None, None, None), None);
        for no in ["off", "OFF", "0", "no"] {
            assert_eq!(choose(Some(no.as_ref()), Some("/tmp/c".as_ref()), user()), None);
        }
        assert!(choose(Some("on".as_ref()), None, user()).is_some());
    }

    #[test]
    fn stored_entries_are_returned() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("not/yet/there"));
        assert!(cache.load(&key(1)).is_none());
        cache.store(&key(1), &contents(1000));
        assert_eq!(cache.load(&key(1)), Some(contents(1000)));
        assert!(cache.load(&key(2)).is_none());
        cache.clear().unwrap();
        assert!(cache.load(&key(1)).is_none());
        assert_eq!(cache.files().unwrap().len(), 0);
    }

    #[test]
    fn a_spoiled_entry_is_deleted_and_not_returned() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        cache.store(&key(1), &contents(100));
        let path = cache.path(&key(1));
        let sound = std::fs::read(&path).unwrap();
        // Every truncation and every single flipped bit must be detected.
        for len in 0..sound.len() {
            std::fs::write(&path, &sound[..len]).unwrap();
            assert_eq!(cache.load(&key(1)), None, "cut to {len}");
            assert!(!path.exists(), "cut to {len}");
        }
        for at in 0..sound.len() {
            let mut spoiled = sound.clone();
            spoiled[at] ^= 0x10;
            std::fs::write(&path, &spoiled).unwrap();
            assert_eq!(cache.load(&key(1)), None, "byte {at}");
            assert!(!path.exists(), "byte {at}");
        }
        let mut longer = sound.clone();
        longer.push(0);
        std::fs::write(&path, &longer).unwrap();
        assert_eq!(cache.load(&key(1)), None);
        // A valid file, but with the key of another entry.
        std::fs::write(cache.path(&key(2)), &sound).unwrap();
        assert_eq!(cache.load(&key(2)), None);
    }

    #[test]
    fn the_least_recently_used_entries_are_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let size = entry::encode(&key(0), &contents(10_000)).len() as u64;
        let cache = Cache::at(folder.path()).limit(3 * size);
        for seed in 0..3 {
            cache.store(&key(seed), &contents(10_000));
            let file = std::fs::File::options().append(true).open(cache.path(&key(seed))).unwrap();
            let past = SystemTime::now() - Duration::from_secs(1000 - u64::from(seed));
            file.set_modified(past).unwrap();
        }
        // Entry 0 is the oldest, but it is used now, so entry 1 is evicted.
        assert!(cache.load(&key(0)).is_some());
        cache.store(&key(3), &contents(10_000));
        let there: Vec<bool> = (0..4).map(|seed| cache.path(&key(seed)).exists()).collect();
        assert_eq!(there, [true, false, true, true]);
        // An entry larger than the limit is not stored and evicts nothing.
        cache.store(&key(9), &contents(4 * 10_000));
        assert_eq!(cache.files().unwrap().len(), 3);
    }

    #[test]
    fn temporary_files_are_tidied_only_when_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let fresh = folder.path().join("writing-fresh.tmp");
        let old = folder.path().join("writing-old.tmp");
        let foreign = folder.path().join("README");
        for path in [&fresh, &old, &foreign] {
            std::fs::write(path, "x").unwrap();
        }
        let file = std::fs::File::options().append(true).open(&old).unwrap();
        file.set_modified(SystemTime::now() - 2 * FORGOTTEN).unwrap();
        cache.store(&key(1), &contents(10));
        assert!(fresh.exists() && !old.exists() && foreign.exists());
        cache.clear().unwrap();
        assert!(foreign.exists());
    }

    #[test]
    fn an_unwritable_folder_is_not_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "not a folder").unwrap();
        let cache = Cache::at(file.join("below"));
        cache.store(&key(1), &contents(10));
        assert!(cache.load(&key(1)).is_none());
    }

    #[test]
    fn lines_of_several_writers_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("new"));
        assert_eq!(cache.lines(&key(1)), [""; 0]);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    for line in 0..50 {
                        cache.append(&key(1), &format!("{writer} {line} {}", "x".repeat(100))).unwrap();
                    }
                });
            }
        });
        let lines = cache.lines(&key(1));
        assert_eq!(lines.len(), 200);
        for writer in 0..4 {
            let own: Vec<usize> = lines
                .iter()
                .filter_map(|line| line.strip_prefix(&format!("{writer} ")))
                .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
                .collect();
            assert_eq!(own, (0..50).collect::<Vec<_>>());
        }
        assert!(cache.lines(&key(2)).is_empty());
    }

    #[test]
    fn what_a_killed_process_left_costs_no_other_line() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        cache.append(&key(1), "one").unwrap();
        let path = cache.path(&key(1));
        let mut torn = std::fs::File::options().append(true).open(&path).unwrap();
        torn.write_all(b"tw\xff").unwrap();
        cache.append(&key(1), "three\nlines").unwrap();
        assert_eq!(cache.lines(&key(1)), ["one", "tw\u{fffd}", "three lines"]);
        torn.set_len(LINES_LIMIT_BYTES + 1).unwrap();
        assert!(cache.append(&key(1), "four").is_err());
        cache.clear().unwrap();
        assert!(cache.lines(&key(1)).is_empty());
        let file = folder.path().join("file");
        std::fs::write(&file, "not a folder").unwrap();
        assert!(Cache::at(file.join("below")).append(&key(1), "one").is_err());
    }

    #[test]
    fn concurrent_writers_leave_a_valid_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path()).limit(1 << 20);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        cache.store(&key(1), &contents(5000));
                        if let Some(found) = cache.load(&key(1)) {
                            assert_eq!(found, contents(5000));
                        }
                    }
                });
            }
        });
        assert_eq!(cache.load(&key(1)), Some(contents(5000)));
    }
}
