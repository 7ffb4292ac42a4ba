//! Messages in a stream: headers, an empty line, and as many bytes of JSON as the headers say.

use std::io::{self, BufRead, Read as _, Write};

use serde::Serialize;

/// The most bytes of a message, and of a line of its headers.
const MOST: usize = 64 << 20;
const MOST_HEADER: u64 = 4096;

/// The bytes of the next message; `None` at the end.
///
/// # Errors
/// The stream cannot be read, or ends inside a message; the headers are wrong, or name more than 64 MiB.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let (mut length, mut is_first) = (None, true);
    loop {
        let mut line = Vec::new();
        input.by_ref().take(MOST_HEADER).read_until(b'\n', &mut line)?;
        if line.is_empty() && is_first {
            return Ok(None);
        }
        is_first = false;
        let line = String::from_utf8_lossy(&line);
        let Some(header) = line.strip_suffix('\n') else {
            return Err(wrong(format!("a header ends early: {}", line.escape_debug())));
        };
        let header = header.trim_end_matches('\r');
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else {
            return Err(wrong(format!(
                "want a header such as `Content-Length: 5`, not `{}`",
                header.escape_debug()
            )));
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            length = value.trim().parse().ok().filter(|length: &usize| *length <= MOST);
            if length.is_none() {
                return Err(wrong(format!("a message has at most {MOST} bytes, not{value}")));
            }
        }
    }
    let length = length.ok_or_else(|| wrong("a message has no Content-Length".to_owned()))?;
    let mut message = vec![0; length];
    input.read_exact(&mut message)?;
    Ok(Some(message))
}

/// Writes a message.
///
/// # Errors
/// The stream cannot be written.
pub(super) fn write(output: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(message)?;
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut stream = Vec::new();
        for text in ["", "é", "[]"] {
            write(&mut stream, &text).unwrap();
        }
        let mut input = &stream[..];
        for text in ["\"\"", "\"é\"", "\"[]\""] {
            assert_eq!(read(&mut input).unwrap().as_deref(), Some(text.as_bytes()));
        }
        assert!(read(&mut input).unwrap().is_none());
    }

    #[test]
    fn headers_may_vary_and_wrong_ones_are_errors() {
        let fine = "content-length:2\nContent-Type: x\n\n{}";
        assert_eq!(read(&mut fine.as_bytes()).unwrap().as_deref(), Some(&b"{}"[..]));
        let long = format!("Content-Length: {}\r\n\r\n", usize::MAX);
        let header = "x".repeat(10_000);
        for wrong in [
            "Content-Length: 5\r\n\r\nabc",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n",
            &long,
            "Content-Length",
            "nothing\r\n\r\n",
            "\r\n",
            "Content-Type: x\r\n\r\n",
            &header,
            "\u{0}",
        ] {
            assert!(read(&mut wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
