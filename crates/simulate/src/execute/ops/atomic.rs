//! Atomic operations, executed lane by lane in order.
//!
//! A lane's operation completes before the next lane's starts, accesses stay in program order, and work-groups whose
//! atomics can interact run one after another. This order is valid for every memory order that the source may
//! request.

use bytemuck::Pod;
use half::f16;
use tripipe_ir::op::{Atomic, AtomicOp};
use tripipe_ir::{Op, Scalar};

use super::memory::{is_private, outside};
use super::pattern::stretch;
use crate::execute::code::{Inst, NONE, Run};
use crate::execute::rows::{Row, WIDTH, lanes, numbers, numbers_mut};
use crate::execute::state::State;
use crate::math::{Float, basic};

/// The function that performs an operation on numbers of this type; `None` if there is none.
pub(super) fn select(op: AtomicOp, scalar: Scalar) -> Option<Run> {
    macro_rules! bits {
        ($change:expr) => {
            match scalar.bytes() {
                1 => |s, i| update::<u8>(s, i, $change),
                2 => |s, i| update::<u16>(s, i, $change),
                4 => |s, i| update::<u32>(s, i, $change),
                _ => |s, i| update::<u64>(s, i, $change),
            }
        };
    }
    macro_rules! signed {
        ($change:expr) => {
            match scalar.bytes() {
                1 => |s, i| update::<i8>(s, i, $change),
                2 => |s, i| update::<i16>(s, i, $change),
                4 => |s, i| update::<i32>(s, i, $change),
                _ => |s, i| update::<i64>(s, i, $change),
            }
        };
    }
    macro_rules! float {
        ($change:path) => {
            match scalar {
                Scalar::F16 => |s, i| update::<f16>(s, i, |old, a, _| $change(old, a)),
                Scalar::F32 => |s, i| update::<f32>(s, i, |old, a, _| $change(old, a)),
                Scalar::F64 => |s, i| update::<f64>(s, i, |old, a, _| $change(old, a)),
                _ => return None,
            }
        };
    }
    Some(match op {
        AtomicOp::Load => bits!(|old, _, _| old),
        AtomicOp::Store | AtomicOp::Exchange => bits!(|_, a, _| a),
        AtomicOp::CompareExchange => bits!(|old, a, expected| if old == expected { a } else { old }),
        AtomicOp::Increment => bits!(|old, _, _| old.wrapping_add(1)),
        AtomicOp::Decrement => bits!(|old, _, _| old.wrapping_sub(1)),
        AtomicOp::Add => bits!(|old, a, _| old.wrapping_add(a)),
        AtomicOp::Sub => bits!(|old, a, _| old.wrapping_sub(a)),
        AtomicOp::SMin => signed!(|old, a, _| old.min(a)),
        AtomicOp::UMin => bits!(|old, a, _| old.min(a)),
        AtomicOp::SMax => signed!(|old, a, _| old.max(a)),
        AtomicOp::UMax => bits!(|old, a, _| old.max(a)),
        AtomicOp::And => bits!(|old, a, _| old & a),
        AtomicOp::Or => bits!(|old, a, _| old | a),
        AtomicOp::Xor => bits!(|old, a, _| old ^ a),
        AtomicOp::FAdd => float!(add),
        AtomicOp::FMin => float!(basic::fmin),
        AtomicOp::FMax => float!(basic::fmax),
        AtomicOp::FlagTestAndSet => test_and_set,
        AtomicOp::FlagClear => |s, i| update::<u32>(s, i, |_, _, _| 0),
    })
}

fn add<T: Float>(a: T, b: T) -> T {
    T::narrow(a.widen() + b.widen())
}

/// Replaces the number by the result of `change` for the old number and the operands; the instruction's result is the
/// old number.
fn update<T: Pod>(s: &mut State<'_>, i: &Inst, change: impl Fn(T, T, T) -> T) -> bool {
    if update_near(s, i, &change) {
        return true;
    }
    for lane in lanes(s.mask) {
        let operand = |slot: u32| {
            if slot == NONE { T::zeroed() } else { s.warp.rows.numbers::<T>(slot)[lane] }
        };
        let (a, b) = (operand(i.args[1]), operand(i.args[2]));
        let Some(old) = swap(s, i, lane, |old| change(old, a, b)) else { return false };
        if i.out != NONE {
            s.warp.rows.numbers_mut::<T>(i.out)[lane] = old;
        }
    }
    true
}

