//! Compares the simulator's images with those of the available OpenCL devices: every format that they offer, read
//! through every sampler and written.
//!
//! Without a device the tests are skipped, with a message; with `TRIPIPE_REQUIRE_OPENCL=1` they fail.
//!
//! Cases in which PoCL differs from the specification are skipped, and a GPU needs only the precision that is
//! required ([`Knows`]). Observed to pass on PoCL 3.1 and 5.0 and on an NVIDIA H200, which offers 74 formats.

mod expected;
mod inputs;
mod kernels;

use std::sync::Arc;

use fastrand::Rng;
use tripipe_ir::op::ImageFact;
use tripipe_launch::{
    Access, Addressing, Argument, ChannelOrder, ChannelType, Executor, Filter, ImageExtent as E, ImageShape,
    MemoryKind, Program, Sampler,
};
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor};
use tripipe_simulate::image::{Image, Reader, Texel, TexelKind};

use expected::Knows;
use inputs::{coordinates, noise, offered, samplers, texels};
use kernels::{buffer, program, read, run};

const EXTENTS: [E; 5] = [
    E::D1 { width: 9 },
    E::D1Array { width: 9, layers: 3 },
    E::D2 { width: 9, height: 5 },
    E::D2Array { width: 9, height: 5, layers: 3 },
    E::D3 { width: 9, height: 5, depth: 4 },
];

/// Coordinates per launch.
const READS: usize = 300;

fn executors() -> Vec<OpenClExecutor> {
    let devices = tripipe_opencl::devices().unwrap_or_default();
    let options = ExecutorOptions::default().cache(CacheChoice::Off);
    let executors: Vec<_> = devices
        .iter()
        .filter(|device| device.probe().images.is_some())
        .map(|device| OpenClExecutor::new(device, &options).unwrap())
        .collect();
    if executors.is_empty() {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "no OpenCL device with images");
        eprintln!("no OpenCL device with images: nothing is compared");
    }
    executors
}

fn compare(place: &str, knows: Knows, order: ChannelOrder, tolerance: f32, found: [u32; 4], want: &Texel) {
    for component in knows.components(order) {
        let (found, want) = (found[component], want.bits()[component]);
        let (x, y) = (f32::from_bits(found), f32::from_bits(want));
        let near = tolerance > 0.0 && (x - y).abs() <= tolerance;
        assert!(
            found == want || near,
            "{place}, component {component}: {found:#x} ({x}), want {want:#x} ({y})"
        );
    }
}

#[test]
fn reads_through_every_sampler() {
    let mut random = Rng::with_seed(1);
    for mut executor in executors() {
        let knows = Knows::of(executor.probe());
        for extent in EXTENTS {
            for (shape, memory, bytes) in offered(&mut executor, extent, Access::Read, &mut random) {
                let image = Image::packed(&shape).unwrap();
                let (kind, order) = (image.kind(), shape.order);
                let program = program(&shape, kind);
                for sampler in samplers(extent, kind, knows) {
                    let reader = Reader::new(&image, sampler).unwrap();
                    let at: Vec<_> = (0..READS).map(|_| coordinates(extent, sampler, &mut random)).collect();
                    let arguments = vec![Argument::Memory(memory), Argument::Sampler(sampler)];
                    let found = read(&mut executor, &program, "sample", arguments, bytemuck::cast_slice(&at));
                    let want: Vec<_> = at
                        .iter()
                        .map(|[x, y, z, _]| reader.sample([*x, *y, *z], &mut &bytes[..]))
                        .inspect(|sample| assert!(!sample.outside))
                        .map(|sample| sample.texel)
                        .collect();
                    let tolerance = match sampler.filter {
                        Filter::Nearest => knows.tolerance(&shape),
                        Filter::Linear => knows.filter_tolerance(&shape),
                    };
                    for ((at, found), want) in at.iter().zip(found).zip(&want) {
                        let place = format!("{shape:?} {sampler:?} at {at:?}");
                        compare(&place, knows, order, tolerance, found, want);
                    }
                }
                executor.release(memory).unwrap();
            }
        }
    }
}

#[test]
fn reads_at_integers_and_without_a_sampler() {
    let mut random = Rng::with_seed(2);
    for mut executor in executors() {
        let knows = Knows::of(executor.probe());
        for extent in EXTENTS {
            for (shape, memory, bytes) in offered(&mut executor, extent, Access::Read, &mut random) {
                let image = Image::packed(&shape).unwrap();
                let (kind, order) = (image.kind(), shape.order);
                let program = program(&shape, kind);
                let tolerance = knows.tolerance(&shape);
                for addressing in [Addressing::ClampToEdge, Addressing::Clamp] {
                    let sampler = Sampler { normalized: false, addressing, filter: Filter::Nearest };
                    let reader = Reader::new(&image, sampler).unwrap();
                    let at: Vec<_> = (0..READS).map(|_| [(); 4].map(|()| random.i32(-7..16))).collect();
                    let arguments = vec![Argument::Memory(memory), Argument::Sampler(sampler)];
                    let found =
                        read(&mut executor, &program, "sample_at", arguments, bytemuck::cast_slice(&at));
                    for ([x, y, z, _], found) in at.into_iter().zip(found) {
                        let want = reader.sample_at([x, y, z], &mut &bytes[..]).texel;
                        let place = format!("{shape:?} {sampler:?} at {x} {y} {z}");
                        compare(&place, knows, order, tolerance, found, &want);
                    }
                }
                let at = texels(extent);
                let arguments = vec![Argument::Memory(memory)];
                let found = read(&mut executor, &program, "read", arguments, bytemuck::cast_slice(&at));
                for ([x, y, z, _], found) in at.into_iter().zip(found) {
                    let want = image.read([x, y, z], &mut &bytes[..]);
                    assert!(!want.outside);
                    compare(
                        &format!("{shape:?} at {x} {y} {z}"),
                        knows,
                        order,
                        tolerance,
                        found,
                        &want.texel,
                    );
                }
                executor.release(memory).unwrap();
            }
        }
    }
}

