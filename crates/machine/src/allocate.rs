//! Registers: which are live where, how many that makes, and what is spilled when there are too few.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use tripipe_device::{Basis, Gpu};
use tripipe_ir::flow::{Cfg, Loops};
use tripipe_ir::{Block, Place, Value};

use crate::code::{Issue, Operation, Register, RegisterData, WorkRegisters};
use crate::lower::Edges;
use crate::model::{Model, Units};
use crate::schedule;

/// Registers live at the ends of blocks.
pub(crate) struct Live {
    pub(crate) at_start: SecondaryMap<Block, EntitySet<Register>>,
    pub(crate) at_end: SecondaryMap<Block, EntitySet<Register>>,
}

impl Live {
    /// Computes it: `operations` gives those of a block, in order; what is in `memory` is passed on there.
    pub(crate) fn new<'o>(
        cfg: &Cfg,
        edges: &Edges,
        memory: &EntitySet<Register>,
        operations: impl Fn(Block) -> Vec<&'o Operation>,
    ) -> Self {
        // What a block reads before it writes, and what it writes.
        let mut reads: SecondaryMap<Block, EntitySet<Register>> = SecondaryMap::new();
        let mut writes: SecondaryMap<Block, EntitySet<Register>> = SecondaryMap::new();
        for block in &cfg.order {
            let (read, written) = (&mut reads[*block], &mut writes[*block]);
            for operation in operations(*block) {
                for register in &operation.reads {
                    if !written.contains(*register) {
                        read.insert(*register);
                    }
                }
                written.extend(operation.writes.iter().copied());
            }
        }
        let mut live = Self { at_start: SecondaryMap::new(), at_end: SecondaryMap::new() };
        let mut changed = true;
        while changed {
            changed = false;
            for block in cfg.order.iter().rev() {
                let mut end: EntitySet<Register> = EntitySet::new();
                for next in &cfg.successors[*block] {
                    end.extend(live.at_start[*next].iter());
                }
                // Parameters of the next blocks are made here, from what is passed.
                for (_, made) in &edges[*block] {
                    for register in made {
                        end.remove(*register);
                    }
                }
                for (passed, _) in &edges[*block] {
                    end.extend(passed.iter().copied().filter(|register| !memory.contains(*register)));
                }
                let mut start = end.clone();
                for register in writes[*block].iter() {
                    start.remove(register);
                }
                start.extend(reads[*block].iter());
                if start != live.at_start[*block] {
                    live.at_start[*block] = start;
                    changed = true;
                }
                live.at_end[*block] = end;
            }
        }
        live
    }
}

/// Where the most registers are live, and which are live without being used where there are too many.
struct Pressure {
    bits: u32,
    at: Option<(Block, usize)>,
    live: Vec<Register>,
    /// Those of them that are live in that block alone.
    local: EntitySet<Register>,
    /// For each register, the words with too many live registers that it is only carried past.
    carried: SecondaryMap<Register, u32>,
}

/// Registers that can be live before the compiler spills, in the GPU's own count.
pub(crate) fn most_live(gpu: &Gpu, model: &Model) -> u32 {
    let limit = match model.layout.register_limit {
        0 => gpu.registers.max.value,
        limit => limit,
    };
    limit.saturating_sub(model.layout.spare_registers).max(1)
}

