//! The platform: one in each process, with the devices that the environment names.

use std::ffi::c_void;
use std::sync::{Arc, LazyLock};

use opencl_sys as cl;
use opencl_sys::{cl_device_type, cl_platform_info};

use super::device::Device;
use super::failure::{Failure, Outcome};
use super::handle::{Handle, api_object, register};
use super::info::{self, Answer};
use super::settings::Settings;

/// The version of the API that the driver offers.
pub const VERSION: u32 = cl::make_version(3, 0, 0);

/// The platform.
pub struct Platform {
    handle: Handle,
    devices: Vec<Arc<Device>>,
}

api_object!(Platform, cl::CL_INVALID_PLATFORM, "platform");

impl Platform {
    /// The platform of this process.
    pub fn get() -> &'static Arc<Self> {
        static PLATFORM: LazyLock<Arc<Platform>> = LazyLock::new(|| {
            let gpus = Settings::current().gpus.iter().enumerate();
            let devices = gpus.map(|(index, gpu)| register(Device::new(index, gpu), 1)).collect();
            register(Platform { handle: Handle::default(), devices }, 1)
        });
        &PLATFORM
    }

    /// The platform of a handle; NULL is the only platform.
    ///
    /// # Errors
    /// It is another handle.
    pub fn of(handle: *mut c_void) -> Outcome<&'static Arc<Self>> {
        let platform = Self::get();
        if handle.is_null() || handle == platform.handle.pointer() {
            Ok(platform)
        } else {
            Err(Failure::new(cl::CL_INVALID_PLATFORM, "the handle is not the platform"))
        }
    }

    /// All devices.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// The devices of a type.
    ///
    /// # Errors
    /// No such type, or no such device.
    pub fn devices_of(&self, kind: cl_device_type) -> Outcome<Vec<Arc<Device>>> {
        let types = cl::CL_DEVICE_TYPE_DEFAULT
            | cl::CL_DEVICE_TYPE_CPU
            | cl::CL_DEVICE_TYPE_GPU
            | cl::CL_DEVICE_TYPE_ACCELERATOR
            | cl::CL_DEVICE_TYPE_CUSTOM;
        if kind == 0 || (kind != cl::CL_DEVICE_TYPE_ALL && kind & !types != 0) {
            return Err(Failure::new(cl::CL_INVALID_DEVICE_TYPE, format!("{kind:#x} is not a device type")));
        }
        let devices = if kind & cl::CL_DEVICE_TYPE_GPU != 0 {
            &self.devices[..]
        } else if kind & cl::CL_DEVICE_TYPE_DEFAULT != 0 {
            &self.devices[..self.devices.len().min(1)]
        } else {
            &[]
        };
        if devices.is_empty() {
            return Err(Failure::new(
                cl::CL_DEVICE_NOT_FOUND,
                "all devices are GPUs, named in TRIPIPE_DEVICES",
            ));
        }
        Ok(devices.to_vec())
    }

    /// Answers `clGetPlatformInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_platform_info) -> Outcome<Answer> {
        // Those of all devices, and the loader's.
        let common = Device::common_offer(&self.devices).map(|common| common.extensions).unwrap_or_default();
        let loader = ["cl_khr_icd".to_owned()];
        let own = loader.iter().filter(|name| !common.contains(name));
        let extensions: Vec<&str> = common.iter().chain(own).map(String::as_str).collect();
        Ok(match query {
            cl::CL_PLATFORM_PROFILE => info::text("FULL_PROFILE"),
            cl::CL_PLATFORM_VERSION => {
                info::text(concat!("OpenCL 3.0 Tripipe ", env!("CARGO_PKG_VERSION"), " (predicted)"))
            }
            cl::CL_PLATFORM_NUMERIC_VERSION => info::number(VERSION),
            cl::CL_PLATFORM_NAME => info::text("Tripipe (predicted)"),
            cl::CL_PLATFORM_VENDOR => info::text("Tripipe"),
            cl::CL_PLATFORM_EXTENSIONS => info::text(&extensions.join(" ")),
            cl::CL_PLATFORM_EXTENSIONS_WITH_VERSION => info::names_with_versions(
                extensions.into_iter().map(|name| (name, cl::make_version(1, 0, 0))),
            ),
            cl::CL_PLATFORM_ICD_SUFFIX_KHR => info::text("TRIPIPE"),
            // There is no timer that the host and a device share.
            cl::CL_PLATFORM_HOST_TIMER_RESOLUTION => info::number(0u64),
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of platforms"),
                ));
            }
        })
    }
}
