//! Processor families that filters distinguish, and what is known about each: `data/filter.toml`, as constants that the
//! build makes of it.

use tripipe_device::{DeviceKind, Family as Model, Probe, Vendor, identify};

use super::{Fuse, Loads, Parameters, Sums};

include!(concat!(env!("OUT_DIR"), "/filter.rs"));

/// Processor families that filters distinguish, in the order of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// 128-bit vector units; a load occupies its pipe equally long at every width.
    Midgard,
    /// Warps of scalar 32-bit lanes, each of which takes two shorts: Bifrost and every later Mali.
    Bifrost,
    Adreno,
    Processor,
    /// Scalar lanes that split vector loads at odd addresses into elements and gain nothing from 16 bits.
    Desktop,
}

/// The figures of a family; the data describes them.
pub(super) struct Figures {
    family: Family,
    operations_per_byte: f64,
    vectors: bool,
    short_lanes: bool,
    register_bytes: Option<usize>,
    pub(super) median_rows: Option<usize>,
    pub(super) median_loads: Option<Loads>,
    /// Why sources are read as images where that is possible.
    pub(super) images: Option<&'static str>,
}

/// The parameters of a family for some chains.
pub(super) struct Preset {
    family: Family,
    chains: Chains,
    pub(super) lanes_of_vector: bool,
    pub(super) parameters: Parameters,
    pub(super) why: &'static str,
    pub(super) source: &'static str,
}

/// The chains that a preset is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chains {
    All,
    /// Some stage has sums two to a register.
    Paired,
    Median,
}

/// The figures are in the order of the variants, and each family has a preset for every chain.
const _: () = {
    let mut at = 0;
    while at < FAMILIES.len() {
        assert!(FAMILIES[at].family as usize == at, "data/filter.toml: families out of order");
        let (mut preset, mut found) = (0, false);
        while preset < PRESETS.len() {
            let Preset { family, chains, .. } = &PRESETS[preset];
            found |= *family as usize == at && matches!(chains, Chains::All);
            preset += 1;
        }
        assert!(found, "data/filter.toml: a family without a preset for all chains");
        at += 1;
    }
    assert!(FAMILIES.len() == Family::Desktop as usize + 1, "data/filter.toml: a family without figures");
};

impl Family {
    /// The family of a device, by its identification. A GPU that is not identified counts as a desktop GPU.
    pub(super) fn of(probe: &Probe) -> Self {
        if probe.kind == DeviceKind::Cpu {
            return Self::Processor;
        }
        let device = identify(probe);
        match (device.family, device.vendor) {
            (Some(Model::Midgard), _) => Self::Midgard,
            (Some(Model::Bifrost | Model::Valhall | Model::Arm5thGen), _) | (None, Some(Vendor::Arm)) => {
                Self::Bifrost
            }
            (Some(Model::Adreno5xx | Model::Adreno6xx | Model::Adreno7xx | Model::Adreno8xx), _)
            | (None, Some(Vendor::Qualcomm)) => Self::Adreno,
            (None, None) => Self::Desktop,
        }
    }

    pub(super) fn figures(self) -> &'static Figures {
        &FAMILIES[self as usize]
    }

    /// The preset for a chain.
    pub(super) fn preset(self, paired: bool, median: bool) -> &'static Preset {
        let fits = |preset: &&Preset| {
            preset.family == self
                && match preset.chains {
                    Chains::All => true,
                    Chains::Paired => paired,
                    Chains::Median => median,
                }
        };
        // Each family has one for all chains.
        PRESETS.iter().find(fits).unwrap_or(&PRESETS[0])
    }

    /// Operations on 32-bit lanes in the time that a byte takes to or from memory.
    pub(super) fn operations_per_byte(self) -> f64 {
        self.figures().operations_per_byte
    }

    /// Whether it has vector registers, whose unused lanes cost as much as the others.
    pub(super) fn has_vectors(self) -> bool {
        self.figures().vectors
    }

    /// Bytes of registers that a work-item may use before it spills: those of the device's model, or of its family;
    /// `None` for processors.
    pub(super) fn register_bytes(self, probe: &Probe) -> Option<usize> {
        let own = self.figures().register_bytes?;
        let model = identify(probe).model.map(|gpu| &gpu.registers);
        Some(model.map_or(own, |registers| (registers.max.value * registers.width_bits.value / 8) as usize))
    }

    /// Whether two 16-bit lanes cost as much as one 32-bit lane.
    pub(super) fn has_short_lanes(self) -> bool {
        self.figures().short_lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as drivers report them.
    #[test]
    fn devices_have_the_family_of_their_identification() {
        for (name, version, kind, want) in [
            ("Mali-T860", "", DeviceKind::Gpu, Family::Midgard),
            ("Mali-G52 r1p0", "", DeviceKind::Gpu, Family::Bifrost),
            ("Mali-G610 MC4 r0p0", "", DeviceKind::Gpu, Family::Bifrost),
            ("Immortalis-G720", "", DeviceKind::Gpu, Family::Bifrost),
            ("QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 640", DeviceKind::Gpu, Family::Adreno),
            ("QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 999", DeviceKind::Gpu, Family::Adreno),
            ("NVIDIA H200", "OpenCL 3.0 CUDA", DeviceKind::Gpu, Family::Desktop),
            ("Some other", "", DeviceKind::Gpu, Family::Desktop),
            ("pthread", "", DeviceKind::Cpu, Family::Processor),
        ] {
            let probe =
                Probe { name: name.to_owned(), version: version.to_owned(), kind, ..Probe::default() };
            assert_eq!(Family::of(&probe), want, "{name} {version}");
        }
    }
}
