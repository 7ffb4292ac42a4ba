//! Looks for circles of source files that use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::source::{self, Kind};

/// A circle may have this many files.
const MOST: usize = 3;

/// Crates with larger circles, each with the sizes of those, the largest first: `ladders 14 5`.
const LIMITS: &str = "xtask/data/circles.txt";

/// The files of a crate, each with those that it uses and the names of what it uses of them.
type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Checks that no more than [`MOST`] files of a crate form a circle, in which each uses the others, if only through
/// others; and that the larger circles are those of [`LIMITS`].
///
/// A file uses what its imports and paths name, also if it is re-exported elsewhere. That a module declares another one,
/// or re-exports items of a module inside it, does not count. Tests are left out.
///
/// Returns a line that says what was checked.
///
/// # Errors
/// A circle that is larger than listed, or smaller: then the list is to be changed. No Git.
pub(crate) fn check() -> Result<String> {
    let (mut faults, mut files, mut listed) = (Vec::new(), 0, 0);
    let limits = fs::read_to_string(LIMITS).context(LIMITS)?;
    let mut limits = parse_limits(&limits)?;
    for (folder, sources) in crates()? {
        files += sources.len();
        let limit = limits.remove(&folder).unwrap_or_default();
        listed += limit.len();
        faults.extend(compare(&folder, &limit, &circles(&arrows(&sources))));
    }
    faults.extend(limits.keys().map(|folder| format!("{LIMITS}: there is no crate {folder}")));
    ensure!(faults.is_empty(), "{}", faults.join("\n       "));
    Ok(format!("circles: {files} files, none of more than {MOST} of a crate, except {listed} listed ones"))
}

/// The circles of a crate with more than [`MOST`] files: what each file uses of the others.
///
/// # Errors
/// There is no such crate; no Git.
pub(crate) fn describe(folder: &str) -> Result<String> {
    let Some(sources) = crates()?.remove(folder) else { bail!("there is no crate {folder}") };
    let arrows = arrows(&sources);
    let mut text = String::new();
    for circle in circles(&arrows) {
        let _ = writeln!(text, "{} files of {folder} form a circle", circle.len());
        for from in &circle {
            for (to, names) in arrows[from].iter().filter(|(to, _)| circle.contains(*to)) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let _ = writeln!(text, "  {from} uses {} of {to}", names.join(", "));
            }
        }
    }
    Ok(format!("{text}circles: those of {folder} with more than {MOST} files"))
}

/// The tracked sources of each crate, by its folder: the path below `src`, and the text.
fn crates() -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let mut crates = BTreeMap::<String, BTreeMap<String, String>>::new();
    for name in source::tracked(&["*.rs"])? {
        let (Some(folder), Ok(text)) = (source::crate_of(Path::new(&name)), fs::read_to_string(&name)) else {
            continue;
        };
        if let Some((_, inside)) = name.split_once("src/") {
            crates.entry(folder).or_default().insert(inside.to_owned(), text);
        }
    }
    Ok(crates)
}

fn parse_limits(text: &str) -> Result<BTreeMap<String, Vec<usize>>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let limit = |line: &str| {
        let (folder, sizes) = line.split_once(' ')?;
        let sizes: Option<Vec<usize>> = sizes.split(' ').map(|size| size.parse().ok()).collect();
        Some((folder.to_owned(), sizes?))
    };
    lines
        .map(|line| limit(line).with_context(|| format!("{LIMITS}: want `crate size`, found {line}")))
        .collect()
}

