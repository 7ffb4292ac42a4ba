//! GPU models as data with sources, and the matching of live devices to models.
//!
//! A model describes one GPU: cores, arithmetic rates, registers and how they limit the threads in flight, caches,
//! texture path. Every figure is a [`Sourced`]: it carries its [`Basis`] and its source, and a report can print both.
//! The models are TOML files below `data/` (its `README.md` describes the format) and are built in.
//!
//! ```
//! use tripipe_device::{Basis, find};
//!
//! let gpu = find("g610")?;
//! assert_eq!(gpu.name(), "Mali-G610");
//! assert_eq!(gpu.configuration.soc.value, "RK3588");
//!
//! // One register too many halves the threads in flight, and past the last one it spills.
//! assert_eq!(gpu.threads_per_core(32), Some(2048));
//! assert_eq!(gpu.threads_per_core(33), Some(1024));
//! assert_eq!(gpu.threads_per_core(65), None);
//!
//! let fma = &gpu.operations_per_clock_per_core.fp32_fma;
//! assert_eq!((fma.value, fma.basis), (64, Basis::Documented));
//! assert!(fma.source.citation.contains("Datasheet"));
//! # Ok::<(), tripipe_device::UnknownGpu>(())
//! ```
//!
//! An executor describes its device in a [`Probe`]; [`identify`] finds its model or the nearest relative, and reports
//! how certain the match is and why:
//!
//! ```
//! use tripipe_device::{Certainty, Probe, identify};
//!
//! let probe = Probe { name: "Mali-G610 MC6 r0p0".to_owned(), ..Probe::default() };
//! let found = identify(&probe);
//! assert_eq!(found.certainty, Certainty::SameProductOtherConfiguration);
//! assert_eq!(found.why, "the device is a Mali-G610 with 6 cores, the model has 4");
//! ```

mod boards;
mod catalog;
mod change;
mod cpu;
pub mod document;
pub mod drivers;
mod family;
mod generation;
mod gpu;
mod identify;
mod load;
pub mod nearest;
mod occupancy;
pub mod opencl;
mod powervr;
pub mod probe;
mod product;
mod sourced;

pub use boards::{Board, boards, find_board};
pub use catalog::{UnknownGpu, catalog, find};
pub use change::{GpuChange, GpuChangeError};
pub use cpu::{Cpu, IssueOrder, cpus, find_cpu};
pub use family::{Family, Vendor};
pub use gpu::{
    Configuration, Core, Gpu, Identity, Images, IssueRule, LocalMemory, LocalPlacement, Memory,
    OperationsPerClock, Registers, Supports, Texture, VectorWidth, VectorWidths,
};
pub use identify::{Certainty, Identification, identify};
pub use load::{DataError, DataReason};
pub use occupancy::{Occupancy, OccupancyStep, RegisterFile};
pub use opencl::{OpenCl, Svm};
pub use probe::{DeviceKind, ImageLimits, Probe};
pub use product::{GpuProduct, Revision};
pub use sourced::{Basis, Source, Sourced};
