//! The ladders' programs as SPIR-V, so that reading the kernels needs no clang.
//!
//! The modules are in the folder `spirv` of this crate, built by `cargo xtask spirv`: the code as in the source, with
//! line numbers, for every program that a step plans on any device. A program is looked up by its contents; after a
//! change to a source, its module is no longer found. A program that links this crate and never uses this module
//! contains none of the SPIR-V.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use tripipe_launch::{Program, Source};

/// A row of the table: a key and the file of that name.
macro_rules! module {
    ($key:literal) => {
        ($key, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/spirv/", $key, ".spv")))
    };
}

/// The table made by `cargo xtask spirv`.
static TABLE: Table = include!("../spirv/table.rs");

struct Table {
    tools: &'static str,
    /// Keys, in order, with their modules.
    modules: &'static [(&'static str, &'static [u8])],
}

/// The compilers that made the modules, in words; the output of others may differ in form.
pub fn tools() -> &'static str {
    TABLE.tools
}

/// The keys of all modules, in order.
pub fn keys() -> impl Iterator<Item = &'static str> {
    TABLE.modules.iter().map(|module| module.0)
}

/// The SPIR-V of a program of a ladder; `None` for any other.
pub fn find(program: &Program) -> Option<&'static [u8]> {
    let key = key(program)?;
    let at = TABLE.modules.binary_search_by(|module| module.0.cmp(&key)).ok()?;
    Some(TABLE.modules[at].1)
}

/// The key of its SPIR-V: a hash of name (which is in the line information), text and options, in hexadecimal; `None`
/// for programs that are already SPIR-V.
pub fn key(program: &Program) -> Option<String> {
    let Source::OpenClC(text) = &program.source else { return None };
    let mut hash = Sha256::new();
    for part in [&program.name, text.as_ref(), &program.build_options()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Some(hash.finalize().iter().fold(String::new(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    }))
}
