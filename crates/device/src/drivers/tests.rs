use std::collections::BTreeSet;

use super::*;
use crate::catalog::{catalog, find};
use crate::family::Family;

fn applies(id: &str, text: &str, gpu: Option<&str>) -> Fit {
    let gpu = gpu.map(|gpu| find(gpu).unwrap());
    find_quirk(id).unwrap().fits(&Driver::read(text, gpu).unwrap())
}

#[test]
fn every_quirk_has_a_source_and_a_name_of_its_own() {
    let ids: BTreeSet<&str> = quirks().iter().map(|quirk| quirk.id.as_str()).collect();
    assert_eq!(ids.len(), quirks().len());
    assert!(quirks().len() >= 30, "{}", quirks().len());
    let families: Vec<&str> =
        Family::WORDS.iter().map(|(word, _)| *word).chain(["adreno3xx", "adreno4xx"]).collect();
    for quirk in quirks() {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(quirk.id.chars().all(is_name), "{}", quirk.id);
        for gpu in &quirk.gpus {
            let known = families.contains(&gpu.as_str())
                || catalog().iter().any(|model| names_of(model).contains(gpu))
                || ["Adreno ", "PowerVR ", "AMD "].iter().any(|brand| gpu.starts_with(brand));
            assert!(known, "{}: {gpu}", quirk.id);
        }
        // What a virtual driver does to results needs a place to do it.
        let needs_place = quirk.injection.is_some_and(Injection::is_silent);
        assert!(!needs_place || !quirk.pattern.is_empty(), "{}", quirk.id);
    }
    assert!(quirks().iter().filter(|quirk| quirk.injection.is_some()).count() >= 4);
}

/// What the threads themselves say: the versions and GPUs that fail, and those that do not.
#[test]
fn quirks_are_of_the_versions_and_gpus_that_their_threads_name() {
    use Fit::{No, OtherScheme, Perhaps, Yes};
    let crash = "adreno-sub-group-arithmetic-crash";
    let q6k = "adreno-vector-dequantisation";
    for (id, driver, gpu, fit) in [
        (crash, "E031.37.12.01", None, Yes),
        (crash, "E031.38.01.08", Some("660"), Yes),
        (crash, "E031.38.11.14", None, No),
        (crash, "E031.47", None, No),
        (crash, "E17.51", None, OtherScheme),
        (crash, "r38p1", None, No),
        // The table of the pull request: 740 and 642L fail, 619, 840 and 850 do not.
        (q6k, "E031.41", Some("740"), Yes),
        (q6k, "E031.38", Some("642L"), Yes),
        (q6k, "E031.45", Some("619"), No),
        (q6k, "E031.50", Some("840"), No),
        ("adreno-r4-attention", "OpenCL 3.0 Adreno(TM) 730 Compiler E031.38.11.14", None, Yes),
        ("adreno-r4-attention", "OpenCL 2.0 Adreno(TM) 642L Compiler E031.38.01.08", None, No),
        ("adreno-nibble-packing", "E031.47.18.49", Some("830"), Yes),
        ("adreno-nibble-packing", "E031.47", Some("750"), No),
        ("adreno-nibble-packing", "E031.45", Some("830"), No),
        ("adreno-one-layer-array", "OpenCL 2.0 Adreno(TM) 330 Compiler E031.25", None, Perhaps),
        ("adreno-one-layer-array", "E031.25", Some("640"), No),
        ("adreno-850-attention", "Adreno(TM) 850 E17.51", None, Perhaps),
        // From r23p0 to r38p0.
        ("mali-relaxed-bounds", "r22p0", Some("g76"), No),
        ("mali-relaxed-bounds", "v1.r38p0-01rel0", Some("g76"), Yes),
        ("mali-relaxed-bounds", "r38p1", Some("g76"), No),
        ("mali-relaxed-bounds", "r32p1", Some("g77"), No),
        ("mali-relaxed-bounds", "g13p0", None, OtherScheme),
        ("mali-profiling-hang", "r9p0", None, No),
        ("powervr-image-of-sub-buffer", "1.15@6133110", None, Yes),
        ("powervr-image-of-sub-buffer", "24.2@6603887", None, No),
        ("pocl-random-errors", "PoCL 1.4", None, Yes),
        ("pocl-random-errors", "PoCL", None, Perhaps),
        ("clspv-slow-fma", "clspv", None, Perhaps),
    ] {
        assert_eq!(applies(id, driver, gpu), fit, "{id} with {driver} on {gpu:?}");
    }
}

#[test]
fn a_text_without_a_version_is_refused_with_examples() {
    let error = Driver::read("banana", None).unwrap_err().to_string();
    assert!(error.contains("`banana`") && error.contains("E031.47") && error.contains("r38p1"), "{error}");
    let error = find_quirk("adreno-nible-packing").unwrap_err().to_string();
    assert!(error.contains("did you mean `adreno-nibble-packing`?"), "{error}");
}

#[test]
fn mistakes_in_a_file_are_named() {
    let good = "[[entry]]\nid = 'a'\nkind = 'defect'\nbefore = 'E031.40'\ntrigger = 't'\npattern = [{ function = ['f'] }]\n\
                effect = 'e'\nworkaround = 'w'\nthread = 'https://example.org'\nbasis = 'measured'\n";
    assert_eq!(data::read("adreno", good).unwrap().len(), 1);
    for (from, to, said) in [
        ("'E031.40'", "'r38p1'", "a: `r38p1` is not a version of a driver of adreno"),
        ("before = 'E031.40'\n", "", "want since, before or seen"),
        ("'defect'", "'bug'", "neither defect nor habit"),
        ("function", "fuction", "unknown field `fuction`"),
        ("function = ['f']", "arithmetic = 'number'", "arithmetic `number` is none of half"),
        ("https://example.org", "somewhere", "no link"),
        ("'e'", "'e.'", "full stop"),
        ("'measured'", "'heard'", "not a basis"),
    ] {
        let error = data::read("adreno", &good.replace(from, to)).unwrap_err();
        assert!(error.contains(said), "{to}: {error}");
    }
}
