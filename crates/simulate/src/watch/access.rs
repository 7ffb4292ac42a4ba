//! Accesses to memory: bounds, alignment, permission, races.

use tripipe_ir as ir;
use tripipe_ir::diagnostic::{AccessedMemory, Rule};
use tripipe_ir::{Op, Space};
use tripipe_launch::Access;

use super::cells::{Conflict, Mark, Race, inst};
use super::findings::{Occurrence, work_item};
use super::{Watch, rules};
use crate::execute::code::{Detail, Inst};
use crate::execute::memory::{Home, parts};
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::State;

/// An access of all lanes of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// The register of the addresses.
    pub(crate) pointer: u32,
    /// The operand that is the pointer.
    pub(crate) operand: usize,
    /// Bytes each lane touches.
    pub(crate) bytes: usize,
    /// Alignment the access needs.
    pub(crate) align: u32,
    /// Whether it is a `vloadN` or `vstoreN`.
    pub(crate) vector_builtin: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
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
    }
}

/// A load, watched.
pub(super) fn load(s: &mut State<'_>, i: &Inst) -> bool {
    watched(s, i, touch(i, false), |_, _| {})
}

/// A store, watched.
pub(super) fn store(s: &mut State<'_>, i: &Inst) -> bool {
    watched(s, i, touch(i, true), |_, _| {})
}

/// An atomic, watched.
pub(super) fn atomic(s: &mut State<'_>, i: &Inst) -> bool {
    let data = &s.kernel.insts[i.origin];
    let Op::Atomic(atomic) = data.op else { return (i.plain)(s, i) };
    use ir::op::{AtomicOp, Order};
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
    };
    let order = atomic.semantics.order;
    let acquires = matches!(order, Order::Acquire | Order::AcquireRelease | Order::SeqCst);
    let releases = matches!(order, Order::Release | Order::AcquireRelease | Order::SeqCst);
    watched(s, i, touch, move |watch, address| {
        watch.order.atomic(address, touch.reads, touch.writes, acquires, releases);
    })
}

