use proptest::prelude::*;

use super::*;
use crate::sourced::Basis;

const GOOD: &str = include_str!("fixtures/mali.toml");
const ADRENO: &str = include_str!("fixtures/adreno.toml");

/// The message for `good` with the first `from` replaced by `to`.
fn message(good: &str, from: &str, to: &str) -> String {
    assert!(good.contains(from), "{from} is not in the file");
    let text = good.replacen(from, to, 1);
    Gpu::from_toml(&text, "x.toml").unwrap_err().to_string()
}

#[test]
fn the_shared_sources_read() {
    let sources = read_shared_sources().unwrap();
    assert!(sources["arm-datasheet"].citation.contains("Datasheet"));
}

#[test]
fn a_value_has_the_provenance_of_its_section_or_its_own() {
    let gpu = Gpu::from_toml(GOOD, "x.toml").unwrap();
    assert_eq!(gpu.configuration.clock_mhz.basis, Basis::Guessed);
    assert_eq!(gpu.configuration.clock_mhz.source.id, "product-memory");
    assert_eq!(gpu.configuration.cores.basis, Basis::Measured);
    assert_eq!(gpu.configuration.cores.source.id, "device-report");
    let note = gpu.memory.l2_bytes.note.unwrap();
    assert_eq!(note, "1 MiB reported on RK3588");
}

#[test]
fn a_file_may_bring_sources_of_its_own() {
    let text = GOOD.replacen("clock_mhz = 1000", "clock_mhz = { value = 1, source = \"mine\" }", 1);
    assert!(Gpu::from_toml(&text, "x.toml").is_err());
    let text = text + "\n[sources]\nmine = \"my own bench\"\n";
    let gpu = Gpu::from_toml(&text, "x.toml").unwrap();
    assert_eq!(gpu.configuration.clock_mhz.to_string(), "1 (guessed: my own bench)");
}

