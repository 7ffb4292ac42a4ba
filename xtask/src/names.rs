//! Checks that the name of a type has one meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::source;

/// Names that one type of the workspace has, the crate of that type (`None`: no type), its meaning, and the names of related
/// types.
const OWNERS: &[(&str, Option<&str>, &str)] = &[
    (
        "Access",
        Some("launch"),
        "what kernels do with a memory object: read, write, or both; `AccessAttributes`: alignment and volatility of a load or store; `WarpAccess`: a load or store as a warp executes it",
    ),
    (
        "Element",
        Some("tripipe"),
        "a type of Rust that vectors, matrices and images contain; `PixelType`: the type of an image's channels, as a value; `GemmElement`: a type that the CPU path multiplies",
    ),
    (
        "Layout",
        Some("kernels"),
        "how a matrix lies in a buffer; `ViewLayout`, `StridedLayout`: in a context's memory, in a slice; `ChannelLayout`: packed or planar pixels; `FrameLayout`: a camera's frame in a file; `TypeLayout`: an object of the IR, down to scalars; `RegisterLayout`: values in a GPU's registers; `MemoryMap`: all objects of a launch",
    ),
    (
        "Operand",
        Some("tripipe"),
        "A or B of a product; `RequiredOperand`: what a plan must be bound to; `FileOperand`: one that the command reads",
    ),
    (
        "Order",
        Some("kernels"),
        "the storage order of a matrix: row-major or column-major; `MemoryOrder`: of an atomic, as in C11; `HappensBefore`: which work-items are ordered after which; `BlockOrder`: of a kernel's blocks",
    ),
    (
        "Place",
        None,
        "no type. `Location`: of an instruction in its source; `SourceLocation`: the same with the file's name; `LineColumn`: in a document; `Position`: of elements in C",
    ),
    (
        "Product",
        Some("tripipe"),
        "a matrix product to compute; `RowMajorProduct`: the same as kernels compute it; `DenseProduct`: one of a ladder; `GpuProduct`: a GPU as its vendor names it",
    ),
    (
        "Stage",
        Some("kernels"),
        "a step of a chain of filters; `EpilogueStage`: a step after a matrix product",
    ),
];

/// Names that several types of one crate may have, each with the reason.
const REPEATED: [(&str, &str); 11] = [
    ("Arch", "one for each kind of processor; only one is compiled"),
    ("Device", "`driver` replaces the driver's types in a build without OpenCL"),
    ("DmaBuf", "one for each kind of system; only one is compiled"),
    ("HostAccess", "one for each kind of system; only one is compiled"),
    ("Inner", "the private, shared part of the type in the same file"),
    ("Options", "read with its module"),
    ("Parameters", "read with its module: `gemm::Parameters`, `filter::Parameters`"),
    ("ParametersError", "read with its module"),
    ("Report", "read with its module: one for each result that is drawn"),
    ("Sealed", "private: no other crate implements the trait in the same file"),
    ("Trial", "`no_trial` replaces it in a build without the CPU path"),
];

/// The files that define a type, with lines, by name and folder of the crate.
type Definitions = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Checks the names of all types outside of tests: within a crate a name belongs to one type, and a name of
/// [`OWNERS`] belongs to one type of the workspace.
///
/// Returns a line that says what was checked.
///
/// # Errors
/// Names with several types, with file and line; no Git.
pub(crate) fn check() -> Result<String> {
    let mut definitions = Definitions::new();
    for name in source::tracked(&["*.rs"])? {
        let (Some(folder), Ok(text)) = (source::crate_of(Path::new(&name)), fs::read_to_string(&name)) else {
            continue;
        };
        for (line, found) in types(&text) {
            let crates = definitions.entry(found.to_owned()).or_default();
            crates.entry(folder.clone()).or_default().push(format!("{name}:{line}"));
        }
    }
    let faults = faults(OWNERS, &definitions);
    ensure!(faults.is_empty(), "{}", faults.join("\n       "));
    Ok(format!(
        "names: {} names of types, {} of them with one meaning everywhere",
        definitions.len(),
        OWNERS.len()
    ))
}

/// The types that a source defines, each with its line, without those of its tests.
fn types(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().zip(1..).take_while(|(line, _)| !line.starts_with("mod tests {"));
    lines.filter_map(|(line, number)| {
        let mut words = line.trim_start().split(' ').skip_while(|word| {
            word.starts_with("pub") || ["(crate)", "in", "unsafe"].contains(word) || word.ends_with(')')
        });
        let keyword = words.next()?;
        // An indented alias is an associated type.
        let defines = ["struct", "enum", "trait", "union"].contains(&keyword)
            || keyword == "type" && !line.starts_with(' ');
        let name = words.next().filter(|_| defines)?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        name.starts_with(char::is_uppercase).then_some((number, &name[..end]))
    })
}

fn faults(owners: &[(&str, Option<&str>, &str)], definitions: &Definitions) -> Vec<String> {
    let repeated: BTreeSet<&str> = REPEATED.iter().map(|(name, _)| *name).collect();
    let mut faults = Vec::new();
    for (name, crates) in definitions {
        for (folder, places) in crates {
            if places.len() > 1 && !repeated.contains(name.as_str()) {
                let all = places.join(", ");
                faults.push(format!("{all}: {} types of {folder} are called {name}", places.len()));
            }
            let owned = owners.iter().find(|(owned, owner, _)| owned == name && *owner != Some(folder));
            if let Some((_, _, meaning)) = owned {
                let first = &places[0];
                faults.push(format!("{first}: {name} has another meaning: {meaning}"));
            }
        }
    }
    for (name, owner, _) in owners {
        let Some(owner) = owner else { continue };
        if !definitions.get(*name).is_some_and(|crates| crates.contains_key(*owner)) {
            faults.push(format!("xtask/src/names.rs: {owner} has no type {name}"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_their_definitions() {
        let text = "pub(crate) struct A<T>(T);\n    pub enum B {\nunsafe trait C: D {}\ntype E = u8;\n    type F = u8;\n\
            /// struct G\nimpl H {}\npub(in super::x) union I {}\n#[cfg(test)]\nmod tests {\n    struct J;\n";
        let found: Vec<(usize, &str)> = types(text).collect();
        assert_eq!(found, [(1, "A"), (2, "B"), (3, "C"), (4, "E"), (8, "I")]);
    }

    #[test]
    fn each_name_has_one_type() {
        let owners = [("Order", Some("a"), "x"), ("Place", None, "x")];
        let definitions = |all: &[(&str, &str)]| {
            let mut definitions = Definitions::new();
            for (name, folder) in all {
                let crates = definitions.entry((*name).to_owned()).or_default();
                crates.entry((*folder).to_owned()).or_default().push(format!("{folder}.rs:1"));
            }
            definitions
        };
        let found = |all: &[(&str, &str)]| faults(&owners, &definitions(all)).len();
        assert_eq!(found(&[("Order", "a"), ("Line", "a"), ("Line", "b"), ("Inner", "a"), ("Inner", "a")]), 0);
        assert_eq!(found(&[("Order", "a"), ("Line", "a"), ("Line", "a")]), 1, "two types of a crate");
        assert_eq!(found(&[("Order", "a"), ("Order", "b")]), 1, "a second type with a name of the table");
        assert_eq!(found(&[("Order", "a"), ("Place", "a")]), 1, "a name that no type may have");
        assert_eq!(found(&[("Line", "a")]), 1, "a name without its type");
    }
}
