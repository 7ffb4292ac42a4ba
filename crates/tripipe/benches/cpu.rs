//! Benchmarks of the CPU path. Prints a JSON object per line.
//!
//! `cargo bench -p tripipe --bench cpu` times every operation at a few sizes, on one thread and on all, and prints the
//! median and the minimum time of each.
//!
//! `cargo bench -p tripipe --bench cpu -- --serve` is the counterpart of `benches/cpu_bars.py`, which compares with
//! OpenCV and numpy. It reads one command per line from standard input and answers each with one line:
//!
//! - `laplace_rgb WIDTH HEIGHT IN OUT RUNS` filters the raw file IN, writes the result of the last run to OUT, and
//!   answers `{"seconds": [...]}`, one time per run;
//! - `filter NAME ELEMENT WIDTH HEIGHT CHANNELS IN OUT RUNS` does the same with a filter of elements of `u8` or `f32`, and
//!   `resize NAME ELEMENT WIDTH HEIGHT TO_WIDTH TO_HEIGHT CHANNELS IN OUT RUNS` resizes an image;
//! - `gemm_f32 M N K IN OUT RUNS` multiplies; IN contains A and then B, little-endian;
//! - `context_gemm DEVICE M N K IN OUT RUNS` multiplies in a context on a device, e.g. `opencl:0`, between matrices that stay
//!   there;
//! - `gemm ELEMENT M N K RUNS` multiplies generated matrices of `f16`, `f32`, `f64` or `i8`;
//! - `copy BYTES RUNS` copies, the limit set by memory;
//! - `multiply_add THREADS RUNS` does 10^8 independent f32 operations in registers on each thread, the limit set by the
//!   arithmetic;
//! - `threads one`, `threads all` or `threads COUNT` applies to the commands after it, and `vectors` answers with the vector instructions.
//!
//! An empty IN reuses the operands of the previous command and an empty OUT (both written `-`) writes nothing.

#![allow(clippy::print_stdout, reason = "standard output is what a benchmark is for")]

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use half::f16;
use memmap2::MmapMut;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use serde_json::json;
use tripipe::gemm::Product;
use tripipe::{Context, Device, Extents, Matrix, Size};
use tripipe_cpu::{self as cpu, CpuError, Threads};
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Gradient, Interpolation, Linear, Morphology, Neighbourhood, PixelType, Raster,
    Stage,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    // cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.as_slice() {
        [] => time_all(&mut std::io::stdout().lock()),
        [flag] if flag == "--serve" => serve(),
        _ => Err("the only argument there is is --serve".into()),
    }
}

/// Runs `work` `runs` times; returns the time of each run in seconds.
fn time(runs: usize, mut work: impl FnMut() -> Result<(), CpuError>) -> Result<Vec<f64>, CpuError> {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            work()?;
            Ok(start.elapsed().as_secs_f64())
        })
        .collect()
}

/// Bytes without a pattern that the filter could exploit.
fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 37) as u8).collect()
}

fn floats(len: usize) -> Vec<f32> {
    noise(len).into_iter().map(|byte| f32::from(byte) / 128.0 - 1.0).collect()
}

/// Copies on all threads, in bands as large as the filters'.
fn copy(src: &[u8], dst: &mut [u8]) {
    const BAND: usize = 512 << 10;
    dst.par_chunks_mut(BAND).zip(src.par_chunks(BAND)).for_each(|(dst, src)| dst.copy_from_slice(src));
}

/// Independent chains of multiply-adds in registers, `flop` floating-point operations in total.
struct MultiplyAdd {
    flop: usize,
}

impl WithSimd for MultiplyAdd {
    type Output = f32;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as in the CPU path: for the wide vectors")]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        // Enough chains to hide the latency of an addition on two pipes.
        const CHAINS: usize = 12;
        let (factor, term) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(black_box(0.001)));
        let mut sums = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..self.flop / (2 * CHAINS * S::F32_LANES) {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, factor, term);
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum()
    }
}

