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
use tripipe::{Choice, Context, Matrix};

/// Calls of a row, and rows.
const CALLS: u32 = 200;
const ROWS: usize = 5;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let choice: Choice = arguments.next().ok_or("a device is missing, e.g. opencl:0")?.parse()?;
    let runs: usize = arguments.next().ok_or("the number of runs is missing")?.parse()?;
    let context = Context::builder().cpu_when_faster(false).build(&choice.resolve()?)?;
    for shape in arguments {
        let (extents, transposed) = shape.strip_suffix('t').map_or((shape.as_str(), false), |s| (s, true));
        let extents = extents.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        let [m, n, k] = <[usize; 3]>::try_from(extents).map_err(|_| format!("{shape} is not MxNxK"))?;
        let values =
            |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7919 % 13) as f32 - 6.0).collect() };
        let a = Matrix::from_slice(&context, [m, k], &values(m * k))?;
        let b = if transposed {
            Matrix::from_slice(&context, [n, k], &values(n * k))?
        } else {
            Matrix::from_slice(&context, [k, n], &values(n * k))?
        };
        let mut c = Matrix::zeros(&context, [m, n])?;
        let mut seconds = Vec::with_capacity(runs);
        for run in 0..runs + 2 {
            let product = if transposed { Product::new(&a, b.transposed())? } else { Product::new(&a, &b)? };
            let event = product.store(&mut c)?;
            // The first runs wait for the driver's compiler and wake the device.
            let time = event.seconds()?;
            if run >= 2 {
                seconds.push(time);
            }
        }
        context.set_profiling(false)?;
        let mut row = || -> Outcome<f64> {
            let begin = Instant::now();
            for _ in 0..CALLS {
                if transposed {
                    drop(Product::new(&a, b.transposed())?.store(&mut c)?);
                } else {
                    drop(Product::new(&a, &b)?.store(&mut c)?);
                }
            }
            context.finish()?;
            Ok(begin.elapsed().as_secs_f64() / f64::from(CALLS))
        };
        row()?;
        let rows = (0..ROWS).map(|_| row()).collect::<Outcome<Vec<f64>>>()?;
        context.set_profiling(true)?;
        let name = format!("f32 product {m}x{n}x{k}");
        let chosen = context.explain().into_iter().find(|chosen| chosen.operation == name);
        let chosen = chosen.ok_or("no explanation")?;
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
