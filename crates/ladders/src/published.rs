//! Figures measured and published by others, for comparison: `data/published.toml`, with the sources.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::problem::{Size, SizeKind};

const TEXT: &str = include_str!("../data/published.toml");

/// All published figures.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Published {
    /// The RGB Laplace ladder on a Mali-T604.
    pub laplace_t604: LaplaceT604,
    /// Half-precision matrix products on a Mali-G77 and an Adreno 650.
    pub gemm_fp16_1024: GemmFp16,
    /// Single-precision matrix products on a Mali-T604.
    pub gemm_fp32_t604: GemmFp32T604,
    /// Half-precision products of a vector and a matrix on an Adreno 620.
    pub gemv_fp16_a620: GemvFp16,
}

/// The RGB Laplace ladder on a Mali-T604 (Leadcore's slides after Arm's case study).
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct LaplaceT604 {
    /// The GPU.
    pub gpu: String,
    /// Its clock in MHz.
    pub clock_mhz: f64,
    /// The image sizes, as `WIDTHxHEIGHT`; every list below has one entry per image.
    pub columns: Vec<String>,
    /// Pixels of each image.
    pub pixels: Vec<u64>,
    /// Seconds of the first step.
    pub original_seconds: Vec<f64>,
    /// Seconds of the serial version on one Cortex-A15 at 1.7 GHz.
    pub cpu_seconds: Vec<f64>,
    /// The part of each time that is the same at all sizes, of the first step and of the others: not published, but
    /// fitted with the timing model.
    pub host_seconds: [f64; 2],
    /// The part of the CPU's times that is the same at all sizes: fitted with the model of the core to the smallest and
    /// the largest size.
    pub cpu_host_seconds: f64,
    /// The steps.
    pub step: Vec<LaplaceStep>,
}

/// One published step.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct LaplaceStep {
    /// Its name, the same as ours.
    pub name: String,
    /// Speed-up over the first step, for each image.
    pub speedup: Vec<f64>,
    /// Work registers reported by the offline compiler; `+` marks spills.
    pub work_registers: String,
    /// Cycles per work-item in the arithmetic pipe.
    pub alu_cycles: f64,
    /// Cycles per work-item in the load/store pipe.
    pub ls_cycles: f64,
}

/// Half-precision products at M = N = K = 1024.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GemmFp16 {
    /// Measured peaks by GPU, in 2^30 operations per second.
    pub peak_measured: BTreeMap<String, BTreeMap<String, f64>>,
    /// Gains of one version over another.
    pub ratio: Vec<GemmRatio>,
}

/// The gain of one version over another, by GPU.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GemmRatio {
    /// The faster version.
    pub version: String,
    /// The version it is compared with.
    pub over: String,
    /// Its gain on every GPU, when a single lower bound was published.
    pub at_least: Option<f64>,
    /// Its gain on each GPU.
    #[serde(flatten)]
    pub gpus: BTreeMap<String, f64>,
}

/// Single-precision products on a Mali-T604.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GemmFp32T604 {
    /// Speed-up over a serial Cortex-A15 at which large products level off.
    pub plateau_speedup_over_serial_a15: f64,
    /// Minimum number of work-items that fill the GPU.
    pub min_work_items_for_efficiency: u64,
    /// Minimum number of threads per core that fill a core.
    pub min_threads_per_core: u64,
    /// Maximum number of threads per core.
    pub max_threads_per_core: u64,
}

/// The shipped figures cannot be read.
#[derive(Debug, Error)]
#[error("data/published.toml: {0}")]
pub struct PublishedError(#[from] toml::de::Error);

/// Half-precision products of a row vector and a matrix.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GemvFp16 {
    /// The GPU.
    pub gpu: String,
    /// The sizes, as `MxNxK`.
    pub sizes: Vec<String>,
    /// The steps.
    pub step: Vec<GemvStep>,
}

/// The published times of one step.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GemvStep {
    /// Its name, the same as ours.
    pub name: String,
    /// Seconds, for each size.
    pub seconds: Vec<f64>,
}

