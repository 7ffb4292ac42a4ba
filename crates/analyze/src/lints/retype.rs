//! Integers of another width: which values a narrower type has room for, and the kernel with that type for them.

use std::collections::HashMap;

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_ir::flow::{Cfg, Range};
use tripipe_ir::op::{Binary, Builtin, Convert, Family, Number, Rounding};
use tripipe_ir::{Inst, Instruction, Kernel, Op, Scalar, Type, Value, ValueData, ValueDef};

use super::Context;

/// Values that are computed from one another, each of which a narrower type has room for.
pub(super) struct Chain {
    /// The values.
    pub(super) values: EntitySet<Value>,
    /// The instructions that compute on them, in the kernel's order: no conversions, nothing that only moves lanes, and nothing
    /// that costs nothing.
    pub(super) computes: Vec<Inst>,
    /// All numbers that the values can be.
    pub(super) range: Range,
}

/// Chains of integers of a type, by where they are first computed on. `fits` says whether a narrower type has room for a value that
/// is in a range.
pub(super) fn chains(context: &Context<'_>, wide: Scalar, fits: impl Fn(Range) -> bool) -> Vec<Chain> {
    let kernel = context.kernel;
    let mut fitting: EntitySet<Value> = EntitySet::new();
    for block in &context.cfg.order {
        let data = &kernel.blocks[*block];
        let parameters = data.parameters.iter().filter(|_| *block != Kernel::ENTRY);
        let results = data.insts.iter().filter_map(|inst| kernel.insts[*inst].result);
        for value in parameters.copied().chain(results) {
            if kernel.ty(value).scalar() == Some(wide)
                && context.range(value).is_some_and(&fits)
                && is_kept(context, value)
            {
                fitting.insert(value);
            }
        }
    }
    let mut groups = Groups::default();
    let mut join = |a: Value, b: Value| {
        if fitting.contains(a) && fitting.contains(b) {
            groups.join(a, b);
        }
    };
    for (_, inst) in context.instructions() {
        let data = &kernel.insts[inst];
        if let (Op::Compare(_), [a, b]) = (data.op, &data.operands[..]) {
            join(*a, *b);
        }
        if let Some(result) = data.result
            && !matches!(data.op, Op::Convert(_))
        {
            data.operands.iter().for_each(|operand| join(*operand, result));
        }
    }
    for block in &context.cfg.order {
        for call in kernel.blocks[*block].terminator.calls() {
            for (argument, parameter) in call.arguments.iter().zip(&kernel.blocks[call.block].parameters) {
                join(*argument, *parameter);
            }
        }
    }
    let mut priced: EntitySet<Inst> = EntitySet::new();
    priced.extend(context.shares.iter().map(|share| share.inst));
    let mut chains: Vec<(Value, Chain)> = Vec::new();
    let mut of = |value: Value, range: Range| {
        let head = groups.head(value);
        let position = chains.iter().position(|(other, _)| *other == head).unwrap_or_else(|| {
            chains.push((head, Chain { values: EntitySet::new(), computes: Vec::new(), range }));
            chains.len() - 1
        });
        let chain = &mut chains[position].1;
        chain.values.insert(value);
        chain.range = chain.range.join(range);
        position
    };
    let mut computes: Vec<(usize, Inst)> = Vec::new();
    for block in &context.cfg.order {
        let data = &kernel.blocks[*block];
        for parameter in data.parameters.iter().filter(|value| fitting.contains(**value)) {
            of(*parameter, context.range(*parameter).unwrap_or(Range::only(0)));
        }
        for inst in &data.insts {
            let op = kernel.insts[*inst].op;
            let Some(result) = kernel.insts[*inst].result.filter(|value| fitting.contains(*value)) else {
                continue;
            };
            let position = of(result, context.range(result).unwrap_or(Range::only(0)));
            if priced.contains(*inst)
                && matches!(op, Op::Binary(_) | Op::Unary(_) | Op::Select | Op::Builtin(_))
            {
                computes.push((position, *inst));
            }
        }
    }
    for (position, inst) in computes {
        chains[position].1.computes.push(inst);
    }
    let mut chains: Vec<Chain> = chains.into_iter().map(|(_, chain)| chain).collect();
    chains.retain(|chain| !chain.computes.is_empty());
    chains
}

/// Whether a value is computed by what gives the same number in a narrower type that has room for it and for the operands.
fn is_kept(context: &Context<'_>, value: Value) -> bool {
    let Some(inst) = context.kernel.defining(value) else {
        return matches!(context.kernel.values[value].def, ValueDef::Parameter(..));
    };
    let data = &context.kernel.insts[inst];
    let natural =
        || data.operands.iter().all(|operand| context.range(*operand).is_some_and(|range| range.low >= 0));
    match data.op {
        // What reads its operands as unsigned reads another number where they are negative.
        Op::Binary(Binary::LShr | Binary::UDiv | Binary::URem) => natural(),
        Op::Builtin(builtin) => {
            use Builtin as B;
            let signed = matches!(
                builtin,
                B::SAbs | B::SAbsDiff | B::SMax | B::SMin | B::SClamp | B::SHadd | B::SRhadd
            );
            let unsigned =
                matches!(builtin, B::UAbsDiff | B::UMax | B::UMin | B::UClamp | B::UHadd | B::URhadd);
            builtin.family() == Family::Integer && (signed || unsigned && natural())
        }
        Op::Convert(convert) => convert.from != Number::Float && convert.to != Number::Float,
        Op::Binary(_)
        | Op::Unary(_)
        | Op::Select
        | Op::Construct
        | Op::Extract(_)
        | Op::Insert(_)
        | Op::Shuffle(_)
        | Op::Query(_) => true,
        _ => false,
    }
}

