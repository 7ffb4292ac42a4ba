//! Checks of a kernel and its arguments before anything runs.

use tripipe_ir as ir;
use tripipe_ir::diagnostic::{Finding, Rule};
use tripipe_ir::{Kernel, Module, Op, ParameterKind, Scalar, Space, Type, TypeLayout};
use tripipe_launch::ScalarType;

use super::checks::Checks;
use super::findings::Occurrence;
use super::rules;
use super::state::{Watch, Watchers};
use super::taint::uses;
use crate::execute::code::Inst;
use crate::execute::effects::written;
use crate::execute::memory_map::MemoryMap;
use crate::execute::range::Group;
use crate::execute::rows::{WIDTH, first_lanes, lanes};
use crate::execute::state::{Present, State};

/// Checks the kernel, and whether its arguments share objects.
pub(crate) fn check(watch: &mut Watch, kernel: &Kernel, memory_map: &MemoryMap) {
    unused(watch, kernel);
    element_types(watch, kernel);
    effect(watch, kernel);
    aliases(watch, kernel, memory_map);
}

/// What the checks say of a kernel that is not run: arguments without an effect, no result.
pub fn static_findings(module: &Module, kernel: &Kernel) -> Vec<Finding> {
    let mut watch = Watch::new(Checks::all(), kernel, Watchers::new(), Vec::new());
    unused(&mut watch, kernel);
    effect(&mut watch, kernel);
    watch.findings.finish(module, kernel)
}

fn note(watch: &mut Watch, rule: &'static Rule, message: String, fix: &str) {
    if watch.checks.has(rule) {
        watch.findings.note_kernel(rule, Occurrence { message, fix: fix.into(), ..Occurrence::default() });
    }
}

/// Reports that work-items of a group wait at two different locations.
pub(crate) fn meet_elsewhere(watch: &mut Watch, s: &State<'_>, here: &Inst, item: u32, there: ir::Inst) {
    // If some work-items skip an asynchronous copy, the copy is the error, not the barrier that they reached.
    let barrier = rule_of(s.kernel, here.origin) == &rules::BARRIER_DIVERGENCE;
    let (here, there) = if barrier { (there, here.origin) } else { (here.origin, there) };
    let rule = rule_of(s.kernel, here);
    if !watch.checks.has(rule) {
        return;
    }
    watch.findings.note(rule, Some(here), 1, || {
        let message = "some work-items of the group wait here, others at another location";
        Occurrence::new(&s.group, item.into(), message, FIX).with("the others wait here", there, None)
    });
}

/// Checks a group that waits together: all of it must be present, with the same arguments.
pub(crate) fn meet(watch: &mut Watch, s: &State<'_>, inst: &Inst, present: &[Present<'_>]) {
    let here: u64 = present.iter().map(|present| u64::from(present.mask.count_ones())).sum();
    let group = s.group;
    let all = group.items();
    if here != all {
        let first = present.first().map_or(0, |first| first.warp.first_item + first.mask.trailing_zeros());
        let rule = rule_of(s.kernel, inst.origin);
        watch.note(rule, inst, 1, || {
            let message = format!("only {here} of the {all} work-items of the group reach this");
            Occurrence::new(&group, first.into(), message, FIX)
        });
    }
    same_ids(watch, s, inst, present);
}

/// Checks an operation of a sub-group: all of it must be present.
pub(crate) fn sub_group(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    if let Op::Group(ir::op::Group { scope: ir::op::GroupScope::SubGroup, active_only: false, .. }) =
        s.kernel.insts[i.origin].op
    {
        let items = s.group.items().saturating_sub(u64::from(s.warp.first_item)) as usize;
        let all = first_lanes(items);
        let size = s.group.sub_group as usize;
        for first in (0..WIDTH).step_by(size) {
            let members = all & first_lanes(size) << first;
            let present = members & s.mask;
            if present != 0 && present != members {
                let (group, item) = (s.group, s.warp.first_item + present.trailing_zeros());
                let (here, whole) = (present.count_ones(), members.count_ones());
                watch.note(&rules::COLLECTIVE_DIVERGENCE, i, 1, || {
                    let message =
                        format!("only {here} of the {whole} work-items of the sub-group reach this");
                    Occurrence::new(&group, item.into(), message, FIX)
                });
            }
        }
    }
    uses::matters(watch, s, i);
}

