//! The OpenCL C kernels of the library, by family, with their references.
//!
//! A *family* is one folder: its `.cl` files (which compile separately with their defaults), the Rust code that
//! launches them ([`Plan`]), the constraints, and a serial reference on the CPU.

pub mod ceilings;
mod nearest;
pub mod plan;
mod role;

pub mod elementwise;
pub mod filter;
pub mod gemm;

pub use plan::{Output, Plan, PlanError, Slot, Staged};
pub use role::Role;
