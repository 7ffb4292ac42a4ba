//! The results that pages show.

use serde_json::{Deserializer, Value};
use tripipe_results as results;

use super::PageError;

/// A result of a command, and the file that it comes from, to tell it from the same result in another file.
pub struct Document {
    pub(super) file: String,
    pub(super) result: results::Document,
}

impl Document {
    /// A result that was just made.
    pub fn new(result: results::Document) -> Self {
        Self { file: "the result".to_owned(), result }
    }
}

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
        // The parser knows where a value ends, not where it began.
        let line = text.get(..values.byte_offset()).map_or(0, |before| before.matches('\n').count()) + 1;
        documents.push(document(file, line, value)?);
    }
    if documents.is_empty() {
        return Err(PageError::Empty { file: file.to_owned() });
    }
    Ok(documents)
}

fn document(file: &str, line: usize, value: Value) -> Result<Document, PageError> {
    let command = value["command"].as_str().unwrap_or_default().to_owned();
    if !results::Document::COMMANDS.contains(&command.as_str()) {
        return Err(PageError::Foreign { file: file.to_owned(), line });
    }
    let file = file.to_owned();
    match serde_json::from_value(value) {
        Ok(result) => Ok(Document { file, result }),
        Err(error) => Err(PageError::Incomplete { file, line, command, reason: reason(&error) }),
    }
}

/// The message of an error without its location, which is reported as that of the file.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}
