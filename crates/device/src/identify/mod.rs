//! Matches a live device to its model.
//!
//! Names differ between drivers of the same GPU (`Mali-G610 MC6 r0p0`, `Mali-LODX r0p0`, `Mali-G610 (Panfrost)`), and
//! some drivers give the product only in the version string. A table of whole names would therefore not do. The rules,
//! in order:
//!
//! 1. A CPU or another accelerator has no model.
//! 2. The product is read from the name, else from the version string. The core count comes from the name (`MC6`),
//!    else from the compute units. The clock is the reported one, if it can be true, else the model's.
//! 3. A product that has a model gets it, even if its core count differs.
//! 4. Otherwise the model is the nearest relative: of the same family and, in order of priority, of the same
//!    generation, of the same series (`X1`), nearest in product number, nearest in core count,
//!    no variant (`G1-Pro`), lowest in number.
//! 5. A product of a generation without models gets the vendor's model nearest in number.
//! 6. A PowerVR has no model; what is known of it is said.
//! 7. A device of a known vendor without a readable product gets a model only when its largest
//!    work-group fits the models of a single family.

use std::fmt;

use crate::catalog::catalog;
use crate::family::{Family, Vendor};
use crate::generation::{self, ProductGeneration};
use crate::gpu::Gpu;
use crate::powervr;
use crate::probe::{DeviceKind, Probe};
use crate::product::{GpuProduct, NameParts, Revision};

/// How certain the match of a device to a model is, in descending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Certainty {
    /// The model is of this product, and the core count matches as far as the device reports it.
    ExactProduct,
    /// The model is of this product, but the device has another core count or is another variant.
    SameProductOtherConfiguration,
    /// The product has no model; the model is another one of the same family.
    NearestRelative,
    /// The product's generation has no model; the model is the vendor's nearest one.
    OtherGeneration,
    /// The vendor is known, the product is not.
    VendorOnly,
    /// A CPU, a desktop GPU or another processor that is not in phones.
    NotAMobileGpu,
    /// The device cannot be identified, or its vendor has no models here.
    Unknown,
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ExactProduct => "exact product",
            Self::SameProductOtherConfiguration => "same product, other configuration",
            Self::NearestRelative => "nearest relative",
            Self::OtherGeneration => "other generation",
            Self::VendorOnly => "vendor only",
            Self::NotAMobileGpu => "not a mobile GPU",
            Self::Unknown => "unknown",
        })
    }
}

/// The identity of a live device, as far as its strings and limits determine it.
#[derive(Clone, Debug, PartialEq)]
pub struct Identification {
    /// The model to use, if any.
    pub model: Option<&'static Gpu>,
    /// How certain the match is.
    pub certainty: Certainty,
    /// One sentence that explains the match to a person.
    pub why: String,
    /// The designer of the device.
    pub vendor: Option<Vendor>,
    /// Family of the device itself, even if the model is of another family.
    pub family: Option<Family>,
    /// The product read from the strings.
    pub product: Option<GpuProduct>,
    /// Shader cores: from the name, else the compute units.
    pub cores: Option<u32>,
    /// Clock in MHz: the reported one, unless it is impossible, else the model's.
    pub clock_mhz: Option<u32>,
    /// Hardware revision from the name.
    pub revision: Option<Revision>,
    /// The driver's version string, unchanged.
    pub driver: String,
    /// Limits in which the device differs from the model, one sentence each. The device's values take precedence,
    /// except an impossible clock.
    pub differences: Vec<String>,
}