/// How the circles of a crate, the largest first, differ from their limits.
fn compare(folder: &str, limits: &[usize], circles: &[BTreeSet<String>]) -> Vec<String> {
    let mut faults = Vec::new();
    for index in 0..limits.len().max(circles.len()) {
        let limit = limits.get(index).copied().unwrap_or(MOST);
        let size = circles.get(index).map_or(MOST, BTreeSet::len);
        if size > limit {
            faults.push(format!(
                "{size} files of {folder} form a circle, and {limit} may: `cargo xtask circles {folder}` lists what \
                 they use of each other; move it to a file of its own"
            ));
        } else if size < limit {
            let lower = if size > MOST { format!("to {size}") } else { "by removing it".to_owned() };
            faults.push(format!(
                "{LIMITS}: lower the number {limit} of {folder} {lower}: the circle is smaller"
            ));
        }
    }
    faults
}

/// The sets of more than [`MOST`] files that reach each other, the largest first.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = arrows
        .keys()
        .map(|from| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(next) = open.pop() {
                open.extend(arrows[next].keys().filter(|to| reached.insert(*to)));
            }
            (from, reached)
        })
        .collect();
    let circle = |from: &String| -> BTreeSet<String> {
        reached[from].iter().filter(|to| reached[**to].contains(from)).map(|to| (*to).clone()).collect()
    };
    let all: BTreeSet<BTreeSet<String>> = arrows.keys().map(circle).filter(|one| one.len() > MOST).collect();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.len()));
    all
}

/// A module's path below the crate: `["filter", "plan"]`.
type ModulePath<'t> = Vec<&'t str>;

/// The file of each module of a crate.
type Files<'t> = BTreeMap<ModulePath<'t>, &'t str>;

/// The paths that the imports of each module give names.
type Imports<'t> = BTreeMap<ModulePath<'t>, BTreeMap<&'t str, ModulePath<'t>>>;

/// A path of a source.
struct Named<'t> {
    /// The module that contains it.
    within: ModulePath<'t>,
    path: Vec<&'t str>,
    /// The name that an import gives it; `None` outside of imports.
    import: Option<&'t str>,
    /// Whether other modules see the import, and the file does nothing else with the name.
    is_reexport: bool,
}

/// What each file of a crate uses of the others; `sources` are texts by path below `src`.
fn arrows(sources: &BTreeMap<String, String>) -> Arrows {
    let (mut files, mut named) = (Files::new(), Vec::new());
    for (file, text) in sources {
        let path = file.strip_suffix(".rs").unwrap_or(file);
        let is_root = ["lib", "main"].contains(&path);
        let module: ModulePath<'_> = path.split('/').filter(|part| !is_root && *part != "mod").collect();
        files.insert(module.clone(), file);
        named.push((file, module.clone(), read(text, file, module, &mut files)));
    }
    let mut imports = Imports::new();
    for one in named.iter().flat_map(|(.., all)| all) {
        if let (Some(name), Some(path)) = (one.import.filter(|name| *name != "*"), absolute(one, &files)) {
            imports.entry(one.within.clone()).or_default().insert(name, path);
        }
    }
    let mut arrows = Arrows::new();
    for (file, module, all) in &named {
        let own = arrows.entry((*file).clone()).or_default();
        for one in all {
            let by_import = || {
                let first = imports.get(&one.within)?.get(one.path[0]).filter(|_| one.import.is_none())?;
                Some([first, &one.path[1..]].concat())
            };
            let path = absolute(one, &files).or_else(by_import);
            let Some((target, item)) = path.and_then(|path| definition(&path, &files, &imports, 0)) else {
                continue;
            };
            let is_inside = target.len() > module.len() && target.starts_with(module);
            if files[&target] != *file && !(one.is_reexport && is_inside) {
                own.entry(files[&target].to_owned()).or_default().insert(item.to_owned());
            }
        }
    }
    arrows
}

