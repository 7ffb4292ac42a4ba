//! Why a kernel could not be loaded, and what checks and lints find in one that was.

mod finding;

use std::fmt;

pub use finding::{AccessedMemory, Finding, Related, Rule, Severity, WorkItem};

/// A place in a SPIR-V module, and in the source if the module says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpirvPlace {
    /// Instruction, counted from 0 behind the header.
    pub instruction: usize,
    /// Byte offset of the instruction in the module.
    pub byte: usize,
    /// Name of the instruction, empty if it has none.
    pub opcode: String,
    /// The kernel it was met in, empty outside of kernels.
    pub kernel: String,
    /// Source file, line and column.
    pub source: Option<SourcePlace>,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file as the front end names it.
    pub file: String,
    /// Line, 1-based.
    pub line: u32,
    /// Column, 1-based; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SpirvPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(SourcePlace { file, line, column }) = &self.source {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        if !self.kernel.is_empty() {
            write!(f, "kernel `{}`, ", self.kernel)?;
        }
        write!(f, "{} at byte {} (instruction {})", self.opcode, self.byte, self.instruction)
    }
}

/// Why a SPIR-V module could not be loaded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The bytes are no SPIR-V module.
    #[error("not a SPIR-V module: {reason} at byte {byte}")]
    Malformed {
        /// What is wrong.
        reason: String,
        /// Where.
        byte: usize,
    },
    /// The module breaks a rule of SPIR-V.
    #[error("{place}: {reason}")]
    Invalid {
        /// Where.
        place: Box<SpirvPlace>,
        /// Which rule.
        reason: String,
    },
    /// The module is right, but uses what is not supported.
    #[error("{place}: {feature} is not supported")]
    Unsupported {
        /// Where.
        place: Box<SpirvPlace>,
        /// What.
        feature: String,
    },
    /// The module is larger than the limits allow.
    #[error("{place}: more than {limit} {what}")]
    TooLarge {
        /// Where.
        place: Box<SpirvPlace>,
        /// Of what.
        what: &'static str,
        /// How many are allowed.
        limit: usize,
    },
    /// The kernel breaks an invariant of the form: its values do not dominate their uses, or types disagree.
    #[error("kernel `{kernel}` is not well-formed: {error}")]
    Inconsistent {
        /// Which kernel.
        kernel: String,
        /// What the verifier says.
        error: crate::verify::VerifyError,
    },
}

impl LoadError {
    /// The place, if the error has one inside a module.
    pub fn place(&self) -> Option<&SpirvPlace> {
        match self {
            Self::Invalid { place, .. } | Self::Unsupported { place, .. } | Self::TooLarge { place, .. } => {
                Some(place)
            }
            Self::Malformed { .. } | Self::Inconsistent { .. } => None,
        }
    }
}