#[test]
fn each_fault_is_named_with_its_place() {
    #[rustfmt::skip]
    let cases = [
        ("clock_mhz = 1000", "clock_mhz = ", "x.toml:17:13: not TOML: "),
        ("clock_mhz = 1000", "clock_mhz = 1000\nclock_mhz = 2", "x.toml:18:1: not TOML: duplicate key"),
        ("clock_mhz = 1000", "clock_mhz = 1000\nclock_mzh = 2",
            "x.toml:18:1: unknown key `clock_mzh` in [configuration], did you mean `clock_mhz`?"),
        ("[core]", "[cores]", "x.toml:21:2: unknown section [cores], did you mean `core`?"),
        ("clock_mhz = 1000\n", "", "x.toml:12:1: [configuration] needs `clock_mhz`"),
        ("clock_mhz = 1000", "clock_mhz = \"fast\"", "x.toml:17:13: `clock_mhz` must be a whole number, not string"),
        ("clock_mhz = 1000", "clock_mhz = 1.5", "x.toml:17:13: `clock_mhz` must be a whole number, not float"),
        ("clock_mhz = 1000", "clock_mhz = -1000", "x.toml:17:13: `clock_mhz` is -1000, but must be from 1 to 1000000"),
        ("clock_mhz = 1000", "clock_mhz = 99999999999999999999",
            "x.toml:17:13: `clock_mhz` is 99999999999999999999, but must be from 1 to 1000000"),
        ("cores = { value = 4", "cores = { value = 0", "x.toml:16:19: `cores` is 0, but must be from 1 to 1000000"),
        ("cores = { value = 4", "cores = { valu = 4", "x.toml:16:9: `cores` must be a whole number, not table"),
        ("cores = { value = 4", "cores = { value = 4, colour = 1",
            "x.toml:16:22: unknown key `colour` in [configuration.cores]"),
        ("dram_gb_s_peak = 34.1", "dram_gb_s_peak = 0", "x.toml:18:18: `dram_gb_s_peak` is 0, but must be above 0"),
        ("dram_gb_s_peak = 34.1", "dram_gb_s_peak = nan", "x.toml:18:18: `dram_gb_s_peak` is nan, but must be above 0"),
        ("basis = \"guessed\"", "basis = \"heard\"",
            "x.toml:13:9: `basis` is \"heard\"; there are documented, reverse-engineered, measured, fitted, guessed"),
        ("source = \"product-memory\"", "source = \"product-memoir\"",
            "x.toml:14:10: unknown source \"product-memoir\", did you mean `product-memory`?; sources are \
            defined in sources.toml or in the file's own [sources]"),
        ("basis = \"guessed\"\n", "", "`clock_mhz` has no basis, and neither has its section"),
        ("source = \"product-memory\"\n", "", "has no source, and neither has its section"),
        ("family = \"valhall\"", "family = \"adreno6xx\"", "x.toml:5:10: Adreno 6xx is not a family of Arm"),
        ("family = \"valhall\"", "family = \"valhalla\"", "x.toml:5:10: `family` is \"valhalla\", did you mean `valhall`?; there are midgard, "),
        ("{ registers = 64, threads = 1024 }", "{ registers = 31, threads = 1024 }",
            "occupancy must have rising registers and falling threads, but 32 registers give 2048 threads and then 31 give 1024"),
        ("{ registers = 64, threads = 1024 }", "{ registers = 64, threads = 4096 }",
            "but 32 registers give 2048 threads and then 64 give 4096"),
        ("max = 64", "max = 65", "the last occupancy step ends at 64 registers, but max is 65"),
        ("threads = 2048", "threads = 2000", "the first occupancy step has 2000 threads, but max_threads in [core] is 2048"),
        ("occupancy = [{ registers = 32, threads = 2048 }, { registers = 64, threads = 1024 }]", "occupancy = []",
            "occupancy has no steps"),
        ("{ registers = 32, threads = 2048 }", "{ registers = 32 }", "[registers.occupancy] needs `threads`"),
        ("{ registers = 32, threads = 2048 }", "5", "`occupancy` must be a table, not integer"),
        ("cache_line_bytes = 64", "cache_line_bytes = 63", "`cache_line_bytes` is 63, but must be a power of two"),
        ("clock_mhz = 1000", "clock_mhz = 1000\ncore_groups = [2, 1]", "core_groups add up to 3, but cores is 4"),
        ("clock_mhz = 1000", "clock_mhz = 1000\ncore_groups = [4, 0]", "`core_groups` is [4, 0], but must be a list of counts above 0"),
        ("fp16 = true", "fp16 = 1", "`fp16` must be true or false, not integer"),
        ("clpeak_bw_gb_s = 27.0", "clpeak_bw_gb_s = -1.0", "`clpeak_bw_gb_s` is -1.0, but must be above 0"),
        ("name = \"Mali-G610\"", "name = 610", "x.toml:3:8: `name` must be a string, not integer"),
    ];
    for (from, to, expected) in cases {
        let found = message(GOOD, from, to);
        assert!(found.contains(expected), "{from} -> {to}\n found: {found}\n  want: {expected}");
    }
}

#[test]
fn a_section_that_is_missing_or_no_section_is_named() {
    let error = Gpu::from_toml("", "x.toml").unwrap_err().to_string();
    assert_eq!(error, "x.toml:1:1: section [identity] is missing");
    let error = Gpu::from_toml("identity = 3", "x.toml").unwrap_err().to_string();
    assert_eq!(error, "x.toml:1:12: `identity` must be a section, not integer");
    let error = Gpu::from_toml("sources = 3", "x.toml").unwrap_err().to_string();
    assert_eq!(error, "x.toml:1:11: `sources` must be a section, not integer");
}