#[test]
fn writes_leave_the_bytes_of_the_format() {
    let mut random = Rng::with_seed(3);
    for mut executor in executors() {
        let knows = Knows::of(executor.probe());
        for extent in EXTENTS.into_iter().filter(|extent| !matches!(extent, E::D3 { .. })) {
            for (shape, memory, mut bytes) in offered(&mut executor, extent, Access::ReadWrite, &mut random) {
                let image = Image::packed(&shape).unwrap();
                let (kind, at) = (image.kind(), texels(extent));
                let from: Vec<_> = at
                    .iter()
                    .map(|_| {
                        // Small numbers, and numbers that must be saturated.
                        let number = |random: &mut Rng| match kind {
                            TexelKind::Float => (random.f32() * 2.5 - 1.25).to_bits(),
                            _ => random.u32(..) >> random.u32(0..32),
                        };
                        Texel::from_bits(kind, [(); 4].map(|()| number(&mut random)))
                    })
                    .collect();
                let bits: Vec<_> = from.iter().map(Texel::bits).collect();
                let program = program(&shape, kind);
                let [at_memory, from_memory] = [bytemuck::cast_slice(&at), bytemuck::cast_slice(&bits)]
                    .map(|it| buffer(&mut executor, it));
                let arguments = [memory, at_memory, from_memory].map(Argument::Memory).to_vec();
                run(&mut executor, &program, "write", arguments, at.len());
                let mut found = vec![0; bytes.len()];
                executor.read(memory, 0, &mut found).unwrap();
                for ([x, y, z, _], texel) in at.iter().zip(&from) {
                    let offset = image.offset([*x, *y, *z]).unwrap();
                    let encoded = image.encode(texel).unwrap();
                    bytes[offset..offset + encoded.len()].copy_from_slice(&encoded);
                }
                assert!(knows.written(&shape, &found, &bytes), "{shape:?}: {found:?}, want {bytes:?}");
                for memory in [memory, at_memory, from_memory] {
                    executor.release(memory).unwrap();
                }
            }
        }
    }
}

#[test]
fn lines_over_buffers_are_read() {
    let mut random = Rng::with_seed(4);
    for mut executor in executors() {
        let knows = Knows::of(executor.probe());
        for (order, channel) in [
            (ChannelOrder::Rgba, ChannelType::U8),
            (ChannelOrder::Rgba, ChannelType::I16),
            (ChannelOrder::Rgba, ChannelType::UnormU8),
            (ChannelOrder::R, ChannelType::F32),
        ] {
            let extent = E::Buffer { width: 40 };
            let shape = ImageShape { extent, order, channel };
            let (image, bytes) = (Image::packed(&shape).unwrap(), noise(&shape, &mut random));
            let from = buffer(&mut executor, &bytes);
            let view = executor.image_over_buffer(from, &shape, 0).unwrap();
            let (program, at) = (program(&shape, image.kind()), texels(extent));
            let found = read(
                &mut executor,
                &program,
                "read",
                vec![Argument::Memory(view)],
                bytemuck::cast_slice(&at),
            );
            for ([x, y, z, _], found) in at.into_iter().zip(found) {
                let want = image.read([x, y, z], &mut &bytes[..]).texel;
                compare(&format!("{shape:?} at {x}"), knows, order, knows.tolerance(&shape), found, &want);
            }
        }
    }
}

#[test]
fn queries_return_size_and_format() {
    for mut executor in executors() {
        for (extent, size) in [
            (EXTENTS[0], "get_image_width(image), 0, 0"),
            (EXTENTS[1], "get_image_width(image), (int)get_image_array_size(image), 0"),
            (EXTENTS[2], "get_image_width(image), get_image_height(image), 0"),
            (EXTENTS[3], "get_image_width(image), get_image_height(image), (int)get_image_array_size(image)"),
            (EXTENTS[4], "get_image_width(image), get_image_height(image), get_image_depth(image)"),
        ] {
            for (order, channel) in [
                (ChannelOrder::Rgba, ChannelType::SnormI16),
                (ChannelOrder::Bgra, ChannelType::UnormU8),
                (ChannelOrder::R, ChannelType::F32),
            ] {
                let shape = ImageShape { extent, order, channel };
                let kind = MemoryKind::Image(shape);
                let Ok(memory) = executor.allocate(&kind, Access::Read, None) else { continue };
                let program = Arc::new(Program::from_source(
                    "facts.cl",
                    format!(
                        "kernel void facts(read_only {} image, global int *to) {{
                             int facts[] = {{
                                 {size},
                                 get_image_channel_data_type(image) - CLK_SNORM_INT8,
                                 get_image_channel_order(image) - CLK_R
                             }};
                             for (int fact = 0; fact < 5; ++fact) to[fact] = facts[fact];
                         }}",
                        shape.opencl_type()
                    ),
                ));
                let to = buffer(&mut executor, &[0; 20]);
                run(&mut executor, &program, "facts", [memory, to].map(Argument::Memory).to_vec(), 1);
                let mut found = [0; 5];
                executor.read(to, 0, bytemuck::cast_slice_mut(&mut found)).unwrap();
                let image = Image::packed(&shape).unwrap();
                let [width, height, depth] = image.fact(ImageFact::Size);
                let channel = image.fact(ImageFact::ChannelType)[0];
                let order = image.fact(ImageFact::ChannelOrder)[0];
                assert_eq!(found, [width, height, depth, channel, order], "{shape:?}");
            }
        }
    }
}
