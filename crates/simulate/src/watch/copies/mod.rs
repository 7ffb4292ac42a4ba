//! Copies of bytes: per work-item, and the asynchronous copies of a group.
//!
//! An asynchronous copy is pending from the call that starts it until the wait for its event. Only a barrier orders a
//! work-item's earlier accesses with the copy, because other work-items of the group may have started it already: the
//! copy counts as an access by none of the group's work-items ([`Watch::copy_races`]). Until it has been waited for,
//! no work-item may access the bytes that it writes, or write the bytes that it reads ([`Watch::on_its_way`]).

mod overlap;
pub(crate) mod pending;

use std::ops::Range;

use tripipe_ir::Op;
use tripipe_ir::op::Scope;

use super::findings::Occurrence;
use super::rules;
use super::state::Watch;
use super::taint::memory::WrittenBytes;
use super::taint::uses;
use super::touch::Touch;
use crate::execute::code::Inst;
use crate::execute::memory::Home;
use crate::execute::ops::copy::{EVENT_BYTES, Elements, read};
use crate::execute::rows::lanes;
use crate::execute::state::{Present, State};
use overlap::fix;
use pending::{Pending, Side};

/// A watched copy by each work-item: the unwritten state of bytes is copied too.
pub(crate) fn copy(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
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
        let [(to, to_start), (from, start)] = [to, from].map(|address| s.memory.parts(address));
        for byte in 0..count {
            let known = watch.written(s, from, lane).has(start as usize + byte);
            watch.written(s, to, lane).set(to_start as usize + byte, known);
        }
    }
    s.mask = good;
    let goes_on = good == 0 || (i.plain)(s, i);
    s.mask = mask;
    goes_on
}

/// Calls `look` with each present warp as the current one.
fn each_warp(s: &mut State<'_>, present: &mut [Present<'_>], mut look: impl FnMut(&mut State<'_>)) {
    for each in present {
        s.within(each, &mut look);
    }
}

/// Checks the start of a copy with this event by a group: all work-items must pass the same arguments, and the copy
/// must be possible. Returns the elements for which it is.
pub(crate) fn start(
    watch: &mut Watch,
    s: &mut State<'_>,
    i: &Inst,
    present: &mut [Present<'_>],
    event: u64,
) -> Range<u64> {
    each_warp(s, present, |s| {
        for operand in 0..2 {
            uses::address(watch, s, i, i.arg(operand), operand);
        }
        for operand in 2..5 {
            uses::used(watch, s, i, i.arg(operand), operand, "the copied bytes");
        }
    });
    watch.check_uniform_request(s, i, present);
    let mut good = 0..0;
    if let (Some(elements), Some(first)) = (Elements::of(s, i, present), present.first_mut()) {
        good = s.within(first, |s| {
            s.mask = 1 << s.mask.trailing_zeros();
            watch.start(s, i, &elements, event)
        });
    }
    good
}

/// Checks a wait for copies by a group: the lists of events must be in valid memory and equal. Without watchers, the
/// read itself checks the memory.
pub(crate) fn wait(watch: &mut Watch, s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>]) {
    let mut wanted: Option<Vec<u64>> = None;
    each_warp(s, present, |s| {
        uses::used(watch, s, i, i.arg(0), 0, "the number of events waited for here");
        uses::address(watch, s, i, i.arg(1), 1);
        for lane in lanes(s.mask) {
            let Some(events) = watch.events(s, i, lane) else { continue };
            watch.copies.retain(|copy| !events.contains(&copy.event));
            let wanted = wanted.get_or_insert_with(|| events.clone());
            if *wanted != events {
                let what =
                    if wanted.len() == events.len() { "other events" } else { "another number of events" };
                watch.note(&rules::ASYNC_COPY_DIVERGENCE, i, 1, || {
                    let message = format!("a work-item waits for {what} than the first of its group");
                    let fix = "Wait for the same events in all work-items, in the same order.";
                    Occurrence::new(&s.group, s.item(lane), message, fix)
                });
            }
        }
    });
}

/// A group, or its sub-group, has met to wait for all its copies.
pub(crate) fn wait_all(watch: &mut Watch, s: &State<'_>, scope: Scope, present: &[Present<'_>]) {
    let Some(first) = present.first() else { return };
    let item = u64::from(first.warp.first_item) + u64::from(first.mask.trailing_zeros());
    let sub_group = (scope == Scope::SubGroup).then(|| item / u64::from(s.group.sub_group));
    watch.copies.retain(|copy| sub_group.is_some() && copy.sub_group != sub_group);
}

