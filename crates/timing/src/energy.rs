//! The energy of a launch, as Arm's kernel driver estimates it from counters: `data/energy.toml`.
//!
//! The driver's models give the dynamic power of the GPU. DRAM, static power and the host are not in them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use tripipe_device::Gpu;
use tripipe_device::document::built_in;

use crate::activity::{Activity, Counts};
use crate::counters::{Counters, counters};
use crate::predict::Prediction;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyFile {
    model: Vec<EnergyModel>,
    published: Vec<Published>,
}

/// The power of a GPU as somebody measured it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    gpu: String,
    watts: f64,
    load: String,
    basis: String,
    source: String,
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

static DATA: LazyLock<EnergyFile> =
    LazyLock::new(|| built_in("data/energy.toml", toml::from_str(include_str!("../data/energy.toml"))));

/// The estimated energy of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Joules, at the reference voltage.
    pub joules: f64,
    /// Watts while the kernel runs.
    pub watts: f64,
    /// Floating-point operations of the launch ([`Kernel::float_operations`](tripipe_ir::Kernel::float_operations)).
    pub operations: f64,
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

impl Energy {
    /// 10^9 floating-point operations per second and watt; `None` for a launch without any.
    pub fn gflops_per_watt(&self) -> Option<f64> {
        gflops_per_watt(self.operations, self.joules)
    }
}

/// 10^9 floating-point operations per second and watt, which is per joule; `None` without operations or energy.
pub fn gflops_per_watt(operations: f64, joules: f64) -> Option<f64> {
    (operations > 0.0 && joules > 0.0).then(|| operations / joules * 1e-9)
}

/// Whether the energy of launches on a GPU can be estimated.
pub fn is_known(gpu: &Gpu) -> bool {
    model(gpu).is_some()
}

fn model(gpu: &Gpu) -> Option<&'static EnergyModel> {
    DATA.model.iter().find(|model| model.gpus.iter().any(|known| *known == gpu.id()))
}

/// The energy of a launch. `None`: nobody published what the counters of this GPU cost, or the prediction has no
/// [`activity`](Prediction::activity).
pub fn energy(gpu: &Gpu, prediction: &Prediction) -> Option<Energy> {
    let model = model(gpu)?;
    let operations = prediction.activity.as_ref()?.counts.float_operations;
    Some(priced(model, &counters(gpu, prediction)?, operations, prediction.seconds))
}

/// The energy of a second of `float` multiply-adds at the peak rate, which move no counter but that of their pipe.
pub fn at_peak(gpu: &Gpu) -> Option<Energy> {
    let operations = gpu.operations_per_second(gpu.operations_per_clock_per_core.fp32_fma.value);
    let lanes = f64::from(gpu.core.warp_width.value.max(1));
    let counts = Counts {
        fma_instructions: operations / 2.0 / lanes,
        float_operations: operations,
        ..Counts::default()
    };
    let activity = Some(Arc::new(Activity { counts, ..Activity::default() }));
    energy(gpu, &Prediction { seconds: 1.0, activity, ..Prediction::default() })
}

/// The power of a GPU under load.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// Watts.
    pub watts: f64,
    /// What runs, and what is included.
    pub load: &'static str,
    /// How well it is known.
    pub basis: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

impl Power {
    /// `float` operations at the peak rate per second and watt, in 10^9.
    pub fn peak_gflops_per_watt(&self, gpu: &Gpu) -> Option<f64> {
        let peak = gpu.operations_per_second(gpu.operations_per_clock_per_core.fp32_fma.value);
        gflops_per_watt(peak, self.watts)
    }
}

/// The power of a GPU: as measured and published, else that of [`at_peak`]; `None` without either.
pub fn power(gpu: &Gpu) -> Option<Power> {
    if let Some(found) = DATA.published.iter().find(|known| known.gpu == gpu.id()) {
        let Published { watts, load, basis, source, .. } = found;
        return Some(Power { watts: *watts, load, basis, source });
    }
    let Energy { watts, basis, source, .. } = at_peak(gpu)?;
    Some(Power {
        watts,
        load: "multiply-adds at the peak rate, estimated with the driver's scale",
        basis,
        source,
    })
}

fn priced(model: &'static EnergyModel, counters: &Counters, operations: f64, seconds: f64) -> Energy {
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
    Energy {
        joules,
        watts: joules / seconds.max(f64::MIN_POSITIVE),
        operations,
        parts,
        missing,
        reference_volts: model.reference_volts,
        scale: model.scale,
        basis: &model.basis,
        source: &model.source,
    }
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
        let model = model(tripipe_device::find("mali-g710").unwrap()).unwrap();
        let found = priced(model, &counters, 32e9, 2.0);
        assert!((found.joules - 2.527_245).abs() < 1e-9, "{found:?}");
        assert!((found.watts - 1.263_622_5).abs() < 1e-9, "{found:?}");
        assert_eq!(found.missing.len(), 5, "{found:?}");
        // 32 operations of an instruction of 16 lanes over 2.527 nJ.
        assert!((found.gflops_per_watt().unwrap() - 12.662_01).abs() < 1e-4, "{found:?}");
        assert_eq!(Energy { operations: 0.0, ..found }.gflops_per_watt(), None);
    }

    /// By hand, from the data of the GPU and the driver alone: an instruction of 16 lanes is 32 operations, and the counter
    /// is the mean over the engines of a core.
    #[test]
    fn the_peak_costs_what_its_instructions_cost() {
        let gpu = tripipe_device::find("mali-g710").unwrap();
        let found = at_peak(gpu).unwrap();
        let engines = f64::from(gpu.core.arithmetic_pipes.value);
        assert!(
            (found.gflops_per_watt().unwrap() - engines * 32.0 / (0.505_449 * 5.0)).abs() < 1e-6,
            "{found:?}"
        );
        assert!(at_peak(tripipe_device::find("mali-g77").unwrap()).is_none());
    }

    /// The peak by hand from the model's cores and clock, over the published 8.63 W.
    #[test]
    fn a_published_power_goes_before_an_estimate() {
        let power_of = |name: &str| power(tripipe_device::find(name).unwrap());
        let (gpu, found) = (tripipe_device::find("mali-g71").unwrap(), power_of("mali-g71").unwrap());
        assert_eq!((found.watts, found.basis), (8.63, "measured"));
        let cores = f64::from(gpu.configuration.cores.value);
        let lanes = f64::from(gpu.operations_per_clock_per_core.fp32_fma.value);
        let want = 2.0 * lanes * cores * f64::from(gpu.configuration.clock_mhz.value) * 1e-3 / 8.63;
        assert!((found.peak_gflops_per_watt(gpu).unwrap() - want).abs() < 1e-9, "{found:?}");
        assert_eq!(power_of("mali-g710").unwrap().basis, "documented");
        assert_eq!(power_of("mali-g1"), None);
    }

    #[test]
    fn models_are_of_gpus_that_there_are() {
        let names: Vec<&String> = DATA.model.iter().flat_map(|model| &model.gpus).collect();
        assert_eq!(names.len(), 6);
        let names = names.into_iter().chain(DATA.published.iter().map(|own| &own.gpu));
        for name in names {
            assert_eq!(tripipe_device::find(name).unwrap().id(), *name);
        }
    }
}
