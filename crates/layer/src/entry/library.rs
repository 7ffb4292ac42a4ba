//! How the layer gets between the application and the driver.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::Library;
use opencl_sys as cl;
use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::cl_layer::{
    CL_LAYER_API_VERSION, CL_LAYER_API_VERSION_100, CL_LAYER_NAME, cl_layer_info, cl_layer_properties,
};
use opencl_sys::{CL_SUCCESS, cl_int, cl_uint};
use tripipe_opencl::library::{System, candidates};

use super::{functions_of, layered, process_end, put};
use crate::driver::Driver;
use crate::layer::Layer;
use crate::settings::{DRIVER, Settings};

/// The functions that calls are passed on to.
static TARGET: OnceLock<cl_icd_dispatch> = OnceLock::new();

/// Whether [`TARGET`] is set, or about to be.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The functions that the loader calls.
static TABLE: OnceLock<cl_icd_dispatch> = OnceLock::new();

/// The functions that calls are passed on to. Without a loader, the first call loads the driver.
pub(super) fn target() -> &'static cl_icd_dispatch {
    if let Some(target) = TARGET.get() {
        return target;
    }
    IS_TAKEN.store(true, Ordering::Relaxed);
    let target = TARGET.get_or_init(load);
    start(target);
    target
}

/// Begins to record.
fn start(target: &'static cl_icd_dispatch) {
    Layer::start(Driver::new(target));
    process_end::register();
}

/// The functions of the driver; none if it is not found.
fn load() -> cl_icd_dispatch {
    let settings = Settings::current();
    let mut reasons = Vec::new();
    let paths = settings
        .driver
        .as_ref()
        .map_or_else(|| candidates(System::current(), usize::BITS), |path| vec![path.clone()]);
    for path in paths {
        // SAFETY: loading runs the library's initialisers. It is an OpenCL library by name, in a system folder, or the
        // one that the user named.
        match unsafe { Library::new(&path) } {
            Ok(library) => {
                // SAFETY: only the address is looked up.
                let layer = unsafe { library.get::<*const c_void>(b"clInitLayer\0") };
                if layer.is_ok() {
                    reasons.push(format!("{}: it is a layer, and not a driver", path.display()));
                    continue;
                }
                // SAFETY: functions of these names are those of OpenCL's headers.
                let functions = unsafe { functions_of(&library) };
                if functions.clGetPlatformIDs.is_some() {
                    // Drivers do not survive unloading.
                    std::mem::forget(library);
                    return functions;
                }
                reasons.push(format!("{}: it has no clGetPlatformIDs", path.display()));
            }
            Err(error) => reasons.push(error.to_string()),
        }
    }
    settings.problem(&format!("no OpenCL driver found; name one with {DRIVER}: {}", reasons.join("; ")));
    // SAFETY: all members are addresses of functions or numbers, and may be 0.
    let mut none: cl_icd_dispatch = unsafe { std::mem::zeroed() };
    none.clGetPlatformIDs = Some(no_platform);
    none
}

/// What a loader without drivers answers.
unsafe extern "C" fn no_platform(
    _: cl_uint,
    _: *mut cl::cl_platform_id,
    num_platforms: *mut cl_uint,
) -> cl_int {
    // SAFETY: the application passes NULL or a place for a number.
    unsafe { put(num_platforms, 0) };
    // CL_PLATFORM_NOT_FOUND_KHR
    -1001
}

/// Tells the ICD loader about this layer (`cl_layer.h`).
///
/// # Safety
/// `param_value` is NULL or has `param_value_size` bytes, `param_value_size_ret` is NULL or a place for a size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetLayerInfo(
    param_name: cl_layer_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> cl_int {
    let bytes: Vec<u8> = match param_name {
        CL_LAYER_API_VERSION => CL_LAYER_API_VERSION_100.to_ne_bytes().to_vec(),
        CL_LAYER_NAME => b"Tripipe\0".to_vec(),
        _ => return cl::CL_INVALID_VALUE,
    };
    if !param_value.is_null() {
        if param_value_size < bytes.len() {
            return cl::CL_INVALID_VALUE;
        }
        // SAFETY: there is room.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), param_value.cast(), bytes.len()) };
    }
    // SAFETY: as the caller promises.
    unsafe { put(param_value_size_ret, bytes.len()) };
    CL_SUCCESS
}

/// Gets the functions of the loader or of the next layer, and returns those of this one (`cl_layer.h`).
///
/// # Safety
/// `target_dispatch` has `num_entries` addresses, which stay valid; the other two are places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clInitLayer(
    num_entries: cl_uint,
    target_dispatch: *const cl_icd_dispatch,
    num_entries_ret: *mut cl_uint,
    layer_dispatch_ret: *mut *const cl_icd_dispatch,
) -> cl_int {
    if target_dispatch.is_null() || num_entries_ret.is_null() || layer_dispatch_ret.is_null() {
        return cl::CL_INVALID_VALUE;
    }
    if IS_TAKEN.swap(true, Ordering::Relaxed) {
        // It is the application's libOpenCL.so already.
        return cl::CL_INVALID_OPERATION;
    }
    let own = size_of::<cl_icd_dispatch>() / size_of::<usize>();
    // SAFETY: all members are addresses of functions or numbers, and may be 0.
    let mut functions: cl_icd_dispatch = unsafe { std::mem::zeroed() };
    // SAFETY: both tables have that number of addresses.
    unsafe {
        std::ptr::copy_nonoverlapping(
            target_dispatch.cast::<usize>(),
            (&raw mut functions).cast::<usize>(),
            own.min(num_entries as usize),
        );
    }
    let target = TARGET.get_or_init(|| functions);
    start(target);
    let table = TABLE.get_or_init(|| layered(target));
    // SAFETY: the caller passes places.
    unsafe {
        put(num_entries_ret, own as cl_uint);
        put(layer_dispatch_ret, std::ptr::from_ref(table));
    }
    CL_SUCCESS
}

/// As [`clInitLayer`], for newer loaders. There are no properties.
///
/// # Safety
/// As for [`clInitLayer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clInitLayerWithProperties(
    num_entries: cl_uint,
    target_dispatch: *const cl_icd_dispatch,
    num_entries_ret: *mut cl_uint,
    layer_dispatch_ret: *mut *const cl_icd_dispatch,
    _properties: *const cl_layer_properties,
) -> cl_int {
    // SAFETY: as the caller promises.
    unsafe { clInitLayer(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret) }
}

/// Ends the recording, if the end of the process has not.
#[unsafe(no_mangle)]
pub extern "C" fn clDeinitLayer() -> cl_int {
    process_end::at_last();
    CL_SUCCESS
}
