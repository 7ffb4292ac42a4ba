//! Classes of shapes that need the same kernel.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::description::Gemm;

/// A class of shapes, from the least reuse of elements to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// C has one row or one column.
    Vector,
    /// C has fewer than 32 rows or columns.
    Skinny,
    /// Up to 256^3 multiply-adds, over all products of a batch: launches take as long as arithmetic.
    Small,
    /// Up to 768^3 multiply-adds.
    Medium,
    /// Up to 1536^3 multiply-adds.
    Large,
    /// More than 1536^3: enough of the largest blocks for every core of a server GPU.
    Huge,
}

impl Shape {
    /// All classes, in order.
    pub const ALL: [Self; 6] =
        [Self::Vector, Self::Skinny, Self::Small, Self::Medium, Self::Large, Self::Huge];

    /// The class of a product.
    pub fn of(gemm: &Gemm) -> Self {
        let work = gemm.operations() / 2.0;
        match gemm.m.min(gemm.n) {
            0 | 1 => Self::Vector,
            2..32 => Self::Skinny,
            _ if work <= 256f64.powi(3) => Self::Small,
            _ if work <= 768f64.powi(3) => Self::Medium,
            _ if work <= 1536f64.powi(3) => Self::Large,
            _ => Self::Huge,
        }
    }

    /// Number of classes between this one and another.
    pub(super) fn distance(self, other: Self) -> usize {
        (self as usize).abs_diff(other as usize)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vector => "vector",
            Self::Skinny => "skinny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Huge => "huge",
        })
    }
}