/// Zeroed memory in huge pages where the system has them: numpy requests them too, and OpenCV works on numpy's memory.
fn huge_pages(len: usize) -> std::io::Result<MmapMut> {
    let memory = MmapMut::map_anon(len)?;
    #[cfg(target_os = "linux")]
    memory.advise(memmap2::Advice::HugePage)?;
    Ok(memory)
}

fn serve() -> Outcome<()> {
    let mut bytes = [huge_pages(1)?, huge_pages(1)?];
    let mut matrices = [huge_pages(1)?, huge_pages(1)?, huge_pages(1)?];
    let mut threads = Threads::All;
    let mut resident = None;
    let stdin = std::io::stdin().lock();
    let mut stdout = std::io::stdout().lock();
    for line in stdin.lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["threads", count] => {
                threads = match *count {
                    "one" => Threads::One,
                    "all" => Threads::All,
                    count => Threads::AtMost(count.parse()?),
                };
                writeln!(stdout, "{}", json!({}))?;
                stdout.flush()?;
                continue;
            }
            ["vectors"] => {
                writeln!(stdout, "{}", json!({ "vectors": cpu::vectors() }))?;
                stdout.flush()?;
                continue;
            }
            _ => {}
        }
        let seconds = match words.as_slice() {
            ["laplace_rgb", width, height, input, output, runs] => {
                let (width, height) = (width.parse()?, height.parse()?);
                if *input != "-" {
                    let image = std::fs::read(input)?;
                    bytes = [huge_pages(image.len())?, huge_pages(image.len())?];
                    bytes[0].copy_from_slice(&image);
                    bytes[1].fill(1);
                }
                let [src, dst] = &mut bytes;
                let seconds = time(runs.parse()?, || cpu::laplace_rgb(src, dst, width, height, threads))?;
                if *output != "-" {
                    std::fs::write(output, dst)?;
                }
                seconds
            }
            ["filter", name, element, width, height, channels, input, output, runs] => {
                let (size, element) = (Size::new(width.parse()?, height.parse()?), pixel_type(element)?);
                let from = Raster::packed(size, channels.parse()?, element);
                let border = if *name == "laplace" { Border::None } else { Border::Reflect101 };
                let chain = Chain::one(stage(name, element)?, border);
                let to = chain.apply_to(&from)?;
                if *input != "-" {
                    let image = std::fs::read(input)?;
                    bytes = [huge_pages(image.len())?, huge_pages(2 * image.len())?];
                    bytes[0].copy_from_slice(&image);
                    bytes[1].fill(1);
                }
                let [src, dst] = &mut bytes;
                let dst = &mut dst[..to.elements()? * to.element.bytes()];
                let seconds = time(runs.parse()?, || cpu::filter(&chain, &from, src, &to, dst, threads))?;
                if *output != "-" {
                    std::fs::write(output, dst)?;
                }
                seconds
            }
            ["context_gemm", device, m, n, k, input, output, runs] => {
                if *input != "-" {
                    let [m, n, k] = [m.parse()?, n.parse()?, k.parse()?];
                    let context = Context::new(&Device::named(device)?)?;
                    let operands: Vec<f32> = bytemuck::pod_collect_to_vec(&std::fs::read(input)?);
                    let (a, b) = operands.split_at(m * k);
                    let a = Matrix::from_slice(&context, Extents::new(m, k), a)?;
                    let b = Matrix::from_slice(&context, Extents::new(k, n), b)?;
                    resident = Some((a, b, Matrix::<f32>::zeros(&context, Extents::new(m, n))?));
                }
                let Some((a, b, c)) = &mut resident else { return Err("no operands".into()) };
                let mut multiply = || -> Outcome<f64> {
                    let start = Instant::now();
                    Product::new(&*a, &*b)?.store(&mut *c)?.wait()?;
                    Ok(start.elapsed().as_secs_f64())
                };
                let seconds = (0..runs.parse()?).map(|_| multiply()).collect::<Outcome<Vec<f64>>>()?;
                if *output != "-" {
                    std::fs::write(output, bytemuck::cast_slice(&c.to_vec()?))?;
                }
                seconds
            }
            ["resize", name, element, width, height, to_width, to_height, channels, input, output, runs] => {
                let element = pixel_type(element)?;
                let image = |size| Ok::<_, Box<dyn Error>>(Raster::packed(size, channels.parse()?, element));
                let from = image(Size::new(width.parse()?, height.parse()?))?;
                let to = image(Size::new(to_width.parse()?, to_height.parse()?))?;
                let interpolation = match *name {
                    "nearest" => Interpolation::Nearest,
                    "bilinear" => Interpolation::Bilinear,
                    "area" => Interpolation::Area,
                    _ => return Err(format!("no such interpolation: {name}").into()),
                };
                if *input != "-" {
                    let image = std::fs::read(input)?;
                    bytes = [huge_pages(image.len())?, huge_pages(to.elements()? * element.bytes())?];
                    bytes[0].copy_from_slice(&image);
                    bytes[1].fill(1);
                }
                let [src, dst] = &mut bytes;
                let seconds =
                    time(runs.parse()?, || cpu::resize(interpolation, &from, src, &to, dst, threads))?;
                if *output != "-" {
                    std::fs::write(output, dst)?;
                }
                seconds
            }
            ["gemm_f32", m, n, k, input, output, runs] => {
                let (m, n, k) = (m.parse()?, n.parse()?, k.parse()?);
                if *input != "-" {
                    let file = std::fs::read(input)?;
                    let (a, b) = file.split_at_checked(4 * m * k).ok_or("too few numbers")?;
                    matrices = [huge_pages(a.len())?, huge_pages(b.len())?, huge_pages(4 * m * n)?];
                    for (matrix, bytes) in matrices.iter_mut().zip([a, b]) {
                        let numbers = bytes.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number));
                        bytemuck::cast_slice_mut(matrix)
                            .iter_mut()
                            .zip(numbers)
                            .for_each(|(to, from)| *to = from);
                    }
                    matrices[2].fill(1);
                }
                let [a, b, c] = &mut matrices;
                let (a, b, c): (&[f32], &[f32], _) =
                    (bytemuck::cast_slice(a), bytemuck::cast_slice(b), bytemuck::cast_slice_mut(c));
                let seconds = time(runs.parse()?, || cpu::gemm_f32(a, b, c, m, n, k, threads))?;
                if *output != "-" {
                    std::fs::write(
                        output,
                        c.iter().flat_map(|number: &f32| number.to_le_bytes()).collect::<Vec<_>>(),
                    )?;
                }
                seconds
            }
            ["gemm", kind, m, n, k, runs] => {
                let (m, n, k, runs): (usize, usize, usize, usize) =
                    (m.parse()?, n.parse()?, k.parse()?, runs.parse()?);
                time_gemm(kind, [m, n, k], runs, threads)?
            }
            ["copy", len, runs] => {
                let [mut src, mut dst] = [huge_pages(len.parse()?)?, huge_pages(len.parse()?)?];
                src.copy_from_slice(&noise(len.parse()?));
                dst.fill(1);
                time(runs.parse()?, || {
                    match threads {
                        Threads::One => black_box(&mut dst).copy_from_slice(&src),
                        _ => copy(&src, black_box(&mut dst)),
                    }
                    Ok(())
                })?
            }
            ["multiply_add", count, runs] => {
                let (arch, count): (_, usize) = (Arch::new(), count.parse()?);
                time(runs.parse()?, || {
                    (0..count).into_par_iter().for_each(|_| {
                        black_box(arch.dispatch(MultiplyAdd { flop: 100_000_000 }));
                    });
                    Ok(())
                })?
            }
            _ => return Err(format!("no such command: {line}").into()),
        };
        writeln!(stdout, "{}", json!({ "seconds": seconds }))?;
        stdout.flush()?;
    }
    Ok(())
}

