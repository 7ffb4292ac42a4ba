//! The energy of a launch, as Arm's kernel driver estimates it from counters: `data/energy.toml`.
//!
//! The driver's models give the dynamic power of the GPU. DRAM, static power and the host are not in them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::Gpu;
use tripipe_device::document::built_in;

use crate::counters::Counters;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyFile {
    model: Vec<EnergyModel>,
}

/// The power model of some GPUs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyModel {
    gpus: Vec<String>,
    reference_volts: f64,
    scale: f64,
    basis: String,
    source: String,
    nanojoules: BTreeMap<String, f64>,
}

static MODELS: LazyLock<Vec<EnergyModel>> = LazyLock::new(|| {
    built_in("data/energy.toml", toml::from_str::<EnergyFile>(include_str!("../data/energy.toml"))).model
});

/// The estimated energy of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Joules, at the reference voltage.
    pub joules: f64,
    /// Watts while the kernel runs.
    pub watts: f64,
    /// The part of each counter in joules, largest first.
    pub parts: Vec<(&'static str, f64)>,
    /// Counters of the driver's model that are not predicted: their part is missing.
    pub missing: Vec<&'static str>,
    /// The voltage in volts at which the driver's model was made; energy grows with its square.
    pub reference_volts: f64,
    /// The driver's scale, which makers of chips replace.
    pub scale: f64,
    /// How well the coefficients are known.
    pub basis: &'static str,
    /// Where they are from.
    pub source: &'static str,
}

/// Whether the energy of launches on a GPU can be estimated.
pub fn is_known(gpu: &Gpu) -> bool {
    model(gpu).is_some()
}

fn model(gpu: &Gpu) -> Option<&'static EnergyModel> {
    MODELS.iter().find(|model| model.gpus.iter().any(|known| *known == gpu.id()))
}

/// The energy of a launch of that many seconds. `None`: nobody published what its counters cost.
pub fn energy(gpu: &Gpu, counters: &Counters, seconds: f64) -> Option<Energy> {
    let model = model(gpu)?;
    let (mut parts, mut missing) = (Vec::new(), Vec::new());
    for (name, nanojoules) in &model.nanojoules {
        let name = name.as_str();
        // The driver reads hardware counters, so the hardware's names match and not those for people.
        match counters.counters.iter().find(|counter| counter.source == name) {
            Some(counter) => parts.push((name, counter.value * nanojoules * 1e-9 * model.scale)),
            None => missing.push(name),
        }
    }
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let joules: f64 = parts.iter().map(|part| part.1).sum();
    Some(Energy {
        joules,
        watts: joules / seconds.max(f64::MIN_POSITIVE),
        parts,
        missing,
        reference_volts: model.reference_volts,
        scale: model.scale,
        basis: &model.basis,
        source: &model.source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Basis, Counter};

    fn counters(values: &[(&'static str, f64)]) -> Counters {
        let counter = |&(source, value): &(&'static str, f64)| Counter {
            name: source,
            source,
            title: source,
            group: "",
            unit: "",
            value,
            derived: "",
            basis: Basis::Exact,
        };
        let counters = values.iter().map(counter).collect();
        Counters { naming: "", product: "", borrowed: false, counters, missing: Vec::new(), graphics: 0 }
    }

    /// By hand, as the driver computes it: 10^9 counts of 505449 fJ, times 5, in 2 seconds.
    #[test]
    fn energy_is_what_the_driver_computes() {
        let counters = counters(&[("EXEC_INSTR_FMA", 1e9)]);
        let found = energy(tripipe_device::find("mali-g710").unwrap(), &counters, 2.0).unwrap();
        assert!((found.joules - 2.527_245).abs() < 1e-9, "{found:?}");
        assert!((found.watts - 1.263_622_5).abs() < 1e-9, "{found:?}");
        assert_eq!(found.missing.len(), 5, "{found:?}");
        assert!(energy(tripipe_device::find("mali-g77").unwrap(), &counters, 2.0).is_none());
    }

    #[test]
    fn models_are_of_gpus_that_there_are() {
        let names: Vec<&String> = MODELS.iter().flat_map(|model| &model.gpus).collect();
        assert_eq!(names.len(), 6);
        for name in names {
            assert_eq!(tripipe_device::find(name).unwrap().id(), *name);
        }
    }
}
