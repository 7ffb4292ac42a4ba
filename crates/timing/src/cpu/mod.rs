//! How long a kernel takes on one core of a CPU, as a loop over its work-items.
//!
//! From the same recorded work-groups as on GPUs: the instructions of the blocks that work-items enter, by the pipes
//! that they occupy, and the cache lines that loads and stores touch. A core issues at a share of its width that is
//! fitted ([`tripipe_device::Cpu::issue_efficiency`]); a loop of one block takes at least its longest chain of
//! dependences; a load that misses the L1 waits for the L2 unless the line before it is there, because then it has been
//! prefetched; DRAM takes as long as its lines do at the core's bandwidth.
//!
//! Dimension 0 is the innermost loop. In the *serial* form one work-item runs after another. In the *NEON* form 64
//! work-items run together where they take the same path, in registers of 128 bits; elsewhere one after another.
//!
//! Not modelled: mispredicted branches, address translation, the latency of DRAM, other cores, what goes back to DRAM
//! of data updated in place, and the cost of division and of library functions, which count as one operation each.
//! Images are refused.

mod cost;
mod lines;

use std::collections::HashMap;

use cranelift_entity::SecondaryMap;
use tripipe_device::Cpu;
use tripipe_ir::Block;
use tripipe_ir::front::clang;
use tripipe_launch::{ExecuteError, Launch};
use tripipe_simulate::trace::{GroupTrace, Tracer, WarpTrace};
use tripipe_simulate::{Options, Simulator};

use crate::census::Census;
use cost::{BlockCost, IssueCounts};
use lines::{Caches, Form};

/// Work-items that are played together, if the kernel does not choose otherwise.
const ITEMS: usize = 64;

/// The time of a launch on a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuTimes {
    /// Seconds of the serial form.
    pub serial: f64,
    /// Seconds of the NEON form.
    pub neon: f64,
    /// Relative uncertainty of both from playing only some work-groups.
    pub sampling_error: f64,
}

/// A simulator for [`predict`].
pub fn simulator() -> Simulator {
    let build = clang::Build {
        optimization: clang::Optimization::Driver,
        cache: clang::Cache::from_environment(),
        ..clang::Build::default()
    };
    Simulator::new(Options { build, ..Options::default() })
}

/// Predicts the time of a launch on one core at a clock in MHz. Memory keeps its contents.
///
/// # Errors
/// The launch cannot run; [`ExecuteError::NotOffered`]: the kernel uses images.
pub fn predict(
    simulator: &mut Simulator,
    launch: &Launch,
    cpu: &Cpu,
    clock_mhz: f64,
) -> Result<CpuTimes, ExecuteError> {
    let kernel = simulator.kernel(&launch.program, &launch.entry)?;
    let costs = cost::costs(kernel, cpu);
    let mut launch = launch.clone();
    // A kernel that reads the number or the size of its group may compute something else in other groups.
    if launch.range.local_size().is_none() && !kernel.depends_on_groups() {
        launch.range = launch.range.local(ITEMS.min(launch.range.global_size()[0]), 1, 1);
    }
    simulator.trace(&launch, |tracer| {
        if !tracer.images().is_empty() {
            return Err(ExecuteError::NotOffered { what: "images".to_owned(), device: cpu.name.clone() });
        }
        let mut player = Player { tracer, cpu, costs, clock_mhz, rows: [false; 2], known: HashMap::new() };
        player.rows = player.rows_that_stay()?;
        let groups = player.tracer.groups();
        // A census for each form, because each refines where its own clocks vary.
        let serial = Census::take(groups, &mut |group| player.clocks(group).map(|clocks| clocks[0]))?;
        let neon = Census::take(groups, &mut |group| player.clocks(group).map(|clocks| clocks[1]))?;
        let hz = clock_mhz * 1e6;
        Ok(CpuTimes {
            serial: serial.total() / hz,
            neon: neon.total() / hz,
            sampling_error: serial.error.max(neon.error),
        })
    })
}

struct Player<'t, 'l> {
    tracer: &'t mut Tracer<'l>,
    cpu: &'t Cpu,
    costs: SecondaryMap<Block, BlockCost>,
    clock_mhz: f64,
    /// Whether what a row of work-items touches is still in the L1, and in the L2, when the next row starts.
    rows: [bool; 2],
    /// Clocks of the groups that were played, in both forms.
    known: HashMap<u64, [f64; 2]>,
}

