//! The vendors' counters and how each is derived, from `data/counters`.

use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::document::built_in;
use tripipe_device::{Family, Gpu};

use super::expression::{Expression, ExpressionError};

/// How well a derived counter is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// It counts what the model itself counts. The model's own errors remain.
    Exact,
    /// The model has something near it.
    Approximated,
    /// It follows from the GPU or from there being one launch.
    Constant,
    /// The vendor's own formula, from other counters here.
    Equation,
}

impl Basis {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Approximated => "approximated",
            Self::Constant => "constant",
            Self::Equation => "equation",
        }
    }
}

/// A counter, as a data file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Its name in the hardware's tables.
    #[serde(default)]
    pub(crate) source: String,
    /// Other names, separated by commas.
    #[serde(default)]
    pub(crate) also: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    pub(crate) group: String,
    #[serde(default)]
    pub(crate) unit: String,
    /// Products that have it; empty for all.
    #[serde(default)]
    gpus: Vec<String>,
    /// Whether only graphics moves it.
    #[serde(default)]
    pub(crate) graphics: bool,
    /// The vendor's formula.
    pub(crate) equation: Option<String>,
    /// How the model has it.
    pub(crate) derive: Option<String>,
    pub(crate) basis: Option<Basis>,
    pub(crate) how: Option<String>,
    /// Why the model does not have it.
    pub(crate) not: Option<String>,
}

impl Entry {
    pub(crate) fn title(&self) -> &str {
        if self.title.is_empty() { &self.name } else { &self.title }
    }

    /// Whether the vendor has it as a property of the GPU: a number, or a figure of its configuration.
    pub(crate) fn is_fact(&self) -> bool {
        self.equation.as_deref().is_some_and(|equation| {
            // A formula of several figures is derived. Only a single figure is a property.
            equation.parse::<f64>().is_ok()
                || equation.starts_with("MALI_CONFIG_") && !equation.contains(['/', '*', ' '])
        })
    }

    /// The expression of its value.
    pub(crate) fn expression(&self) -> Option<Result<Expression, ExpressionError>> {
        // The order decides nothing: a test wants one origin for each entry.
        self.derive.as_deref().or(self.equation.as_deref()).map(Expression::read)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CounterFile {
    counters: Vec<Entry>,
}

/// Counters of one kind of GPU, under the names of one source.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Who named them.
    pub(crate) naming: &'static str,
    /// The product whose counters they are.
    pub(crate) product: &'static str,
    /// Whether the product is another one than the GPU: the nearest that is listed.
    pub(crate) borrowed: bool,
    pub(crate) entries: Vec<&'static Entry>,
}

static FILES: LazyLock<[Result<CounterFile, toml::de::Error>; 3]> = LazyLock::new(|| {
    [
        include_str!("../../data/counters/mali.toml"),
        include_str!("../../data/counters/midgard.toml"),
        include_str!("../../data/counters/adreno.toml"),
    ]
    .map(toml::from_str)
});

/// The file, the names' origin, and the product whose counters a GPU has or is nearest to.
fn product(gpu: &Gpu) -> (usize, &'static str, &'static str, bool) {
    let name = gpu.name();
    let has = |part: &str| name.contains(part);
    match gpu.family() {
        Family::Midgard => {
            let (product, borrowed) = match () {
                () if has("T72") => ("T72x", false),
                () if has("T82") => ("T82x", false),
                () if has("T83") => ("T83x", false),
                () if has("T86") => ("T86x", false),
                () if has("T88") => ("T88x", false),
                () => ("T76x", !has("T76")),
            };
            (1, "Mesa", product, borrowed)
        }
        Family::Bifrost | Family::Valhall | Family::Arm5thGen => {
            // `has` looks for a part of the name, so longer names come first: G720 before G72, G310 before G31.
            let (product, borrowed) = match () {
                () if has("G71") && !has("G710") && !has("G715") => ("G71", false),
                () if has("G725") => ("G725", false),
                () if has("G625") || has("G925") => ("G725", true),
                () if has("G720") => ("G720", false),
                () if has("G620") => ("G720", true),
                () if has("G715") => ("G715", false),
                () if has("G615") => ("G715", true),
                () if has("G710") => ("G710", false),
                () if has("G72") => ("G72", false),
                () if has("G76") => ("G76", false),
                () if has("G51") && !has("G510") => ("G51", false),
                () if has("G52") => ("G52", false),
                () if has("G310") || has("G510") || has("G610") => ("G710", true),
                () if has("G31") => ("G31", false),
                () if has("G77") => ("G77", false),
                () if has("G57") => ("G77", true),
                () if has("G78") => ("G78", false),
                () if has("G68") => ("G78", true),
                () => ("G1", !has("G1")),
            };
            (0, "Arm", product, borrowed)
        }
        Family::Adreno5xx => (2, "Snapdragon Profiler", "a6xx", true),
        Family::Adreno6xx => (2, "Snapdragon Profiler", "a6xx", false),
        Family::Adreno7xx => (2, "Snapdragon Profiler", "a7xx", false),
        Family::Adreno8xx => (2, "Snapdragon Profiler", "a7xx", true),
    }
}

impl Table {
    /// The counters of a GPU.
    pub(crate) fn of(gpu: &Gpu) -> Self {
        let (file, naming, product, borrowed) = product(gpu);
        let file = built_in("built-in counters", FILES[file].as_ref());
        let has = |entry: &&Entry| entry.gpus.is_empty() || entry.gpus.iter().any(|gpu| gpu == product);
        Self { naming, product, borrowed, entries: file.counters.iter().filter(has).collect() }
    }

    /// The counter of that name.
    pub(crate) fn entry(&self, name: &str) -> Option<&'static Entry> {
        self.entries.iter().copied().find(|entry| entry.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{FILES, Table};

    #[test]
    fn the_files_can_be_read() {
        for file in FILES.iter() {
            assert_eq!(file.as_ref().err(), None);
        }
    }

    /// A counter has exactly one origin, and those that are derived say how.
    #[test]
    fn every_counter_has_one_origin() {
        for entry in FILES.iter().flatten().flat_map(|file| &file.counters) {
            let origins =
                [entry.graphics, entry.equation.is_some(), entry.derive.is_some(), entry.not.is_some()];
            assert_eq!(origins.iter().filter(|is| **is).count(), 1, "{}", entry.name);
            assert_eq!(
                entry.derive.is_some(),
                entry.how.is_some() && entry.basis.is_some(),
                "{}",
                entry.name
            );
            if let Some(Err(error)) = entry.expression() {
                panic!("{}: {error}", entry.name);
            }
        }
    }

    #[test]
    fn names_of_a_gpu_are_different() {
        for gpu in tripipe_device::catalog() {
            let table = Table::of(gpu);
            assert!(table.entries.len() > 40, "{}: {}", gpu.name(), table.entries.len());
            let mut known = BTreeSet::new();
            for entry in &table.entries {
                // Midgard's JS0_TASKS and others count two things under one name.
                assert!(known.insert((&entry.name, entry.title())), "{}: {} twice", gpu.name(), entry.name);
            }
        }
    }
}
