//! The functions of NVML that read a counter of energy: a launch takes 0.25 J, and the counter steps every 40 launches.

use std::ffi::{CStr, c_char, c_int, c_ulonglong, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use crate::{LAUNCHES, is};

const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    address: *const c_char,
    device: *mut *mut c_void,
) -> c_int {
    // The numbers that the OpenCL device answers.
    let known = unsafe { CStr::from_ptr(address) } == c"00000001:0a:0b.0";
    unsafe { *device = null_mut() };
    if known { 0 } else { NOT_FOUND }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTotalEnergyConsumption(_device: *mut c_void, to: *mut c_ulonglong) -> c_int {
    if is("no-energy") {
        return NOT_SUPPORTED;
    }
    let launches = LAUNCHES.load(Ordering::SeqCst) as c_ulonglong;
    unsafe { *to = launches / 40 * 40 * 250 };
    0
}
