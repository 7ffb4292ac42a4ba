//! Registers: which are live where, how many that makes, and what is spilled when there are too few.

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
    /// Computes it; `each` calls its argument with every operation of a block, in order.
    pub(crate) fn new<'o>(
        cfg: &Cfg,
        edges: &Edges,
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
                    end.extend(passed.iter().copied());
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
    let mut now = pressure(cfg, edges, blocks, registers, most_bits);
    let spare = model.layout.spare_registers;
    let needed = count(now.bits) + spare;
    let mut spills = Spills { model, cfg, edges, whole: EntitySet::new(), kept: EntitySet::new(), bits: 0 };
    // Every round frees registers where the most are live; a kernel that has nothing left to spill keeps what it has.
    while count(now.bits) > most {
        let Some(mut at) = now.at else { break };
        let uses = uses(cfg, loops, blocks, registers);
        let mut excess = now.bits.saturating_sub(most_bits);
        let mut candidates: Vec<Register> =
            now.live.iter().copied().filter(|register| now.carried[*register] > 0).collect();
        let before = candidates.len();
        while excess > 0 {
            // Bits freed, word by word, for each load or store that it takes.
            let everywhere =
                candidates.iter().filter(|register| !spills.whole.contains(**register)).map(|register| {
                    let freed = f64::from(registers[*register].bits * now.carried[*register]);
                    (freed / uses[*register].max(1.0), *register, None)
                });
            let local = candidates.iter().filter(|register| now.local.contains(**register));
            let between = local.filter_map(|register| spills.gap(at, *register, blocks, loops, registers));
            let best = everywhere.chain(between).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some((_, victim, gap)) = best else { break };
            match gap {
                None => spills.everywhere(blocks, registers, victim, &mut at),
                Some(gap) => spills.between(blocks, registers, victim, gap, &mut at),
            }
            excess = excess.saturating_sub(registers[victim].bits);
            candidates.retain(|register| *register != victim);
        }
        if candidates.len() == before {
            break;
        }
        now = pressure(cfg, edges, blocks, registers, most_bits);
    }
    let mut live: Vec<Value> = now.live.iter().filter_map(|register| registers[*register].value).collect();
    live.sort_unstable();
    live.dedup();
    WorkRegisters {
        used: count(now.bits).min(most) + spare,
        needed,
        peak: now.at,
        live,
        spill_bytes: spills.bits / 8,
    }
}

