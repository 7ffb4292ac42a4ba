//! Reads `data/opencl.toml`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::{Drivers, OpenCl, Svm};
use crate::document::built_in;
use crate::family::Vendor;
use crate::gpu::Identity;
use crate::sourced::{Basis, Source};

pub(super) const TEXT: &str = include_str!("../../data/opencl.toml");

static DATA: LazyLock<Data> = LazyLock::new(|| built_in("opencl.toml", toml::from_str(TEXT)));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(rename = "virtual")]
    provided: Provided,
    versions: BTreeMap<String, u32>,
    limits: ApiLimits,
    vendor: VendorTable,
    needs: BTreeMap<String, String>,
    driver: BTreeMap<String, Offer>,
    gpus: Vec<Row>,
}

/// What virtual GPUs provide.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Provided {
    pub(super) extensions: Vec<String>,
    pub(super) features: Vec<String>,
}

/// Limits of the API, which all drivers report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiLimits {
    /// How they are known.
    pub basis: String,
    /// The source.
    pub source: String,
    /// Bytes of a kernel's arguments.
    pub parameter_bytes: usize,
    /// Images that a kernel reads.
    pub read_image_arguments: u32,
    /// Images that a kernel writes.
    pub write_image_arguments: u32,
    /// Images that a kernel reads and writes.
    pub read_write_image_arguments: u32,
    /// Samplers of a kernel.
    pub samplers: u32,
    /// Arguments of a kernel in constant memory.
    pub constant_arguments: u32,
    /// Bytes of a constant buffer.
    pub constant_bytes: u64,
    /// Bytes that `printf` may print.
    pub printf_bytes: usize,
    /// Bytes of a program's variables.
    pub global_variable_bytes: usize,
    /// A buffer has at most the memory divided by this.
    pub buffer_divisor: u64,
    /// Alignment of the offset of a sub-buffer.
    pub base_alignment_bytes: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorTable {
    arm: VendorNames,
    qualcomm: VendorNames,
}

/// How drivers name their vendor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VendorNames {
    /// How it is known.
    pub basis: String,
    /// The source.
    pub source: String,
    /// `CL_DEVICE_VENDOR`.
    pub name: String,
    /// `CL_DEVICE_VENDOR_ID`.
    pub id: u32,
}

/// What a driver lists, as a change of another one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Offer {
    like: Option<String>,
    basis: String,
    #[allow(dead_code, reason = "for the reader of the file, and checked by a test")]
    source: String,
    opencl: Option<String>,
    opencl_c: Option<Vec<String>>,
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    extensions: Vec<String>,
    #[serde(default)]
    features: Vec<String>,
    svm: Option<Vec<String>>,
    sub_group_sizes: Option<[u32; 2]>,
    vector_broadcast: Option<bool>,
    non_uniform_work_groups: Option<bool>,
}

/// The drivers of some GPUs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    of: Vec<String>,
    basis: String,
    source: String,
    #[serde(default)]
    extensions: Vec<String>,
    drivers: Vec<Release>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    since: String,
    offers: String,
    #[serde(default)]
    without: Vec<String>,
    basis: Option<String>,
    source: Option<String>,
}

pub(super) fn provided() -> &'static Provided {
    &DATA.provided
}

/// The extensions of no vendor's own that virtual GPUs provide.
pub fn common_extensions() -> impl Iterator<Item = &'static str> {
    DATA.provided.extensions.iter().map(String::as_str).filter(|name| name.starts_with("cl_khr_"))
}

/// The major version of an extension.
pub fn extension_version(name: &str) -> u32 {
    DATA.versions.get(name).copied().unwrap_or(1)
}

/// Limits of the API.
pub fn limits() -> &'static ApiLimits {
    &DATA.limits
}

/// How the drivers of a vendor name it.
pub fn vendor_names(vendor: Vendor) -> &'static VendorNames {
    match vendor {
        Vendor::Arm => &DATA.vendor.arm,
        Vendor::Qualcomm => &DATA.vendor.qualcomm,
    }
}

/// The version of a text such as `3.0`.
pub(super) fn version(text: &str) -> Option<(u8, u8)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What offers a function, type or attribute: an extension, or a version such as `CL2.0`.
pub(super) fn needs(identifier: &str) -> Option<&'static str> {
    let fits = |name: &str| match name.strip_suffix('*') {
        Some(start) => identifier.starts_with(start),
        None => identifier == name,
    };
    let own = |name: &str| name != "basis" && name != "source";
    let found = DATA.needs.iter().filter(|(name, _)| own(name) && fits(name));
    found.max_by_key(|(name, _)| name.trim_end_matches('*').len()).map(|(_, what)| what.as_str())
}

/// The half and the full size of sub-groups on the GPUs that have two.
pub fn usual_sub_group_sizes() -> Option<[u32; 2]> {
    DATA.driver.values().find_map(|offer| offer.sub_group_sizes)
}

/// The drivers of a GPU; the error says what is wrong with the table.
pub(crate) fn drivers_of(identity: &Identity) -> Result<Drivers, String> {
    let is_meant =
        |name: &String| [&identity.name, &identity.generation, identity.family.id()].contains(&name.as_str());
    let row = DATA.gpus.iter().find(|row| row.of.iter().any(is_meant));
    let row = row.ok_or_else(|| format!("opencl.toml has no drivers of {}", identity.family))?;
    let mut drivers = Vec::new();
    for release in &row.drivers {
        drivers.push(release.opencl(row, &identity.name)?);
    }
    let current =
        drivers.pop().ok_or_else(|| format!("opencl.toml: {} has no drivers", row.of.join(", ")))?;
    Ok(Drivers { earlier: drivers, current, compiler: None })
}

