//! A small multi-layer perceptron: two layers with bias and `ReLU`, a last one without `ReLU`, weights packed once.
//!
//! `cargo run --release -p tripipe --example mlp -- [DEVICE] [BATCH]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use tripipe::gemm::{Packed, Product};
use tripipe::{Choice, Context, Error, Extents, Matrix, Vector};

/// Weights (inputs x outputs) and bias of a layer.
struct Layer {
    weights: Packed<f32>,
    bias: Vector<f32>,
    relu: bool,
}

/// Reproducible numbers around 0.
fn numbers(count: usize, scale: f32) -> Vec<f32> {
    (0..count as u32)
        .map(|i| ((i.wrapping_mul(2_654_435_761) >> 16) as f32 / 32768.0 - 1.0) * scale)
        .collect()
}

impl Layer {
    fn new(
        context: &Context,
        inputs: usize,
        outputs: usize,
        relu: bool,
        batch: usize,
    ) -> Result<Self, Error> {
        let scale = (6.0 / inputs as f32).sqrt();
        let weights =
            Matrix::from_slice(context, Extents::new(inputs, outputs), &numbers(inputs * outputs, scale))?;
        let bias = Vector::from_slice(context, &numbers(outputs, 0.1))?;
        Ok(Self { weights: Packed::right(&weights, batch)?, bias, relu })
    }

    /// Queued; the result can be passed to the next layer at once.
    fn forward(&self, x: &Matrix<f32>) -> Result<Matrix<f32>, Error> {
        let product = Product::new(x, &self.weights)?.bias_columns(&self.bias);
        if self.relu { product.relu().into_matrix() } else { product.into_matrix() }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let choice: Choice = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let batch: usize = arguments.next().as_deref().unwrap_or("64").parse()?;
    let context = Context::new(&choice.resolve()?)?;
    let layers = [(784, 512, true), (512, 256, true), (256, 10, false)]
        .map(|(inputs, outputs, relu)| Layer::new(&context, inputs, outputs, relu, batch));
    let layers = layers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let x = Matrix::from_slice(&context, Extents::new(batch, 784), &numbers(batch * 784, 1.0))?;
    let mut y = layers[0].forward(&x)?;
    for layer in &layers[1..] {
        y = layer.forward(&y)?;
    }
    let scores = y.to_vec()?;
    println!("{}: {batch} inputs", context.name());
    for (index, scores) in scores.chunks(10).take(4).enumerate() {
        let best = (0..10).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0);
        println!("  input {index}: class {best}, score {:.3}", scores[best]);
    }
    print!("{}", Product::new(&x, &layers[0].weights)?.bias_columns(&layers[0].bias).relu().explain()?);
    Ok(())
}
