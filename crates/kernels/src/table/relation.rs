//! How the GPU of an entry or of times is related to a device.

use tripipe_device::{DeviceKind, Identification, Probe, identify};

use super::target::Target;

/// The relation of an entry's GPU to a device, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relation {
    Itself,
    Generation,
    Family,
    Vendor,
    Kind,
}

/// A device with its product, generation and identification.
pub(crate) struct Device {
    pub(crate) product: Option<String>,
    pub(crate) generation: Option<&'static str>,
    pub(crate) identity: Identification,
}

impl Device {
    pub(crate) fn of(probe: &Probe) -> Self {
        let identity = identify(probe);
        let generation = identity
            .model
            .filter(|model| Some(model.family()) == identity.family)
            .map(|model| model.identity.generation.as_str());
        Self { product: identity.product.as_ref().map(ToString::to_string), generation, identity }
    }

    pub(crate) fn relation(&self, target: &Target, probe: &Probe) -> Option<Relation> {
        match target {
            Target::Name(part) => {
                let found = probe.name.to_lowercase().contains(&part.to_lowercase());
                found.then_some(Relation::Itself)
            }
            Target::Kind(kind) => {
                let is = if probe.kind == DeviceKind::Cpu { "cpu" } else { "gpu" };
                (*kind == is).then_some(Relation::Kind)
            }
            Target::Gpu(name) => {
                self.identity.vendor?;
                let other = Self::of(&named(name));
                if self.product == other.product {
                    Some(Relation::Itself)
                } else if self.generation.is_some() && self.generation == other.generation {
                    Some(Relation::Generation)
                } else if self.identity.family.is_some() && self.identity.family == other.identity.family {
                    Some(Relation::Family)
                } else {
                    (self.identity.vendor == other.identity.vendor).then_some(Relation::Vendor)
                }
            }
        }
    }
}

impl Device {
    /// The relation of the GPU of a series. Of GPUs without a model, those of other names are of the same kind.
    pub(crate) fn relation_of_times(&self, target: &Target, probe: &Probe) -> Option<Relation> {
        let is_unknown_gpu = self.identity.vendor.is_none() && probe.kind != DeviceKind::Cpu;
        match target {
            Target::Name(_) if is_unknown_gpu => self.relation(target, probe).or(Some(Relation::Kind)),
            _ => self.relation(target, probe),
        }
    }
}

/// A probe for a product of which only the name is known.
pub(crate) fn named(product: &str) -> Probe {
    Probe { name: product.to_owned(), kind: DeviceKind::Gpu, ..Probe::default() }
}

/// The relation of a device to the one that data are of.
pub(crate) fn described(on: &Target, relation: Relation) -> String {
    match relation {
        Relation::Itself => format!("of {on} itself"),
        Relation::Generation => format!("of {on}, of the same generation"),
        Relation::Family => format!("of {on}, of the same family"),
        Relation::Vendor => format!("of {on}, by the same vendor"),
        Relation::Kind => format!("of {on}"),
    }
}
