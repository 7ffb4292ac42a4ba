//! Static cost analysis of a kernel on a GPU.
//!
//! [`analyze`] prices the code that [`tripipe_machine`] generates for a kernel: cycles per pipe along the cheapest and
//! the most expensive path, symbolic in loops with unknown trip counts; registers, occupancy and the next occupancy
//! step; how adjacent work-items access memory; and, where a launch is given, its time. Nothing is executed, and
//! nothing is rendered here.

mod access;
mod budget;
mod codes;
mod columns;
mod facts;
mod launch;
pub mod lints;
mod names;
mod paths;
mod polynomial;
mod pricing;
mod result;
mod setup;

pub use access::{Stride, Times, WarpAccess};
pub use budget::{BudgetError, Figure, Limit, LimitError};
pub use columns::Column;
pub use launch::LaunchCost;
pub use lints::{Advice, Applied, Basis, Effect, Gain};
pub use paths::{ASSUMED_TRIPS, Trips};
pub use polynomial::Polynomial;
pub use result::{Analysis, Cycles, ImageAccess, LineCost, LoopCost, Registers};
pub use setup::Setup;

use cranelift_entity::SecondaryMap;
use tripipe_device::{Gpu, RegisterFile};
use tripipe_ir::flow::Cfg;
use tripipe_ir::{Block, Instruction, Kernel, Location, ObjectData, Op, Space, Value};
use tripipe_machine::{Code, Pipe};

use codes::Codes;
use facts::Facts;
use paths::{LoopTrips, PathCosts, Paths, Which};
use pricing::{BlockClocks, Pricing};

/// Prices a kernel as it is. It should have been optimised as a driver does
/// ([`tripipe_ir::front::clang::Optimization::Driver`]).
pub fn analyze(kernel: &Kernel, gpu: &'static Gpu, setup: &Setup) -> Analysis {
    each(kernel, setup, |price| price(gpu))
}

