//! The energy that a device has used, by a counter of its driver: NVML's, loaded at run time.

use std::ffi::{CString, OsString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::fmt;

use libloading::Library;
use thiserror::Error;

use crate::devices::Device;
use crate::info::Ask;

/// The environment variable that names another library of NVML, or `none`.
pub const VARIABLE: &str = "TRIPIPE_NVML";

/// `CL_DEVICE_PCI_BUS_INFO_KHR` (`cl_khr_pci_bus_info`): domain, bus, device, function.
const PCI_BUS_INFO: u32 = 0x410F;
/// `CL_DEVICE_PCI_DOMAIN_ID_NV`, `CL_DEVICE_PCI_BUS_ID_NV`, `CL_DEVICE_PCI_SLOT_ID_NV` (`cl_nv_device_attribute_query`).
const PCI_NVIDIA: [u32; 3] = [0x400A, 0x4008, 0x4009];

/// Why a device has no counter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoCounter {
    /// It is not NVIDIA's.
    #[error("only NVIDIA's driver counts energy")]
    OtherVendor,
    /// Its driver does not say where it is, so NVML cannot be asked for it.
    #[error("the driver does not name the device's place on the PCI bus")]
    NoAddress,
    /// There is no library of NVML.
    #[error("NVML cannot be loaded ({reason}); {VARIABLE} names another library")]
    NoLibrary {
        /// What the loader says.
        reason: String,
    },
    /// NVML does not count the energy of this device.
    #[error("NVML has no energy of this device ({call}: error {code})")]
    Refused {
        /// The function that failed.
        call: &'static str,
        /// Its answer.
        code: i32,
    },
}

type NvmlCall = unsafe extern "C" fn() -> c_int;
type NvmlFind = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type NvmlTotal = unsafe extern "C" fn(*mut c_void, *mut c_ulonglong) -> c_int;

/// Counts the energy of a whole board, with its memory and what it uses without work. The counter steps some ten times a
/// second.
pub struct EnergyCounter {
    total: NvmlTotal,
    shut_down: NvmlCall,
    device: *mut c_void,
    /// Where the functions are.
    _library: Library,
}

// SAFETY: NVML may be called from any thread, says its documentation; the handle is only passed to it.
unsafe impl Send for EnergyCounter {}
// SAFETY: as above.
unsafe impl Sync for EnergyCounter {}

impl fmt::Debug for EnergyCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnergyCounter").finish_non_exhaustive()
    }
}

impl EnergyCounter {
    /// The counter of a device.
    ///
    /// # Errors
    /// It has none.
    pub fn of(device: &Device) -> Result<Self, NoCounter> {
        if !device.probe().vendor.contains("NVIDIA") {
            return Err(NoCounter::OtherVendor);
        }
        let address = address(Ask(device.id())).ok_or(NoCounter::NoAddress)?;
        let name = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let library = name.unwrap_or_else(|| OsString::from("libnvidia-ml.so.1"));
        let missing = |error: libloading::Error| NoCounter::NoLibrary { reason: error.to_string() };
        if library.eq_ignore_ascii_case("none") {
            return Err(NoCounter::NoLibrary { reason: format!("{VARIABLE}=none") });
        }
        // SAFETY: loading runs the library's initialisers. It is NVML by name, or what the user named.
        let library = unsafe { Library::new(library) }.map_err(missing)?;
        // SAFETY: these are the functions' types in nvml.h.
        let (start, find, total, shut_down) = unsafe {
            (
                *library.get::<NvmlCall>(b"nvmlInit_v2\0").map_err(missing)?,
                *library.get::<NvmlFind>(b"nvmlDeviceGetHandleByPciBusId_v2\0").map_err(missing)?,
                *library.get::<NvmlTotal>(b"nvmlDeviceGetTotalEnergyConsumption\0").map_err(missing)?,
                *library.get::<NvmlCall>(b"nvmlShutdown\0").map_err(missing)?,
            )
        };
        // SAFETY: NVML may be initialised at any time.
        done("nvmlInit_v2", unsafe { start() })?;
        let mut counter = Self { total, shut_down, device: std::ptr::null_mut(), _library: library };
        // SAFETY: NVML is initialised, `address` ends with NUL, and the handle is written to a live pointer.
        let code = unsafe { find(address.as_ptr(), &raw mut counter.device) };
        done("nvmlDeviceGetHandleByPciBusId", code)?;
        counter.joules()?;
        Ok(counter)
    }

    /// Joules since the driver was loaded.
    ///
    /// # Errors
    /// NVML does not answer.
    pub fn joules(&self) -> Result<f64, NoCounter> {
        let mut millijoules: c_ulonglong = 0;
        // SAFETY: NVML is initialised, the handle is its own, and the number is written to a live pointer.
        done("nvmlDeviceGetTotalEnergyConsumption", unsafe {
            (self.total)(self.device, &raw mut millijoules)
        })?;
        Ok(millijoules as f64 * 1e-3)
    }
}

impl Drop for EnergyCounter {
    fn drop(&mut self) {
        // SAFETY: it was initialised once for this counter, and the library is loaded still.
        unsafe { (self.shut_down)() };
    }
}

fn done(call: &'static str, code: c_int) -> Result<(), NoCounter> {
    if code == 0 { Ok(()) } else { Err(NoCounter::Refused { call, code }) }
}

/// The device's place on the PCI bus, as NVML wants it.
fn address(ask: Ask) -> Option<CString> {
    let khronos = ask.bytes(PCI_BUS_INFO).filter(|bytes| bytes.len() == 16);
    let [domain, bus, device] = if let Some(bytes) = khronos {
        [0, 4, 8].map(|at| {
            let word = bytes[at..at + 4].try_into().unwrap_or_default();
            c_uint::from_ne_bytes(word)
        })
    } else {
        let [domain, bus, slot] = PCI_NVIDIA.map(|question| ask.number(question));
        // The slot has the function in its lower three bits.
        [domain.unwrap_or(0) as c_uint, bus? as c_uint, slot? as c_uint >> 3]
    };
    CString::new(format!("{domain:08x}:{bus:02x}:{device:02x}.0")).ok()
}
