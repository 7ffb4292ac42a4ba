//! Cliffs on GPUs that are not there: chains whose neighbour, with a window that is two pixels smaller, is predicted to
//! be three times as fast or more, with the parameters that the library chooses. Needs clang.
//!
//! ```text
//! cargo run --release -p tripipe-conformance --example cliffs -- [--gpu mali-g78,...] [--only gaussian] [--type u8]
//!     [--channels 1] [--size 1920x1088] [--all]
//! ```
//!
//! `--all` prints all times. Exit codes: 0 no cliff, 1 some, 2 it could not run.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it is for")]

use std::error::Error;
use std::process::ExitCode;

use tripipe_conformance::{cliffs, defaults};
use tripipe_device::{Gpu, catalog, find};
use tripipe_kernels::filter::{PixelType, Size};
use tripipe_timing::{VirtualGpu, VirtualOptions};

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("cliffs: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<usize, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut only, mut element, mut channels, mut size) =
        (String::new(), "u8".to_owned(), 1, Size::new(1920, 1088));
    let (mut gpus, mut print): (Vec<&Gpu>, bool) = (catalog().iter().collect(), false);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--gpu" => gpus = value()?.split(',').map(find).collect::<Result<_, _>>()?,
            "--only" => only = value()?,
            "--type" => element = value()?,
            "--channels" => channels = value()?.parse()?,
            "--size" => {
                let text = value()?;
                let (width, height) = text.split_once('x').ok_or("want WIDTHxHEIGHT")?;
                size = Size::new(width.parse()?, height.parse()?);
            }
            "--all" => print = true,
            other => return Err(format!("{other} is not an option").into()),
        }
    }
    let named = |known: &PixelType| known.to_string() == element;
    let element = PixelType::ALL.into_iter().find(named).ok_or("want --type u8, i16, u16, f16 or f32")?;
    let (mut found, mut count) = (0, 0);
    for gpu in gpus {
        let options = VirtualOptions { time_only: true, ..VirtualOptions::default() };
        let mut executor = VirtualGpu::new(gpu, options);
        for group in defaults::chains().iter().filter(|group| group[0].contains(&only)) {
            let times = cliffs::times(&mut executor, group, size, channels, element)?;
            count += times.len();
            if print {
                for time in &times {
                    println!("{}: {time}", gpu.id());
                }
            }
            for [one, next] in cliffs::cliffs(&times) {
                found += 1;
                println!("{}: a cliff of {:.1}\n  {one}\n  {next}", gpu.id(), next.seconds / one.seconds);
            }
        }
    }
    println!("{found} cliffs among {count} filters");
    Ok(found)
}
