//! Operations that were made ready and are kept.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;

/// How many operations of a kind are kept.
const KEPT: usize = 64;

/// The latest operations of one kind, the one used last in front.
pub(crate) struct Kept<T>(Mutex<Vec<Arc<T>>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// The one that `is` it, or a new one.
    ///
    /// # Errors
    /// Whatever `make` returns.
    pub(crate) fn get_or_make(
        &self,
        is: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = kept.iter().position(|one| is(one)) {
                kept[..=place].rotate_right(1);
                return Ok(Arc::clone(&kept[0]));
            }
        }
        // Not under the lock: building kernels takes its time, and others may be at hand.
        let made = Arc::new(make()?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(0, Arc::clone(&made));
        kept.truncate(KEPT);
        Ok(made)
    }

    /// All of them, the one used last in front.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one used last of those that are `like` it.
    pub(crate) fn relative(&self, like: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|one| like(one)).cloned()
    }
}
