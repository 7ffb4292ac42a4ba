//! A line's tokens, and the parts of lines: names, types, layouts, objects, parameters, targets.

use std::str::FromStr;
use std::sync::Arc;

use cranelift_entity::EntityRef;

use super::Parsed;
use crate::text::lex::{Token, describe_token, unquoted};
use crate::{
    Block, BlockCall, Field, Initial, Location, ObjectData, Parameter, ParameterKind, ProgramObject,
    Relocation, Space, Type, TypeLayout, Value,
};

/// The rest of a line.
pub(super) struct Line<'t, 'a> {
    pub(super) tokens: &'t [Token<'a>],
}

impl<'a> Line<'_, 'a> {
    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    pub(super) fn word(&mut self) -> Parsed<&'a str> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => Err(format!("a word is expected, not {}", describe_token(other))),
        }
    }

    pub(super) fn parsed<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("`{word}` is not a valid {what}"))
    }

    pub(super) fn text(&mut self) -> Parsed<String> {
        match self.next() {
            Some(Token::Text(text)) => {
                unquoted(text).ok_or_else(|| format!("\"{text}\" has an unknown escape"))
            }
            other => Err(format!("a string is expected, not {}", describe_token(other))),
        }
    }

    pub(super) fn sign(&mut self, sign: char) -> Parsed<()> {
        match self.next() {
            Some(Token::Sign(found)) if found == sign => Ok(()),
            other => Err(format!("`{sign}` is expected, not {}", describe_token(other))),
        }
    }

    /// Takes a token if it is next.
    pub(super) fn take(&mut self, token: Token<'_>) -> bool {
        let found = self.tokens.first() == Some(&token);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    pub(super) fn end(&self) -> Parsed<()> {
        match self.tokens.first() {
            None => Ok(()),
            Some(token) => Err(format!("{token} is unexpected")),
        }
    }

    pub(super) fn reference<E: EntityRef>(&mut self, prefix: &str) -> Parsed<E> {
        let word = self.word()?;
        number(word, prefix)
    }

    /// An entity that has to have the next number of its kind.
    pub(super) fn entity<E: EntityRef + PartialEq>(&mut self, prefix: &str, expected: E) -> Parsed<()> {
        if self.reference::<E>(prefix)? == expected {
            Ok(())
        } else {
            Err(format!("the next is {prefix}{}", expected.index()))
        }
    }

    pub(super) fn value(&mut self) -> Parsed<Value> {
        self.reference("%")
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.parsed("type")
    }

    pub(super) fn location(&mut self) -> Parsed<Option<Location>> {
        match self.tokens.first() {
            Some(Token::Word(word)) if word.starts_with('!') => self.reference("!").map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn layout(&mut self, depth: usize) -> Parsed<TypeLayout> {
        let Some(depth) = depth.checked_sub(1) else { return Err("a layout nested that deep".into()) };
        if self.take(Token::Sign('[')) {
            let count = self.parsed("count")?;
            self.sign('*')?;
            let stride = self.parsed("stride")?;
            self.keyword("of")?;
            let element = Arc::new(self.layout(depth)?);
            self.sign(']')?;
            return Ok(TypeLayout::Array { element, count, stride });
        }
        if self.take(Token::Sign('{')) {
            let mut fields = Vec::new();
            loop {
                let number = self.parsed("offset or size")?;
                if self.take(Token::Sign('}')) {
                    return Ok(TypeLayout::Struct { fields: fields.into(), bytes: number });
                }
                self.sign(':')?;
                fields.push(Field { offset: number, layout: self.layout(depth)? });
                self.sign(',')?;
            }
        }
        if self.take(Token::Word("bytes")) {
            return self.parsed("size").map(TypeLayout::Bytes);
        }
        self.ty().map(TypeLayout::Value)
    }

    pub(super) fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.take(Token::Word(word)) { Ok(()) } else { Err(format!("`{word}` is expected")) }
    }

    pub(super) fn object(&mut self) -> Parsed<ObjectData> {
        let name = self.text()?;
        let space: Space = self.parsed("address space")?;
        self.keyword("align")?;
        let align = self.parsed("alignment")?;
        let layout = self.layout(DEPTH)?;
        let initial = match self.word()? {
            "unwritten" => Initial::Unwritten,
            "zero" => Initial::Zero,
            "argument" => Initial::Argument(self.parsed("index")?),
            "bytes" => {
                let bytes = bytes(self.word()?)?;
                let mut relocations = Vec::new();
                while !self.tokens.is_empty() {
                    let offset = self.parsed("offset")?;
                    let object: ProgramObject = self.reference("@")?;
                    relocations.push(Relocation { offset, object, addend: self.parsed("addend")? });
                }
                Initial::Bytes { bytes: bytes.into(), relocations: relocations.into() }
            }
            word => return Err(format!("`{word}` is not a kind of initial content")),
        };
        Ok(ObjectData { name, space, align, layout, initial })
    }

    pub(super) fn parameter(&mut self) -> Parsed<Parameter> {
        let name = self.text()?;
        let type_name = self.text()?;
        let kind = match self.word()? {
            "value" => ParameterKind::Value(self.ty()?),
            "struct" => ParameterKind::Struct { object: self.reference("$")? },
            "pointer" => {
                let space = self.parsed("address space")?;
                self.keyword("align")?;
                let align = self.parsed("alignment")?;
                let read_only = self.take(Token::Word("const"));
                let restrict = self.take(Token::Word("restrict"));
                let volatile = self.take(Token::Word("volatile"));
                self.keyword("to")?;
                let pointee = self.layout(DEPTH)?;
                ParameterKind::Pointer { space, pointee, align, read_only, restrict, volatile }
            }
            word => return Err(format!("`{word}` is not a kind of parameter")),
        };
        Ok(Parameter { name, type_name, kind })
    }

    pub(super) fn call(&mut self) -> Parsed<BlockCall> {
        let block: Block = self.reference("b")?;
        let mut call = BlockCall::to(block);
        if self.take(Token::Sign('(')) {
            loop {
                call.arguments.push(self.value()?);
                if self.take(Token::Sign(')')) {
                    break;
                }
                self.sign(',')?;
            }
        }
        Ok(call)
    }
}

/// Layouts nested deeper than this are rejected; loading has a far lower limit.
const DEPTH: usize = 128;

fn number<E: EntityRef>(word: &str, prefix: &str) -> Parsed<E> {
    let digits =
        word.strip_prefix(prefix).ok_or_else(|| format!("`{word}` does not start with `{prefix}`"))?;
    match digits.parse::<u32>() {
        // Larger entity numbers cannot occur in a text that fits into memory.
        Ok(index) if index < 1 << 28 => Ok(E::new(index as usize)),
        _ => Err(format!("`{word}` has no number")),
    }
}

fn bytes(word: &str) -> Parsed<Vec<u8>> {
    let digits = word.strip_prefix('x').filter(|digits| digits.len().is_multiple_of(2) && digits.is_ascii());
    let Some(digits) = digits else { return Err("bytes are `x` and pairs of digits".into()) };
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| {
            let text = str::from_utf8(pair).unwrap_or_default();
            u8::from_str_radix(text, 16).map_err(|_| format!("`{text}` is not a byte"))
        })
        .collect()
}
