//! `costly-integer`: integer products and quotients with a cheaper equivalent.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::flow::{Atom, Loop, Range};
use tripipe_ir::op::{Binary, Builtin};
use tripipe_ir::{Inst, Kernel, Op, Scalar, Type, Value, ValueDef};
use tripipe_machine::{Model, Work};

use super::context::{Advice, Context, Gain, Share};
use super::emulated_fma::clocks;
use super::rewrite::{constant_like, replace};
use crate::names::value_name;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "costly-integer",
    severity: Severity::Note,
    title: "integer products and quotients that have a cheaper equivalent",
    what: "
- A product of a loop counter and a loop invariant.
- A 32-bit product whose factors provably fit in 24 bits, where the GPU has an instruction for that.
- A division or remainder by an argument.",
    why: "
Adreno multiplies 32 bits in three operations, and 24 bits in one; Valhall multiplies at a quarter of the rate of an
addition. No phone GPU has an instruction for integer division: it takes 15 to 60 operations, unless the divisor is a
constant.",
    example: "
for (int row = 0; row < height; ++row)
    sum += in[row * pitch + x] / levels;",
    instead: "
// clBuildProgram(..., '-D LEVELS=16' ...)
for (int row = 0, at = x; row < height; ++row, at += pitch)
    sum += in[at] / LEVELS;",
    remark: "
A division by a constant costs a multiplication, one by a power of two a shift. `mul24` and `mad24` multiply values
that fit in 24 bits.",
    exceptions: "
Where the driver turns products of a counter into sums itself, as compilers built on LLVM may do; where an argument
changes so often that rebuilding the program for each value costs more.",
    source: "
- Mesa's compilers for the operations; measurements by azhirnov on an Adreno 660 and a Mali-G57. docs/model.md.",
    ..Rule::LINT
};

/// The cheaper form of an instruction.
enum Equivalent {
    /// A sum that the loop carries, instead of the product, or instead of its sum with a loop-invariant term.
    Carried { sum: Option<(Inst, Value)> },
    /// A 24-bit product, signed or unsigned, fused with its sum if it has one.
    Of24Bits { signed: bool },
    /// A constant instead of the argument of that name.
    Constant { argument: String },
}

impl Equivalent {
    /// The key for one report per line.
    fn kind(&self) -> (u8, Option<String>) {
        match self {
            Self::Carried { .. } => (0, None),
            Self::Of24Bits { .. } => (1, None),
            Self::Constant { argument } => (2, Some(argument.clone())),
        }
    }
}

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let mut priced: EntitySet<Inst> = EntitySet::new();
    priced.extend(context.shares.iter().map(|share| share.inst));
    let counters = counters(context);
    let equivalents = context
        .instructions()
        .filter(|(_, inst)| priced.contains(*inst))
        .filter_map(|(_, inst)| Some((inst, equivalent(context, &counters, inst)?)));
    for line in context.by_line(equivalents, Equivalent::kind) {
        // No change gains more than removing them.
        let is_one = |share: &Share| line.iter().any(|(inst, _)| *inst == share.inst);
        let most = context.gain(|share| if is_one(share) { 0.0 } else { 1.0 });
        if !most.is_some_and(|most| most.is_worth_it()) {
            continue;
        }
        let gain = context.gain_by(|kernel| {
            for (inst, equivalent) in &line {
                change(context, kernel, *inst, equivalent);
            }
        });
        let Some(gain) = gain.filter(Gain::is_worth_it) else { continue };
        let (message, fix) = match &line[0].1 {
            Equivalent::Carried { .. } => (
                format!("{} of a loop counter in every iteration", counted(line.len(), "product")),
                "Keep the product in a variable, and add the other factor to it in each iteration.".into(),
            ),
            Equivalent::Of24Bits { .. } => (
                format!("{} of 32 bits whose factors fit in 24 bits", counted(line.len(), "product")),
                "Write mul24(a, b), or mad24(a, b, c) with a sum.".into(),
            ),
            Equivalent::Constant { argument } => (
                format!(
                    "{} by `{argument}`, which is the same for the whole launch",
                    counted(line.len(), "division")
                ),
                format!("Build the program with -D and the value of {argument}, ideally a power of two."),
            ),
        };
        let location = context.kernel.insts[line[0].0].location;
        found.push(Advice { rule: &RULE, location, message, fix, gain: Some(gain) });
    }
}

/// Loops with their counters.
fn counters<'a>(context: &'a Context<'_>) -> Vec<(&'a Loop, Value)> {
    let all = context.facts.loops().all.iter().zip(context.facts.counts());
    all.filter_map(|(each, count)| Some((each, count.as_ref()?.counter))).collect()
}

