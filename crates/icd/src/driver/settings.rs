//! The environment variables of the driver.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, Once};

use tripipe_device::drivers::{Quirk, find_quirk, quirks};
use tripipe_device::{Gpu, OpenCl, UnknownGpu, find};
use tripipe_launch::locks::lock;
use tripipe_simulate::RunError;

use super::failure::Failure;

/// The variable that names the devices.
pub const DEVICES: &str = "TRIPIPE_DEVICES";

/// The variable that names what a real driver does wrong.
const INJECT: &str = "TRIPIPE_INJECT";

/// The device without [`DEVICES`].
const DEFAULT_DEVICE: &str = "mali-g77";

/// How launches are executed (`TRIPIPE_EXECUTE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execute {
    /// All results are computed.
    #[default]
    All,
    /// The work-groups that the timing model runs; the bytes of others are undefined.
    Sample,
    /// Nothing is computed: only times.
    None,
}

/// What the environment asks for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The devices, in order.
    pub gpus: Vec<&'static Gpu>,
    /// How launches are executed.
    pub execute: Execute,
    /// Whether launches run with all checks (`TRIPIPE_CHECK`).
    pub check: bool,
    /// Extensions, features and versions of OpenCL C that every device is assumed to offer, too (`TRIPIPE_ASSUME`).
    pub assume: Vec<String>,
    /// What a real driver does wrong, and this one shall do, too (`TRIPIPE_INJECT`).
    pub inject: Option<&'static Quirk>,
    /// Whether failures are logged on the standard error stream (`TRIPIPE_LOG`).
    pub log: bool,
    /// What is wrong with the variables.
    pub problems: Vec<String>,
    /// Why nothing is injected though it was asked for.
    pub refused: Option<String>,
}

impl Settings {
    /// Reads settings from variables. An unknown device is left out, and a wrong value has no effect; both are
    /// problems.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut problems = Vec::new();
        let named = variable(DEVICES).filter(|names| !names.trim().is_empty());
        let mut gpus = Vec::new();
        for name in named.as_deref().unwrap_or(DEFAULT_DEVICE).split(',').map(str::trim) {
            match find(name) {
                Ok(gpu) => gpus.push(gpu),
                Err(error @ UnknownGpu { .. }) => problems.push(format!("{DEVICES}: {error}")),
            }
        }
        let execute = match variable("TRIPIPE_EXECUTE").as_deref() {
            None | Some("" | "all") => Execute::All,
            Some("sample") => Execute::Sample,
            Some("none") => Execute::None,
            Some(other) => {
                problems.push(format!("TRIPIPE_EXECUTE: \"{other}\" is none of all, sample, none"));
                Execute::All
            }
        };
        let is_on = |name| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
        let (check, log) = (is_on("TRIPIPE_CHECK"), is_on("TRIPIPE_LOG"));
        let (inject, refused) =
            match variable(INJECT).filter(|id| !id.trim().is_empty()).map(|id| injected(id.trim())) {
                Some(Err(refused)) => (None, Some(refused)),
                Some(Ok(quirk)) => (Some(quirk), None),
                None => (None, None),
            };
        let mut settings = Self { gpus, execute, check, assume: Vec::new(), inject, log, problems, refused };
        let assume = variable("TRIPIPE_ASSUME").unwrap_or_default();
        for name in assume.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = settings.gpus.first().map(|gpu| gpu.opencl().clone().assuming(&[name]));
            match known {
                Some(Err(error)) => settings.problems.push(format!("TRIPIPE_ASSUME: {error}")),
                Some(Ok(_)) | None => settings.assume.push(name.to_owned()),
            }
        }
        settings
    }

    /// What a device offers, with what is assumed.
    pub fn assumed(&self, opencl: &OpenCl) -> OpenCl {
        opencl.clone().assuming(&self.assume).unwrap_or_else(|_| opencl.clone())
    }

    /// Those of this process, read at the first call.
    pub fn current() -> &'static Self {
        static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
            let settings = Settings::new(|name| std::env::var(name).ok());
            for problem in &settings.problems {
                settings.print(problem);
            }
            settings.print_refused();
            settings
        });
        &SETTINGS
    }

    /// Says that nothing is injected, whatever the user asked for: results that are right would seem to prove something.
    #[allow(
        clippy::print_stderr,
        reason = "a test of a defect that is not there passes, and nobody else says why"
    )]
    fn print_refused(&self) {
        if let Some(refused) = &self.refused {
            eprintln!("tripipe: {refused}");
        }
    }

    /// Says once in a process, whatever the user asked for, that a command failed: many applications look at no event.
    #[allow(clippy::print_stderr, reason = "results are missing, and nobody else says why")]
    pub fn print_first(&self, failure: &Failure) {
        static FIRST: Once = Once::new();
        if !self.log {
            FIRST.call_once(|| {
                eprintln!("tripipe: a command failed: {failure}; TRIPIPE_LOG=1 prints all failures");
            });
        }
    }

    /// Says once of an instruction that it loads from outside of a buffer, whatever the user asked for: applications
    /// work in spite of it, or not.
    #[allow(clippy::print_stderr, reason = "no GPU says so, and nobody else here does")]
    pub fn print_stray(&self, stray: &RunError) {
        static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let RunError::Fault { kernel, location, .. } = stray else { return };
        if lock(&KNOWN).insert(format!("{kernel} {location:?}")) {
            eprintln!("tripipe: {stray}; zeros are loaded, TRIPIPE_CHECK=1 finds all such errors");
        }
    }

    /// Logs a message, if the user asked for messages.
    #[allow(
        clippy::print_stderr,
        reason = "only on request: a driver has no other channel before there is a context"
    )]
    pub fn print(&self, message: &str) {
        if self.log {
            eprintln!("tripipe: {message}");
        }
    }
}

