//! The lines of a kernel: declarations, blocks, instructions, terminators.

use cranelift_entity::{EntityRef, PrimaryMap};
use half::f16;
use smallvec::SmallVec;

use super::Parsed;
use super::line::Line;
use crate::op::SubGroupShare;
use crate::text::lex::Token;
use crate::{
    Block, BlockData, File, Flags, Instruction, Kernel, LocationData, Op, Scalar, Terminator, TerminatorKind,
    Type, Value, ValueData, ValueDef,
};

/// A kernel as far as it has been parsed: values may be used before the line that defines them.
#[derive(Default)]
pub(super) struct Building {
    pub(super) kernel: Kernel,
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

    pub(super) fn line(&mut self, line: &mut Line<'_, '_>) -> Parsed<()> {
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
            "vector_hint" => self.kernel.vector_hint = Some(line.ty()?),
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
                line.entity("!", self.kernel.locations.next_key())?;
                let file: File = line.reference("file")?;
                let (number, column) = (line.parsed("line")?, line.parsed("column")?);
                let inlined_at = line.location()?;
                self.kernel.locations.push(LocationData { file, line: number, column, inlined_at });
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
            self.kernel.blocks[block].terminator = Terminator { kind, location: line.location()? };
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
        let location = line.location()?;
        self.kernel.insts.push(Instruction { op, flags, operands, result, location });
        self.kernel.blocks[block].insts.push(inst);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Parsed<Kernel> {
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
