//! Bodies of functions: blocks, phis, terminators, and the arguments of edges.

use rspirv::spirv::Op as RawOp;

use super::code::{Fallible, Fault, Raw, invalid, unsupported};
use super::declare::{Function, RawBlock};
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::{BlockCall, BlockData, Terminator, TerminatorKind, Type};

#[derive(Clone)]
pub(super) struct Phi {
    /// Label of the predecessor, and the id of the value.
    sources: Vec<(u32, u32)>,
    index: usize,
}

impl BodyTranslator<'_> {
    /// Translates a function's blocks in place; the current block becomes its entry.
    pub(super) fn body(&mut self, function: &Function, arguments: Vec<Rep>) -> Fallible<()> {
        if arguments.len() != function.parameters.len() {
            return invalid("a call whose argument count differs from the parameter count");
        }
        for ((id, ty), argument) in function.parameters.iter().zip(arguments) {
            self.frame.values.insert(*id, argument);
            self.frame.types.insert(*id, *ty);
        }
        for (position, raw) in function.blocks.iter().enumerate() {
            let block =
                if position == 0 { self.block } else { self.kernel.blocks.push(BlockData::default()) };
            self.frame.starts.insert(raw.label, block);
        }
        self.burn(function.blocks.len())?;
        // Phis first. Only other phis use their values before their blocks are translated, but the parameters of a
        // block must exist before anything else is added to it.
        for raw in function.blocks.iter().skip(1) {
            self.phis(raw)?;
        }
        for raw in &function.blocks {
            self.block = self.frame.starts[&raw.label];
            self.line = None;
            for index in raw.first..raw.last {
                self.current = index;
                if let Some(instruction) = self.code.get(index) {
                    self.instruction(instruction)?;
                }
            }
            self.current = raw.last;
            if let Some(instruction) = self.code.get(raw.last) {
                self.terminator(instruction, raw.label)?;
            }
        }
        self.edges()
    }

    fn phis(&mut self, raw: &RawBlock) -> Fallible<()> {
        let block = self.frame.starts[&raw.label];
        let mut phis = Vec::new();
        for index in raw.first..raw.last {
            let Some(instruction) = self.code.get(index).filter(|raw| raw.op == RawOp::Phi) else { continue };
            self.current = index;
            let (ty, id) = (instruction.word(1)?, instruction.word(2)?);
            let rep = self.fill(ty, |this, ty| this.kernel.add_parameter(block, ty))?;
            self.frame.values.insert(id, rep);
            self.frame.types.insert(id, ty);
            let sources = instruction.rest(3).chunks_exact(2).map(|pair| (pair[1], pair[0])).collect();
            phis.push(Phi { sources, index });
        }
        self.frame.phis.insert(raw.label, phis);
        Ok(())
    }

    /// Fills the arguments of all edges, now that every value is known.
    fn edges(&mut self) -> Fallible<()> {
        for (block, position, from, to) in std::mem::take(&mut self.frame.edges) {
            let phis = self.frame.phis.get(&to).cloned().unwrap_or_default();
            let mut arguments = Vec::new();
            for phi in phis {
                self.current = phi.index;
                let Some((_, id)) = phi.sources.iter().find(|source| source.0 == from) else {
                    return invalid(format_args!("no value for the edge from %{from}"));
                };
                self.block = block;
                self.rep(*id)?.flatten(&mut arguments)?;
            }
            self.burn(arguments.len())?;
            if let Some(call) = self.kernel.blocks[block].terminator.calls_mut().into_iter().nth(position) {
                call.arguments = arguments;
            }
        }
        Ok(())
    }

    fn terminator(&mut self, raw: Raw<'_>, label: u32) -> Fallible<()> {
        let labels = match raw.op {
            RawOp::Switch => {
                let selector = self.value(raw.word(1)?)?;
                let words = if self.kernel.ty(selector).bytes() == 8 { 2 } else { 1 };
                super::flow::targets(raw, words)?
            }
            _ => super::flow::targets(raw, 1)?,
        };
        let mut calls = Vec::with_capacity(labels.len());
        for target in &labels {
            match self.frame.starts.get(target) {
                Some(block) => calls.push(BlockCall::to(*block)),
                None => return invalid(format_args!("%{target} is not a block of the function")),
            }
        }
        let mut calls_left = calls.into_iter();
        let mut next = || calls_left.next().ok_or_else(|| Fault::Invalid("a target is missing".into()));
        // Positions among the terminator's calls; a switch lists its default last.
        let mut order: Vec<usize> = (0..labels.len()).collect();
        let kind = match raw.op {
            RawOp::Branch => TerminatorKind::Jump(next()?),
            RawOp::BranchConditional => {
                let condition = self.value(raw.word(1)?)?;
                TerminatorKind::Branch { condition, then: next()?, otherwise: next()? }
            }
            RawOp::Switch => {
                let selector = self.value(raw.word(1)?)?;
                let Type::Scalar(scalar) = self.kernel.ty(selector) else {
                    return invalid("a switch over a value that is not an integer");
                };
                let step = if scalar.bytes() == 8 { 3 } else { 2 };
                let default = next()?;
                let mut cases: Vec<(u64, BlockCall)> = Vec::new();
                for case in raw.rest(3).chunks_exact(step) {
                    let high = if step == 3 { u64::from(case[1]) << 32 } else { 0 };
                    cases.push(((u64::from(case[0]) | high) & scalar.mask(), next()?));
                }
                let count = cases.len();
                order = [count].into_iter().chain(0..count).collect();
                TerminatorKind::Switch { selector, cases, default }
            }
            RawOp::Return | RawOp::ReturnValue => {
                let mut values = Vec::new();
                if raw.op == RawOp::ReturnValue {
                    self.rep(raw.word(1)?)?.flatten(&mut values)?;
                }
                match self.frame.behind {
                    Some(block) => TerminatorKind::Jump(BlockCall { block, arguments: values }),
                    None => TerminatorKind::Return,
                }
            }
            RawOp::Unreachable => TerminatorKind::Unreachable,
            other => return unsupported(format_args!("Op{other:?}")),
        };
        self.burn(labels.len())?;
        for (target, position) in labels.iter().zip(order) {
            self.frame.edges.push((self.block, position, label, *target));
        }
        let location = self.location();
        self.kernel.blocks[self.block].terminator = Terminator { kind, location };
        Ok(())
    }
}
