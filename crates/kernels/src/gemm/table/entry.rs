//! Entries of a table.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::gemm::description::{Accumulate, Elements};
use crate::gemm::parameters::Parameters;
use crate::gemm::shape::Shape;
use crate::table::{Basis, Target};

/// The element types of an entry. Kinds that are summed in different types need different tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ElementKind {
    /// [`Elements::F32`]
    #[serde(rename = "f32")]
    F32,
    /// [`Elements::F64`], for which there are no kernels
    #[serde(rename = "f64")]
    F64,
    /// [`Accumulate::F16`]
    #[serde(rename = "f16")]
    F16,
    /// [`Accumulate::F32`]
    #[serde(rename = "f16-f32")]
    F16InF32,
    /// [`Accumulate::Chunked`]
    #[serde(rename = "f16-chunked")]
    F16Chunked,
    /// [`Elements::I8ToI32`] and [`Elements::I8ToI8`]
    #[serde(rename = "i8")]
    I8,
}

impl ElementKind {
    /// The kind of a product's elements.
    pub fn of(elements: Elements) -> Self {
        match elements {
            Elements::F32 => Self::F32,
            Elements::F64 => Self::F64,
            Elements::F16(Accumulate::F16) => Self::F16,
            Elements::F16(Accumulate::F32) => Self::F16InF32,
            Elements::F16(Accumulate::Chunked { .. }) => Self::F16Chunked,
            Elements::I8ToI32 | Elements::I8ToI8(_) => Self::I8,
        }
    }

    const ALL: [Self; 6] = [Self::F32, Self::F64, Self::F16, Self::F16InF32, Self::F16Chunked, Self::I8];

    /// The kind of this name, as it prints.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.to_string() == name)
    }

    /// 0 for the same kind, 1 for kinds with the same register use or the same element size, otherwise 2.
    pub(super) fn distance(self, other: Self) -> u8 {
        use ElementKind::{F16, F16Chunked, F16InF32, F32};
        match (self, other) {
            _ if self == other => 0,
            (F16 | F16Chunked | F16InF32, F16 | F16Chunked | F16InF32)
            | (F32, F16InF32)
            | (F16InF32, F32) => 1,
            _ => 2,
        }
    }
}

impl fmt::Display for ElementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name in files.
        self.serialize(f)
    }
}

/// The result of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// 10^9 operations per second, including the packing of operands that change.
    pub gflops: f64,
    /// Extents m, n, k and the number of products.
    pub size: [usize; 4],
    /// The device's name.
    pub device: String,
    /// Its driver's version.
    pub driver: String,
    /// Version of this library.
    pub version: String,
    /// Day, as `2026-11-21`.
    pub date: String,
}

/// Parameters for one GPU, kind of elements and class of shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The devices.
    pub on: Target,
    /// The element types.
    pub elements: ElementKind,
    /// The shapes.
    pub shape: Shape,
    /// The parameters.
    pub parameters: Parameters,
    /// The basis of the entry.
    pub basis: Basis,
    /// The source of the entry.
    pub source: String,
    /// The measurement, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measurement>,
}
