//! Resizing beside `fast_image_resize`, both on one thread: `cargo bench -p tripipe-cpu --bench resize`. A line for each
//! case: the median milliseconds of both in turn, and their ratio (above 1: this one is faster).

#![allow(clippy::print_stdout, reason = "standard output is what a benchmark is for")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use fast_image_resize::images::Image;
use fast_image_resize::{self as peer, FilterType, ResizeAlg, ResizeOptions, Resizer};
use tripipe_cpu::{self as cpu, Threads};
use tripipe_kernels::filter::{Interpolation, PixelType, Raster, Size};

const RUNS: usize = 21;

fn main() -> Result<(), Box<dyn Error>> {
    let from = Size::new(1920, 1080);
    // The peer's functions of as many pixels: its cubic has another constant, its widest Lanczos three lobes.
    let methods = [
        (Interpolation::Nearest, ResizeAlg::Nearest, "nearest"),
        (Interpolation::Bilinear, ResizeAlg::Interpolation(FilterType::Bilinear), "bilinear"),
        (Interpolation::Area, ResizeAlg::Convolution(FilterType::Box), "box"),
        (Interpolation::Cubic, ResizeAlg::Interpolation(FilterType::CatmullRom), "catmull-rom"),
        (Interpolation::Lanczos4, ResizeAlg::Interpolation(FilterType::Lanczos3), "lanczos3"),
    ];
    let elements = [
        (PixelType::U8, 1, peer::PixelType::U8),
        (PixelType::U8, 3, peer::PixelType::U8x3),
        (PixelType::U8, 4, peer::PixelType::U8x4),
        (PixelType::U16, 1, peer::PixelType::U16),
        (PixelType::F32, 1, peer::PixelType::F32),
    ];
    println!("1920x1080 to; pixels; how; ms; fast_image_resize how; ms; ratio");
    for to in [Size::new(960, 540), Size::new(768, 432), Size::new(2880, 1620)] {
        for (element, channels, kind) in elements {
            for (how, algorithm, name) in methods {
                let [source, result] = [from, to].map(|size| Raster::packed(size, channels, element));
                let bytes = source.elements()? * element.bytes();
                let pixels: Vec<u8> = match element {
                    PixelType::F32 => {
                        (0..bytes / 4).flat_map(|at| ((at % 251) as f32).to_ne_bytes()).collect()
                    }
                    _ => (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect(),
                };
                let mut own = vec![0; result.elements()? * element.bytes()];
                let image = Image::from_vec_u8(from.width as u32, from.height as u32, pixels.clone(), kind)?;
                let mut other = Image::new(to.width as u32, to.height as u32, kind);
                let options = ResizeOptions::new().resize_alg(algorithm).use_alpha(false);
                let mut resizer = Resizer::new();
                let mut times = [Vec::new(), Vec::new()];
                for _ in 0..RUNS {
                    let start = Instant::now();
                    cpu::resize(how, &source, &pixels, &result, black_box(&mut own), Threads::One)?;
                    times[0].push(start.elapsed().as_secs_f64());
                    let start = Instant::now();
                    resizer.resize(&image, black_box(&mut other), &options)?;
                    times[1].push(start.elapsed().as_secs_f64());
                }
                let [own, other] = times.map(|mut times| {
                    times.sort_by(f64::total_cmp);
                    1e3 * times[RUNS / 2]
                });
                let ratio = other / own;
                println!("{to}; {channels} x {element}; {how}; {own:.2}; {name}; {other:.2}; {ratio:.2}");
            }
        }
    }
    Ok(())
}
