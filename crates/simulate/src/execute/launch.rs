//! A launch: all work-groups of a range, on one or several threads.

use std::thread;

use tripipe_ir::{Kernel, Module, Op, Type, Value};

use super::code::{Code, PresetSource};
use super::layout::Layout;
use super::memory::{Global, Memory, Overlay, Private, Written, merge};
use super::rows::Rows;
use super::state::{Group, Schedule, State, Stop, Warp};
use crate::arch::Arch;
use crate::image::Image;
use crate::watch::Watch;

/// An image argument.
#[derive(Clone, Debug)]
pub(crate) struct BoundImage {
    pub(crate) image: Image,
    /// Number of the object that holds its texels.
    pub(crate) object: u32,
}

/// The launch to run.
pub(crate) struct Job<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: &'a Kernel,
    pub(crate) code: &'a Code,
    pub(crate) layout: &'a Layout,
    /// Bits of each component of each argument.
    pub(crate) arguments: &'a [Vec<u64>],
    pub(crate) images: &'a [BoundImage],
    /// The range, with a placeholder group; id and size are set for each group.
    pub(crate) range: Group,
    pub(crate) schedule: Schedule,
    pub(crate) threads: usize,
    /// Maximum number of instructions per thread.
    pub(crate) steps: u64,
}

/// The outcome of a launch.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) stop: Option<(Group, Stop)>,
    /// Number of completed work-groups, when one thread ran them all.
    pub(crate) ended: u64,
    /// Number of work-items that entered each block of the code.
    pub(crate) entered: Vec<u64>,
    pub(crate) printed: Vec<u8>,
    pub(crate) watch: Option<Box<Watch>>,
}

impl Job<'_> {
    /// Runs the launch over program-scope objects and buffers, in the order of the layout. With watchers it runs on
    /// one thread.
    pub(crate) fn run(&self, globals: &mut [Vec<u8>], watch: Option<Box<Watch>>) -> Outcome {
        let groups: u64 = self.range.groups.iter().product();
        let alone = self.code.global_atomics || watch.is_some();
        let threads = if alone { 1 } else { self.threads.min(groups as usize).max(1) };
        if threads == 1 {
            let globals = globals.iter_mut().map(|bytes| Global::Exclusive(bytes)).collect();
            return self.part(0..groups, globals, watch).0;
        }
        let written = self.written();
        let mut parts: Vec<(Outcome, Vec<Option<Written>>)> = Vec::new();
        {
            let globals: &[Vec<u8>] = globals;
            let first = self.module.objects.len();
            let share = |index: usize| {
                let bytes: &[u8] = &globals[index];
                let changes = index < first
                    || written.as_ref().is_none_or(|written| {
                        self.layout.arguments.iter().zip(written).any(|(object, written)| {
                            *written
                                && self.layout.objects[*object as usize].home
                                    == super::memory::Home::Global(index as u32)
                        })
                    });
                if changes { Global::Overlay(Overlay::new(bytes)) } else { Global::Shared(bytes) }
            };
            thread::scope(|scope| {
                let handles: Vec<_> = (0..threads as u64)
                    .map(|thread| {
                        let range = groups * thread / threads as u64..groups * (thread + 1) / threads as u64;
                        let share = &share;
                        let count = globals.len();
                        scope.spawn(move || {
                            let (outcome, globals) = self.part(range, (0..count).map(share).collect(), None);
                            let written = globals
                                .into_iter()
                                .map(|global| match global {
                                    Global::Overlay(overlay) => Some(overlay.finish()),
                                    Global::Exclusive(_) | Global::Shared(_) => None,
                                })
                                .collect();
                            (outcome, written)
                        })
                    })
                    .collect();
                for handle in handles {
                    match handle.join() {
                        Ok(part) => parts.push(part),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
            });
        }
        let mut all = Outcome { entered: vec![0; self.code.blocks.len()], ..Outcome::default() };
        let mut writes: Vec<Vec<Written>> = globals.iter().map(|_| Vec::new()).collect();
        for (outcome, written) in parts {
            all.entered.iter_mut().zip(&outcome.entered).for_each(|(all, part)| *all += part);
            // Groups after the one that stopped early count as not run.
            if all.stop.is_none() {
                all.stop = outcome.stop;
                super::ops::printf::append(&mut all.printed, &outcome.printed);
                for (writes, written) in writes.iter_mut().zip(written) {
                    writes.extend(written);
                }
            }
        }
        for (bytes, writes) in globals.iter_mut().zip(writes) {
            merge(bytes, &writes);
        }
        all
    }

    /// The arguments through which the kernel may write; `None` for any argument.
    fn written(&self) -> Option<Vec<bool>> {
        written(self.kernel)
    }

    fn part<'l>(
        &'l self,
        groups: std::ops::Range<u64>,
        globals: Vec<Global<'l>>,
        watch: Option<Box<Watch>>,
    ) -> (Outcome, Vec<Global<'l>>) {
        let mut state = State {
            arch: Arch::new(),
            kernel: self.kernel,
            code: self.code,
            layout: self.layout,
            memory: Memory {
                objects: self.layout.objects.clone(),
                globals,
                locals: self.layout.locals.iter().map(|bytes| vec![0; *bytes]).collect(),
            },
            images: self.images,
            warp: self.warp(),
            mask: 0,
            group: self.range,
            schedule: self.schedule,
            local_ids: Vec::new(),
            local_ids_of: [0; 3],
            stop: None,
            steps: self.steps,
            entered: vec![0; self.code.blocks.len()],
            chosen: u64::MAX,
            changes: 0,
            events: 0,
            printed: Vec::new(),
            watch,
        };
        let mut warps: Vec<Warp> = Vec::new();
        let mut outcome = Outcome::default();
        let range = self.range;
        let total = range.groups.iter().product();
        for position in groups {
            let linear = self.schedule.group(position, total);
            let [x, y, _] = range.groups;
            let id = [linear % x, linear / x % y, linear / (x * y)];
            state.group.id = id;
            state.group.local = std::array::from_fn(|d| {
                range.enqueued_local[d].min(range.global[d] - id[d] * range.enqueued_local[d])
            });
            state.run_group(&mut warps);
            crate::watch::copies::ended(&mut state);
            if let Some(stop) = state.stop.take() {
                outcome.stop = Some((state.group, stop));
                break;
            }
            outcome.ended += 1;
        }
        outcome.entered = state.entered;
        outcome.printed = state.printed;
        outcome.watch = state.watch;
        (outcome, state.memory.globals)
    }

    /// A warp with all constants and arguments in its registers.
    fn warp(&self) -> Warp {
        let rows = self.code.slots.iter().map(|slot| vec![0; slot.words as usize].into()).collect();
        let mut rows = Rows::new(rows);
        for preset in &self.code.presets {
            let bits = match &preset.source {
                PresetSource::Constant(bits) => &bits[..],
                PresetSource::Argument(index) => &self.arguments[*index as usize][..],
            };
            for (component, bits) in bits.iter().enumerate() {
                rows.splat(preset.slot, component, preset.bytes, *bits);
            }
        }
        let privates =
            self.layout.privates.iter().map(|shape| Private::new(shape.bytes, shape.unit)).collect();
        Warp {
            rows,
            parties: Vec::new(),
            privates,
            first_item: 0,
            turn: (0, 0),
            tainted: false,
            origins: vec![u32::MAX; self.code.shadow as usize],
            private_written: Vec::new(),
            private_dead: Vec::new(),
        }
    }
}

