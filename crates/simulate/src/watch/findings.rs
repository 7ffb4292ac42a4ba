//! The findings: one for each rule and instruction, with the first occurrence and the count.

use std::collections::{HashMap, HashSet};

use tripipe_ir as ir;
use tripipe_ir::diagnostic::{AccessedMemory, Finding, Related, Rule, WorkItem};
use tripipe_ir::{Kernel, Module};

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
        let mut all: Vec<Finding> = self
            .entries
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
