//! A launch: all work-groups of a range, on one or several threads.

use std::thread;

use tripipe_ir::{Kernel, Module};

use super::code::{Code, PresetSource};
use super::effects::written;
use super::memory::{Global, Memory, Overlay, Private, Written, merge};
use super::memory_map::MemoryMap;
use super::observer::Observer;
use super::ops::printf::append;
use super::range::Group;
use super::rows::Rows;
use super::schedule::Schedule;
use super::state::{BoundImage, Fault, OutOfBoundsLoads, State, Stop, Warp};
use crate::arch::Arch;

/// The launch to run.
pub(crate) struct Job<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: &'a Kernel,
    pub(crate) code: &'a Code,
    pub(crate) memory_map: &'a MemoryMap,
    /// Bits of each component of each argument.
    pub(crate) arguments: &'a [Vec<u64>],
    pub(crate) images: &'a [BoundImage],
    /// The range, with a placeholder group; id and size are set for each group.
    pub(crate) range: Group,
    /// The work-groups to run, by number with dimension 0 fastest; `None` for all of them.
    pub(crate) only: Option<&'a [u64]>,
    pub(crate) schedule: Schedule,
    pub(crate) threads: usize,
    /// Maximum number of instructions per thread.
    pub(crate) steps: u64,
    /// Whether loads outside of buffers load zeros, and do not end the launch.
    pub(crate) tolerant: bool,
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
    /// The first load outside of a buffer that did not end the launch.
    pub(crate) stray: Option<(Group, Fault)>,
}

impl Job<'_> {
    /// Runs the launch over program-scope objects and buffers, in the order of the layout. With an observer it runs on
    /// one thread.
    pub(crate) fn run<'l>(
        &'l self,
        globals: &'l mut [Vec<u8>],
        observer: Option<&'l mut (dyn Observer + 'l)>,
    ) -> Outcome {
        let all: u64 = self.range.groups.iter().product();
        let groups = self.only.map_or(all, |only| only.len() as u64);
        // Other work-groups may see what atomics change, and an observer expects one order.
        let alone = self.code.global_atomics || observer.is_some();
        let threads = if alone { 1 } else { self.threads.min(groups as usize).max(1) };
        if threads == 1 {
            let globals = globals.iter_mut().map(|bytes| Global::Exclusive(bytes)).collect();
            return self.part(0..groups, globals, observer).0;
        }
        let written = written(self.kernel);
        let mut parts: Vec<(Outcome, Vec<Option<Written>>)> = Vec::new();
        {
            let globals: &[Vec<u8>] = globals;
            let share = |index: usize| {
                let bytes: &[u8] = &globals[index];
                // Only a buffer that the kernel may write needs pages of its own.
                let changes = self.memory_map.may_write(written.as_deref(), index);
                if changes { Global::Overlay(Overlay::new(bytes)) } else { Global::Shared(bytes) }
            };
            let run = |thread: u64| -> (Outcome, Vec<Option<Written>>) {
                // Contiguous parts in order, so that output and the winner of a race are those of a single thread.
                let range = groups * thread / threads as u64..groups * (thread + 1) / threads as u64;
                let (outcome, globals) = self.part(range, (0..globals.len()).map(&share).collect(), None);
                let written = globals
                    .into_iter()
                    .map(|global| match global {
                        Global::Overlay(overlay) => Some(overlay.finish()),
                        Global::Exclusive(_) | Global::Shared(_) => None,
                    })
                    .collect();
                (outcome, written)
            };
            let run = &run;
            thread::scope(|scope| {
                let handles: Vec<_> = (0..threads as u64)
                    .map(|thread| (thread, thread::Builder::new().spawn_scoped(scope, move || run(thread))))
                    .collect();
                for (thread, handle) in handles {
                    match handle.map(thread::ScopedJoinHandle::join) {
                        Ok(Ok(part)) => parts.push(part),
                        Ok(Err(panic)) => std::panic::resume_unwind(panic),
                        // The system has no more threads.
                        Err(_) => parts.push(run(thread)),
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
                all.stray = all.stray.or(outcome.stray);
                append(&mut all.printed, &outcome.printed);
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

    fn part<'l>(
        &'l self,
        groups: std::ops::Range<u64>,
        globals: Vec<Global<'l>>,
        observer: Option<&'l mut (dyn Observer + 'l)>,
    ) -> (Outcome, Vec<Global<'l>>) {
        let mut state = self.state(globals, observer);
        let mut warps: Vec<Warp> = Vec::new();
        let mut outcome = Outcome::default();
        let total = self.range.groups.iter().product();
        for position in groups {
            let group = match self.only {
                Some(only) => only[position as usize],
                None => self.schedule.group(position, total),
            };
            self.enter_group(&mut state, group);
            state.run_group(&mut warps);
            state.observe(|observer, s| observer.end_group(s));
            if let Some(stop) = state.stop.take() {
                outcome.stop = Some((state.group, stop));
                break;
            }
            outcome.ended += 1;
        }
        outcome.entered = state.entered;
        outcome.printed = state.printed;
        if let OutOfBoundsLoads::Zeros(stray) = state.strays {
            outcome.stray = stray;
        }
        (outcome, state.memory.globals)
    }

    /// Makes a group the current one; `linear` counts groups with dimension 0 fastest.
    pub(crate) fn enter_group(&self, state: &mut State<'_>, linear: u64) {
        let range = self.range;
        let [x, y, _] = range.groups;
        let id = [linear % x, linear / x % y, linear / (x * y)];
        state.group.id = id;
        state.group.local = std::array::from_fn(|d| {
            range.enqueued_local[d].min(range.global[d] - id[d] * range.enqueued_local[d])
        });
    }

    /// The state of a thread before its first group.
    pub(crate) fn state<'l>(
        &'l self,
        globals: Vec<Global<'l>>,
        observer: Option<&'l mut (dyn Observer + 'l)>,
    ) -> State<'l> {
        State {
            arch: Arch::new(),
            module: self.module,
            kernel: self.kernel,
            code: self.code,
            memory_map: self.memory_map,
            memory: Memory {
                objects: self.memory_map.objects.clone(),
                shared: self.memory_map.shared.clone(),
                globals,
                locals: self.memory_map.locals.iter().map(|bytes| vec![0; *bytes]).collect(),
            },
            images: self.images,
            warp: self.warp(),
            mask: 0,
            group: self.range,
            schedule: self.schedule,
            local_ids: Vec::new(),
            local_ids_of: [0; 3],
            stop: None,
            strays: if self.tolerant { OutOfBoundsLoads::Zeros(None) } else { OutOfBoundsLoads::Fault },
            steps: self.steps,
            entered: vec![0; self.code.blocks.len()],
            chosen: u64::MAX,
            changes: 0,
            events: 0,
            printed: Vec::new(),
            blends: false,
            observer,
        }
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
            self.memory_map.privates.iter().map(|shape| Private::new(shape.bytes, shape.unit)).collect();
        Warp { rows, lane_groups: Vec::new(), privates, first_item: 0, number: 0, turn: (0, 0) }
    }
}
