//! Copies of bytes: each work-item's own, and the asynchronous ones of a group.

use tripipe_ir::diagnostic::AccessedMemory;
use tripipe_ir::{Inst as Origin, Op, Space, Type};

use super::findings::{Occurrence, work_item};
use super::{Watch, rules};
use crate::execute::code::Inst;
use crate::execute::memory::{Home, parts};
use crate::execute::ops::Present;
use crate::execute::rows::lanes;
use crate::execute::state::State;

/// An asynchronous copy that nobody has waited for yet.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) event: u64,
    pub(crate) origin: Origin,
    /// Object and bytes that are written.
    pub(crate) to: (u32, std::ops::Range<u64>),
    /// Object and bytes that are read.
    pub(crate) from: (u32, std::ops::Range<u64>),
}

/// A copy by each work-item, watched: bytes that nobody has written are copied as such.
pub(super) fn copy(s: &mut State<'_>, i: &Inst) -> bool {
    let Some(mut watch) = s.watch.take() else { return (i.plain)(s, i) };
    let mask = s.mask;
    let mut good = 0;
    for lane in lanes(mask) {
        let count = s.warp.rows.words(i.args[2])[lane] as usize;
        if count == 0 {
            good |= 1 << lane;
            continue;
        }
        s.mask = 1 << lane;
        let reads = watch.touch_bytes(s, i, 1, count, false);
        let writes = watch.touch_bytes(s, i, 0, count, true);
        if reads & writes == 0 {
            continue;
        }
        good |= 1 << lane;
        let (to, from) = (s.warp.rows.words(i.args[0])[lane], s.warp.rows.words(i.args[1])[lane]);
        for byte in 0..count as u64 {
            let known = watch.is_written(s, lane, from.wrapping_add(byte));
            watch.set_written(s, lane, to.wrapping_add(byte), known);
        }
    }
    s.mask = good;
    let goes_on = good == 0 || (i.plain)(s, i);
    s.mask = mask;
    s.watch = Some(watch);
    goes_on
}

/// A group has met to start a copy: all must ask for the same.
pub(crate) fn started(s: &mut State<'_>, i: &Inst, present: &[Present<'_>]) {
    let Some(mut watch) = s.watch.take() else { return };
    let Some(first) = present.first() else { return };
    let lane = first.mask.trailing_zeros() as usize;
    let data = &s.kernel.insts[i.origin];
    let arguments = |rows: &crate::execute::rows::Rows, lane: usize| -> [u64; 4] {
        std::array::from_fn(|index| rows.words(i.arg(index))[lane])
    };
    let wanted = arguments(&first.warp.rows, lane);
    let group = s.group;
    'all: for each in present {
        for lane in lanes(each.mask) {
            let found = arguments(&each.warp.rows, lane);
            if let Some(index) = (0..4).find(|index| found[*index] != wanted[*index]) {
                let what =
                    ["another destination", "another source", "another number of elements", "another stride"];
                let item = u64::from(each.warp.first_item) + lane as u64;
                watch.note(&rules::ASYNC_COPY_DIVERGENCE, i, 1, || Occurrence {
                    message: format!("a work-item asks for {} than the first of its group", what[index]),
                    cure: "Compute the arguments from what all work-items of the group share.".into(),
                    work_item: Some(work_item(&group, item)),
                    ..Occurrence::default()
                });
                break 'all;
            }
        }
    }
    if let Op::AsyncCopy { bytes, .. } = data.op {
        let [to, from, count, stride] = wanted;
        let to_local = s.kernel.ty(data.operands[0]) == Type::Pointer(Space::Local);
        let bytes = u64::from(bytes);
        let dense = count.saturating_mul(bytes);
        let spread = count
            .saturating_sub(1)
            .saturating_mul(stride)
            .saturating_mul(bytes)
            .saturating_add(bytes.min(dense));
        let (to_bytes, from_bytes) = if to_local { (dense, spread) } else { (spread, dense) };
        let range = |address: u64, bytes: u64| {
            let (object, offset) = parts(address);
            let start = offset.max(0).cast_unsigned();
            (object, start..start.saturating_add(bytes))
        };
        let event = first.warp.rows.words(i.out)[lane];
        let (to, from) = (range(to, to_bytes), range(from, from_bytes));
        if let Some(written) =
            watch.objects.get_mut(to.0 as usize).and_then(|watched| watched.written.as_mut())
        {
            let end = s.memory.object(to.0).map_or(0, |info| info.bytes).min(to.1.end);
            if to.1.start < end {
                written.set(to.1.start as usize, (end - to.1.start) as usize);
            }
        }
        watch.copies.push(Pending { event, origin: i.origin, to, from });
    }
    s.watch = Some(watch);
}

