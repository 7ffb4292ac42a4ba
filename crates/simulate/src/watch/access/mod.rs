//! Memory accesses: bounds, alignment, permission, races.

use std::collections::HashMap;

use tripipe_ir as ir;
use tripipe_ir::diagnostic::{AccessedMemory, Rule};
use tripipe_ir::op::{AtomicOp, Order};
use tripipe_ir::{Op, Space};
use tripipe_launch::Access;

use super::findings::{Occurrence, work_item};
use super::order::Effect;
use super::{Watch, rules};
use crate::execute::code::{Detail, Inst};
use crate::execute::memory::{Home, parts};
use crate::execute::rows::lanes;
use crate::execute::state::State;

/// An access by all active lanes of an instruction.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Touch {
    /// The register of the addresses.
    pub(crate) pointer: u32,
    /// The index of the pointer operand.
    pub(crate) operand: usize,
    /// Bytes accessed per lane.
    pub(crate) bytes: usize,
    /// Required alignment.
    pub(crate) align: u32,
    /// Whether it is a `vloadN` or `vstoreN`.
    pub(crate) vector_builtin: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
    /// Whether it is a load that the source does not contain: see [`super::partial`].
    pub(crate) puts_back: bool,
}

fn touch(i: &Inst, write: bool) -> Touch {
    let (bytes, align, vector_builtin) = match i.detail {
        Detail::Memory { scalar, align, vector_builtin } => {
            (scalar.bytes() as usize * usize::from(i.components), align, vector_builtin)
        }
        _ => (1, 1, false),
    };
    Touch {
        pointer: i.args[0],
        operand: 0,
        bytes,
        align,
        vector_builtin,
        reads: !write,
        writes: write,
        atomic: false,
        puts_back: false,
    }
}

/// Lanes whose pointer has left an inner array, with the index and the array length for the first of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) lanes: u64,
    pub(crate) index: i64,
    pub(crate) count: u64,
}

/// A watched load.
pub(super) fn load(s: &mut State<'_>, i: &Inst) -> bool {
    let puts_back = s.watch.as_ref().is_some_and(|watch| watch.partial.is_load(i.origin));
    watched(s, i, Touch { puts_back, ..touch(i, false) }, None)
}

/// A watched load of a value that a compare-exchange checks again: for races it counts as atomic.
pub(super) fn guess(s: &mut State<'_>, i: &Inst) -> bool {
    watched(s, i, Touch { atomic: true, ..touch(i, false) }, None)
}

/// A watched store.
pub(super) fn store(s: &mut State<'_>, i: &Inst) -> bool {
    watched(s, i, touch(i, true), None)
}

/// A watched atomic.
pub(super) fn atomic(s: &mut State<'_>, i: &Inst) -> bool {
    let data = &s.kernel.insts[i.origin];
    let Op::Atomic(atomic) = data.op else { return (i.plain)(s, i) };
    let ty = data.result.or_else(|| data.operands.get(1).copied()).map(|value| s.kernel.ty(value));
    let bytes = match atomic.op {
        AtomicOp::FlagTestAndSet | AtomicOp::FlagClear => 4,
        _ => ty.map_or(4, ir::Type::bytes),
    };
    let reads = atomic.op != AtomicOp::Store && atomic.op != AtomicOp::FlagClear;
    let touch = Touch {
        pointer: i.args[0],
        operand: 0,
        bytes: bytes as usize,
        align: bytes,
        vector_builtin: false,
        reads,
        writes: atomic.op != AtomicOp::Load,
        atomic: true,
        puts_back: false,
    };
    let order = atomic.semantics.order;
    let acquires = matches!(order, Order::Acquire | Order::AcquireRelease | Order::SeqCst);
    let releases = matches!(order, Order::Release | Order::AcquireRelease | Order::SeqCst);
    let effect = Effect { reads: touch.reads, writes: touch.writes, acquires, releases };
    watched(s, i, touch, Some(effect))
}

/// The lanes whose compare-exchange finds an unexpected value and therefore only reads.
fn failing(s: &State<'_>, i: &Inst, bytes: usize) -> u64 {
    let mut made: HashMap<u64, u64> = HashMap::new();
    let mut failing = 0;
    for lane in lanes(s.mask) {
        let address = address_of(s, i.args[0], lane);
        let (object, offset) = parts(address);
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
fn watched(s: &mut State<'_>, i: &Inst, touch: Touch, effect: Option<Effect>) -> bool {
    let Some(mut watch) = s.watch.take() else { return (i.plain)(s, i) };
    let mask = s.mask;
    super::taint::address(&mut watch, s, i, touch.pointer, touch.operand);
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
            watch.order.atomic(item_number(s, lane), address_of(s, touch.pointer, lane), effect);
        }
    }
    s.mask = good;
    let goes_on = if good == 0 {
        true
    } else if touch.writes && !touch.atomic {
        watch.taint_store(s, i, &touch);
        (i.plain)(s, i)
    } else {
        (i.plain)(s, i)
    };
    s.mask = mask;
    if touch.reads && i.out != crate::execute::code::NONE {
        if good != mask {
            blank(s, i, mask & !good);
        }
        watch.taint_load(s, i, &touch, good);
    }
    s.watch = Some(watch);
    goes_on
}

