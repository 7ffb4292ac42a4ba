//! Races: turns the results of [`super::cells`] for the accesses of a warp into findings.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, WorkItem, counted};
use tripipe_ir::op::AtomicOp;
use tripipe_ir::{self as ir, Kernel, Op, Space, Value, ValueDef};

use super::cells::{Cells, Conflict, Era, Kind, Mark, Race, Times};
use super::copies::pending::Side;
use super::findings::{Occurrence, work_item};
use super::rules;
use super::state::Watch;
use super::touch::{Touch, item_number};
use crate::execute::code::{Inst, NONE};
use crate::execute::memory::{Home, ObjectInfo};
use crate::execute::rows::{WIDTH, first_lanes, lanes};
use crate::execute::state::State;
use crate::source::location_of;

impl Watch {
    /// Checks for accesses of other work-items that are not ordered with this one.
    pub(crate) fn races(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, object: u32, mask: u64) {
        let Some(watched) = self.objects.get_mut(object as usize) else { return };
        let Some(cells) = &mut watched.cells else { return };
        let Some(info) = s.memory.object(object) else { return };
        let items = s.group.enqueued_local.iter().product::<u64>();
        let first = s.group.linear() * items + 1 + s.item(0);
        // Races are not checked beyond the range of the marks.
        if first + WIDTH as u64 > u64::from(u32::MAX) || self.times.now == u32::MAX {
            self.races_left_out = true;
            return;
        }
        let Times { now, group, local, global } = self.times;
        let fenced = if matches!(info.home, Home::Local(_)) { local } else { global };
        let era = Era { now, fenced, group, items: items as u32 };
        let mark = Mark::new(first as u32, era, i.origin, touch.atomic);
        let kind = match (touch.atomic, touch.writes) {
            (true, writes) => Kind::Atomic { writes },
            (false, true) => Kind::Write,
            (false, false) => Kind::Read,
        };
        let mut found: Vec<(usize, Race)> = Vec::new();
        let address = |lane: usize| s.address(touch.pointer, lane);
        let offset = |lane: usize| s.memory.parts(address(lane)).1 as usize;
        let grain = cells.grain_log2;
        let touched = |lane: usize| offset(lane) >> grain..=(offset(lane) + touch.bytes - 1) >> grain;
        let each = touch.bytes >> grain;
        let mut left = mask;
        if is_loaded_constant(info) {
            // Accesses of a sub-group to such memory are in program order.
            let of_group = Mark::new((first - s.item(0)) as u32, era, i.origin, touch.atomic);
            for lane in lanes(mask) {
                let item = s.warp.first_item as usize + lane;
                let mark = of_group.lane(item - item % s.group.sub_group as usize);
                let mut races = touched(lane).map(|index| cells.note(index, kind, mark, era, &self.order));
                found.extend(
                    races
                        .find(|races| *races != [None; 2])
                        .into_iter()
                        .flatten()
                        .flatten()
                        .map(|race| (lane, race)),
                );
            }
            left = 0;
        }
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            // The number of lanes from this one on whose addresses are `step` bytes apart.
            let side_by_side = (!(left >> lane)).trailing_zeros() as usize;
            let run = |step: usize| {
                let apart = |other: &usize| {
                    address(lane + other) != address(lane).wrapping_add((step * other) as u64)
                };
                (1..side_by_side).find(apart).unwrap_or(side_by_side)
            };
            let same = if kind == Kind::Read { run(0) } else { 1 };
            let regular = each.is_power_of_two() && offset(lane).is_multiple_of(1 << grain) && !touch.atomic;
            let (count, noted) = if same > 1 {
                (same, cells.note_same(touched(lane), mark.lane(lane), mark.lane(lane + same - 1), era))
            } else if regular {
                let start = offset(lane) >> grain;
                let count = Cells::together(start, each, run(touch.bytes)).max(1);
                let cover = start..start + count * each;
                let shift = each.trailing_zeros();
                let write = touch.writes;
                (count, count > 1 && cells.note_run(s.arch, cover, shift, write, mark.lane(lane), era))
            } else {
                (1, false)
            };
            let run = first_lanes(count) << lane;
            left &= !run;
            if noted {
                continue;
            }
            for lane in lanes(run) {
                for index in touched(lane) {
                    let races = cells.note(index, kind, mark.lane(lane), era, &self.order);
                    if races != [None; 2] {
                        found.extend(races.into_iter().flatten().map(|race| (lane, race)));
                        break;
                    }
                }
            }
        }
        for (lane, race) in found {
            self.race(s, i, touch, lane, race);
        }
    }

    /// Checks for accesses that are not ordered with one side of an asynchronous copy. For a written side, `source`
    /// is the other side.
    pub(crate) fn copy_races(&mut self, s: &State<'_>, i: &Inst, side: &Side, source: Option<&Side>) {
        let Some(watched) = self.objects.get_mut(side.object as usize) else { return };
        let Some(cells) = &mut watched.cells else { return };
        let Some(info) = s.memory.object(side.object) else { return };
        let items = s.group.enqueued_local.iter().product::<u64>();
        let first = s.group.linear() * items + 1;
        if first + items > u64::from(u32::MAX) || self.times.now == u32::MAX {
            self.races_left_out = true;
            return;
        }
        let Times { now, group, local, global } = self.times;
        let fenced = if matches!(info.home, Home::Local(_)) { local } else { global };
        let era = Era { now, fenced, group, items: items as u32 };
        let mark = if is_loaded_constant(info) {
            let item = s.warp.first_item + s.mask.trailing_zeros();
            Mark::new(first as u32 + item - item % s.group.sub_group, era, i.origin, false)
        } else {
            Mark::copy(first as u32, era, i.origin, source.is_some())
        };
        let kind = if source.is_some() { Kind::Write } else { Kind::Read };
        let mut found: Vec<(u64, Race)> = Vec::new();
        for start in side.starts() {
            let end = start + side.element - 1;
            for cell in start >> cells.grain_log2..=end >> cells.grain_log2 {
                let races = cells.note(cell as usize, kind, mark, era, &self.order);
                found.extend(races.into_iter().flatten().map(|race| (start, race)));
            }
        }
        // A group of one work-item has no races within it.
        let alone = s.group.items() == 1;
        for (start, (conflict, other)) in found {
            if !(alone && u64::from(other.item) == first) {
                let element = Side { start, count: 1, ..*side };
                let index = (start - side.start).checked_div(side.step).unwrap_or(0);
                let from = source.map(|source| Side {
                    start: source.start + index * source.step,
                    count: 1,
                    ..*source
                });
                self.copy_race(s, i, &element, from.as_ref(), (conflict, other));
            }
        }
    }

    fn copy_race(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        element: &Side,
        source: Option<&Side>,
        (conflict, other): Race,
    ) {
        let Some(info) = s.memory.object(element.object) else { return };
        let other_wrote = other_wrote(s, &other);
        let bytes = |side: &Side| s.memory.peek(side.object, side.start.cast_signed(), side.element as usize);
        let same = other_wrote
            && source.is_some_and(|source| bytes(source).is_some() && bytes(source) == bytes(element));
        self.note(rule(conflict, same), i, 1, || {
            let me = if source.is_some() { "writes" } else { "reads" };
            let they = if other_wrote { "wrote" } else { "read" };
            let message = format!(
                "this asynchronous copy {me} bytes of `{}` that {}",
                info.name,
                who(conflict, they, info.space)
            );
            let fix = match conflict {
                Conflict::Group => {
                    format!(
                        "Put {} before the copy, which does not wait for work-items.",
                        barrier(info.space)
                    )
                }
                _ => fix(conflict, same, info.space),
            };
            let (what, at, item) = related(s, &other, they);
            Occurrence::new(&s.group, 0, message, fix).of(element.memory(s)).with(what, at, item)
        });
    }

    fn race(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, lane: usize, (conflict, other): Race) {
        let address = s.address(touch.pointer, lane);
        let (object, offset) = s.memory.parts(address);
        let Some(info) = s.memory.object(object) else { return };
        let other_wrote = other_wrote(s, &other);
        let same =
            touch.writes && other_wrote && !touch.atomic && Self::same_value(s, i, touch, lane, &other);
        self.note(rule(conflict, same), i, 1, || {
            let me = if touch.writes { "writes" } else { "reads" };
            let they = if other_wrote { "wrote" } else { "read" };
            let who = who(conflict, they, info.space);
            let message = format!("{me} {} of `{}` that {who}", counted(touch.bytes, "byte"), info.name);
            let memory = s.memory.accessed(object, offset, touch.bytes as u64);
            let fix = if conflict == Conflict::Group && !same && is_same_place(s, i, &other) {
                // `sum[0] += x`: whichever comes first, both read before they write, or write twice.
                "Several work-items update the same element, which no barrier orders: use an atomic, give each \
                work-item an element of its own, or let one of them add up."
                    .to_owned()
            } else {
                fix(conflict, same, info.space)
            };
            let found = Occurrence::new(&s.group, s.item(lane), message, fix).of(memory);
            // The mark of several accesses may be the work-item's own: which other one it was is not recorded then.
            if other.copied().is_none() && other.item == item_number(s, lane) {
                return found;
            }
            let (what, at, item) = related(s, &other, they);
            found.with(what, at, item)
        });
    }

    /// Whether a lane writes the value that the other access has written.
    fn same_value(s: &State<'_>, i: &Inst, touch: &Touch, lane: usize, other: &Mark) -> bool {
        let Some(value) = i.args.get(1).copied().filter(|slot| *slot != NONE) else {
            return false;
        };
        let size = touch.bytes / usize::from(i.components).max(1);
        let bits =
            |lane: usize, component: usize| s.warp.rows.bits(value, component * WIDTH + lane, size as u32);
        let components = usize::from(i.components);
        let items = s.group.enqueued_local.iter().product::<u64>();
        let first = s.group.linear() * items + s.item(0) + 1;
        let other_lane = u64::from(other.item).wrapping_sub(first);
        if other.inst() == i.origin && other_lane < WIDTH as u64 && other_lane < lane as u64 {
            // The same store, which has not been executed yet.
            return (0..components)
                .all(|component| bits(lane, component) == bits(other_lane as usize, component));
        }
        let (object, offset) = s.memory.parts(s.address(touch.pointer, lane));
        let Some(found) = s.memory.peek(object, offset, touch.bytes) else { return false };
        (0..components).all(|component| {
            let value = bits(lane, component).to_le_bytes();
            found.get(component * size..(component + 1) * size) == value.get(..size)
        })
    }
}

