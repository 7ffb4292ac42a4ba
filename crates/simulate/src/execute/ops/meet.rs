//! Operations that a work-group performs as a whole, once all of its work-items have arrived.

use tripipe_ir::Op;

use super::{collective, copy};
use crate::execute::code::Inst;
use crate::execute::state::{Present, State, Stop};

/// The operation of a work-group whose work-items have all arrived.
pub(crate) fn together(s: &mut State<'_>, inst: &Inst, present: &mut [Present<'_>]) -> bool {
    s.observe(|observer, s| observer.meet(s, inst, present));
    perform(s, inst, present)
}

/// The operation of the work-items that have met: those of a work-group, or of a sub-group that several warps run.
pub(crate) fn perform(s: &mut State<'_>, inst: &Inst, present: &mut [Present<'_>]) -> bool {
    match s.kernel.insts[inst.origin].op {
        Op::Group(_) => collective::together(s, inst, present),
        Op::AsyncCopy { .. } => copy::start_together(s, inst, present),
        Op::WaitEvents { .. } => copy::wait_together(s, inst, present),
        Op::WaitCopies { .. } => copy::wait_all_together(s, inst, present),
        _ => true,
    }
}

/// Waits for the rest of the work-group, unless all of it is present.
pub(super) fn meet(s: &mut State<'_>, i: &Inst) -> bool {
    // A work-group that fits one warp never has to be parked.
    if s.is_whole_group() {
        let mask = s.mask;
        let mut warp = std::mem::take(&mut s.warp);
        let done = together(s, i, &mut [Present { warp: &mut warp, mask }]);
        s.warp = warp;
        return done;
    }
    s.stop = Some(Stop::Meet);
    false
}