/// The number of a lane's work-item in the launch, counted from 1.
fn item_number(s: &State<'_>, lane: usize) -> u32 {
    let items = s.group.enqueued_local.iter().product::<u64>();
    (s.group.linear() * items + u64::from(s.warp.first_item) + lane as u64 + 1) as u32
}

/// Writes zeros to lanes that could not read.
fn blank(s: &mut State<'_>, i: &Inst, mask: u64) {
    let zeros = vec![0; s.warp.rows.words(i.out).len()];
    if i.width == 1 {
        s.warp.rows.words_mut(i.out).copy_from_slice(&zeros);
    } else {
        crate::execute::state::restore(s.warp.rows.words_mut(i.out), &zeros, usize::from(i.components), mask);
    }
}

/// The address of a lane.
pub(crate) fn address_of(s: &State<'_>, pointer: u32, lane: usize) -> u64 {
    let addresses = s.warp.rows.words(pointer);
    addresses[if addresses.len() == 1 { 0 } else { lane }]
}

/// The lowest and highest address of the active lanes, and the OR of all addresses.
pub(super) fn extremes(s: &State<'_>, pointer: u32) -> (u64, u64, u64) {
    let addresses = s.warp.rows.words(pointer);
    if addresses.len() == 1 {
        return (addresses[0], addresses[0], addresses[0]);
    }
    if s.mask == u64::MAX {
        return s.arch.dispatch(Extremes(addresses));
    }
    lanes(s.mask).map(|lane| addresses[lane]).fold((u64::MAX, 0, 0), |(low, high, bits), address| {
        (low.min(address), high.max(address), bits | address)
    })
}

struct Extremes<'a>(&'a [u64]);

impl pulp::WithSimd for Extremes<'_> {
    type Output = (u64, u64, u64);

    #[allow(clippy::inline_always, reason = "else it is compiled for the baseline")]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> (u64, u64, u64) {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for address in self.0 {
            low = low.min(*address);
            high = high.max(*address);
            bits |= *address;
        }
        (low, high, bits)
    }
}

impl Watch {
    /// Checks an access of `bytes` bytes through an operand.
    pub(super) fn touch_bytes(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        operand: usize,
        bytes: usize,
        write: bool,
    ) -> u64 {
        let touch = Touch {
            pointer: i.arg(operand),
            operand,
            bytes,
            align: 1,
            vector_builtin: false,
            reads: !write,
            writes: write,
            atomic: false,
            puts_back: false,
        };
        self.touch(s, i, &touch)
    }

    /// Checks the addresses of the active lanes. Returns the lanes for which the access is possible, and whether all
    /// are within one object.
    pub(super) fn possible(&mut self, s: &State<'_>, i: &Inst, touch: &Touch) -> (u64, bool) {
        let (low, high, bits) = extremes(s, touch.pointer);
        let (object, offset) = parts(low);
        let near = parts(high).0 == object;
        let inside = near
            && s.memory.object(object).is_some_and(|info| {
                let end = parts(high).1.checked_add(touch.bytes as i64);
                info.home != Home::Null
                    && offset >= 0
                    && end.is_some_and(|end| end.cast_unsigned() <= info.bytes)
            });
        let left = self.left(s, i, touch);
        let aligned = bits & u64::from(touch.align - 1) == 0;
        let dead = Self::is_dead(s, low);
        let settled = inside && aligned && left.is_none() && !dead;
        let good = if settled { s.mask } else { self.one_by_one(s, i, touch, left) };
        (good, inside)
    }

    /// Checks an access of the active lanes. Returns the lanes for which it is possible.
    pub(super) fn touch(&mut self, s: &State<'_>, i: &Inst, touch: &Touch) -> u64 {
        let (mut good, inside) = self.possible(s, i, touch);
        if !self.copies.is_empty() {
            for lane in lanes(good) {
                let address = address_of(s, touch.pointer, lane);
                self.on_its_way(s, i, lane, address, touch.bytes as u64, touch.writes);
            }
        }
        if inside {
            let object = parts(extremes(s, touch.pointer).0).0;
            good &= self.permitted(s, i, touch, object, good);
            self.races(s, i, touch, object, good);
        } else {
            let mut left = good;
            while left != 0 {
                let object = parts(address_of(s, touch.pointer, left.trailing_zeros() as usize)).0;
                let same = lanes(left)
                    .filter(|lane| parts(address_of(s, touch.pointer, *lane)).0 == object)
                    .fold(0, |mask, lane| mask | 1 << lane);
                left &= !same;
                good &= !same | self.permitted(s, i, touch, object, same);
                self.races(s, i, touch, object, same & good);
            }
        }
        good
    }

