//! Counters of a predicted launch under the names of the GPU's vendor.
//!
//! `data/counters` lists the counters of each vendor with their formulas, and for those that compute work moves how the
//! model has them. A counter that cannot be derived is listed with the reason; none is invented.

mod capture;
mod comparison;
mod expression;
mod table;

pub use capture::{Capture, CaptureError, Clock, Series};
pub use comparison::{CaptureComparison, Compared, compare};
pub use expression::ExpressionError;
pub use table::Basis;

use tripipe_device::Gpu;

use crate::predict::Prediction;
use table::{Entry, Table};

/// A counter of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The vendor's name for programs: `MaliGPUActiveCy`, `ARITH_WORDS`, `% L1 Hit`.
    pub name: &'static str,
    /// The hardware's name, if the vendor has another one.
    pub source: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it is listed under.
    pub group: &'static str,
    /// Its unit: `cycles`, `percent`, `bytes/second`.
    pub unit: &'static str,
    /// Its value for the launch, summed over cores or slices as the vendor does.
    pub value: f64,
    /// How it was derived, in words or as the vendor's formula.
    pub derived: &'static str,
    /// How well it is known.
    pub basis: Basis,
}

/// A counter without a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// The vendor's name.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Why it has none.
    pub reason: String,
}

/// The counters of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters {
    /// Whose names they are: `Arm`, `Mesa`, `Snapdragon Profiler`.
    pub naming: &'static str,
    /// The product whose counters they are: `G77`, `T76x`, `a6xx`.
    pub product: &'static str,
    /// Whether that is the nearest product to the GPU, because its own counters are not published.
    pub borrowed: bool,
    /// In the vendor's order.
    pub counters: Vec<Counter>,
    /// Counters that compute work could move and that the model does not have.
    pub missing: Vec<Missing>,
    /// Number of counters that only graphics moves, which are left out.
    pub graphics: usize,
}

/// Counters of a launch on a GPU. `None` if the prediction has no [`activity`](Prediction::activity).
pub fn counters(gpu: &Gpu, prediction: &Prediction) -> Option<Counters> {
    let table = Table::of(gpu);
    let launch = CountedLaunch { gpu, prediction, table: &table };
    prediction.activity.as_ref()?;
    let (mut counters, mut missing, mut graphics) = (Vec::new(), Vec::new(), 0);
    for entry in &table.entries {
        let entry: &'static Entry = entry;
        let (name, title) = (entry.name.as_str(), entry.title());
        if entry.graphics {
            graphics += 1;
            continue;
        }
        match launch.value(entry, 0) {
            Ok(value) => counters.push(Counter {
                name,
                source: &entry.source,
                title,
                group: &entry.group,
                unit: &entry.unit,
                value,
                derived: match entry.how.as_deref().or(entry.equation.as_deref()) {
                    Some(_) if entry.is_fact() => "a property of the GPU",
                    derived => derived.unwrap_or_default(),
                },
                basis: if entry.is_fact() { Basis::Constant } else { entry.basis.unwrap_or(Basis::Equation) },
            }),
            Err(reason) => missing.push(Missing { name, title, reason }),
        }
    }
    let Table { naming, product, borrowed, .. } = table;
    Some(Counters { naming, product, borrowed, counters, missing, graphics })
}

/// Formulas of formulas, at most.
const DEPTH: usize = 8;

/// A launch whose counters are asked for.
struct CountedLaunch<'a> {
    gpu: &'a Gpu,
    prediction: &'a Prediction,
    table: &'a Table,
}

impl CountedLaunch<'_> {
    /// The value of a counter, or why it has none.
    fn value(&self, entry: &Entry, depth: usize) -> Result<f64, String> {
        // Compute work does not move it, and a formula may add it to counters that compute work moves.
        if entry.graphics {
            return Ok(0.0);
        }
        let Some(expression) = entry.expression() else {
            return Err(entry.not.clone().unwrap_or_else(|| "not modelled".to_owned()));
        };
        let unknown = |name: &str| ExpressionError::Unknown { name: name.to_owned() };
        let mut lookup = |name: &str| {
            if let Some(value) = self.fact(name) {
                return Ok(value);
            }
            // Two formulas of a data file may name each other. The depth ends that.
            let entry = self.table.entry(name).filter(|_| depth < DEPTH);
            entry.and_then(|entry| self.value(entry, depth + 1).ok()).ok_or_else(|| unknown(name))
        };
        let value = expression.and_then(|expression| expression.value(&mut lookup));
        // Without the sign of a zero.
        value.map(|value| value + 0.0).map_err(|error| error.to_string())
    }

    /// A fact about the launch or the GPU, under the names of the data files.
    fn fact(&self, name: &str) -> Option<f64> {
        let Self { gpu, prediction, .. } = self;
        let configuration = &gpu.configuration;
        Some(match name {
            "cycles" => prediction.cycles,
            // Arm's formulas divide by the length of a sample, which here is the launch.
            "seconds" | "MALI_CONFIG_TIME_SPAN" => prediction.seconds,
            "clock_hz" => f64::from(configuration.clock_mhz.value) * 1e6,
            "cores" | "MALI_CONFIG_SHADER_CORE_COUNT" => f64::from(configuration.cores.value),
            "MALI_CONFIG_L2_CACHE_COUNT" => f64::from(gpu.memory.l2_slices.value),
            "engines" => f64::from(gpu.core.arithmetic_pipes.value),
            "max_threads" => f64::from(gpu.core.max_threads.value),
            // Up to 32 registers a core holds all its threads. Above, each thread of a Mali GPU takes twice the room.
            "uses_all_registers" => f64::from(u8::from(prediction.registers > 32)),
            _ => return prediction.activity.as_ref()?.counts.get(name),
        })
    }
}