#[test]
fn an_adreno_file_contradicting_itself_is_named() {
    let cases = [
        (
            "max_waves = 16",
            "max_waves = 8",
            "8 waves of 128 work-items are 1024 threads, but max_threads in [core] is 2048",
        ),
        (
            "file_vec4 = 96",
            "file_vec4 = 40",
            "file_vec4 is 40, too small for one work-item with max = 48 registers",
        ),
        (
            "warp_width_double = 128",
            "warp_width_double = 64",
            "`warp_width_double` is 64, but must be more than warp_width",
        ),
        (
            "wave_granularity = 2",
            "wave_granularity = 32",
            "`wave_granularity` is 32, but must be at most max_waves",
        ),
        ("max_waves = 16\n", "", "[registers] needs `max_waves`"),
    ];
    for (from, to, expected) in cases {
        let found = message(ADRENO, from, to);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn columns_count_characters() {
    let text = GOOD.replacen("soc = { value = \"RK3588\"", "soc = { note = \"é\", value = 8", 1);
    let error = Gpu::from_toml(&text, "x.toml").unwrap_err();
    assert_eq!((error.location.line, error.location.column), (15, 29));
}

proptest! {
    #[test]
    fn any_text_is_answered(text in ".*") {
        let _ = Gpu::from_toml(&text, "x.toml");
    }

    /// A good file with one range of bytes replaced: it is read or rejected, and the error location is in it.
    #[test]
    fn a_damaged_file_is_answered(
        adreno: bool,
        at in 0.0_f64..1.0,
        length in 0_usize..40,
        with in prop_oneof![".{0,20}", "[0-9=\\[\\]{}\".\n,-]{0,12}"],
    ) {
        let good = if adreno { ADRENO } else { GOOD };
        let start = (at * good.len() as f64) as usize;
        let end = (start + length).min(good.len());
        prop_assume!(good.is_char_boundary(start) && good.is_char_boundary(end));
        let text = format!("{}{with}{}", &good[..start], &good[end..]);
        if let Err(error) = Gpu::from_toml(&text, "x.toml") {
            prop_assert!(error.location.line >= 1 && error.location.line <= text.matches('\n').count() + 1);
            prop_assert!(error.location.column >= 1);
        }
    }
}

#[test]
fn limits_of_images_are_of_the_family_or_of_the_model() {
    let family = Gpu::from_toml(GOOD, "x.toml").unwrap().images;
    let own = "\n[images]\nbasis = \"guessed\"\nsource = \"estimate\"\nmax_2d = [8192, 4096]\nmax_3d = [8, 4, 2]\n\
               max_layers = 3\nmax_1d_buffer = 9\npitch_alignment = 0\nbase_address_alignment = 0\n";
    let text = format!("{GOOD}{own}");
    let gpu = Gpu::from_toml(&text, "x.toml").unwrap();
    assert_ne!(gpu.images, family);
    let limits = gpu.expected_probe().images.unwrap();
    assert_eq!((limits.max_2d, limits.max_3d, limits.from_buffer), ([8192, 4096], [8, 4, 2], false));
    assert!(!gpu.expected_probe().has_extension("cl_khr_image2d_from_buffer"));
    let refused = |from: &str, to: &str| {
        Gpu::from_toml(&text.replace(from, to), "x.toml").unwrap_err().reason.to_string()
    };
    assert_eq!(
        refused("[8192, 4096]", "[8192]"),
        "`max_2d` is [8192], but must be a list of 2 extents above 0"
    );
    assert_eq!(
        refused("[8, 4, 2]", "[8, 0, 2]"),
        "`max_3d` is [8, 0, 2], but must be a list of 3 extents above 0"
    );
    assert_eq!(
        refused("max_1d_buffer = 9", "max_1d_buffer = 0"),
        "`max_1d_buffer` is 0, but must be from 1 to 2^31 - 1 texels"
    );
}

#[test]
fn every_family_has_limits_of_images() {
    let text = include_str!("../../data/images.toml");
    assert_eq!(read_images(text).unwrap().len(), Family::WORDS.len());
    let message = |from: &str, to: &str| read_images(&text.replace(from, to)).unwrap_err().to_string();
    assert!(
        message("[valhall]", "[valhal]")
            .contains("unknown key `valhal` in a data file, did you mean `valhall`?")
    );
    let (before, after) = (text.find("[valhall]").unwrap(), text.find("[arm5thgen]").unwrap());
    let missing = read_images(&format!("{}{}", &text[..before], &text[after..])).unwrap_err().to_string();
    assert!(missing.contains("`valhall`"), "{missing}");
}
