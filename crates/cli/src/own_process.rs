//! This program as a child process.

use std::env;
use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

/// The environment variables with which this program was started.
static ENVIRONMENT: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();

/// Keeps the environment for child processes. Call it before a driver is loaded: some loaders change the environment of
/// the process that loads them. The Khronos loader cuts `OCL_ICD_FILENAMES` off after its first name, so that a child
/// that inherits it finds one driver only.
pub(crate) fn keep_environment() {
    let _ = ENVIRONMENT.set(env::vars_os().collect());
}

/// Makes commands that start this program again, with these arguments and the environment that it was started with.
///
/// # Errors
/// The system does not tell the path of this program.
pub(crate) fn commands(arguments: Vec<String>) -> Result<impl Fn() -> Command> {
    let program = env::current_exe().context("the path of this program")?;
    Ok(move || {
        let mut command = Command::new(&program);
        command.args(&arguments);
        if let Some(variables) = ENVIRONMENT.get() {
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        }
        command
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_the_environment_of_the_start() -> Result<()> {
        keep_environment();
        let command = commands(vec!["devices".to_owned()])?();
        let given: Vec<_> =
            command.get_envs().map(|(name, value)| (name.into(), value.map(Into::into))).collect();
        let mut expected: Vec<(OsString, Option<OsString>)> =
            env::vars_os().map(|(name, value)| (name, Some(value))).collect();
        expected.sort();
        assert_eq!(given, expected);
        Ok(())
    }
}