/// Whether both sides of a race are one place in the source.
fn is_same_place(s: &State<'_>, i: &Inst, other: &Mark) -> bool {
    let place = |inst| location_of(s.module, s.kernel, inst);
    i.origin == other.inst() || place(i.origin).is_some_and(|own| place(other.inst()) == Some(own))
}

/// Whether it is a work-group's own constant memory, which its sub-groups copy into.
fn is_loaded_constant(info: &ObjectInfo) -> bool {
    info.space == Space::Constant && matches!(info.home, Home::Local(_))
}

/// Whether the other one of two racing accesses was a write.
fn other_wrote(s: &State<'_>, other: &Mark) -> bool {
    other.copied().unwrap_or_else(|| {
        let op = s.kernel.insts[other.inst()].op;
        matches!(op, Op::Store(_) | Op::Copy(_) | Op::Atomic(_) | Op::AsyncCopy { .. })
    })
}

fn rule(conflict: Conflict, same: bool) -> &'static Rule {
    match conflict {
        Conflict::Mixed => &rules::ATOMIC_MIXED,
        _ if same => &rules::SAME_VALUE_RACE,
        Conflict::Fence => &rules::WRONG_FENCE,
        Conflict::Groups => &rules::DATA_RACE_BETWEEN_GROUPS,
        Conflict::Group => &rules::DATA_RACE,
    }
}