impl Release {
    fn opencl(&self, row: &Row, device: &str) -> Result<OpenCl, String> {
        let wrong = |what: &str, text: &str| format!("opencl.toml, {}: {what} `{text}`", self.offers);
        // From the changed one to its model.
        let mut chain = Vec::new();
        let mut next = Some(&self.offers);
        while let Some(name) = next {
            let offer = DATA.driver.get(name).ok_or_else(|| wrong("unknown driver", name))?;
            if chain.len() > DATA.driver.len() {
                return Err(wrong("a circle with", name));
            }
            chain.push(offer);
            next = offer.like.as_ref();
        }
        let mut names: Vec<&String> = Vec::new();
        for offer in chain.iter().rev() {
            names.retain(|name| !offer.without.contains(name));
            names.extend(offer.extensions.iter().chain(&offer.features));
        }
        names.extend(&row.extensions);
        names.retain(|name| !self.without.contains(name));
        let said = |what: &str| wrong("missing", what);
        let first = |find: fn(&Offer) -> Option<&String>| chain.iter().find_map(|offer| find(offer));
        let opencl = first(|offer| offer.opencl.as_ref()).ok_or_else(|| said("opencl"))?;
        let c_versions =
            chain.iter().find_map(|offer| offer.opencl_c.as_ref()).ok_or_else(|| said("opencl_c"))?;
        let read = |text: &String| version(text).ok_or_else(|| wrong("not a version:", text));
        let svm = chain.iter().find_map(|offer| offer.svm.as_ref()).ok_or_else(|| said("svm"))?;
        if let Some(kind) = svm.iter().find(|kind| !["coarse", "fine"].contains(&kind.as_str())) {
            return Err(wrong("not a kind of memory:", kind));
        }
        let has = |kind: &str| svm.iter().any(|own| own == kind);
        // The weakest of what is known about the driver and about which driver it is.
        let nearest = chain.first().ok_or_else(|| said("driver"))?;
        let bases = [&nearest.basis, self.basis.as_ref().unwrap_or(&row.basis)];
        let basis =
            bases.into_iter().map(|basis| basis.parse::<Basis>().map_err(|()| wrong("not a basis:", basis)));
        let basis = basis.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(Basis::Guessed);
        let source = self.source.as_ref().unwrap_or(&row.source);
        let source: Arc<Source> = Source::named(source).ok_or_else(|| wrong("unknown source", source))?;
        let (provided, not_virtual): (Vec<&String>, Vec<&String>) = names.into_iter().partition(|name| {
            DATA.provided.extensions.contains(name) || DATA.provided.features.contains(name)
        });
        let (features, extensions): (Vec<&String>, Vec<&String>) =
            provided.into_iter().partition(|name| name.starts_with("__opencl_c_"));
        let owned = |names: Vec<&String>| names.into_iter().cloned().collect();
        let mut opencl = OpenCl {
            device: device.to_owned(),
            driver: self.since.clone(),
            version: read(opencl)?,
            c_versions: c_versions.iter().map(read).collect::<Result<_, _>>()?,
            extensions: owned(extensions),
            features: owned(features),
            not_virtual: owned(not_virtual),
            svm: Svm { coarse_buffer: has("coarse"), fine_buffer: has("fine"), fine_system: false },
            sub_group_sizes: chain.iter().find_map(|offer| offer.sub_group_sizes),
            vector_broadcast: chain.iter().find_map(|offer| offer.vector_broadcast).unwrap_or(false),
            non_uniform_work_groups: chain
                .iter()
                .find_map(|offer| offer.non_uniform_work_groups)
                .ok_or_else(|| said("non_uniform_work_groups"))?,
            basis,
            source,
        };
        opencl.complete();
        Ok(opencl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::catalog;

    #[test]
    fn the_table_is_well_formed_and_every_entry_is_used() {
        for (basis, source) in [
            (&DATA.limits.basis, &DATA.limits.source),
            (&DATA.vendor.arm.basis, &DATA.vendor.arm.source),
            (&DATA.vendor.qualcomm.basis, &DATA.vendor.qualcomm.source),
            (&DATA.needs["basis"], &DATA.needs["source"]),
        ]
        .into_iter()
        .chain(DATA.driver.values().map(|offer| (&offer.basis, &offer.source)))
        {
            assert!(basis.parse::<Basis>().is_ok(), "{basis}");
            assert!(Source::named(source).is_some(), "{source}");
        }
        let known = |name: &str| {
            catalog()
                .iter()
                .any(|gpu| gpu.name() == name || gpu.identity.generation == name || gpu.family().id() == name)
        };
        for row in &DATA.gpus {
            assert!(row.of.iter().all(|name| known(name)), "{:?}", row.of);
        }
        for name in DATA.driver.keys() {
            let offers = |row: &Row| row.drivers.iter().any(|release| release.offers == *name);
            let is_model = DATA.driver.values().any(|offer| offer.like.as_ref() == Some(name));
            assert!(is_model || DATA.gpus.iter().any(offers), "{name} is not used");
        }
        let named = |what: &str| DATA.provided.extensions.iter().any(|name| name == what);
        for (start, what) in
            DATA.needs.iter().filter(|(start, _)| !["basis", "source"].contains(&start.as_str()))
        {
            assert!(
                named(what) || what.starts_with("CL") || what.starts_with("cl_intel_"),
                "{start}: {what}"
            );
        }
    }
}
