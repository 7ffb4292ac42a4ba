//! Parsing.

use std::str::FromStr;
use std::sync::Arc;

use cranelift_entity::{EntityRef, PrimaryMap};
use half::f16;
use smallvec::SmallVec;

use super::lex::{Token, found, tokens, unquoted};
use crate::op::SubGroupShare;
use crate::{
    Block, BlockCall, BlockData, Field, File, Flags, Initial, Instruction, Kernel, Layout, Module,
    ObjectData, Op, Parameter, ParameterKind, Place, PlaceData, ProgramObject, Relocation, Scalar, Space,
    Terminator, TerminatorKind, Type, Value, ValueData, ValueDef,
};

/// The text is not a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line, 1-based.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Parses the text form. The result need not be well-formed: see [`crate::verify`].
///
/// # Errors
/// The first line that cannot be parsed.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut module = Module::default();
    let mut kernel: Option<Building> = None;
    for (index, line) in text.lines().enumerate() {
        let error = |message: String| ParseError { line: index + 1, message };
        let Some(tokens) = tokens(line) else { return Err(error("a string is not closed".into())) };
        let mut line = Line { tokens: &tokens };
        if tokens.is_empty() {
            continue;
        }
        if index == 0 {
            if line.tokens != [Token::Word("tripipe-ir"), Token::Word("1")] {
                return Err(error("the first line is `tripipe-ir 1`".into()));
            }
            continue;
        }
        match &mut kernel {
            None => outside(&mut module, &mut kernel, &mut line).map_err(error)?,
            Some(building) => {
                if line.tokens == [Token::Sign('}')] {
                    let done = kernel.take().map(Building::finish).transpose().map_err(error)?;
                    module.kernels.extend(done);
                    continue;
                }
                building.line(&mut line).map_err(error)?;
            }
        }
        if kernel.is_some() || line.tokens.is_empty() {
            line.end().map_err(error)?;
        }
    }
    match kernel {
        Some(_) => Err(ParseError { line: text.lines().count(), message: "the kernel is not closed".into() }),
        None => Ok(module),
    }
}

type Parsed<T> = Result<T, String>;

fn outside(module: &mut Module, kernel: &mut Option<Building>, line: &mut Line<'_, '_>) -> Parsed<()> {
    match line.word()? {
        "kernel" => {
            let mut new = Building::default();
            new.kernel.name = line.text()?;
            line.sign('{')?;
            *kernel = Some(new);
            Ok(())
        }
        "object" => {
            let expected = module.objects.next_key();
            line.entity("@", expected)?;
            module.objects.push(line.object()?);
            line.end()
        }
        word => {
            let expected = module.files.next_key();
            if word != expected.to_string() {
                return Err(format!("`{word}` is not understood"));
            }
            module.files.push(line.text()?.into());
            line.end()
        }
    }
}

/// The rest of a line.
struct Line<'t, 'a> {
    tokens: &'t [Token<'a>],
}