/// Describes the other access to the same bytes.
fn who(conflict: Conflict, they: &str, space: Space) -> String {
    match conflict {
        Conflict::Mixed => {
            format!("another work-item {they}, one of them by an atomic and one without")
        }
        Conflict::Fence => {
            let kind = if space == Space::Local { "local" } else { "global" };
            format!("another work-item {they} before a barrier that does not fence {kind} memory")
        }
        Conflict::Groups => format!("a work-item of another group {they}"),
        Conflict::Group => format!("another work-item of the group {they}, with no barrier between"),
    }
}

/// Describes how to order two accesses, or to avoid the conflict.
fn fix(conflict: Conflict, same: bool, space: Space) -> String {
    match conflict {
        Conflict::Mixed => "Use an atomic on both sides, or put a barrier between them.".to_owned(),
        _ if same => {
            "Let one work-item write; writing the same value is safe on today's devices only.".to_owned()
        }
        Conflict::Fence => format!("Use {}.", barrier(space)),
        Conflict::Groups => {
            "Barriers do not order work-groups: use atomics, give each group its own part, or split the \
            kernel in two."
                .to_owned()
        }
        Conflict::Group => format!("Put {} between the two.", barrier(space)),
    }
}

fn barrier(space: Space) -> &'static str {
    if matches!(space, Space::Local | Space::Constant) {
        "barrier(CLK_LOCAL_MEM_FENCE)"
    } else {
        "barrier(CLK_GLOBAL_MEM_FENCE)"
    }
}