/// Times products of generated operands.
fn time_gemm(kind: &str, [m, n, k]: [usize; 3], runs: usize, threads: Threads) -> Outcome<Vec<f64>> {
    let (a, b) = (floats(m * k), floats(k * n));
    let halves = |v: &[f32]| v.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
    let bytes = |v: &[f32]| v.iter().map(|&v| (v * 127.0) as i8).collect::<Vec<_>>();
    let doubles = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let seconds = match kind {
        "f32" => {
            let mut c = vec![0.0; m * n];
            time(runs, || cpu::gemm_f32(&a, &b, &mut c, m, n, k, threads))
        }
        "f64" => {
            let (a, b, mut c) = (doubles(&a), doubles(&b), vec![0.0; m * n]);
            time(runs, || cpu::gemm_f64(&a, &b, &mut c, m, n, k, threads))
        }
        "f16" => {
            let (a, b, mut c) = (halves(&a), halves(&b), vec![f16::ZERO; m * n]);
            time(runs, || cpu::gemm_f16(&a, &b, &mut c, m, n, k, threads))
        }
        "i8" => {
            let (a, b, mut c) = (bytes(&a), bytes(&b), vec![0; m * n]);
            time(runs, || cpu::gemm_i8(&a, &b, &mut c, m, n, k, threads))
        }
        _ => return Err(format!("no such elements: {kind}").into()),
    };
    Ok(seconds?)
}

