//! Handles: the pointers that the application has of objects.
//!
//! A handle points to a [`Header`], whose first word is the address of the dispatch table, as the ICD loader wants it.
//! Headers are never freed: the loader may follow the handle of an object that is gone. A header is used again only
//! after [`QUARANTINE`] others were, so that a stale handle does not name another object soon.
//!
//! The registry knows which object a handle belongs to, its type, and how often the application retained it.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex, RwLock, Weak};

use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::cl_int;
use tripipe_launch::locks::{lock, recovered};

use super::context::Context;
use super::failure::{Failure, Outcome};
use crate::dispatch::TABLE;

/// Headers of objects that are gone, before the first of them is used again.
const QUARANTINE: usize = 1 << 14;

/// Locks of the registry; each has the handles whose addresses end in its number.
const SHARDS: usize = 16;

/// What a handle points to. It is aligned so that handles spread over the shards.
#[repr(C, align(32))]
struct Header {
    dispatch: &'static cl_icd_dispatch,
    /// Extends the header to the size of platforms of loaders that keep data of their own behind the table.
    reserved: [usize; 3],
}

type Shared = dyn Any + Send + Sync;

/// What the registry knows of a handle.
struct Registration {
    object: Weak<Shared>,
    /// Keeps the object while the application has references.
    kept: Option<Arc<Shared>>,
    /// References of the application.
    references: u32,
}

#[derive(Default)]
struct Registry {
    shards: [RwLock<HashMap<usize, Registration>>; SHARDS],
    free: Mutex<VecDeque<&'static Header>>,
}

impl Registry {
    fn shard(&self, address: usize) -> &RwLock<HashMap<usize, Registration>> {
        &self.shards[address / align_of::<Header>() % SHARDS]
    }
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);

