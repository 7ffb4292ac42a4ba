//! Functions that are not offered: sharing with OpenGL, EGL and Direct3D, and pipes.
//!
//! What they take does not matter, so that one function of each number of arguments is enough.

use std::ffi::c_void;

use opencl_sys as cl;
use opencl_sys::cl_int;

use super::boundary::put;

/// Constructors that return NULL, and the code where their last argument points to.
macro_rules! makes {
    ($($name:ident<$($of:ident),*>)*) => {$(
        pub(crate) unsafe extern "C" fn $name<$($of),*>($(_: $of,)* errcode_ret: *mut cl_int) -> *mut c_void {
            // SAFETY: the application passes NULL or a place for the code.
            unsafe { put(errcode_ret, cl::CL_INVALID_OPERATION) };
            std::ptr::null_mut()
        }
    )*};
}

/// Functions that return a code.
macro_rules! refusals {
    ($code:expr; $($name:ident<$($of:ident),*>)*) => {$(
        pub(crate) unsafe extern "C" fn $name<$($of),*>($(_: $of),*) -> cl_int {
            $code
        }
    )*};
}

makes! { make3<A, B> make4<A, B, C> make5<A, B, C, D> make6<A, B, C, D, E> }

refusals! {
    cl::CL_INVALID_OPERATION;
    refuse3<A, B, C>
    refuse5<A, B, C, D, E>
    refuse6<A, B, C, D, E, F>
    refuse7<A, B, C, D, E, F, G>
    refuse8<A, B, C, D, E, F, G, H>
}

// `clGetPipeInfo`: as there are no pipes, no object is one.
refusals! { cl::CL_INVALID_MEM_OBJECT; not_a_pipe<A, B, C, D, E> }
