//! Perfetto's own descriptors as the judge of a trace.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, or says that it is skipped"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What `decode.py` finds in a trace; `None`, with a message, if there is no Python with Perfetto's descriptors, unless
/// `TRIPIPE_REQUIRE_PERFETTO` is set. `scripts/setup` installs one.
pub(crate) fn decode(trace: &Path) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var_os("TRIPIPE_PERFETTO_PYTHON").map(PathBuf::from);
    let python = python.unwrap_or(root.join("target/perfetto/bin/python"));
    if !python.exists() {
        assert!(
            std::env::var_os("TRIPIPE_REQUIRE_PERFETTO").is_none(),
            "{} does not exist; run scripts/setup",
            python.display()
        );
        println!("skipped: {} does not exist; scripts/setup installs it", python.display());
        return None;
    }
    let script = root.join("crates/trace/tests/decode.py");
    let output = Command::new(python).arg(script).arg(trace).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
