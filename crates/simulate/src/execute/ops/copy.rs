//! Copies of bytes: per work-item, and the asynchronous copies of a group.

use std::ops::Range;

use tripipe_ir::{Op, Space, Type};

use super::memory::{is_private, outside};
use crate::execute::code::Inst;
use crate::execute::rows::{lanes, neighbours};
use crate::execute::state::{Present, State};

/// Bytes of an event in memory.
pub(crate) const EVENT_BYTES: u64 = 8;

/// The number of offsets that an address can represent.
const OFFSETS: u128 = 1 << 47;

/// Copies bytes, lane by lane: destination, source, count.
pub(super) fn copy(s: &mut State<'_>, i: &Inst) -> bool {
    lanes(s.mask).all(|lane| {
        let [to, from, count] = std::array::from_fn(|index| s.warp.rows.words(i.args[index])[lane]);
        copy_bytes(s, i, lane, to, from, count)
    })
}

fn copy_bytes(s: &mut State<'_>, i: &Inst, lane: usize, to: u64, from: u64, count: u64) -> bool {
    if count == 0 {
        return true;
    }
    let Some(bytes) = read(s, lane, from, count) else {
        return outside(s, i, lane, from, count as usize, false);
    };
    write(s, lane, to, &bytes).is_some() || outside(s, i, lane, to, bytes.len(), true)
}

/// The bytes at a lane's pointer; `None` if they are not all inside an object.
pub(crate) fn read(s: &mut State<'_>, lane: usize, address: u64, count: u64) -> Option<Vec<u8>> {
    let count = usize::try_from(count).ok()?;
    let (object, offset) = s.memory.parts(address);
    if let Some(index) = is_private(s, address) {
        let private = &s.warp.privates[index as usize];
        let start = private.inside(offset, count)?;
        return Some((start..start + count).map(|at| private.bytes[private.position(at, lane)]).collect());
    }
    s.memory.read(object, offset, count).map(<[u8]>::to_vec)
}

fn write(s: &mut State<'_>, lane: usize, address: u64, bytes: &[u8]) -> Option<()> {
    let (object, offset) = s.memory.parts(address);
    if let Some(index) = is_private(s, address) {
        let private = &mut s.warp.privates[index as usize];
        let start = private.inside(offset, bytes.len())?;
        for (at, byte) in bytes.iter().enumerate() {
            let position = private.position(start + at, lane);
            private.bytes[position] = *byte;
        }
        return Some(());
    }
    s.memory.write(object, offset, bytes.len())?.copy_from_slice(bytes);
    Some(())
}

/// The elements of an asynchronous copy. Arrays of two are destination and source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    /// Address of the first element.
    pub(crate) addresses: [u64; 2],
    /// Bytes from element to element. The stride applies to the global side; elements on the other side are
    /// contiguous.
    pub(crate) steps: [u64; 2],
    /// Bytes per element.
    pub(crate) bytes: u64,
    pub(crate) count: u64,
}

impl Elements {
    /// The arguments of the first present work-item.
    pub(crate) fn of(s: &State<'_>, i: &Inst, present: &[Present<'_>]) -> Option<Self> {
        let inst = &s.kernel.insts[i.origin];
        let Op::AsyncCopy { bytes, .. } = inst.op else { return None };
        let first = present.first()?;
        let lane = first.mask.trailing_zeros() as usize;
        let [to, from, count, stride] =
            std::array::from_fn(|index| first.warp.rows.words(i.arg(index))[lane]);
        let bytes = u64::from(bytes);
        let apart = stride.saturating_mul(bytes);
        let to_local = s.kernel.ty(inst.operands[0]) == Type::Pointer(Space::Local);
        let steps = if to_local { [bytes, apart] } else { [apart, bytes] };
        Some(Self { addresses: [to, from], steps, bytes, count })
    }

    /// Copies the elements of a range at once, on behalf of a lane.
    fn copy(&self, s: &mut State<'_>, i: &Inst, lane: usize, range: Range<u64>) -> bool {
        let range = range.start..range.end.min(self.count);
        if range.is_empty() {
            return true;
        }
        // An offset beyond every object must not wrap around into another object.
        for side in [1, 0] {
            let bytes = u128::from(range.end) * u128::from(self.steps[side]);
            if bytes >= OFFSETS {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                return outside(s, i, lane, self.addresses[side], bytes, side == 0);
            }
        }
        let at = |side: usize, index: u64| self.addresses[side].wrapping_add(index * self.steps[side]);
        // Contiguous on both sides: one copy is faster than one for each element.
        if self.steps == [self.bytes; 2] {
            let (first, bytes) = (range.start, (range.end - range.start) * self.bytes);
            return copy_bytes(s, i, lane, at(0, first), at(1, first), bytes);
        }
        range.into_iter().all(|index| copy_bytes(s, i, lane, at(0, index), at(1, index), self.bytes))
    }
}

