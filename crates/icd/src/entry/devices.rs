//! Platforms and devices.

use opencl_sys as cl;
use opencl_sys::{
    cl_device_id, cl_device_info, cl_device_partition_property, cl_device_type, cl_platform_id,
    cl_platform_info, cl_uint, cl_ulong,
};

use super::boundary::put;
use crate::driver::device::Device;
use crate::driver::failure::{Failure, require};
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::platform::Platform;

function! {
    fn clGetDeviceIDs(
        platform: cl_platform_id,
        kind: cl_device_type,
        num_entries: cl_uint,
        devices: *mut cl_device_id,
        num_devices: *mut cl_uint,
    ) {
        let platform = Platform::of(platform)?;
        require(
            (num_entries > 0 || devices.is_null()) && !(devices.is_null() && num_devices.is_null()),
            cl::CL_INVALID_VALUE,
            "there is no place for the devices",
        )?;
        let found = platform.devices_of(kind)?;
        if !devices.is_null() {
            for (index, device) in found.iter().take(num_entries as usize).enumerate() {
                put(devices.add(index), device.handle().pointer());
            }
        }
        put(num_devices, found.len() as cl_uint);
        Ok(())
    }

    fn clCreateSubDevices(
        device: cl_device_id,
        _properties: *const cl_device_partition_property,
        _num_devices: cl_uint,
        _devices: *mut cl_device_id,
        _num_devices_ret: *mut cl_uint,
    ) {
        find::<Device>(device)?;
        Err(Failure::new(cl::CL_INVALID_VALUE, "devices cannot be partitioned"))
    }

    fn clRetainDevice(device: cl_device_id) {
        // Only sub-devices are counted.
        find::<Device>(device).map(drop)
    }

    fn clReleaseDevice(device: cl_device_id) {
        find::<Device>(device).map(drop)
    }

    fn clGetDeviceAndHostTimer(device: cl_device_id, _device_time: *mut cl_ulong, _host_time: *mut cl_ulong) {
        find::<Device>(device)?;
        Err(Failure::new(cl::CL_INVALID_OPERATION, "there is no timer that the host and the device share"))
    }

    fn clGetHostTimer(device: cl_device_id, _host_time: *mut cl_ulong) {
        find::<Device>(device)?;
        Err(Failure::new(cl::CL_INVALID_OPERATION, "there is no timer that the host and the device share"))
    }
}

query! {
    fn clGetPlatformInfo(platform: cl_platform_id, query: cl_platform_info) {
        Platform::of(platform)?.info(query)
    }

    fn clGetDeviceInfo(device: cl_device_id, query: cl_device_info) {
        find::<Device>(device)?.info(query)
    }
}
