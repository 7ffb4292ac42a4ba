//! Products of given shapes with the parameters that the library chooses: the device's own times.
//!
//! `cargo run --release -p tripipe --example gemm_shapes -- DEVICE RUNS SHAPE ...`
//!
//! A shape is `MxNxK`, with `t` at the end for a B that is stored as its transpose, as weights of networks often are. Prints one JSON
//! object a shape: the parameters, and the seconds of each run. `benches/gemm_bars.py` compares them with cuBLAS.

#![allow(clippy::print_stdout, reason = "an example prints")]

use serde_json::json;
use tripipe::gemm::Product;
use tripipe::{Choice, Context, Matrix};

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
        let name = format!("f32 product {m}x{n}x{k}");
        let chosen = context.explain().into_iter().find(|chosen| chosen.operation == name);
        let chosen = chosen.ok_or("no explanation")?;
        println!(
            "{}",
            json!({ "shape": shape, "device": context.name(), "kernel": chosen.to_string(), "seconds": seconds })
        );
    }
    Ok(())
}
