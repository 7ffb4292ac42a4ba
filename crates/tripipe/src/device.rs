//! Devices, and how one is chosen.

use std::fmt;
use std::str::FromStr;

use crate::driver::DevicesError;
use tripipe_device::{DeviceKind, Identification, Probe, identify};

use crate::Error;
use crate::error::Fault;

/// A device. Cheap to clone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Device {
    /// The built-in CPU path: feature `cpu`.
    #[cfg(feature = "cpu")]
    Cpu,
    /// An OpenCL device.
    OpenCl(crate::driver::Device),
    /// A GPU that is not there: feature `virtual`.
    #[cfg(feature = "virtual")]
    Virtual(crate::VirtualDevice),
}

/// All devices of this machine; implements `IntoIterator`.
#[derive(Clone, Debug)]
pub struct Devices {
    /// The CPU path first, if the program has it, then the OpenCL devices by number.
    pub devices: Vec<Device>,
    /// The reason when there is no OpenCL device.
    pub no_opencl: Option<DevicesError>,
}

impl IntoIterator for Devices {
    type Item = Device;
    type IntoIter = std::vec::IntoIter<Device>;

    fn into_iter(self) -> Self::IntoIter {
        self.devices.into_iter()
    }
}

impl Device {
    /// The devices of this machine. With the feature `cpu`, the CPU path is always among them.
    pub fn list() -> Devices {
        let (opencl, no_opencl) = match crate::driver::devices() {
            Ok(devices) => (devices, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let cpu = [
            #[cfg(feature = "cpu")]
            Self::Cpu,
        ];
        let devices = cpu.into_iter().chain(opencl.into_iter().map(Self::OpenCl)).collect();
        Devices { devices, no_opencl }
    }

    /// The device with a name as on the command line: `auto`, `cpu`, `opencl`, `opencl:1`, `virtual:mali-g77`,
    /// or `virtual:` and a board, whose GPU it then is: `virtual:arndale`.
    ///
    /// # Errors
    /// Not such a name; the device does not exist; the program was built without such devices.
    ///
    /// ```
    /// # #[cfg(feature = "virtual")] {
    /// let device = tripipe::Device::named("virtual:adreno-650")?;
    /// assert!(device.probe().is_some_and(|probe| probe.fp16()));
    /// # }
    /// # Ok::<(), tripipe::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Self, Error> {
        name.parse::<Choice>()?.resolve()
    }

    /// The strongest OpenCL device ([`Choice::OpenCl`]) if it is a GPU, otherwise the CPU path. (An OpenCL device that
    /// is the CPU itself, such as PoCL's, is slower than the CPU path.) Without the feature `cpu`: the strongest OpenCL
    /// device.
    ///
    /// # Errors
    /// There is no device. With the feature `cpu` there always is one.
    pub fn best() -> Result<Self, Error> {
        match Choice::OpenCl(None).resolve() {
            Ok(strongest) if strongest.probe().is_some_and(|probe| probe.kind == DeviceKind::Gpu) => {
                Ok(strongest)
            }
            #[cfg(feature = "cpu")]
            _ => Ok(Self::Cpu),
            #[cfg(not(feature = "cpu"))]
            other => other,
        }
    }

    /// Its name for display.
    pub fn name(&self) -> String {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => tripipe_cpu::name(),
            Self::OpenCl(device) => device.probe().name.clone(),
            #[cfg(feature = "virtual")]
            Self::Virtual(device) => device.probe().name.clone(),
        }
    }

    /// Its name on the command line: `cpu`, `opencl:1`.
    pub fn choice(&self) -> Choice {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => Choice::Cpu,
            Self::OpenCl(device) => Choice::OpenCl(Some(device.index())),
            #[cfg(feature = "virtual")]
            Self::Virtual(device) => Choice::Virtual(device.gpu().name()),
        }
    }

    /// The OpenCL device; `None` for any other.
    pub fn opencl(&self) -> Option<&crate::driver::Device> {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => None,
            Self::OpenCl(device) => Some(device),
            #[cfg(feature = "virtual")]
            Self::Virtual(_) => None,
        }
    }

    /// The properties that an OpenCL device or a virtual GPU reports; `None` for the CPU path.
    pub fn probe(&self) -> Option<&Probe> {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => None,
            Self::OpenCl(device) => Some(device.probe()),
            #[cfg(feature = "virtual")]
            Self::Virtual(device) => Some(device.probe()),
        }
    }

    /// The GPU model that it matches; `None` for the CPU path.
    pub fn identification(&self) -> Option<Identification> {
        self.probe().map(identify)
    }
}

