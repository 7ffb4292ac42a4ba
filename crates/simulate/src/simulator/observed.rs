//! Launches that something observes: the checks, the bounds of numbers, what a number depends on.

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Finding;
use tripipe_ir::{Kernel, Module};
use tripipe_launch::{ExecuteError, Launch, MemoryId};

use super::Simulator;
use super::memory::Objects;
use super::outcome::{Checked, Report};
use super::program::Purpose;
use crate::bounds::{Bounded, Evaluation, Freedom, Places};
use crate::depend::{Dependence, NeededLines};
use crate::execute::launch::Outcome;
use crate::execute::memory::Home;
use crate::execute::memory_map::MemoryMap;
use crate::execute::state::Stop;
use crate::watch::objects::{self, BufferState};
use crate::watch::plan::watchers;
use crate::watch::state::Watch;
use crate::watch::{Checks, kernel as whole};

/// The last work-groups of a dimension that tell how far a launch reaches: as many rows as the border of a large filter has.
const LAST_GROUPS: u64 = 12;

/// The most work-items of a launch all of which show how far it reaches.
const REACH_ALL: u64 = 1 << 14;

/// A launch whose memory is laid out.
#[derive(Clone, Copy)]
pub(super) struct LaidOut<'l> {
    pub(super) module: &'l Module,
    pub(super) kernel: &'l Kernel,
    pub(super) memory_map: &'l MemoryMap,
}

impl Simulator {
    /// Runs a launch with checks, on one thread.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`]; findings are not errors.
    pub fn check(&mut self, launch: &Launch, checks: &Checks) -> Result<Checked, ExecuteError> {
        let steps = self.options.steps;
        let (report, (findings, left_out)) = self.launch(
            launch,
            Purpose::Check,
            None,
            |at, objects| watch(checks, at, objects),
            |watch, at, objects, outcome| collect_findings(watch, at, objects, outcome, steps),
        )?;
        Ok(Checked { findings, left_out, report })
    }

    /// Runs a launch, and determines what the language allows for the numbers that it leaves in some places. The
    /// places are the first bytes of numbers; `freedom` is what the build options add to what is allowed.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`].
    pub fn bound(
        &mut self,
        launch: &Launch,
        places: &Places,
        freedom: Freedom,
    ) -> Result<Bounded, ExecuteError> {
        let start = |at: LaidOut<'_>, _: &mut Objects| Evaluation::new(at.memory_map, places, freedom);
        Ok(self.launch(launch, Purpose::Bound, None, start, |evaluation, _, _, _| evaluation.finish())?.1)
    }

