//! Edges of a photo: gray, blurred, the length of the gradient.
//!
//! `cargo run --release -p tripipe --features image --example edges -- photo.jpg edges.png [DEVICE]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use tripipe::filter::{Border, Chain};
use tripipe::{Choice, Context, Image};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("want: edges INPUT OUTPUT [DEVICE]".into());
    };
    let choice: Choice = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let context = Context::new(&choice.resolve()?)?;
    let photo = Image::<u8>::from_picture(&context, &image::open(input)?)?;
    // Gray pictures need no first stage.
    let stages = if photo.channels() >= 3 { "gray,gaussian:5,sobel" } else { "gaussian:5,sobel" };
    let chain = Chain::parse(stages, Border::Reflect101)?;
    let mut edges = Image::<u8>::zeros(&context, chain.apply_to(photo.raster())?)?;
    let filter = context.filter(&chain, photo.raster(), edges.raster())?;
    filter.run(&photo, &mut edges)?.wait()?;
    edges.to_picture()?.save(output)?;
    print!("{}", filter.explain());
    Ok(())
}