/// Matches a device to its model. Never fails: a device that is not a phone GPU, or reports nothing, gets no model and
/// an explanation. The comment at the top of `identify` lists the rules.
///
/// ```
/// use tripipe_device::{Certainty, Probe, identify};
///
/// let probe = Probe {
///     name: "QUALCOMM Adreno(TM)".to_owned(),
///     version: "OpenCL 2.0 Adreno(TM) 661".to_owned(),
///     ..Probe::default()
/// };
/// let found = identify(&probe);
/// assert_eq!(found.certainty, Certainty::NearestRelative);
/// assert_eq!(found.model.unwrap().name(), "Adreno 660");
/// ```
pub fn identify(probe: &Probe) -> Identification {
    let name = NameParts::read(&probe.name);
    let version = NameParts::read(&probe.version);
    let in_name = name.product.is_some();
    let vendor =
        name.brand.or(version.brand).or_else(|| vendor_of(&[&probe.vendor, &probe.platform, &probe.name]));
    let mut found = Identification {
        model: None,
        certainty: Certainty::Unknown,
        why: String::new(),
        vendor,
        family: None,
        cores: name.cores.or((probe.compute_units > 0).then_some(probe.compute_units)),
        clock_mhz: probe.believed_clock_mhz(),
        revision: name.revision,
        driver: probe.driver.clone(),
        differences: Vec::new(),
        product: name.product.or(version.product),
    };
    if let Some(what) = not_mobile(probe, &found) {
        found.certainty = Certainty::NotAMobileGpu;
        found.vendor = None;
        found.product = None;
        found.cores = None;
        let shown = shown(&probe.name);
        found.why = format!("{shown} is {what}; no model, kernels are chosen from its probed limits");
        return found;
    }
    match (found.product.clone(), found.vendor) {
        (Some(product), _) => {
            found.vendor = Some(product.vendor());
            match_product(&mut found, &product);
            if let Some(codename) = name.codename.filter(|_| in_name) {
                found.why = format!("{codename} is the code name of {product}; {}", found.why);
            }
        }
        (None, Some(vendor)) => match_limits(&mut found, probe, vendor),
        (None, None) => {
            found.why = powervr::why(probe).unwrap_or_else(|| format!(
                "neither the name, the vendor nor the version of {} indicates a Mali or an Adreno; no model, kernels \
                are chosen from its probed limits",
                shown(&probe.name)
            ));
        }
    }
    if let Some(model) = found.model {
        found.clock_mhz = found.clock_mhz.or(Some(model.configuration.clock_mhz.value));
        found.differences = differences(model, probe);
    }
    found
}

/// The name, or a replacement for an empty one, for use in a sentence.
fn shown(name: &str) -> String {
    let name = name.trim();
    if name.is_empty() { "a device without a name".to_owned() } else { name.to_owned() }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase)
}

/// The vendor that one of the strings names as a separate word.
fn vendor_of(strings: &[&str]) -> Option<Vendor> {
    let mut words = strings.iter().flat_map(|text| words(text));
    words.find_map(|word| match word.as_str() {
        "arm" => Some(Vendor::Arm),
        "qualcomm" => Some(Vendor::Qualcomm),
        _ => None,
    })
}

/// Words in the device name or vendor string of vendors whose GPUs are not in phones.
const DESKTOP: [&str; 12] = [
    "nvidia", "geforce", "quadro", "tesla", "amd", "radeon", "advanced", "intel", "iris", "apple",
    "llvmpipe", "ati",
];

/// What the device is if it is not a phone GPU: a noun phrase for the sentence.
fn not_mobile(probe: &Probe, found: &Identification) -> Option<&'static str> {
    match probe.kind {
        DeviceKind::Cpu => return Some("a CPU, not a phone GPU"),
        DeviceKind::Accelerator => return Some("an accelerator, not a phone GPU"),
        DeviceKind::Gpu | DeviceKind::Other => {}
    }
    if found.product.is_some() {
        return None;
    }
    // PoCL calls its CPU device pthread-..., and since version 5 cpu-...
    if probe.name.starts_with("pthread") || probe.name.starts_with("cpu") {
        return Some("a CPU, not a phone GPU");
    }
    let desktop = words(&probe.name).chain(words(&probe.vendor)).any(|word| DESKTOP.contains(&word.as_str()));
    desktop.then_some("not a phone GPU")
}

