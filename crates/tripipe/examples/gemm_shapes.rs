//! Products of given shapes with the parameters that the library chooses: the device's own times.
//!
//! `cargo run --release -p tripipe --example gemm_shapes -- DEVICE RUNS SHAPE ...`
//!
//! A shape is `MxNxK`, with `t` at the end for a B that is stored as its transpose, as weights of networks often are. Prints one JSON
//! object a shape: the parameters, the seconds of each run, and the seconds of a call in a row of 200 calls that nothing waits for, by the
//! host's clock, of each of 5 rows. `benches/gemm_bars.py` compares them with cuBLAS.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use serde_json::json;
use tripipe::gemm::Product;
use tripipe::{Choice, Context, Extents, Matrix};

/// Calls of a row, and rows.
const CALLS: u32 = 200;
const ROWS: usize = 5;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let choice: Choice = arguments.next().ok_or("a device is missing, e.g. opencl:0")?.parse()?;
    let runs: usize = arguments.next().ok_or("the number of runs is missing")?.parse()?;
    let device = choice.resolve()?;
    let builder = Context::builder().cpu_when_faster(false);
    // One of the two takes times.
    let [context, untimed] = [builder.clone().build(&device)?, builder.profiling(false).build(&device)?];
    for shape in arguments {
        let (extents, transposed) = shape.strip_suffix('t').map_or((shape.as_str(), false), |s| (s, true));
        let extents = extents.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        let [m, n, k] = <[usize; 3]>::try_from(extents).map_err(|_| format!("{shape} is not MxNxK"))?;
        let values =
            |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7919 % 13) as f32 - 6.0).collect() };
        let operands = |context: &Context| -> Result<[Matrix<f32>; 3], tripipe::Error> {
            let of_b = if transposed { Extents::new(n, k) } else { Extents::new(k, n) };
            let a = Matrix::from_vec(context, Extents::new(m, k), values(m * k))?;
            Ok([
                a,
                Matrix::from_vec(context, of_b, values(n * k))?,
                Matrix::zeros(context, Extents::new(m, n))?,
            ])
        };
        let [a, b, mut c] = operands(&context)?;
        let view_b = if transposed { b.transposed() } else { b.view() };
        let mut seconds = Vec::with_capacity(runs);
        for run in 0..runs + 2 {
            // The first runs wait for the driver's compiler and wake the device.
            let time = Product::new(&a, view_b)?.store(&mut c)?.seconds()?;
            if run >= 2 {
                seconds.push(time);
            }
        }
        let chosen = Product::new(&a, view_b)?.explain()?;
        let [a, b, mut c] = operands(&untimed)?;
        let view_b = if transposed { b.transposed() } else { b.view() };
        let mut row = || -> Outcome<f64> {
            let begin = Instant::now();
            for _ in 0..CALLS {
                drop(Product::new(&a, view_b)?.store(&mut c)?);
            }
            untimed.finish()?;
            Ok(begin.elapsed().as_secs_f64() / f64::from(CALLS))
        };
        row()?;
        let rows = (0..ROWS).map(|_| row()).collect::<Outcome<Vec<f64>>>()?;
        println!(
            "{}",
            json!({
                "shape": shape,
                "device": context.name(),
                "kernel": chosen.to_string(),
                "seconds": seconds,
                "row_seconds": rows,
            })
        );
    }
    Ok(())
}