/// Counts registers, spills what is too much, and says how many are used.
pub(crate) fn allocate(
    gpu: &Gpu,
    model: &Model,
    cfg: &Cfg,
    loops: &Loops,
    blocks: &mut SecondaryMap<Block, Vec<Issue>>,
    registers: &mut PrimaryMap<Register, RegisterData>,
    edges: &Edges,
) -> WorkRegisters {
    let width = gpu.registers.width_bits.value.max(1);
    let most = most_live(gpu, model);
    let count = |bits: u32| bits.div_ceil(width).max(1);
    let most_bits = most * width;
    let mut live = live(cfg, edges, &EntitySet::new(), blocks);
    let mut now = pressure(cfg, &live, blocks, registers, most_bits);
    let spare = model.layout.spare_registers;
    let needed = count(now.bits) + spare;
    let places = places(cfg, edges);
    let mut spills =
        Spills { model, cfg, edges, places, whole: EntitySet::new(), kept: EntitySet::new(), bits: 0 };
    // Every round frees registers where the most are live; a kernel that has nothing left to spill keeps what it has.
    while count(now.bits) > most {
        let Some(at) = now.at else { break };
        let mut ways = spills.ways(&now, at, &uses(cfg, loops, blocks, registers), blocks, loops, registers);
        ways.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.register.cmp(&b.register)));
        let mut excess = now.bits.saturating_sub(most_bits);
        let mut chosen: Vec<Way> = Vec::new();
        for way in ways {
            let same = |other: &Way| spills.place_of(other.register) == spills.place_of(way.register);
            if excess > 0 && !chosen.iter().any(same) {
                excess = excess.saturating_sub(registers[way.register].bits);
                chosen.push(way);
            }
        }
        if chosen.is_empty() {
            break;
        }
        spills.between(blocks, registers, at.0, &chosen);
        let whole = chosen.iter().filter(|way| way.gap.is_none());
        let victims: Vec<Register> = whole.flat_map(|way| spills.sharing(way.register)).collect();
        if !victims.is_empty() {
            spills.everywhere(blocks, registers, &victims);
            live = self::live(cfg, edges, &spills.whole, blocks);
        }
        now = pressure(cfg, &live, blocks, registers, most_bits);
    }
    spills.at_ends(blocks, registers);
    let mut values: Vec<Value> = now.live.iter().filter_map(|register| registers[*register].value).collect();
    values.sort_unstable();
    values.dedup();
    WorkRegisters {
        used: count(now.bits).min(most) + spare,
        needed,
        peak: now.at,
        live: values,
        spill_bytes: spills.bits / 8,
    }
}

fn live(
    cfg: &Cfg,
    edges: &Edges,
    memory: &EntitySet<Register>,
    blocks: &SecondaryMap<Block, Vec<Issue>>,
) -> Live {
    Live::new(cfg, edges, memory, |block| {
        blocks[block]
            .iter()
            .flat_map(|issue| issue.operations.iter().map(|(_, operation)| operation))
            .collect()
    })
}

fn pressure(
    cfg: &Cfg,
    live: &Live,
    blocks: &SecondaryMap<Block, Vec<Issue>>,
    registers: &PrimaryMap<Register, RegisterData>,
    most_bits: u32,
) -> Pressure {
    let mut peak = Pressure {
        bits: 0,
        at: None,
        live: Vec::new(),
        local: EntitySet::new(),
        carried: SecondaryMap::new(),
    };
    // Lanes of one register may be written by several operations: it is live from the first in a block.
    let mut first_write: SecondaryMap<Register, Option<(Block, usize)>> =
        SecondaryMap::with_capacity(registers.len());
    for block in &cfg.order {
        for (position, issue) in blocks[*block].iter().enumerate() {
            for register in issue.operations.iter().flat_map(|(_, operation)| &operation.writes) {
                let first = &mut first_write[*register];
                if first.is_none_or(|first| first.0 != *block) {
                    *first = Some((*block, position));
                }
            }
        }
        let mut now = live.at_end[*block].clone();
        let mut bits: u32 = now.iter().map(|register| registers[register].bits).sum();
        for (position, issue) in blocks[*block].iter().enumerate().rev() {
            // What is written here and not needed behind is in a register all the same, for the moment; but what another
            // operation of the word takes from it passes between the stages.
            let passed = |register: Register| {
                issue.operations.iter().any(|(_, operation)| operation.reads.contains(&register))
            };
            for register in issue.operations.iter().flat_map(|(_, operation)| &operation.writes) {
                if !passed(*register) && now.insert(*register) {
                    bits += registers[*register].bits;
                }
            }
            if bits > most_bits {
                let used = |register: &Register| {
                    issue.operations.iter().any(|(_, operation)| {
                        operation.reads.contains(register) || operation.writes.contains(register)
                    })
                };
                now.iter()
                    .filter(|register| !used(register))
                    .for_each(|register| peak.carried[register] += 1);
            }
            if bits > peak.bits {
                (peak.bits, peak.at, peak.live) = (bits, Some((*block, position)), now.iter().collect());
            }
            for register in issue.operations.iter().flat_map(|(_, operation)| &operation.writes) {
                if first_write[*register] == Some((*block, position))
                    && !live.at_start[*block].contains(*register)
                    && now.remove(*register)
                {
                    bits -= registers[*register].bits;
                }
            }
            let writes = |register: &Register| {
                issue.operations.iter().any(|(_, operation)| operation.writes.contains(register))
            };
            for register in issue.operations.iter().flat_map(|(_, operation)| &operation.reads) {
                let made_here = writes(register) && first_write[*register] == Some((*block, position));
                if !made_here && now.insert(*register) {
                    bits += registers[*register].bits;
                }
            }
        }
        if bits > peak.bits {
            (peak.bits, peak.at, peak.live) = (bits, Some((*block, 0)), now.iter().collect());
        }
    }
    if let Some((block, _)) = peak.at {
        let (start, end) = (&live.at_start[block], &live.at_end[block]);
        let local = |register: &Register| !start.contains(*register) && !end.contains(*register);
        peak.local.extend(peak.live.iter().copied().filter(local));
    }
    peak
}

