//! Converts compiled code to clocks of each pipe, block, instruction and line.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use tripipe_device::Gpu;
use tripipe_ir::flow::Cfg;
use tripipe_ir::{Block, Inst, Kernel, Location};
use tripipe_machine::{Code, Pipe, Work};

use crate::paths::Paths;
use crate::{ASSUMED_TRIPS, Column, Cycles, LineCost, Polynomial, WarpAccess, lints};

/// Clocks of each pipe that a block takes when it runs once.
pub(crate) type BlockClocks = SecondaryMap<Block, [f64; Pipe::ALL.len()]>;

#[derive(Clone, Copy)]
pub(crate) struct Pricing<'a> {
    pub(crate) gpu: &'static Gpu,
    pub(crate) columns: &'static [Column],
    pub(crate) code: &'a Code,
    pub(crate) accesses: &'a [WarpAccess],
    /// The position of each instruction's access among them.
    pub(crate) positions: &'a SecondaryMap<Inst, Option<u32>>,
    /// Bytes of the widest load or store.
    pub(crate) word_bytes: u32,
}

impl Pricing<'_> {
    /// Clocks of its pipe that an issue takes: for a load or store, the cache lines that its warp touches, divided by
    /// the warp's work-items.
    fn clocks(&self, issue: &tripipe_machine::Issue) -> f64 {
        if issue.pipe != Pipe::LoadStore {
            return issue.cycles;
        }
        let warp = f64::from(self.gpu.core.warp_width.value.max(1));
        let line = f64::from(self.gpu.memory.cache_line_bytes.value.max(1));
        let cycles = issue.operations.iter().map(|(_, operation)| {
            let Some(access) = operation.inst.and_then(|inst| self.access(inst)) else {
                // Spills and barriers: a work-item's own memory, adjacent to its neighbours'.
                return (f64::from(operation.memory_bits) / 8.0 * warp / line).ceil().max(1.0) / warp;
            };
            let pieces = f64::from(access.bytes.div_ceil(self.word_bytes).max(1));
            let share = (f64::from(operation.memory_bits) / 8.0 / f64::from(access.bytes.max(1))).min(1.0);
            let lines = f64::from(access.lines) * share.max(1.0 / pieces.max(1.0));
            lines.max(1.0) / warp
        });
        if warp > 1.0 { cycles.sum() } else { issue.cycles }
    }

    pub(crate) fn block_clocks(&self, cfg: &Cfg) -> BlockClocks {
        let mut clocks = BlockClocks::new();
        for block in &cfg.order {
            for issue in &self.code.blocks[*block] {
                clocks[*block][issue.pipe.index()] += self.clocks(issue);
            }
        }
        clocks
    }

    fn access(&self, inst: Inst) -> Option<&WarpAccess> {
        self.accesses.get(self.positions[inst]? as usize)
    }

    pub(crate) fn cycles(&self, pipes: &[Polynomial], messages: Polynomial) -> Cycles {
        let columns: Vec<Polynomial> =
            self.columns.iter().map(|column| column.cost(self.gpu, pipes)).collect();
        let weigh = |polynomial: &Polynomial| polynomial.evaluate(ASSUMED_TRIPS);
        let most = columns.iter().map(weigh).fold(0.0, f64::max);
        let bound = (0..columns.len())
            .filter(|at| most > 0.0 && weigh(&columns[*at]) >= most * (1.0 - 1e-9))
            .collect();
        Cycles { columns, pipes: pipes.to_vec(), messages, bound }
    }

    /// The cost of each instruction, and for each block the cost of its spills.
    pub(crate) fn shares(&self, cfg: &Cfg) -> (Vec<lints::Share>, SecondaryMap<Block, f64>) {
        let mut shares = Vec::new();
        let mut spills: SecondaryMap<Block, f64> = SecondaryMap::new();
        for block in &cfg.order {
            for issue in &self.code.blocks[*block] {
                let clocks = self.clocks(issue) / issue.operations.len().max(1) as f64;
                for (_, operation) in &issue.operations {
                    match operation.inst {
                        Some(inst) => {
                            shares.push(lints::Share {
                                inst,
                                block: *block,
                                pipe: issue.pipe,
                                clocks,
                                lanes: operation.lanes,
                                room: operation.room,
                                bits: operation.bits,
                            });
                        }
                        None if matches!(operation.work, Work::Spill | Work::Fill) => {
                            spills[*block] += clocks;
                        }
                        None => {}
                    }
                }
            }
        }
        (shares, spills)
    }

    /// The cost of each line.
    pub(crate) fn lines(&self, kernel: &Kernel, cfg: &Cfg, paths: &Paths<'_>) -> Vec<LineCost> {
        let mut lines: BTreeMap<(u32, u32), (Location, Vec<Polynomial>)> = BTreeMap::new();
        for block in &cfg.order {
            let weight = paths.weight(*block);
            for issue in &self.code.blocks[*block] {
                // The cost of a word is divided among its operations.
                let share = self.clocks(issue) / issue.operations.len().max(1) as f64;
                for (_, operation) in &issue.operations {
                    let Some(location) = operation.location else { continue };
                    let data = kernel.own_location(location);
                    if data.line == 0 {
                        continue;
                    }
                    let entry = lines
                        .entry((data.file.as_u32(), data.line))
                        .or_insert_with(|| (location, vec![Polynomial::default(); Pipe::ALL.len()]));
                    let pipe = &mut entry.1[issue.pipe.index()];
                    pipe.add_times(&weight, share);
                }
            }
        }
        lines
            .into_values()
            .map(|(location, pipes)| LineCost {
                location,
                columns: self.columns.iter().map(|column| column.cost(self.gpu, &pipes)).collect(),
            })
            .collect()
    }
}