/// The group has ended.
pub(crate) fn end_group(watch: &mut Watch, s: &State<'_>) {
    for copy in std::mem::take(&mut watch.copies) {
        if watch.checks.has(&rules::ASYNC_COPY_UNWAITED) {
            watch.findings.note(&rules::ASYNC_COPY_UNWAITED, Some(copy.origin), 1, || {
                let fix = match copy.sub_group {
                    Some(_) => fix(s.kernel, copy.origin),
                    None => "Wait for its event with wait_group_events before the kernel ends.",
                };
                Occurrence::new(&s.group, 0, "the work-group ends before it has waited for this copy", fix)
            });
        }
    }
}

impl Watch {
    /// Checks that all present work-items pass the same arguments.
    fn check_uniform_request(&mut self, s: &State<'_>, i: &Inst, present: &[Present<'_>]) {
        const WHAT: [&str; 5] = [
            "another destination",
            "another source",
            "another number of elements",
            "another stride",
            "another event",
        ];
        let mut wanted = None;
        for each in present {
            for lane in lanes(each.mask) {
                let found: [u64; 5] = std::array::from_fn(|index| each.warp.rows.words(i.arg(index))[lane]);
                let wanted = *wanted.get_or_insert(found);
                let Some(index) = (0..5).find(|index| found[*index] != wanted[*index]) else { continue };
                let item = u64::from(each.warp.first_item) + lane as u64;
                self.note(&rules::ASYNC_COPY_DIVERGENCE, i, 1, || {
                    let message = format!("a work-item passes {} than the first of its group", WHAT[index]);
                    let fix = "Compute the arguments from values that all work-items of the group share.";
                    Occurrence::new(&s.group, item, message, fix)
                });
                return;
            }
        }
    }

    /// Checks and records a copy with the arguments of the active lane. Returns the elements that are inside their
    /// objects on both sides.
    fn start(&mut self, s: &mut State<'_>, i: &Inst, elements: &Elements, event: u64) -> Range<u64> {
        let Op::AsyncCopy { used, scope, .. } = s.kernel.insts[i.origin].op else { return 0..0 };
        let item = s.item(s.mask.trailing_zeros() as usize);
        let sub_group = (scope == Scope::SubGroup).then(|| item / u64::from(s.group.sub_group));
        if elements.count == 0 {
            self.copies.push(Pending { event, origin: i.origin, sub_group, to: None, from: None });
            return 0..0;
        }
        let from = self.elements_inside(s, i, elements, 1);
        let to = self.elements_inside(s, i, elements, 0);
        let good = from.start.max(to.start)..from.end.min(to.end);
        let side = |operand: usize, inside: &Range<u64>| {
            let (object, offset) = s.memory.parts(elements.addresses[operand]);
            let step = elements.steps[operand];
            (!inside.is_empty()).then(|| Side {
                object,
                start: (i128::from(offset) + i128::from(inside.start) * i128::from(step)) as u64,
                element: elements.bytes,
                step,
                count: inside.end - inside.start,
            })
        };
        // Elements read from outside count as written: the access has been reported.
        if let Some(side) = side(0, &to) {
            self.know(s, &side);
        }
        let pending =
            Pending { event, origin: i.origin, sub_group, to: side(0, &good), from: side(1, &good) };
        self.meets_others(s, i, &pending);
        if let Some(side) = &pending.from {
            self.copy_races(s, i, side, None);
        }
        if let Some(side) = &pending.to {
            self.copy_races(s, i, side, pending.from.as_ref());
        }
        if let (Some(to), Some(from)) = (&pending.to, &pending.from) {
            self.hand_on(s, i, to, from, u64::from(used));
        }
        self.copies.push(pending);
        good
    }

    /// Checks one side of a copy: bounds, alignment, permission. Returns the elements inside the object.
    fn elements_inside(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        elements: &Elements,
        operand: usize,
    ) -> Range<u64> {
        let (address, step) = (elements.addresses[operand], elements.steps[operand]);
        let span = u128::from(elements.count - 1) * u128::from(step) + u128::from(elements.bytes);
        let bytes = usize::try_from(span).unwrap_or(usize::MAX).min(i64::MAX as usize);
        let align = 1 << elements.bytes.trailing_zeros();
        let touch = Touch { align, ..Touch::bytes(i, operand, bytes, operand == 0) };
        let (object, offset) = s.memory.parts(address);
        self.possible(s, i, &touch);
        let Some(info) = s.memory.object(object).filter(|info| info.home != Home::Null) else { return 0..0 };
        if self.permitted(s, i, &touch, object, s.mask) == 0 {
            return 0..0;
        }
        let (offset, step, element) = (i128::from(offset), i128::from(step), i128::from(elements.bytes));
        let (count, bytes) = (i128::from(elements.count), i128::from(info.bytes));
        // The first element that starts inside, and the first later one that ends outside.
        let (first, last) = match step {
            0 => (if offset < 0 { count } else { 0 }, if offset + element > bytes { 0 } else { count }),
            _ => (((-offset).max(0) + step - 1) / step, (bytes - element - offset).div_euclid(step) + 1),
        };
        let (first, last) = (first.clamp(0, count), last.clamp(0, count));
        if first < last { first as u64..last as u64 } else { 0..0 }
    }

    /// Marks all bytes of a side as written.
    fn know(&mut self, s: &State<'_>, side: &Side) {
        for start in side.starts() {
            self.written(s, side.object, 0).store(start as usize, side.element as usize, 0);
        }
    }

    /// Copies the written state from source to destination. Unwritten bytes that reach memory outside the group are
    /// reported.
    fn hand_on(&mut self, s: &State<'_>, i: &Inst, to: &Side, from: &Side, used: u64) {
        let source = self.written(s, from.object, 0);
        if matches!(source, WrittenBytes::All) {
            return;
        }
        let unwritten: Vec<(u64, u64)> = to
            .starts()
            .zip(from.starts())
            .filter(|(_, from)| source.lacks_any(*from as usize, used as usize))
            .flat_map(|(to, from)| (0..used).map(move |byte| (to + byte, from + byte)))
            .filter(|(_, from)| !source.has(*from as usize))
            .collect();
        let Some((_, first)) = unwritten.first() else { return };
        if matches!(s.memory.object(to.object).map(|info| info.home), Some(Home::Local(_))) {
            for (at, _) in &unwritten {
                self.written(s, to.object, 0).set(*at as usize, false);
            }
            return;
        }
        let memory = Side { start: *first, count: 1, ..*from }.memory(s);
        let name = memory.as_ref().map_or_else(String::new, |memory| memory.object.clone());
        self.note(&rules::UNINITIALISED_VALUE, i, 1, || {
            let message = format!("the copy here depends on `{name}`, read before it was written");
            let fix = "Write the variable or the memory before it is read, on every path that leads here.";
            Occurrence::new(&s.group, 0, message, fix).of(memory)
        });
    }

    /// The events that a lane waits for; `None` if the list is not in valid memory.
    fn events(&mut self, s: &mut State<'_>, i: &Inst, lane: usize) -> Option<Vec<u64>> {
        let count = u64::from(s.warp.rows.numbers::<u32>(i.arg(0))[lane]);
        let list = s.warp.rows.words(i.arg(1))[lane];
        let bytes = usize::try_from(count * EVENT_BYTES).ok()?;
        if count == 0 {
            return Some(Vec::new());
        }
        let mask = std::mem::replace(&mut s.mask, 1 << lane);
        let good = self.touch_bytes(s, i, 1, bytes, false);
        s.mask = mask;
        if good == 0 {
            return None;
        }
        let (object, start) = s.memory.parts(list);
        let written = self.written(s, object, lane);
        if (0..bytes).any(|byte| !written.has(start as usize + byte)) {
            self.note(&rules::UNINITIALISED_VALUE, i, 1, || {
                let name = s.memory.object(object).map_or("", |info| &*info.name);
                let message = format!("the event here depends on `{name}`, read before it was written");
                let fix = "Set it to the event of a copy, or to 0, on every path that leads here.";
                Occurrence::new(&s.group, s.item(lane), message, fix)
            });
        }
        let read = read(s, lane, list, bytes as u64)?;
        Some(read.as_chunks::<8>().0.iter().map(|event| u64::from_le_bytes(*event)).collect())
    }
}
