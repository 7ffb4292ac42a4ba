//! A stream of NV12 frames as from a camera: edges of the luma plane, in place. Only the camera's output is copied: it
//! fills the frame in the device's own memory, and the result is read there.
//!
//! `cargo run --release -p tripipe --example camera -- [DEVICE] [FRAMES]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use tripipe::filter::{Border, Chain, Raster};
use tripipe::{Choice, Context, Image, Size, Vector};

const SIZE: Size = Size::new(1920, 1080);
/// Distance between rows in bytes, as camera drivers pad them.
const PITCH: usize = 2048;

/// Simulates a camera: a bright square that moves over a dark background.
fn expose(frame: &mut [u8], time: usize) {
    let Size { width, height } = SIZE;
    let (left, top) = (time * 16 % (width - 256), time * 9 % (height - 256));
    for (y, row) in frame.chunks_mut(PITCH).take(height).enumerate() {
        row.fill(40);
        if (top..top + 256).contains(&y) {
            row[left..left + 256].fill(200);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let choice: Choice = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let frames: usize = arguments.next().as_deref().unwrap_or("60").parse()?;
    let context = Context::new(&choice.resolve()?)?;
    // Two frames: the camera fills one while the device works on the other. Luma, then chroma with half the rows.
    let mut ring = Vec::new();
    for _ in 0..2 {
        ring.push(Vector::<u8>::zeros(&context, PITCH * SIZE.height * 3 / 2)?);
    }
    let luma = Raster::luma(SIZE, PITCH);
    let chain = Chain::parse("gaussian:3,sobel", Border::Replicate)?;
    let mut edges = Image::<u8>::zeros(&context, chain.apply_to(&luma)?)?;
    let filter = context.filter(&chain, &luma, edges.raster())?;
    let start = Instant::now();
    let mut bright = 0usize;
    for time in 0..frames {
        let frame = &mut ring[time % 2];
        frame.map_mut(|frame| expose(frame, time))?;
        let plane = frame.share().into_image(luma)?;
        filter.run(&plane, &mut edges)?.wait()?;
        bright = edges.map(|edges| edges.iter().filter(|edge| **edge > 100).count())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{}: {frames} frames in {seconds:.2} s, {:.1} a second",
        context.name(),
        frames as f64 / seconds
    );
    println!("the last has {bright} bright edge pixels, of a square of 256 x 256");
    print!("{}", filter.explain());
    Ok(())
}