fn pixel_type(name: &str) -> Outcome<PixelType> {
    match name {
        "u8" => Ok(PixelType::U8),
        "f32" => Ok(PixelType::F32),
        _ => Err(format!("no such elements: {name}").into()),
    }
}

/// The filters to compare, of an image with these elements.
fn stage(name: &str, element: PixelType) -> Outcome<Stage> {
    Ok(match name {
        "gaussian5" => Stage::Linear(Linear::gaussian(5, None)?),
        // Its results have a sign.
        "sobel" if element == PixelType::U8 => Stage::Linear(Linear::sobel_x().to(PixelType::I16)),
        "sobel" => Stage::Linear(Linear::sobel_x()),
        "gradient" => Stage::Gradient(Gradient::Sobel),
        "median3" => Stage::Median { size: 3 },
        "median5" => Stage::Median { size: 5 },
        "box3" => Stage::Linear(Linear::mean(Size::square(3))?),
        "box5" => Stage::Linear(Linear::mean(Size::square(5))?),
        "laplace" => Stage::Linear(Linear::laplace_sharpen()),
        "bilateral9" => Stage::Bilateral(Bilateral { size: 9, sigma_color: 50.0, sigma_space: 3.0 }),
        "erode5" => Stage::Morphology(Morphology::Erode(Neighbourhood::Rectangle(Size::square(5)))),
        _ => return Err(format!("no such filter: {name}").into()),
    })
}

