//! Narrowing integers: which values fit a narrower type, and the kernel with that type for them.

use std::collections::HashMap;

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_ir::flow::{Cfg, Range};
use tripipe_ir::op::{Binary, Builtin, Convert, Number, Rounding, Unary};
use tripipe_ir::{Inst, Instruction, Kernel, Op, Scalar, Type, Value, ValueData, ValueDef};

use super::context::Context;

/// Values that are computed from one another and all fit a narrower type.
pub(super) struct Chain {
    /// The values.
    pub(super) values: EntitySet<Value>,
    /// The instructions that compute on them, in the kernel's order: no conversions, no lane moves, and nothing without
    /// cost.
    pub(super) computes: Vec<Inst>,
    /// The range of all values together.
    pub(super) range: Range,
}

impl Chain {
    /// Whether some of its values are widened from 8 or 16 bits.
    pub(super) fn is_widened(&self, kernel: &Kernel) -> bool {
        let mut makers = self.values.iter().filter_map(|value| kernel.defining(value));
        makers.any(|inst| {
            let data = &kernel.insts[inst];
            matches!(data.op, Op::Convert(_))
                && matches!(kernel.ty(data.operands[0]).scalar(), Some(Scalar::I8 | Scalar::I16))
        })
    }

    /// The OpenCL type with this many bits that fits all values: signed if possible.
    pub(super) fn type_name(&self, bits: u32) -> &'static str {
        match (bits, self.range.is_within(Range::signed(bits))) {
            (16, true) => "short",
            (16, false) => "ushort",
            (_, true) => "int",
            (_, false) => "uint",
        }
    }
}

/// Chains of integers of a type that fit a narrower one, signed or unsigned. Where some need the sign and others the
/// highest bit, only those that fit the signed type remain. Of `indices` only the low bits are used.
pub(super) fn chains(
    context: &Context<'_>,
    wide: Scalar,
    bits: u32,
    indices: &EntitySet<Value>,
) -> Vec<Chain> {
    let (signed, unsigned) = (Range::signed(bits), Range::unsigned(bits));
    let either = |range: Range| range.is_within(signed) || range.is_within(unsigned);
    let all = chains_that(context, wide, indices, either);
    if all.iter().all(|chain| either(chain.range)) {
        return all;
    }
    chains_that(context, wide, indices, |range| range.is_within(signed))
}

fn chains_that(
    context: &Context<'_>,
    wide: Scalar,
    indices: &EntitySet<Value>,
    fits: impl Fn(Range) -> bool,
) -> Vec<Chain> {
    let kernel = context.kernel;
    let mut fitting: EntitySet<Value> = EntitySet::new();
    for block in &context.cfg.order {
        let data = &kernel.blocks[*block];
        let parameters = data.parameters.iter().filter(|_| *block != Kernel::ENTRY);
        let results = data.insts.iter().filter_map(|inst| kernel.insts[*inst].result);
        for value in parameters.copied().chain(results) {
            if kernel.ty(value).scalar() == Some(wide)
                && (indices.contains(value)
                    || context.range(value).is_some_and(&fits) && is_kept(context, value, &fits))
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
    let mut of = |value: Value| {
        // An index is bounded by its buffer, whatever range follows from its operands.
        let range = context.range(value).filter(|_| !indices.contains(value)).unwrap_or(Range::only(0));
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
            of(*parameter);
        }
        for inst in &data.insts {
            let op = kernel.insts[*inst].op;
            let Some(result) = kernel.insts[*inst].result.filter(|value| fitting.contains(*value)) else {
                continue;
            };
            let position = of(result);
            if priced.contains(*inst)
                && !is_zero_extension(kernel, *inst)
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

/// Whether the same operation in the narrower type computes a value that fits that type.
fn is_kept(context: &Context<'_>, value: Value, fits: &impl Fn(Range) -> bool) -> bool {
    let Some(inst) = context.kernel.defining(value) else {
        return matches!(context.kernel.values[value].def, ValueDef::Parameter(..));
    };
    let data = &context.kernel.insts[inst];
    let operands = |are: &dyn Fn(Range) -> bool| {
        data.operands.iter().all(|operand| context.range(*operand).is_some_and(are))
    };
    // An unsigned operation reads a negative operand as another number.
    let unsigned = || operands(&|range| range.low >= 0 && fits(range));
    match data.op {
        // Low bits depend only on low bits, and lane moves change nothing.
        Op::Binary(
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Shl | Binary::And | Binary::Or | Binary::Xor,
        )
        | Op::Unary(Unary::Neg | Unary::Not)
        | Op::Select
        | Op::Construct
        | Op::Extract(_)
        | Op::Insert(_)
        | Op::Shuffle(_)
        | Op::Query(_) => true,
        Op::Binary(Binary::LShr | Binary::UDiv | Binary::URem) => unsigned(),
        Op::Binary(_) => operands(fits),
        Op::Builtin(builtin) => {
            use Builtin as B;
            match builtin {
                B::SAbs | B::SAbsDiff | B::SMax | B::SMin | B::SClamp | B::SHadd | B::SRhadd => {
                    operands(fits)
                }
                B::UAbsDiff | B::UMax | B::UMin | B::UClamp | B::UHadd | B::URhadd => unsigned(),
                _ => false,
            }
        }
        Op::Convert(convert) => convert.from != Number::Float && convert.to != Number::Float,
        _ => false,
    }
}

/// Whether it keeps the low half of 64 bits: compilers widen an unsigned integer like that.
fn is_zero_extension(kernel: &Kernel, inst: Inst) -> bool {
    let data = &kernel.insts[inst];
    data.op == Op::Binary(Binary::And)
        && data.operands.iter().any(|operand| kernel.scalar_constant(*operand) == Some(Scalar::I32.mask()))
}

/// A union-find structure over values.
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

/// Changes the integer type of values, with conversions where other instructions need the old type. The kernel is for
/// pricing only, not for execution: constants that do not fit the new type are truncated.
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
                // Conversions and addresses take any type.
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
            let location = data.location;
            for position in 0..data.operands.len() {
                let operand = retyping.kernel.insts[inst].operands[position];
                retyping.kernel.insts[inst].operands[position] =
                    retyping.operand(operand, narrow, values, location);
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
    /// The conversions that this block already has.
    made: HashMap<Value, Value>,
    insts: Vec<Inst>,
}

impl Retyping<'_> {
    /// The operand in the wanted type.
    fn operand(
        &mut self,
        operand: Value,
        narrow: bool,
        values: &EntitySet<Value>,
        location: Option<tripipe_ir::Location>,
    ) -> Value {
        let ty = self.kernel.ty(operand);
        let (want, other) = if narrow { (self.to, self.wide) } else { (self.wide, self.to) };
        // Only operands of the other type; narrow ones only where `values` contains them.
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
            None => self.convert(operand, ty, location),
        };
        self.made.insert(operand, made);
        made
    }

    fn convert(&mut self, operand: Value, ty: Type, location: Option<tripipe_ir::Location>) -> Value {
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
            location,
        }));
        result
    }
}
