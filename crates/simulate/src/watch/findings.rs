//! The findings: one for each rule and instruction, with the first occurrence and the count.

use std::collections::{HashMap, HashSet};

use tripipe_ir as ir;
use tripipe_ir::diagnostic::{AccessedMemory, Finding, Related, Rule, WorkItem};
use tripipe_ir::{Kernel, Module, Space, Type};

use super::rules;
use crate::execute::range::Group;
use crate::source::location_of;

/// The first occurrence of a finding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occurrence {
    /// One sentence with the values.
    pub(crate) message: String,
    /// One sentence.
    pub(crate) fix: String,
    pub(crate) work_item: Option<WorkItem>,
    pub(crate) memory: Option<AccessedMemory>,
    /// Other locations: what happened there, the instruction, the work-item.
    pub(crate) related: Vec<(String, Option<ir::Inst>, Option<WorkItem>)>,
}

impl Occurrence {
    /// In a work-item of a group, by its local linear id.
    pub(crate) fn new(group: &Group, item: u64, message: impl Into<String>, fix: impl Into<String>) -> Self {
        let work_item = Some(work_item(group, item));
        Self { message: message.into(), fix: fix.into(), work_item, ..Self::default() }
    }

    /// The same, at these bytes of memory.
    pub(crate) fn of(self, memory: Option<AccessedMemory>) -> Self {
        Self { memory, ..self }
    }

    /// The same, with another location.
    pub(crate) fn with(mut self, what: impl Into<String>, at: ir::Inst, work_item: Option<WorkItem>) -> Self {
        self.related.push((what.into(), Some(at), work_item));
        self
    }
}

#[derive(Debug)]
struct Entry {
    rule: &'static Rule,
    origin: Option<ir::Inst>,
    count: u64,
    first: Occurrence,
}

/// All findings.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    entries: Vec<Entry>,
    known: HashMap<(&'static str, Option<ir::Inst>), usize>,
}

impl Findings {
    /// Records `count` violations of a rule at an instruction (or by the kernel as a whole); `first` is called only
    /// for the first violation.
    pub(crate) fn note(
        &mut self,
        rule: &'static Rule,
        origin: Option<ir::Inst>,
        count: u64,
        first: impl FnOnce() -> Occurrence,
    ) {
        if let Some(index) = self.known.get(&(rule.code, origin)) {
            self.entries[*index].count += count;
            return;
        }
        self.known.insert((rule.code, origin), self.entries.len());
        self.entries.push(Entry { rule, origin, count, first: first() });
    }

    /// Records a finding about the kernel as a whole; there may be several per rule.
    pub(crate) fn note_kernel(&mut self, rule: &'static Rule, first: Occurrence) {
        self.entries.push(Entry { rule, origin: None, count: 1, first });
    }

