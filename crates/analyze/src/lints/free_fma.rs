//! `free-fma`: a multiplication and an addition where one instruction does both.

use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::op::{Binary, Builtin};
use tripipe_ir::{Inst, Op};

use super::context::{Advice, Context};
use super::rewrite::replace;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "free-fma",
    severity: Severity::Warning,
    title: "a multiplication and an addition where one instruction does both",
    what: "
A product of floats that is used only in one sum or difference, in two instructions, on a GPU that has one instruction
for both at the cost of either.",
    why: "
OpenCL C lets a compiler fuse `a * b + c` within an expression. Over two statements, or where `FP_CONTRACT` is off, it
must round the product first, which takes two instructions.",
    example: "
float scaled = x * gain;
sum = sum + scaled;",
    instead: "sum = mad(x, gain, sum);  // or x * gain + sum in one expression, or -cl-mad-enable for all",
    remark: "Where the GPU has an instruction for `fma()`, it costs the same and guarantees a single rounding.",
    exceptions: "
Where the result must be bit-identical to that of other hardware, or to that of two roundings: `x * x - y * y` of
equal numbers is no longer 0. With `-cl-mad-enable` or `-cl-fast-relaxed-math` the driver fuses by itself; programs
built with these options are not reported.",
    source: "- OpenCL C 3.0, 6.2.5 and 7.4: contraction. Instructions: docs/model.md.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let kernel = context.kernel;
    let sums = context.instructions().filter_map(|(_, inst)| Some((inst, product(context, inst)?)));
    for line in context.by_line(sums, |_| ()) {
        let gain = context.gain_by(|kernel| {
            for (sum, product) in &line {
                let term = kernel.insts[*sum].operands.iter().copied();
                let term = term.filter(|value| kernel.defining(*value) != Some(*product));
                let factors = &kernel.insts[*product].operands;
                // A sign is free.
                let operands: Vec<_> = factors.iter().copied().chain(term.take(1)).collect();
                replace(kernel, *sum, Op::Builtin(Builtin::Mad), &operands);
            }
        });
        let Some(gain) = gain else { continue };
        let fma = if context.gpu.supports.fused_multiply_add.value { "fma or mad" } else { "mad" };
        found.push(Advice {
            rule: &RULE,
            location: kernel.insts[line[0].0].location,
            message: format!("{} rounded separately before a sum", counted(line.len(), "product")),
            fix: format!("Write {fma}(a, b, c), or a * b + c in one expression."),
            gain: Some(gain),
        });
    }
}

/// The product that a sum or difference is the only one to use, if no compiler may fuse them by itself.
fn product(context: &Context<'_>, sum: Inst) -> Option<Inst> {
    let kernel = context.kernel;
    let data = &kernel.insts[sum];
    if !matches!(data.op, Op::Binary(Binary::FAdd | Binary::FSub)) || data.flags.allow_contraction() {
        return None;
    }
    let fits = |inst: &Inst| {
        let product = &kernel.insts[*inst];
        let uses = product.result.map(|result| context.facts.uses(result));
        product.op == Op::Binary(Binary::FMul)
            && !product.flags.allow_contraction()
            && uses.is_some_and(|uses| uses.by[..] == [sum] && !uses.at_end)
            && context.shares.iter().any(|share| share.inst == *inst)
    };
    data.operands.iter().filter_map(|operand| kernel.defining(*operand)).find(fits)
}
