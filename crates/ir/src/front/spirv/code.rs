//! Decodes bytes into instructions: `rspirv` checks the grammar, and every instruction keeps its byte position.

use std::borrow::Cow;
use std::fmt;

use rspirv::binary::{Consumer, ParseAction, ParseState};
use rspirv::dr;
use rspirv::spirv::{Op, SamplerFilterMode};

use super::Limits;
use crate::diagnostic::{LoadError, SourceLocation, SpirvLocation};

/// An error in an instruction; the reader of the instruction adds the position.
#[derive(Debug)]
pub(super) enum Fault {
    Invalid(String),
    Unsupported(String),
    TooLarge(&'static str, usize),
}

pub(super) type Fallible<T> = Result<T, Fault>;

/// An `Err` for a module that breaks a rule.
pub(super) fn invalid<T>(reason: impl fmt::Display) -> Fallible<T> {
    Err(Fault::Invalid(reason.to_string()))
}

/// An `Err` for an unsupported feature.
pub(super) fn unsupported<T>(feature: impl fmt::Display) -> Fallible<T> {
    Err(Fault::Unsupported(feature.to_string()))
}

impl Fault {
    pub(super) fn at(self, raw: Raw<'_>, kernel: &str, source: Option<SourceLocation>) -> LoadError {
        let location = Box::new(SpirvLocation {
            instruction: raw.index,
            byte: raw.byte,
            opcode: format!("Op{:?}", raw.op),
            kernel: kernel.to_owned(),
            source,
        });
        match self {
            Self::Invalid(reason) => LoadError::Invalid { location, reason },
            Self::Unsupported(feature) => LoadError::Unsupported { location, feature },
            Self::TooLarge(what, limit) => LoadError::TooLarge { location, what, limit },
        }
    }
}

/// An instruction as its words; word 0 contains opcode and length.
#[derive(Clone, Copy)]
pub(super) struct Raw<'a> {
    pub(super) op: Op,
    pub(super) words: &'a [u32],
    pub(super) index: usize,
    pub(super) byte: usize,
}

impl<'a> Raw<'a> {
    pub(super) fn word(&self, position: usize) -> Fallible<u32> {
        match self.words.get(position) {
            Some(word) => Ok(*word),
            None => invalid(format_args!("operand {position} is missing")),
        }
    }

    /// The words from a position on; empty past the end.
    pub(super) fn rest(&self, position: usize) -> &'a [u32] {
        self.words.get(position..).unwrap_or(&[])
    }

    /// A literal string, and the position after it.
    pub(super) fn string(&self, position: usize) -> (String, usize) {
        let mut bytes = Vec::new();
        for (read, word) in self.rest(position).iter().enumerate() {
            for byte in word.to_le_bytes() {
                if byte == 0 {
                    return (String::from_utf8_lossy(&bytes).into_owned(), position + read + 1);
                }
                bytes.push(byte);
            }
        }
        (String::from_utf8_lossy(&bytes).into_owned(), self.words.len())
    }
}

/// The instructions of a module.
pub(super) struct Code {
    words: Vec<u32>,
    starts: Vec<(u32, Op)>,
}

/// Words of the header.
const HEADER: usize = 5;
const MAGIC: u32 = 0x0723_0203;

impl Code {
    pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Self, LoadError> {
        let malformed = |reason: &str, byte: usize| LoadError::Malformed { reason: reason.to_owned(), byte };
        if bytes.len() > limits.module_bytes {
            return Err(malformed(&format!("more than {} bytes", limits.module_bytes), limits.module_bytes));
        }
        if !bytes.len().is_multiple_of(4) {
            return Err(malformed("the length is not a multiple of 4", bytes.len()));
        }
        let mut words: Vec<u32> =
            bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        if words.len() < HEADER {
            return Err(malformed("the header is truncated", bytes.len()));
        }
        if words[0] == MAGIC.swap_bytes() {
            for word in &mut words {
                *word = word.swap_bytes();
            }
        }
        if words[0] != MAGIC {
            return Err(malformed("the magic number is missing", 0));
        }
        let mut starts = Vec::new();
        let mut position = HEADER;
        while position < words.len() {
            let length = (words[position] >> 16) as usize;
            let Some(op) = Op::from_u32(words[position] & 0xFFFF) else {
                let number = words[position] & 0xFFFF;
                return Err(malformed(&format!("opcode {number} is unknown"), position * 4));
            };
            if length == 0 || position + length > words.len() {
                return Err(malformed(&format!("the length of Op{op:?} is wrong"), position * 4));
            }
            // LLVM's translator writes this for a sampler whose source names no filter; drivers then use the nearest
            // texel.
            if let (Op::ConstantSampler, Some(filter @ &mut u32::MAX)) = (op, words.get_mut(position + 5)) {
                *filter = SamplerFilterMode::Nearest as u32;
            }
            starts.push((position as u32, op));
            position += length;
        }
        let mut grammar = Grammar;
        if let Err(state) = rspirv::binary::parse_words(checked(&words, &starts), &mut grammar) {
            let byte = match &state {
                ParseState::OpcodeUnknown(byte, ..)
                | ParseState::WordCountZero(byte, ..)
                | ParseState::OperandExpected(byte, ..)
                | ParseState::OperandExceeded(byte, ..)
                | ParseState::OperandError(rspirv::binary::DecodeError::StreamExpected(byte)) => *byte,
                _ => 0,
            };
            return Err(malformed(&state.to_string(), byte));
        }
        Ok(Self { words, starts })
    }

    pub(super) fn get(&self, index: usize) -> Option<Raw<'_>> {
        let (start, op) = *self.starts.get(index)?;
        let start = start as usize;
        let length = (self.words[start] >> 16) as usize;
        Some(Raw { op, words: &self.words[start..start + length], index, byte: start * 4 })
    }
}

/// The words to pass to `rspirv`, without operations on constants, because it does not know how many operands an
/// address has. The code that reads these requests every operand by its position, and gets an error if it is missing.
fn checked<'a>(words: &'a [u32], starts: &[(u32, Op)]) -> Cow<'a, [u32]> {
    const NOP: u32 = 1 << 16;
    let mut words = Cow::Borrowed(words);
    for (start, _) in starts.iter().filter(|start| start.1 == Op::SpecConstantOp) {
        let start = *start as usize;
        let length = (words[start] >> 16) as usize;
        words.to_mut()[start..start + length].fill(NOP);
    }
    words
}

/// Lets `rspirv` parse the module and stores nothing: the words are read by position afterwards.
struct Grammar;

impl Consumer for Grammar {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: dr::ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, _: dr::Instruction) -> ParseAction {
        ParseAction::Continue
    }
}
