//! `boundary-test`: every work-item tests whether it is at the border.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::Atom;
use tripipe_ir::op::{Binary, Builtin, QueryKind, Unary};
use tripipe_ir::{Block, BlockCall, Inst, Kernel, Op, Space, TerminatorKind, Type, Value, ValueDef};

use super::context::{Advice, Context};
use super::rewrite;

/// Fewer tests are the guard for a rounded-up global size.
const FEWEST_TESTS: usize = 3;

/// The least gain that is worth a second kernel.
const WORTH: f64 = 0.03;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "boundary-test",
    severity: Severity::Note,
    title: "every work-item tests whether it is at the border",
    what: "
Clamped coordinates, and branches on coordinates, before the reads of a work-item, where they bound the kernel or the
reads depend on them. Tests that only make surplus work-items return are not reported.",
    why: "
All work-items pay for tests that only those at the border need: 4 of 1000 in a picture of 1000 x 1000 pixels.
Addresses that depend on a comparison cannot be computed once either.",
    example: "sum += in[clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1)];",
    advice: "Use one kernel without tests for the interior and another one for the border, or pad the input.",
    instead: "sum += in[(y + dy) * pitch + x + dx];",
    exceptions: "
Small pictures, where a second launch costs more than the tests. An image with a sampler clamps at no cost.",
    source: "- The published Laplace ladder on a Mali-T604, which computes the border in a separate kernel.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let kernel = context.kernel;
    let clamps: Vec<(Inst, Value)> = context
        .instructions()
        .filter_map(|(_, inst)| Some((inst, clamped(context, inst)?)))
        .filter(|(inst, _)| kernel.insts[*inst].result.is_some_and(|result| leads_to_read(context, result)))
        .collect();
    let branches: Vec<(Block, &BlockCall, Vec<Inst>)> =
        context.cfg.order.iter().filter_map(|block| branch(context, *block)).collect();
    let mut tests: Vec<Inst> = clamps.iter().map(|(inst, _)| *inst).collect();
    tests.extend(branches.iter().flat_map(|(_, _, tests)| tests));
    tests.sort_unstable();
    tests.dedup();
    if tests.len() < FEWEST_TESTS {
        return;
    }
    // The gain excludes the work at the border: it counts only the tests that the other work-items run.
    let only_inside = |kernel: &mut Kernel| {
        for (block, inside, _) in &branches {
            kernel.blocks[*block]
                .terminator
                .calls_mut()
                .into_iter()
                .for_each(|call| *call = (*inside).clone());
        }
    };
    let gain = if branches.is_empty() { None } else { context.gain_by(only_inside) };
    let without_border = gain.map_or(0.0, |gain| gain.share());
    let without_tests = context.gain_by(|kernel| {
        for (inst, coordinate) in &clamps {
            rewrite::replace(kernel, *inst, Op::Bitcast, &[*coordinate]);
        }
        for (block, inside, _) in &branches {
            kernel.blocks[*block].terminator.kind = TerminatorKind::Jump((*inside).clone());
        }
    });
    let gain = without_tests.map(|gain| gain.less(without_border));
    let Some(gain) = gain.filter(|gain| gain.share() >= WORTH) else { return };
    found.push(Advice {
        rule: &RULE,
        location: clamps
            .iter()
            .map(|(inst, _)| kernel.insts[*inst].location)
            .chain(branches.iter().map(|(block, ..)| kernel.blocks[*block].terminator.location))
            .find_map(|location| location),
        message: format!(
            "every work-item compares its ids with the border {} times, but only those at the border need it",
            tests.len()
        ),
        fix: "Compute the border in a separate kernel, or pad the input, and remove the tests from this one."
            .into(),
        gain: Some(gain),
    });
}

/// Whether an integer is a sum that contains a global id.
fn is_coordinate(context: &Context<'_>, value: Value) -> bool {
    let form = context.facts.forms().get(context.kernel, value);
    form.terms.keys().any(|atom| matches!(atom, Atom::Query(QueryKind::GlobalId, _)))
}

/// Whether an integer is uniform for the whole launch: a size.
fn is_size(context: &Context<'_>, value: Value) -> bool {
    let form = context.facts.forms().get(context.kernel, value);
    form.terms.keys().all(|atom| match atom {
        Atom::Query(kind, _) => matches!(kind, QueryKind::GlobalSize),
        Atom::Value(value) => match context.kernel.values[*value].def {
            ValueDef::Parameter(block, _) => block == Kernel::ENTRY,
            ValueDef::Result(inst) => matches!(context.kernel.insts[inst].op, Op::ImageQuery(_)),
            ValueDef::Constant(_) => true,
        },
    })
}

