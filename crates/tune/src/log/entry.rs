//! The lines of a log.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tripipe_device::{Probe, identify};

use crate::{Outcome, Problem, Trial};

/// The version of the lines' format that this version writes. A line with a higher one is an error.
pub const FORMAT: u32 = 1;

/// A line of a log: a trial that starts, or its outcome. Each line stands alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// [`FORMAT`] of the version that wrote the line.
    pub format: u32,
    /// Whether the trial starts or has ended.
    pub event: Event,
    /// When, in UTC, e.g. `2026-11-23T02:20:00.123Z`.
    pub date: String,
    /// The version of Tripipe.
    pub tool: String,
    /// A key of the machine that is no name: equal for equal machines.
    pub host: String,
    /// The device.
    pub device: LogDevice,
    /// The problem, in its text form.
    pub problem: String,
    /// The parameters, in their text form.
    pub parameters: String,
    /// The time that was predicted before, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    /// The outcome, if the trial has ended; `None` for a trial that was given up through no fault of the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What a line of a log reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The trial starts. If no line reports its end, it took the machine down.
    Started,
    /// The trial has ended.
    Ended,
}

/// A device, as a log names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogDevice {
    /// `CL_DEVICE_NAME`.
    pub name: String,
    /// `CL_DRIVER_VERSION`.
    pub driver: String,
    /// `CL_PLATFORM_NAME`.
    #[serde(default)]
    pub platform: String,
    /// `CL_DEVICE_VERSION`.
    #[serde(default)]
    pub version: String,
    /// The product that it was identified as, e.g. `Mali-G610`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
}

impl LogDevice {
    /// A device by what it reports.
    pub fn of(probe: &Probe) -> Self {
        Self {
            name: probe.name.clone(),
            driver: probe.driver.clone(),
            platform: probe.platform.clone(),
            version: probe.version.clone(),
            product: identify(probe).product.map(|product| product.to_string()),
        }
    }

    /// Whether it is the same device with the same driver.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.driver, &self.version) == (&other.name, &other.driver, &other.version)
    }
}

/// What trials are about: a problem on a device of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialSubject {
    /// The device.
    pub device: LogDevice,
    /// [`LogEntry::host`].
    pub host: String,
    /// The problem, in its text form.
    pub problem: String,
}

impl TrialSubject {
    /// A problem on a device of this machine.
    pub fn here(problem: &Problem, probe: &Probe) -> Self {
        Self { device: LogDevice::of(probe), host: host_key(), problem: problem.to_string() }
    }

    fn entry(&self, event: Event, parameters: &str) -> LogEntry {
        LogEntry {
            format: FORMAT,
            event,
            date: humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.host.clone(),
            device: self.device.clone(),
            problem: self.problem.clone(),
            parameters: parameters.to_owned(),
            predicted: None,
            outcome: None,
        }
    }

    /// The line of a trial that starts.
    pub fn started(&self, parameters: &str) -> LogEntry {
        self.entry(Event::Started, parameters)
    }

    /// The line of a trial that was given up through no fault of the parameters.
    pub fn abandoned(&self, parameters: &str) -> LogEntry {
        self.entry(Event::Ended, parameters)
    }

    /// The line of a trial that has ended.
    pub fn ended(&self, trial: &Trial, predicted: Option<f64>) -> LogEntry {
        LogEntry {
            predicted,
            outcome: Some(trial.outcome.clone()),
            ..self.entry(Event::Ended, &trial.parameters)
        }
    }
}

impl LogEntry {
    /// Whether it is about the same problem on the same device with the same driver.
    pub fn is_about(&self, subject: &TrialSubject) -> bool {
        self.problem == subject.problem && self.device.is_same(&subject.device)
    }

    /// The family of the problem: the first word of its text.
    pub fn family(&self) -> &str {
        self.problem.split_whitespace().next().unwrap_or_default()
    }
}

/// A key of this machine: a few digits of a hash of its identity, or of its name where it has none.
fn host_key() -> String {
    let identity = ["/etc/machine-id", "/etc/hostname"].iter().find_map(|path| std::fs::read(path).ok());
    let hash: [u8; 32] = Sha256::digest(identity.unwrap_or_default()).into();
    let [a, b, c, d, ..] = hash;
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}
