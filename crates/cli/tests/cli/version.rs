//! `tripipe --version`, and the commit that the build script finds.

#[path = "../../build.rs"]
#[allow(dead_code, reason = "cargo runs `main`")]
mod build_script;

use std::fs;
use std::path::Path;
use std::process::Command;

use build_script::Provenance;

use crate::Bench;

fn git(folder: &Path, arguments: &[&str]) -> String {
    let who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"];
    let run = Command::new("git").arg("-C").arg(folder).args(who).args(arguments).output().unwrap();
    assert!(run.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap().trim().to_owned()
}

fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|run| run.status.success())
}

#[test]
fn the_version_names_the_commit_that_was_built() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let said = Bench::new().succeed(&["--version"]);
    let version = env!("CARGO_PKG_VERSION");
    match Provenance::of(here).commit {
        Some(commit) => assert_eq!(said, format!("tripipe {version} ({commit})\n")),
        None => assert_eq!(said, format!("tripipe {version}\n")),
    }
    if has_git() && here.join("../../.git").exists() {
        let head = git(here, &["rev-parse", "--short=12", "HEAD"]);
        assert_eq!(said, format!("tripipe {version} ({head})\n"));
    }
}

/// The archive of `scripts/release`, by the names that `cargo binstall` looks for.
#[test]
fn binstall_finds_the_archive_of_a_release() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let filled = |key: &str| {
        let text = binstall[key].as_str().unwrap();
        let names = [
            ("{ version }", "1.2.3"),
            ("{ target }", "x86_64-linux"),
            ("{ bin }", "tripipe"),
            ("{ binary-ext }", ""),
        ];
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    };
    let script = fs::read_to_string(folder.join("../../scripts/release")).unwrap();
    let name = script.lines().find_map(|line| line.strip_prefix("name=")).unwrap();
    let name = name.replace("$version", "1.2.3").replace("$target", "x86_64-linux");
    assert!(script.contains("\"$dist/$name.tar.gz\"") && script.contains("\"$work/$name/tripipe\""));
    assert_eq!(filled("pkg-url"), format!("{{ repo }}/releases/download/v1.2.3/{name}.tar.gz"));
    assert_eq!(filled("bin-dir"), format!("{name}/tripipe"));
}

#[test]
fn a_source_without_git_has_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let built = Provenance::of(folder.path());
    assert_eq!(built.commit, None);
    assert!(built.watched.is_empty());
}

#[test]
fn a_package_says_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let commit = "4d936cdf0123456789abcdef0123456789abcdef";
    let file = folder.path().join(".cargo_vcs_info.json");
    fs::write(&file, format!("{{\n  \"git\": {{\n    \"sha1\": \"{commit}\"\n  }}\n}}")).unwrap();
    assert_eq!(Provenance::of(folder.path()).commit.as_deref(), Some("4d936cdf0123"));
    for wrong in
        ["", "{}", "{\"git\": {\"sha1\": \"\"}}", "{\"git\": {\"sha1\": \"not hexadecimal at all\"}}"]
    {
        fs::write(&file, wrong).unwrap();
        assert_eq!(Provenance::of(folder.path()).commit, None, "{wrong}");
    }
}

#[test]
fn a_clone_says_its_commit_and_another_projects_clone_does_not() {
    if !has_git() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (root, own) = (folder.path(), folder.path().join("crates/cli"));
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("build.rs"), "").unwrap();
    fs::write(root.join("theirs"), "").unwrap();
    git(root, &["init", "--quiet"]);
    git(root, &["add", "theirs"]);
    git(root, &["commit", "--quiet", "-m", "theirs"]);
    assert_eq!(Provenance::of(&own).commit, None);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "ours"]);
    // As a branch that is a file, as one that is packed, and without a branch.
    for change in [&["status"][..], &["pack-refs", "--all"], &["checkout", "--quiet", "--detach"]] {
        git(root, change);
        let built = Provenance::of(&own);
        assert_eq!(built.commit, Some(git(root, &["rev-parse", "--short=12", "HEAD"])));
        assert!(!built.watched.is_empty() && built.watched.iter().all(|path| path.exists()), "{change:?}");
    }
}
