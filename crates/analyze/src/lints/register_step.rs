//! `register-step`: a few registers fewer would allow more threads.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context};

/// The number of registers that a kernel can probably save.
const FEW: u32 = 4;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "register-step",
    severity: Severity::Note,
    title: "slightly fewer registers would allow more threads",
    what: "A kernel that uses up to four registers more than the last count at which more threads fit in a core.",
    why: "
Threads in flight hide the latency of memory. Each GPU has steps of register counts: one register past a step halves
the number of threads.",
    example: "float4 sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, extra = a * b;  // 33 registers",
    advice: "
Shorten a live range: recompute a value where it is used, load later, use half precision or a smaller tile.",
    exceptions: "
A kernel that is bound by arithmetic with enough threads in flight gains nothing. The phone's compiler may need a few
registers more or fewer.",
    source: "- Arm GPU Datasheet: registers and threads. Mesa freedreno: waves of Adreno.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let registers = context.registers;
    let Some((fewer, threads)) = registers.next_step.filter(|(fewer, _)| *fewer <= FEW) else { return };
    found.push(Advice {
        rule: &RULE,
        location: registers.peak,
        message: format!(
            "{} registers allow {} threads in a core; {fewer} fewer allow {threads}",
            registers.work.used, registers.occupancy.threads
        ),
        fix: "If the kernel waits for memory, shorten the live range of a value that is live here.".into(),
        gain: None,
    });
}
