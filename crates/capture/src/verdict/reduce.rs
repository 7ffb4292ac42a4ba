//! Cuts a launch down as far as a difference stays: work-items, memory, statements.
//!
//! Statements go in three steps: each gets a line; those go that the number does not depend on in this launch (a dynamic
//! slice, [`tripipe_simulate::depend`]); then any lines that can be left out, large parts first (delta debugging).
//!
//! With a device at hand ([`Device`]), a smaller launch counts if the device still computes, for some number, what the
//! language does not allow. Without one, all that is known of the device is what it computed in the captured launch. A
//! smaller launch then counts if the same work-item still has to compute the same number: what was left out has no
//! influence on it. Whether the device still errs in the smaller launch is a conjecture, to be confirmed there.

use std::sync::Arc;

use tripipe_launch::{Argument, MemoryKind, NdRange, Program, Source};
use tripipe_launch_file::{BuildOptions, Loaded};

use super::judge::{judge, results, written};
use super::statements::{block_end, closing, needed, one_per_line, superfluous};
use super::{Case, Judged, Kind, Number, Verdict};
use crate::recorded::{Recorded, RecordedArgument, RecordedMemory};

/// Runs a launch on a device: the bytes of its memory afterwards, in the order of [`Loaded::memory`]; `None` if the
/// device cannot run it.
pub type Device<'d> = &'d mut dyn FnMut(&Arc<Program>, &Loaded) -> Option<Vec<Vec<u8>>>;

/// A launch that was cut down.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The smaller launch, with the results of the device as expectations.
    pub case: Case,
    /// Its verdict.
    pub judged: Judged,
    /// What the language defines for its memory.
    pub defined: Vec<Vec<u8>>,
    /// Whether each step was confirmed on a device.
    pub confirmed: bool,
    /// Launches that were tried.
    pub tried: usize,
}

/// The number whose difference has to stay: argument, byte offset, work-item, and the text of the defined number.
#[derive(Clone, Debug, PartialEq)]
struct Target {
    argument: usize,
    offset: usize,
    work_item: Option<[u64; 3]>,
    defined: String,
}

/// Most launches that are tried.
const TRIED_MOST: usize = 400;

/// Cuts a launch down; `None` if no number is wrong.
pub fn reduce(case: &Case, judged: &Judged, device: Option<Device<'_>>) -> Option<Reduced> {
    if judged.verdict != Verdict::Miscompiled {
        return None;
    }
    let (memory, number) = first_wrong_number(judged)?;
    let target = Target {
        argument: memory,
        offset: number.offset,
        work_item: number.work_item,
        defined: number.defined.clone(),
    };
    let confirmed = device.is_some();
    let mut work = Work { case: case.clone(), target, device, tried: 0 };
    work.work_items();
    work.memory();
    work.statements();
    // Fewer statements may need less memory.
    work.memory();
    let judged = judge(&work.case).ok()?;
    let defined = results(&work.case).ok()?;
    Some(Reduced { case: work.case, judged, defined, confirmed, tried: work.tried })
}

/// The first wrong number, with its argument.
fn first_wrong_number(judged: &Judged) -> Option<(usize, &Number)> {
    judged.memory.iter().find_map(|memory| {
        let number = memory.first.iter().find(|number| number.kind == Kind::Wrong)?;
        Some((memory.argument, number))
    })
}

struct Work<'d> {
    case: Case,
    target: Target,
    device: Option<Device<'d>>,
    tried: usize,
}

