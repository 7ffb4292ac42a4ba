//! Inputs: files, pipes and standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use super::output::plain;

/// Standard input or standard output instead of a file.
const STANDARD: &str = "-";

/// Whether a path of the command line means standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// A path for messages: control characters are escaped, so that it stays on one line.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let escaped = text.chars().map(|letter| match letter {
        letter if letter.is_control() => letter.escape_default().to_string(),
        letter => letter.to_string(),
    });
    escaped.collect()
}

/// The input `path` of the command line, for messages.
pub(crate) fn shown_input(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { shown(path) }
}

/// An opened input.
pub(crate) enum Input {
    /// A file of known length.
    File(File, u64),
    /// A pipe, a device, or standard input.
    Stream(Box<dyn Read>),
}

/// Opens a file or a pipe.
///
/// # Errors
/// The file does not exist, cannot be read, or is a folder; `kind` says what it should be, such as `a picture`.
pub(crate) fn open(path: &Path, kind: &str) -> Result<Input> {
    let shown = shown(path);
    let file = File::open(path)
        .map_err(|error| anyhow!("{shown} cannot be read: {}; check the path", plain(&error)))?;
    let metadata = file.metadata().with_context(|| format!("{shown} cannot be read"))?;
    if metadata.is_dir() {
        bail!("{shown} is a folder and not a regular file; name {kind} in it");
    }
    Ok(if metadata.is_file() { Input::File(file, metadata.len()) } else { Input::Stream(Box::new(file)) })
}

/// As [`open`]; the path `-` is standard input.
///
/// # Errors
/// As [`open`]; standard input is a terminal.
pub(crate) fn open_or_standard(path: &Path, kind: &str) -> Result<Input> {
    if !is_standard(path) {
        return open(path, kind);
    }
    if io::stdin().is_terminal() {
        bail!("- reads {kind} from standard input, which is a terminal; pipe one into it, or name a file");
    }
    Ok(Input::Stream(Box::new(io::stdin())))
}

/// The input of picture decoders.
pub(crate) trait SeekableInput: BufRead + Seek {}
impl<T: BufRead + Seek> SeekableInput for T {}

impl Input {
    /// The input as a seekable source; a stream is first read into memory.
    ///
    /// # Errors
    /// It cannot be read, or is a stream of more than `at_most` bytes; `shown` is its name in messages.
    pub(crate) fn seekable(self, shown: &str, at_most: u64) -> Result<Box<dyn SeekableInput>> {
        Ok(match self {
            Self::File(file, _) => Box::new(BufReader::new(file)),
            Self::Stream(stream) => Box::new(Cursor::new(drained(stream, shown, at_most)?)),
        })
    }

    /// All its bytes.
    ///
    /// # Errors
    /// It cannot be read, or has more than `at_most` bytes.
    pub(crate) fn bytes(self, shown: &str, at_most: u64) -> Result<Vec<u8>> {
        match self {
            Self::File(file, _) => drained(Box::new(file), shown, at_most),
            Self::Stream(stream) => drained(stream, shown, at_most),
        }
    }
}

fn drained(stream: Box<dyn Read>, shown: &str, at_most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream
        .take(at_most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| anyhow!("{shown} cannot be read: {}", plain(&error)))?;
    if bytes.len() as u64 > at_most {
        bail!("{shown} has more than {}, the maximum", tripipe_report::bytes(at_most));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(shown(Path::new("a\nb\t.png")), "a\\nb\\t.png");
        assert_eq!(shown(Path::new("größe.png")), "größe.png");
    }

    #[test]
    fn streams_end_at_their_limit() {
        let stream = || Input::Stream(Box::new(Cursor::new(vec![7; 10])));
        assert_eq!(stream().bytes("it", 10).unwrap(), [7; 10]);
        assert!(stream().bytes("it", 9).unwrap_err().to_string().starts_with("it has more than"));
    }
}
