//! The built-in models.

use std::sync::LazyLock;

use thiserror::Error;

use crate::gpu::Gpu;
use crate::load::read_all;
use crate::nearest::ranked;
use crate::powervr;
use crate::product::GpuProduct;

/// Every model file: its path below `data/` and its text.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

static CATALOG: LazyLock<Vec<Gpu>> = LazyLock::new(|| read_all(FILES, Gpu::from_toml));

/// All built-in models, Arm's before Qualcomm's, each vendor's by file name.
pub fn catalog() -> &'static [Gpu] {
    &CATALOG
}

/// There is no built-in model of the requested name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no GPU model is called \"{name}\"{}", instead(.name, .nearest))]
#[non_exhaustive]
pub struct UnknownGpu {
    /// The requested name.
    pub name: String,
    /// Models with a similar name, the most similar first; at most three.
    pub nearest: Vec<&'static str>,
}

fn instead(name: &str, nearest: &[&str]) -> String {
    if powervr::is_named(name) {
        format!(": {}", powervr::NO_MODEL)
    } else if nearest.is_empty() {
        let models = catalog().len();
        format!(
            "; there are {models}, such as Mali-G610, Mali-T860 and Adreno 640 (`tripipe devices --models`)"
        )
    } else {
        format!("; did you mean {}?", nearest.join(", "))
    }
}

/// The model that `name` refers to. Case, spaces, dashes, the words Mali, Immortalis and Adreno, and whatever a driver
/// adds (`MC6 r0p0`) are ignored: `g610`, `Mali G610`, `adreno-640`, `a640` and `640` are all found.
///
/// # Errors
///
/// [`UnknownGpu`] with the models of similar names.
pub fn find(name: &str) -> Result<&'static Gpu, UnknownGpu> {
    let exact =
        GpuProduct::parse_loose(name).and_then(|product| catalog().iter().find(|gpu| product.names(gpu)));
    exact.ok_or_else(|| {
        // The brand is ignored, because all names share it.
        let short = |name: &str| {
            let name = name.to_lowercase();
            let words = name.split([' ', '-', '_', '(', ')']);
            words
                .filter(|word| !["mali", "immortalis", "adreno", "tm", "arm"].contains(word))
                .collect::<String>()
        };
        let names: Vec<(String, &'static str)> =
            catalog().iter().map(|gpu| (short(gpu.name()), gpu.name())).collect();
        let mut nearest: Vec<&'static str> =
            ranked(&short(name), names.iter().map(|(short, _)| short.as_str()))
                .into_iter()
                .filter_map(|alike| names.iter().find(|(short, _)| short == alike))
                .map(|(_, name)| *name)
                .collect();
        // A number that no GPU of the series has: those with the numbers next to it.
        if let (true, Some((series, number))) = (nearest.is_empty(), series_number(&short(name))) {
            let mut neighbours: Vec<(u32, &'static str)> = names
                .iter()
                .filter_map(|(short, name)| Some((series_number(short)?, *name)))
                .filter(|((known, _), _)| *known == series)
                .map(|((_, known), name)| (known.abs_diff(number), name))
                .collect();
            neighbours.sort_unstable();
            nearest.extend(neighbours.into_iter().map(|(_, name)| name));
        }
        nearest.truncate(3);
        UnknownGpu { name: name.to_owned(), nearest }
    })
}

/// The letters and the number of a GPU's short name, such as `g` and 610.
fn series_number(short: &str) -> Option<(&str, u32)> {
    let digits = short.find(|c: char| c.is_ascii_digit())?;
    Some((&short[..digits], short[digits..].parse().ok()?))
}

#[cfg(test)]
mod tests;
