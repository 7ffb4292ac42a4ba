//! What the executor tells an observer of a launch.
//!
//! An observer sees each instruction that it asked for when the kernel was decoded ([`super::decode::decode`]) before
//! it runs, and the events below. A launch without an observer runs the operations directly.

use std::ops::Range;

use tripipe_ir as ir;

use super::code::{Inst, Run};
use super::edge::Edge;
use super::state::{Present, State};

/// What an observer did with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// It ran the instruction, with the result of [`Inst::plain`].
    Ran(bool),
    /// It did not: the executor runs the instruction and reports the events within it.
    Passed,
}

/// Watches a launch, which then runs on one thread.
pub(crate) trait Observer {
    /// A work-group starts: its local memory has no contents yet.
    fn start_group(&mut self, _s: &State<'_>) {}

    /// The current warp starts with the work-items from [`super::state::Warp::first_item`] on.
    fn start_warp(&mut self, _s: &State<'_>) {}

    /// The active lanes run in a block of the kernel: from its start on if `first`, else after a wait within it.
    fn enter(&mut self, _s: &State<'_>, _block: ir::Block, _first: bool) {}

    /// An instruction is about to run for the active lanes.
    fn instruction(&mut self, _s: &mut State<'_>, _i: &Inst) -> Observed {
        Observed::Passed
    }

    /// The value of one lane was copied to all lanes of another register.
    fn splat(&mut self, _s: &mut State<'_>, _i: &Inst) {}

    /// The active lanes leave a block; a register of `bytes` bytes decides where they go. `last` is the block's last
    /// instruction.
    fn branch(&mut self, _s: &State<'_>, _register: u32, _bytes: u32, _last: Option<ir::Inst>) {}

    /// Registers were moved along an edge, for the lanes of a mask; `None` for all lanes.
    fn edge(&mut self, _s: &State<'_>, _edge: &Edge, _mask: Option<u64>) {}

    /// The work-items of a group have met at an instruction; work-items that have ended are absent.
    fn meet(&mut self, _s: &State<'_>, _i: &Inst, _present: &[Present<'_>]) {}

    /// Work-items of a group wait at different instructions: `item` at `here`, others at `there`. The launch ends.
    fn meet_elsewhere(&mut self, _s: &State<'_>, _here: &Inst, _item: u32, _there: ir::Inst) {}

    /// A group starts an asynchronous copy. Returns the elements to copy.
    fn start_copy(
        &mut self,
        _s: &mut State<'_>,
        _i: &Inst,
        _present: &mut [Present<'_>],
        _event: u64,
    ) -> Range<u64> {
        0..u64::MAX
    }

    /// A group waits for asynchronous copies. The observer checks the memory of the event lists.
    fn wait_for_copies(&mut self, _s: &mut State<'_>, _i: &Inst, _present: &mut [Present<'_>]) {}

    /// Lanes accessed texels outside an image.
    fn outside_image(&mut self, _s: &State<'_>, _i: &Inst, _lanes: u64, _write: bool) {}

    /// The current work-group has ended, or stopped early.
    fn end_group(&mut self, _s: &State<'_>) {}
}

/// Sees nothing.
impl Observer for () {}

/// Runs an instruction that the observer has asked for.
pub(crate) const INSTRUCTION: Run = |s, i| match s.observe(|observer, s| observer.instruction(s, i)) {
    Some(Observed::Ran(goes_on)) => goes_on,
    // `None`: the observer itself is running, so there is nobody to ask.
    Some(Observed::Passed) | None => (i.plain)(s, i),
};

/// Copies one lane to all lanes, with an observer.
pub(crate) const SPLAT: Run = |s, i| {
    // The copy comes first, because the observer looks at the row that it fills.
    let goes_on = (i.plain)(s, i);
    s.observe(|observer, s| observer.splat(s, i));
    goes_on
};
