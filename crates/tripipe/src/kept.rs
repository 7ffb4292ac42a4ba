//! Operations that were made ready and are kept.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// How many operations of a kind are kept. They hold no memory to speak of: what they need on the device is limited by its bytes.
const KEPT: usize = 1024;

/// The latest operations of one kind, the one used last in front.
pub(crate) struct Kept<T>(Mutex<Vec<One<T>>>);

/// An operation, and a number that those asked for with the same description have in common.
struct One<T> {
    key: u64,
    operation: Arc<T>,
}

/// The number for a description, of so much of it as tells most of them apart.
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
    /// The one with that key that `is` it, or a new one.
    ///
    /// # Errors
    /// Whatever `make` returns.
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
        // Not under the lock: building kernels takes its time, and others may be at hand.
        let operation = Arc::new(make()?);
        let mut kept = self.lock();
        kept.insert(0, One { key, operation: Arc::clone(&operation) });
        let most = KEPT.min(kept.len());
        let gone = kept.split_off(most);
        drop(kept);
        // Neither is what goes: it frees memory.
        drop(gone);
        Ok(operation)
    }

    /// All of them, the one used last in front.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.lock().iter().map(|one| Arc::clone(&one.operation)).collect()
    }

    /// The one used last of those that are `like` it.
    pub(crate) fn relative(&self, like: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.lock().iter().find(|one| like(&one.operation)).map(|one| Arc::clone(&one.operation))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<One<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
