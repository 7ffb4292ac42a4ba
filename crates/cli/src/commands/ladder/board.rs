//! The core of a board beside its GPU, on a ladder.

use anyhow::{Context, Result, anyhow};
use tripipe::VirtualDevice;
use tripipe_device::Board;
use tripipe_ladders::ladder::Step;
use tripipe_ladders::published::Published;
use tripipe_ladders::{Problem, Size, gemm, laplace};
use tripipe_launch::Executor as _;
use tripipe_results::{Crossover, CrossoverPoint, LadderCore};
use tripipe_timing::cpu::{self, CpuTimes};

/// Rows and columns of the products with which the GPU overtakes the core.
const EXTENTS: [usize; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];
/// The step of these products on the GPU: the published one.
const ON_GPU: &str = "float4-dot";

/// The core's times of a ladder's first step at these sizes; `None` for ladders that have no problems without results.
pub(super) fn core(
    board: &Board,
    ladder: &str,
    sizes: &[Size],
    compared: bool,
) -> Result<Option<LadderCore>> {
    let mut core = LadderCore {
        name: board.cpu.value.name.clone(),
        board: board.name.clone(),
        clock_mhz: board.cpu_clock_mhz.value,
        ..LadderCore::default()
    };
    for size in sizes {
        let (step, problem) = match ladder {
            "laplace" => (laplace::LADDER.steps.first(), laplace::unsolved(*size)),
            "gemm" => (gemm::LADDER.steps.first(), gemm::unsolved(*size)),
            _ => return Ok(None),
        };
        let times = on_core(board, step, &problem)?;
        core.serial_seconds.push(times.serial);
        core.neon_seconds.push(times.neon);
    }
    let published = Published::load()?.laplace_t604;
    if compared && ladder == "laplace" && board.gpu.value.id() == published.gpu {
        let columns = published.sizes();
        let find = |size: &Size| columns.iter().position(|column| column == size);
        let seconds = |size| published.cpu_seconds.get(find(size)?).copied();
        core.published_seconds = sizes.iter().map(seconds).collect();
        core.host_seconds = Some(published.cpu_host_seconds);
    }
    Ok(Some(core))
}

fn on_core(board: &Board, step: Option<&Step>, problem: &Problem) -> Result<CpuTimes> {
    let cpu = board.cpu.value;
    let mut simulator = cpu::simulator();
    let step = step.ok_or_else(|| anyhow!("the ladder has no steps"))?;
    let variants = (step.plan)(problem, simulator.probe())?;
    let plan = &variants.first().ok_or_else(|| anyhow!("{} has no variant", step.name))?.plan;
    let bound = plan.bind(&mut simulator, &[])?;
    let mut sum = CpuTimes { serial: 0.0, neon: 0.0, sampling_error: 0.0 };
    for launch in &bound.launches {
        let times = cpu::predict(&mut simulator, launch, cpu, board.cpu_clock_mhz.value)
            .with_context(|| format!("{} at {} on {}", step.name, problem.size, cpu.name))?;
        sum.serial += times.serial;
        sum.neon += times.neon;
        sum.sampling_error = sum.sampling_error.max(times.sampling_error);
    }
    Ok(sum)
}

/// Products of growing matrices on the GPU and the core of a board.
pub(super) fn crossover(board: &Board, device: &VirtualDevice) -> Result<Crossover> {
    let step = gemm::LADDER.step(ON_GPU).ok_or_else(|| anyhow!("there is no step {ON_GPU}"))?;
    let mut points = Vec::new();
    for n in EXTENTS {
        let problem = gemm::unsolved(Size::Matrix { m: n, n, k: n });
        let times = on_core(board, gemm::LADDER.steps.first(), &problem)?;
        let mut gpu = device.clone().time_only(true).executor();
        let variants = (step.plan)(&problem, gpu.probe())?;
        let plan = &variants.first().ok_or_else(|| anyhow!("{ON_GPU} has no variant"))?.plan;
        let mut staged = plan.stage(&mut gpu)?;
        let packing = staged.prepare()?.unwrap_or(0.0);
        let gpu_seconds = board.launch_us.value * 1e-6 + staged.run()?;
        // A copy reads and writes each byte.
        let copies = 2.0 * problem.work.bytes / (board.cpu.value.one_core_gb_s.value * 1e9);
        let maps = 3.0 * board.map_us.value * 1e-6;
        points.push(CrossoverPoint {
            n,
            gpu_seconds,
            with_transfers_seconds: gpu_seconds + packing + copies + maps,
            serial_seconds: times.serial,
            neon_seconds: times.neon,
        });
    }
    // From the last size at which the core is not slower.
    let from = |core: fn(&CrossoverPoint) -> f64| {
        let lost = points.iter().rposition(|point| core(point) <= point.with_transfers_seconds);
        points.get(lost.map_or(0, |lost| lost + 1)).map(|point| point.n)
    };
    let published = Published::load()?;
    let is_published = board.gpu.value.id() == published.laplace_t604.gpu;
    Ok(Crossover {
        step: ON_GPU.to_owned(),
        over_serial: from(|point| point.serial_seconds),
        over_neon: from(|point| point.neon_seconds),
        plateau: points.last().map_or(0.0, |point| point.serial_seconds / point.gpu_seconds),
        published_plateau: is_published.then_some(published.gemm_fp32_t604.plateau_speedup_over_serial_a15),
        points,
    })
}
