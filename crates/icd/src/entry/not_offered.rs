//! Functions that are not offered: sharing with OpenGL, EGL and Direct3D, and pipes.
//!
//! What they take does not matter, so that one function of each number of arguments is enough.

use std::ffi::c_void;

use opencl_sys as cl;
use opencl_sys::cl_int;

use super::boundary::put;

pub(crate) unsafe extern "C" fn make3<A, B>(_: A, _: B, errcode_ret: *mut cl_int) -> *mut c_void {
    // SAFETY: the application passes NULL or a place for the code.
    unsafe { put(errcode_ret, cl::CL_INVALID_OPERATION) };
    std::ptr::null_mut()
}

pub(crate) unsafe extern "C" fn make4<A, B, C>(_: A, _: B, _: C, errcode_ret: *mut cl_int) -> *mut c_void {
    // SAFETY: the application passes NULL or a place for the code.
    unsafe { put(errcode_ret, cl::CL_INVALID_OPERATION) };
    std::ptr::null_mut()
}

pub(crate) unsafe extern "C" fn make5<A, B, C, D>(
    _: A,
    _: B,
    _: C,
    _: D,
    errcode_ret: *mut cl_int,
) -> *mut c_void {
    // SAFETY: the application passes NULL or a place for the code.
    unsafe { put(errcode_ret, cl::CL_INVALID_OPERATION) };
    std::ptr::null_mut()
}

pub(crate) unsafe extern "C" fn make6<A, B, C, D, E>(
    _: A,
    _: B,
    _: C,
    _: D,
    _: E,
    errcode_ret: *mut cl_int,
) -> *mut c_void {
    // SAFETY: the application passes NULL or a place for the code.
    unsafe { put(errcode_ret, cl::CL_INVALID_OPERATION) };
    std::ptr::null_mut()
}

pub(crate) unsafe extern "C" fn refuse3<A, B, C>(_: A, _: B, _: C) -> cl_int {
    cl::CL_INVALID_OPERATION
}

pub(crate) unsafe extern "C" fn refuse5<A, B, C, D, E>(_: A, _: B, _: C, _: D, _: E) -> cl_int {
    cl::CL_INVALID_OPERATION
}

/// `clGetPipeInfo`: as there are no pipes, no object is one.
pub(crate) unsafe extern "C" fn not_a_pipe<A, B, C, D, E>(_: A, _: B, _: C, _: D, _: E) -> cl_int {
    cl::CL_INVALID_MEM_OBJECT
}

pub(crate) unsafe extern "C" fn refuse6<A, B, C, D, E, F>(_: A, _: B, _: C, _: D, _: E, _: F) -> cl_int {
    cl::CL_INVALID_OPERATION
}

pub(crate) unsafe extern "C" fn refuse7<A, B, C, D, E, F, G>(
    _: A,
    _: B,
    _: C,
    _: D,
    _: E,
    _: F,
    _: G,
) -> cl_int {
    cl::CL_INVALID_OPERATION
}

pub(crate) unsafe extern "C" fn refuse8<A, B, C, D, E, F, G, H>(
    _: A,
    _: B,
    _: C,
    _: D,
    _: E,
    _: F,
    _: G,
    _: H,
) -> cl_int {
    cl::CL_INVALID_OPERATION
}
