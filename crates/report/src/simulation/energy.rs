//! The energy of a launch.

use std::fmt::Write as _;

use tripipe_results::{EnergyPart, LaunchEnergy};
use tripipe_timing::energy::Energy;

use crate::number::significant;

/// The estimate with its parts, basis and source, or why there is none.
pub(super) fn sentence(energy: &Result<Energy, String>, gpu: &str) -> String {
    let energy = match energy {
        Ok(energy) => energy,
        Err(reason) => return format!("Energy on {gpu}: {reason}."),
    };
    let total = energy.joules;
    // Counters that nothing moved would only lengthen the list.
    let parts = energy.parts.iter().filter(|(_, joules)| *joules != 0.0);
    let parts: Vec<String> =
        parts.map(|(name, joules)| format!("{name} {}", crate::number::percent(joules / total))).collect();
    let rate = energy.gflops_per_watt().map_or_else(
        || "no floating-point operations".to_owned(),
        |rate| format!("{} GFLOP/s per W", significant(rate)),
    );
    format!(
        "Energy on {gpu}: {} mJ, {} W while the kernel runs, {rate}, at {} V ({}). {}",
        significant(total * 1e3),
        significant(energy.watts),
        significant(energy.reference_volts),
        parts.join(", "),
        basis(energy)
    )
}

/// What an estimate is based on.
pub(crate) fn basis(energy: &Energy) -> String {
    let mut said = format!(
        "The coefficients are {} ({}), with its usual scale of {}, which makers of chips replace: better for comparing \
         kernels than as a figure. DRAM, static power and the host are not in it.",
        energy.basis,
        energy.source,
        significant(energy.scale)
    );
    if !energy.missing.is_empty() {
        let _ = write!(said, " Not predicted, and so not in it: {}.", energy.missing.join(", "));
    }
    said
}

pub(super) fn result(energy: &Result<Energy, String>) -> LaunchEnergy {
    let known = energy.as_ref().ok();
    let part =
        |(counter, joules): &(&str, f64)| EnergyPart { counter: (*counter).to_owned(), joules: *joules };
    LaunchEnergy {
        joules: known.map(|energy| energy.joules),
        watts: known.map(|energy| energy.watts),
        gflops_per_watt: known.and_then(Energy::gflops_per_watt),
        parts: known.map_or_else(Vec::new, |energy| energy.parts.iter().map(part).collect()),
        missing: known
            .map_or_else(Vec::new, |energy| energy.missing.iter().map(|name| (*name).to_owned()).collect()),
        sentence: sentence(energy, "this GPU"),
    }
}
