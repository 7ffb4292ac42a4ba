//! Names for the ids of a module in messages: the module's own name, else the instruction that defines the id.

use std::fmt::Write as _;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use rspirv::spirv::Op;

use super::code::{Code, Raw};
use crate::diagnostic::LoadError;

/// The error with every `%12` in it replaced by words.
pub(super) fn in_words(mut error: LoadError, code: &Code) -> LoadError {
    if let LoadError::Invalid { reason: text, .. } | LoadError::Unsupported { feature: text, .. } = &mut error
    {
        let mut said = String::with_capacity(text.len());
        let mut parts = text.split('%');
        said.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            if let Ok(id) = part[..digits].parse() {
                said.push_str(&described(id, code));
            } else {
                said.push('%');
                said.push_str(&part[..digits]);
            }
            said.push_str(&part[digits..]);
        }
        *text = said;
    }
    error
}

fn described(id: u32, code: &Code) -> String {
    let mut said = String::new();
    let mut defined = None;
    for raw in (0..).map_while(|index| code.get(index)) {
        if raw.op == Op::Name && raw.words.get(1) == Some(&id) {
            let (name, _) = raw.string(2);
            if !name.is_empty() {
                return format!("`{name}`");
            }
        }
        if defined.is_none() && result(raw) == Some(id) {
            defined = Some(raw);
        }
    }
    let _ = match defined {
        Some(raw) => write!(said, "the result of Op{:?} at byte {} (id {id})", raw.op, raw.byte),
        None => write!(said, "id {id}, which is not defined,"),
    };
    said
}

/// The id that an instruction defines.
fn result(raw: Raw<'_>) -> Option<u32> {
    let operands = INSTRUCTION_TABLE.lookup_opcode(raw.op as u32)?.operands;
    let position = operands.iter().position(|operand| operand.kind == OperandKind::IdResult)?;
    raw.words.get(1 + position).copied()
}