impl Work<'_> {
    /// Takes a smaller launch if the difference stays.
    fn offer(&mut self, mut case: Case) -> bool {
        if self.tried >= TRIED_MOST {
            return false;
        }
        self.tried += 1;
        let device = match &mut self.device {
            Some(device) => device(&case.program, &case.loaded),
            None => self.recorded(&case),
        };
        let Some(device) = device else { return false };
        for (memory, bytes) in case.loaded.memory.iter_mut().zip(device) {
            if let Some((expected, _)) = &mut memory.expected {
                *expected = bytes;
            }
        }
        let Ok(judged) = judge(&case) else { return false };
        let stays = judged.verdict == Verdict::Miscompiled
            && match self.device {
                Some(_) => true,
                None => self.is_target(&judged),
            };
        if stays {
            self.case = case;
        }
        stays
    }

    /// Whether the same work-item has to compute the same number, and the device computed another one.
    fn is_target(&self, judged: &Judged) -> bool {
        let Target { argument, offset, work_item, defined } = &self.target;
        let memory = judged.memory.iter().find(|memory| memory.argument == *argument);
        memory.is_some_and(|memory| {
            memory.first.iter().any(|number| {
                number.offset == *offset
                    && number.kind == Kind::Wrong
                    && number.work_item == *work_item
                    && number.defined == *defined
            })
        })
    }

    /// What the device would leave in memory, as far as it is known: its numbers where the smaller launch writes, else
    /// what was there before.
    fn recorded(&self, case: &Case) -> Option<Vec<Vec<u8>>> {
        let written = written(case).ok()?;
        let memory = case.loaded.memory.iter().zip(&self.case.loaded.memory).zip(written);
        Some(
            memory
                .map(|((memory, last), written)| {
                    let bytes = memory.array.bytes().unwrap_or(0);
                    let mut after = memory.initial.clone().unwrap_or_else(|| vec![0; bytes]);
                    let Some((device, _)) = &last.expected else { return after };
                    let width = memory.array.element.scalar().bytes();
                    for offset in written {
                        if let (Some(to), Some(from)) =
                            (after.get_mut(offset..offset + width), device.get(offset..offset + width))
                        {
                            to.copy_from_slice(from);
                        }
                    }
                    // The kernel may fail to write the number at all.
                    if memory.argument == self.target.argument {
                        let target = self.target.offset..self.target.offset + width;
                        if let (Some(to), Some(from)) = (after.get_mut(target.clone()), device.get(target)) {
                            to.copy_from_slice(from);
                        }
                    }
                    after
                })
                .collect(),
        )
    }

    /// One work-group, then one work-item: those that compute the number.
    fn work_items(&mut self) {
        let Some(item) = self.target.work_item else { return };
        let range = self.case.loaded.range;
        let offset = range.global_offset();
        let Ok(judged) = judge(&self.case) else { return };
        let local = judged.local.map(|extent| extent.max(1) as usize);
        let within = |dimension: usize| (item[dimension] as usize).saturating_sub(offset[dimension]);
        let group: [usize; 3] = std::array::from_fn(|d| offset[d] + within(d) / local[d] * local[d]);
        let one = |first: [usize; 3], local: [usize; 3]| {
            let global = match range.dimensions() {
                1 => NdRange::d1(local[0]),
                2 => NdRange::d2(local[0], local[1]),
                _ => NdRange::d3(local[0], local[1], local[2]),
            };
            global.offset(first[0], first[1], first[2]).local(local[0], local[1], local[2])
        };
        for range in [one(item.map(|at| at as usize), [1; 3]), one(group, local)] {
            let mut case = self.case.clone();
            case.loaded.range = range;
            if self.offer(case) {
                return;
            }
        }
        // All work-groups up to that of the work-item.
        let global = range.global_size();
        let upto: [usize; 3] =
            std::array::from_fn(|d| if global[d] == 1 { 1 } else { (within(d) / local[d] + 1) * local[d] });
        let mut case = self.case.clone();
        let fewer = match range.dimensions() {
            1 => NdRange::d1(upto[0]),
            2 => NdRange::d2(upto[0], upto[1]),
            _ => NdRange::d3(upto[0], upto[1], upto[2]),
        };
        if upto != global {
            case.loaded.range =
                fewer.offset(offset[0], offset[1], offset[2]).local(local[0], local[1], local[2]);
            self.offer(case);
        }
    }

    /// Shorter buffers, and zeros where contents do not matter.
    fn memory(&mut self) {
        for position in 0..self.case.loaded.memory.len() {
            let is_buffer = matches!(self.case.loaded.memory[position].kind, MemoryKind::Buffer { .. });
            if is_buffer {
                self.shorten(position);
            }
            self.zero(position);
        }
    }

    /// The fewest elements of a buffer with which the difference stays.
    fn shorten(&mut self, position: usize) {
        let memory = &self.case.loaded.memory[position];
        let element = memory.array.element.bytes().max(1);
        let all = memory.array.elements().unwrap_or(0);
        let least =
            if memory.argument == self.target.argument { self.target.offset / element + 1 } else { 1 };
        // Doubling from the least, because most launches that remain touch little.
        let mut low = least;
        let mut count = least;
        while count < all {
            let case = self.with_elements(position, count);
            if self.offer(case) {
                break;
            }
            low = count + 1;
            count *= 2;
        }
        // Between the last length that was too short and the one that was not.
        let mut high = count.min(all);
        while low < high {
            let middle = low + (high - low) / 2;
            let case = self.with_elements(position, middle);
            if self.offer(case) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
    }

    fn with_elements(&self, position: usize, count: usize) -> Case {
        let mut case = self.case.clone();
        let memory = &mut case.loaded.memory[position];
        let bytes = count * memory.array.element.bytes();
        memory.array.extents = vec![count];
        memory.kind = MemoryKind::Buffer { bytes };
        if let Some(initial) = &mut memory.initial {
            initial.truncate(bytes);
        }
        if let Some((expected, _)) = &mut memory.expected {
            expected.truncate(bytes);
        }
        memory.dump = None;
        case
    }

    /// Zeros instead of contents, half by half.
    fn zero(&mut self, position: usize) {
        let bytes = self.case.loaded.memory[position].array.bytes().unwrap_or(0);
        let mut parts = vec![(0, bytes)];
        while let Some((start, end)) = parts.pop() {
            let mut case = self.case.clone();
            let Some(initial) = &mut case.loaded.memory[position].initial else { return };
            let Some(part) = initial.get_mut(start..end).filter(|part| part.iter().any(|byte| *byte != 0))
            else {
                continue;
            };
            part.fill(0);
            let element = case.loaded.memory[position].array.element.bytes().max(1);
            if !self.offer(case) && end - start > element && end - start > bytes / 16 {
                let middle = start + ((end - start) / 2).next_multiple_of(element);
                if middle < end {
                    parts.extend([(start, middle), (middle, end)]);
                }
            }
        }
    }

    /// Fewer lines of the source: one statement each, then without those that the number does not depend on, then without
    /// any others that can be left out.
    fn statements(&mut self) {
        if self.case.source.is_empty() || !matches!(self.case.program.source, Source::OpenClC(_)) {
            return;
        }
        let statements = one_per_line(&self.case.source);
        let mut lines = if self.offer_source(&statements) {
            statements
        } else {
            self.case.source.lines().map(str::to_owned).collect()
        };
        self.slice(&mut lines);
        // Again from large parts on, because what is left out makes other parts superfluous.
        while self.fewer(&mut lines) | self.unwrapped(&mut lines) {}
    }

    /// Leaves out the lines that the number does not depend on: all at once, else as many as can be left out.
    fn slice(&mut self, lines: &mut Vec<String>) {
        // Other lines than those of the text.
        let renumbers = |line: &String| {
            let directive = line.trim_start().strip_prefix('#');
            directive.is_some_and(|directive| directive.trim_start().starts_with("line"))
        };
        if lines.iter().any(renumbers) {
            return;
        }
        // On a device, another number may be wrong by now.
        let Ok(judged) = judge(&self.case) else { return };
        let Some((argument, number)) = first_wrong_number(&judged) else { return };
        let Some(found) = needed(&self.case, argument, number.offset) else { return };
        let parts = superfluous(lines, &self.case.program.name, &found);
        let mut dropped = vec![false; lines.len()];
        let mut tries = vec![&parts[..]];
        while let Some(parts) = tries.pop().filter(|parts| !parts.is_empty()) {
            let mut without = dropped.clone();
            for (start, end) in parts {
                without[*start..*end].fill(true);
            }
            let left: Vec<String> = lines
                .iter()
                .zip(&without)
                .filter(|(_, gone)| !**gone)
                .map(|(line, _)| line.clone())
                .collect();
            if self.offer_source(&left) {
                dropped = without;
            } else if parts.len() > 1 {
                let (first, second) = parts.split_at(parts.len() / 2);
                tries.extend([first, second]);
            }
        }
        let mut gone = dropped.into_iter();
        lines.retain(|_| !gone.next().unwrap_or(false));
    }

    /// Leaves out the first and the last line of blocks. Returns whether any could be left out.
    fn unwrapped(&mut self, lines: &mut Vec<String>) -> bool {
        let mut any = false;
        let mut start = 0;
        while start < lines.len() {
            let end = closing(lines, start).filter(|_| lines[start].starts_with(' '));
            let left = end.map(|end| {
                let kept = |at: &usize| *at != start && *at != end;
                (0..lines.len()).filter(kept).map(|at| lines[at].clone()).collect::<Vec<_>>()
            });
            match left {
                Some(left) if self.offer_source(&left) => {
                    *lines = left;
                    any = true;
                }
                _ => start += 1,
            }
        }
        any
    }

    /// Leaves out parts of the lines, large ones first. Returns whether any could be left out.
    fn fewer(&mut self, lines: &mut Vec<String>) -> bool {
        let mut any = false;
        let mut chunk = (lines.len() / 2).max(1);
        loop {
            let mut start = 0;
            while start < lines.len() {
                let end = block_end(lines, start, (start + chunk).min(lines.len()));
                let left: Vec<String> = lines[..start].iter().chain(&lines[end..]).cloned().collect();
                if self.offer_source(&left) {
                    *lines = left;
                    any = true;
                } else {
                    start += chunk;
                }
            }
            if chunk == 1 {
                return any;
            }
            chunk /= 2;
        }
    }

    fn offer_source(&mut self, lines: &[String]) -> bool {
        let mut case = self.case.clone();
        let text = lines.join("\n") + "\n";
        let mut program = (*case.program).clone();
        program.source = Source::OpenClC(text.clone().into());
        case.program = Arc::new(program);
        case.source = text;
        self.offer(case)
    }
}

