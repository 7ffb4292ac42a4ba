//! The order of the crate's modules: a module names only modules that come before it.

use std::fs;
use std::path::{Path, PathBuf};

/// Top-level modules; those of one line do not name each other.
const LAYERS: [&[&str]; 7] = [
    &["arch", "source"],
    &["math", "image"],
    &["execute"],
    &["shadow"],
    &["trace", "watch"],
    &["bounds", "depend", "drivers"],
    &["simulator"],
];

/// The Rust files of a module, which is a file or a folder.
fn files(module: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(module) else { return vec![module.with_extension("rs")] };
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

#[test]
fn modules_name_only_modules_of_earlier_layers() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (layer, modules) in LAYERS.iter().enumerate() {
        for module in *modules {
            let later = LAYERS[layer..].concat();
            let forbidden = later.iter().filter(|other| *other != module);
            let forbidden: Vec<String> = forbidden.map(|other| format!("crate::{other}")).collect();
            for path in files(&source.join(module)) {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                for line in code {
                    let named = forbidden.iter().find(|name| line.contains(*name));
                    assert_eq!(named, None, "{}: {line}", path.display());
                }
            }
        }
    }
    let named: Vec<&str> = LAYERS.concat();
    let entries = fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path());
    for module in entries.filter(|path| !path.ends_with("lib.rs")) {
        let name = module.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(named.contains(&name.as_str()), "`{name}` is in no layer");
    }
}
