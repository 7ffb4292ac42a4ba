//! Register liveness and allocation: which registers are live at each point, and how many are needed.

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use tripipe_device::Gpu;
use tripipe_ir::flow::{Cfg, Loops};
use tripipe_ir::{Block, Value};

use crate::code::{Issue, Operation, Register, RegisterData, WorkRegisters};
use crate::lower::Edges;
use crate::model::Model;
use crate::spill::{SpillCandidate, Spills};
use crate::work::Work;

/// Registers live at the ends of blocks.
pub(crate) struct Live {
    pub(crate) at_start: SecondaryMap<Block, EntitySet<Register>>,
    pub(crate) at_end: SecondaryMap<Block, EntitySet<Register>>,
}

impl Live {
    /// Computes liveness. `operations` returns the operations of a block, in order; the registers in `memory` are
    /// passed to the next block in memory.
    pub(crate) fn new<'o>(
        cfg: &Cfg,
        edges: &Edges,
        memory: &EntitySet<Register>,
        operations: impl Fn(Block) -> Vec<&'o Operation>,
    ) -> Self {
        // Registers that a block reads before it writes them, and registers that it writes.
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
                // Parameters of the successors are defined here, from the registers that are passed.
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

/// The point where the most registers are live. If there are too many: which registers are live but unused.
pub(crate) struct Pressure {
    bits: u32,
    at: Option<(Block, usize)>,
    pub(crate) live: Vec<Register>,
    /// The registers of `live` that are live in that block only.
    pub(crate) local: EntitySet<Register>,
    /// For each register, the number of words over the register limit that it is live across without being used.
    pub(crate) carried: SecondaryMap<Register, u32>,
}

/// The most registers that can be live before the compiler spills, in units of the GPU's register width: all that the
/// GPU has.
pub(crate) fn most_live(gpu: &Gpu, model: &Model) -> u32 {
    gpu.registers.max.value.saturating_sub(model.layout.spare_registers).max(1)
}

/// The most registers that can be live while the compiler keeps to those that it prefers; `None` if it prefers none.
pub(crate) fn preferred_live(gpu: &Gpu, model: &Model) -> Option<u32> {
    let preferred = model.layout.preferred_registers.saturating_sub(model.layout.spare_registers);
    (preferred > 0 && preferred < most_live(gpu, model)).then_some(preferred)
}

/// The share of spills and fills among the words of a work-item; a loop counts as ten iterations.
pub(crate) fn spill_share(cfg: &Cfg, loops: &Loops, blocks: &SecondaryMap<Block, Vec<Issue>>) -> f64 {
    let (mut all, mut spills) = (0.0, 0.0);
    for block in &cfg.order {
        let weight = weight(loops, *block);
        for issue in &blocks[*block] {
            all += weight;
            let moves = |work| matches!(work, Work::Spill | Work::Fill);
            if issue.operations.iter().any(|(_, operation)| moves(operation.work)) {
                spills += weight;
            }
        }
    }
    if all > 0.0 { spills / all } else { 0.0 }
}

/// How often a block is assumed to run: ten times for each enclosing loop.
pub(crate) fn weight(loops: &Loops, block: Block) -> f64 {
    10_f64.powi(loops.depth(block) as i32)
}

/// Counts registers, spills those in excess of `most`, and returns how many are used.
#[allow(clippy::too_many_arguments, reason = "the parts of the code, apart")]
pub(crate) fn allocate(
    gpu: &Gpu,
    model: &Model,
    cfg: &Cfg,
    loops: &Loops,
    blocks: &mut SecondaryMap<Block, Vec<Issue>>,
    registers: &mut PrimaryMap<Register, RegisterData>,
    edges: &Edges,
    most: u32,
) -> WorkRegisters {
    let width = gpu.registers.width_bits.value.max(1);
    let count = |bits: u32| bits.div_ceil(width).max(1);
    let most_bits = most * width;
    let mut live = live(cfg, edges, &EntitySet::new(), blocks);
    let mut now = pressure(cfg, &live, blocks, registers, most_bits);
    let spare = model.layout.spare_registers;
    let needed = count(now.bits) + spare;
    let mut spills = Spills::new(model, cfg, edges);
    // Each iteration frees registers at the peak. It stops when nothing is left to spill, even if the excess remains.
    while count(now.bits) > most {
        let Some(at) = now.at else { break };
        let mut ways = spills.ways(&now, at, &uses(cfg, loops, blocks, registers), blocks, loops, registers);
        ways.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.register.cmp(&b.register)));
        let mut excess = now.bits.saturating_sub(most_bits);
        let mut chosen: Vec<SpillCandidate> = Vec::new();
        for way in ways {
            let same =
                |other: &SpillCandidate| spills.place_of(other.register) == spills.place_of(way.register);
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
    // Several operations may write the lanes of one register. In a block, it is live from the first of them.
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
            // A result that is not needed later still occupies a register at this point. A result that another
            // operation of the same word reads does not: it passes between the stages.
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

/// How often each register is read and written, weighted by a factor of ten for each enclosing loop.
fn uses(
    cfg: &Cfg,
    loops: &Loops,
    blocks: &SecondaryMap<Block, Vec<Issue>>,
    registers: &PrimaryMap<Register, RegisterData>,
) -> SecondaryMap<Register, f64> {
    let mut uses = SecondaryMap::with_capacity(registers.len());
    for block in &cfg.order {
        let weight = weight(loops, *block);
        for (_, operation) in blocks[*block].iter().flat_map(|issue| &issue.operations) {
            for register in operation.reads.iter().chain(&operation.writes) {
                uses[*register] += weight;
            }
        }
    }
    uses
}
