//! Contexts.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_context, cl_context_info, cl_context_properties, cl_device_id, cl_device_type, cl_uint};

use super::boundary::{list, pairs};
use crate::driver::context::{Context, Report};
use crate::driver::device::Device;
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::platform::Platform;

/// The callback of errors.
type Notify = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;

// `cl_qcom_perf_hint` and `cl_qcom_priority_hint`: high, then normal, then low. The hints do not change predicted times.
const PERF_HINT: isize = cl::CL_CONTEXT_PERF_HINT_QCOM as isize;
const PERF_HINT_HIGH: isize = cl::CL_PERF_HINT_HIGH_QCOM as isize;
const PRIORITY_HINT: isize = 0x40C9;
const PRIORITY_HINT_HIGH: isize = 0x40CA;

/// Fails if a device lacks the extension of a property.
fn check_hints(properties: &[isize], devices: &[Arc<Device>]) -> Outcome<()> {
    for pair in properties.chunks_exact(2) {
        let extension = match pair[0] {
            PERF_HINT => "cl_qcom_perf_hint",
            PRIORITY_HINT => "cl_qcom_priority_hint",
            _ => continue,
        };
        if let Some(device) = devices.iter().find(|device| !device.opencl.has(extension)) {
            let what = format!("{} does not offer {extension}", device.gpu.name());
            return Err(Failure::new(cl::CL_INVALID_PROPERTY, what));
        }
    }
    Ok(())
}

/// The properties with the 0 at their end; empty for NULL.
unsafe fn properties(pointer: *const cl_context_properties) -> Outcome<Vec<isize>> {
    // SAFETY: the caller passes a list of properties.
    let all = unsafe { pairs(pointer) };
    let mut keys: Vec<isize> = Vec::new();
    for pair in all.chunks_exact(2) {
        let [key, value] = pair else { continue };
        require(!keys.contains(key), cl::CL_INVALID_PROPERTY, "a property is given twice")?;
        keys.push(*key);
        match *key {
            cl::CL_CONTEXT_PLATFORM => drop(Platform::of(*value as *mut c_void).map(drop)?),
            cl::CL_CONTEXT_INTEROP_USER_SYNC => {
                let is_bool = [cl::CL_FALSE, cl::CL_TRUE].iter().any(|bool| *bool as isize == *value);
                let what = "CL_CONTEXT_INTEROP_USER_SYNC is CL_TRUE or CL_FALSE";
                require(is_bool, cl::CL_INVALID_PROPERTY, what)?;
            }
            PERF_HINT | PRIORITY_HINT => {
                let first = if *key == PERF_HINT { PERF_HINT_HIGH } else { PRIORITY_HINT_HIGH };
                let known = (first..first + 3).contains(value);
                require(known, cl::CL_INVALID_PROPERTY, "a hint is high, normal or low")?;
            }
            other => {
                let what = format!("{other:#x} is not a property of contexts that is offered");
                return Err(Failure::new(cl::CL_INVALID_PROPERTY, what));
            }
        }
    }
    Ok(all)
}

fn report(notify: Notify, user_data: *mut c_void) -> Outcome<Option<Report>> {
    let user_data = user_data as usize;
    let Some(notify) = notify else {
        require(user_data == 0, cl::CL_INVALID_VALUE, "there is user data without a callback")?;
        return Ok(None);
    };
    Ok(Some(Box::new(move |message: &str| {
        let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the application passed a function for this, which may be called from any thread.
        unsafe { notify(text.as_ptr(), std::ptr::null(), 0, user_data as *mut c_void) };
    })))
}

constructor! {
    fn clCreateContext(
        property_list: *const cl_context_properties,
        num_devices: cl_uint,
        devices: *const cl_device_id,
        notify: Notify,
        user_data: *mut c_void,
    ) {
        let properties = properties(property_list)?;
        let report = report(notify, user_data)?;
        require(num_devices > 0 && !devices.is_null(), cl::CL_INVALID_VALUE, "a context has at least one device")?;
        let devices = list(devices, num_devices as usize, cl::CL_INVALID_VALUE)?;
        let devices: Vec<Arc<Device>> = devices.into_iter().map(find::<Device>).collect::<Outcome<_>>()?;
        check_hints(&properties, &devices)?;
        Ok(Context::new(devices, properties, report).handle().pointer())
    }

    fn clCreateContextFromType(
        property_list: *const cl_context_properties,
        kind: cl_device_type,
        notify: Notify,
        user_data: *mut c_void,
    ) {
        let properties = properties(property_list)?;
        let report = report(notify, user_data)?;
        let devices = Platform::get().devices_of(kind)?;
        check_hints(&properties, &devices)?;
        Ok(Context::new(devices, properties, report).handle().pointer())
    }
}

references! { Context: clRetainContext, clReleaseContext; }

function! {
    fn clSetContextDestructorCallback(
        context: cl_context,
        callback: Option<unsafe extern "C" fn(cl_context, *mut c_void)>,
        user_data: *mut c_void,
    ) {
        let found = find::<Context>(context)?;
        let callback = callback.ok_or_else(|| Failure::new(cl::CL_INVALID_VALUE, "the callback is NULL"))?;
        let (handle, user_data) = (context as usize, user_data as usize);
        // SAFETY: the application passed a function for this, which may be called from any thread.
        found.at_end(Box::new(move || unsafe { callback(handle as *mut c_void, user_data as *mut c_void) }));
        Ok(())
    }
}

query! {
    fn clGetContextInfo(context: cl_context, query: cl_context_info) {
        find::<Context>(context)?.info(query)
    }
}