/// A choice of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// [`Device::best`].
    #[default]
    Auto,
    /// The built-in CPU path.
    Cpu,
    /// The OpenCL device with that number. `None`: the strongest one, that is a GPU before other accelerators before
    /// the CPU itself; of several, the one with the largest product of compute units and clock (its model's, if the
    /// driver reports an impossible one); of equal ones the first.
    OpenCl(Option<usize>),
    /// The virtual GPU of the model with this name.
    Virtual(&'static str),
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let unknown = || Error::from(Fault::UnknownDevice { name: name.to_owned() });
        match name.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "opencl" => Ok(Self::OpenCl(None)),
            lower => {
                if let Some(gpu) = lower.strip_prefix("virtual:") {
                    if let Some(board) = tripipe_device::find_board(gpu) {
                        return Ok(Self::Virtual(board.gpu.value.name()));
                    }
                    return Ok(Self::Virtual(tripipe_device::find(gpu).map_err(Fault::from)?.name()));
                }
                let index = lower.strip_prefix("opencl:").and_then(|index| index.parse().ok());
                index.map(|index| Self::OpenCl(Some(index))).ok_or_else(unknown)
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::OpenCl(None) => f.write_str("opencl"),
            Self::OpenCl(Some(index)) => write!(f, "opencl:{index}"),
            Self::Virtual(gpu) => match tripipe_device::find(gpu) {
                Ok(gpu) => write!(f, "virtual:{}", gpu.id()),
                Err(_) => write!(f, "virtual:{gpu}"),
            },
        }
    }
}

impl Choice {
    /// The chosen device.
    ///
    /// # Errors
    /// The device does not exist, or the program was built without the CPU path.
    pub fn resolve(self) -> Result<Device, Error> {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => Ok(Device::Cpu),
            #[cfg(not(feature = "cpu"))]
            Self::Cpu => Err(Error::from(Fault::NoCpuPath)),
            Self::Auto => Device::best(),
            Self::OpenCl(index) => {
                let found = crate::driver::devices()?;
                let index = index.or_else(|| strongest(found.iter().map(crate::driver::Device::probe)));
                let (index, count) = (index.unwrap_or(0), found.len());
                let device =
                    found.into_iter().nth(index).ok_or(Error::from(Fault::NoSuchDevice { index, count }))?;
                Ok(Device::OpenCl(device))
            }
            #[cfg(feature = "virtual")]
            Self::Virtual(gpu) => {
                let gpu = tripipe_device::find(gpu).map_err(Fault::from)?;
                Ok(Device::Virtual(crate::VirtualDevice::new(gpu)))
            }
            #[cfg(not(feature = "virtual"))]
            Self::Virtual(_) => Err(Error::from(Fault::NoVirtualGpus)),
        }
    }
}

/// The index of the strongest of these devices, as [`Choice::OpenCl`] defines it.
fn strongest<'p>(probes: impl DoubleEndedIterator<Item = &'p Probe> + ExactSizeIterator) -> Option<usize> {
    let strength = |probe: &Probe| {
        let kind = match probe.kind {
            DeviceKind::Gpu => 3,
            DeviceKind::Accelerator => 2,
            DeviceKind::Other => 1,
            DeviceKind::Cpu => 0,
        };
        let clock_mhz = identify(probe).clock_mhz.unwrap_or(1);
        (kind, u64::from(probe.compute_units) * u64::from(clock_mhz))
    };
    // Among equals `max_by_key` takes the last.
    probes.enumerate().rev().max_by_key(|(_, probe)| strength(probe)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_read_back_as_they_print() {
        for choice in [Choice::Auto, Choice::Cpu, Choice::OpenCl(None), Choice::OpenCl(Some(3))] {
            assert_eq!(choice.to_string().parse::<Choice>().unwrap(), choice);
        }
        for gpu in tripipe_device::catalog() {
            let choice = Choice::Virtual(gpu.name());
            assert_eq!(choice.to_string().parse::<Choice>().unwrap(), choice);
        }
        let error = "virtual:mali-g77x".parse::<Choice>().unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::NoSuchDevice);
        assert!(error.to_string().to_lowercase().contains("mali-g77"), "{error}");
        assert_eq!("CPU".parse::<Choice>().unwrap(), Choice::Cpu);
        for wrong in ["", "gpu", "opencl:", "opencl:-1", "opencl:x", "opencl:1:2"] {
            let error = wrong.parse::<Choice>().unwrap_err().to_string();
            assert!(error.contains("opencl:N"), "{error}");
        }
    }

    #[test]
    fn a_gpu_is_stronger_than_a_cpu_and_more_units_are_stronger() {
        let probe =
            |kind, compute_units, clock_mhz| Probe { kind, compute_units, clock_mhz, ..Probe::default() };
        let cpu = probe(DeviceKind::Cpu, 64, 3000);
        let (small, large) = (probe(DeviceKind::Gpu, 2, 800), probe(DeviceKind::Gpu, 132, 1980));
        let of = |probes: &[&Probe]| strongest(probes.iter().copied());
        assert_eq!(of(&[&cpu, &small]), Some(1));
        assert_eq!(of(&[&cpu, &small, &large]), Some(2));
        assert_eq!(of(&[&large, &small, &large]), Some(0));
        assert_eq!(of(&[&cpu, &probe(DeviceKind::Accelerator, 1, 1)]), Some(1));
        assert_eq!(of(&[&cpu]), Some(0));
        assert_eq!(of(&[]), None);
    }

    #[cfg(feature = "cpu")]
    #[test]
    fn the_cpu_path_is_always_there() {
        assert!(matches!(Device::list().devices[0], Device::Cpu));
        assert!(matches!(Choice::Cpu.resolve(), Ok(Device::Cpu)));
        assert!(Choice::Auto.resolve().is_ok());
    }
}