/// The quirk of an id, if it can be injected.
fn injected(id: &str) -> Result<&'static Quirk, String> {
    let quirk = find_quirk(id).map_err(|error| format!("{INJECT}: {error}; nothing is injected"))?;
    if quirk.injection.is_some() {
        return Ok(quirk);
    }
    let those: Vec<&str> =
        quirks().iter().filter(|quirk| quirk.injection.is_some()).map(|quirk| quirk.id.as_str()).collect();
    Err(format!("{INJECT}: `{id}` cannot be injected; those that can: {}", those.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::new(|name| {
            variables.iter().find(|variable| variable.0 == name).map(|variable| variable.1.to_owned())
        })
    }

    #[test]
    fn devices_are_those_named_in_order() {
        let names = |variables: &[(&str, &str)]| -> Vec<&str> {
            settings(variables).gpus.iter().map(|gpu| gpu.name()).collect()
        };
        assert_eq!(names(&[]), ["Mali-G77"]);
        assert_eq!(
            names(&[(DEVICES, " mali-t604,adreno-650, g77")]),
            ["Mali-T604", "Adreno 650", "Mali-G77"]
        );
        let wrong = settings(&[(DEVICES, "mali-t604,mali-x"), ("TRIPIPE_EXECUTE", "some")]);
        assert_eq!((wrong.gpus.len(), wrong.execute, wrong.problems.len()), (1, Execute::All, 2));
        assert!(wrong.problems[0].contains("mali-x"));
        assert_eq!(settings(&[("TRIPIPE_EXECUTE", "none")]).execute, Execute::None);
        assert!(settings(&[("TRIPIPE_CHECK", "1")]).check && !settings(&[("TRIPIPE_CHECK", "0")]).check);
    }
    #[test]
    fn only_what_can_be_injected_is() {
        let injected = |id: &str| {
            let settings = settings(&[(INJECT, id)]);
            (settings.inject.map(|quirk| quirk.id.as_str()), settings.refused.unwrap_or_default())
        };
        assert_eq!(injected(""), (None, String::new()));
        assert_eq!(injected(" adreno-nibble-packing"), (Some("adreno-nibble-packing"), String::new()));
        let (none, refused) = injected("adreno-nibble-pakking");
        assert!(none.is_none() && refused.contains("did you mean `adreno-nibble-packing`"), "{refused}");
        let (none, refused) = injected("adreno-half-fma");
        assert!(none.is_none() && refused.contains("adreno-half-fma` cannot be injected"), "{refused}");
        assert!(refused.contains("mali-t860-resources"), "{refused}");
    }
}