/// Checks an access and makes it for the lanes it is possible for; the others read zeros.
fn watched(s: &mut State<'_>, i: &Inst, touch: Touch, each_global: impl Fn(&mut Watch, u64)) -> bool {
    let Some(mut watch) = s.watch.take() else { return (i.plain)(s, i) };
    let mask = s.mask;
    super::taint::address(&mut watch, s, i, touch.pointer, touch.operand);
    let good = watch.touch(s, i, &touch);
    if touch.atomic {
        for lane in lanes(good) {
            let address = address_of(s, touch.pointer, lane);
            if s.memory.object(parts(address).0).is_some_and(|object| matches!(object.home, Home::Global(_)))
            {
                each_global(&mut watch, address);
            }
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

/// Zeros for lanes that could not read.
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

/// Lowest and highest address of the lanes that run, and all their bits together.
fn extremes(s: &State<'_>, pointer: u32) -> (u64, u64, u64) {
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
    /// Checks an access of the lanes that run; the lanes for which it is possible.
    pub(super) fn touch(&mut self, s: &State<'_>, i: &Inst, touch: &Touch) -> u64 {
        let (low, high, bits) = extremes(s, touch.pointer);
        let (object, offset) = parts(low);
        let near = parts(high).0 == object;
        let mut good = s.mask;
        let inside = near
            && s.memory.object(object).is_some_and(|info| {
                let end = parts(high).1.checked_add(touch.bytes as i64);
                info.home != Home::Null
                    && offset >= 0
                    && end.is_some_and(|end| end.cast_unsigned() <= info.bytes)
            });
        let past = self.one_past_lanes(s, i, touch) & s.mask;
        let aligned = bits & u64::from(touch.align - 1) == 0;
        if !(inside && aligned && past == 0) {
            good = self.one_by_one(s, i, touch, past);
        }
        if inside {
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

    /// Lanes whose pointer is one past the end of an inner array.
    fn one_past_lanes(&self, s: &State<'_>, i: &Inst, touch: &Touch) -> u64 {
        if self.one_past.is_empty() {
            return 0;
        }
        let pointer = s.kernel.insts[i.origin].operands.get(touch.operand);
        pointer.and_then(|pointer| self.one_past.get(&(s.warp.first_item, *pointer))).copied().unwrap_or(0)
    }

    fn one_by_one(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, past: u64) -> u64 {
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
            if past >> lane & 1 == 1 {
                self.note(&rules::INNER_ARRAY_BOUNDS, i, 1, || Occurrence {
                    message: format!(
                        "{what} one element past the end of an inner array of `{}`",
                        memory.object
                    ),
                    cure: "Keep the index below the inner array's length.".into(),
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

    /// Checks what may be done with the object; the lanes for which it can be.
    fn permitted(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, object: u32, mask: u64) -> u64 {
        let Some(watched) = self.objects.get(object as usize) else { return mask };
        let Some(info) = s.memory.object(object) else { return mask };
        let forbidden = match (watched.access, touch.writes) {
            (Access::Read, true) => Some("it was made to be read only (CL_MEM_READ_ONLY)"),
            _ if touch.writes && watched.read_only => Some("the kernel declares it const"),
            _ if touch.writes && info.space == Space::Constant => Some("it lies in constant memory"),
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
        if touch.reads && watched.access == Access::Write {
            self.note(&rules::WRITE_ONLY_READ, i, count, || {
                occurrence(
                    format!("reads `{}`, which was made to be written only (CL_MEM_WRITE_ONLY)", info.name),
                    "Make the buffer CL_MEM_READ_WRITE.",
                )
            });
        }
        mask
    }

    /// Looks for accesses of other work-items that nothing orders with this one.
    fn races(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, object: u32, mask: u64) {
        let Some(watched) = self.objects.get_mut(object as usize) else { return };
        let Some(cells) = &mut watched.cells else { return };
        let Some(info) = s.memory.object(object) else { return };
        let local = matches!(info.home, Home::Local(_));
        let group_items = s.group.enqueued_local.iter().product::<u64>() as u32;
        let first = s.group.linear() * u64::from(group_items) + u64::from(s.warp.first_item) + 1;
        if first + WIDTH as u64 > u64::from(u32::MAX) {
            return;
        }
        let mut mark = Mark {
            item: first as u32,
            fences: if local { self.epochs.local } else { self.epochs.global },
            barriers: self.epochs.barriers,
            inst: i.origin.as_u32(),
            atomic: touch.atomic,
            several: false,
            groups: false,
        };
        let mut found: Vec<(usize, Race)> = Vec::new();
        for lane in lanes(mask) {
            let offset = parts(address_of(s, touch.pointer, lane)).1 as usize;
            mark.item = first as u32 + lane as u32;
            for index in offset / cells.grain..=(offset + touch.bytes - 1) / cells.grain {
                let cell = cells.at(index);
                let race = if touch.writes {
                    cell.write(mark, group_items, &self.order)
                } else {
                    cell.read(mark, group_items, &self.order)
                };
                if let Some(race) = race {
                    found.push((lane, race));
                    break;
                }
            }
        }
        for (lane, race) in found {
            self.race(s, i, touch, lane, race);
        }
    }

    fn race(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, lane: usize, (conflict, other): Race) {
        let address = address_of(s, touch.pointer, lane);
        let (object, offset) = parts(address);
        let Some(info) = s.memory.object(object) else { return };
        let items = s.group.enqueued_local.iter().product::<u64>();
        let number = u64::from(other.item - 1);
        let other_group = number / items;
        let mut group = s.group;
        let [x, y, _] = group.groups;
        group.id = [other_group % x, other_group / x % y, other_group / (x * y)];
        let other_item = work_item(&group, number % items);
        let other_inst = inst(&other);
        let other_wrote = matches!(
            s.kernel.insts[other_inst].op,
            Op::Store(_) | Op::Copy(_) | Op::Atomic(_) | Op::AsyncCopy { .. }
        );
        let same = touch.writes && other_wrote && !touch.atomic && self.same_value(s, i, touch, lane, &other);
        let rule: &'static Rule = match conflict {
            _ if same => &rules::SAME_VALUE_RACE,
            Conflict::Mixed => &rules::ATOMIC_MIXED,
            Conflict::Fence => &rules::WRONG_FENCE,
            Conflict::Groups => &rules::DATA_RACE_BETWEEN_GROUPS,
            Conflict::Group => &rules::DATA_RACE,
        };
        let kind = if info.space == Space::Local { "local" } else { "global" };
        self.note(rule, i, 1, || {
            let me = if touch.writes { "writes" } else { "reads" };
            let they = if other_wrote { "wrote" } else { "read" };
            let message = match conflict {
                Conflict::Mixed => format!(
                    "{me} {} bytes of `{}` that another work-item {they}, one of them by an atomic and one without",
                    touch.bytes, info.name
                ),
                Conflict::Fence => format!(
                    "{me} {} bytes of `{}` that another work-item {they} before a barrier that does not fence {kind} memory",
                    touch.bytes, info.name
                ),
                Conflict::Groups => format!(
                    "{me} {} bytes of `{}` that a work-item of another group {they}",
                    touch.bytes, info.name
                ),
                Conflict::Group => format!(
                    "{me} {} bytes of `{}` that another work-item of the group {they}, with no barrier between",
                    touch.bytes, info.name
                ),
            };
            let cure = match conflict {
                _ if same => "Let one work-item write; that all write the same helps on today's devices only.".to_owned(),
                Conflict::Mixed => "Use an atomic on both sides, or put a barrier between them.".to_owned(),
                Conflict::Fence if info.space == Space::Local => "Use barrier(CLK_LOCAL_MEM_FENCE).".to_owned(),
                Conflict::Fence => "Use barrier(CLK_GLOBAL_MEM_FENCE).".to_owned(),
                Conflict::Groups => {
                    "No barrier reaches other groups: use atomics, give each group its own part, or split the kernel in two.".to_owned()
                }
                Conflict::Group => format!("Put barrier(CLK_{}_MEM_FENCE) between the two.", kind.to_uppercase()),
            };
            Occurrence {
                message,
                cure,
                work_item: Some(work_item(&s.group, u64::from(s.warp.first_item) + lane as u64)),
                memory: Some(AccessedMemory {
                    object: info.name.to_string(),
                    space: info.space,
                    object_bytes: info.bytes,
                    offset,
                    bytes: touch.bytes as u64,
                }),
                related: vec![(format!("the other {they} it here"), Some(other_inst), Some(other_item))],
            }
        });
    }

    /// Whether a lane writes what the other has written.
    fn same_value(&self, s: &State<'_>, i: &Inst, touch: &Touch, lane: usize, other: &Mark) -> bool {
        let Some(value) = i.args.get(1).copied().filter(|slot| *slot != crate::execute::code::NONE) else {
            return false;
        };
        let size = touch.bytes / usize::from(i.components).max(1);
        let bits =
            |lane: usize, component: usize| s.warp.rows.bits(value, component * WIDTH + lane, size as u32);
        let components = usize::from(i.components);
        let items = s.group.enqueued_local.iter().product::<u64>();
        let first = s.group.linear() * items + u64::from(s.warp.first_item) + 1;
        let other_lane = u64::from(other.item).wrapping_sub(first);
        if inst(other) == i.origin && other_lane < WIDTH as u64 && other_lane < lane as u64 {
            // The same store: it has not been made yet.
            return (0..components)
                .all(|component| bits(lane, component) == bits(other_lane as usize, component));
        }
        let (object, offset) = parts(address_of(s, touch.pointer, lane));
        let Some(found) = s.memory.peek(object, offset, touch.bytes) else { return false };
        (0..components).all(|component| {
            let value = bits(lane, component).to_le_bytes();
            found.get(component * size..(component + 1) * size) == value.get(..size)
        })
    }

    /// Notes that a rule was broken at an instruction, if the rule is on.
    pub(super) fn note(
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

/// A fence, watched.
pub(super) fn fence(s: &mut State<'_>, i: &Inst) -> bool {
    use ir::op::Order;
    if let Op::Fence { semantics, .. } = s.kernel.insts[i.origin].op
        && semantics.global
        && let Some(watch) = &mut s.watch
    {
        let acquires = matches!(semantics.order, Order::Acquire | Order::AcquireRelease | Order::SeqCst);
        let releases = matches!(semantics.order, Order::Release | Order::AcquireRelease | Order::SeqCst);
        watch.order.fence(acquires, releases);
    }
    (i.plain)(s, i)
}

/// Address arithmetic over an inner array, watched.
pub(super) fn address(s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = (i.plain)(s, i);
    let Some(mut watch) = s.watch.take() else { return goes_on };
    let data = &s.kernel.insts[i.origin];
    if let Op::Address(ir::op::Address { count, .. }) = data.op {
        let base = watch.one_past.get(&(s.warp.first_item, data.operands[0])).copied().unwrap_or(0);
        let mut past = base;
        if let Some(count) = count {
            let index = i.args[1];
            let bytes = s.kernel.ty(data.operands[1]).bytes();
            let lanes_of = if i.width == 1 { 1 } else { s.mask };
            for lane in lanes(lanes_of) {
                let bits = s.warp.rows.bits(index, lane, bytes);
                let signed = if bytes == 4 { i64::from(bits as u32 as i32) } else { bits.cast_signed() };
                if signed == count.cast_signed() {
                    past |= if i.width == 1 { u64::MAX } else { 1 << lane };
                } else if signed < 0 || signed > count.cast_signed() {
                    let first = if i.width == 1 { s.mask.trailing_zeros() as usize } else { lane };
                    watch.note(&rules::INNER_ARRAY_BOUNDS, i, 1, || Occurrence {
                        message: format!("index {signed} leaves an inner array of {count} elements"),
                        cure: "Keep the index within the inner array: what lies behind it belongs to the next one.".into(),
                        work_item: Some(work_item(&s.group, u64::from(s.warp.first_item) + first as u64)),
                        ..Occurrence::default()
                    });
                }
            }
        }
        if let Some(result) = data.result {
            if past & s.mask != 0 {
                watch.one_past.insert((s.warp.first_item, result), past);
            } else {
                watch.one_past.remove(&(s.warp.first_item, result));
            }
        }
    }
    s.watch = Some(watch);
    super::taint::pure_after(s, i);
    goes_on
}
