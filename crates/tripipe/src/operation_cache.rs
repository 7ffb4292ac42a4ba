//! A cache of operations that are ready to run.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use tripipe_launch::locks::lock;

use crate::{Error, Explanation};

/// The number of operations of a family that are cached. Their host memory is negligible; their device memory is
/// limited separately, by bytes.
const CACHED: usize = 1024;

/// An operation that is ready to run, with its description.
pub(crate) trait Described: Any + Send + Sync {
    /// What it is for.
    fn family(&self) -> Family;

    /// What it does, why, and how long it takes.
    fn explain(&self) -> Explanation;
}

/// The families of operations, in the order in which they are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Product,
    Filter,
    Elementwise,
    Other,
}

/// The latest operations of every family, most recently used first.
#[derive(Default)]
pub(crate) struct OperationCache(Mutex<Vec<CachedOperation>>);

struct CachedOperation {
    /// Equal for equal descriptions.
    key: u64,
    family: Family,
    operation: Arc<dyn Described>,
}

impl CachedOperation {
    fn is<T: Described>(&self, is: impl FnOnce(&T) -> bool) -> bool {
        let operation: &dyn Any = &*self.operation;
        operation.downcast_ref().is_some_and(is)
    }

    fn get<T: Described>(&self) -> Option<Arc<T>> {
        let operation: Arc<dyn Any + Send + Sync> = Arc::clone(&self.operation) as _;
        operation.downcast().ok()
    }
}

/// The hash of a description, or of enough of it to distinguish most descriptions.
pub(crate) fn key(description: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    description.hash(&mut hasher);
    hasher.finish()
}

impl OperationCache {
    /// The cached operation with this key for which `is` holds, or a new one.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn get_or_make<T: Described>(
        &self,
        key: u64,
        is: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        {
            let mut cache = lock(&self.0);
            if let Some(place) = cache.iter().position(|one| one.key == key && one.is(&is)) {
                cache[..=place].rotate_right(1);
                if let Some(operation) = cache[0].get() {
                    return Ok(operation);
                }
            }
        }
        // Not under the lock: building kernels takes time, and other threads may need the cache.
        let operation = Arc::new(make()?);
        let family = operation.family();
        let mut cache = lock(&self.0);
        cache.insert(0, CachedOperation { key, family, operation: Arc::clone(&operation) as _ });
        let mut of_family = (0..cache.len()).filter(|place| cache[*place].family == family);
        let gone = of_family.nth(CACHED).map(|place| cache.remove(place));
        drop(cache);
        // Dropped outside the lock too: dropping an operation frees memory.
        drop(gone);
        Ok(operation)
    }

    /// All operations, by family, most recently used first.
    pub(crate) fn all(&self) -> Vec<Arc<dyn Described>> {
        let mut all: Vec<_> =
            lock(&self.0).iter().map(|one| (one.family, Arc::clone(&one.operation))).collect();
        all.sort_by_key(|(family, _)| *family);
        all.into_iter().map(|(_, operation)| operation).collect()
    }

    /// The most recently used operation for which `like` holds.
    pub(crate) fn relative<T: Described>(&self, like: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        lock(&self.0).iter().find(|one| one.is(&like))?.get()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    struct Number(usize);
    struct Word(&'static str);

    fn explanation(operation: String) -> Explanation {
        Explanation { operation, ..Explanation::default() }
    }

    impl Described for Number {
        fn family(&self) -> Family {
            Family::Other
        }

        fn explain(&self) -> Explanation {
            explanation(self.0.to_string())
        }
    }

    impl Described for Word {
        fn family(&self) -> Family {
            Family::Product
        }

        fn explain(&self) -> Explanation {
            explanation(self.0.to_owned())
        }
    }

    fn get(cache: &OperationCache, number: usize) -> Arc<Number> {
        cache.get_or_make(key(&number), |known: &Number| known.0 == number, || Ok(Number(number))).unwrap()
    }

    #[test]
    fn one_family_does_not_evict_another() {
        let cache = OperationCache::default();
        let word = cache.get_or_make(7, |_: &Word| true, || Ok(Word("seven"))).unwrap();
        let first = get(&cache, 0);
        for number in 1..CACHED {
            get(&cache, number);
        }
        // A hit makes it the most recently used.
        assert!(Arc::ptr_eq(&first, &get(&cache, 0)));
        get(&cache, CACHED);
        assert!(Arc::ptr_eq(&first, &get(&cache, 0)));
        // Number 1 was the least recently used.
        assert!(cache.relative(|known: &Number| known.0 == 1).is_none());
        let all: Vec<String> = cache.all().iter().map(|one| one.explain().operation).collect();
        assert_eq!(all.len(), CACHED + 1);
        assert_eq!(
            all[..4],
            ["seven".to_owned(), "0".to_owned(), CACHED.to_string(), (CACHED - 1).to_string()]
        );
        let again = cache.get_or_make(7, |_: &Word| true, || Ok(Word("other"))).unwrap();
        assert!(Arc::ptr_eq(&word, &again));
    }

    /// The key of one type may be that of another.
    #[test]
    fn operations_of_other_types_are_passed_over() {
        let cache = OperationCache::default();
        let word = cache.get_or_make(1, |_: &Word| true, || Ok(Word("one"))).unwrap();
        let number = cache.get_or_make(1, |_: &Number| true, || Ok(Number(1))).unwrap();
        assert_eq!((word.0, number.0), ("one", 1));
        assert!(cache.relative(|_: &Word| true).is_some_and(|found| Arc::ptr_eq(&found, &word)));
    }
}