    /// The lanes whose pointer has left an inner array.
    fn left(&self, s: &State<'_>, i: &Inst, touch: &Touch) -> Option<Left> {
        if self.left.is_empty() {
            return None;
        }
        let pointer = s.kernel.insts[i.origin].operands.get(touch.operand)?;
        self.left.get(&(s.warp.first_item, *pointer)).copied().filter(|left| left.lanes & s.mask != 0)
    }

    fn one_by_one(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, left: Option<Left>) -> u64 {
        let mut good = s.mask;
        let what = if touch.writes { "writes" } else { "reads" };
        for lane in lanes(s.mask) {
            let address = address_of(s, touch.pointer, lane);
            let (object, offset) = parts(address);
            let item = work_item(&s.group, u64::from(s.warp.first_item) + lane as u64);
            let bytes = touch.bytes as u64;
            let info = s.memory.object(object).filter(|info| info.home != Home::Null);
            let Some(info) = info else {
                good &= !(1 << lane);
                let null = object == 0 || (offset.unsigned_abs() < 1 << 20 && object >= 0xffff);
                if null {
                    self.note(&rules::NULL_POINTER, i, 1, || Occurrence {
                        message: format!("{what} {bytes} bytes through a null pointer"),
                        cure: "Pass a buffer, or test the pointer before it is used.".into(),
                        work_item: Some(item),
                        ..Occurrence::default()
                    });
                } else {
                    self.note(&rules::DANGLING_POINTER, i, 1, || Occurrence {
                        message: format!("{what} {bytes} bytes at {address:#x}, where no object is"),
                        cure: "Make pointers from the address of an object, and keep them in the launch that made them.".into(),
                        work_item: Some(item),
                        ..Occurrence::default()
                    });
                }
                continue;
            };
            let memory = AccessedMemory {
                object: info.name.to_string(),
                space: info.space,
                object_bytes: info.bytes,
                offset,
                bytes,
            };
            let end = offset.checked_add(bytes.cast_signed());
            if offset < 0 || end.is_none_or(|end| end.cast_unsigned() > info.bytes) {
                good &= !(1 << lane);
                let rule: &'static Rule =
                    if touch.writes { &rules::OUT_OF_BOUNDS_WRITE } else { &rules::OUT_OF_BOUNDS_READ };
                let size = info.bytes;
                self.note(rule, i, 1, || Occurrence {
                    message: format!(
                        "{what} {bytes} bytes at offset {offset} of `{}`, which has {size} bytes",
                        memory.object
                    ),
                    cure: if offset < 0 {
                        "Keep the index at 0 or above: clamp it, or leave work-items at the edge out.".into()
                    } else {
                        "Compare the index with the size before the access, or make the object larger."
                            .to_owned()
                    },
                    work_item: Some(item),
                    memory: Some(memory),
                    ..Occurrence::default()
                });
                continue;
            }
            let dead = match info.home {
                Home::Private(index) => s.warp.private_dead[index as usize] >> lane & 1 == 1,
                _ => false,
            };
            if dead {
                self.note(&rules::DANGLING_POINTER, i, 1, || Occurrence {
                    message: format!(
                        "{what} {bytes} bytes of `{}`, whose block has come to its end",
                        memory.object
                    ),
                    cure: "Declare the variable where it lives as long as pointers to it.".into(),
                    work_item: Some(item),
                    memory: Some(memory),
                    ..Occurrence::default()
                });
            } else if let Some(left) = left.filter(|left| left.lanes >> lane & 1 == 1) {
                self.note(&rules::INNER_ARRAY_BOUNDS, i, 1, || Occurrence {
                    message: format!(
                        "{what} `{}` through index {} of an inner array of {} elements",
                        memory.object, left.index, left.count
                    ),
                    cure:
                        "Keep the index within the inner array: what lies behind it belongs to its neighbour."
                            .into(),
                    work_item: Some(item),
                    memory: Some(memory),
                    ..Occurrence::default()
                });
            } else if !offset.cast_unsigned().is_multiple_of(u64::from(touch.align)) {
                let align = touch.align;
                let (rule, cure): (&'static Rule, &str) = if touch.vector_builtin {
                    (
                        &rules::MISALIGNED_VECTOR,
                        "vloadN and vstoreN need an address that is a multiple of the element's size.",
                    )
                } else {
                    (
                        &rules::MISALIGNED_ACCESS,
                        "Use vloadN or vstoreN, which need the element's alignment only, or align the data.",
                    )
                };
                self.note(rule, i, 1, || Occurrence {
                    message: format!(
                        "{what} {bytes} bytes at offset {offset} of `{}`, which is not a multiple of {align}",
                        memory.object
                    ),
                    cure: cure.into(),
                    work_item: Some(item),
                    memory: Some(memory),
                    ..Occurrence::default()
                });
            }
        }
        good
    }

