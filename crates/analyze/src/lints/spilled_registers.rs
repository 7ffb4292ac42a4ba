//! `spilled-registers`: registers spill to memory.

use super::context::{Advice, Context};
use tripipe_ir::diagnostic::{Rule, Severity};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "spilled-registers",
    severity: Severity::Warning,
    title: "registers spill to memory",
    what: "A kernel that needs more registers than a work-item may have.",
    why: "
Values that do not fit are stored in memory: each use becomes a load, each new value a store, in the pipe that is most
often the busiest already.",
    example: "
float16 a = vload16(0, p), b = vload16(1, p), c = vload16(2, p), d = vload16(3, p);
vstore16(a * b + c * d, 0, out);",
    advice: "
Keep fewer values live: fewer elements per work-item, narrower types, values used soon after they are loaded.",
    instead: "
float4 a = vload4(0, p), b = vload4(4, p), c = vload4(8, p), d = vload4(12, p);
vstore4(a * b + c * d, 0, out);",
    exceptions: "Where the spilled values are used rarely, outside of the hot loop.",
    source: "- Arm GPU Datasheet: registers of a work-item. docs/model.md: how they are counted.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let work = &context.registers.work;
    if work.spill_bytes == 0 {
        return;
    }
    found.push(Advice {
        rule: &RULE,
        location: context.registers.peak,
        message: format!(
            "{} registers are needed at once and {} are available: {} bytes of each work-item spill to \
            memory",
            work.needed, work.used, work.spill_bytes
        ),
        fix: "Keep fewer values live here: fewer elements per work-item, narrower types, later loads.".into(),
        gain: context.gain_without_spills(),
    });
}
