//! Memory accesses: bounds, alignment, permission, races.

mod bounds;

use std::collections::HashMap;

use tripipe_ir as ir;
use tripipe_ir::Op;
use tripipe_ir::op::AtomicOp;

use super::order::Effect;
use super::state::{LeftArray, Watch};
use super::taint::{flow, uses};
use super::touch::{Touch, extremes, item_number};
use crate::execute::code::{Inst, NONE};
use crate::execute::rows::{lanes, numbers, restore};
use crate::execute::state::State;

/// A watched load.
pub(crate) fn load(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let puts_back = watch.partial.is_load(i.origin);
    watched(watch, s, i, Touch { puts_back, ..Touch::plain(s, i, false) }, None)
}

/// A watched load of a value that a compare-exchange checks again: for races it counts as atomic.
pub(crate) fn guess(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    watched(watch, s, i, Touch { atomic: true, ..Touch::plain(s, i, false) }, None)
}

/// A watched store.
pub(crate) fn store(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    watched(watch, s, i, Touch::plain(s, i, true), None)
}

/// A watched atomic.
pub(crate) fn atomic(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let data = &s.kernel.insts[i.origin];
    let Op::Atomic(atomic) = data.op else { return (i.plain)(s, i) };
    let ty = data.result.or_else(|| data.operands.get(1).copied()).map(|value| s.kernel.ty(value));
    let bytes = match atomic.op {
        AtomicOp::FlagTestAndSet | AtomicOp::FlagClear => 4,
        _ => ty.map_or(4, ir::Type::bytes),
    };
    let touch = Touch {
        align: bytes,
        reads: atomic.op != AtomicOp::Store && atomic.op != AtomicOp::FlagClear,
        writes: atomic.op != AtomicOp::Load,
        atomic: true,
        ..Touch::bytes(i, 0, bytes as usize, true)
    };
    let order = atomic.semantics.order;
    let (acquires, releases) = (order.acquires(), order.releases());
    let effect = Effect { reads: touch.reads, writes: touch.writes, acquires, releases };
    watched(watch, s, i, touch, Some(effect))
}

