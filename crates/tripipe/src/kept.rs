//! A cache of operations that are ready to run.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// The number of operations of a kind that are cached. Their host memory is negligible; their device memory is limited
/// separately, by bytes.
const KEPT: usize = 1024;

/// The latest operations of one kind, most recently used first.
pub(crate) struct Kept<T>(Mutex<Vec<One<T>>>);

/// An operation, and a hash that is equal for equal descriptions.
struct One<T> {
    key: u64,
    operation: Arc<T>,
}

/// The hash of a description, or of enough of it to distinguish most descriptions.
pub(crate) fn key(description: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    description.hash(&mut hasher);
    hasher.finish()
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// The cached operation with this key for which `is` holds, or a new one.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn get_or_make(
        &self,
        key: u64,
        is: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        {
            let mut kept = self.lock();
            if let Some(place) = kept.iter().position(|one| one.key == key && is(&one.operation)) {
                kept[..=place].rotate_right(1);
                return Ok(Arc::clone(&kept[0].operation));
            }
        }
        // Not under the lock: building kernels takes time, and other threads may need the cache.
        let operation = Arc::new(make()?);
        let mut kept = self.lock();
        kept.insert(0, One { key, operation: Arc::clone(&operation) });
        let most = KEPT.min(kept.len());
        let gone = kept.split_off(most);
        drop(kept);
        // Dropped outside the lock too: dropping an operation frees memory.
        drop(gone);
        Ok(operation)
    }

    /// All operations, most recently used first.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.lock().iter().map(|one| Arc::clone(&one.operation)).collect()
    }

    /// The most recently used operation for which `like` holds.
    pub(crate) fn relative(&self, like: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.lock().iter().find(|one| like(&one.operation)).map(|one| Arc::clone(&one.operation))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<One<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
