//! The disk cache of built kernels.
//!
//! The key of a module consists of the preprocessed text and everything that affects its compilation. Preprocessing
//! requires a run of the compiler, so a second kind of entry maps an unprocessed text to the hash of its preprocessed
//! form and the files that it includes ([`Includes`]); while these are unchanged, no program runs. A third kind
//! records which compiler is used ([`Clang::find_kept`]).

use std::ffi::OsString;

use tripipe_cache::{Cache, Key};

use super::includes::Includes;
use super::offered::{FUNCTIONS, MACROS};
use super::records::{join, split};
use super::{Built, Clang};

/// Incremented whenever the format of entries changes, or anything about how modules are made that the arguments do
/// not show.
const VERSION: [u8; 1] = [5];

/// The cached results of builds that differ only in their text.
pub(super) struct BuildCache<'b> {
    cache: &'b Cache,
    how: Vec<u8>,
}

impl<'b> BuildCache<'b> {
    /// `name` is part of the key, because line information contains it.
    pub(super) fn new(cache: &'b Cache, tools: &Clang, arguments: &[OsString], name: &str) -> Self {
        let described = tools.describe();
        let mut parts: Vec<&[u8]> =
            vec![&VERSION, described.as_bytes(), MACROS.as_bytes(), FUNCTIONS.as_bytes(), name.as_bytes()];
        parts.extend(arguments.iter().map(|argument| argument.as_encoded_bytes()));
        Self { cache, how: join(&parts) }
    }

    /// The module for a preprocessed text with that SHA-256.
    pub(super) fn module(&self, preprocessed: &[u8; 32]) -> Option<Built> {
        let contents = self.cache.load(&self.module_key(preprocessed))?;
        let [spirv, warnings] = split(&contents)?.try_into().ok()?;
        let warnings = String::from_utf8(warnings.to_vec()).ok()?;
        Some(Built { spirv: spirv.to_vec(), warnings, cached: true })
    }

    /// Stores the module for a preprocessed text with that SHA-256.
    pub(super) fn keep_module(&self, preprocessed: &[u8; 32], built: &Built) {
        self.cache.store(&self.module_key(preprocessed), &join(&[&built.spirv, built.warnings.as_bytes()]));
    }

    /// The module for an unprocessed text, if everything that it includes is unchanged.
    pub(super) fn module_of_source(&self, text: &str) -> Option<Built> {
        let contents = self.cache.load(&self.includes_key(text)?)?;
        let includes = Includes::decode(&contents)?;
        if includes.stand() { self.module(&includes.preprocessed) } else { None }
    }

    /// Stores what a text includes.
    pub(super) fn keep_includes(&self, text: &str, includes: &Includes) {
        if let (Some(key), Some(contents)) = (self.includes_key(text), includes.encode()) {
            self.cache.store(&key, &contents);
        }
    }

    fn module_key(&self, preprocessed: &[u8; 32]) -> Key {
        Key::of("spirv", &[&self.how, preprocessed])
    }

    /// Relative paths start in the working folder; `None` if there is none.
    fn includes_key(&self, text: &str) -> Option<Key> {
        let folder = std::env::current_dir().ok()?;
        Some(Key::of("includes", &[&self.how, folder.as_os_str().as_encoded_bytes(), text.as_bytes()]))
    }
}