/// The handle of an object, which owns it.
pub struct Handle(&'static Header);

impl Default for Handle {
    fn default() -> Self {
        let mut free = lock(&REGISTRY.free);
        let header = if free.len() > QUARANTINE { free.pop_front() } else { None };
        Self(header.unwrap_or_else(|| Box::leak(Box::new(Header { dispatch: &TABLE, reserved: [0; 3] }))))
    }
}

impl Handle {
    /// The handle as the application has it.
    pub fn pointer(&self) -> *mut c_void {
        std::ptr::from_ref(self.0).cast_mut().cast()
    }

    /// Its address.
    pub fn address(&self) -> usize {
        self.pointer() as usize
    }

    /// The references that the application has.
    pub fn references(&self) -> u32 {
        let address = self.address();
        recovered(REGISTRY.shard(address).read()).get(&address).map_or(0, |known| known.references)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let address = self.address();
        recovered(REGISTRY.shard(address).write()).remove(&address);
        lock(&REGISTRY.free).push_back(self.0);
    }
}

/// An object of the API.
pub trait ApiObject: Any + Send + Sync {
    /// The code for a handle that is no object of this type.
    const INVALID: cl_int;
    /// The type's name for messages.
    const NAME: &'static str;

    /// Its handle.
    fn handle(&self) -> &Handle;

    /// The context whose callback reports failures of calls with this object.
    fn context(&self) -> Option<Weak<Context>> {
        None
    }
}

/// Makes a type with a field `handle` one of the API's objects: the code for a handle of another type, the name in messages,
/// and the context whose callback reports failures, if it is one.
macro_rules! api_object {
    ($object:ty, $invalid:expr, $name:literal $(, |$this:ident| $context:expr)?) => {
        impl $crate::driver::handle::ApiObject for $object {
            const INVALID: opencl_sys::cl_int = $invalid;
            const NAME: &'static str = $name;

            fn handle(&self) -> &$crate::driver::handle::Handle {
                &self.handle
            }

            $(fn context(&self) -> Option<std::sync::Weak<$crate::driver::context::Context>> {
                let $this = self;
                Some(std::sync::Arc::downgrade($context))
            })?
        }
    };
}
pub(crate) use api_object;

/// Enters an object into the registry, with `references` of the application.
pub fn register<T: ApiObject>(object: T, references: u32) -> Arc<T> {
    register_shared(Arc::new(object), references)
}

/// As [`register`], for an object that is shared already.
pub fn register_shared<T: ApiObject>(object: Arc<T>, references: u32) -> Arc<T> {
    let address = object.handle().address();
    let shared: Arc<Shared> = object.clone();
    let weak = Arc::downgrade(&shared);
    let known = Registration { object: weak, kept: (references > 0).then_some(shared), references };
    recovered(REGISTRY.shard(address).write()).insert(address, known);
    object
}

fn invalid<T: ApiObject>(address: usize) -> Failure {
    let what = if address == 0 { "NULL" } else { "the handle" };
    Failure::new(T::INVALID, format!("{what} is not a {}, or no longer", T::NAME))
}

/// The object of a handle.
///
/// # Errors
/// The handle is of no object of this type.
pub fn find<T: ApiObject>(handle: *mut c_void) -> Outcome<Arc<T>> {
    let address = handle as usize;
    let object =
        recovered(REGISTRY.shard(address).read()).get(&address).and_then(|known| known.object.upgrade());
    object.and_then(|object| object.downcast::<T>().ok()).ok_or_else(|| invalid::<T>(address))
}

/// The object of a handle; `None` for NULL.
///
/// # Errors
/// As [`find`].
pub fn find_optional<T: ApiObject>(handle: *mut c_void) -> Outcome<Option<Arc<T>>> {
    if handle.is_null() { Ok(None) } else { find(handle).map(Some) }
}

/// Adds a reference of the application.
///
/// # Errors
/// As [`find`].
pub fn retain<T: ApiObject>(handle: *mut c_void) -> Outcome<()> {
    let object = find::<T>(handle)?;
    let address = handle as usize;
    if let Some(known) = recovered(REGISTRY.shard(address).write()).get_mut(&address) {
        known.references += 1;
        known.kept.get_or_insert(object);
    }
    Ok(())
}

/// Removes a reference of the application. An object without references is gone as soon as no other object and no
/// command needs it.
///
/// # Errors
/// As [`find`]; or the application has no reference.
pub fn release<T: ApiObject>(handle: *mut c_void) -> Outcome<()> {
    let object = find::<T>(handle)?;
    let address = handle as usize;
    let kept = {
        let mut shard = recovered(REGISTRY.shard(address).write());
        let known = shard.get_mut(&address).filter(|known| known.references > 0);
        let known = known.ok_or_else(|| invalid::<T>(address))?;
        known.references -= 1;
        if known.references == 0 { known.kept.take() } else { None }
    };
    // The object's end locks the registry.
    drop(kept);
    drop(object);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apple(Handle);
    struct Pear(Handle);

    impl ApiObject for Apple {
        const INVALID: cl_int = -1;
        const NAME: &'static str = "apple";
        fn handle(&self) -> &Handle {
            &self.0
        }
    }

    impl ApiObject for Pear {
        const INVALID: cl_int = -2;
        const NAME: &'static str = "pear";
        fn handle(&self) -> &Handle {
            &self.0
        }
    }

    #[test]
    fn a_handle_is_valid_for_its_type_while_the_object_lives() {
        let apple = register(Apple(Handle::default()), 1);
        let handle = apple.handle().pointer();
        assert!(find::<Apple>(handle).is_ok());
        assert_eq!(find::<Pear>(handle).err().map(|failure| failure.code), Some(-2));
        retain::<Apple>(handle).unwrap();
        assert_eq!(apple.handle().references(), 2);
        release::<Apple>(handle).unwrap();
        release::<Apple>(handle).unwrap();
        // Another object still needs it; the application has no reference any more.
        assert_eq!(release::<Apple>(handle).err().map(|failure| failure.code), Some(-1));
        assert!(find::<Apple>(handle).is_ok());
        drop(apple);
        assert!(find::<Apple>(handle).is_err());
        for wrong in [0usize, 1, 8, usize::MAX, handle as usize + 32] {
            assert!(find::<Apple>(wrong as *mut c_void).is_err());
        }
        // The next object has another handle.
        assert_ne!(register(Apple(Handle::default()), 1).handle().pointer(), handle);
    }
}