/// The coordinate that an instruction clamps to sizes.
fn clamped(context: &Context<'_>, inst: Inst) -> Option<Value> {
    use Builtin as B;
    let data = &context.kernel.insts[inst];
    let is_kept = |value: Value, rest: &[Value]| {
        is_inside(context, value) && rest.iter().all(|limit| is_size(context, *limit))
    };
    match (data.op, &data.operands[..]) {
        (Op::Builtin(B::SClamp | B::UClamp), [value, rest @ ..]) => is_kept(*value, rest).then_some(*value),
        (Op::Builtin(B::SMin | B::SMax | B::UMin | B::UMax), [a, b]) => [(a, b), (b, a)]
            .into_iter()
            .find(|(value, limit)| is_kept(**value, &[**limit]))
            .map(|(value, _)| *value),
        (Op::Select, [condition, a, b]) if border_tests(context, *condition).is_some() => [(a, b), (b, a)]
            .into_iter()
            .find(|(value, limit)| is_kept(**value, &[**limit]))
            .map(|(value, _)| *value),
        _ => None,
    }
}

/// Whether a value is a coordinate, clamped on one side or not at all.
fn is_inside(context: &Context<'_>, value: Value) -> bool {
    is_coordinate(context, value)
        || context.kernel.defining(value).is_some_and(|inst| clamped(context, inst).is_some())
}

/// The comparisons of coordinates with sizes that a condition consists of; `None` if it contains anything else.
pub(super) fn border_tests(context: &Context<'_>, condition: Value) -> Option<Vec<Inst>> {
    let inst = context.kernel.defining(condition)?;
    let data = &context.kernel.insts[inst];
    let constant = |value: &Value| context.kernel.constant(*value).is_some();
    match data.op {
        Op::Compare(_) => {
            let (a, b) = (data.operands[0], data.operands[1]);
            let at_border = |value, limit| is_inside(context, value) && is_size(context, limit);
            let integers = context.kernel.ty(a).is_int();
            (integers && (at_border(a, b) || at_border(b, a))).then(|| vec![inst])
        }
        Op::Binary(Binary::And | Binary::Or | Binary::Xor) | Op::Unary(Unary::Not) | Op::Select => {
            let parts = data.operands.iter().filter(|operand| !constant(operand));
            let tests: Option<Vec<Vec<Inst>>> = parts.map(|part| border_tests(context, *part)).collect();
            tests.map(|tests| tests.concat())
        }
        _ => None,
    }
}

/// The edge of a border branch that leads to the interior, and the branch's tests; `None` for other branches, and where
/// one edge leads to a return with nothing done.
fn branch<'c>(context: &'c Context<'_>, block: Block) -> Option<(Block, &'c BlockCall, Vec<Inst>)> {
    let TerminatorKind::Branch { condition, then, otherwise } = &context.kernel.blocks[block].terminator.kind
    else {
        return None;
    };
    let tests = border_tests(context, *condition)?;
    let goes_home = |call: &BlockCall| {
        context.cfg.successors[call.block].is_empty() && context.kernel.blocks[call.block].insts.is_empty()
    };
    let inside =
        if reads(context, block, then) > reads(context, block, otherwise) { then } else { otherwise };
    let is_guard = goes_home(then) || goes_home(otherwise);
    (!is_guard && reads(context, block, inside) > 0).then_some((block, inside, tests))
}

/// Memory reads that only one edge of a branch reaches.
fn reads(context: &Context<'_>, from: Block, call: &BlockCall) -> usize {
    let alone = context.cfg.predecessors[call.block].iter().all(|other| *other == from);
    let dominators = context.facts.dominators();
    let on_the_way = |block: &&Block| alone && dominators.dominates(call.block, **block);
    let blocks = context.cfg.order.iter().filter(on_the_way);
    blocks
        .map(|block| {
            context.kernel.blocks[*block].insts.iter().filter(|inst| is_read(context, **inst)).count()
        })
        .sum()
}

fn is_read(context: &Context<'_>, inst: Inst) -> bool {
    let data = &context.kernel.insts[inst];
    match data.op {
        Op::Load(_) => {
            matches!(context.kernel.ty(data.operands[0]), Type::Pointer(Space::Global | Space::Constant))
        }
        Op::ImageRead { .. } | Op::ImageSample(_) => true,
        _ => false,
    }
}

/// Whether a value is used, through sums and addresses, by a read.
fn leads_to_read(context: &Context<'_>, value: Value) -> bool {
    let mut work = vec![value];
    let mut seen = Vec::new();
    while let Some(value) = work.pop() {
        if seen.contains(&value) {
            continue;
        }
        seen.push(value);
        for user in &context.facts.uses(value).by {
            if is_read(context, *user) {
                return true;
            }
            let data = &context.kernel.insts[*user];
            let carries = matches!(
                data.op,
                Op::Binary(_) | Op::Convert(_) | Op::Address(_) | Op::Construct | Op::Select | Op::Builtin(_)
            );
            work.extend(data.result.filter(|_| carries));
        }
    }
    false
}