/// The paths in the source of a module, and in the modules that it contains, which are added to `files`.
fn read<'t>(
    text: &'t str,
    file: &'t str,
    mut module: ModulePath<'t>,
    files: &mut Files<'t>,
) -> Vec<Named<'t>> {
    let tokens = source::tokens(text).into_iter().filter(|token| token.kind != Kind::Comment);
    let words: Vec<&str> =
        tokens.map(|token| if token.kind == Kind::Text { "" } else { token.text }).collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let (mut named, mut bare, mut depth, mut open, mut at) = (Vec::new(), BTreeSet::new(), 0, Vec::new(), 0);
    while at < words.len() {
        let before = if at == 0 { "" } else { word(at - 1) };
        match word(at) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if open.last() == Some(&depth) {
                    open.pop();
                    module.pop();
                }
            }
            // The module in `pub(in path)` is not used.
            "in" if before == "(" => {
                while word(at + 1) != ")" && at + 1 < words.len() {
                    at += 1;
                }
            }
            "mod" => {
                if word(at + 2) == "{" {
                    module.push(word(at + 1));
                    files.insert(module.clone(), file);
                    open.push(depth);
                }
                at += 1;
            }
            "use" if word(at + 1) != "<" => {
                at += 1;
                let mut paths = Vec::new();
                read_import(&words, &mut at, Vec::new(), &mut paths);
                let is_reexport = ["pub", ")"].contains(&before);
                named.extend(paths.into_iter().map(|(path, name)| Named {
                    within: module.clone(),
                    path,
                    import: Some(name),
                    is_reexport,
                }));
                continue;
            }
            first
                if first.starts_with(|c: char| c.is_alphabetic() || c == '_')
                    && !["::", "."].contains(&before) =>
            {
                let mut path = vec![first];
                while word(at + 1) == "::"
                    && word(at + 2).starts_with(|c: char| c.is_alphabetic() || c == '_')
                {
                    at += 2;
                    path.push(word(at));
                }
                if !module.contains(&"tests") {
                    bare.insert(first);
                }
                if path.len() > 1 {
                    named.push(Named { within: module.clone(), path, import: None, is_reexport: false });
                }
            }
            _ => {}
        }
        at += 1;
    }
    named.retain(|one| !one.within.contains(&"tests"));
    for one in &mut named {
        one.is_reexport &= one.import.is_some_and(|name| !bare.contains(name));
    }
    named
}

/// Reads an import from `at` to its end: its paths and the names that they get, `*` for all of a module.
fn read_import<'t>(
    words: &[&'t str],
    at: &mut usize,
    mut path: Vec<&'t str>,
    paths: &mut Vec<(Vec<&'t str>, &'t str)>,
) {
    while let Some(word) = words.get(*at).copied().filter(|word| ![";", ",", "}"].contains(word)) {
        *at += 1;
        match word {
            "::" => {}
            "{" => {
                while words.get(*at).is_some_and(|word| *word != "}") {
                    read_import(words, at, path.clone(), paths);
                    *at += usize::from(words.get(*at) == Some(&","));
                }
                *at += 1;
                return;
            }
            "as" => {
                if let (Some((_, name)), Some(new)) = (paths.last_mut(), words.get(*at)) {
                    *name = new;
                }
                *at += 1;
            }
            _ => {
                if word != "self" || path.is_empty() {
                    path.push(word);
                }
                if words.get(*at) != Some(&"::") {
                    paths.extend(path.last().map(|name| (path.clone(), *name)));
                }
            }
        }
    }
}

/// A path from the crate's root; `None` if it starts elsewhere.
fn absolute<'t>(named: &Named<'t>, files: &Files<'t>) -> Option<ModulePath<'t>> {
    let mut module = named.within.clone();
    let mut rest = &named.path[..];
    match rest[0] {
        "crate" => module.clear(),
        "self" | "super" => {}
        first => {
            module.push(first);
            return files.contains_key(&module).then(|| [&module, &rest[1..]].concat());
        }
    }
    while let Some(first) = rest.first().filter(|part| ["crate", "self", "super"].contains(*part)) {
        if *first == "super" {
            module.pop()?;
        }
        rest = &rest[1..];
    }
    Some([&module, rest].concat())
}

