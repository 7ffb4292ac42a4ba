//! The ladders' programs as SPIR-V, so that whoever reads kernels needs no clang for them.
//!
//! The modules lie in the folder `spirv` of this crate, as `cargo xtask spirv` makes them: the code as the source has it, with
//! line numbers, for every program a step plans on any device. A program is found by what it says; change a source,
//! and its module is no longer found. A program that links this crate and never asks carries none of it.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use tripipe_launch::{Program, Source};

/// What `cargo xtask spirv` made.
static TABLE: Table = include!("../spirv/table.rs");

struct Table {
    tools: &'static str,
    /// Keys, in order, with their modules.
    modules: &'static [(&'static str, &'static [u8])],
}

/// The compilers that made the modules, in words; what others make may differ in form.
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

/// What its SPIR-V is kept under: a hash of name (line information has it), text and options, in hexadecimal; `None` for what
/// is SPIR-V already.
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