/// Fast path for aligned addresses in one non-private object. Returns `false` without changes when it does not apply.
fn update_near<T: Pod>(s: &mut State<'_>, i: &Inst, change: impl Fn(T, T, T) -> T) -> bool {
    let size = size_of::<T>();
    // One look-up for all lanes. They still take effect in order, so that lanes with one address see each other.
    let Some((lowest, span)) = stretch(s, i) else { return false };
    let addresses = s.warp.rows.words(i.args[0]);
    let bits = if s.mask == u64::MAX {
        addresses.iter().fold(0, |bits, address| bits | address)
    } else {
        lanes(s.mask).fold(0, |bits, lane| bits | addresses[lane])
    };
    // The slow path has the message for an unaligned address.
    if bits & (size as u64 - 1) != 0 {
        return false;
    }
    let mut out = if i.out == NONE { Row::default() } else { s.warp.rows.take(i.out) };
    let rows = &s.warp.rows;
    let (object, offset) = s.memory.parts(lowest);
    let memory = s.memory.write(object, offset, span + size);
    let done = memory.is_some();
    if let Some(memory) = memory {
        // An operation without an operand reads zeros.
        let zeros = [0; WIDTH];
        let operand = |slot: u32| numbers::<T>(if slot == NONE { &zeros } else { rows.words(slot) });
        let (a, b) = (operand(i.args[1]), operand(i.args[2]));
        let olds = numbers_mut::<T>(&mut out);
        let addresses = rows.words(i.args[0]);
        let mut changes = false;
        for lane in lanes(s.mask) {
            let at = (addresses[lane] - lowest) as usize;
            let bytes = &mut memory[at..at + size];
            let old = bytemuck::pod_read_unaligned(bytes);
            let new = change(old, a[lane], b[lane]);
            // Only real changes count, so that a group that waits forever is noticed although it keeps writing.
            changes |= *bytes != *bytemuck::bytes_of(&new);
            bytes.copy_from_slice(bytemuck::bytes_of(&new));
            // Empty if the instruction has no result.
            if let Some(to) = olds.get_mut(lane) {
                *to = old;
            }
        }
        s.changes += u64::from(changes);
    }
    if i.out != NONE {
        s.warp.rows.put(i.out, out);
    }
    done
}

fn test_and_set(s: &mut State<'_>, i: &Inst) -> bool {
    for lane in lanes(s.mask) {
        let Some(old) = swap(s, i, lane, |_: u32| 1) else { return false };
        s.warp.rows.numbers_mut::<u8>(i.out)[lane] = u8::from(old != 0);
    }
    true
}

/// Replaces the number that a lane points to. Returns the old number, or `None` when the access is invalid.
fn swap<T: Pod>(s: &mut State<'_>, i: &Inst, lane: usize, new: impl FnOnce(T) -> T) -> Option<T> {
    let size = size_of::<T>();
    let address = s.warp.rows.words(i.args[0])[lane];
    let (object, offset) = s.memory.parts(address);
    if offset.rem_euclid(size as i64) != 0
        && let Some(info) = s.memory.object(object)
    {
        let message = format!(
            "makes an atomic access of {size} bytes at offset {offset} of `{}`, which is not a multiple of \
            {size}",
            info.name
        );
        s.fault(i, lane, message);
        return None;
    }
    if let Some(index) = is_private(s, address) {
        let private = &mut s.warp.privates[index as usize];
        if let Some(offset) = private.inside(offset, size) {
            let old = private.read::<T>(offset, lane);
            private.write(offset, lane, new(old));
            return Some(old);
        }
    } else if let Some(bytes) = s.memory.write(object, offset, size) {
        let old = bytemuck::pod_read_unaligned(bytes);
        let new = new(old);
        let changes = *bytes != *bytemuck::bytes_of(&new);
        bytes.copy_from_slice(bytemuck::bytes_of(&new));
        s.changes += u64::from(changes);
        return Some(old);
    }
    let write = !matches!(s.kernel.insts[i.origin].op, Op::Atomic(Atomic { op: AtomicOp::Load, .. }));
    outside(s, i, lane, address, size, write);
    None
}