/// Prices a kernel on several GPUs, in order. Results that some of them share are computed once.
pub fn analyze_all(kernel: &Kernel, gpus: &[&'static Gpu], setup: &Setup) -> Vec<Analysis> {
    each(kernel, setup, |price| gpus.iter().map(|gpu| price(gpu)).collect())
}

/// Calls `with` with a function that prices the kernel on a GPU.
fn each<T>(kernel: &Kernel, setup: &Setup, with: impl FnOnce(&dyn Fn(&'static Gpu) -> Analysis) -> T) -> T {
    let cfg = Cfg::new(kernel);
    let facts = Facts::new(kernel, &cfg, setup);
    let paths = Paths::new(&facts);
    let codes = Codes::default();
    with(&|gpu| analysis(&facts, &paths, &codes, gpu))
}

fn analysis(facts: &Facts<'_>, paths: &Paths<'_>, codes: &Codes, gpu: &'static Gpu) -> Analysis {
    let (kernel, cfg, setup) = (facts.kernel, facts.cfg, facts.setup);
    let known = |atom| setup.value(kernel, atom);
    let code = codes.get(kernel, gpu);
    let memory = facts.launched_memory();
    let accesses = access::accesses(kernel, paths, gpu, &memory, &known);
    let mut positions = SecondaryMap::new();
    for (position, access) in accesses.iter().enumerate() {
        positions[access.inst] = u32::try_from(position).ok();
    }
    let pricing = Pricing {
        gpu,
        columns: Column::of(gpu.family()),
        code: &code,
        accesses: &accesses,
        positions: &positions,
        word_bytes: access::word_bytes(gpu),
    };
    let clocks = pricing.block_clocks(cfg);
    let mut messages: SecondaryMap<Block, f64> = SecondaryMap::new();
    for block in &cfg.order {
        for issue in &code.blocks[*block] {
            messages[*block] += f64::from(u8::from(issue.pipe == Pipe::LoadStore)) * issue.cycles;
        }
    }
    // On Valhall the columns are not sums of pipes, but they are sums of blocks as long as one column bounds: each path
    // is found per pipe, and the columns are computed from the pipes' sums.
    let pipes_of = |which, clocks: &BlockClocks| -> Vec<Polynomial> {
        let one = |pipe: &Pipe| paths.path_costs(which, &|block| clocks[block][pipe.index()]).cost();
        Pipe::ALL.iter().map(one).collect()
    };
    let path = |which, pipes: &[Polynomial]| {
        pricing.cycles(pipes, paths.path_costs(which, &|block| messages[block]).cost())
    };
    let once =
        |of: &dyn Fn(Block) -> f64| Polynomial::constant(cfg.order.iter().map(|block| of(*block)).sum());
    let total_pipes: Vec<Polynomial> =
        Pipe::ALL.iter().map(|pipe| once(&|block| clocks[block][pipe.index()])).collect();
    let total = pricing.cycles(&total_pipes, once(&|block| messages[block]));
    let of_pipes = Pipe::ALL.map(|pipe| {
        let clocks = &clocks;
        move |block: Block| clocks[block][pipe.index()]
    });
    let path_costs: Vec<PathCosts<'_, '_>> =
        of_pipes.iter().map(|of| paths.path_costs(Which::Longest, of)).collect();
    let longest_pipes: Vec<Polynomial> = path_costs.iter().map(PathCosts::cost).collect();
    let longest = path(Which::Longest, &longest_pipes);
    let mut most_clocks = clocks.clone();
    for block in &cfg.order {
        most_clocks[*block].iter_mut().zip(code.extra(*block)).for_each(|(clocks, extra)| *clocks += extra);
    }
    let most_pipes = pipes_of(Which::Longest, &most_clocks);
    let longest_at_most = pricing.columns.iter().map(|column| column.cost(gpu, &most_pipes)).collect();
    let mut emitted = [0; Pipe::ALL.len()];
    for issue in cfg.order.iter().flat_map(|block| &code.blocks[*block]) {
        emitted[issue.pipe.index()] += 1;
    }
    let mut left_out: Vec<String> = code.unknown.iter().map(|what| format!("{what}: no figure")).collect();
    if paths.irreducible {
        left_out.push("irreducible control flow: its blocks count once".into());
    }
    let (narrow_arithmetic, idle_lanes) = shares(cfg, &code);
    let extents = launch::Extents { kernel, setup, paths };
    let launch = launch::launch(&extents, &memory);
    let loops = (0..paths.trips.len()).map(|at| {
        let pipes: Vec<Polynomial> =
            path_costs.iter().map(|path_costs| path_costs.iteration(at).clone()).collect();
        let LoopTrips { header, depth, trips } = paths.trips[at].clone();
        let iteration = pricing.columns.iter().map(|column| column.cost(gpu, &pipes)).collect();
        LoopCost { header, depth, trips, iteration }
    });
    let loops = loops.collect();
    let registers = registers(kernel, gpu, &code);
    let (shares, spills) = pricing.shares(cfg);
    let weight = |block| paths.weight(block);
    let reprice = |rewritten: &Kernel| {
        let code = codes.get(rewritten, gpu);
        let clocks = Pricing { code: &code, ..pricing }.block_clocks(cfg);
        let pipes = pipes_of(Which::Longest, &clocks);
        (code, pipes)
    };
    let advice = lints::look(&lints::Context {
        kernel,
        cfg,
        gpu,
        setup,
        columns: pricing.columns,
        accesses: &accesses,
        registers: &registers,
        longest: &longest,
        pipes: &longest_pipes,
        shares: &shares,
        spills: paths.path_costs(Which::Longest, &|block| spills[block]).cost(),
        weight: &weight,
        reprice: &reprice,
        facts,
    });
    let private: u64 =
        kernel.objects.values().filter(|object| object.space == Space::Private).map(ObjectData::bytes).sum();
    let local =
        kernel.objects.values().filter(|object| object.space == Space::Local).map(ObjectData::bytes).sum();
    Analysis {
        kernel: kernel.name.clone(),
        gpu,
        columns: pricing.columns,
        emitted,
        total,
        shortest: path(Which::Shortest, &pipes_of(Which::Shortest, &clocks)),
        longest,
        longest_at_most,
        registers,
        narrow_arithmetic,
        idle_lanes,
        stack_bytes: private + u64::from(code.work.spill_bytes),
        local_bytes: local,
        hoisted: code.hoisted.len(),
        loops,
        images: images(kernel, cfg),
        lines: pricing.lines(kernel, cfg, paths),
        launch,
        advice,
        left_out,
        blocks: clocks,
        accesses,
    }
}

/// Reads and writes of images.
fn images(kernel: &Kernel, cfg: &Cfg) -> Vec<ImageAccess> {
    let all = cfg.order.iter().flat_map(|block| &kernel.blocks[*block].insts);
    let data = all.map(|inst| &kernel.insts[*inst]);
    let access = |data: &Instruction| {
        let writes = match data.op {
            Op::ImageRead { .. } | Op::ImageSample { .. } => false,
            Op::ImageWrite { .. } => true,
            _ => return None,
        };
        let image = names::value_name(kernel, *data.operands.first()?);
        Some(ImageAccess { location: data.location, image, writes })
    };
    data.filter_map(access).collect()
}

/// The fraction of arithmetic that is narrow, and the fraction of lanes that idle.
fn shares(cfg: &Cfg, code: &Code) -> (Option<f64>, Option<f64>) {
    let (mut all, mut narrow, mut lanes, mut room) = (0.0, 0.0, 0_u64, 0_u64);
    for issue in cfg.order.iter().flat_map(|block| &code.blocks[*block]) {
        if matches!(issue.pipe, Pipe::LoadStore | Pipe::Texture) {
            continue;
        }
        for (position, (unit, operation)) in issue.operations.iter().enumerate() {
            all += 1.0;
            if operation.bits <= 16 {
                narrow += 1.0;
            }
            lanes += u64::from(operation.lanes);
            // Two operations on one unit share its lanes.
            if !issue.operations[..position].iter().any(|(other, _)| other == unit) {
                room += u64::from(operation.room);
            }
        }
    }
    if all == 0.0 {
        return (None, None);
    }
    (Some(narrow / all), Some(1.0 - lanes as f64 / room.max(1) as f64))
}

fn registers(kernel: &Kernel, gpu: &Gpu, code: &Code) -> Registers {
    let work = code.work.clone();
    let required = kernel.sub_group_size(Some(gpu.opencl()));
    let occupancy = gpu.occupancy(work.used, required);
    let next_step = (1..work.used).rev().find_map(|fewer| {
        let more = gpu.occupancy(fewer, required).threads;
        (more > occupancy.threads).then_some((work.used - fewer, more))
    });
    let peak = work.peak.and_then(|(block, position)| {
        let issues = code.blocks[block].iter().skip(position);
        issues.flat_map(|issue| &issue.operations).find_map(|(_, operation)| operation.location)
    });
    let width = match &gpu.registers.file {
        RegisterFile::Steps(_) if gpu.registers.width_bits.value == 128 => 128,
        _ => 32,
    };
    let peak = peak.or_else(|| value_place(kernel, work.live.first().copied()));
    Registers { peak, uniform: code.uniform_bits.div_ceil(width), occupancy, next_step, work }
}

fn value_place(kernel: &Kernel, value: Option<Value>) -> Option<Location> {
    kernel.insts[kernel.defining(value?)?].location
}
