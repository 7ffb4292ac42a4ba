//! Sets `TRIPIPE_VERSION`, what `tripipe --version` prints: the version, with the commit where one is known.
//!
//! A new commit compiles this crate again, and no other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

/// Prints what cargo reads.
#[allow(clippy::print_stdout, reason = "cargo reads the standard output of build scripts")]
fn main() {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let Provenance { commit, watched } = Provenance::of(&crate_folder);
    println!("cargo::rerun-if-changed=build.rs");
    for path in watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let shown = commit.map_or_else(|| version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=TRIPIPE_VERSION={shown}");
}

/// Where a build comes from.
pub(crate) struct Provenance {
    /// The first digits of the commit; `None` if it is not known.
    pub(crate) commit: Option<String>,
    /// The files that change with it.
    pub(crate) watched: Vec<PathBuf>,
}

impl Provenance {
    /// What a crate is built from: a package of cargo's, which has a file with its commit, or a clone.
    pub(crate) fn of(crate_folder: &Path) -> Self {
        let package = crate_folder.join(".cargo_vcs_info.json");
        if let Ok(text) = fs::read_to_string(&package) {
            return Self { commit: packaged(&text), watched: vec![package] };
        }
        Self::of_clone(crate_folder).unwrap_or(Self { commit: None, watched: Vec::new() })
    }

    /// What a crate is built from in a clone; `None` if it is not in one, or git is missing. A source that was unpacked
    /// inside another project's clone has no commit.
    fn of_clone(crate_folder: &Path) -> Option<Self> {
        let git = |arguments: &[&str]| {
            let run = Command::new("git").arg("-C").arg(crate_folder).args(arguments).output().ok()?;
            let said = String::from_utf8(run.stdout).ok()?.trim().to_owned();
            (run.status.success() && !said.is_empty()).then_some(said)
        };
        // Files that change with the commit or the branch. Cargo runs this script at every build if one is missing.
        let mut names = ["HEAD", "logs/HEAD", "packed-refs"].map(str::to_owned).to_vec();
        names.extend(git(&["symbolic-ref", "HEAD"]));
        let path = |name: String| Some(crate_folder.join(git(&["rev-parse", "--git-path", &name])?));
        let watched: Vec<PathBuf> = names.into_iter().filter_map(path).filter(|path| path.exists()).collect();
        let is_tracked = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
        let commit = git(&["rev-parse", "HEAD"]).filter(|_| is_tracked);
        let commit = commit.and_then(|commit| Some(commit.get(..DIGITS)?.to_owned()));
        (!watched.is_empty()).then_some(Self { commit, watched })
    }
}

/// The commit in cargo's file about a package: `{"git": {"sha1": "..."}}`.
fn packaged(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"sha1\"")?;
    let digits = rest.split('"').nth(1)?.get(..DIGITS)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| digits.to_owned())
}
