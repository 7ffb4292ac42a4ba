//! Accesses that overlap an asynchronous copy that has not been waited for.

use tripipe_ir::{Inst as Origin, Kernel, Space, Type};

use super::pending::{Pending, Side};
use crate::execute::code::Inst;
use crate::execute::state::State;
use crate::watch::findings::Occurrence;
use crate::watch::rules;
use crate::watch::state::Watch;

/// How to wait for the copy of an instruction.
pub(super) fn fix(kernel: &Kernel, origin: Origin) -> &'static str {
    let to = kernel.insts[origin].operands.first().map(|to| kernel.ty(*to));
    if to == Some(Type::Pointer(Space::Constant)) {
        "Call qcom_sub_group_sync(QCOM_CLK_CONST_LOAD_SYNC) after the copy."
    } else {
        "Wait for the copy's event with wait_group_events first."
    }
}

impl Watch {
    /// Checks for pending copies that access the same bytes.
    pub(super) fn meets_others(&mut self, s: &State<'_>, i: &Inst, new: &Pending) {
        let overlap = |a: &Option<Side>, b: &Option<Side>| {
            a.as_ref().zip(b.as_ref()).filter(|(a, b)| a.overlaps(b)).map(|(a, _)| *a)
        };
        let found = self.copies.iter().find_map(|old| {
            let met =
                overlap(&new.to, &old.to).map(|side| (side, "writes bytes that another one is writing"));
            let met = met.or_else(|| {
                overlap(&new.to, &old.from).map(|side| (side, "writes bytes that another one is reading"))
            });
            let met = met.or_else(|| {
                overlap(&new.from, &old.to).map(|side| (side, "reads bytes that another one is writing"))
            });
            met.map(|(side, what)| (side, what, old.origin, old.sub_group))
        });
        let Some((side, what, origin, old_sub_group)) = found else { return };
        let memory = side.memory(s);
        let name = memory.as_ref().map_or_else(String::new, |memory| memory.object.clone());
        self.note(&rules::ASYNC_COPY_UNWAITED, i, 1, || {
            let message = format!("this asynchronous copy {what}: `{name}`");
            let fix = match old_sub_group {
                Some(_) => fix(s.kernel, origin),
                None => "Wait for the other copy's event with wait_group_events first.",
            };
            Occurrence::new(&s.group, 0, message, fix).of(memory).with(
                "the other copy was started here",
                origin,
                None,
            )
        });
    }

    /// Reports an access that overlaps a pending copy.
    pub(crate) fn on_its_way(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        lane: usize,
        address: u64,
        bytes: u64,
        writes: bool,
    ) {
        let (object, offset) = s.memory.parts(address);
        let Ok(start) = u64::try_from(offset) else { return };
        let meets = |copy: &&Pending| {
            copy.writes(object, start, bytes) || (writes && copy.reads(object, start, bytes))
        };
        let Some(copy) = self.copies.iter().find(meets).cloned() else { return };
        let Some(memory) = s.memory.accessed(object, offset, bytes) else { return };
        let what = match (writes, copy.writes(object, start, bytes)) {
            (true, true) => "writes bytes that an asynchronous copy is writing",
            (true, false) => "writes bytes that an asynchronous copy is reading",
            (false, _) => "reads bytes that an asynchronous copy is writing",
        };
        self.note(&rules::ASYNC_COPY_UNWAITED, i, 1, || {
            let message = format!("{what}: `{}`", memory.object);
            Occurrence::new(&s.group, s.item(lane), message, fix(s.kernel, copy.origin))
                .of(Some(memory))
                .with("the copy was started here", copy.origin, None)
        });
    }
}