/// Values that belong together.
#[derive(Default)]
struct Groups {
    towards: SecondaryMap<Value, Option<Value>>,
}

impl Groups {
    fn head(&self, value: Value) -> Value {
        let mut at = value;
        while let Some(next) = self.towards[at] {
            at = next;
        }
        at
    }

    fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.head(a), self.head(b));
        if a != b {
            self.towards[a] = Some(b);
        }
    }
}

/// Gives values another integer type, with conversions where others need the old one. The kernel is to be priced, not to be run:
/// constants that the new type has no room for are cut.
pub(super) fn retype(kernel: &mut Kernel, cfg: &Cfg, values: &EntitySet<Value>, to: Scalar) {
    let mut wide = None;
    for value in values.iter() {
        let ty = kernel.ty(value);
        wide = wide.or(ty.scalar());
        kernel.values[value].ty = ty.with_scalar(to).unwrap_or(ty);
    }
    let Some(wide) = wide else { return };
    for block in &cfg.order {
        let mut retyping = Retyping { kernel, to, wide, made: HashMap::new(), insts: Vec::new() };
        for inst in retyping.kernel.blocks[*block].insts.clone() {
            let data = &retyping.kernel.insts[inst];
            let inside = data.result.is_some_and(|result| values.contains(result));
            let narrow = match data.op {
                // They take what comes, and so do addresses.
                Op::Convert(_) | Op::Address(_) => {
                    retyping.insts.push(inst);
                    continue;
                }
                Op::Compare(_) => data
                    .operands
                    .iter()
                    .all(|operand| values.contains(*operand) || retyping.kernel.constant(*operand).is_some()),
                _ => inside,
            };
            let place = data.place;
            for position in 0..data.operands.len() {
                let operand = retyping.kernel.insts[inst].operands[position];
                retyping.kernel.insts[inst].operands[position] =
                    retyping.operand(operand, narrow, values, place);
            }
            retyping.insts.push(inst);
        }
        let mut calls = retyping.kernel.blocks[*block].terminator.clone();
        for call in calls.calls_mut() {
            let parameters = retyping.kernel.blocks[call.block].parameters.clone();
            for (argument, parameter) in call.arguments.iter_mut().zip(parameters) {
                *argument = retyping.operand(*argument, values.contains(parameter), values, None);
            }
        }
        let insts = retyping.insts;
        kernel.blocks[*block].insts = insts;
        kernel.blocks[*block].terminator = calls;
    }
}

struct Retyping<'k> {
    kernel: &'k mut Kernel,
    to: Scalar,
    wide: Scalar,
    /// What this block has converted.
    made: HashMap<Value, Value>,
    insts: Vec<Inst>,
}

impl Retyping<'_> {
    /// The operand in the type that is asked for.
    fn operand(
        &mut self,
        operand: Value,
        narrow: bool,
        values: &EntitySet<Value>,
        place: Option<tripipe_ir::Place>,
    ) -> Value {
        let ty = self.kernel.ty(operand);
        let (want, other) = if narrow { (self.to, self.wide) } else { (self.wide, self.to) };
        // Of the type that is not wanted, and if it is the narrow one, so by our own hand.
        if ty.scalar() != Some(other) || !narrow && !values.contains(operand) {
            return operand;
        }
        let Some(ty) = ty.with_scalar(want) else { return operand };
        if let Some(made) = self.made.get(&operand) {
            return *made;
        }
        let made = match self.kernel.constant(operand) {
            Some(lanes) => {
                let lanes = lanes.iter().map(|lane| lane & want.mask()).collect();
                self.kernel.values.push(ValueData { ty, def: ValueDef::Constant(lanes) })
            }
            None => self.convert(operand, ty, place),
        };
        self.made.insert(operand, made);
        made
    }

    fn convert(&mut self, operand: Value, ty: Type, place: Option<tripipe_ir::Place>) -> Value {
        let inst = self.kernel.insts.next_key();
        let result = self.kernel.values.push(ValueData { ty, def: ValueDef::Result(inst) });
        let convert = Convert {
            from: Number::Signed,
            to: Number::Signed,
            rounding: Rounding::Nearest,
            saturate: false,
        };
        self.insts.push(self.kernel.insts.push(Instruction {
            op: Op::Convert(convert),
            flags: tripipe_ir::Flags::default(),
            operands: [operand].into_iter().collect(),
            result: Some(result),
            place,
        }));
        result
    }
}