fn pressure(
    cfg: &Cfg,
    edges: &Edges,
    blocks: &SecondaryMap<Block, Vec<Issue>>,
    registers: &PrimaryMap<Register, RegisterData>,
    most_bits: u32,
) -> Pressure {
    let live = Live::new(cfg, edges, |block| {
        blocks[block]
            .iter()
            .flat_map(|issue| issue.operations.iter().map(|(_, operation)| operation))
            .collect()
    });
    let mut peak = Pressure {
        bits: 0,
        at: None,
        live: Vec::new(),
        local: EntitySet::new(),
        carried: SecondaryMap::new(),
    };
    for block in &cfg.order {
        // Lanes of one register may be written by several operations: it is live from the first.
        let mut first_write: SecondaryMap<Register, Option<u32>> = SecondaryMap::new();
        for (position, issue) in blocks[*block].iter().enumerate() {
            for register in issue.operations.iter().flat_map(|(_, operation)| &operation.writes) {
                first_write[*register].get_or_insert(position as u32);
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
                if first_write[*register] == Some(position as u32)
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
                let made_here = writes(register) && first_write[*register] == Some(position as u32);
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

/// Words of a block between two that touch a register.
#[derive(Clone, Copy)]
struct Gap {
    block: Block,
    last: usize,
    next: usize,
}

/// What has been spilled, and how.
struct Spills<'a> {
    model: &'a Model,
    cfg: &'a Cfg,
    edges: &'a Edges,
    /// Registers that are in memory throughout, and parts of them.
    whole: EntitySet<Register>,
    /// Registers loaded again of which memory still holds the same.
    kept: EntitySet<Register>,
    bits: u32,
}

impl Spills<'_> {
    /// Where a register that is live in one block alone could leave for a while around a word, with what that frees for each
    /// load or store.
    fn gap(
        &self,
        (block, at): (Block, usize),
        register: Register,
        blocks: &SecondaryMap<Block, Vec<Issue>>,
        loops: &Loops,
        registers: &PrimaryMap<Register, RegisterData>,
    ) -> Option<(f64, Register, Option<Gap>)> {
        let issues = &blocks[block];
        let touches = |position: &usize| issues.get(*position).is_some_and(|issue| touches(issue, register));
        let last = (0..=at).rev().find(touches)?;
        let next = (at + 1..issues.len()).find(touches)?;
        // What has been loaded again stays until it is used, or two registers could drive each other out for ever.
        if last == at || is_fill(&issues[last]) {
            return None;
        }
        let transfers = if self.kept.contains(register) { 1.0 } else { 2.0 };
        let freed = f64::from(registers[register].bits) * (next - last - 1) as f64;
        let rounds = 10_f64.powi(loops.depth(block) as i32);
        Some((freed / (transfers * rounds), register, Some(Gap { block, last, next })))
    }

    /// Keeps a register in memory between two words that touch it. From the second on it is another one. `at` is a place
    /// between them, which moves.
    fn between(
        &mut self,
        blocks: &mut SecondaryMap<Block, Vec<Issue>>,
        registers: &mut PrimaryMap<Register, RegisterData>,
        victim: Register,
        gap: Gap,
        at: &mut (Block, usize),
    ) {
        let data = registers[victim];
        let part = registers.push(data);
        let kept = self.kept.contains(victim);
        let issues = &mut blocks[gap.block];
        let (stored_at, loaded_at) = (place(&issues[gap.last]), place(&issues[gap.next]));
        let mut written = false;
        for (_, operation) in issues[gap.next..].iter_mut().flat_map(|issue| &mut issue.operations) {
            written |= operation.writes.contains(&victim);
            rename(operation, victim, part);
        }
        if !written {
            self.kept.insert(part);
        }
        if let Some(fill) = self.transfer("fill", data, &[], &[part], loaded_at) {
            issues.insert(gap.next, fill);
        }
        if !kept {
            self.bits += data.bits;
            if let Some(spill) = self.transfer("spill", data, &[victim], &[], stored_at) {
                issues.insert(gap.last + 1, spill);
                at.1 += 1;
            }
        }
    }

    /// Keeps a register in memory throughout: stored behind every operation that writes it, loaded again ahead of every one
    /// that reads it. `at` is a place, which moves.
    fn everywhere(
        &mut self,
        blocks: &mut SecondaryMap<Block, Vec<Issue>>,
        registers: &mut PrimaryMap<Register, RegisterData>,
        victim: Register,
        at: &mut (Block, usize),
    ) {
        let data = registers[victim];
        self.whole.insert(victim);
        self.bits += data.bits;
        for block in &self.cfg.order {
            let mut out = Vec::with_capacity(blocks[*block].len() + 2);
            let mut moved = None;
            for (position, mut issue) in std::mem::take(&mut blocks[*block]).into_iter().enumerate() {
                if (*block, position) == *at {
                    moved = Some(out.len());
                }
                let reads = issue.operations.iter().any(|(_, operation)| operation.reads.contains(&victim));
                let writes = issue.operations.iter().any(|(_, operation)| operation.writes.contains(&victim));
                if !reads && !writes {
                    out.push(issue);
                    continue;
                }
                let part = registers.push(data);
                self.whole.insert(part);
                let place = place(&issue);
                if reads && !writes {
                    out.extend(self.transfer("fill", data, &[], &[part], place));
                }
                issue.operations.iter_mut().for_each(|(_, operation)| rename(operation, victim, part));
                out.push(issue);
                if writes {
                    out.extend(self.transfer("spill", data, &[part], &[], place));
                }
            }
            // A parameter is passed in memory.
            let passed = self.edges[*block].iter();
            if passed.into_iter().any(|(reads, writes)| reads.contains(&victim) || writes.contains(&victim)) {
                out.extend(self.transfer("spill", data, &[], &[], None));
            }
            at.1 = moved.unwrap_or(at.1);
            blocks[*block] = out;
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
