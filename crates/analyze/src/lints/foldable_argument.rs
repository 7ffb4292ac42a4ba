//! `foldable-argument`: an argument is the bound of a loop.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::flow::{Atom, Loop, TripCount};
use tripipe_ir::{Inst, Kernel, Value, ValueDef};
use tripipe_machine::{Code, Operation, Work};

use super::context::{Advice, Context, Gain};
use crate::names::value_name;

/// Iterations that a compiler unrolls in full: guessed, for loops with a short body.
const MAX_ITERATIONS: i64 = 64;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "foldable-argument",
    severity: Severity::Note,
    title: "a loop whose iteration count is an argument",
    what: "
An inner loop whose iteration count depends on one argument, where counting, comparing and branching are a significant
part of the cost.",
    why: "
The compiler does not know the number and cannot unroll the loop: each iteration counts, compares and branches. OpenCL
builds programs at run time, when most such numbers are known. With a constant, the loop unrolls, and indices and
products fold.",
    example: "
kernel void blur(global const float *in, global float *out, int radius)
{
    for (int k = -radius; k <= radius; ++k)
        sum += in[i + k];",
    instead: "
// clBuildProgram(program, 1, &device, '-D RADIUS=3', 0, 0);
kernel void blur(global const float *in, global float *out)
{
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += in[i + k];",
    exceptions: "
For numbers that are large or change from launch to launch: each one needs a program of its own. The stated gain
covers only the counting and branching.",
    source: "- Arm and Qualcomm OpenCL guides: build-time constants, unrolled loops.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let loops = context.facts.loops();
    let is_inner = |position: usize| loops.all.iter().all(|other| other.outer != Some(position));
    let to_argument: Vec<(&Loop, &TripCount, Value)> = loops
        .all
        .iter()
        .zip(context.facts.counts())
        .enumerate()
        .filter(|(position, _)| is_inner(*position))
        .filter_map(|(_, (each, count))| {
            let count = count.as_ref()?;
            let argument = argument(context.kernel, count)?;
            let iterations = count.evaluate(|atom| context.setup.value(context.kernel, atom));
            iterations
                .is_none_or(|iterations| iterations <= MAX_ITERATIONS)
                .then_some((each, count, argument))
        })
        .collect();
    if to_argument.is_empty() {
        return;
    }
    let (code, _) = (context.reprice)(context.kernel);
    for (each, count, argument) in to_argument {
        let (operations, gain) = without_control(context, &code, each, count);
        let Some(gain) = gain.filter(Gain::is_worth_it) else { continue };
        let name = value_name(context.kernel, argument);
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.blocks[count.decides].terminator.location,
            message: format!(
                "`{name}` determines the iteration count of this loop: {} of an iteration for counting and \
                branching",
                counted(operations, "operation")
            ),
            fix: format!(
                "If {name} seldom changes, build the program with -D and its value, so that the loop unrolls."
            ),
            gain: Some(gain),
        });
    }
}

/// The argument that a loop's trip count depends on, if it is the only value.
fn argument(kernel: &Kernel, count: &TripCount) -> Option<Value> {
    let mut atoms = count.distance.terms.keys();
    match (atoms.next(), atoms.next()) {
        (Some(Atom::Value(value)), None) => {
            matches!(kernel.values[*value].def, ValueDef::Parameter(Kernel::ENTRY, _)).then_some(*value)
        }
        _ => None,
    }
}

/// The operations per iteration that count, compare and branch, and the gain without the issues that serve only them.
fn without_control(
    context: &Context<'_>,
    code: &Code,
    each: &Loop,
    count: &TripCount,
) -> (usize, Option<Gain>) {
    let control = control(context, each, count);
    let mut pipes = context.pipes.to_vec();
    let mut operations = 0;
    for block in &each.blocks {
        let ends_iteration = *block == count.decides || each.latches.contains(block);
        let is_control = |operation: &Operation| match operation.inst {
            Some(inst) => control.contains(inst),
            None => {
                ends_iteration && matches!(operation.work, Work::Branch | Work::CompareBranch | Work::Jump)
            }
        };
        for issue in &code.blocks[*block] {
            let here = issue.operations.iter().filter(|(_, operation)| is_control(operation)).count();
            operations += here;
            if here == issue.operations.len() {
                let pipe = &mut pipes[issue.pipe.index()];
                *pipe = pipe.plus(&(context.weight)(*block).times(-issue.cycles));
            }
        }
    }
    (operations, context.gain_with(&pipes))
}

/// The instructions that only control the loop: the comparison, and the counter's step if nothing else uses the
/// counter.
fn control(context: &Context<'_>, each: &Loop, count: &TripCount) -> EntitySet<Inst> {
    let kernel = context.kernel;
    let mut control: EntitySet<Inst> = EntitySet::new();
    let compare = kernel.blocks[count.decides].terminator.decider().and_then(|value| kernel.defining(value));
    control.extend(compare);
    let position = kernel.blocks[each.header].parameters.iter().position(|value| *value == count.counter);
    let steps = each.latches.iter().flat_map(|latch| {
        let calls = kernel.blocks[*latch].terminator.calls();
        let back: Vec<Value> = calls
            .iter()
            .filter(|call| call.block == each.header)
            .filter_map(|call| call.arguments.get(position?).copied())
            .collect();
        back
    });
    for step in steps.filter_map(|step| kernel.defining(step)) {
        // The step and the counter are only used by each other and the comparison.
        let result = kernel.insts[step].result;
        let idle = [Some(count.counter), result].into_iter().flatten().all(|value| {
            let uses = context.facts.uses(value);
            uses.by.iter().all(|user| *user == step || control.contains(*user))
        });
        if idle {
            control.insert(step);
        }
    }
    control
}