impl Case {
    /// The launch as it is written to files; `after` is the memory that it expects, in the order of its memory.
    pub fn recorded(&self, about: Vec<String>, after: &[Vec<u8>]) -> Recorded {
        let Loaded { kernel, range, arguments, memory } = &self.loaded;
        let mut passed: Vec<Option<usize>> = vec![None; memory.len()];
        let name = |index: usize| {
            let of = memory.iter().find(|memory| memory.argument == index);
            of.map_or(String::new(), |memory| memory.name.clone())
        };
        let arguments = arguments
            .iter()
            .enumerate()
            .map(|(index, argument)| {
                let recorded = match argument {
                    Argument::Memory(object) => {
                        if let Some(earlier) = passed.get(*object).copied().flatten() {
                            RecordedArgument::SameAs(earlier)
                        } else {
                            passed[*object] = Some(index);
                            let memory = &memory[*object];
                            RecordedArgument::Memory(RecordedMemory {
                                kind: memory.kind.clone(),
                                element: memory.array.element,
                                before: memory.initial.clone(),
                                after: memory.expected.as_ref().and_then(|_| after.get(*object).cloned()),
                            })
                        }
                    }
                    Argument::Value(value) => RecordedArgument::Value(value.clone()),
                    Argument::Bytes(bytes) => RecordedArgument::Bytes(bytes.to_vec()),
                    Argument::Local { bytes } => RecordedArgument::Local(*bytes),
                    Argument::Sampler(sampler) => RecordedArgument::Sampler(*sampler),
                    _ => RecordedArgument::Null,
                };
                (name(index), recorded)
            })
            .collect();
        Recorded {
            about,
            source: self.program.source.clone(),
            options: options(&self.build),
            kernel: kernel.clone(),
            range: *range,
            arguments,
        }
    }

    /// What the device computed, in the order of its memory; empty where nothing is expected.
    pub fn device_results(&self) -> Vec<Vec<u8>> {
        let expected = |memory: &tripipe_launch_file::LoadedMemory| {
            memory.expected.as_ref().map_or_else(Vec::new, |(bytes, _)| bytes.clone())
        };
        self.loaded.memory.iter().map(expected).collect()
    }
}

/// Build options as a launch file takes them; those that it does not take are left out.
fn options(build: &str) -> String {
    if BuildOptions::parse(build).is_ok() { build.to_owned() } else { String::new() }
}