/// A group has met to wait for events.
pub(crate) fn waited(s: &mut State<'_>, events: &[u64]) {
    if let Some(watch) = &mut s.watch {
        watch.copies.retain(|copy| !events.contains(&copy.event));
    }
}

/// A group has come to its end.
pub(crate) fn ended(s: &mut State<'_>) {
    let group = s.group;
    let Some(watch) = &mut s.watch else { return };
    for copy in std::mem::take(&mut watch.copies) {
        if watch.checks.has(&rules::ASYNC_COPY_UNWAITED) {
            watch.findings.note(&rules::ASYNC_COPY_UNWAITED, Some(copy.origin), 1, || Occurrence {
                message: "the work-group ends before it has waited for this copy".into(),
                cure: "Wait for its event by wait_group_events before the kernel ends.".into(),
                work_item: Some(work_item(&group, 0)),
                ..Occurrence::default()
            });
        }
    }
}

impl Watch {
    /// Whether an access meets a copy that is on its way.
    pub(super) fn on_its_way(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        lane: usize,
        address: u64,
        bytes: u64,
        writes: bool,
    ) {
        let (object, offset) = parts(address);
        let Ok(start) = u64::try_from(offset) else { return };
        let meets = |(other, range): &(u32, std::ops::Range<u64>)| {
            *other == object && start < range.end && range.start < start.saturating_add(bytes)
        };
        let found = self.copies.iter().find(|copy| meets(&copy.to) || (writes && meets(&copy.from))).cloned();
        let Some(copy) = found else { return };
        let Some(info) = s.memory.object(object) else { return };
        let memory = AccessedMemory {
            object: info.name.to_string(),
            space: info.space,
            object_bytes: info.bytes,
            offset,
            bytes,
        };
        let what = match (writes, meets(&copy.to)) {
            (true, true) => "writes what an asynchronous copy is writing",
            (true, false) => "writes what an asynchronous copy is reading",
            (false, _) => "reads what an asynchronous copy is writing",
        };
        self.note(&rules::ASYNC_COPY_UNWAITED, i, 1, || Occurrence {
            message: format!("{what}: `{}`", memory.object),
            cure: "Wait for the copy's event by wait_group_events first.".into(),
            work_item: Some(work_item(&s.group, u64::from(s.warp.first_item) + lane as u64)),
            memory: Some(memory),
            related: vec![("the copy was started here".into(), Some(copy.origin), None)],
        });
    }

    /// Whether a byte has been written, as a lane sees it.
    pub(super) fn is_written(&self, s: &State<'_>, lane: usize, address: u64) -> bool {
        let (object, offset) = parts(address);
        match s.memory.object(object).map(|info| info.home) {
            Some(Home::Private(index)) => s.warp.private_written[index as usize]
                .get(offset as usize)
                .is_none_or(|lanes| lanes >> lane & 1 == 1),
            _ => self
                .objects
                .get(object as usize)
                .and_then(|watched| watched.written.as_ref())
                .is_none_or(|written| written.has(offset as usize)),
        }
    }

    /// Notes whether a byte has been written, as a lane sees it.
    pub(super) fn set_written(&mut self, s: &mut State<'_>, lane: usize, address: u64, known: bool) {
        let (object, offset) = parts(address);
        match s.memory.object(object).map(|info| info.home) {
            Some(Home::Private(index)) => {
                if let Some(lanes) = s.warp.private_written[index as usize].get_mut(offset as usize) {
                    *lanes = if known { *lanes | 1 << lane } else { *lanes & !(1 << lane) };
                }
            }
            _ => {
                if let Some(written) =
                    self.objects.get_mut(object as usize).and_then(|watched| watched.written.as_mut())
                {
                    if known {
                        written.set(offset as usize, 1);
                    } else {
                        written.unset(offset as usize);
                    }
                }
            }
        }
    }
}
