//! Compares the times of one device and of a team of all, with copies and without them: a filter, and products.
//!
//! `cargo run --release -p tripipe --example share -- [twice] [SIZE ...]` shares products of SIZE x SIZE x SIZE (8192
//! and 16384 by default) and two filters, one with little and one with much arithmetic, among all OpenCL GPUs of the
//! machine; if there are fewer than two, among all devices. With `twice` each OpenCL device has two contexts, so that
//! one copies while the other computes.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::gemm::ProductExtents;
use tripipe::{Context, Device, Shares, Size, Team};
use tripipe_device::DeviceKind;

/// Calls of each kind; the first ones measure and build kernels.
const CALLS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (twice, sizes): (Vec<_>, Vec<_>) = words.iter().partition(|word| *word == "twice");
    let mut sizes = sizes.into_iter().map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![8192, 16384];
    }
    let is_gpu = |device: &Device| device.probe().is_some_and(|probe| probe.kind == DeviceKind::Gpu);
    let mut devices: Vec<Device> = Device::list().into_iter().filter(is_gpu).collect();
    if devices.len() < 2 {
        devices = Device::list().devices;
    }
    let contexts = || devices.iter().map(Context::new).collect::<Result<Vec<_>, _>>();
    let mut members = contexts()?;
    if !twice.is_empty() {
        members.extend(contexts()?.into_iter().filter(|context| context.probe().is_some()));
    }
    let alone = contexts()?.into_iter().map(|context| Team::new(vec![context]));
    let alone = alone.collect::<Result<Vec<_>, _>>()?;
    let team = Team::new(members)?;

    let raster = Raster::packed(Size::square(8192), 1, PixelType::U8);
    let source: Vec<u8> = (0..8192 * 8192u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut result = vec![0u8; source.len()];
    for stages in ["gaussian:5,bilateral:9:25:3", "bilateral:15:25:5,bilateral:15:25:5,bilateral:15:25:5"] {
        let chain = Chain::parse(stages, Border::Reflect101)?;
        println!("{chain} of 8192 x 8192 bytes");
        compare(&alone, &team, |team| team.filter(&chain, &raster, &source, &raster, &mut result))?;
    }

    for size in sizes {
        let whole =
            |seed: usize| -> Vec<f32> { (0..size * size).map(|i| ((i * seed) % 7) as f32 - 3.0).collect() };
        let (a, b, mut c) = (whole(3), whole(5), vec![0.0; size * size]);
        println!("f32 product {size} x {size} x {size}");
        compare(&alone, &team, |team| {
            team.product(&a, &b, &mut c, ProductExtents { m: size, n: size, k: size })
        })?;
    }
    Ok(())
}

/// Prints the shares of each in its best call.
fn compare(
    alone: &[Team],
    team: &Team,
    mut work: impl FnMut(&Team) -> Result<Shares, tripipe::Error>,
) -> Result<(), tripipe::Error> {
    let mut best = |team: &Team| -> Result<Shares, tripipe::Error> {
        let mut best = work(team)?;
        for _ in 1..CALLS {
            let next = work(team)?;
            if next.seconds < best.seconds {
                best = next;
            }
        }
        Ok(best)
    };
    let alone = alone.iter().map(&mut best).collect::<Result<Vec<_>, _>>()?;
    let together = best(team)?;
    for shares in alone.iter().chain([&together]) {
        print!("  {shares}");
    }
    let least = |seconds: fn(&Shares) -> f64| alone.iter().map(seconds).fold(f64::INFINITY, f64::min);
    println!(
        "  {:.2} times as fast as the best alone; computing, without copies, {:.2} times",
        least(|shares| shares.seconds) / together.seconds,
        least(computing) / computing(&together)
    );
    Ok(())
}

/// Seconds that the busiest member spent computing.
fn computing(shares: &Shares) -> f64 {
    shares.shares.iter().filter_map(|share| share.computing_seconds).fold(0.0, f64::max)
}
