//! Locks that stay usable after a panic.
//!
//! A lock is poisoned when a thread panics while it holds it. What these crates lock is consistent at every moment, so
//! its contents remain valid then, and a panic in one thread is not turned into a panic in all others.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, poisoned or not.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    recovered(mutex.lock())
}

/// The value or guard in the result of any operation on a lock, poisoned or not: `recovered(rw_lock.read())`.
pub fn recovered<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;
    use std::thread;

    use super::*;

    #[test]
    fn the_contents_of_a_poisoned_lock_are_readable() {
        let (mutex, rw_lock) = (Mutex::new(1), RwLock::new(2));
        thread::scope(|scope| {
            let panicked = scope.spawn(|| {
                let (mut one, mut two) = (mutex.lock().unwrap(), rw_lock.write().unwrap());
                (*one, *two) = (3, 4);
                panic!("expected by this test");
            });
            assert!(panicked.join().is_err());
        });
        assert!(mutex.is_poisoned() && rw_lock.is_poisoned());
        assert_eq!((*lock(&mutex), *recovered(rw_lock.read())), (3, 4));
        assert_eq!((recovered(mutex.into_inner()), recovered(rw_lock.into_inner())), (3, 4));
    }
}
