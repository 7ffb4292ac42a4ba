//! Threads in flight on a core, by the registers that a work-item uses.

use crate::gpu::Gpu;
use crate::sourced::Sourced;

/// How register use limits the threads in flight.
#[derive(Clone, Debug, PartialEq)]
pub enum RegisterFile {
    /// Mali: a table of steps, each the largest register count that still allows that many threads. Registers rise and
    /// threads fall from step to step; the last step is the maximum register count of a work-item.
    Steps(Sourced<Vec<OccupancyStep>>),
    /// Adreno: the waves in flight share a register file.
    Waves {
        /// Registers (vec4) that the waves on one lane share.
        file_vec4: Sourced<u32>,
        /// Maximum number of waves on a core.
        max_waves: Sourced<u32>,
        /// Waves are allocated in groups of this many.
        wave_granularity: Sourced<u32>,
    },
}

/// One step of a Mali occupancy table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccupancyStep {
    /// Largest register count of the step.
    pub registers: u32,
    /// Threads that a core holds at up to that many registers.
    pub threads: u32,
}

impl Gpu {
    /// Work-items of a wave of a kernel that uses `registers` registers: on Adreno the double width as long as one group
    /// of double waves fits. A smaller work-group, or the rest of a larger one, occupies a whole wave.
    ///
    /// `required` is the sub-group size that the kernel requires, if it does: waves then have that width, if the GPU has
    /// such waves.
    pub fn wave_width(&self, registers: u32, required: Option<u32>) -> u32 {
        let single = self.core.warp_width.value;
        match (&self.registers.file, &self.core.warp_width_double) {
            (RegisterFile::Waves { .. }, Some(double)) if required == Some(double.value) => double.value,
            (RegisterFile::Waves { file_vec4, .. }, Some(double))
                if required != Some(single) && registers.max(1).saturating_mul(2) <= file_vec4.value =>
            {
                double.value
            }
            _ => single,
        }
    }

    /// The threads in flight on a core when each uses `registers` registers, of this GPU's own width
    /// (`registers.width_bits`: vec4 of 32 bits on Midgard and Adreno, 32 bits on Bifrost and later Mali). 0 counts as 1.
    /// A kernel that needs more than `registers.max` spills the rest to memory, and runs with the threads of that many, as
    /// the published steps of Arm's compiler do (docs/model.md). `required` is as in [`Self::wave_width`].
    ///
    /// The result does not rise with the register count. Local memory, barriers and the work-group size are not
    /// considered.
    pub fn occupancy(&self, registers: u32, required: Option<u32>) -> Occupancy {
        let most = self.core.max_threads.value;
        let registers = registers.clamp(1, self.registers.max.value.max(1));
        let threads = match &self.registers.file {
            RegisterFile::Steps(steps) => {
                let step = steps.value.iter().find(|step| registers <= step.registers);
                step.map_or(self.core.warp_width.value, |step| step.threads)
            }
            RegisterFile::Waves { file_vec4, max_waves, wave_granularity } => {
                let width = self.wave_width(registers, required);
                let cost = if width > self.core.warp_width.value { 2 * registers } else { registers };
                // Waves of the required width spill until one fits.
                let waves = wave_granularity.value.saturating_mul((file_vec4.value / cost).max(1));
                waves.min(max_waves.value) * width
            }
        };
        Occupancy { threads, most }
    }

    /// Threads in flight on a core when each uses `registers` registers: [`Self::occupancy`]. `None` if the kernel
    /// spills.
    pub fn threads_per_core(&self, registers: u32) -> Option<u32> {
        (registers <= self.registers.max.value).then(|| self.occupancy(registers, None).threads)
    }
}

/// The threads (work-items) that a core keeps in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// How many a kernel's registers allow, at least 1.
    pub threads: u32,
    /// The most that any kernel has.
    pub most: u32,
}