impl<'a> Line<'_, 'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn word(&mut self) -> Parsed<&'a str> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => Err(format!("a word is expected, not {}", found(other))),
        }
    }

    fn parsed<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("`{word}` is not a valid {what}"))
    }

    fn text(&mut self) -> Parsed<String> {
        match self.next() {
            Some(Token::Text(text)) => {
                unquoted(text).ok_or_else(|| format!("\"{text}\" has an unknown escape"))
            }
            other => Err(format!("a string is expected, not {}", found(other))),
        }
    }

    fn sign(&mut self, sign: char) -> Parsed<()> {
        match self.next() {
            Some(Token::Sign(found)) if found == sign => Ok(()),
            other => Err(format!("`{sign}` is expected, not {}", found(other))),
        }
    }

    /// Takes a token if it is next.
    fn take(&mut self, token: Token<'_>) -> bool {
        let found = self.tokens.first() == Some(&token);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn end(&self) -> Parsed<()> {
        match self.tokens.first() {
            None => Ok(()),
            Some(token) => Err(format!("{token} is unexpected")),
        }
    }

    fn reference<E: EntityRef>(&mut self, prefix: &str) -> Parsed<E> {
        let word = self.word()?;
        number(word, prefix)
    }

    /// An entity that has to have the next number of its kind.
    fn entity<E: EntityRef + PartialEq>(&mut self, prefix: &str, expected: E) -> Parsed<()> {
        if self.reference::<E>(prefix)? == expected {
            Ok(())
        } else {
            Err(format!("the next is {prefix}{}", expected.index()))
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        self.reference("%")
    }

    fn ty(&mut self) -> Parsed<Type> {
        self.parsed("type")
    }

    fn place(&mut self) -> Parsed<Option<Place>> {
        match self.tokens.first() {
            Some(Token::Word(word)) if word.starts_with('!') => self.reference("!").map(Some),
            _ => Ok(None),
        }
    }

    fn layout(&mut self, depth: usize) -> Parsed<Layout> {
        let Some(depth) = depth.checked_sub(1) else { return Err("a layout nested that deep".into()) };
        if self.take(Token::Sign('[')) {
            let count = self.parsed("count")?;
            self.sign('*')?;
            let stride = self.parsed("stride")?;
            self.keyword("of")?;
            let element = Arc::new(self.layout(depth)?);
            self.sign(']')?;
            return Ok(Layout::Array { element, count, stride });
        }
        if self.take(Token::Sign('{')) {
            let mut fields = Vec::new();
            loop {
                let number = self.parsed("offset or size")?;
                if self.take(Token::Sign('}')) {
                    return Ok(Layout::Struct { fields: fields.into(), bytes: number });
                }
                self.sign(':')?;
                fields.push(Field { offset: number, layout: self.layout(depth)? });
                self.sign(',')?;
            }
        }
        if self.take(Token::Word("bytes")) {
            return self.parsed("size").map(Layout::Bytes);
        }
        self.ty().map(Layout::Value)
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.take(Token::Word(word)) { Ok(()) } else { Err(format!("`{word}` is expected")) }
    }

    fn object(&mut self) -> Parsed<ObjectData> {
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

    fn parameter(&mut self) -> Parsed<Parameter> {
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

    fn call(&mut self) -> Parsed<BlockCall> {
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

/// A kernel as far as it has been parsed: values may be used before the line that defines them.
#[derive(Default)]
struct Building {
    kernel: Kernel,
    values: Vec<Option<ValueData>>,
    block: Option<Block>,
    ended: bool,
}

impl Building {
    fn define(&mut self, value: Value, data: ValueData) -> Parsed<()> {
        let index = value.index();
        if index >= self.values.len() {
            // Each line defines a few values at most; a far higher number is an error, not a reason to fill memory.
            if index > self.values.len() + 100_000 {
                return Err(format!("{value} is far beyond the last value"));
            }
            self.values.resize(index + 1, None);
        }
        match self.values[index].replace(data) {
            None => Ok(()),
            Some(_) => Err(format!("{value} is defined twice")),
        }
    }

    /// `%3 "name": i32`
    fn definition(&mut self, line: &mut Line<'_, '_>, def: impl FnOnce(&Self) -> ValueDef) -> Parsed<Value> {
        let value = line.value()?;
        if let Some(Token::Text(_)) = line.tokens.first() {
            self.kernel.names[value] = Some(line.text()?.into());
        }
        line.sign(':')?;
        let ty = line.ty()?;
        let def = def(self);
        self.define(value, ValueData { ty, def })?;
        Ok(value)
    }

    fn line(&mut self, line: &mut Line<'_, '_>) -> Parsed<()> {
        match line.tokens {
            [Token::Word(word), ..] if is_block(word) => self.header(line),
            _ if self.block.is_some() => self.body(line),
            _ => self.declaration(line),
        }
    }

    fn declaration(&mut self, line: &mut Line<'_, '_>) -> Parsed<()> {
        let size = |line: &mut Line<'_, '_>| {
            Parsed::Ok([line.parsed("size")?, line.parsed("size")?, line.parsed("size")?])
        };
        match line.word()? {
            "local_size" => self.kernel.required_local_size = Some(size(line)?),
            "local_size_hint" => self.kernel.local_size_hint = Some(size(line)?),
            "sub_group_size" => self.kernel.required_sub_group_size = Some(line.parsed("size")?),
            "sub_group_share" => {
                let word = line.word()?;
                let share = SubGroupShare::named(word).ok_or_else(|| format!("`{word}` is not a share"))?;
                self.kernel.required_sub_group_share = Some(share);
            }
            "parameter" => self.kernel.parameters.push(line.parameter()?),
            "format" => self.kernel.formats.push(line.text()?),
            "object" => {
                line.entity("$", self.kernel.objects.next_key())?;
                self.kernel.objects.push(line.object()?);
            }
            "place" => {
                line.entity("!", self.kernel.places.next_key())?;
                let file: File = line.reference("file")?;
                let (number, column) = (line.parsed("line")?, line.parsed("column")?);
                let inlined_at = line.place()?;
                self.kernel.places.push(PlaceData { file, line: number, column, inlined_at });
            }
            "const" => {
                let value = line.value()?;
                line.sign(':')?;
                let ty = line.ty()?;
                line.sign('=')?;
                let mut lanes = Vec::new();
                while !line.tokens.is_empty() {
                    let word = line.word()?;
                    lanes.push(literal(ty, word).ok_or_else(|| {
                        format!(
                            "`{word}` is not a value of type \
                        {ty}"
                        )
                    })?);
                }
                let lanes: Box<[u64]> = lanes.into();
                self.kernel.interned.insert((ty, lanes.clone()), value);
                self.define(value, ValueData { ty, def: ValueDef::Constant(lanes) })?;
            }
            word => return Err(format!("`{word}` is not understood")),
        }
        Ok(())
    }

    fn header(&mut self, line: &mut Line<'_, '_>) -> Parsed<()> {
        if self.block.is_some() && !self.ended {
            return Err("the block before has no end".into());
        }
        let block = self.kernel.blocks.next_key();
        line.entity("b", block)?;
        self.kernel.blocks.push(BlockData::default());
        (self.block, self.ended) = (Some(block), false);
        if line.take(Token::Sign('(')) {
            loop {
                let position = self.kernel.blocks[block].parameters.len() as u32;
                let value = self.definition(line, |_| ValueDef::Parameter(block, position))?;
                self.kernel.blocks[block].parameters.push(value);
                if line.take(Token::Sign(')')) {
                    break;
                }
                line.sign(',')?;
            }
        }
        line.sign(':')
    }

    fn body(&mut self, line: &mut Line<'_, '_>) -> Parsed<()> {
        let Some(block) = self.block.filter(|_| !self.ended) else {
            return Err("an instruction after the end of its block".into());
        };
        if let Some(kind) = terminator(line)? {
            self.kernel.blocks[block].terminator = Terminator { kind, place: line.place()? };
            self.ended = true;
            return Ok(());
        }
        let inst = self.kernel.insts.next_key();
        let result = match line.tokens {
            [Token::Word(word), ..] if word.starts_with('%') => {
                let value = self.definition(line, |_| ValueDef::Result(inst))?;
                line.sign('=')?;
                Some(value)
            }
            _ => None,
        };
        let word = line.word()?;
        let op: Op = word.parse().map_err(|error: crate::op::WordError| error.to_string())?;
        let mut flags = Flags::default();
        if line.take(Token::Sign('[')) {
            while !line.take(Token::Sign(']')) {
                let word = line.word()?;
                flags = flags.union(Flags::named(word).ok_or_else(|| format!("`{word}` is not a flag"))?);
                line.take(Token::Sign(','));
            }
        }
        let mut operands = SmallVec::new();
        while matches!(line.tokens.first(), Some(Token::Word(word)) if word.starts_with('%')) {
            operands.push(line.value()?);
            if !line.take(Token::Sign(',')) {
                break;
            }
        }
        let place = line.place()?;
        self.kernel.insts.push(Instruction { op, flags, operands, result, place });
        self.kernel.blocks[block].insts.push(inst);
        Ok(())
    }

    fn finish(mut self) -> Parsed<Kernel> {
        if self.block.is_some() && !self.ended {
            return Err("the last block has no end".into());
        }
        let mut values = PrimaryMap::with_capacity(self.values.len());
        for (index, data) in self.values.into_iter().enumerate() {
            match data {
                Some(data) => values.push(data),
                None => return Err(format!("%{index} is not defined")),
            };
        }
        self.kernel.values = values;
        Ok(self.kernel)
    }
}

fn is_block(word: &str) -> bool {
    word.strip_prefix('b')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn terminator(line: &mut Line<'_, '_>) -> Parsed<Option<TerminatorKind>> {
    let Some(Token::Word(word)) = line.tokens.first() else { return Ok(None) };
    let word = *word;
    if !matches!(word, "jump" | "branch" | "switch" | "return" | "unreachable") {
        return Ok(None);
    }
    line.word()?;
    Ok(Some(match word {
        "jump" => TerminatorKind::Jump(line.call()?),
        "branch" => {
            let condition = line.value()?;
            line.sign(',')?;
            let then = line.call()?;
            line.sign(',')?;
            TerminatorKind::Branch { condition, then, otherwise: line.call()? }
        }
        "switch" => {
            let selector = line.value()?;
            let mut cases = Vec::new();
            loop {
                line.sign(',')?;
                if line.take(Token::Word("else")) {
                    break TerminatorKind::Switch { selector, cases, default: line.call()? };
                }
                let value = line.parsed("case")?;
                cases.push((value, line.call()?));
            }
        }
        "return" => TerminatorKind::Return,
        _ => TerminatorKind::Unreachable,
    }))
}

/// Bits of one lane of a constant.
fn literal(ty: Type, word: &str) -> Option<u64> {
    if let Some(bits) = word.strip_prefix('x') {
        return u64::from_str_radix(bits, 16).ok();
    }
    Some(match ty.scalar()? {
        Scalar::Bool => u64::from(word.parse::<bool>().ok()?),
        Scalar::F16 => u64::from(f16::from_f32(word.parse().ok()?).to_bits()),
        Scalar::F32 => u64::from(word.parse::<f32>().ok()?.to_bits()),
        Scalar::F64 => word.parse::<f64>().ok()?.to_bits(),
        int => word.parse::<i64>().ok()?.cast_unsigned() & int.mask(),
    })
}
