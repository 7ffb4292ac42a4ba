//! The OpenCL C kernels of the library, by family, with their references.
//!
//! A *family* is one folder: the Rust code that launches its programs ([`Plan`]), the constraints, and a serial reference
//! on the CPU. The OpenCL C is in the folder `cl`, in parts that are read one by one; [`source`] puts them together.

pub mod bench;
pub mod ceilings;
mod nearest;
pub mod plan;
mod role;
pub mod source;
mod space;
mod table;

pub mod elementwise;
pub mod filter;
pub mod gemm;
pub mod quantised;

pub use plan::{Output, Plan, PlanError, Slot, Staged};
pub use role::Role;
pub use space::{Dimension, Points, Space, SpaceSize, spread};
pub use table::{Basis, Table, TableError, TableFile, Target, TimeOf, TimeSeries, TimedSubject};
