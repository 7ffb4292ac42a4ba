//! Two independent chains of products: in one queue, in two queues of the same device, and from two threads.
//!
//! A context has one queue, in which operations run in order, so that none needs to name what it waits for. Chains that
//! do not depend on each other get a context each: two queues of the device, which it may serve at the same time.
//!
//! `cargo run --release -p tripipe --example two_chains -- [DEVICE] [SIZE ...]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use tripipe::gemm::Product;
use tripipe::{Choice, Context, Device, Extents, Matrix};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Products in each chain.
const STEPS: usize = 50;

/// A chain: each product reads the result of the one before.
struct Chain {
    context: Context,
    weights: Matrix<f32>,
    states: [Matrix<f32>; 2],
}

impl Chain {
    fn new(context: &Context, n: usize) -> Outcome<Self> {
        // A permutation, so that the result does not grow.
        let weights: Vec<f32> = (0..n * n).map(|at| f32::from(u8::from(at / n == (at + 1) % n))).collect();
        let values: Vec<f32> = (0..n * n).map(|at| (at % 7) as f32).collect();
        let extents = Extents::new(n, n);
        Ok(Self {
            context: context.clone(),
            weights: Matrix::from_slice(context, extents, &weights)?,
            states: [Matrix::from_slice(context, extents, &values)?, Matrix::zeros(context, extents)?],
        })
    }

    /// Queues one step.
    fn step(&mut self) -> Outcome<()> {
        let [from, to] = &mut self.states;
        drop(Product::new(&*from, &self.weights)?.store(to)?);
        self.states.swap(0, 1);
        Ok(())
    }

    fn run(&mut self) -> Outcome<()> {
        (0..STEPS).try_for_each(|_| self.step())?;
        Ok(self.context.finish()?)
    }
}

/// Seconds of a call: the median of 9, after one that is not counted.
fn median(mut call: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    call()?;
    let mut seconds = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        call()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[4])
}

/// Both chains, their steps in turn.
fn in_turn(chains: &mut [Chain; 2]) -> Outcome<()> {
    for _ in 0..STEPS {
        chains.iter_mut().try_for_each(Chain::step)?;
    }
    Ok(chains.iter().try_for_each(|chain| chain.context.finish())?)
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let choice: Choice = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let mut sizes = arguments.map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![32, 64, 128, 256, 512];
    }
    let device: Device = choice.resolve()?;
    let context = || Context::builder().profiling(false).cpu_when_faster(false).build(&device);
    let (first, second) = (context()?, context()?);
    println!("{}: two chains of {STEPS} products n x n, ms", first.name());
    println!("{:>6} {:>10} {:>10} {:>11} {:>6}", "n", "one queue", "two queues", "two threads", "gain");
    for n in sizes {
        let mut shared = [Chain::new(&first, n)?, Chain::new(&first, n)?];
        let one = median(|| in_turn(&mut shared))?;
        let mut apart = [Chain::new(&first, n)?, Chain::new(&second, n)?];
        let two = median(|| in_turn(&mut apart))?;
        let threads = median(|| {
            std::thread::scope(|scope| {
                let running: Vec<_> = apart.iter_mut().map(|chain| scope.spawn(|| chain.run())).collect();
                running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
            })
        })?;
        let ms = |seconds: f64| seconds * 1e3;
        println!(
            "{n:>6} {:>10.2} {:>10.2} {:>11.2} {:>6.2}",
            ms(one),
            ms(two),
            ms(threads),
            one / two.min(threads)
        );
    }
    Ok(())
}
