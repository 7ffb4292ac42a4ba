//! The form of the data files.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Pipe, RegisterLayout, Unit};

/// The contents of a data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) layout: RegisterLayout,
    pub(super) unit: Vec<UnitEntry>,
    pub(super) operation: BTreeMap<String, Section>,
    #[serde(default)]
    pub(super) variant: Vec<Variant>,
}

/// Settings for only some GPUs of the family, or for one generation of its compilers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    pub(super) gpus: Vec<String>,
    pub(super) compiler: Option<String>,
    #[expect(dead_code, reason = "for the reader of the file")]
    pub(super) basis: String,
    #[expect(dead_code, reason = "for the reader of the file")]
    pub(super) source: String,
    #[expect(dead_code, reason = "for the reader of the file")]
    pub(super) note: String,
    /// Units that are not used where another one can do the operation.
    #[serde(default)]
    pub(super) without: Vec<String>,
    /// Overrides the layout's value.
    pub(super) preferred_registers: Option<u32>,
    /// Overrides the layout's value.
    pub(super) spill_share: Option<f64>,
    /// Overrides the layout's value.
    pub(super) spare_registers: Option<u32>,
    /// Overrides the layout's value.
    pub(super) joins_halves: Option<bool>,
    /// Overrides the layout's value.
    pub(super) half_rate_lanes: Option<u32>,
    /// Overrides the layout's value.
    pub(super) unaligned_elements: Option<u32>,
    /// Overrides the layout's value.
    pub(super) items_together_bits: Option<u32>,
    #[serde(default)]
    pub(super) operation: BTreeMap<String, Section>,
}

impl Variant {
    /// Whether it is for a GPU or a generation of compilers, by their name.
    pub(super) fn is_for(&self, name: &str) -> bool {
        self.gpus.iter().map(String::as_str).chain(self.compiler.as_deref()).any(|own| own == name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnitEntry {
    pub(super) name: String,
    pub(super) pipe: Pipe,
    #[serde(default)]
    pub(super) bits: u32,
    #[serde(default = "one_clock")]
    pub(super) cycles: f64,
    #[serde(default)]
    pub(super) stage: u32,
    pub(super) word: Option<u32>,
}

impl UnitEntry {
    pub(super) fn unit(self) -> Unit {
        let Self { name, pipe, bits, cycles, stage, word } = self;
        Unit { name, pipe, bits, cycles, stage, word }
    }
}

pub(super) fn one_clock() -> f64 {
    1.0
}

/// The costs of operations on one type.
#[derive(Deserialize)]
pub(super) struct Section {
    pub(super) basis: String,
    pub(super) source: String,
    pub(super) like: Option<String>,
    #[serde(flatten)]
    pub(super) works: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    Plain(String),
    Full {
        takes: String,
        most: Option<String>,
        basis: Option<String>,
        source: Option<String>,
        note: Option<String>,
    },
}
