//! The state of the checks during a launch.

use std::collections::HashMap;

use cranelift_entity::SecondaryMap;
use tripipe_ir as ir;
use tripipe_ir::diagnostic::Rule;
use tripipe_ir::{Kernel, Value};

use super::cells::Times;
use super::checks::Checks;
use super::copies::pending::Pending;
use super::findings::{Findings, Occurrence};
use super::losses::{Sums, sums};
use super::objects::Watched;
use super::order::HappensBefore;
use super::partial::Partial;
use super::shadow::{self, Shadow};
use crate::execute::code::Inst;
use crate::execute::state::State;
use crate::shadow::PerWarp;

/// The check of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watcher {
    /// Runs the instruction too, as [`crate::execute::code::Run`] describes.
    Around(fn(&mut Watch, &mut State<'_>, &Inst) -> bool),
    /// Comes before the instruction, which the executor runs.
    Before(fn(&mut Watch, &mut State<'_>, &Inst)),
}

/// The watchers of a kernel's instructions; `None` for instructions that need none.
pub(crate) type Watchers = SecondaryMap<ir::Inst, Option<Watcher>>;

/// Lanes whose pointer has left an inner array, with the index and the array length for the first of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftArray {
    pub(crate) lanes: u64,
    pub(crate) index: i64,
    pub(crate) count: u64,
}

/// The checks of a launch: what they know about its memory and registers, and their findings.
#[derive(Debug)]
pub(crate) struct Watch {
    watchers: Watchers,
    shadows: PerWarp<Shadow>,
    /// The private bytes that are written when a warp starts.
    private_written: Vec<Vec<u64>>,
    pub(crate) checks: Checks,
    pub(crate) findings: Findings,
    /// Indexed by object number.
    pub(crate) objects: Vec<Watched>,
    pub(crate) times: Times,
    pub(crate) order: HappensBefore,
    /// Pointers that have left an inner array, keyed by the first work-item of the warp and the value.
    pub(crate) left: HashMap<(u32, Value), LeftArray>,
    /// Asynchronous copies of the current group that have not been waited for.
    pub(crate) copies: Vec<Pending>,
    /// Loads and stores that belong to partial writes.
    pub(crate) partial: Partial,
    /// Descriptions of unwritten memory that an instruction reads, by the instruction's number.
    pub(crate) births: HashMap<u32, String>,
    /// The additions of sums, each with the operand that is the sum so far.
    pub(super) additions: HashMap<ir::Inst, usize>,
    /// What the sums of the current group have lost.
    pub(super) sums: Sums,
    /// Whether races of some accesses were not checked because there were too many.
    pub(super) races_left_out: bool,
}

impl Watch {
    pub(crate) fn new(checks: Checks, kernel: &Kernel, watchers: Watchers, objects: Vec<Watched>) -> Self {
        Self {
            watchers,
            shadows: PerWarp::default(),
            private_written: shadow::private_written(kernel),
            partial: Partial::of(kernel),
            checks,
            findings: Findings::default(),
            objects,
            times: Times::default(),
            order: HappensBefore::default(),
            left: HashMap::new(),
            copies: Vec::new(),
            births: HashMap::new(),
            additions: sums(kernel),
            sums: Sums::new(),
            races_left_out: false,
        }
    }

    /// The checks that could not be made.
    pub(crate) fn left_out(&self) -> Option<String> {
        let reason =
            format!("races after the first {} work-items or barriers: use a smaller launch", u32::MAX);
        self.races_left_out.then_some(reason)
    }

    /// Starts a group; its local memory is unwritten.
    pub(crate) fn enter_group(&mut self, group: u64, locals: impl Iterator<Item = usize>) {
        self.times.start_group();
        self.order.start(group as u32);
        self.left.clear();
        self.copies.clear();
        for object in locals {
            let Watched { written, at_first, .. } = &mut self.objects[object];
            match (written, at_first) {
                (Some(written), Some(at_first)) => written.clone_from(at_first),
                (Some(written), None) => written.clear(),
                (None, _) => {}
            }
        }
    }

    /// Starts the current warp.
    pub(crate) fn enter_warp(&mut self, s: &State<'_>) {
        let shadow = self.shadows.start(s, || Shadow::new(&s.code.slots));
        shadow.start(&self.private_written, s.memory_map.privates.len());
    }

    /// The watcher of an instruction.
    pub(crate) fn watcher(&self, inst: ir::Inst) -> Option<Watcher> {
        self.watchers[inst]
    }

    /// The shadow of the current warp.
    pub(super) fn shadow(&self, s: &State<'_>) -> &Shadow {
        &self.shadows[s]
    }

    /// The shadow of the current warp, mutable.
    pub(super) fn shadow_mut(&mut self, s: &State<'_>) -> &mut Shadow {
        &mut self.shadows[s]
    }

    /// Records a violation of a rule at an instruction, if the rule is enabled.
    pub(crate) fn note(
        &mut self,
        rule: &'static Rule,
        i: &Inst,
        count: u64,
        first: impl FnOnce() -> Occurrence,
    ) {
        if self.checks.has(rule) {
            self.findings.note(rule, Some(i.origin), count, first);
        }
    }
}