fn match_product(found: &mut Identification, product: &GpuProduct) {
    let generation = generation::of(product);
    found.family = generation.as_ref().map(|generation| generation.family);
    if let Some(model) = catalog().iter().find(|gpu| product.names(gpu)) {
        found.model = Some(model);
        (found.certainty, found.why) = compare_cores(model, found.cores);
        return;
    }
    // A Mali with letters after its number is a variant of the same GPU (G78AE); an Adreno with letters is a different
    // GPU (642L).
    if let GpuProduct::Mali { suffix, .. } = product
        && !suffix.is_empty()
        && let Some(model) = catalog().iter().find(|gpu| product.without_suffix().names(gpu))
    {
        found.model = Some(model);
        found.certainty = Certainty::SameProductOtherConfiguration;
        found.why = format!("{product} is a variant of {}", model.name());
        return;
    }
    let Some(generation) = generation else {
        other_generation(found, product);
        return;
    };
    match relative(product, &generation, found.cores) {
        Some(model) => {
            found.model = Some(model);
            found.certainty = Certainty::NearestRelative;
            let bond = if model.identity.generation == generation.generation {
                format!("same generation: {}", generation.generation)
            } else {
                format!("same family: {}", generation.family)
            };
            let unheard = if generation.listed { "" } else { " and not among the products known" };
            found.why = format!(
                "{product} is not in the catalog{unheard}; nearest relative: {} ({bond})",
                model.name()
            );
        }
        None => other_generation(found, product),
    }
}

/// Certainty and explanation for a device of the same product as `model`.
fn compare_cores(model: &Gpu, cores: Option<u32>) -> (Certainty, String) {
    let name = model.name();
    let modelled = model.configuration.cores.value;
    let groups = model.configuration.core_groups.as_ref().map(|groups| &groups.value);
    match cores {
        None => (
            Certainty::ExactProduct,
            format!("the device is {}; it does not say how many cores it has", with_article(name)),
        ),
        Some(cores) if cores == modelled => (
            Certainty::ExactProduct,
            format!("the device is {} with the model's {}", with_article(name), count(cores)),
        ),
        Some(cores) if groups.is_some_and(|groups| groups.contains(&cores)) => (
            Certainty::ExactProduct,
            format!("the device is one core group of {}: {} of {modelled}", with_article(name), count(cores)),
        ),
        Some(cores) => (
            Certainty::SameProductOtherConfiguration,
            format!("the device is {} with {}, the model has {modelled}", with_article(name), count(cores)),
        ),
    }
}

fn count(cores: u32) -> String {
    if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") }
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with('A') { "an" } else { "a" };
    format!("{article} {name}")
}

/// The product of a model.
fn product_of(gpu: &Gpu) -> Option<GpuProduct> {
    NameParts::read(gpu.name()).product
}

/// The number by which a model is compared with others; every model has one.
fn number(gpu: &Gpu) -> Option<u32> {
    generation::of(&product_of(gpu)?).map(|generation| generation.number)
}

/// The series of a product whose number is of a scheme of its own: `X1`.
fn series(product: &GpuProduct) -> Option<&str> {
    match product {
        GpuProduct::AdrenoSeries { series, .. } => Some(series),
        GpuProduct::Mali { .. } | GpuProduct::Adreno { .. } => None,
    }
}

/// Whether a model is one of several of its number, not the plain one: `G1-Pro`.
fn is_variant(gpu: &Gpu) -> bool {
    matches!(product_of(gpu), Some(GpuProduct::Mali { suffix, .. }) if !suffix.is_empty())
}

/// Rule 4 in the module documentation.
fn relative(
    product: &GpuProduct,
    generation: &ProductGeneration,
    cores: Option<u32>,
) -> Option<&'static Gpu> {
    catalog()
        .iter()
        .filter(|gpu| gpu.family() == generation.family)
        .filter_map(|gpu| Some((gpu, number(gpu)?)))
        .min_by_key(|(gpu, number)| {
            (
                gpu.identity.generation != generation.generation,
                product_of(gpu).is_none_or(|model| series(&model) != series(product)),
                number.abs_diff(generation.number),
                cores.map_or(0, |cores| gpu.configuration.cores.value.abs_diff(cores)),
                is_variant(gpu),
                *number,
            )
        })
        .map(|(gpu, _)| gpu)
}