/// How often each register is read and written, ten times as often in each loop.
fn uses(
    cfg: &Cfg,
    loops: &Loops,
    blocks: &SecondaryMap<Block, Vec<Issue>>,
    registers: &PrimaryMap<Register, RegisterData>,
) -> SecondaryMap<Register, f64> {
    let mut uses = SecondaryMap::with_capacity(registers.len());
    for block in &cfg.order {
        let weight = 10_f64.powi(loops.depth(*block) as i32);
        for (_, operation) in blocks[*block].iter().flat_map(|issue| &issue.operations) {
            for register in operation.reads.iter().chain(&operation.writes) {
                uses[*register] += weight;
            }
        }
    }
    uses
}

/// How a register can leave.
struct Way {
    /// Bits freed, word by word, for each load or store that it takes.
    worth: f64,
    register: Register,
    /// For a while in one block, from the last word that touches it to the next; `None`: throughout.
    gap: Option<(usize, usize)>,
}

/// What has been spilled, and how.
struct Spills<'a> {
    model: &'a Model,
    cfg: &'a Cfg,
    edges: &'a Edges,
    places: Places,
    /// Registers that are in memory throughout, and parts of them.
    whole: EntitySet<Register>,
    /// Registers loaded again of which memory still holds the same.
    kept: EntitySet<Register>,
    bits: u32,
}

/// Registers that are passed on to one another at the ends of blocks, by the first of them: they have one place in memory.
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
        // Lanes that lie otherwise than those of the parameter are moved.
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