/// The arguments through which a kernel may write; `None` if it writes through pointers of unknown origin.
pub(crate) fn written(kernel: &Kernel) -> Option<Vec<bool>> {
    use cranelift_entity::SecondaryMap;
    use tripipe_ir::ValueDef;

    // For each pointer or image, the arguments that it may come from: one bit each, the last for unknown.
    const UNKNOWN: u64 = 1 << 63;
    let names_memory = |value: Value| matches!(kernel.ty(value), Type::Pointer(_) | Type::Image(_));
    let mut roots: SecondaryMap<Value, u64> = SecondaryMap::new();
    for (index, parameter) in kernel.blocks[Kernel::ENTRY].parameters.iter().enumerate() {
        roots[*parameter] = if index < 63 { 1 << index } else { UNKNOWN };
    }
    let mut changed = true;
    while changed {
        changed = false;
        for data in kernel.blocks.values() {
            for inst in &data.insts {
                let inst = &kernel.insts[*inst];
                let Some(result) = inst.result.filter(|result| names_memory(*result)) else { continue };
                let from = match inst.op {
                    Op::Address(_) | Op::SpaceCast { .. } => roots[inst.operands[0]],
                    Op::Select => roots[inst.operands[1]] | roots[inst.operands[2]],
                    Op::ObjectAddress(_) | Op::ProgramAddress(_) => 0,
                    _ => UNKNOWN,
                };
                changed |= roots[result] | from != roots[result];
                roots[result] |= from;
            }
            for call in data.terminator.calls() {
                for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments)
                {
                    if names_memory(*parameter) {
                        let from = roots[*argument];
                        changed |= roots[*parameter] | from != roots[*parameter];
                        roots[*parameter] |= from;
                    }
                }
            }
        }
    }
    let mut all = 0;
    for data in kernel.blocks.values() {
        for inst in &data.insts {
            let inst = &kernel.insts[*inst];
            let writes = matches!(
                inst.op,
                Op::Store(_) | Op::Copy(_) | Op::Atomic(_) | Op::AsyncCopy { .. } | Op::ImageWrite { .. }
            );
            if writes && let Some(pointer) = inst.operands.first() {
                let constant = matches!(kernel.values[*pointer].def, ValueDef::Constant(_));
                all |= if constant { UNKNOWN } else { roots[*pointer] };
            }
        }
    }
    (all & UNKNOWN == 0)
        .then(|| (0..kernel.parameters.len()).map(|index| index < 63 && all >> index & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

    use super::written;

    /// Passes `a`, `b`, `out` and `n` to a block that writes to its image `%7`.
    fn of(before: &str, image: &str) -> Option<Vec<bool>> {
        let text = format!(
            "tripipe-ir 1\nkernel \"k\" {{\n\
             parameter \"a\" \"image2d_t\" value image.2d.wo\n\
             parameter \"b\" \"image2d_t\" value image.2d.wo\n\
             parameter \"out\" \"int*\" pointer global align 4 to i32\n\
             parameter \"n\" \"bool\" value bool\n\
             const %4: i32 = 0\n\
             b0(%0 \"a\": image.2d.wo, %1 \"b\": image.2d.wo, %2 \"out\": ptr.global, %3 \"n\": bool):\n\
             %5: i32x2 = construct %4, %4\n\
             %6: i32x4 = construct %4, %4, %4, %4\n\
             {before}\n\
             jump b1({image})\n\
             b1(%7: image.2d.wo):\n\
             imagewrite %7, %5, %6\n\
             return\n}}\n"
        );
        let module = tripipe_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        tripipe_ir::verify::verify(&module).unwrap();
        written(&module.kernels[0])
    }

    #[test]
    fn images_are_followed() {
        assert_eq!(of("", "%1"), Some(vec![false, true, false, false]));
        assert_eq!(of("%8: image.2d.wo = select %3, %0, %1", "%8"), Some(vec![true, true, false, false]));
        // The origin of this image is unknown.
        assert_eq!(of("%8: image.2d.wo = undefined", "%8"), None);
    }
}