/// Rule 5 in the module documentation. Only Adreno numbers show how far apart generations are.
fn other_generation(found: &mut Identification, product: &GpuProduct) {
    let nearest = match product {
        GpuProduct::Adreno { number: wanted, .. } => catalog()
            .iter()
            .filter(|gpu| gpu.vendor() == Vendor::Qualcomm)
            .filter_map(|gpu| Some((gpu, number(gpu)?.abs_diff(*wanted))))
            .min_by_key(|(_, distance)| *distance)
            .map(|(gpu, _)| gpu),
        GpuProduct::Mali { .. } | GpuProduct::AdrenoSeries { .. } => None,
    };
    found.model = nearest;
    if let Some(model) = nearest {
        found.certainty = Certainty::OtherGeneration;
        found.why = format!(
            "the generation of {product} has no model; the nearest is {}, and its figures may be far off",
            model.name()
        );
    } else {
        found.certainty = Certainty::VendorOnly;
        found.why = format!(
            "the generation of {product} is not in the catalog; no model, kernels are chosen from its \
            probed limits"
        );
    }
}

/// Rule 7 in the module documentation.
fn match_limits(found: &mut Identification, probe: &Probe, vendor: Vendor) {
    found.certainty = Certainty::VendorOnly;
    let fits: Vec<&'static Gpu> = catalog()
        .iter()
        .filter(|gpu| gpu.vendor() == vendor && !is_variant(gpu))
        .filter(|gpu| {
            let largest = u64::from(gpu.core.max_work_group_size.value);
            largest == probe.max_work_group_size as u64
        })
        .collect();
    let family = fits.first().map(|gpu| gpu.family());
    let one_family = fits.iter().all(|gpu| Some(gpu.family()) == family);
    let nearest = fits
        .iter()
        .copied()
        .min_by_key(|gpu| found.cores.map_or(0, |cores| gpu.configuration.cores.value.abs_diff(cores)));
    let shown = shown(&probe.name);
    match nearest.filter(|_| one_family) {
        Some(model) => {
            found.model = Some(model);
            found.family = family;
            found.why = format!(
                "{shown} is a GPU by {vendor}, but neither its name nor its version says which; by its largest \
                 work-group ({}) it is of the {} family, and {} is nearest in cores",
                probe.max_work_group_size,
                model.family(),
                model.name()
            );
        }
        None => {
            found.why = format!(
                "{shown} is a GPU by {vendor}, but neither its name nor its version says which; no model, kernels \
                 are chosen from its probed limits. To analyze a kernel for it, name its model, which the data \
                 sheet of the phone gives; a newer driver may report it"
            );
        }
    }
}

fn differences(model: &Gpu, probe: &Probe) -> Vec<String> {
    let mut differences = Vec::new();
    let modelled = u64::from(model.core.max_work_group_size.value);
    let probed = probe.max_work_group_size as u64;
    if probed != 0 && probed != modelled {
        differences.push(format!(
            "the device takes work-groups of up to {probed} work-items, the model says {modelled}"
        ));
    }
    let modelled = model.local_memory.bytes.value;
    let probed = probe.local_memory_bytes;
    if probed != 0 && probed != modelled {
        differences.push(format!("the device has {probed} bytes of local memory, the model says {modelled}"));
    }
    if probe.clock_mhz != 0 && probe.believed_clock_mhz().is_none() {
        differences.push(format!(
            "the driver reports a clock of {} MHz, which no such GPU has; the model's {} MHz is used",
            probe.clock_mhz, model.configuration.clock_mhz.value
        ));
    }
    differences
}

#[cfg(test)]
mod tests;