impl Player<'_, '_> {
    /// The group before another in a dimension.
    fn before(&self, group: u64, dimension: usize) -> Option<u64> {
        let [x, y, _] = self.tracer.groups();
        let (at, step) = if dimension == 0 { (group % x, 1) } else { (group / x % y, x) };
        (at > 0).then(|| group - step)
    }

    /// [`Self::rows`], from how many new lines a group in the middle touches after its neighbour.
    fn rows_that_stay(&mut self) -> Result<[bool; 2], ExecuteError> {
        let groups = self.tracer.groups();
        // In the middle, because borders access fewer lines.
        let middle = groups[0] / 2 + groups[0] * (groups[1] / 2 + groups[1] * (groups[2] / 2));
        let mut caches = Caches::new(self.cpu);
        let before = self.before(middle, 0).map(|before| self.tracer.group(before)).transpose()?;
        let trace = self.tracer.group(middle)?;
        if let Some(before) = &before {
            caches.play(before, Form::Serial);
        }
        let touched = caches.dram_lines;
        caches.play(&trace, Form::Serial);
        // Less what the neighbour has touched: what a whole row adds, not what each of its groups accesses.
        let bytes = (caches.dram_lines - touched) as f64 * self.cpu.line_bytes.value * groups[0] as f64;
        Ok([bytes <= self.cpu.l1_data_bytes.value, bytes <= self.cpu.l2_bytes.value])
    }

    /// Clocks of a group in both forms, with the caches as its predecessors leave them.
    fn clocks(&mut self, group: u64) -> Result<[f64; 2], ExecuteError> {
        // Both censuses ask for the same groups, and tracing takes longer than playing.
        if let Some(known) = self.known.get(&group) {
            return Ok(*known);
        }
        let [stays_near, stays] = self.rows;
        // If a row does not fit into the L2, nothing is left of the one above.
        let above = self.before(group, 1).filter(|_| stays);
        let above = above.map(|above| self.tracer.group(above)).transpose()?;
        let before = self.before(group, 0).map(|before| self.tracer.group(before)).transpose()?;
        let trace = self.tracer.group(group)?;
        let clocks = [Form::Serial, Form::Neon].map(|form| {
            let mut caches = Caches::new(self.cpu);
            if let Some(above) = &above {
                caches.play(above, form);
            }
            // A whole row ran since the group above. An L1 that is too small for it has lost everything.
            if !stays_near {
                caches.empty_l1();
            }
            if let Some(before) = &before {
                caches.play(before, form);
            }
            let (lines, waits) = (caches.dram_lines, caches.waits);
            caches.play(&trace, form);
            let (lines, waits) = ((caches.dram_lines - lines) as f64, (caches.waits - waits) as f64);
            // The latency of a hit in the L1 is already in the chains.
            let wait = waits * (self.cpu.l2_hit.value - self.cpu.load.value);
            let bytes = lines * self.cpu.line_bytes.value;
            let dram = bytes / (self.cpu.one_core_gb_s.value * 1e9) * self.clock_mhz * 1e6;
            // Prefetching overlaps DRAM with the computation, so the longer one counts.
            (self.issue(&trace, form) + wait).max(dram)
        });
        self.known.insert(group, clocks);
        Ok(clocks)
    }

    /// Clocks in which the instructions of a group are issued.
    fn issue(&self, trace: &GroupTrace, form: Form) -> f64 {
        trace.warps.iter().map(|warp| self.issue_warp(warp, form)).sum()
    }

    fn issue_warp(&self, warp: &WarpTrace, form: Form) -> f64 {
        let (mut clocks, mut accesses) = (0.0, warp.accesses());
        for (index, visit) in warp.visits().iter().enumerate() {
            // Accesses are in the order of visits, so those of this visit come first.
            let here = accesses.iter().take_while(|(of, _)| *of as usize <= index).count();
            let (own, rest) = accesses.split_at(here);
            accesses = rest;
            let cost = &self.costs[visit.block];
            let items = f64::from(visit.mask.count_ones());
            // Work-items that take different paths cannot share vectors.
            if form == Form::Neon && visit.mask == warp.lanes && items > 1.0 {
                let mut counts = cost.shared;
                counts.add(cost.neon, items);
                for (_, access) in own {
                    counts.add(lines::neon(warp, access, self.cpu), 1.0);
                }
                // Chains of different work-items are independent and overlap.
                clocks += counts.clocks(self.cpu).max(cost.chain);
            } else {
                let mut counts = IssueCounts::default();
                counts.add(cost.serial, items);
                for (_, access) in own {
                    counts.add(lines::serial(access), 1.0);
                }
                clocks += counts.clocks(self.cpu).max(cost.chain * items);
            }
        }
        clocks
    }
}
