//! Matrix products in float on the first OpenCL device, compared with `CLBlast` if that can be built.
//!
//! `cargo bench -p tripipe-conformance --bench gemm` prints a JSON object for each size: the rate with the table's
//! parameters, with both operands packed each time and with B packed ahead, and `CLBlast`'s rate. Rates are in 10^9
//! operations per second, from wall time until the device is done: the best and the median of the rounds, in which the
//! contenders alternate. Each result is verified first. The device's measured ceiling is printed before; a product
//! above 105 % of it ends the run with an error, because the ceiling must then be wrong.

#![allow(clippy::print_stdout, reason = "standard output is what a benchmark is for")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tripipe_kernels::gemm::{
    Elements, Gemm, OperandState, Parameters, ProductExtents, Reference, default_parameters, plan,
};
use tripipe_launch::{Access, Executor, MemoryKind, ScalarType};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};
use tripipe_tune::bench::sample;

const SIZES: [usize; 4] = [256, 512, 1024, 2048];
const TURNS: usize = 5;
const ROUNDS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let devices = devices()?;
    let device = devices.first().ok_or("no OpenCL device")?;
    let mut executor = OpenClExecutor::new(device, &ExecutorOptions::default())?;
    let folder = tempfile::tempdir()?;
    let clblast = build_clblast(folder.path());
    let ceiling = tripipe_kernels::ceilings::measure(&mut executor, ScalarType::F32)?.operations_per_second;
    println!("{}", json!({ "ceiling": (ceiling * 1e-8).round() / 10.0 }));
    for size in SIZES {
        let gemm = Gemm::new(Elements::F32, ProductExtents { m: size, n: size, k: size });
        let choice = default_parameters(&gemm, executor.probe());
        let mut rows = [Vec::new(), Vec::new(), Vec::new()];
        for turn in 0..TURNS {
            for (row, given) in rows.iter_mut().zip([OperandState::Changing, OperandState::Constant]) {
                row.extend(times(&mut executor, &gemm, &choice.parameters, given, turn == 0)?);
            }
            if let Some(host) = &clblast {
                rows[2].extend(clblast_times(host, size)?);
            }
        }
        let least = rows[..2].iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let share = 100.0 * gemm.operations() / least / ceiling;
        let [changing, constant, clblast] = rows.map(|seconds| rates(&gemm, seconds));
        let parameters = choice.parameters.to_string();
        let line = json!({
            "size": size, "parameters": parameters, "packed each time": changing, "b packed in advance": constant,
            "clblast": clblast, "% of the ceiling": share.round(),
        });
        println!("{line}");
        if share > 105.0 {
            return Err(format!("{share:.0} % of the measured ceiling: it was measured too low").into());
        }
    }
    Ok(())
}

fn rates(gemm: &Gemm, mut seconds: Vec<f64>) -> Value {
    seconds.sort_by(f64::total_cmp);
    let rate = |seconds: &f64| (gemm.operations() / seconds * 1e-8).round() / 10.0;
    match seconds.as_slice() {
        [] => Value::Null,
        [best, ..] => json!({ "best": rate(best), "median": rate(&seconds[seconds.len() / 2]) }),
    }
}

fn times(
    executor: &mut dyn Executor,
    gemm: &Gemm,
    parameters: &Parameters,
    b: OperandState,
    verify: bool,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let operands = sample(gemm, 1);
    let mut memory = Vec::new();
    for (operand, bytes) in gemm.operands().iter().zip(&operands) {
        let kind = MemoryKind::Buffer { bytes: bytes.len() };
        memory.push((operand.role, executor.allocate(&kind, Access::ReadWrite, Some(bytes))?));
    }
    let bound =
        plan(gemm, parameters, executor.probe(), [OperandState::Changing, b])?.bind(executor, &memory)?;
    executor.run(&bound.preparation)?;
    executor.run(&bound.launches)?;
    if verify {
        let mut c = vec![0; operands[2].len()];
        executor.read(memory[2].1, 0, &mut c)?;
        let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        Reference::new(gemm, &slices)?.verify(&operands[2], &c)?;
    }
    let mut seconds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        executor.run(&bound.launches)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    bound.release(executor);
    for (_, id) in memory {
        executor.release(id)?;
    }
    Ok(seconds)
}

/// The host program that calls `CLBlast`; `None`, with a message, if there is no compiler or library.
fn build_clblast(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/clblast_gemm.cpp");
    let host = folder.join("clblast_gemm");
    let built =
        Command::new("c++").arg("-O2").arg(source).args(["-lclblast", "-lOpenCL", "-o"]).arg(&host).output();
    if built.is_ok_and(|output| output.status.success()) {
        return Some(host);
    }
    println!("{}", json!({ "left out": "CLBlast: c++ cannot build a program that uses it" }));
    None
}

/// The seconds of each round of a turn.
fn clblast_times(host: &Path, size: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    let output = Command::new(host).args([size.to_string(), ROUNDS.to_string()]).output()?;
    if !output.status.success() {
        return Err(format!("{} failed at {size}", host.display()).into());
    }
    Ok(String::from_utf8(output.stdout)?.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}