impl GemvFp16 {
    /// The sizes.
    pub fn sizes(&self) -> Vec<Size> {
        self.sizes.iter().filter_map(|size| SizeKind::Matrix.parse(size).ok()).collect()
    }

    /// The published seconds of a step at a size; `None` when none were published.
    pub fn seconds(&self, step: &str, size: Size) -> Option<f64> {
        let column = self.sizes().iter().position(|published| *published == size)?;
        self.step.iter().find(|published| published.name == step)?.seconds.get(column).copied()
    }
}

impl Published {
    /// The figures that ship with the crate.
    ///
    /// # Errors
    /// The file is malformed, which a test rules out.
    pub fn load() -> Result<Self, PublishedError> {
        Ok(toml::from_str(TEXT)?)
    }
}

impl LaplaceT604 {
    /// The image sizes.
    pub fn sizes(&self) -> Vec<Size> {
        self.columns.iter().filter_map(|column| SizeKind::Image.parse(column).ok()).collect()
    }

    /// The part of the published times of a step that the host took.
    pub fn host_seconds(&self, step: &str) -> f64 {
        let is_first = self.step.first().is_some_and(|first| first.name == step);
        self.host_seconds[usize::from(!is_first)]
    }

    /// The published seconds of a step at a size; `None` when none were published.
    pub fn seconds(&self, step: &str, size: Size) -> Option<f64> {
        let column = self.sizes().iter().position(|published| *published == size)?;
        Some(self.original_seconds.get(column)? / self.speedup(step, size)?)
    }

    /// The published speed-up of a step over the first at a size; `None` when none was published.
    pub fn speedup(&self, step: &str, size: Size) -> Option<f64> {
        let column = self.sizes().iter().position(|published| *published == size)?;
        self.step.iter().find(|published| published.name == step)?.speedup.get(column).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_figures_are_whole() {
        let laplace = Published::load().unwrap().laplace_t604;
        assert_eq!(laplace.sizes().len(), laplace.columns.len());
        for (size, pixels) in laplace.sizes().iter().zip(&laplace.pixels) {
            let Size::Image { width, height } = size else { panic!("{size} is not an image") };
            assert_eq!((width * height) as u64, *pixels);
        }
        for list in [&laplace.original_seconds, &laplace.cpu_seconds] {
            assert_eq!(list.len(), laplace.columns.len());
        }
        for step in &laplace.step {
            assert_eq!(step.speedup.len(), laplace.columns.len(), "{}", step.name);
        }
        let largest = Size::Image { width: 7680, height: 4320 };
        assert_eq!(laplace.speedup("eight-pixels", largest), Some(9.1));
        assert_eq!(laplace.seconds("eight-pixels", largest), Some(0.680 / 9.1));
        assert_eq!([laplace.host_seconds("scalar"), laplace.host_seconds("vectorise")], laplace.host_seconds);
        assert_eq!(laplace.speedup("eight-pixels", Size::Image { width: 5, height: 5 }), None);
    }

    #[test]
    fn times_of_vectors_name_steps_of_the_ladder() {
        let gemv = Published::load().unwrap().gemv_fp16_a620;
        assert_eq!(gemv.sizes().len(), gemv.sizes.len());
        for step in &gemv.step {
            assert!(crate::gemv::LADDER.step(&step.name).is_some(), "{}", step.name);
            assert_eq!(step.seconds.len(), gemv.sizes.len(), "{}", step.name);
        }
        let size = Size::Matrix { m: 1, n: 4608, k: 1024 };
        assert_eq!(gemv.seconds("group-image", size), Some(1153e-6));
        assert_eq!(gemv.seconds("naive", size), None);
    }

    #[test]
    fn gemm_ratios_name_their_gpus() {
        let gemm = Published::load().unwrap().gemm_fp16_1024;
        let first = &gemm.ratio[0];
        assert_eq!((first.over.as_str(), first.gpus["mali-g77-mp9"]), ("naive", 17.0));
        assert!(gemm.ratio.iter().all(|ratio| ratio.at_least.is_some() == ratio.gpus.is_empty()));
    }
}
