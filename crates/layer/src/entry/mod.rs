//! The functions of the API: each passes its call on, and tells the layer about it.

pub(crate) mod library;
pub(crate) mod process_end;

mod own;
mod read;
mod wrap;

use std::ffi::c_void;
use std::ptr::null_mut;

use libloading::Library;
#[allow(clippy::wildcard_imports, reason = "the types of all functions")]
use opencl_sys::cl_egl::*;
use opencl_sys::cl_icd::cl_icd_dispatch;
#[allow(clippy::wildcard_imports, reason = "the types of all functions")]
use opencl_sys::*;
use std::ffi::{c_char, c_uchar};

use crate::function::Function;
use crate::functions::functions;
use library::target;
use wrap::{OnContextError, OnEvent, OnNative, OnObject, OnSvmFree, Word as _};

/// Makes a function, and the one of the same name that the library exports: that one is a function of its own, so that
/// no other library's function of this name takes the place of the first.
macro_rules! wrapper {
    (@function $name:ident, ($($argument:ident: $ty:ty),*) -> $result:ty, $body:expr) => {
        pub(super) unsafe extern "C" fn $name($($argument: $ty),*) -> $result {
            // SAFETY: the application passes what the function of this name asks for, and so does this one.
            unsafe { $body }
        }
        const _: () = {
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $ty),*) -> $result {
                // SAFETY: as above.
                unsafe { self::$name($($argument),*) }
            }
        };
    };
    (call fn $name:ident($($argument:ident: $ty:ty),*) -> $result:ty) => {
        wrapper! { @function $name, ($($argument: $ty),*) -> $result, {
            let next = target().$name;
            wrap::call(Function::$name, &[$($argument.word()),*], next, |next| next($($argument),*))
        } }
    };
    (call_own fn $name:ident($($argument:ident: $ty:ty),*) -> $result:ty) => {
        wrapper! { @function $name, ($($argument: $ty),*) -> $result, {
            wrap::call(Function::$name, &[$($argument.word()),*], Some(()), |()| own::$name($($argument),*))
        } }
    };
    (create fn $name:ident($($argument:ident: $ty:ty),*) -> $result:ty) => {
        wrapper! { @function $name, ($($argument: $ty,)* errcode_ret: *mut cl_int) -> $result, {
            let next = target().$name;
            wrap::create(Function::$name, &[$($argument.word()),*], errcode_ret, next, |next, code| {
                next($($argument,)* code)
            })
        } }
    };
    (create_own fn $name:ident($($argument:ident: $ty:ty),*) -> $result:ty) => {
        wrapper! { @function $name, ($($argument: $ty,)* errcode_ret: *mut cl_int) -> $result, {
            wrap::create(Function::$name, &[$($argument.word()),*], errcode_ret, Some(()), |(), code| {
                own::$name($($argument,)* code)
            })
        } }
    };
    (enqueue fn $name:ident($($argument:ident: $ty:ty),*)) => {
        wrapper! { @function $name, (
            $($argument: $ty,)* waits: cl_uint, wait_list: *const cl_event, event: *mut cl_event
        ) -> cl_int, {
            let next = target().$name;
            let words = &[$($argument.word(),)* waits.word(), wait_list.word()];
            wrap::enqueue(Function::$name, words, event, next, |next, event| {
                next($($argument,)* waits, wait_list, event)
            })
        } }
    };
    (mark fn $name:ident($($argument:ident: $ty:ty),*)) => {
        wrapper! { @function $name, ($($argument: $ty,)* event: *mut cl_event) -> cl_int, {
            let next = target().$name;
            wrap::enqueue(Function::$name, &[$($argument.word()),*], event, next, |next, event| {
                next($($argument,)* event)
            })
        } }
    };
    (map fn $name:ident($($argument:ident: $ty:ty),*)) => {
        wrapper! { @function $name, (
            $($argument: $ty,)* waits: cl_uint, wait_list: *const cl_event, event: *mut cl_event,
            errcode_ret: *mut cl_int
        ) -> *mut c_void, {
            let next = target().$name;
            let words = &[$($argument.word(),)* waits.word(), wait_list.word()];
            wrap::map(Function::$name, words, event, errcode_ret, next, |next, event, code| {
                next($($argument,)* waits, wait_list, event, code)
            })
        } }
    };
}

macro_rules! all {
    ($(
        $kind:ident fn $name:ident(
            $($argument:ident: $ty:ty $(= $how:ident $(($of:ident))?)?),* $(,)?
        ) $(-> $result:ty)?;
    )*) => {
        /// The functions.
        #[allow(non_snake_case, reason = "the names in the API")]
        #[allow(clippy::too_many_arguments, reason = "the arguments in the API")]
        mod wrapped {
            use super::*;
            $(wrapper! { $kind fn $name($($argument: $ty),*) $(-> $result)? })*
        }

        /// A table of this library's functions, for those that `target` has. Others are passed on.
        fn layered(target: &cl_icd_dispatch) -> cl_icd_dispatch {
            let mut table = *target;
            $(if table.$name.is_some() {
                table.$name = Some(wrapped::$name);
            })*
            table
        }

        /// This library's function of a name; NULL for other names.
        fn function(name: &str) -> *mut c_void {
            match name {
                $(stringify!($name) => wrapped::$name as *mut c_void,)*
                _ => null_mut(),
            }
        }

        /// The functions of a library. Those that it does not have are NULL.
        ///
        /// # Safety
        /// Its functions of these names are those of OpenCL.
        unsafe fn functions_of(library: &Library) -> cl_icd_dispatch {
            // SAFETY: all members are addresses of functions or numbers, and may be 0.
            let mut table: cl_icd_dispatch = unsafe { std::mem::zeroed() };
            $(
                // SAFETY: as the caller promises.
                let found = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                table.$name = found.ok().map(|found| *found);
            )*
            table
        }
    };
}
functions!(all);

/// Writes a value where the application wants it; nowhere for NULL.
///
/// # Safety
/// `to` is NULL or a place for the value.
unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller passes a place; the application may pass one that is not aligned.
        unsafe { to.write_unaligned(value) };
    }
}

/// The code of functions that the driver does not have.
const MISSING: cl_int = CL_INVALID_OPERATION;
