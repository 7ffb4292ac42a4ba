//! How long predictions take: `cargo bench -p tripipe-timing`. Each kernel is compiled before; the longest of three
//! predictions counts, each by a virtual GPU of its own.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends at the first surprise"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tripipe_device::find;
use tripipe_launch::{
    Access, Argument, ChannelOrder, ChannelType, Executor, ImageShape, Launch, MemoryKind, NdRange, Program,
};
use tripipe_timing::{VirtualGpu, VirtualOptions};

const RUNS: usize = 3;

enum Passed {
    Memory(MemoryKind),
    Int(usize),
}

fn program(path: &'static str) -> Arc<Program> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    Arc::new(Program::from_source(path, fs::read_to_string(file).unwrap()))
}

fn report(gpu: &str, program: &Arc<Program>, entry: &str, passed: &[Passed], global: [usize; 2]) {
    let mut longest = 0.0_f64;
    let mut predicted = 0.0;
    for _ in 0..RUNS {
        let options = VirtualOptions { time_only: true, ..VirtualOptions::default() };
        let mut device = VirtualGpu::new(find(gpu).unwrap(), options);
        device.prepare(program, entry).unwrap();
        let arguments = passed.iter().map(|passed| match passed {
            Passed::Memory(kind) => Argument::Memory(device.allocate(kind, Access::ReadWrite, None).unwrap()),
            Passed::Int(value) => Argument::from(*value as i32),
        });
        let arguments = arguments.collect();
        let range = NdRange::d2(global[0], global[1]);
        let launch = Launch { program: Arc::clone(program), entry: entry.to_owned(), arguments, range };
        let start = Instant::now();
        device.run(&[launch]).unwrap();
        longest = longest.max(start.elapsed().as_secs_f64());
        predicted = device.predictions()[0].seconds;
    }
    println!("{longest:>8.2} s for {predicted:.4} s of {entry} on {gpu}");
}

fn main() {
    let ladder = program("ladders/src/laplace/published.cl");
    let (width, height) = (7680, 4320);
    for (entry, pixels) in [("scalar", 1), ("vectorise", 5), ("eight_pixels", 8)] {
        let buffer = || Passed::Memory(MemoryKind::Buffer { bytes: 3 * width * (height + 4) + 64 });
        let mut passed = vec![buffer(), buffer(), Passed::Int(width)];
        if pixels == 1 {
            passed.push(Passed::Int(height));
        }
        for gpu in ["mali-t604", "mali-g77", "adreno-650"] {
            report(gpu, &ladder, entry, &passed, [height, width / pixels]);
        }
    }
    let products = program("analyze/tests/held/gemm_fp16.cl");
    let size = 1024;
    let buffer = || Passed::Memory(MemoryKind::Buffer { bytes: 2 * size * size });
    let image = || {
        let shape = ImageShape::d2(size / 4, size, ChannelOrder::Rgba, ChannelType::F16);
        Passed::Memory(MemoryKind::Image(shape))
    };
    let ints = |count: usize| (0..count).map(|_| Passed::Int(size)).collect::<Vec<_>>();
    for gpu in ["mali-g77", "adreno-650"] {
        let naive: Vec<Passed> = [buffer(), buffer(), buffer()].into_iter().chain(ints(2)).collect();
        report(gpu, &products, "naive", &naive, [size; 2]);
        let vectors: Vec<Passed> = [buffer(), buffer(), buffer()].into_iter().chain(ints(3)).collect();
        report(gpu, &products, "transposed_a_4x4_vload4", &vectors, [size / 4; 2]);
        let images: Vec<Passed> = [image(), image(), image()].into_iter().chain(ints(1)).collect();
        report(gpu, &products, "image_a_image_b", &images, [size / 4; 2]);
    }
}