impl Occupancy {
    /// The threads as a fraction of the most, above 0 and at most 1.
    pub fn share(self) -> f64 {
        f64::from(self.threads) / f64::from(self.most.max(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::catalog::{catalog, find};

    /// Register counts and threads on both sides of every step. Mali: Arm GPU Datasheet and offline compiler guide.
    /// Adreno: the full, half and quarter points of Mesa's wave rule.
    #[test]
    fn the_cliffs_are_where_they_are_known_to_be() {
        #[rustfmt::skip]
        let cases: &[(&str, &[(u32, u32)])] = &[
            ("t604", &[(1, 256), (4, 256), (5, 128), (8, 128), (9, 64), (16, 64)]),
            ("t880", &[(4, 256), (5, 192), (8, 192), (9, 96), (16, 96)]),
            ("g71", &[(1, 384), (32, 384), (33, 384), (64, 384)]),
            ("g72", &[(1, 384), (64, 384)]),
            ("g31", &[(32, 512), (33, 256), (64, 256)]),
            ("g31-1ee", &[(32, 256), (33, 128), (64, 128)]),
            ("g76", &[(32, 768), (33, 384), (64, 384)]),
            ("g77", &[(32, 1024), (33, 512), (64, 512)]),
            ("g610", &[(32, 2048), (33, 1024), (64, 1024)]),
            ("g720", &[(32, 2048), (33, 1024), (64, 1024)]),
            ("530", &[(3, 1024), (4, 768), (6, 512), (12, 256), (24, 128), (25, 64), (48, 64)]),
            ("640", &[(6, 2048), (7, 1536), (12, 1024), (24, 512), (48, 256)]),
            ("650", &[(4, 2048), (5, 1536), (8, 1024), (16, 512), (32, 256), (33, 128), (48, 128)]),
            ("618", &[(6, 2048), (7, 1536), (12, 1024), (24, 512), (48, 256)]),
            ("740", &[(6, 2048), (12, 1024), (24, 512), (48, 256)]),
            ("642L", &[(4, 2048), (5, 1536), (8, 1024), (16, 512), (32, 256), (33, 128), (48, 128)]),
            // Waves of 64 only; half a core of a 740.
            ("830", &[(6, 1024), (7, 832), (12, 512), (24, 256), (48, 128)]),
            ("840", &[(8, 1024), (9, 896), (16, 512), (32, 256), (48, 128)]),
        ];
        for (name, points) in cases {
            let gpu = find(name).unwrap();
            for (registers, threads) in *points {
                let found = gpu.threads_per_core(*registers);
                assert_eq!(found, Some(*threads), "{name} with {registers} registers");
            }
            assert_eq!(gpu.threads_per_core(gpu.registers.max.value + 1), None, "{name}");
        }
    }

    #[test]
    fn no_register_is_as_good_as_one() {
        for gpu in catalog() {
            assert_eq!(gpu.threads_per_core(0), gpu.threads_per_core(1));
            assert_eq!(gpu.occupancy(1, None).share(), 1.0, "{}", gpu.name());
            let most = gpu.registers.max.value;
            assert_eq!(gpu.occupancy(most + 1, None), gpu.occupancy(most, None), "{}", gpu.name());
        }
    }

    proptest! {
        #[test]
        fn more_registers_never_give_more_threads(model in 0..catalog().len(), registers in 0_u32..80) {
            let gpu = &catalog()[model];
            let (fewer, more) = (gpu.threads_per_core(registers), gpu.threads_per_core(registers + 1));
            // `None` (spilling) sorts below every count.
            prop_assert!(fewer >= more);
            prop_assert_eq!(fewer.is_none(), registers > gpu.registers.max.value);
            if let Some(threads) = fewer {
                prop_assert!(threads > 0 && threads <= gpu.core.max_threads.value);
                prop_assert_eq!(threads % gpu.core.warp_width.value, 0);
            }
        }
    }
}