    /// Whether an address is in a variable whose lifetime has ended, for any lane.
    fn is_dead(s: &State<'_>, address: u64) -> bool {
        match s.memory.object(parts(address).0).map(|info| info.home) {
            Some(Home::Private(index)) => {
                s.warp.private_dead.get(index as usize).is_some_and(|dead| dead & s.mask != 0)
            }
            _ => false,
        }
    }

    /// Checks the permissions of an object. Returns the lanes for which the access is possible.
    pub(super) fn permitted(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        touch: &Touch,
        object: u32,
        mask: u64,
    ) -> u64 {
        let Some(watched) = self.objects.get(object as usize) else { return mask };
        let Some(info) = s.memory.object(object) else { return mask };
        let forbidden = match (watched.access, touch.writes) {
            (Access::Read, true) => Some("it was made to be read only (CL_MEM_READ_ONLY)"),
            _ if touch.writes && watched.read_only => Some("the kernel declares it const"),
            _ if touch.writes && info.space == Space::Constant && !matches!(info.home, Home::Local(_)) => {
                Some("it lies in constant memory")
            }
            _ => None,
        };
        let lane = mask.trailing_zeros() as usize;
        if mask == 0 {
            return 0;
        }
        let occurrence = |message: String, cure: &str| {
            let offset = parts(address_of(s, touch.pointer, lane)).1;
            Occurrence {
                message,
                cure: cure.into(),
                work_item: Some(work_item(&s.group, u64::from(s.warp.first_item) + lane as u64)),
                memory: Some(AccessedMemory {
                    object: info.name.to_string(),
                    space: info.space,
                    object_bytes: info.bytes,
                    offset,
                    bytes: touch.bytes as u64,
                }),
                related: Vec::new(),
            }
        };
        let count = u64::from(mask.count_ones());
        if let Some(why) = forbidden {
            self.note(&rules::READ_ONLY_WRITE, i, count, || {
                occurrence(
                    format!("writes `{}`, but {why}", info.name),
                    "Make the buffer CL_MEM_READ_WRITE and the pointer not const, or write somewhere else.",
                )
            });
            return if info.space == Space::Constant { 0 } else { mask };
        }
        if touch.reads && !touch.puts_back && watched.access == Access::Write {
            self.note(&rules::WRITE_ONLY_READ, i, count, || {
                occurrence(
                    format!("reads `{}`, which was made to be written only (CL_MEM_WRITE_ONLY)", info.name),
                    "Make the buffer CL_MEM_READ_WRITE.",
                )
            });
        }
        mask
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

/// A watched fence.
pub(super) fn fence(s: &mut State<'_>, i: &Inst) -> bool {
    if let Op::Fence { semantics, .. } = s.kernel.insts[i.origin].op {
        let acquires = matches!(semantics.order, Order::Acquire | Order::AcquireRelease | Order::SeqCst);
        let releases = matches!(semantics.order, Order::Release | Order::AcquireRelease | Order::SeqCst);
        let items: Vec<u32> = lanes(s.mask).map(|lane| item_number(s, lane)).collect();
        if let Some(watch) = &mut s.watch {
            watch.order.fence(items.into_iter(), acquires, releases);
        }
    }
    (i.plain)(s, i)
}

/// Whether any index, in any lane, may be outside an inner array.
fn leaves(s: &State<'_>, i: &Inst, count: u64) -> bool {
    let index = s.warp.rows.words(i.args[1]);
    if s.kernel.ty(s.kernel.insts[i.origin].operands[1]).bytes() == 4 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        crate::execute::rows::numbers::<u32>(index).iter().any(|index| *index >= count)
    } else {
        index.iter().any(|index| *index >= count)
    }
}

/// Watched address arithmetic over an inner array.
pub(super) fn address(s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = (i.plain)(s, i);
    let Some(mut watch) = s.watch.take() else { return goes_on };
    let data = &s.kernel.insts[i.origin];
    if let Op::Address(ir::op::Address { count, .. }) = data.op {
        let base = if watch.left.is_empty() {
            None
        } else {
            watch.left.get(&(s.warp.first_item, data.operands[0])).copied()
        };
        let mut left = base.unwrap_or(Left { lanes: 0, index: 0, count: 0 });
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
                        left = Left { lanes: 0, index, count };
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
    s.watch = Some(watch);
    super::taint::pure_after(s, i);
    goes_on
}
