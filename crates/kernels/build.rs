//! Turns `data/filter.toml` into constants, so that a value that is missing, unknown or misspelt fails the build; lists the
//! predicted times.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

use serde::Deserialize;

const DATA: &str = "data/filter.toml";
const PREDICTED: &str = "data/predicted";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fusion: Fusion,
    registers: Registers,
    candidates: Candidates,
    family: Vec<Family>,
    preset: Vec<Preset>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fusion {
    conversions: Count,
    inner_extent_max: Count,
    rows_max: Count,
    convert_operations: Count,
    gray_operations: Count,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Registers {
    reserve_bytes: Count,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    value: u32,
    basis: Basis,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Candidates {
    lanes: Vec<usize>,
    rows: Vec<usize>,
    work_groups: Vec<[usize; 2]>,
    basis: Basis,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    operations_per_byte: f64,
    vectors: bool,
    short_lanes: bool,
    register_bytes: Option<usize>,
    median_rows: Option<usize>,
    median_loads: Option<String>,
    images: Option<String>,
    basis: Basis,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    family: String,
    chains: String,
    lanes: usize,
    lanes_of_vector: bool,
    rows: usize,
    loads: String,
    sums: String,
    work_group: [usize; 2],
    fuse: String,
    why: String,
    basis: Basis,
    source: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Basis {
    Documented,
    Measured,
    Fitted,
    Guessed,
}

impl Basis {
    fn word(&self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Guessed => "guessed",
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={DATA}");
    println!("cargo::rerun-if-changed=build.rs");
    let file: File =
        toml::from_str(&fs::read_to_string(DATA)?).map_err(|error| format!("{DATA}: {error}"))?;
    let text = constants(&file)?;
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("filter.rs"), text)?;
    fs::write(Path::new(&out).join("predicted.rs"), predicted()?)?;
    Ok(())
}

/// `PREDICTED`: the shipped files of predicted times, in the order of their names.
fn predicted() -> Result<String, Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={PREDICTED}");
    let mut files = fs::read_dir(PREDICTED)?.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    let mut text = format!("static PREDICTED: [ShippedFile; {}] = files![\n", files.len());
    for path in files {
        let gpu = path.file_stem().ok_or("a file without a name")?.to_string_lossy();
        writeln!(text, "    Gpu({gpu:?}): \"predicted/{gpu}\",")?;
    }
    Ok(text + "];\n")
}

/// The constants as Rust. Names of variants are written as they are: the compiler knows which exist.
fn constants(file: &File) -> Result<String, Box<dyn std::error::Error>> {
    let sourced = |what: &str, source: &str| {
        if source.trim().is_empty() { Err(format!("{DATA}: {what} has no source")) } else { Ok(()) }
    };
    let mut text = String::new();
    let Fusion { conversions, inner_extent_max, rows_max, convert_operations, gray_operations } =
        &file.fusion;
    for (name, kind, count) in [
        ("CONVERSIONS", "usize", conversions),
        ("INNER_EXTENT_MAX", "usize", inner_extent_max),
        ("FUSED_ROWS_MAX", "usize", rows_max),
        ("CONVERT_OPERATIONS", "f64", convert_operations),
        ("GRAY_OPERATIONS", "f64", gray_operations),
        ("REGISTER_RESERVE_BYTES", "usize", &file.registers.reserve_bytes),
    ] {
        sourced(name, &count.source)?;
        if count.value == 0 {
            return Err(format!("{DATA}: {name} is 0").into());
        }
        let (basis, source) = (count.basis.word(), count.source.escape_debug());
        writeln!(text, "// {basis}: {source}\npub(super) const {name}: {kind} = {}_{kind};", count.value)?;
    }
    let Candidates { lanes, rows, work_groups, basis, source } = &file.candidates;
    sourced("candidates", source)?;
    writeln!(
        text,
        "// {}: {}\npub(super) const CANDIDATE_LANES: [usize; {}] = {lanes:?};\n\
         pub(super) const CANDIDATE_ROWS: [usize; {}] = {rows:?};\n\
         pub(super) const CANDIDATE_WORK_GROUPS: [[usize; 2]; {}] = {work_groups:?};",
        basis.word(),
        source.escape_debug(),
        lanes.len(),
        rows.len(),
        work_groups.len(),
    )?;
    writeln!(text, "pub(super) const FAMILIES: [Figures; {}] = [", file.family.len())?;
    for family in &file.family {
        let Family {
            name,
            operations_per_byte,
            vectors,
            short_lanes,
            register_bytes,
            median_rows,
            images,
            ..
        } = family;
        sourced(name, &family.source)?;
        if !operations_per_byte.is_finite() || *operations_per_byte <= 0.0 {
            return Err(format!("{DATA}: operations_per_byte of {name} is not above 0").into());
        }
        let loads = family.median_loads.as_ref().map(|loads| format!("Loads::{loads}"));
        writeln!(
            text,
            "    // {}: {}\n    Figures {{ family: Family::{name}, operations_per_byte: {operations_per_byte:?}, \
             vectors: {vectors}, short_lanes: {short_lanes}, register_bytes: {register_bytes:?}, \
             median_rows: {median_rows:?}, median_loads: {}, images: {images:?} }},",
            family.basis.word(),
            family.source.escape_debug(),
            loads.map_or("None".to_owned(), |loads| format!("Some({loads})")),
        )?;
    }
    writeln!(text, "];\npub(super) const PRESETS: &[Preset] = &[")?;
    for preset in &file.preset {
        let Preset {
            family, chains, lanes, lanes_of_vector, rows, loads, sums, work_group, fuse, why, ..
        } = preset;
        sourced(family, &preset.source)?;
        writeln!(
            text,
            "    // {}: {}\n    Preset {{ family: Family::{family}, chains: Chains::{chains}, \
             lanes_of_vector: {lanes_of_vector}, parameters: Parameters {{ lanes: {lanes}, rows: {rows}, \
             loads: Loads::{loads}, sums: Sums::{sums}, work_group: Some({work_group:?}), fuse: Fuse::{fuse} }}, \
             why: {why:?}, source: {:?} }},",
            preset.basis.word(),
            preset.source.escape_debug(),
            format!("{}: {}", preset.basis.word(), preset.source),
        )?;
    }
    text.push_str("];\n");
    Ok(text)
}
