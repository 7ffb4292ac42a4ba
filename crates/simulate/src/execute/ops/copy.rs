//! Copies of bytes: each work-item's own, and the asynchronous ones of a group.

use tripipe_ir::op::Scope;
use tripipe_ir::{Kernel, Op, Space, Type};

use super::memory::{is_private, outside};
use super::{Present, meet_sub_group, neighbours};
use crate::execute::code::{Inst, Run};
use crate::execute::memory::parts;
use crate::execute::rows::lanes;
use crate::execute::state::State;

/// Bytes of an event in memory.
const EVENT_BYTES: u64 = 8;

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

/// The bytes a lane's pointer leads to; `None` if they are not all inside an object.
pub(super) fn read(s: &mut State<'_>, lane: usize, address: u64, count: u64) -> Option<Vec<u8>> {
    let count = usize::try_from(count).ok()?;
    let (object, offset) = parts(address);
    if let Some(index) = is_private(s, address) {
        let private = &s.warp.privates[index as usize];
        let start = private.inside(offset, count)?;
        return Some((start..start + count).map(|at| private.bytes[private.position(at, lane)]).collect());
    }
    s.memory.read(object, offset, count).map(<[u8]>::to_vec)
}

fn write(s: &mut State<'_>, lane: usize, address: u64, bytes: &[u8]) -> Option<()> {
    let (object, offset) = parts(address);
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

/// Starts an asynchronous copy: the whole of a work-group, or each sub-group for itself.
pub(super) fn start(scope: Scope) -> Run {
    match scope {
        Scope::SubGroup => |s, i| {
            if !meet_sub_group(s, i) {
                return false;
            }
            for lanes in neighbours(s.mask, s.group.sub_group) {
                let Some(event) = transfer(s, i, lanes) else { return false };
                give_event(s.warp.rows.words_mut(i.out), lanes, event);
            }
            true
        },
        _ => super::meet,
    }
}

/// Copies once what the work-items of a work-group, which have met, ask for alike.
pub(super) fn start_together(s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>]) -> bool {
    let Some(first) = present.first_mut() else { return true };
    std::mem::swap(&mut s.warp, first.warp);
    let event = transfer(s, i, first.mask);
    std::mem::swap(&mut s.warp, first.warp);
    let Some(event) = event else { return false };
    for each in present.iter_mut() {
        give_event(each.warp.rows.words_mut(i.out), each.mask, event);
    }
    crate::watch::copies::started(s, i, present);
    true
}

fn give_event(row: &mut [u64], mask: u64, event: u64) {
    for lane in lanes(mask) {
        row[lane] = event;
    }
}

/// Copies at once, with the arguments of the first of some lanes. Gives the event: the one to join, or a new one.
fn transfer(s: &mut State<'_>, i: &Inst, lanes: u64) -> Option<u64> {
    let kernel: &Kernel = s.kernel;
    let inst = &kernel.insts[i.origin];
    let Op::AsyncCopy { bytes, .. } = inst.op else { return None };
    let lane = lanes.trailing_zeros() as usize;
    let [to, from, count, stride, event] = std::array::from_fn(|index| s.warp.rows.words(i.arg(index))[lane]);
    let bytes = u64::from(bytes);
    if stride == 1 {
        copy_bytes(s, i, lane, to, from, count.saturating_mul(bytes)).then_some(())?;
    } else {
        // The stride is that of the global side; elements lie side by side on the other.
        let to_local = kernel.ty(inst.operands[0]) == Type::Pointer(Space::Local);
        let (to_step, from_step) = if to_local { (1, stride) } else { (stride, 1) };
        for index in 0..count {
            let step = |base: u64, step: u64| base.wrapping_add(index.wrapping_mul(step).wrapping_mul(bytes));
            copy_bytes(s, i, lane, step(to, to_step), step(from, from_step), bytes).then_some(())?;
        }
    }
    if event != 0 {
        return Some(event);
    }
    s.events += 1;
    Some(s.events)
}

/// Waits for asynchronous copies. They are done when they have been started, so that only the waiting is left.
pub(super) fn wait(scope: Scope) -> Run {
    match scope {
        Scope::SubGroup => |s, i| meet_sub_group(s, i) && has_events(s, i),
        _ => super::meet,
    }
}

/// Looks whether the lists of events of a work-group that has met are where the pointers say.
pub(super) fn wait_together(s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>]) -> bool {
    present.iter_mut().all(|each| {
        std::mem::swap(&mut s.warp, each.warp);
        s.mask = each.mask;
        let all = has_events(s, i);
        std::mem::swap(&mut s.warp, each.warp);
        all
    })
}

fn has_events(s: &mut State<'_>, i: &Inst) -> bool {
    lanes(s.mask).all(|lane| {
        let count = u64::from(s.warp.rows.numbers::<u32>(i.args[0])[lane]);
        let list = s.warp.rows.words(i.args[1])[lane];
        let bytes = count * EVENT_BYTES;
        if count == 0 {
            return true;
        }
        let Some(events) = read(s, lane, list, bytes) else {
            return outside(s, i, lane, list, bytes as usize, false);
        };
        if s.watch.is_some() {
            let events: Vec<u64> =
                events.as_chunks::<8>().0.iter().map(|event| u64::from_le_bytes(*event)).collect();
            crate::watch::copies::waited(s, &events);
        }
        true
    })
}