/// Starts an asynchronous copy, separately for each sub-group of the active lanes.
pub(super) fn start(s: &mut State<'_>, i: &Inst) -> bool {
    each_sub_group(s, i, start_together)
}

/// Calls `together` for each sub-group of the active lanes, if the sub-groups are complete.
fn each_sub_group(
    s: &mut State<'_>,
    i: &Inst,
    together: fn(&mut State<'_>, &Inst, &mut [Present<'_>]) -> bool,
) -> bool {
    if !s.meets_sub_groups(i) {
        return false;
    }
    // Taken out, so that the function can borrow both the state and the warp.
    let mut warp = std::mem::take(&mut s.warp);
    let done = neighbours(s.mask, s.group.sub_group)
        .all(|mask| together(s, i, &mut [Present { warp: &mut warp, mask }]));
    s.warp = warp;
    done
}

/// Performs once the copy that all present work-items request. They get the given event, or a new one.
pub(super) fn start_together(s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>]) -> bool {
    let Some(elements) = Elements::of(s, i, present) else { return true };
    let Some(first) = present.first() else { return true };
    let lane = first.mask.trailing_zeros() as usize;
    let mut event = first.warp.rows.words(i.arg(4))[lane];
    // In OpenCL C, event 0 asks for a new event.
    if event == 0 {
        s.events += 1;
        event = s.events;
    }
    let range = s.observe(|observer, s| observer.start_copy(s, i, present, event)).unwrap_or(0..u64::MAX);
    let Some(first) = present.first_mut() else { return true };
    let copied = s.within(first, |s| elements.copy(s, i, lane, range));
    for each in present {
        give_event(each.warp.rows.words_mut(i.out), each.mask, event);
    }
    copied
}

fn give_event(row: &mut [u64], mask: u64, event: u64) {
    for lane in lanes(mask) {
        row[lane] = event;
    }
}

/// Waits for asynchronous copies, separately for each sub-group. Copies complete when they start, so only the waiting
/// itself remains.
pub(super) fn wait(s: &mut State<'_>, i: &Inst) -> bool {
    each_sub_group(s, i, wait_together)
}

/// Waits for all asynchronous copies of each sub-group.
pub(super) fn wait_all(s: &mut State<'_>, i: &Inst) -> bool {
    each_sub_group(s, i, wait_all_together)
}

pub(super) fn wait_all_together(s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>]) -> bool {
    s.observe(|observer, s| observer.wait_for_copies(s, i, present));
    true
}

/// Checks that the event lists of the present work-items are in valid memory.
pub(super) fn wait_together(s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>]) -> bool {
    // The observer has checked the lists itself.
    if s.observe(|observer, s| observer.wait_for_copies(s, i, present)).is_some() {
        return true;
    }
    present.iter_mut().all(|each| s.within(each, |s| has_events(s, i)))
}

fn has_events(s: &mut State<'_>, i: &Inst) -> bool {
    lanes(s.mask).all(|lane| {
        let count = u64::from(s.warp.rows.numbers::<u32>(i.args[0])[lane]);
        let list = s.warp.rows.words(i.args[1])[lane];
        let bytes = count * EVENT_BYTES;
        count == 0 || read(s, lane, list, bytes).is_some() || outside(s, i, lane, list, bytes as usize, false)
    })
}
