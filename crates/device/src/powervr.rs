//! PowerVR GPUs by Imagination: recognised, but without models (`data/powervr.toml`).

use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::document::built_in;
use crate::probe::Probe;

/// Why there is no model, and the way out.
pub(crate) const NO_MODEL: &str = "PowerVR GPUs have no model here, because nobody has published what their \
    instructions cost: measure on the device instead (`--device opencl:N` of `tripipe ladder`, `tune` and \
    `run-kernel`), or name a Mali or an Adreno";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PowerVrFile {
    series: Vec<String>,
    rogue: Vec<String>,
    gpu: Vec<PowerVr>,
}

/// What is known of a PowerVR.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PowerVr {
    /// As drivers write it behind the series: `GX6250`.
    name: String,
    series: String,
    /// Clusters of arithmetic units, which drivers report as compute units.
    clusters: u32,
    /// Work-items that are executed together.
    task_width: u32,
    cache_line_bytes: u32,
    basis: String,
    source: String,
}

static DATA: LazyLock<PowerVrFile> =
    LazyLock::new(|| built_in("data/powervr.toml", toml::from_str(include_str!("../data/powervr.toml"))));

/// Whether a name is that of a PowerVR: `PowerVR Rogue GE8320`, `PowerVR B-Series BXM-8-256`, `gx6250`.
pub(crate) fn is_named(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_product = |word: &str| {
        let number = |prefix: &String| word.strip_prefix(prefix.as_str()).map(str::as_bytes);
        let is_rogue = |rest: &[u8]| rest.len() == 4 && rest.iter().all(u8::is_ascii_digit);
        DATA.series.iter().any(|series| series == word) || DATA.rogue.iter().filter_map(number).any(is_rogue)
    };
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| ["powervr", "imagination"].contains(&word) || is_product(word))
}

/// Why a device has no model, if its name or its vendor says that it is a PowerVR.
pub(crate) fn why(probe: &Probe) -> Option<String> {
    if ![&probe.name, &probe.vendor, &probe.platform].into_iter().any(|text| is_named(text)) {
        return None;
    }
    let name = if probe.name.trim().is_empty() { "a device without a name" } else { probe.name.trim() };
    let mut why = format!(
        "{name} is a PowerVR GPU by Imagination, of which there is no model, because nobody has published what its \
         instructions cost; kernels are chosen by rule from its probed limits"
    );
    let known = DATA.gpu.iter().find(|gpu| name.to_lowercase().contains(&gpu.name.to_lowercase()));
    if let Some(PowerVr { series, clusters, task_width, cache_line_bytes, basis, source, .. }) = known {
        let _ = write!(
            why,
            ". Known: {series}, {clusters} cluster{}, {task_width} work-items together, cache lines of \
             {cache_line_bytes} bytes ({basis}: {source})",
            if *clusters == 1 { "" } else { "s" }
        );
    }
    Some(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Certainty, find, identify};

    /// Names from drivers: clinfo of a RISC-V board and a Lichee Pi 4A, phones with GE8320 and BXM-8-256.
    #[test]
    fn names_of_drivers_are_recognised_and_others_are_not() {
        for name in
            ["PowerVR B-Series BXE-4-32", "PowerVR BXM-8-256", "PowerVR Rogue GE8320", "gx6250", "bxs-4-64"]
        {
            assert!(is_named(name), "{name}");
            let probe = Probe { name: name.to_owned(), ..Probe::default() };
            let found = identify(&probe);
            assert!(found.model.is_none() && found.certainty == Certainty::Unknown, "{name}");
            assert!(found.why.contains("PowerVR GPU by Imagination"), "{}", found.why);
            let refused = find(name).unwrap_err().to_string();
            assert!(refused.contains("nobody has published"), "{refused}");
        }
        for name in ["Mali-G610", "Adreno 640", "NVIDIA GeForce GT 1030", "gx", "g6250", ""] {
            assert!(!is_named(name), "{name}");
        }
        let only_vendor = Probe { vendor: "Imagination Technologies".to_owned(), ..Probe::default() };
        assert!(why(&only_vendor).unwrap().starts_with("a device without a name is a PowerVR"));
    }

    #[test]
    fn what_is_known_is_said_with_its_source() {
        let known = |name: &str| why(&Probe { name: name.to_owned(), ..Probe::default() }).unwrap();
        let rogue = known("PowerVR Rogue GX6250");
        for words in ["Rogue, 2 clusters", "32 work-items", "64 bytes", "gx6250.h"] {
            assert!(rogue.contains(words), "{rogue}");
        }
        assert!(known("PowerVR B-Series BXS-4-64 MC1").contains("B-Series, 1 cluster,"));
        assert!(!known("PowerVR Rogue GE8320").contains("Known"));
    }
}
