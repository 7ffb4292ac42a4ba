//! Spilling of registers to memory: for a gap within one block, or throughout the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use tripipe_device::Basis;
use tripipe_ir::flow::{Cfg, Loops};
use tripipe_ir::{Block, Location};

use crate::allocate::{self, Pressure};
use crate::code::{Issue, Operation, Register, RegisterData};
use crate::lower::Edges;
use crate::model::{Model, Units};
use crate::schedule;
use crate::work::Work;

/// A candidate for spilling.
pub(crate) struct SpillCandidate {
    /// Bits freed, summed over words, per load or store that it costs.
    pub(crate) worth: f64,
    pub(crate) register: Register,
    /// The gap within one block, from the last word that touches the register to the next one; `None`: throughout.
    pub(crate) gap: Option<(usize, usize)>,
}

/// The registers that have been spilled.
pub(crate) struct Spills<'a> {
    model: &'a Model,
    cfg: &'a Cfg,
    edges: &'a Edges,
    places: Places,
    /// Registers that are in memory throughout, and the short-lived registers that replace them.
    pub(crate) whole: EntitySet<Register>,
    /// Reloaded registers whose copy in memory is still valid.
    kept: EntitySet<Register>,
    /// Total bits of memory that spilled registers occupy.
    pub(crate) bits: u32,
}

/// Registers passed to one another at the ends of blocks share one memory slot; the first of them identifies it.
type Places = SecondaryMap<Register, Option<(Register, Rc<[Register]>)>>;

fn places(cfg: &Cfg, edges: &Edges) -> Places {
    let mut first: SecondaryMap<Register, Option<Register>> = SecondaryMap::new();
    let find = |first: &SecondaryMap<Register, Option<Register>>, mut at: Register| {
        while let Some(next) = first[at] {
            at = next;
        }
        at
    };
    let pairs = || {
        let all = cfg.order.iter().flat_map(|block| &edges[*block]);
        // If the parameter has a different number of registers, the lanes are moved instead.
        all.filter(|(passed, made)| passed.len() == made.len())
            .flat_map(|(passed, made)| passed.iter().copied().zip(made.iter().copied()))
    };
    for (passed, made) in pairs() {
        let (a, b) = (find(&first, passed), find(&first, made));
        if a != b {
            first[a.max(b)] = Some(a.min(b));
        }
    }
    let mut groups: BTreeMap<Register, BTreeSet<Register>> = BTreeMap::new();
    for (passed, made) in pairs() {
        groups.entry(find(&first, made)).or_default().extend([passed, made]);
    }
    let mut places = Places::new();
    for (first, group) in groups {
        let group: Rc<[Register]> = group.into_iter().collect();
        for register in group.iter() {
            places[*register] = Some((first, Rc::clone(&group)));
        }
    }
    places
}

impl<'a> Spills<'a> {
    pub(crate) fn new(model: &'a Model, cfg: &'a Cfg, edges: &'a Edges) -> Self {
        let places = places(cfg, edges);
        Self { model, cfg, edges, places, whole: EntitySet::new(), kept: EntitySet::new(), bits: 0 }
    }

    /// The register that identifies the memory slot of `register`.
    pub(crate) fn place_of(&self, register: Register) -> Register {
        self.places[register].as_ref().map_or(register, |place| place.0)
    }

    /// The registers that share its memory slot.
    pub(crate) fn sharing(&self, register: Register) -> SmallVec<[Register; 4]> {
        match &self.places[register] {
            Some((_, group)) => SmallVec::from_slice(group),
            None => SmallVec::from_slice(&[register]),
        }
    }

    /// Spill candidates: the registers that are live across a word without being used in it.
    pub(crate) fn ways(
        &self,
        now: &Pressure,
        (block, at): (Block, usize),
        uses: &SecondaryMap<Register, f64>,
        blocks: &SecondaryMap<Block, Vec<Issue>>,
        loops: &Loops,
        registers: &PrimaryMap<Register, RegisterData>,
    ) -> Vec<SpillCandidate> {
        let issues = &blocks[block];
        let rounds = allocate::weight(loops, block);
        let mut ways = Vec::new();
        for register in now.live.iter().copied().filter(|register| now.carried[*register] > 0) {
            let bits = registers[register].bits;
            if !self.whole.contains(register) {
                let sharing = self.sharing(register);
                let carried: u32 = sharing.iter().map(|register| now.carried[*register]).sum();
                let used: f64 = sharing.iter().map(|register| uses[*register]).sum();
                ways.push(SpillCandidate {
                    worth: f64::from(bits) * f64::from(carried) / used.max(1.0),
                    register,
                    gap: None,
                });
            }
            let touches = |position: &usize| touches(&issues[*position], register);
            // A reloaded register stays until it is used; otherwise two registers could evict each other forever.
            if now.local.contains(register)
                && !touches(&at)
                && let Some(last) = (0..at).rev().find(touches).filter(|last| !is_fill(&issues[*last]))
                && let Some(next) = (at + 1..issues.len()).find(touches)
            {
                let transfers = if self.kept.contains(register) { 1.0 } else { 2.0 };
                let worth = f64::from(bits) * (next - last - 1) as f64 / (transfers * rounds);
                ways.push(SpillCandidate { worth, register, gap: Some((last, next)) });
            }
        }
        ways
    }

