//! Tests in a process of their own, because a library is loaded once per process: the child is this test binary, run with only
//! the test `child` of a module.

use std::process::Command;

const ROLE: &str = "TRIPIPE_TEST_CHILD";

/// Whether this process is a child.
pub(crate) fn is_child() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// What the child of a module prints after `outcome: `, with the variables that `set` gives it.
pub(crate) fn outcome(module: &str, set: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("{module}::child"), "--exact", "--nocapture"]).env(ROLE, "1");
    set(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let (_, outcome) = text.split_once("outcome: ").unwrap_or_else(|| panic!("{text}"));
    outcome.lines().next().unwrap_or_default().to_owned()
}