    /// All findings, most severe first, then by source location.
    pub(crate) fn finish(mut self, module: &Module, kernel: &Kernel) -> Vec<Finding> {
        // If work-items race with different values, races with equal values at the same instruction add no
        // information.
        let worse: HashSet<_> = self
            .entries
            .iter()
            .filter(|entry| [rules::DATA_RACE, rules::DATA_RACE_BETWEEN_GROUPS].contains(entry.rule))
            .filter_map(|entry| entry.origin)
            .collect();
        self.entries.retain(|entry| {
            *entry.rule != rules::SAME_VALUE_RACE
                || entry.origin.is_none_or(|origin| !worse.contains(&origin))
        });
        // What was read too early from local memory may not have been written yet, and is handed on there: the race is
        // the cause.
        let is_local = |read: ir::Inst| {
            let pointer = kernel.insts.get(read).and_then(|data| data.operands.first());
            pointer.is_some_and(|pointer| kernel.ty(*pointer) == Type::Pointer(Space::Local))
        };
        if self.entries.iter().filter_map(race).flatten().any(is_local) {
            self.entries.retain(|entry| {
                let read = entry.first.related.first().and_then(|(_, read, _)| *read).or(entry.origin);
                *entry.rule != rules::UNINITIALISED_VALUE || !read.is_some_and(is_local)
            });
        }
        let mut all: Vec<Finding> = one_for_each_barrier(self.entries, kernel)
            .into_iter()
            .map(|entry| Finding {
                rule: entry.rule,
                kernel: kernel.name.clone(),
                location: entry.origin.and_then(|inst| location_of(module, kernel, inst)),
                instruction: entry.origin.map(|inst| instruction_text(kernel, inst)).unwrap_or_default(),
                message: entry.first.message,
                fix: entry.first.fix,
                count: entry.count,
                work_item: entry.first.work_item,
                memory: entry.first.memory,
                related: entry
                    .first
                    .related
                    .into_iter()
                    .map(|(message, inst, work_item)| Related {
                        message,
                        location: inst.and_then(|inst| location_of(module, kernel, inst)),
                        work_item,
                    })
                    .collect(),
            })
            .collect();
        all.sort_by(|a, b| {
            let at = |finding: &Finding| {
                finding
                    .location
                    .as_ref()
                    .map(|location| (location.file.clone(), location.line, location.column))
            };
            b.rule.severity.cmp(&a.rule.severity).then_with(|| at(a).cmp(&at(b)))
        });
        all
    }
}

/// The findings with one for each missing barrier: races that the same barrier would order become notes of the first
/// one.
///
/// A race is between two instructions, and any barrier between them orders it. Of intervals, the fewest points that
/// meet all of them are found from the interval that ends first; each other one that it meets needs no point of its
/// own.
fn one_for_each_barrier(entries: Vec<Entry>, kernel: &Kernel) -> Vec<Entry> {
    let order = kernel.blocks.values().flat_map(|block| &block.insts).copied();
    let position: HashMap<ir::Inst, usize> = order.enumerate().map(|(index, inst)| (inst, index)).collect();
    let (mut races, mut all) = (Vec::new(), Vec::new());
    for entry in entries {
        let interval = race(&entry).and_then(|[a, b]| Some([*position.get(&a)?, *position.get(&b)?]));
        match interval {
            // No barrier orders an instruction with itself.
            Some([a, b]) if a != b => races.push((a.min(b), a.max(b), entry)),
            _ => all.push(entry),
        }
    }
    races.sort_by_key(|(begin, end, _)| (*end, *begin));
    let mut merged: Vec<(usize, Entry)> = Vec::new();
    for (begin, end, entry) in races {
        let space = |entry: &Entry| entry.first.memory.as_ref().map(|memory| memory.space);
        let same = merged.iter_mut().find(|(point, known)| {
            known.rule == entry.rule && space(known) == space(&entry) && begin < *point
        });
        match same {
            Some((_, known)) => known.first.related.push((
                format!("one barrier orders this as well: {}", entry.first.message),
                entry.origin,
                entry.first.work_item,
            )),
            None => merged.push((end, entry)),
        }
    }
    all.extend(merged.into_iter().map(|(_, entry)| entry));
    all
}

/// The two instructions of a race that a barrier would order.
fn race(entry: &Entry) -> Option<[ir::Inst; 2]> {
    if ![rules::DATA_RACE, rules::WRONG_FENCE].contains(entry.rule) {
        return None;
    }
    let (_, other, _) = entry.first.related.first()?;
    Some([entry.origin?, (*other)?])
}

/// An instruction in its text form: `%5 = load.4 %4`.
fn instruction_text(kernel: &Kernel, inst: ir::Inst) -> String {
    let Some(data) = kernel.insts.get(inst) else { return String::new() };
    let mut text = data.result.map_or_else(String::new, |result| format!("{result} = "));
    text.push_str(&data.op.to_string());
    for (index, operand) in data.operands.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        text.push_str(&operand.to_string());
    }
    text
}

/// A work-item of a group, by its local linear id.
pub(crate) fn work_item(group: &Group, item: u64) -> WorkItem {
    WorkItem { global: group.global_id(item), local: group.local_id(item), group: group.id }
}
