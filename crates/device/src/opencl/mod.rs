//! What the drivers of a GPU offer to programs (`data/opencl.toml`).
//!
//! One description for everything that compiles for a GPU, runs on it or reports it: the front end's macros and
//! functions, the simulator, the timing model, the driver, and the probes of virtual GPUs.

mod data;
mod offer;

use std::fmt;

use thiserror::Error;

pub(crate) use data::drivers_of;
pub use data::{
    ApiLimits, VendorNames, common_extensions, extension_version, limits, usual_sub_group_sizes, vendor_names,
};
pub use offer::{Drivers, OpenCl, Svm};

use crate::drivers::DriverVersion;
use crate::gpu::Gpu;
use crate::nearest::nearest;

/// A name that cannot be assumed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{name}` cannot be assumed: it is neither an extension or a feature that virtual GPUs provide, nor CL2.0 or CL3.0{}",
    .nearest.as_ref().map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default())]
pub struct UnknownAssumption {
    /// The name.
    pub name: String,
    /// A name that is similar.
    pub nearest: Option<String>,
}

/// A text that is not a version of a vendor's driver.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not a version of a driver of {device}; want one such as {example}")]
pub struct UnknownDriver {
    /// The text.
    pub text: String,
    /// The GPU.
    pub device: String,
    /// A version.
    pub example: String,
}

impl Gpu {
    /// What its current driver offers to programs.
    pub fn opencl(&self) -> &OpenCl {
        &self.drivers.current
    }

    /// What a version of its driver offers: `r32p1`, `E031.41`, or a driver's whole version string. A version before
    /// the first known one offers what that one does.
    ///
    /// # Errors
    /// The text contains no version of this vendor's.
    pub fn opencl_of(&self, driver: &str) -> Result<&OpenCl, UnknownDriver> {
        let Drivers { earlier, current, .. } = &self.drivers;
        let of = DriverVersion::read;
        let scheme = of(&current.driver).map(|version| version.scheme);
        let wanted = of(driver).filter(|wanted| Some(wanted.scheme) == scheme);
        let wanted = wanted.ok_or_else(|| UnknownDriver {
            text: driver.to_owned(),
            device: self.name().to_owned(),
            example: current.driver.clone(),
        })?;
        let all = || earlier.iter().chain([current]);
        let newest = all().rev().find(|known| of(&known.driver).is_some_and(|own| own <= wanted));
        Ok(newest.or_else(|| all().next()).unwrap_or(current))
    }
}

impl OpenCl {
    /// Whether it offers an extension or a feature.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }

