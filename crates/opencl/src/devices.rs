//! Platforms and their devices.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use opencl_sys::{
    CL_DEVICE_NOT_FOUND, CL_PLATFORM_NAME, CL_PLATFORM_NOT_FOUND_KHR, CL_PLATFORM_VERSION, cl_device_id,
    cl_platform_id,
};
use thiserror::Error;
use tripipe_device::Probe;
use tripipe_launch::locks::lock;

use crate::api::queries;
use crate::code::{CallError, Code};
use crate::info;
use crate::library::{self, LibraryError};
use crate::probe::{opencl_version, probe};

/// Why no device can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DevicesError {
    /// There is no library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The library exists but reports no platform.
    #[error(
        "the OpenCL library {} has no platform: install the GPU's driver or pocl-opencl-icd, or set {} to \
        another library",
        library.display(),
        library::VARIABLE
    )]
    NoPlatform {
        /// The library that was asked.
        library: PathBuf,
    },
    /// The library cannot list its platforms.
    #[error("the OpenCL library {} is broken: {source}; set {} to another one", library.display(), library::VARIABLE)]
    Broken {
        /// The library that was asked.
        library: PathBuf,
        /// The error that it returned.
        source: CallError,
    },
    /// There are platforms, but none has a usable device.
    #[error(
        "no OpenCL platform has a device ({}): install the GPU's driver or pocl-opencl-icd",
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    NoDevice {
        /// Each platform, and why it provides no device.
        problems: Vec<PlatformProblem>,
    },
}

/// A platform that provides no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformProblem {
    /// Its name, or its number if the name cannot be queried.
    pub platform: String,
    /// The call that failed; `None` if the platform has no device.
    pub failure: Option<CallError>,
}

impl fmt::Display for PlatformProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            None => write!(f, "{} has no devices", self.platform),
            Some(failure) => write!(f, "{} is broken: {failure}", self.platform),
        }
    }
}

/// All devices found, and the platforms without devices.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Devices, ordered by index.
    pub devices: Vec<Device>,
    /// Platforms without devices, including broken ones; the other platforms are listed nevertheless.
    pub problems: Vec<PlatformProblem>,
}

/// An OpenCL device. Cheap to clone; clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    id: cl_device_id,
    platform: cl_platform_id,
    platform_version: String,
    index: usize,
    version: (u8, u8),
    probe: Probe,
}

// SAFETY: root devices and platforms are handles that are valid for the life of the process and may be queried from any
// thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Device {
    /// The properties that the device reports.
    pub fn probe(&self) -> &Probe {
        &self.0.probe
    }

    /// Its index in [`devices`], counted over all platforms; the same on every call in a process, and from run to run
    /// as long as the installed drivers are the same.
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// `CL_PLATFORM_VERSION` of its platform.
    pub fn platform_version(&self) -> &str {
        &self.0.platform_version
    }

    /// The OpenCL version of the device; (0, 0) if it cannot be parsed.
    pub fn version(&self) -> (u8, u8) {
        self.0.version
    }

    pub(crate) fn id(&self) -> cl_device_id {
        self.0.id
    }

    pub(crate) fn platform(&self) -> cl_platform_id {
        self.0.platform
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("index", &self.0.index)
            .field("name", &self.0.probe.name)
            .field("platform", &self.0.probe.platform)
            .finish_non_exhaustive()
    }
}

/// All OpenCL devices of this machine, at least one. Platforms without devices are logged.
///
/// # Errors
/// No library, no platform, no device, or a broken library: each is a separate error that says how to fix it.
pub fn devices() -> Result<Vec<Device>, DevicesError> {
    let survey = survey()?;
    for problem in &survey.problems {
        tracing::warn!("OpenCL platform {problem}");
    }
    Ok(survey.devices)
}

/// Like [`devices`], but also returns the platforms without devices.
///
/// # Errors
/// As [`devices`].
pub fn survey() -> Result<Survey, DevicesError> {
    // One thread at a time: in PoCL 3.1, a second thread that queries while the first one still initialises the driver
    // finds no devices.
    static ASKING: Mutex<()> = Mutex::new(());
    let _mine = lock(&ASKING);
    let library = library::load()?;
    let platforms = match queries::platforms() {
        Ok(platforms) => platforms,
        Err(CL_PLATFORM_NOT_FOUND_KHR) => Vec::new(),
        Err(code) => {
            let source = CallError { call: "clGetPlatformIDs", code: Code(code) };
            return Err(DevicesError::Broken { library: library.to_owned(), source });
        }
    };
    if platforms.is_empty() {
        return Err(DevicesError::NoPlatform { library: library.to_owned() });
    }

    let mut survey = Survey { devices: Vec::new(), problems: Vec::new() };
    for (number, platform) in platforms.into_iter().enumerate() {
        let answer = |question| {
            queries::platform_info(platform, question)
                .map(|bytes| info::text(&bytes))
                .map_err(CallError::at("clGetPlatformInfo"))
        };
        let name = answer(CL_PLATFORM_NAME);
        let shown = name.clone().unwrap_or_else(|_| format!("number {number}"));
        let listed = name.and_then(|_| queries::devices(platform).map_err(CallError::at("clGetDeviceIDs")));
        match listed {
            Ok(ids) if !ids.is_empty() => {
                let platform_version = answer(CL_PLATFORM_VERSION).unwrap_or_default();
                for id in ids {
                    let probe = probe(&shown, id);
                    survey.devices.push(Device(Arc::new(Inner {
                        id,
                        platform,
                        platform_version: platform_version.clone(),
                        index: survey.devices.len(),
                        version: opencl_version(&probe.version),
                        probe,
                    })));
                }
            }
            Ok(_) | Err(CallError { code: Code(CL_DEVICE_NOT_FOUND), .. }) => {
                survey.problems.push(PlatformProblem { platform: shown, failure: None });
            }
            Err(failure) => {
                survey.problems.push(PlatformProblem { platform: shown, failure: Some(failure) });
            }
        }
    }
    if survey.devices.is_empty() {
        return Err(DevicesError::NoDevice { problems: survey.problems });
    }
    Ok(survey)
}