/// Checks a broadcast by a group: all must name the same work-item.
fn same_ids(watch: &mut Watch, s: &State<'_>, inst: &Inst, present: &[Present<'_>]) {
    let data = &s.kernel.insts[inst.origin];
    let Op::Group(ir::op::Group { op: ir::op::GroupOp::Broadcast, .. }) = data.op else { return };
    let mut wanted: Option<Vec<u64>> = None;
    for each in present {
        for lane in lanes(each.mask) {
            let ids = (1..data.operands.len())
                .map(|index| {
                    each.warp.rows.bits(inst.arg(index), lane, s.kernel.ty(data.operands[index]).bytes())
                })
                .collect();
            let wanted = wanted.get_or_insert_with(|| Vec::clone(&ids));
            if *wanted != ids {
                let (group, item) = (s.group, u64::from(each.warp.first_item) + lane as u64);
                let message = format!(
                    "a work-item requests the value of {ids:?}, another of its group that of {wanted:?}"
                );
                watch.note(&rules::COLLECTIVE_DIVERGENCE, inst, 1, || {
                    Occurrence::new(&group, item, message, "Name the same work-item in all of the group.")
                });
                return;
            }
        }
    }
}

const FIX: &str =
    "Let every work-item of the group reach this: no return, break or branch around it that only some take.";

fn rule_of(kernel: &Kernel, inst: ir::Inst) -> &'static Rule {
    match kernel.insts[inst].op {
        Op::AsyncCopy { .. } | Op::WaitEvents { .. } | Op::WaitCopies { .. } => &rules::ASYNC_COPY_DIVERGENCE,
        Op::Group(_) => &rules::COLLECTIVE_DIVERGENCE,
        _ => &rules::BARRIER_DIVERGENCE,
    }
}

/// Reports that the step budget was used up in the block of `at`, after `ended` work-groups had finished.
pub(crate) fn endless(watch: &mut Watch, group: &Group, at: Option<ir::Inst>, steps: u64, ended: u64) {
    if watch.checks.has(&rules::INFINITE_LOOP) {
        let groups: u64 = group.groups.iter().product();
        watch.findings.note(&rules::INFINITE_LOOP, at, 1, || {
            let message = match ended {
                0 => format!("ran {steps} instructions without reaching its end"),
                _ => format!(
                    "had not reached its end when the launch had run {steps} instructions; {ended} of \
                    {groups} work-groups were"
                ),
            };
            let fix = "Look for a loop whose condition cannot become false. If there is none, raise the limit \
                or use a smaller launch.";
            Occurrence::new(group, 0, message, fix)
        });
    }
}

/// Reports a work-item that waits in a loop for a value that will never be written; `at` reads the value.
pub(crate) fn waits(watch: &mut Watch, group: &Group, at: Option<ir::Inst>, item: u32) {
    if watch.checks.has(&rules::INFINITE_LOOP) {
        watch.findings.note(&rules::INFINITE_LOOP, at, 1, || {
            let message = "waits for a change of memory that never comes: all others of the work-group have ended or \
                wait too";
            let fix = "Do not wait for a later work-group: end the kernel, and continue in the next launch.";
            Occurrence::new(group, item.into(), message, fix)
        });
    }
}

fn unused(watch: &mut Watch, kernel: &Kernel) {
    let mut used = vec![false; kernel.parameters.len()];
    let parameters = &kernel.blocks[Kernel::ENTRY].parameters;
    for data in kernel.blocks.values() {
        let operands = data.insts.iter().flat_map(|inst| kernel.insts[*inst].operands.iter().copied());
        for value in operands.chain(data.terminator.uses()) {
            if let Some(index) = parameters.iter().position(|parameter| *parameter == value) {
                used[index] = true;
            }
        }
        for inst in &data.insts {
            if let Op::ObjectAddress(object) = kernel.insts[*inst].op {
                for (used, parameter) in used.iter_mut().zip(&kernel.parameters) {
                    *used |= parameter.kind == ParameterKind::Struct { object };
                }
            }
        }
    }
    for (index, parameter) in kernel.parameters.iter().enumerate().filter(|(index, _)| !used[*index]) {
        let name =
            if parameter.name.is_empty() { format!("{index}") } else { format!("`{}`", parameter.name) };
        let message = format!("argument {name} has no effect on the kernel");
        note(watch, &rules::UNUSED_ARGUMENT, message, "Remove it, or use it.");
    }
}

