//! How an entry's GPU is related to a device.

use tripipe_device::{DeviceKind, Identification, Probe, identify};

use super::Target;

/// The relation of an entry's GPU to a device, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::gemm) enum Relation {
    Itself,
    Generation,
    Family,
    Vendor,
    Kind,
}

/// A device with its product, generation and identification.
pub(in crate::gemm) struct Device {
    pub(super) product: Option<String>,
    pub(super) generation: Option<&'static str>,
    pub(super) identity: Identification,
}

impl Device {
    pub(in crate::gemm) fn of(probe: &Probe) -> Self {
        let identity = identify(probe);
        let generation = identity
            .model
            .filter(|model| Some(model.family()) == identity.family)
            .map(|model| model.identity.generation.as_str());
        Self { product: identity.product.as_ref().map(ToString::to_string), generation, identity }
    }

    pub(in crate::gemm) fn relation(&self, target: &Target, probe: &Probe) -> Option<Relation> {
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
    pub(super) fn relation_of_times(&self, target: &Target, probe: &Probe) -> Option<Relation> {
        let is_unknown_gpu = self.identity.vendor.is_none() && probe.kind != DeviceKind::Cpu;
        match target {
            Target::Name(_) if is_unknown_gpu => self.relation(target, probe).or(Some(Relation::Kind)),
            _ => self.relation(target, probe),
        }
    }
}

/// A probe for a product of which only the name is known.
pub(super) fn named(product: &str) -> Probe {
    Probe { name: product.to_owned(), kind: DeviceKind::Gpu, ..Probe::default() }
}