/// The lanes whose compare-exchange finds an unexpected value and therefore only reads.
fn failing(s: &State<'_>, i: &Inst, bytes: usize) -> u64 {
    let mut made: HashMap<u64, u64> = HashMap::new();
    let mut failing = 0;
    for lane in lanes(s.mask) {
        let address = s.address(i.args[0], lane);
        let (object, offset) = s.memory.parts(address);
        let found = made.get(&address).copied().or_else(|| {
            let found = s.memory.peek(object, offset, bytes)?;
            Some(found.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
        });
        let of = |slot: u32| s.warp.rows.bits(slot, lane, bytes as u32);
        if found.is_some_and(|found| found != of(i.args[2])) {
            failing |= 1 << lane;
        } else {
            made.insert(address, of(i.args[1]));
        }
    }
    failing
}

fn is_compare_exchange(s: &State<'_>, i: &Inst) -> bool {
    let op = s.kernel.insts[i.origin].op;
    matches!(op, Op::Atomic(ir::op::Atomic { op: AtomicOp::CompareExchange, .. }))
}

/// Checks an access and performs it for the lanes for which it is possible; the other lanes read zeros.
fn watched(watch: &mut Watch, s: &mut State<'_>, i: &Inst, touch: Touch, effect: Option<Effect>) -> bool {
    let mask = s.mask;
    uses::address(watch, s, i, touch.pointer, touch.operand);
    let failing = if is_compare_exchange(s, i) { failing(s, i, touch.bytes) } else { 0 };
    let mut good = 0;
    for (lanes, writes) in [(mask & !failing, touch.writes), (failing, false)] {
        if lanes != 0 {
            s.mask = lanes;
            good |= watch.touch(s, i, &Touch { writes, ..touch });
        }
    }
    s.mask = mask;
    if let Some(effect) = effect.filter(|effect| watch.order.heeds(*effect)) {
        for lane in lanes(good) {
            let writes = effect.writes && failing >> lane & 1 == 0;
            let effect = Effect { writes, ..effect };
            watch.order.atomic(item_number(s, lane), s.address(touch.pointer, lane), effect);
        }
    }
    s.mask = good;
    if good != 0 && touch.writes && !touch.atomic {
        watch.taint_store(s, i, &touch);
    }
    let goes_on = good == 0 || (i.plain)(s, i);
    s.mask = mask;
    if touch.reads && i.out != NONE {
        if good != mask {
            blank(s, i, mask & !good);
        }
        watch.taint_load(s, i, &touch, good);
    }
    goes_on
}

/// Writes zeros to lanes that could not read.
fn blank(s: &mut State<'_>, i: &Inst, mask: u64) {
    let zeros = vec![0; s.warp.rows.words(i.out).len()];
    if i.width == 1 {
        s.warp.rows.words_mut(i.out).copy_from_slice(&zeros);
    } else {
        restore(s.warp.rows.words_mut(i.out), &zeros, usize::from(i.components), mask);
    }
}

impl Watch {
    /// Checks an access of `bytes` bytes through an operand.
    pub(crate) fn touch_bytes(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        operand: usize,
        bytes: usize,
        write: bool,
    ) -> u64 {
        self.touch(s, i, &Touch::bytes(i, operand, bytes, write))
    }

    /// Checks an access of the active lanes. Returns the lanes for which it is possible.
    pub(crate) fn touch(&mut self, s: &State<'_>, i: &Inst, touch: &Touch) -> u64 {
        let (mut good, inside) = self.possible(s, i, touch);
        if !self.copies.is_empty() {
            for lane in lanes(good) {
                let address = s.address(touch.pointer, lane);
                self.on_its_way(s, i, lane, address, touch.bytes as u64, touch.writes);
            }
        }
        if inside {
            let object = s.memory.parts(extremes(s, touch.pointer).0).0;
            good &= self.permitted(s, i, touch, object, good);
            self.races(s, i, touch, object, good);
        } else {
            let mut left = good;
            while left != 0 {
                let object = s.memory.parts(s.address(touch.pointer, left.trailing_zeros() as usize)).0;
                let same = lanes(left)
                    .filter(|lane| s.memory.parts(s.address(touch.pointer, *lane)).0 == object)
                    .fold(0, |mask, lane| mask | 1 << lane);
                left &= !same;
                good &= !same | self.permitted(s, i, touch, object, same);
                self.races(s, i, touch, object, same & good);
            }
        }
        good
    }
}

/// A watched fence.
pub(crate) fn fence(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    if let Op::Fence { semantics, .. } = s.kernel.insts[i.origin].op {
        let items = lanes(s.mask).map(|lane| item_number(s, lane));
        watch.order.fence(items, semantics.order.acquires(), semantics.order.releases());
    }
}

/// Whether any index, in any lane, may be outside an inner array.
fn leaves(s: &State<'_>, i: &Inst, count: u64) -> bool {
    let index = s.warp.rows.words(i.args[1]);
    if s.kernel.ty(s.kernel.insts[i.origin].operands[1]).bytes() == 4 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        numbers::<u32>(index).iter().any(|index| *index >= count)
    } else {
        index.iter().any(|index| *index >= count)
    }
}

/// Watched address arithmetic over an inner array.
pub(crate) fn address(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = (i.plain)(s, i);
    let data = &s.kernel.insts[i.origin];
    if let Op::Address(ir::op::Address { count, .. }) = data.op {
        let base = if watch.left.is_empty() {
            None
        } else {
            watch.left.get(&(s.warp.first_item, data.operands[0])).copied()
        };
        let mut left = base.unwrap_or(LeftArray { lanes: 0, index: 0, count: 0 });
        if let Some(count) = count
            && leaves(s, i, count)
        {
            let bytes = s.kernel.ty(data.operands[1]).bytes();
            for lane in lanes(if i.width == 1 { 1 } else { s.mask }) {
                let bits = s.warp.rows.bits(i.args[1], lane, bytes);
                let index =
                    if bytes == 4 { i64::from((bits as u32).cast_signed()) } else { bits.cast_signed() };
                if !(0..count.cast_signed()).contains(&index) {
                    if left.lanes == 0 {
                        left = LeftArray { lanes: 0, index, count };
                    }
                    left.lanes |= if i.width == 1 { u64::MAX } else { 1 << lane };
                }
            }
        }
        if let Some(result) = data.result {
            if left.lanes & s.mask != 0 {
                watch.left.insert((s.warp.first_item, result), left);
            } else if !watch.left.is_empty() {
                watch.left.remove(&(s.warp.first_item, result));
            }
        }
    }
    flow::pure_after(watch, s, i);
    goes_on
}