/// Reports buffers whose elements have another type than the argument points to.
fn element_types(watch: &mut Watch, kernel: &Kernel) {
    let declared = |parameter: &ir::Parameter| match &parameter.kind {
        ParameterKind::Pointer {
            space: Space::Global | Space::Constant,
            pointee: TypeLayout::Value(Type::Scalar(scalar) | Type::Vector(scalar, _)),
            ..
        } => Some(*scalar),
        _ => None,
    };
    for (parameter, given) in kernel.parameters.iter().zip(watch.checks.elements().to_vec()) {
        let (Some(declared), Some(given)) = (declared(parameter), given) else { continue };
        let alike = match declared {
            Scalar::Bool | Scalar::I8 => true,
            Scalar::I16 | Scalar::F16 => given.bytes() == 2,
            Scalar::I32 => matches!(given, ScalarType::I32 | ScalarType::U32),
            Scalar::I64 => matches!(given, ScalarType::I64 | ScalarType::U64),
            Scalar::F32 => given == ScalarType::F32,
            Scalar::F64 => given == ScalarType::F64,
        };
        if !alike {
            let (name, declared, given) = (&parameter.name, &parameter.type_name, given.opencl_name());
            let message =
                format!("argument `{name}` is `{declared}`, and the elements of its buffer are `{given}`");
            let fix = "Convert the elements, or declare the argument with their type.";
            note(watch, &rules::ARGUMENT_TYPE, message, fix);
        }
    }
}

fn effect(watch: &mut Watch, kernel: &Kernel) {
    let writes = kernel.blocks.values().flat_map(|data| &data.insts).any(|inst| {
        let inst = &kernel.insts[*inst];
        match inst.op {
            Op::Store(_) | Op::Copy(_) | Op::Atomic(_) | Op::AsyncCopy { .. } => {
                inst.operands.first().is_none_or(|pointer| {
                    !matches!(kernel.ty(*pointer), Type::Pointer(Space::Private | Space::Local))
                })
            }
            Op::ImageWrite { .. } | Op::Printf(_) => true,
            _ => false,
        }
    });
    if !writes {
        let message = format!("kernel `{}` has no visible result", kernel.name);
        note(
            watch,
            &rules::KERNEL_WITHOUT_EFFECT,
            message,
            "Store the result, or look for the reason why it was optimised away.",
        );
    }
}

fn aliases(watch: &mut Watch, kernel: &Kernel, memory_map: &MemoryMap) {
    let written = written(kernel);
    for (second, object) in memory_map.arguments.iter().enumerate().filter(|(_, object)| **object != 0) {
        for (first, other) in memory_map.arguments.iter().enumerate().take(second) {
            if other != object {
                continue;
            }
            let writes = |index: usize| {
                written.as_ref().is_none_or(|written| written.get(index).copied().unwrap_or(true))
            };
            let declared = |index: usize| match kernel.parameters.get(index).map(|parameter| &parameter.kind)
            {
                Some(ParameterKind::Pointer { restrict, read_only, .. }) => (*restrict, *read_only),
                _ => (false, false),
            };
            let ((restrict, constant), (other_restrict, other_constant)) =
                (declared(first), declared(second));
            // One buffer for reading and writing is normal for in-place operations. It is wrong if the kernel
            // promises that the arguments do not overlap, or expects that one of them stays as it is.
            let promised = match (restrict || other_restrict, constant != other_constant) {
                (true, _) => "`restrict` promises that they do not overlap",
                (false, true) => "`const` on the other says that it stays as it is",
                (false, false) => continue,
            };
            if writes(first) || writes(second) {
                let name = |index: usize| {
                    kernel.parameters.get(index).map_or("", |parameter| parameter.name.as_str())
                };
                let message = format!(
                    "arguments `{}` and `{}` are the same buffer, one of them is written, and {promised}",
                    name(first),
                    name(second)
                );
                note(
                    watch,
                    &rules::ALIASING_ARGUMENTS,
                    message,
                    "Pass two buffers, or drop `restrict` and `const`.",
                );
            }
        }
    }
}
