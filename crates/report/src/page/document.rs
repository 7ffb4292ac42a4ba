//! The JSON documents of commands.

use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};

use super::PageError;
use super::analysis::Analysis;
use super::capture::Capture;
use super::check::Check;
use super::ladder::Ladder;
use super::other::Other;
use super::peaks::Peaks;
use super::simulation::SimulatedLaunch;
use super::tune::Tuning;
use super::why::Application;

/// A result of a command, as its JSON describes it.
pub struct Document {
    /// The file that it comes from, to tell it from the same result in another file.
    pub(super) file: String,
    pub(super) content: Content,
}

/// The results that a page shows.
pub(super) enum Content {
    Ladder(Box<Ladder>),
    Simulation(Box<SimulatedLaunch>),
    Analysis(Box<Analysis>),
    Peaks(Box<Peaks>),
    Check(Box<Check>),
    Tuning(Box<Tuning>),
    Application(Box<Application>),
    Capture(Box<Capture>),
    Other(Box<Other>),
}

/// The commands whose results a page shows, and keys that tell a result without the key `command`.
const COMMANDS: [(&str, &[&str]); 15] = [
    ("ladder", &["ladder", "steps", "sizes"]),
    ("simulate", &["gpu", "kernel", "global", "limiter"]),
    ("analyze", &["gpu", "kernel", "longest_path"]),
    ("peaks", &["device", "peaks"]),
    ("check", &["launches", "checks", "findings"]),
    ("tune", &["family", "subject", "candidates"]),
    ("devices", &["devices", "no_opencl"]),
    ("devices", &["models"]),
    ("histogram", &["picture", "channels", "bin_width"]),
    ("run-kernel", &["kernel", "program", "printed"]),
    ("run-kernel", &["argument", "element", "extents"]),
    ("explain", &["rules"]),
    ("compare", &["command"]),
    ("verdict", &["verdict", "memory", "findings"]),
    ("why", &["gpu", "seconds", "launches", "notes"]),
];

/// Reads the output of a command with `--format json`, or several one after the other.
///
/// # Errors
/// The text is empty, not JSON, not a result of a command, or lacks what a page shows. `file` is its name in the error.
pub fn read(file: &str, text: &str) -> Result<Vec<Document>, PageError> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let mut documents = Vec::new();
    while let Some(value) = values.next() {
        let value = value.map_err(|error| PageError::Syntax {
            file: file.to_owned(),
            line: error.line(),
            reason: reason(&error),
        })?;
        let line = text.get(..values.byte_offset()).map_or(0, |before| before.matches('\n').count()) + 1;
        documents.push(document(file, line, value)?);
    }
    if documents.is_empty() {
        return Err(PageError::Empty { file: file.to_owned() });
    }
    Ok(documents)
}

fn document(file: &str, line: usize, value: Value) -> Result<Document, PageError> {
    let command = command(&value);
    let command = command.ok_or_else(|| PageError::Foreign { file: file.to_owned(), line })?;
    let content = match command {
        "ladder" => typed(value).map(Content::Ladder),
        "simulate" => typed(value).map(Content::Simulation),
        "analyze" => typed(value).map(Content::Analysis),
        "peaks" => typed(value).map(Content::Peaks),
        "check" => typed(value).map(Content::Check),
        "tune" => typed(value).map(Content::Tuning),
        "compare" => typed(value).map(Content::Capture),
        "why" => typed(value).map(Content::Application),
        _ => Ok(Content::Other(Box::new(Other { command, value }))),
    };
    let content = content.map_err(|error| PageError::Incomplete {
        file: file.to_owned(),
        line,
        command: command.to_owned(),
        reason: reason(&error),
    })?;
    Ok(Document { file: file.to_owned(), content })
}

/// The command that wrote a result.
fn command(value: &Value) -> Option<&'static str> {
    let object = value.as_object()?;
    let known = |(command, keys): &&(&str, &[&str])| match object.get("command") {
        Some(name) => name.as_str() == Some(command),
        None => keys.iter().all(|key| object.contains_key(*key)),
    };
    COMMANDS.iter().find(known).map(|(command, _)| *command)
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<Box<T>, serde_json::Error> {
    serde_json::from_value(value).map(Box::new)
}

/// The message of an error without its location, which is reported as that of the file.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}