/// The module that defines the item a path leads to, through re-exports, and its name; `None` if the path is a module's.
fn definition<'t>(
    path: &[&'t str],
    files: &Files<'t>,
    imports: &Imports<'t>,
    depth: usize,
) -> Option<(ModulePath<'t>, &'t str)> {
    let inside = (0..path.len()).rev().find(|length| files.contains_key(&path[..*length]))?;
    let (module, rest) = path.split_at(inside);
    let import = imports.get(module).and_then(|own| own.get(rest[0]));
    match import {
        // Imports that lead to each other are those of modules and items with one name.
        Some(import) if depth < 8 && *import != path[..=inside] => {
            definition(&[import, &rest[1..]].concat(), files, imports, depth + 1)
        }
        _ if files.contains_key(path) => None,
        _ => Some((module.to_vec(), rest[0])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of the circles of a crate whose files use what is said: `a/mod` is the file `a/mod.rs`.
    fn sizes(all: &[(&str, &str)]) -> Vec<usize> {
        let sources = all.iter().map(|(file, text)| (format!("{file}.rs"), (*text).to_owned())).collect();
        circles(&arrows(&sources)).iter().map(BTreeSet::len).collect()
    }

    #[test]
    fn a_circle_of_three_files_passes_and_one_of_four_does_not() {
        let mut all = vec![
            ("lib", "mod a; mod b; mod c; mod d;"),
            ("a", "use crate::b::B;"),
            ("b", "fn f() { super::c::f::<u8>() }"),
            ("c", "use super::a::{self, A};"),
            ("d", "use crate::a;"),
        ];
        assert!(sizes(&all).is_empty());
        all[3].1 = "use super::{super::own::x, d::{D as E}};";
        all[4].1 = "use crate::a; fn f() { a::f() }";
        assert_eq!(sizes(&all), [4]);
        // What tests, comments and texts name does not count.
        for text in [
            "#[cfg(test)] mod tests { use crate::a::A; }",
            "// crate::a::A",
            "const A: &str = \"crate::a::A\";",
        ] {
            all[4].1 = text;
            assert!(sizes(&all).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_reexported_item_is_of_the_file_that_defines_it() {
        let mut all = vec![
            ("lib", "mod a;"),
            ("a/mod", "mod b; mod c; mod d; pub(crate) use b::{B, b}; pub use self::c::C; struct I;"),
            ("a/b", "use super::C;"),
            ("a/c", "use crate::a::d::D;"),
            ("a/d", "use super::{B, I}; mod inner { use super::super::inner::E; }"),
        ];
        assert!(sizes(&all).is_empty(), "b, c and d");
        all[1].1 = "mod b; pub(crate) use b::B; pub use self::c::C; struct I; fn f(_: B) {}";
        assert_eq!(sizes(&all), [4], "the module uses what it re-exports");
        all[1].1 = "mod b; use b::B; pub use self::c::C; struct I;";
        assert_eq!(sizes(&all), [4], "an import for itself");
    }

    #[test]
    fn a_limit_only_shrinks() {
        let circle = |size: usize| -> BTreeSet<String> { (0..size).map(|file| file.to_string()).collect() };
        let limits = parse_limits("# text\n\na 5 4\nb 7\n").unwrap();
        assert_eq!(limits["a"], [5, 4]);
        let found = |sizes: &[usize]| {
            compare("a", &limits["a"], &sizes.iter().map(|size| circle(*size)).collect::<Vec<_>>())
        };
        assert!(found(&[5, 4]).is_empty());
        assert!(found(&[6, 4])[0].starts_with("6 files of a form a circle, and 5 may"));
        assert!(found(&[5, 4, 4])[0].starts_with("4 files of a form a circle, and 3 may"));
        assert!(found(&[4, 4])[0].contains("lower the number 5 of a to 4"));
        assert!(found(&[5])[0].contains("lower the number 4 of a by removing it"));
        assert!(parse_limits("a").is_err() && parse_limits("a many").is_err());
    }
}
