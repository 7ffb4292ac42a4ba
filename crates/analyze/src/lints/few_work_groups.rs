//! `few-work-groups`: some cores are idle.

use tripipe_device::Family;
use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context, Gain};

/// The fraction of the cores that may be idle at the end before it is reported.
const IDLE: f64 = 0.2;

/// The least fraction of a GPU's threads that should be in flight: guessed; a published study of a T604 recommends 128
/// to all 256 of a core, at least half of them.
const IN_FLIGHT: f64 = 0.25;

/// The same for Midgard: a published study of a T604, whose cores hold 1,024 work-items, says that a launch should have at
/// least 4,096.
const ROUNDS: f64 = 4.0;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "few-work-groups",
    severity: Severity::Note,
    title: "cores are idle",
    what: "
A launch, of known global size, with fewer work-groups than the GPU has cores; with a few more than a multiple of the cores, so that most of
them wait for the last groups; or with fewer work-items than a quarter of the threads that the cores could keep in flight, on Midgard than four times as many.",
    why: "
A work-group runs on one core. Cores without one are idle, and a core with few threads in flight waits for memory
instead of switching to another thread.",
    example: "
clEnqueueNDRangeKernel(queue, kernel, 1, 0, (size_t[]){1024}, (size_t[]){256}, 0, 0, 0);  // 4 groups for 10 cores",
    instead: "clEnqueueNDRangeKernel(queue, kernel, 1, 0, (size_t[]){1024}, (size_t[]){64}, 0, 0, 0);",
    remark: "Or use more work-items with less work each.",
    exceptions: "
Where other kernels run at the same time, or groups take very different times. The model of a GPU describes one
product; others have more or fewer cores.",
    source: "
- OpenCL 3.0, 3.2: the work-items of a group execute on one compute unit. The published T604 ladder: 128 to 256 threads on a core.
- *Parallel optimization of 2D floating-point matrix operation based on Mali-T604 embedded GPU*: 4,096 work-items.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let Some(global) = context.setup.global else { return };
    let cores = u64::from(context.gpu.configuration.cores.value.max(1));
    let mut say = |message: String, fix: &str, gain: Option<f64>| {
        found.push(Advice {
            rule: &RULE,
            location: None,
            message,
            fix: fix.into(),
            gain: gain.map(Gain::of_launch),
        });
    };
    let required = context.kernel.required_local_size.map(|sizes| sizes.map(u64::from));
    if let Some(local) = context.setup.local.or(required) {
        let groups: u64 =
            global.iter().zip(local).map(|(global, local)| global.div_ceil(local.max(1))).product();
        let idle = 1.0 - groups as f64 / groups.next_multiple_of(cores) as f64;
        if groups < cores {
            return say(
                format!("{groups} work-groups leave {} of {cores} cores without work", cores - groups),
                "Use smaller work-groups, or more work-items with less work each.",
                Some(idle),
            );
        } else if idle > IDLE {
            let last = groups % cores;
            return say(
                format!(
                    "{groups} work-groups on {cores} cores: {} of them wait for the last {last}",
                    cores - last
                ),
                "Use smaller work-groups, or a multiple of the number of cores.",
                Some(idle),
            );
        }
    }
    let items: u64 = global.iter().product();
    if context.gpu.family() == Family::Midgard {
        let least = (cores * u64::from(context.gpu.core.max_threads.value)) as f64 * ROUNDS;
        if (items as f64) < least {
            say(
                format!("{items} work-items, but {cores} cores are used well only by {least} or more"),
                "Use more work-items with less work each, or do other work in the same launch.",
                None,
            );
        }
        return;
    }
    let room = cores * u64::from(context.registers.occupancy.threads);
    if (items as f64) < room as f64 * IN_FLIGHT {
        say(
            format!("{items} work-items, but {cores} cores hold {room} threads at once"),
            "If the kernel waits for memory, use more work-items with less work each.",
            None,
        );
    }
}
