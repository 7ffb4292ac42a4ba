//! What the calls of the host cost beside kernels: launches, copies, and maps. The icd's driver and
//! [`schedule`](crate::schedule) go by it.
//!
//! Not modelled: `clFlush`, which is part of a launch, and the time until a waiting thread runs again.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use tripipe_device::document::built_in;
use tripipe_device::{Basis, Gpu, Source, Sourced, Vendor};

use crate::figures::{Provenance, provenance};

/// `data/map.toml`.
#[derive(Debug, Deserialize)]
struct MapFile {
    map: Maps,
}

/// The cost of maps, by vendor.
#[derive(Debug, Deserialize)]
struct Maps {
    arm: MapData,
    qualcomm: MapData,
}

/// The cost of a map or unmap.
#[derive(Debug, Deserialize)]
struct MapData {
    basis: String,
    source: String,
    /// Bandwidth of the maintenance of caches as a share of the memory's; without it there is none.
    maintenance_share: Option<f64>,
}

static MAPS: LazyLock<Maps> =
    LazyLock::new(|| built_in("map.toml", toml::from_str::<MapFile>(include_str!("../data/map.toml"))).map);

/// What the host's calls cost beside a GPU, each with its provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCosts {
    /// Seconds of the host for a launch, and for other calls: a map or unmap without the maintenance of caches, a copy
    /// until it starts.
    pub launch: Sourced<f64>,
    /// Seconds of the host for a launch of a list that was recorded before; `None` if nobody has measured it.
    pub recorded_launch: Option<Sourced<f64>>,
    /// Bytes per second of a copy, which reads and writes each of them.
    pub copy_rate: Sourced<f64>,
    /// Bytes per second of the maintenance of caches at a map or unmap; `None` if there is none.
    pub maintenance_rate: Option<Sourced<f64>>,
}

impl HostCosts {
    /// Those of a GPU's driver.
    pub fn of(gpu: &Gpu) -> Self {
        let figures = provenance(gpu);
        let micros = |name: &str| figures.get(name).map(|figure| sourced(figure, 1e-6));
        let peak = &gpu.configuration.dram_gb_s_peak;
        let rate = |share: f64, basis, source| Sourced {
            value: share * peak.value * 1e9,
            basis,
            source,
            note: None,
        };
        let map = match gpu.vendor() {
            Vendor::Arm => &MAPS.arm,
            Vendor::Qualcomm => &MAPS.qualcomm,
        };
        let basis = map.basis.parse().unwrap_or(Basis::Guessed);
        let source = Arc::new(Source { id: "map".to_owned(), citation: map.source.clone() });
        Self {
            // Every family has it.
            launch: micros("launch_us").unwrap_or_else(|| rate(0.0, Basis::Guessed, Arc::clone(&source))),
            recorded_launch: micros("recorded_launch_us").filter(|cost| cost.value > 0.0),
            copy_rate: rate(0.5, peak.basis, Arc::clone(&peak.source)),
            maintenance_rate: map.maintenance_share.map(|share| rate(share, basis, source)),
        }
    }

    /// Seconds of a copy in the memory of the device.
    pub fn copy_seconds(&self, bytes: u64) -> f64 {
        bytes as f64 / self.copy_rate.value
    }

    /// Seconds of the maintenance of caches for bytes that become visible.
    pub fn maintenance_seconds(&self, bytes: u64) -> f64 {
        self.maintenance_rate.as_ref().map_or(0.0, |rate| bytes as f64 / rate.value)
    }
}

fn sourced(figure: &Provenance, unit: f64) -> Sourced<f64> {
    let Provenance { value, basis, source, note } = figure.clone();
    Sourced { value: value * unit, basis, source, note }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(gpu: &str) -> HostCosts {
        HostCosts::of(tripipe_device::find(gpu).unwrap())
    }

    /// The published costs of a launch, and guesses elsewhere.
    #[test]
    fn launches_cost_what_was_published() {
        let adreno = of("adreno-620");
        assert!((adreno.launch.value - 18.7e-6).abs() < 1e-12 && adreno.launch.basis == Basis::Measured);
        assert!(adreno.recorded_launch.is_some_and(|cost| (cost.value - 8.6e-6).abs() < 1e-12));
        let t604 = of("mali-t604");
        assert!((t604.launch.value - 149e-6).abs() < 1e-12 && t604.launch.basis == Basis::Measured);
        let other = of("mali-g610");
        assert!((other.launch.value - 60e-6).abs() < 1e-12 && other.launch.basis == Basis::Guessed);
        assert_eq!(other.recorded_launch, None);
    }

    /// clpeak on a Mali-T860 with 14.9 GB/s unmaps at 4.71 GB/s; an Adreno does without the maintenance.
    #[test]
    fn maps_cost_what_clpeak_measured() {
        let t860 = of("mali-t860");
        let peak = tripipe_device::find("mali-t860").unwrap().configuration.dram_gb_s_peak.value;
        let rate = 1e9 / t860.maintenance_seconds(1_000_000_000) / 1e9 * 14.9 / peak;
        assert!((rate / 4.71 - 1.0).abs() < 0.3, "{rate}");
        assert!(of("adreno-530").maintenance_seconds(1 << 30) == 0.0);
        // Both directions of a copy share the bandwidth.
        let seconds = t860.copy_seconds(1_000_000);
        assert!((seconds * peak * 1e9 - 2e6).abs() < 1.0);
    }
}
