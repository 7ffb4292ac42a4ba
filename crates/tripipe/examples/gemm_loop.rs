//! Products in a loop with packed weights: the cost of a call, and what packing once saves.
//!
//! `cargo run --release -p tripipe --example gemm_loop -- [DEVICE] [SIZE ...]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use tripipe::gemm::{Packed, Product};
use tripipe::{Choice, Context, Extents, Matrix};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Seconds per call: the median of `runs` calls.
fn median(runs: usize, mut call: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    call()?;
    let mut seconds = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        call()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[runs / 2])
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let choice: Choice = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let mut sizes = arguments.map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![64, 128, 256, 512, 1024, 2048];
    }
    // Taking the device's own times costs more than a small product.
    let context = Context::builder().profiling(false).build(&choice.resolve()?)?;
    println!("{}: f32, call and wait", context.name());
    println!("{:>6} {:>12} {:>12} {:>12} {:>12}", "n", "plain us", "packed us", "in a row us", "GFLOP/s");
    for n in sizes {
        let values: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 - 3.0).collect();
        let x = Matrix::from_slice(&context, Extents::new(n, n), &values)?;
        let weights = Matrix::from_slice(&context, Extents::new(n, n), &values)?;
        let mut y = Matrix::zeros(&context, Extents::new(n, n))?;
        let packed = Packed::right(&weights, n)?;
        let runs = (200_000_000_000 / (2 * n * n * n)).clamp(5, 200);
        let plain = median(runs, || Ok(Product::new(&x, &weights)?.store(&mut y)?.wait()?))?;
        let ahead = median(runs, || Ok(Product::new(&x, &packed)?.store(&mut y)?.wait()?))?;
        let start = Instant::now();
        for _ in 0..runs {
            drop(Product::new(&x, &packed)?.store(&mut y)?);
        }
        context.finish()?;
        let row = start.elapsed().as_secs_f64() / runs as f64;
        let rate = 2.0 * (n as f64).powi(3) / row * 1e-9;
        let us = |seconds: f64| seconds * 1e6;
        println!("{n:>6} {:>12.1} {:>12.1} {:>12.1} {rate:>12.0}", us(plain), us(ahead), us(row));
    }
    Ok(())
}
