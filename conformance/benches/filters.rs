//! Filters of 7680 x 4320 bytes on every OpenCL device: milliseconds on the device's clock, the shortest of seven
//! runs, with the default parameters and, with `--all`, with the candidates. `filters_opencv.py` does the same with
//! OpenCV.
//!
//! ```text
//! cargo bench -p tripipe-conformance --bench filters -- [--all] [part of a name]
//! ```
#![allow(clippy::print_stdout, reason = "a bench reports what it measured")]

use tripipe_kernels::Role;
use tripipe_kernels::filter::{
    Border, Chain, Color, Linear, PixelType, Raster, Size, Stage, candidates, default_parameters, plan,
};
use tripipe_launch::{Access, Executor, MemoryKind, Timing};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};

const SIZE: Size = Size::new(7680, 4320);
const RUNS: usize = 7;

/// A name, channels, and stages.
type Case = (&'static str, usize, Vec<Stage>);

fn cases() -> Result<Vec<Case>, Box<dyn std::error::Error>> {
    let linear = |linear: Linear| vec![Stage::Linear(linear)];
    Ok(vec![
        ("laplace rgb", 3, linear(Linear::laplace_sharpen())),
        ("laplace gray", 1, linear(Linear::laplace_sharpen())),
        ("gaussian 5x5 gray", 1, linear(Linear::gaussian(5, None)?)),
        ("sobel gray to i16", 1, linear(Linear::sobel_x().to(PixelType::I16))),
        ("median 3x3 gray", 1, vec![Stage::Median { size: 3 }]),
        ("box 5x5 gray", 1, linear(Linear::mean(Size::square(5))?)),
        (
            "rgb, gray, gaussian 3x3",
            3,
            vec![Stage::Color(Color::RgbToGray), Stage::Linear(Linear::gaussian(3, None)?)],
        ),
        (
            "rgb, gray, gaussian 5x5, laplace",
            3,
            vec![
                Stage::Color(Color::RgbToGray),
                Stage::Linear(Linear::gaussian(5, None)?),
                Stage::Linear(Linear::laplace_sharpen()),
            ],
        ),
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let all = arguments.iter().any(|argument| argument == "--all");
    let wanted = arguments.iter().find(|argument| !argument.starts_with("--")).cloned().unwrap_or_default();
    for device in devices()? {
        let mut executor = OpenClExecutor::new(&device, &ExecutorOptions::default())?;
        println!("{}", executor.probe().name);
        for (name, channels, stages) in cases()?.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
            let chain = Chain::new(stages, Border::Reflect101);
            let from = Raster::packed(SIZE, channels, PixelType::U8);
            let to = chain.apply_to(&from)?;
            let source: Vec<u8> = (0..from.elements()?).map(|i| ((i * 2_654_435_761) >> 7) as u8).collect();
            let result = MemoryKind::Buffer { bytes: to.elements()? * to.element.bytes() };
            let operands = [
                executor.allocate(
                    &MemoryKind::Buffer { bytes: source.len() },
                    Access::Read,
                    Some(&source),
                )?,
                executor.allocate(&result, Access::ReadWrite, None)?,
            ];
            let default = default_parameters(&chain, &from, executor.probe()).parameters;
            let tried = if all { candidates(&chain, &from, &to, executor.probe()) } else { vec![default] };
            for parameters in tried {
                let bound = plan(&chain, &from, &to, &parameters, executor.probe())?
                    .bind(&mut executor, &[(Role::Source, operands[0]), (Role::Result, operands[1])])?;
                let mut best = f64::INFINITY;
                for _ in 0..RUNS {
                    best = best.min(Timing::span_seconds(&executor.run(&bound.launches)?));
                }
                bound.release(&mut executor);
                println!("{:8.3} ms  {name}  {parameters}", best * 1e3);
            }
            for operand in operands {
                executor.release(operand)?;
            }
        }
    }
    Ok(())
}