impl Spills<'_> {
    /// What stands for the place of a register in memory.
    fn place_of(&self, register: Register) -> Register {
        self.places[register].as_ref().map_or(register, |place| place.0)
    }

    /// The registers that share its place.
    fn sharing(&self, register: Register) -> SmallVec<[Register; 4]> {
        match &self.places[register] {
            Some((_, group)) => SmallVec::from_slice(group),
            None => SmallVec::from_slice(&[register]),
        }
    }

    /// How the registers could leave that are only carried past a word.
    fn ways(
        &self,
        now: &Pressure,
        (block, at): (Block, usize),
        uses: &SecondaryMap<Register, f64>,
        blocks: &SecondaryMap<Block, Vec<Issue>>,
        loops: &Loops,
        registers: &PrimaryMap<Register, RegisterData>,
    ) -> Vec<Way> {
        let issues = &blocks[block];
        let rounds = 10_f64.powi(loops.depth(block) as i32);
        let mut ways = Vec::new();
        for register in now.live.iter().copied().filter(|register| now.carried[*register] > 0) {
            let bits = registers[register].bits;
            if !self.whole.contains(register) {
                let sharing = self.sharing(register);
                let carried: u32 = sharing.iter().map(|register| now.carried[*register]).sum();
                let used: f64 = sharing.iter().map(|register| uses[*register]).sum();
                ways.push(Way {
                    worth: f64::from(bits) * f64::from(carried) / used.max(1.0),
                    register,
                    gap: None,
                });
            }
            let touches = |position: &usize| touches(&issues[*position], register);
            // What has been loaded again stays until it is used, or two registers could drive each other out for ever.
            if now.local.contains(register)
                && !touches(&at)
                && let Some(last) = (0..at).rev().find(touches).filter(|last| !is_fill(&issues[*last]))
                && let Some(next) = (at + 1..issues.len()).find(touches)
            {
                let transfers = if self.kept.contains(register) { 1.0 } else { 2.0 };
                let worth = f64::from(bits) * (next - last - 1) as f64 / (transfers * rounds);
                ways.push(Way { worth, register, gap: Some((last, next)) });
            }
        }
        ways
    }

    /// Keeps registers of a block in memory between two words that touch them. From the second on each is another one.
    fn between(
        &mut self,
        blocks: &mut SecondaryMap<Block, Vec<Issue>>,
        registers: &mut PrimaryMap<Register, RegisterData>,
        block: Block,
        ways: &[Way],
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
            let place = place(&issue);
            for (_, _, _, part) in gaps.iter().filter(|(_, _, next, _)| *next == position) {
                out.extend(self.transfer("fill", registers[*part], &[], &[*part], place));
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
                    out.extend(self.transfer("spill", registers[*old], &[*old], &[], place));
                }
            }
        }
        blocks[block] = out;
        let unchanged = gaps.iter().map(|gap| gap.3).filter(|part| !written.contains(*part));
        self.kept.extend(unchanged);
    }

    /// Keeps registers in memory throughout: stored behind every operation that writes them, loaded again ahead of every one
    /// that reads them.
    fn everywhere(
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
                let place = place(&issue);
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
                        stored.extend(self.transfer("spill", data, &[part], &[], place));
                    } else {
                        out.extend(self.transfer("fill", data, &[], &[part], place));
                    }
                }
                out.push(issue);
                out.extend(stored);
            }
            blocks[*block] = out;
        }
    }

    /// Stores and loads at the ends of blocks: where one of what is passed and the parameter it becomes is in memory. If
    /// both are, they have one place there.
    fn at_ends(
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
                        (false, true) => "spill",
                        (true, false) => "fill",
                        _ => continue,
                    };
                    blocks[*block].extend(self.transfer(work, registers[*to], &[], &[], None));
                }
            }
        }
    }

    /// A store or load of a register; `None` for a model without such a unit.
    fn transfer(
        &self,
        work: &'static str,
        data: RegisterData,
        reads: &[Register],
        writes: &[Register],
        place: Option<Place>,
    ) -> Option<Issue> {
        let unit = self.model.unit("ls")?;
        let operation = Operation {
            work,
            units: Units(1 << unit),
            inst: None,
            place,
            reads: SmallVec::from_slice(reads),
            writes: SmallVec::from_slice(writes),
            lanes: 1,
            room: 1,
            bits: data.bits,
            memory_bits: data.bits,
            basis: Basis::Guessed,
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
    issue.operations.iter().any(|(_, operation)| operation.work == "fill")
}

fn rename(operation: &mut Operation, old: Register, new: Register) {
    let registers = operation.reads.iter_mut().chain(operation.writes.iter_mut());
    registers.filter(|register| **register == old).for_each(|register| *register = new);
}

fn place(issue: &Issue) -> Option<Place> {
    issue.operations.iter().find_map(|(_, operation)| operation.place)
}