/// Times `work` on one thread and on all and prints a line for each. `units` is the number of units that a run moves or
/// computes: bytes, or floating-point operations.
fn report(
    out: &mut impl Write,
    operation: &str,
    size: &str,
    (units, unit): (usize, &str),
    mut work: impl FnMut(Threads) -> Result<(), CpuError>,
) -> Outcome<()> {
    for (threads, name) in [(Threads::One, "one"), (Threads::All, "all")] {
        time(2, || work(threads))?;
        let mut seconds = time(15, || work(threads))?;
        seconds.sort_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        let line = json!({
            "operation": operation,
            "size": size,
            "threads": name,
            "median_seconds": median,
            "min_seconds": seconds[0],
            unit: (units as f64 / median / 1e9 * 100.0).round() / 100.0,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn time_all(out: &mut impl Write) -> Outcome<()> {
    for (width, height) in [(768, 432), (1920, 1080), (7680, 4320)] {
        let size = format!("{width}x{height}");
        let pixels = width * height;
        let src = noise(4 * pixels);
        let mut dst = vec![1; 4 * pixels];
        report(out, "laplace_gray", &size, (2 * pixels, "GB/s"), |threads| {
            cpu::laplace_gray(&src[..pixels], &mut dst[..pixels], width, height, threads)
        })?;
        report(out, "laplace_rgb", &size, (6 * pixels, "GB/s"), |threads| {
            cpu::laplace_rgb(&src[..3 * pixels], &mut dst[..3 * pixels], width, height, threads)
        })?;
        report(out, "laplace_rgba", &size, (8 * pixels, "GB/s"), |threads| {
            cpu::laplace_rgba(&src, &mut dst, width, height, threads)
        })?;
        report(out, "copy (rgb)", &size, (6 * pixels, "GB/s"), |threads| {
            match threads {
                Threads::One => dst[..3 * pixels].copy_from_slice(&src[..3 * pixels]),
                _ => copy(&src[..3 * pixels], &mut dst[..3 * pixels]),
            }
            Ok(())
        })?;
        let [mut red, mut green, mut blue] = [vec![1; pixels], vec![1; pixels], vec![1; pixels]];
        report(out, "rgb_to_planes", &size, (6 * pixels, "GB/s"), |threads| {
            cpu::rgb_to_planes(&src[..3 * pixels], &mut red, &mut green, &mut blue, threads)
        })?;
        report(out, "planes_to_rgb", &size, (6 * pixels, "GB/s"), |threads| {
            cpu::planes_to_rgb(&red, &green, &blue, &mut dst[..3 * pixels], threads)
        })?;
    }
    for n in [512, 2048, 4096, 4097] {
        let size = format!("{n}x{n}");
        let src = noise(n * n);
        let mut dst = vec![1; n * n];
        report(out, "transpose_u8", &size, (2 * n * n, "GB/s"), |threads| {
            cpu::transpose_u8(&src, &mut dst, n, n, threads)
        })?;
        let src = floats(n * n);
        let mut dst = vec![1.0; n * n];
        report(out, "transpose_f32", &size, (8 * n * n, "GB/s"), |threads| {
            cpu::transpose_f32(&src, &mut dst, n, n, threads)
        })?;
    }
    for n in [1 << 16, 1 << 24] {
        let size = n.to_string();
        let (a, b, mut c) = (vec![3; n], vec![4; n], vec![1; n]);
        report(out, "vector_add", &size, (12 * n, "GB/s"), |threads| {
            cpu::vector_add(&a, &b, &mut c, threads)
        })?;
        let (x, y, mut z) = (floats(n), floats(n), vec![0.0; n]);
        report(out, "saxpy", &size, (12 * n, "GB/s"), |threads| cpu::saxpy(0.001, &x, &y, &mut z, threads))?;
    }
    for n in [32, 128, 512, 1024, 2048] {
        let size = n.to_string();
        let flop = (2 * n * n * n, "GFLOP/s");
        let (a, b, mut c) = (floats(n * n), floats(n * n), vec![0.0; n * n]);
        report(out, "gemm_f32", &size, flop, |threads| cpu::gemm_f32(&a, &b, &mut c, n, n, n, threads))?;
        let narrow = |v: &[f32]| v.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
        let (a16, b16, mut c16) = (narrow(&a), narrow(&b), narrow(&c));
        report(out, "gemm_f16", &size, flop, |threads| {
            cpu::gemm_f16(&a16, &b16, &mut c16, n, n, n, threads)
        })?;
        let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let (a64, b64, mut c64) = (wide(&a), wide(&b), wide(&c));
        report(out, "gemm_f64", &size, flop, |threads| {
            cpu::gemm_f64(&a64, &b64, &mut c64, n, n, n, threads)
        })?;
    }
    Ok(())
}
