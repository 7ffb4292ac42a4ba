//! Registers: which are live where, how many that makes, and what is spilled when there are too few.

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use tripipe_device::{Basis, Gpu};
use tripipe_ir::flow::{Cfg, Loops};
use tripipe_ir::{Block, Value};

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
    /// For each register, the words with too many live registers that it is only carried past.
    carried: SecondaryMap<Register, u32>,
}

/// Registers that the compiler gives out before it spills, in the GPU's own count.
pub(crate) fn register_limit(gpu: &Gpu, model: &Model) -> u32 {
    match model.layout.register_limit {
        0 => gpu.registers.max.value,
        limit => limit,
    }
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
    let most = register_limit(gpu, model);
    let count = |bits: u32| bits.div_ceil(width).max(1);
    let mut spilled_bits = 0;
    let most_bits = most * width;
    let mut now = pressure(cfg, edges, blocks, registers, most_bits);
    let needed = count(now.bits);
    let mut spilled: EntitySet<Register> = EntitySet::new();
    // Every round spills one register; a kernel that has nothing left to spill keeps what it has.
    while count(now.bits) > most {
        let uses = uses(cfg, loops, blocks, registers);
        let worth = |register: Register| {
            f64::from(registers[register].bits * now.carried[register]) / uses[register].max(1.0)
        };
        let candidates = now
            .live
            .iter()
            .copied()
            .filter(|register| now.carried[*register] > 0 && !spilled.contains(*register));
        let Some(victim) = candidates.max_by(|a, b| worth(*a).total_cmp(&worth(*b)).then(b.cmp(a))) else {
            break;
        };
        spilled.insert(victim);
        spilled_bits += registers[victim].bits;
        spill(model, cfg, edges, blocks, registers, victim, &mut spilled);
        now = pressure(cfg, edges, blocks, registers, most_bits);
    }
    let mut live: Vec<Value> = now.live.iter().filter_map(|register| registers[*register].value).collect();
    live.sort_unstable();
    live.dedup();
    WorkRegisters {
        used: count(now.bits).min(most),
        needed,
        peak: now.at,
        live,
        spill_bytes: spilled_bits / 8,
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
    let mut peak = Pressure { bits: 0, at: None, live: Vec::new(), carried: SecondaryMap::new() };
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

/// Keeps a register in memory: stored behind every operation that writes it, loaded again ahead of every one that
/// reads it.
fn spill(
    model: &Model,
    cfg: &Cfg,
    edges: &Edges,
    blocks: &mut SecondaryMap<Block, Vec<Issue>>,
    registers: &mut PrimaryMap<Register, RegisterData>,
    victim: Register,
    spilled: &mut EntitySet<Register>,
) {
    let Some(unit) = model.unit("ls") else { return };
    let data = registers[victim];
    let transfer = |work, reads: &[Register], writes: &[Register]| {
        schedule::alone(
            model,
            Operation {
                work,
                units: Units(1 << unit),
                inst: None,
                place: None,
                reads: SmallVec::from_slice(reads),
                writes: SmallVec::from_slice(writes),
                lanes: 1,
                room: 1,
                bits: data.bits,
                memory_bits: data.bits,
                basis: Basis::Guessed,
            },
        )
    };
    for block in &cfg.order {
        let mut out = Vec::with_capacity(blocks[*block].len() + 2);
        let passed =
            edges[*block].iter().any(|(reads, writes)| reads.contains(&victim) || writes.contains(&victim));
        for mut issue in std::mem::take(&mut blocks[*block]) {
            let reads = issue.operations.iter().any(|(_, operation)| operation.reads.contains(&victim));
            let writes = issue.operations.iter().any(|(_, operation)| operation.writes.contains(&victim));
            if reads || writes {
                let part = registers.push(data);
                spilled.insert(part);
                if reads && !writes {
                    out.push(transfer("fill", &[], &[part]));
                }
                for (_, operation) in &mut issue.operations {
                    let registers = operation.reads.iter_mut().chain(operation.writes.iter_mut());
                    registers.filter(|register| **register == victim).for_each(|register| *register = part);
                }
                let place = issue.operations[0].1.place;
                out.push(issue);
                if writes {
                    out.push(transfer("spill", &[part], &[]));
                }
                let from = out.len().saturating_sub(3);
                for (_, operation) in out[from..].iter_mut().flat_map(|issue| &mut issue.operations) {
                    operation.place = operation.place.or(place);
                }
            } else {
                out.push(issue);
            }
        }
        // A parameter is passed in memory.
        if passed {
            out.push(transfer("spill", &[], &[]));
        }
        blocks[*block] = out;
    }
}
