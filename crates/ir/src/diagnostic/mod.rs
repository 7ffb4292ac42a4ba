//! Errors of loading a kernel, and findings of checks and lints in a loaded one.

mod finding;

use std::fmt;

pub use finding::{AccessedMemory, Finding, Related, Rule, RuleKind, Severity, WorkItem};

/// A count with its noun: `1 byte`, `4 branches`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(count == 1, noun))
}

/// A noun in the singular or the plural.
pub fn plural(is_one: bool, noun: &str) -> String {
    let hisses = noun.ends_with("ch") || noun.ends_with('s') || noun.ends_with('x');
    format!(
        "{noun}{}",
        if is_one {
            ""
        } else if hisses {
            "es"
        } else {
            "s"
        }
    )
}

/// A location in a SPIR-V module, and in the source if the module has line information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpirvLocation {
    /// Instruction index, from 0 after the header.
    pub instruction: usize,
    /// Byte offset of the instruction in the module.
    pub byte: usize,
    /// Name of the instruction, empty if it has none.
    pub opcode: String,
    /// The kernel that contains it, empty outside of kernels.
    pub kernel: String,
    /// Source file, line and column.
    pub source: Option<SourceLocation>,
}

/// A location in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file as the front end names it.
    pub file: String,
    /// Line, 1-based.
    pub line: u32,
    /// Column, 1-based; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SpirvLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(SourceLocation { file, line, column }) = &self.source {
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
    /// The bytes are not a SPIR-V module.
    #[error("not a SPIR-V module: {reason} at byte {byte}")]
    Malformed {
        /// What is wrong.
        reason: String,
        /// The byte offset.
        byte: usize,
    },
    /// The module breaks a rule of SPIR-V.
    #[error("{location}: {reason}")]
    Invalid {
        /// The location.
        location: Box<SpirvLocation>,
        /// The rule.
        reason: String,
    },
    /// The module is valid, but uses an unsupported feature.
    #[error("{location}: {feature} is not supported")]
    Unsupported {
        /// The location.
        location: Box<SpirvLocation>,
        /// The feature.
        feature: String,
    },
    /// The module is larger than the limits allow.
    #[error("{location}: more than {limit} {what}")]
    TooLarge {
        /// The location.
        location: Box<SpirvLocation>,
        /// What exceeds the limit.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The kernel breaks an invariant of the IR: its values do not dominate their uses, or types disagree.
    #[error("kernel `{kernel}` is not well-formed: {error}")]
    Inconsistent {
        /// The kernel's name.
        kernel: String,
        /// The verifier's error.
        error: crate::verify::VerifyError,
    },
}

impl LoadError {
    /// The location in the module, if the error has one.
    pub fn location(&self) -> Option<&SpirvLocation> {
        match self {
            Self::Invalid { location, .. }
            | Self::Unsupported { location, .. }
            | Self::TooLarge { location, .. } => Some(location),
            Self::Malformed { .. } | Self::Inconsistent { .. } => None,
        }
    }
}