fn equivalent(context: &Context<'_>, counters: &[(&Loop, Value)], inst: Inst) -> Option<Equivalent> {
    let kernel = context.kernel;
    let data = &kernel.insts[inst];
    let ty = kernel.ty(data.result?);
    match (data.op, &data.operands[..]) {
        (Op::Binary(Binary::Mul), [a, b]) => {
            if is_power_of_two(kernel, *b) {
                return None;
            }
            let carried = || counters.iter().find_map(|counter| carried(context, *counter, inst, *a, *b));
            if let Some(equivalent) = matches!(ty, Type::I32 | Type::I64).then(carried).flatten() {
                return Some(equivalent);
            }
            let (a, b) = (context.range(*a)?, context.range(*b)?);
            let fit = |room: Range| a.is_within(room) && b.is_within(room);
            let model = Model::of(context.gpu);
            let price = |work| clocks(&model, Scalar::I32, work, 1);
            if ty.scalar() != Some(Scalar::I32) || price(Work::Mul24) >= price(Work::Mul) {
                None
            } else if fit(Range::signed(24)) {
                Some(Equivalent::Of24Bits { signed: true })
            } else if fit(Range::unsigned(24)) {
                Some(Equivalent::Of24Bits { signed: false })
            } else {
                None
            }
        }
        (
            Op::Binary(Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem | Binary::SMod),
            [_, divisor],
        ) => Some(Equivalent::Constant { argument: argument(kernel, *divisor)? }),
        _ => None,
    }
}

fn is_power_of_two(kernel: &Kernel, value: Value) -> bool {
    kernel.constant(value).is_some_and(|lanes| lanes.iter().all(|lane| lane.is_power_of_two()))
}

/// Whether one factor changes with a loop's counter, whatever else it contains, and the other one is loop-invariant.
fn carried(
    context: &Context<'_>,
    (each, counter): (&Loop, Value),
    product: Inst,
    a: Value,
    b: Value,
) -> Option<Equivalent> {
    let kernel = context.kernel;
    let inside = |value: Value| match kernel.values[value].def {
        ValueDef::Parameter(block, _) => each.blocks.contains(&block),
        ValueDef::Result(inst) => each.blocks.iter().any(|block| kernel.blocks[*block].insts.contains(&inst)),
        ValueDef::Constant(_) => false,
    };
    let goes_along = |value: Value| {
        let form = context.facts.forms().get(kernel, value);
        let stays = |atom: &Atom| match atom {
            Atom::Value(value) => *value == counter || !inside(*value),
            Atom::Query(..) => true,
        };
        form.factor(Atom::Value(counter)) != 0 && form.terms.keys().all(stays)
    };
    let is_carried = kernel.insts[product].result.is_some_and(inside)
        && (goes_along(a) && !inside(b) || goes_along(b) && !inside(a));
    let sum = sum_of(context, product).filter(|(_, term)| !inside(*term));
    is_carried.then_some(Equivalent::Carried { sum })
}

/// The name of the argument that a value is, at most widened or truncated.
fn argument(kernel: &Kernel, value: Value) -> Option<String> {
    let mut at = value;
    while let Some(inst) = kernel.defining(at) {
        let data = &kernel.insts[inst];
        if !matches!(data.op, Op::Convert(_) | Op::Construct | Op::Shuffle(_)) {
            return None;
        }
        at = data.operands[0];
    }
    let is_argument = matches!(kernel.values[at].def, ValueDef::Parameter(Kernel::ENTRY, _));
    is_argument.then(|| value_name(kernel, at))
}

/// The only sum that uses a product, and its other term.
fn sum_of(context: &Context<'_>, inst: Inst) -> Option<(Inst, Value)> {
    let product = context.kernel.insts[inst].result?;
    let uses = context.facts.uses(product);
    let [sum] = uses.by[..] else { return None };
    let data = &context.kernel.insts[sum];
    let is_sum = data.op == Op::Binary(Binary::Add) && !uses.at_end;
    let term = data.operands.iter().copied().find(|term| *term != product)?;
    is_sum.then_some((sum, term))
}

fn change(context: &Context<'_>, kernel: &mut Kernel, inst: Inst, equivalent: &Equivalent) {
    let operands: Vec<Value> = kernel.insts[inst].operands.to_vec();
    match equivalent {
        // With a sum of its own the product is removed, and the loop carries the sum.
        Equivalent::Carried { sum: Some((sum, term)) } => {
            replace(kernel, *sum, Op::Binary(Binary::Add), &[operands[0], *term]);
        }
        Equivalent::Carried { sum: None } => replace(kernel, inst, Op::Binary(Binary::Add), &operands),
        Equivalent::Of24Bits { signed } => {
            let (mul, mad) =
                if *signed { (Builtin::SMul24, Builtin::SMad24) } else { (Builtin::UMul24, Builtin::UMad24) };
            match sum_of(context, inst) {
                Some((sum, term)) => {
                    replace(kernel, sum, Op::Builtin(mad), &[operands[0], operands[1], term]);
                }
                None => replace(kernel, inst, Op::Builtin(mul), &operands),
            }
        }
        Equivalent::Constant { .. } => {
            // Not a power of two, so that the gain holds for every value.
            let divisor = constant_like(kernel, operands[1], 7);
            let op = kernel.insts[inst].op;
            replace(kernel, inst, op, &[operands[0], divisor]);
        }
    }
}
