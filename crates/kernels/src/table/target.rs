//! What tables apply to, and the basis of their contents.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The basis of an entry or of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A judgement without measurement.
    Guessed,
    /// The fastest by predicted times, on a virtual GPU.
    Predicted,
    /// Another library's tuning, taken from its sources.
    Published,
    /// Tuned by this library.
    Measured,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guessed => "guessed",
            Self::Predicted => "predicted",
            Self::Published => "published",
            Self::Measured => "measured",
        })
    }
}

/// The devices that an entry or times apply to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A product, by its vendor's name, e.g. `Mali-G610`, `Adreno 740`.
    Gpu(String),
    /// Devices without a model whose name contains this text, ignoring case, e.g. `NVIDIA H200`, `pthread`.
    Name(String),
    /// All devices of a kind: `cpu` or `gpu`.
    Kind(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(name) => f.write_str(name),
            Self::Name(part) => f.write_str(part),
            Self::Kind(kind) => write!(f, "any {}", kind.to_uppercase()),
        }
    }
}
