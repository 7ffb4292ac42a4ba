//! Compares the layer table of ARCHITECTURE.md with the manifests, and the manifests with the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// A folder's name and the folders it may depend on.
type Layers = BTreeMap<String, BTreeSet<String>>;

/// The table starts after this line of ARCHITECTURE.md.
const MARK: &str = "<!-- layers -->";

/// Checks every dependency between workspace packages against the table, and the table against the workspace; and that
/// every dependency, foreign ones included, is named in a source.
///
/// Returns a line that says what was checked. Dependencies of tests (dev-dependencies) are not restricted.
///
/// # Errors
/// A forbidden dependency, an unused one, an arrow that no manifest has, a crate without a row, a row without a crate, a
/// table that cannot be parsed.
pub(crate) fn check() -> Result<String> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let text =
        fs::read_to_string(metadata.workspace_root.join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    let allowed = parse_table(&text)?;
    let folders: BTreeMap<String, String> = metadata
        .packages
        .iter()
        .map(|package| {
            let folder = package.manifest_path.parent().and_then(|path| path.file_name()).unwrap_or_default();
            (package.name.to_string(), folder.to_owned())
        })
        .collect();
    let mut arrows = Layers::new();
    for package in &metadata.packages {
        let row = arrows.entry(folders[package.name.as_str()].clone()).or_default();
        let build =
            package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
        row.extend(build.filter_map(|dependency| folders.get(&dependency.name).cloned()));
    }
    let mut faults = compare(&allowed, &arrows);
    for package in &metadata.packages {
        faults.extend(unused(package)?);
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n       "));
    let count: usize = arrows.values().map(BTreeSet::len).sum();
    Ok(format!("layers: {} crates, {count} arrows, all allowed by ARCHITECTURE.md", arrows.len()))
}

fn parse_table(text: &str) -> Result<Layers> {
    let Some((_, table)) = text.split_once(MARK) else { bail!("ARCHITECTURE.md has no line `{MARK}`") };
    let mut layers = Layers::new();
    // The first two rows are the heading and its separator.
    let rows =
        table.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    for row in rows.skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        ensure!(
            cells.len() >= 2,
            "ARCHITECTURE.md, layer table: want `| crate | may depend on | ...`, found {row}"
        );
        let may = cells[1].split_whitespace().filter(|name| *name != "—").map(str::to_owned).collect();
        ensure!(
            layers.insert(cells[0].to_owned(), may).is_none(),
            "ARCHITECTURE.md: two rows for {}",
            cells[0]
        );
    }
    ensure!(!layers.is_empty(), "ARCHITECTURE.md: no table behind `{MARK}`");
    Ok(layers)
}

fn compare(allowed: &Layers, arrows: &Layers) -> Vec<String> {
    let mut faults = Vec::new();
    for (from, targets) in arrows {
        match allowed.get(from) {
            None => faults.push(format!("{from} has no row in the layer table of ARCHITECTURE.md")),
            Some(may) => {
                faults.extend(targets.difference(may).map(|to| {
                    format!("{from} depends on {to}, which the layer table of ARCHITECTURE.md does not allow")
                }));
                faults.extend(may.difference(targets).map(|to| {
                    format!("{from} does not depend on {to}, which the layer table of ARCHITECTURE.md allows")
                }));
            }
        }
    }
    let gone = allowed.keys().filter(|name| !arrows.contains_key(*name));
    faults.extend(
        gone.map(|name| {
            format!("the layer table of ARCHITECTURE.md has a row for {name}, which is no crate")
        }),
    );
    faults
}

/// The dependencies of a package that neither its sources nor its build script name.
fn unused(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent().context("a manifest without a folder")?;
    let mut faults = Vec::new();
    for (kind, sources) in [(DependencyKind::Normal, "src"), (DependencyKind::Build, "build.rs")] {
        let mut text = String::new();
        read_sources(folder.join(sources).as_std_path(), &mut text)?;
        let own = package.dependencies.iter().filter(|dependency| dependency.kind == kind);
        let names = own.map(|dependency| dependency.rename.as_ref().unwrap_or(&dependency.name));
        let unused = names.filter(|name| !is_named(&name.replace('-', "_"), &text));
        faults.extend(unused.map(|name| format!("{folder}/{sources} does not use the dependency {name}")));
    }
    Ok(faults)
}

/// Adds the text of a source, or of all sources below a folder; of nothing if there is none.
fn read_sources(path: &Path, text: &mut String) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
            read_sources(&entry?.path(), text)?;
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") && path.exists() {
        text.push_str(&fs::read_to_string(path).with_context(|| path.display().to_string())?);
    }
    Ok(())
}

/// Whether a text has a path that begins with the crate, or imports the crate.
fn is_named(name: &str, text: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let starts = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        starts && (after.starts_with("::") || before.ends_with("use ") && after.starts_with([';', ' ']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_named_by_a_path_or_an_import() {
        let text = "use half::f16;\nuse toml as t;\nlet x = &rayon::scope;\nlet libm = my_serde::libm;\nself.csv::<u8>()";
        for (name, want) in [
            ("half", true),
            ("toml", true),
            ("rayon", true),
            ("serde", false),
            ("libm", false),
            ("csv", false),
        ] {
            assert_eq!(is_named(name, text), want, "{name}");
        }
    }

    const TABLE: &str = "text\n<!-- layers -->\n\n| crate | may depend on |\n|---|---|\n| device | — |\n| launch | device |\n\nmore | text";

    fn arrows(list: &[(&str, &[&str])]) -> Layers {
        list.iter()
            .map(|(from, to)| ((*from).to_owned(), to.iter().map(|name| (*name).to_owned()).collect()))
            .collect()
    }

    #[test]
    fn allowed_arrows_pass() {
        let table = parse_table(TABLE).unwrap();
        assert_eq!(
            compare(&table, &arrows(&[("device", &[]), ("launch", &["device"])])),
            Vec::<String>::new()
        );
    }

    #[test]
    fn forbidden_and_unused_arrows_and_strangers_fail() {
        let table = parse_table(TABLE).unwrap();
        assert_eq!(
            compare(&table, &arrows(&[("device", &[]), ("launch", &[])])),
            ["launch does not depend on device, which the layer table of ARCHITECTURE.md allows"]
        );
        let faults = compare(&table, &arrows(&[("device", &["launch"]), ("stranger", &[])]));
        assert_eq!(
            faults,
            [
                "device depends on launch, which the layer table of ARCHITECTURE.md does not allow",
                "stranger has no row in the layer table of ARCHITECTURE.md",
                "the layer table of ARCHITECTURE.md has a row for launch, which is no crate",
            ]
        );
    }

    #[test]
    fn an_unreadable_table_is_reported() {
        assert!(parse_table("no mark").unwrap_err().to_string().contains("no line"));
        assert!(parse_table("<!-- layers -->\nno table").unwrap_err().to_string().contains("no table"));
        assert!(parse_table(&TABLE.replace("| launch |", "| device |")).is_err());
    }
}
