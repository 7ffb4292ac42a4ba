//! The checks as an observer of a launch: each event goes to the check that it concerns.

use std::ops::Range;

use tripipe_ir as ir;

use super::state::{Watch, Watcher};
use super::{copies, images, kernel, sums, taint};
use crate::execute::code::Inst;
use crate::execute::edge::Edge;
use crate::execute::memory::Home;
use crate::execute::observer::{Observed, Observer};
use crate::execute::rows::restore;
use crate::execute::state::{Present, State};

impl Observer for Watch {
    fn start_group(&mut self, s: &State<'_>) {
        let objects = s.memory.objects.iter().enumerate();
        let locals = objects.filter(|(_, info)| matches!(info.home, Home::Local(_))).map(|(index, _)| index);
        self.enter_group(s.group.linear(), locals);
    }

    fn start_warp(&mut self, s: &State<'_>) {
        self.enter_warp(s);
    }

    fn instruction(&mut self, s: &mut State<'_>, i: &Inst) -> Observed {
        let Some(watcher) = self.watcher(i.origin) else { return Observed::Passed };
        self.blended(s, i, |watch, s| match watcher {
            Watcher::Around(run) => Observed::Ran(run(watch, s, i)),
            Watcher::Before(check) => {
                check(watch, s, i);
                Observed::Passed
            }
        })
    }

    fn splat(&mut self, s: &mut State<'_>, i: &Inst) {
        self.blended(s, i, |watch, s| taint::flow::splat(watch.shadow_mut(s), s, i));
    }

    fn branch(&mut self, s: &State<'_>, register: u32, bytes: u32, last: Option<ir::Inst>) {
        taint::uses::branch(self, s, register, bytes, last);
    }

    fn edge(&mut self, s: &State<'_>, edge: &Edge, mask: Option<u64>) {
        self.shadow_mut(s).follow(&s.code.slots, edge, mask);
    }

    fn meet(&mut self, s: &State<'_>, i: &Inst, present: &[Present<'_>]) {
        kernel::meet(self, s, i, present);
        if let ir::Op::Barrier { semantics, .. } = s.kernel.insts[i.origin].op {
            self.times.barrier(semantics.local, semantics.global);
        }
    }

    fn meet_elsewhere(&mut self, s: &State<'_>, here: &Inst, item: u32, there: ir::Inst) {
        kernel::meet_elsewhere(self, s, here, item, there);
    }

    fn start_copy(
        &mut self,
        s: &mut State<'_>,
        i: &Inst,
        present: &mut [Present<'_>],
        event: u64,
    ) -> Range<u64> {
        copies::start(self, s, i, present, event)
    }

    fn wait_for_copies(&mut self, s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>]) {
        if let ir::Op::WaitCopies { scope } = s.kernel.insts[i.origin].op {
            copies::wait_all(self, s, scope, present);
        } else {
            copies::wait(self, s, i, present);
        }
    }

    fn outside_image(&mut self, s: &State<'_>, i: &Inst, lanes: u64, write: bool) {
        images::outside(self, s, i, lanes, write);
    }

    fn end_group(&mut self, s: &State<'_>) {
        copies::end_group(self, s);
        sums::end_group(self, s);
    }
}

impl Watch {
    /// Makes a call that may change the shadow of the result, and restores the shadow of inactive lanes if they keep
    /// their values.
    fn blended<R>(
        &mut self,
        s: &mut State<'_>,
        i: &Inst,
        call: impl FnOnce(&mut Self, &mut State<'_>) -> R,
    ) -> R {
        if !s.blends {
            return call(self, s);
        }
        let before = self.shadow(s).rows.words(i.out).to_vec();
        let result = call(self, s);
        let components = usize::from(i.components);
        restore(self.shadow_mut(s).rows.words_mut(i.out), &before, components, !s.mask);
        result
    }
}
