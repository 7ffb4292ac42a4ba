//! Builds the SPIR-V of the ladders' programs, for `tripipe_ladders::spirv`: `cargo xtask spirv` runs it. It rebuilds the folder
//! `crates/ladders/spirv`: a file for each module, and the table that names them.

#![allow(clippy::print_stdout, reason = "a command prints to standard output")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Error, Result, ensure};
use tripipe_conformance::programs::ladder_programs;
use tripipe_ir::front::clang::{Build, Clang, Translator, build_text};
use tripipe_ladders::spirv;
use tripipe_launch::Source;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ladders/spirv");
    let clang = Clang::find()?;
    ensure!(
        matches!(clang.translator, Translator::Tool { .. }),
        "{clang} writes no line numbers: install the Debian packages `clang-15` and `llvm-spirv-15`"
    );
    let mut modules = BTreeMap::new();
    for program in ladder_programs().map_err(Error::msg)? {
        let (Source::OpenClC(text), Some(key)) = (&program.source, spirv::key(&program)) else { continue };
        let options = program.build_options();
        let built = build_text(&program.name, text, None, &Build::with_options(&options))?;
        modules.insert(key, (format!("{} {options}", program.name), built.spirv));
    }
    let mut table = format!(
        "// Made by `cargo xtask spirv`.\nTable {{\n    tools: {:?},\n    modules: &[\n",
        clang.to_string()
    );
    let mut kept = BTreeSet::from(["table.rs".to_owned()]);
    // The files that the table names must exist at any time: without them this program itself would not compile.
    for (key, (what, spirv)) in &modules {
        write!(table, "        // {}\n        module!(\"{key}\"),\n", what.trim_end())?;
        write_file(&folder.join(format!("{key}.spv")), spirv)?;
        kept.insert(format!("{key}.spv"));
    }
    table.push_str("    ],\n}\n");
    write_file(&folder.join("table.rs"), table.as_bytes())?;
    for file in fs::read_dir(&folder)? {
        let file = file?;
        if file.file_name().to_str().is_none_or(|name| !kept.contains(name)) {
            fs::remove_file(file.path()).with_context(|| file.path().display().to_string())?;
        }
    }
    let bytes: usize = modules.values().map(|module| module.1.len()).sum();
    println!("spirv: {} modules, {} KiB, by {clang}", modules.len(), bytes / 1024);
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| path.display().to_string())
}
