//! The cost of a call, in microseconds, as the requested shapes change: regions that move over an image, blocks that
//! move over a matrix, extents that change, batches at offsets. On every device of the machine.
//!
//! `cargo run --release -p tripipe --example calls`

#![allow(clippy::print_stdout, reason = "an example that shows something")]

use std::time::Instant;

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::gemm::Product;
use tripipe::{Context, Device, Error, Extents, Image, Matrix, Size, Vector};

/// Microseconds per call, of repeated passes through all shapes and of the first pass.
fn time(
    context: &Context,
    shapes: usize,
    mut call: impl FnMut(usize) -> Result<(), Error>,
) -> Result<[f64; 2], Error> {
    let rounds = (2000 / shapes).max(1);
    let mut round = |count: usize| {
        let start = Instant::now();
        for _ in 0..count {
            (0..shapes).try_for_each(&mut call)?;
        }
        context.finish()?;
        Ok::<_, Error>(start.elapsed().as_secs_f64() * 1e6 / (count * shapes) as f64)
    };
    let first = round(1)?;
    Ok([round(rounds)?, first])
}

fn main() -> Result<(), Error> {
    const SHAPES: [usize; 4] = [1, 64, 65, 1000];
    for device in Device::list() {
        for falls_back in [false, true] {
            let context = Context::builder().cpu_when_faster(falls_back).build(&device)?;
            let way = if falls_back { "whoever is faster" } else { "the device alone" };
            println!("{}, {way}: us a call, and of the first time", context.name());
            let chain = Chain::parse("box:3", Border::Replicate)?;
            let image = Image::<u8>::zeros(&context, Raster::packed(Size::new(1100, 64), 1, PixelType::U8))?;
            let mut small = Image::<u8>::zeros(&context, Raster::packed(Size::square(32), 1, PixelType::U8))?;
            for shapes in SHAPES {
                let [again, first] = time(&context, shapes, |shape| {
                    let region = image.region(shape, shape % 32, Size::square(32))?;
                    let filter = context.filter(&chain, region.raster(), small.raster())?;
                    filter.run(region, &mut small)?.wait()
                })?;
                println!("  a region of 32x32 at {shapes:4} places  {again:9.1} {first:9.1}");
            }
            let matrix = Matrix::<f32>::zeros(&context, Extents::new(1100, 64))?;
            let mut c = Matrix::<f32>::zeros(&context, Extents::new(32, 32))?;
            for shapes in SHAPES {
                let [again, first] = time(&context, shapes, |shape| {
                    let block = matrix.block(shape..shape + 32, 0..32)?;
                    Product::new(block, matrix.block(0..32, 32..64)?)?.store(&mut c)?.wait()
                })?;
                println!("  a block of 32x32 at {shapes:4} places   {again:9.1} {first:9.1}");
            }
            for shapes in SHAPES {
                let vectors: Vec<Vector<u8>> =
                    (1..=shapes).map(|length| Vector::zeros(&context, length)).collect::<Result<_, _>>()?;
                let [again, first] = time(&context, shapes, |shape| vectors[shape].sum().map(drop))?;
                println!("  a sum of {shapes:4} lengths             {again:9.1} {first:9.1}");
            }
            let offsets: Vec<u32> = (0..16).flat_map(|product| [64 * product, 0, 32 * product]).collect();
            let offsets = Vector::from_slice(&context, &offsets)?;
            let [a, b] = [matrix.block(0..16, 0..16)?, matrix.block(0..16, 16..32)?];
            let mut c = Matrix::<f32>::zeros(&context, Extents::new(32, 32))?;
            let [again, first] = time(&context, 1, |_| {
                Product::new(a, b)?.at_offsets(&offsets)?.store(c.block_mut(0..16, 0..16)?)?.wait()
            })?;
            println!("  16 products at offsets             {again:9.1} {first:9.1}");
        }
    }
    Ok(())
}
