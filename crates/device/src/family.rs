//! GPU vendors, and families of shader cores.

use std::fmt;

use crate::sourced::word;

/// The designer of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vendor {
    /// Arm: Mali and Immortalis.
    Arm,
    /// Qualcomm: Adreno.
    Qualcomm,
}

impl Vendor {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("arm", Self::Arm), ("qualcomm", Self::Qualcomm)];
}

impl fmt::Display for Vendor {
    /// The vendor's name as the vendor writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Arm => "Arm",
            Self::Qualcomm => "Qualcomm",
        })
    }
}

/// A family of GPUs with the same execution model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Mali-T6xx to T8xx: vector bundles, work-items independent of each other.
    Midgard,
    /// Mali-G31 to G76: clauses of paired scalar operations, warps of 4 or 8.
    Bifrost,
    /// Mali-G57 to G715: scalar instructions, warps of 16.
    Valhall,
    /// Mali and Immortalis from G720.
    Arm5thGen,
    /// Adreno 500 to 599.
    Adreno5xx,
    /// Adreno 600 to 699.
    Adreno6xx,
    /// Adreno 700 to 799, and X1.
    Adreno7xx,
    /// Adreno 800 to 899, and X2: a core has half the lanes of a 7xx core, and there are no double waves.
    Adreno8xx,
}

impl Family {
    pub(crate) const WORDS: &'static [(&'static str, Self)] = &[
        ("midgard", Self::Midgard),
        ("bifrost", Self::Bifrost),
        ("valhall", Self::Valhall),
        ("arm5thgen", Self::Arm5thGen),
        ("adreno5xx", Self::Adreno5xx),
        ("adreno6xx", Self::Adreno6xx),
        ("adreno7xx", Self::Adreno7xx),
        ("adreno8xx", Self::Adreno8xx),
    ];

    /// The designer of GPUs of this family.
    pub fn vendor(self) -> Vendor {
        match self {
            Self::Midgard | Self::Bifrost | Self::Valhall | Self::Arm5thGen => Vendor::Arm,
            Self::Adreno5xx | Self::Adreno6xx | Self::Adreno7xx | Self::Adreno8xx => Vendor::Qualcomm,
        }
    }

    /// The word the data files use, e.g. `valhall`.
    pub fn id(self) -> &'static str {
        word(Self::WORDS, self)
    }
}

impl fmt::Display for Family {
    /// The usual name of the family.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Midgard => "Midgard",
            Self::Bifrost => "Bifrost",
            Self::Valhall => "Valhall",
            Self::Arm5thGen => "Arm 5th Gen",
            Self::Adreno5xx => "Adreno 5xx",
            Self::Adreno6xx => "Adreno 6xx",
            Self::Adreno7xx => "Adreno 7xx",
            Self::Adreno8xx => "Adreno 8xx",
        })
    }
}