    /// Its extensions and features.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.extensions.iter().chain(&self.features).map(String::as_str)
    }

    /// Whether `other` offers the same to compilers.
    pub fn compiles_as(&self, other: &Self) -> bool {
        let sorted = |opencl: &Self| {
            let mut names: Vec<String> = opencl.names().map(str::to_owned).collect();
            names.sort_unstable();
            names
        };
        (self.version, &self.c_versions, self.vector_broadcast)
            == (other.version, &other.c_versions, other.vector_broadcast)
            && sorted(self) == sorted(other)
    }

    /// The newest version of OpenCL C.
    pub fn newest_c(&self) -> (u8, u8) {
        self.c_versions.last().copied().unwrap_or_default()
    }

    /// `CL_DEVICE_VERSION` without `OpenCL`: `3.0 v1.r38p0.tripipe`, `2.0 Adreno(TM) 650`. `number` is the version of
    /// OpenCL, or of OpenCL C.
    pub fn version_text(&self, number: (u8, u8)) -> String {
        let (major, minor) = number;
        match self.device.strip_prefix("Adreno ") {
            // As phones report it: the name of an Adreno is in its version.
            Some(product) => format!("{major}.{minor} Adreno(TM) {product}"),
            None => format!("{major}.{minor} v1.{}p0.tripipe", self.driver),
        }
    }

    /// The part of `CL_DRIVER_VERSION` that names Qualcomm's compiler, for which programs look: `Compiler E031.45.00.00`,
    /// with zeros for what is not known; `None` for other vendors.
    pub fn compiler_text(&self) -> Option<String> {
        let known = self.device.starts_with("Adreno ").then(|| self.driver.split('.'))?;
        let numbers: Vec<&str> = known.chain(std::iter::repeat("00")).take(4).collect();
        Some(format!("Compiler {}", numbers.join(".")))
    }

    /// What all of several devices offer; `None` without devices.
    pub fn common<'o>(mut devices: impl Iterator<Item = &'o Self>) -> Option<Self> {
        let mut common = devices.next()?.clone();
        for other in devices {
            common.device = format!("{}, {}", common.device, other.device);
            common.version = common.version.min(other.version);
            common.c_versions.retain(|version| other.c_versions.contains(version));
            common.extensions.retain(|name| other.extensions.contains(name));
            common.features.retain(|name| other.features.contains(name));
            common.vector_broadcast &= other.vector_broadcast;
        }
        Some(common)
    }

    /// The same, as if it offered these extensions, features and versions of OpenCL C (`CL3.0`), too.
    ///
    /// # Errors
    /// Virtual GPUs do not provide a name.
    pub fn assuming<S: AsRef<str>>(mut self, names: &[S]) -> Result<Self, UnknownAssumption> {
        if names.is_empty() {
            return Ok(self);
        }
        for name in names.iter().map(AsRef::as_ref) {
            let provided = data::provided();
            let version = match name {
                "CL2.0" => Some((2, 0)),
                "CL3.0" => Some((3, 0)),
                _ => None,
            };
            if let Some(version) = version {
                self.c_versions.push(version);
                self.c_versions.sort_unstable();
                self.c_versions.dedup();
                let optional = provided.features.iter().filter(|name| *name != "__opencl_c_fp64");
                self.features.extend(optional.cloned());
            } else if provided.extensions.iter().any(|known| known == name) {
                self.extensions.push(name.to_owned());
                self.complete();
            } else if provided.features.iter().any(|known| known == name) {
                self.features.push(name.to_owned());
            } else {
                let known = provided.extensions.iter().chain(&provided.features).map(String::as_str);
                let nearest = nearest(name, known).map(str::to_owned);
                return Err(UnknownAssumption { name: name.to_owned(), nearest });
            }
        }
        self.features.sort_unstable();
        self.features.dedup();
        self.extensions.sort_unstable();
        self.extensions.dedup();
        Ok(self)
    }

    /// Adds what an extension has besides its name.
    fn complete(&mut self) {
        let has = |opencl: &Self, name: &str| opencl.extensions.iter().any(|own| own == name);
        if has(self, "cl_khr_fp64") && !self.features.iter().any(|name| name == "__opencl_c_fp64") {
            self.features.push("__opencl_c_fp64".to_owned());
        }
        if has(self, "cl_qcom_reqd_sub_group_size") && self.sub_group_sizes.is_none() {
            self.sub_group_sizes = usual_sub_group_sizes();
        }
    }

    /// Why a text that uses a function, type or attribute does not compile, if the device does not offer what it needs:
    /// a name that [`Self::assuming`] takes, empty if none helps, and a sentence.
    pub fn missing(&self, identifier: &str) -> Option<(String, String)> {
        let what = data::needs(identifier)?;
        let Some(version) = what.strip_prefix("CL") else {
            return (!self.has(what)).then(|| {
                let sentence = format!("`{identifier}` needs {what}, which {} does not offer", self.device);
                let can_be_assumed = data::provided().extensions.iter().any(|name| name == what);
                (if can_be_assumed { what.to_owned() } else { String::new() }, sentence)
            });
        };
        let (own, device) = (Version(self.newest_c()), &self.device);
        Some(if data::version(version).is_some_and(|wanted| wanted <= own.0) {
            let sentence = format!("`{identifier}` needs OpenCL C {version}: build with -cl-std=CL{own}");
            (String::new(), sentence)
        } else {
            let sentence =
                format!("`{identifier}` needs OpenCL C {version}, and {device} offers OpenCL C {own}");
            (what.to_owned(), sentence)
        })
    }
}

/// A version of OpenCL or OpenCL C, as in `3.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub (u8, u8));

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.0, self.0.1)
    }
}

#[cfg(test)]
mod tests;