/// The location and the work-item of the other access.
fn related(s: &State<'_>, other: &Mark, they: &str) -> (String, ir::Inst, Option<WorkItem>) {
    let items = s.group.enqueued_local.iter().product::<u64>();
    let number = u64::from(other.item - 1);
    let other_group = number / items;
    let mut group = s.group;
    let [x, y, _] = group.groups;
    group.id = [other_group % x, other_group / x % y, other_group / (x * y)];
    // A copy is made by a group as a whole.
    let who = if other.copied().is_some() { "another group's asynchronous copy" } else { "the other" };
    let item = other.copied().is_none().then(|| work_item(&group, number % items));
    (format!("{who} {they} it here"), other.inst(), item)
}

/// The loads of expected values: they read the expected value of a compare-exchange at the same address, which does
/// not exchange if the value has changed since.
pub(crate) fn guesses(kernel: &Kernel) -> EntitySet<ir::Inst> {
    let mut loads = EntitySet::new();
    for inst in kernel.blocks.values().flat_map(|data| &data.insts).map(|inst| &kernel.insts[*inst]) {
        let (Op::Atomic(atomic), [place, _, expected, ..]) = (inst.op, &inst.operands[..]) else { continue };
        if atomic.op != AtomicOp::CompareExchange {
            continue;
        }
        let mut seen = EntitySet::new();
        let mut work = vec![*expected];
        while let Some(value) = work.pop() {
            if !seen.insert(value) {
                continue;
            }
            match kernel.values[value].def {
                ValueDef::Constant(_) => {}
                ValueDef::Parameter(block, position) => {
                    work.extend(handed_on(kernel, block, position as usize));
                }
                ValueDef::Result(from) => {
                    let data = &kernel.insts[from];
                    match data.op {
                        Op::Bitcast => work.extend(&data.operands),
                        Op::Load(_) if data.operands[0] == *place => {
                            loads.insert(from);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    loads
}

/// The values that a block's parameter may have.
fn handed_on(kernel: &Kernel, block: ir::Block, position: usize) -> impl Iterator<Item = Value> + '_ {
    let calls = kernel.blocks.values().flat_map(|data| data.terminator.calls());
    calls
        .filter(move |call| call.block == block)
        .filter_map(move |call| call.arguments.get(position).copied())
}
