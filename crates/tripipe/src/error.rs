//! What can go wrong in an operation.

use thiserror::Error;
use tripipe_kernels::PlanError;
use tripipe_launch::ExecuteError;
use tripipe_opencl::DevicesError;

use crate::cpu::CpuError;

/// Why a device was not found or an operation failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A device name that is none.
    #[error("unknown device `{name}`: want auto, cpu, opencl, or opencl:N as `tripipe devices` numbers them")]
    UnknownDevice {
        /// What was given.
        name: String,
    },
    /// OpenCL was asked for and there is none.
    #[error("{0}")]
    NoOpenCl(#[from] DevicesError),
    /// There are not that many OpenCL devices.
    #[error("no OpenCL device {index}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The CPU path refused.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// The operands do not fit the device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// An operand of the wrong length.
    #[error("{operand} has {found} elements, {want} were expected")]
    Length {
        /// Which.
        operand: &'static str,
        /// How many elements it should have.
        want: usize,
        /// How many it has.
        found: usize,
    },
    /// The device does not compute in this type.
    #[error("{device} does not offer {what}; the CPU path does (--device cpu)")]
    NotOffered {
        /// The device.
        device: String,
        /// What it lacks.
        what: &'static str,
    },
}