    /// Spills registers between two words of a block that touch them. A new register is used from the second word on.
    pub(crate) fn between(
        &mut self,
        blocks: &mut SecondaryMap<Block, Vec<Issue>>,
        registers: &mut PrimaryMap<Register, RegisterData>,
        block: Block,
        ways: &[SpillCandidate],
    ) {
        let gaps: Vec<(Register, usize, usize, Register)> = ways
            .iter()
            .filter_map(|way| way.gap.map(|(last, next)| (way.register, last, next)))
            .map(|(register, last, next)| (register, last, next, registers.push(registers[register])))
            .collect();
        if gaps.is_empty() {
            return;
        }
        let mut written: EntitySet<Register> = EntitySet::new();
        let mut out = Vec::with_capacity(blocks[block].len() + 2 * gaps.len());
        for (position, mut issue) in std::mem::take(&mut blocks[block]).into_iter().enumerate() {
            let location = location(&issue);
            for (_, _, _, part) in gaps.iter().filter(|(_, _, next, _)| *next == position) {
                out.extend(self.transfer(Work::Fill, registers[*part], &[], &[*part], location));
            }
            for (old, _, _, part) in gaps.iter().filter(|(_, _, next, _)| *next <= position) {
                for (_, operation) in &mut issue.operations {
                    if operation.writes.contains(old) {
                        written.insert(*part);
                    }
                    rename(operation, *old, *part);
                }
            }
            out.push(issue);
            for (old, ..) in gaps.iter().filter(|(_, last, ..)| *last == position) {
                if !self.kept.contains(*old) {
                    self.bits += registers[*old].bits;
                    out.extend(self.transfer(Work::Spill, registers[*old], &[*old], &[], location));
                }
            }
        }
        blocks[block] = out;
        let unchanged = gaps.iter().map(|gap| gap.3).filter(|part| !written.contains(*part));
        self.kept.extend(unchanged);
    }

    /// Spills registers throughout: stores them after each word that writes them, and reloads them before each word
    /// that only reads them.
    pub(crate) fn everywhere(
        &mut self,
        blocks: &mut SecondaryMap<Block, Vec<Issue>>,
        registers: &mut PrimaryMap<Register, RegisterData>,
        victims: &[Register],
    ) {
        let mut places: Vec<Register> = Vec::new();
        for victim in victims {
            self.whole.insert(*victim);
            let place = self.place_of(*victim);
            if !places.contains(&place) {
                places.push(place);
                self.bits += registers[*victim].bits;
            }
        }
        for block in &self.cfg.order {
            if !blocks[*block].iter().any(|issue| victims.iter().any(|victim| touches(issue, *victim))) {
                continue;
            }
            let mut out = Vec::with_capacity(blocks[*block].len() + 2 * victims.len());
            for mut issue in std::mem::take(&mut blocks[*block]) {
                let location = location(&issue);
                let mut stored = SmallVec::<[Issue; 2]>::new();
                for victim in victims.iter().copied() {
                    if !touches(&issue, victim) {
                        continue;
                    }
                    let writes = issue.operations.iter().any(|(_, other)| other.writes.contains(&victim));
                    let data = registers[victim];
                    let part = registers.push(data);
                    self.whole.insert(part);
                    issue.operations.iter_mut().for_each(|(_, operation)| rename(operation, victim, part));
                    if writes {
                        stored.extend(self.transfer(Work::Spill, data, &[part], &[], location));
                    } else {
                        out.extend(self.transfer(Work::Fill, data, &[], &[part], location));
                    }
                }
                out.push(issue);
                out.extend(stored);
            }
            blocks[*block] = out;
        }
    }

    /// Stores and loads at the ends of blocks, where either the passed register or the parameter is in memory. If both
    /// are, they share a slot.
    pub(crate) fn at_ends(
        &self,
        blocks: &mut SecondaryMap<Block, Vec<Issue>>,
        registers: &PrimaryMap<Register, RegisterData>,
    ) {
        for block in &self.cfg.order {
            for (passed, made) in &self.edges[*block] {
                for (at, to) in made.iter().enumerate() {
                    let from = passed.get(at).or(passed.last());
                    let from_memory = from.is_some_and(|from| self.whole.contains(*from));
                    let work = match (from_memory, self.whole.contains(*to)) {
                        (false, true) => Work::Spill,
                        (true, false) => Work::Fill,
                        _ => continue,
                    };
                    blocks[*block].extend(self.transfer(work, registers[*to], &[], &[], None));
                }
            }
        }
    }

    /// A store or load of a register; `None` if the model has no load/store unit.
    fn transfer(
        &self,
        work: Work,
        data: RegisterData,
        reads: &[Register],
        writes: &[Register],
        location: Option<Location>,
    ) -> Option<Issue> {
        let unit = self.model.unit("ls")?;
        let operation = Operation {
            work,
            units: Units(1 << unit),
            inst: None,
            location,
            reads: SmallVec::from_slice(reads),
            writes: SmallVec::from_slice(writes),
            lanes: 1,
            room: 1,
            bits: data.bits,
            memory_bits: data.bits,
            basis: Basis::Guessed,
            extra: SmallVec::new(),
        };
        Some(schedule::alone(self.model, operation))
    }
}

fn touches(issue: &Issue, register: Register) -> bool {
    issue
        .operations
        .iter()
        .any(|(_, operation)| operation.reads.contains(&register) || operation.writes.contains(&register))
}

fn is_fill(issue: &Issue) -> bool {
    issue.operations.iter().any(|(_, operation)| operation.work == Work::Fill)
}

fn rename(operation: &mut Operation, old: Register, new: Register) {
    let registers = operation.reads.iter_mut().chain(operation.writes.iter_mut());
    registers.filter(|register| **register == old).for_each(|register| *register = new);
}

fn location(issue: &Issue) -> Option<Location> {
    issue.operations.iter().find_map(|(_, operation)| operation.location)
}
