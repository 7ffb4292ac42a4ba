//! `emulated-fma`: the GPU has no `fma()` instruction.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::op::Builtin;
use tripipe_ir::{Inst, Op, Scalar};
use tripipe_machine::{Model, Work};

use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "emulated-fma",
    severity: Severity::Warning,
    title: "fma() is emulated on this GPU",
    what: "A call of `fma` on a GPU that has no fused multiply-add at the rate of a multiplication.",
    why: "
`fma` must round once. Adreno computes it in software, more than twenty times the cost of `mad`; Midgard has it on one
scalar unit, a quarter of the rate.",
    example: "sum = fma(a, b, sum);",
    instead: "sum = mad(a, b, sum);  // or a * b + sum",
    exceptions: "Where the single rounding is needed, as in error-free transformations.",
    source: "- Measurements by azhirnov on an Adreno 660 and a Mali-T830; Mesa for the units.",
    ..Rule::LINT
};

/// Clocks of an operation on this many lanes: words of the family, which the steps of a recipe share, or instructions.
pub(super) fn clocks(model: &Model, scalar: Scalar, work: Work, lanes: u32) -> f64 {
    let steps = model.recipe(scalar.name(), work).map(|recipe| recipe.value.as_slice()).unwrap_or_default();
    let each = steps.iter().map(|step| {
        let units = || step.units.iter().filter_map(|unit| model.units.get(unit));
        let bits = units().map(|unit| unit.bits).max().unwrap_or(0);
        let room = step.lanes.unwrap_or((bits / scalar.bits().max(8)).max(1));
        f64::from(step.count * lanes.div_ceil(room)) * units().map(|unit| unit.cycles).fold(0.0, f64::max)
    });
    let shared = model.units.first().is_some_and(|unit| unit.word.is_some());
    if shared { each.fold(0.0, f64::max) } else { each.sum() }
}

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if context.gpu.supports.fused_multiply_add.value {
        return;
    }
    let model = Model::of(context.gpu);
    // Clocks of fma and of mad.
    let calls = context.instructions().filter_map(|(_, inst)| {
        let data = &context.kernel.insts[inst];
        let ty = context.kernel.ty(data.result?);
        let (Op::Builtin(Builtin::Fma), Some(scalar)) = (data.op, ty.scalar()) else { return None };
        let clocks = |work| clocks(&model, scalar, work, u32::from(ty.lanes()));
        let (fma, mad) = (clocks(Work::Fma), clocks(Work::Mad));
        (mad < fma).then_some((inst, (fma, mad)))
    });
    for line in context.by_line(calls, |clocks| *clocks) {
        let (first, (fma, mad)) = line[0];
        let is_call = |inst: Inst| line.iter().any(|(call, _)| *call == inst);
        let calls = if line.len() == 1 { String::new() } else { format!(", in {} calls", line.len()) };
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[first].location,
            message: format!(
                "fma() costs {:.0} times as much as mad() on {}{calls}",
                fma / mad,
                context.gpu.name()
            ),
            fix: "Write mad(a, b, c) or a * b + c, unless the single rounding is needed.".into(),
            gain: Some(context.work(|share| if is_call(share.inst) { mad / fma } else { 1.0 })),
        });
    }
}