    /// Runs a launch, and determines which lines of the source the number depends on that it leaves at a byte offset of a
    /// memory object.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`].
    pub fn needed_lines(
        &mut self,
        launch: &Launch,
        place: (MemoryId, usize),
    ) -> Result<NeededLines, ExecuteError> {
        let start = |at: LaidOut<'_>, _: &mut Objects| Dependence::new(at.kernel, at.memory_map, place);
        let finish = |found: Dependence, at: LaidOut<'_>, _: &mut Objects, _: &mut Outcome| {
            found.finish(at.module, at.kernel)
        };
        Ok(self.launch(launch, Purpose::Bound, None, start, finish)?.1)
    }

    /// Runs a launch without the accesses that are outside of its buffers, and determines how large the buffers would have
    /// to be: for each argument the end of the farthest access behind its buffer's end, in bytes. It is 0 if there is none,
    /// and if no size is enough: an access before the start, or behind `most`, where an index has wrapped. Of a launch of many work-items, only the first ones, the
    /// middle one and the last ones of each dimension's work-groups run: of the last, those at a border may do nothing. What else the kernel does wrong, or an endless loop, ends
    /// the work-item or the launch, but is no error.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`], before the launch starts.
    pub fn reach(&mut self, launch: &Launch, most: u64) -> Result<Vec<u64>, ExecuteError> {
        let range = self.set_up(launch, Purpose::Check)?.range;
        let some = range.global.iter().product::<u64>() > REACH_ALL;
        let deep = range.groups[2] > 1;
        let ends = range.groups.map(|groups| {
            let last = (1..=if deep { 3 } else { LAST_GROUPS }).map(|back| groups.saturating_sub(back));
            last.chain([0, 1.min(groups - 1), groups / 2]).collect::<BTreeSet<u64>>()
        });
        let [x, y, _] = range.groups;
        let groups = ends[2].iter().flat_map(|at| ends[1].iter().map(move |row| (at * y + row) * x));
        let groups: Vec<u64> = groups.flat_map(|row| ends[0].iter().map(move |at| row + at)).collect();
        let start = |at: LaidOut<'_>, objects: &mut Objects| watch(&Checks::none(), at, objects);
        let finish = |watch: Watch, at: LaidOut<'_>, _: &mut Objects, outcome: &mut Outcome| {
            outcome.stop = None;
            let of = |object: &u32| {
                let reach = watch.objects.get(*object as usize).map_or(0, |object| object.reach);
                if reach <= most { reach } else { 0 }
            };
            at.memory_map.arguments.iter().map(of).collect()
        };
        Ok(self.launch(launch, Purpose::Check, some.then_some(&groups[..]), start, finish)?.1)
    }

    /// Runs some work-groups of a launch: `groups` are their numbers, dimension 0 fastest.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`]; [`ExecuteError::Range`]: there is no work-group of such a number.
    pub fn run_groups(&mut self, launch: &Launch, groups: &[u64]) -> Result<(), ExecuteError> {
        let count: u64 = self.set_up(launch, Purpose::Run)?.range.groups.iter().product();
        if let Some(group) = groups.iter().find(|group| **group >= count) {
            return Err(ExecuteError::Range {
                entry: launch.entry.clone(),
                range: format!("{:?}", launch.range),
                reason: format!("there are {count} work-groups, and none of number {group}"),
            });
        }
        self.run_alone(launch, Some(groups)).map(drop)
    }

    /// Runs all work-groups of a launch, or some, and nothing observes it.
    pub(super) fn run_alone(
        &mut self,
        launch: &Launch,
        only: Option<&[u64]>,
    ) -> Result<Report, ExecuteError> {
        Ok(self.launch(launch, Purpose::Run, only, |_, _| (), |(), _, _, _| ())?.0)
    }
}

/// The checks of a launch that is about to start.
fn watch(checks: &Checks, at: LaidOut<'_>, objects: &mut Objects) -> Watch {
    let LaidOut { module, kernel, memory_map } = at;
    let before = memory_map.buffers.iter().map(|memory| BufferState {
        access: objects.access(*memory),
        written: objects.storage(*memory).and_then(|storage| storage.written.take()),
    });
    let objects = objects::watch(module, kernel, memory_map, before.collect());
    let mut watch = Watch::new(checks.clone(), kernel, watchers(kernel), objects);
    whole::check(&mut watch, kernel, memory_map);
    watch
}

/// What checks have found, and the checks that could not be made. Endless loops are findings, so that the launch has not
/// failed. The next checked launch will know which bytes of the buffers have been written.
fn collect_findings(
    mut watch: Watch,
    at: LaidOut<'_>,
    objects: &mut Objects,
    outcome: &mut Outcome,
    steps: u64,
) -> (Vec<Finding>, Vec<String>) {
    for (info, object) in at.memory_map.objects.iter().zip(&mut watch.objects) {
        let Home::Global(index) = info.home else { continue };
        let Some(buffer) = (index as usize).checked_sub(at.module.objects.len()) else { continue };
        if let Some(storage) = objects.storage(at.memory_map.buffers[buffer]) {
            storage.written = object.written.take().filter(|written| !written.is_full());
        }
    }
    match &outcome.stop {
        Some((group, Stop::Steps(inst))) => whole::endless(&mut watch, group, *inst, steps, outcome.ended),
        Some((group, Stop::Waits(inst, item))) => whole::waits(&mut watch, group, *inst, *item),
        _ => {}
    }
    outcome.stop.take_if(|(_, stop)| matches!(stop, Stop::Steps(_) | Stop::Waits(..)));
    let left_out = watch.left_out().into_iter().collect();
    (watch.findings.finish(at.module, at.kernel), left_out)
}
