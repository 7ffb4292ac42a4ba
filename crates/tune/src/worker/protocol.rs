//! The lines between a tuner and a worker.
//!
//! A line is [`MARK`], then a message as JSON. Drivers and login shells print on standard output too, so a line without
//! the mark is not a message, and a message starts at the last mark of its line. The worker speaks first, with
//! [`Reply::Hello`]. A kernel of the user is described once, by [`Request::Kernel`]. It answers each [`Request::Measure`] with any number of [`Reply::Phase`], then [`Reply::Trials`] or
//! [`Reply::Refused`]. It ends after [`Request::Bye`], and at the end of its input.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tripipe_device::Probe;

use crate::bench::Phase;
use crate::{Effort, KernelProblem, Trial};

/// The version of the protocol. It changes with every change that an older program would misunderstand.
pub const PROTOCOL: u32 = 2;

/// The beginning of a message.
pub const MARK: &str = "tripipe-worker:";

/// Longest line in bytes. A longer one is not a message.
const LINE_MAX: u64 = 64 << 20;

/// The most bytes that the files and results of a [`KernelProblem`] may have in a message, where they are in base64.
pub const KERNEL_BYTES_MAX: usize = 32 << 20;

/// What a tuner asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// What later requests mean by the text of a kernel. There is no answer.
    Kernel(Box<KernelProblem>),
    /// Measure these parameters: one set by itself, several in turns.
    Measure {
        /// The problem, as text.
        problem: String,
        /// The parameters, as text.
        parameters: Vec<String>,
        /// How thoroughly.
        effort: Effort,
    },
    /// End.
    Bye,
}

/// What a worker answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The worker is ready.
    Hello(Box<Hello>),
    /// A phase of the measurement begins. If the worker ends before its next line, this phase is to blame.
    Phase(Phase),
    /// The trials of the request, in the order of its parameters.
    Trials(Vec<Trial>),
    /// Nothing can be measured.
    Refused {
        /// Why.
        reason: String,
        /// Whether the device, and not the problem, is the reason.
        device: bool,
    },
}

/// A worker's first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`]
    pub protocol: u32,
    /// The version of the program.
    pub version: String,
    /// The device it measures on.
    pub device: Probe,
}

impl Hello {
    /// The first line of a worker of this version.
    pub fn new(device: &Probe) -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned(), device: device.clone() }
    }
}

/// Writes one message, and flushes.
///
/// # Errors
/// Any error of the writer.
pub fn write(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(message).map_err(io::Error::other)?;
    // The line break before the mark ends a line that a driver has begun.
    to.write_all(format!("\n{MARK}{text}\n").as_bytes())?;
    to.flush()
}

/// A line of the other side.
#[derive(Debug, PartialEq)]
pub(super) enum Line<M> {
    /// A message.
    Message(M),
    /// The other side speaks a version of the protocol that this program does not.
    OtherProtocol { protocol: u64, version: String },
    /// Anything else.
    Noise(String),
}

/// Calls `each` with every line that is not empty, until the end of the input, an error, or `each` returns `false`.
/// A line that ends without a line break is not a message: it may be the half of one.
pub(super) fn read_lines<M: DeserializeOwned>(mut from: impl BufRead, mut each: impl FnMut(Line<M>) -> bool) {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = (&mut from).take(LINE_MAX).read_until(b'\n', &mut bytes);
        if !matches!(read, Ok(1..)) {
            return;
        }
        let is_whole = bytes.ends_with(b"\n");
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if !text.is_empty() && !each(parse(text, is_whole)) {
            return;
        }
    }
}

fn parse<M: DeserializeOwned>(text: &str, is_whole: bool) -> Line<M> {
    let noise = || Line::Noise(text.to_owned());
    let Some(json) = text.rfind(MARK).map(|at| &text[at + MARK.len()..]).filter(|_| is_whole) else {
        return noise();
    };
    if let Ok(message) = serde_json::from_str(json) {
        return Line::Message(message);
    }
    // The hello of another version may have other fields.
    let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let hello = &value["hello"];
    match hello["protocol"].as_u64() {
        Some(protocol) if protocol != u64::from(PROTOCOL) => {
            let version = hello["version"].as_str().unwrap_or("unknown").to_owned();
            Line::OtherProtocol { protocol, version }
        }
        _ => noise(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic")]

    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Line<Request>> {
        let mut lines = Vec::new();
        read_lines(bytes, |line| {
            lines.push(line);
            true
        });
        lines
    }

    fn noise(text: &str) -> Line<Request> {
        Line::Noise(text.to_owned())
    }

    fn measure() -> Request {
        Request::Measure {
            problem: "gemm f32 1x2x3".to_owned(),
            parameters: vec!["tile 4x4".to_owned()],
            effort: Effort { rival: Some([0.25, 0.5]), ..Effort::default() },
        }
    }

    #[test]
    fn messages_are_read_between_the_output_of_drivers() {
        let mut bytes = b"Welcome to board\r\nMali driver: ".to_vec();
        write(&mut bytes, &measure()).unwrap();
        bytes.extend(b"\xFF\xFE rubbish\n\n  \nprinted before");
        let mut second = Vec::new();
        write(&mut second, &Request::Bye).unwrap();
        // A driver that prints in the middle of a write: the line break is lost, the mark is not.
        bytes.extend(&second[1..]);
        let found = lines(&bytes);
        assert_eq!(found[0], noise("Welcome to board"));
        assert_eq!(found[1], noise("Mali driver:"));
        assert_eq!(found[2], Line::Message(measure()));
        assert!(matches!(&found[3], Line::Noise(text) if text.ends_with("rubbish")));
        assert_eq!(found[4], Line::Message(Request::Bye));
        assert_eq!(found.len(), 5);
        // Terminals end lines with two characters.
        let mut bytes = Vec::new();
        write(&mut bytes, &measure()).unwrap();
        let text = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
        assert_eq!(lines(text.as_bytes()), [Line::Message(measure())]);
    }

    #[test]
    fn half_of_a_line_is_not_a_message() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Request::Bye).unwrap();
        for end in 1..bytes.len() {
            assert!(!lines(&bytes[..end]).contains(&Line::Message(Request::Bye)), "{end} bytes");
        }
        assert_eq!(lines(&bytes), [Line::Message(Request::Bye)]);
    }

    #[test]
    fn the_hello_of_another_version_is_recognised() {
        let line = format!("{MARK}{{\"hello\":{{\"protocol\":7,\"version\":\"9.1\",\"gpu\":[1]}}}}\n");
        let mut found = Vec::new();
        read_lines::<Reply>(line.as_bytes(), |line| {
            found.push(line);
            true
        });
        assert_eq!(found, [Line::OtherProtocol { protocol: 7, version: "9.1".to_owned() }]);
    }

    #[test]
    fn hellos_carry_all_that_is_known_of_the_device() {
        for gpu in tripipe_device::catalog() {
            let hello = Reply::Hello(Box::new(Hello::new(&gpu.expected_probe())));
            let mut bytes = Vec::new();
            write(&mut bytes, &hello).unwrap();
            let mut found = Vec::new();
            read_lines::<Reply>(&bytes[..], |line| {
                found.push(line);
                true
            });
            assert_eq!(found, [Line::Message(hello)]);
        }
    }
}
