//! Compares the simulator's images with those of the available OpenCL devices: every format that they offer, read
//! through every sampler and written.
//!
//! Without a device the tests are skipped, with a message; with `TRIPIPE_REQUIRE_OPENCL=1` they fail.
//!
//! Cases in which PoCL differs from the specification are skipped, and a GPU needs only the precision that is
//! required ([`Knows`]). Observed to pass on PoCL 3.1 and 5.0 and on an NVIDIA H200, which offers 74 formats.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

use std::sync::Arc;

use fastrand::Rng;
use half::f16;
use tripipe_device::{DeviceKind, Probe};
use tripipe_ir::op::ImageFact;
use tripipe_launch::{
    Access, Addressing, Argument, ChannelOrder, ChannelType, ExecuteError, Executor, Filter,
    ImageExtent as E, ImageShape, Launch, MemoryId, MemoryKind, NdRange, Program, Sampler,
};
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor};
use tripipe_simulate::image::{Image, Reader, Texel, TexelKind};

const EXTENTS: [E; 5] = [
    E::D1 { width: 9 },
    E::D1Array { width: 9, layers: 3 },
    E::D2 { width: 9, height: 5 },
    E::D2Array { width: 9, height: 5, layers: 3 },
    E::D3 { width: 9, height: 5, depth: 4 },
];

const ADDRESSING: [Addressing; 5] = [
    Addressing::None,
    Addressing::ClampToEdge,
    Addressing::Clamp,
    Addressing::Repeat,
    Addressing::MirroredRepeat,
];

/// Coordinates per launch.
const READS: usize = 300;

/// The expectations for a device.
#[derive(Clone, Copy)]
struct Knows {
    /// All cases. False for PoCL: alpha of `CL_R` and `CL_RG` images is 0 at the border and for integers, single
    /// channels of `CL_HALF_FLOAT` are treated as bytes, and up to 3.1 a normalised sampler normalises the layer of
    /// an array too.
    all: bool,
    /// Single precision, and rounding to nearest. Other devices: filters with 256 positions between two texels, sRGB
    /// to half a code (8.3.5), written numbers to the next code (8.3.1.2 and 8.3.2).
    exact: bool,
}

impl Knows {
    fn of(probe: &Probe) -> Self {
        let all = probe.platform != "Portable Computing Language";
        Self { all, exact: probe.kind == DeviceKind::Cpu }
    }

    fn format(self, order: ChannelOrder, channel: ChannelType) -> bool {
        self.all || channel != ChannelType::F16 || order.channels() > 1
    }

    fn sampler(self, extent: E, sampler: Sampler) -> bool {
        self.all || !sampler.normalized || !matches!(extent, E::D1Array { .. } | E::D2Array { .. })
    }

    /// The components to compare.
    fn components(self, order: ChannelOrder) -> std::ops::Range<usize> {
        match order {
            ChannelOrder::R if !self.all => 0..1,
            ChannelOrder::Rg if !self.all => 0..2,
            _ => 0..4,
        }
    }

    /// Tolerance of a component that is read without a filter.
    fn tolerance(self, shape: &ImageShape) -> f32 {
        match shape.channel {
            // The steepest part of sRGB is 2.4 / 1.055 at 1.
            _ if shape.order.is_srgb() && !self.exact => 0.5 / 255.0 * 2.4 / 1.055,
            ChannelType::F16 | ChannelType::F32 => 0.0,
            channel if channel.is_integer() => 0.0,
            // Three units in the last place below 1, where 1.5 are allowed (8.3.1.1) and each side rounds.
            _ => 2e-7,
        }
    }

    /// Tolerance with a linear filter, for texels and border at most 4 apart.
    fn filter_tolerance(self, shape: &ImageShape) -> f32 {
        // A step of positions along each of three dimensions, and one for the sum.
        let step = if self.exact { 1e-6 } else { 0.5 / 256.0 };
        let range = if shape.channel.bytes() == 1 || shape.channel.is_packed() { 2.0 } else { 4.0 };
        4.0 * range * step + self.tolerance(shape)
    }

    /// Whether the bytes are those that a write should leave.
    fn written(self, shape: &ImageShape, found: &[u8], want: &[u8]) -> bool {
        let near = |found: &[u8], want: &[u8]| match (found, want) {
            ([a], [b]) => a.wrapping_sub(*b).cast_signed().abs() <= 1,
            ([a, b], [c, d]) => {
                let [found, want] = [[*a, *b], [*c, *d]].map(u16::from_ne_bytes);
                found.wrapping_sub(want).cast_signed().abs() <= 1
            }
            _ => found == want,
        };
        if self.exact || shape.channel.is_integer() || shape.channel.is_packed() {
            return found == want;
        }
        let bytes = shape.channel.bytes();
        found.chunks(bytes).zip(want.chunks(bytes)).all(|(found, want)| near(found, want))
    }
}

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

/// Kernels that read and write texels at coordinates, four numbers each.
fn program(shape: &ImageShape, kind: TexelKind) -> Arc<Program> {
    let ty = shape.opencl_type();
    let at = match shape.extent {
        E::D1 { .. } | E::Buffer { .. } => "at[i].x",
        E::D1Array { .. } | E::D2 { .. } => "at[i].xy",
        E::D2Array { .. } | E::D3 { .. } => "at[i]",
    };
    let (f, component) = match kind {
        TexelKind::Float => ("f", "float"),
        TexelKind::Signed => ("i", "int"),
        TexelKind::Unsigned => ("ui", "uint"),
    };
    let read = format!(
        "kernel void read(read_only {ty} from, global const int4 *at, global {component}4 *to) {{
             size_t i = get_global_id(0);
             to[i] = read_image{f}(from, {at});
         }}"
    );
    let sample = |entry: &str, coordinate: &str| {
        format!(
            "kernel void {entry}(
                 read_only {ty} from, sampler_t how, global const {coordinate} *at, global {component}4 *to
             ) {{
                 size_t i = get_global_id(0);
                 to[i] = read_image{f}(from, how, {at});
             }}"
        )
    };
    let write = format!(
        "kernel void write(write_only {ty} to, global const int4 *at, global const {component}4 *texels) {{
             size_t i = get_global_id(0);
             write_image{f}(to, {at}, texels[i]);
         }}"
    );
    let kernels = match shape.extent {
        E::Buffer { .. } => vec![read, write],
        // Writing 3D images is an extension.
        E::D3 { .. } => vec![read, sample("sample", "float4"), sample("sample_at", "int4")],
        _ => vec![read, sample("sample", "float4"), sample("sample_at", "int4"), write],
    };
    Arc::new(Program::from_source("texels.cl", kernels.join("\n")))
}

fn buffer(executor: &mut OpenClExecutor, bytes: &[u8]) -> MemoryId {
    let kind = MemoryKind::Buffer { bytes: bytes.len() };
    executor.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
}

/// Runs a kernel that reads; returns four numbers for each coordinate.
fn read(
    executor: &mut OpenClExecutor,
    program: &Arc<Program>,
    entry: &str,
    mut arguments: Vec<Argument>,
    at: &[u8],
) -> Vec<[u32; 4]> {
    let from = buffer(executor, at);
    let to = buffer(executor, &vec![0; at.len()]);
    arguments.extend([Argument::Memory(from), Argument::Memory(to)]);
    run(executor, program, entry, arguments, at.len() / 16);
    let mut found = vec![0; at.len()];
    executor.read(to, 0, &mut found).unwrap();
    for memory in [from, to] {
        executor.release(memory).unwrap();
    }
    bytemuck::pod_collect_to_vec(&found)
}

fn run(
    executor: &mut OpenClExecutor,
    program: &Arc<Program>,
    entry: &str,
    arguments: Vec<Argument>,
    items: usize,
) {
    let (program, range) = (Arc::clone(program), NdRange::d1(items));
    executor.run(&[Launch { program, entry: entry.to_owned(), arguments, range }]).unwrap();
}

/// Random bytes; floats are between -2 and 2.
fn noise(shape: &ImageShape, random: &mut Rng) -> Vec<u8> {
    let channels = shape.bytes() / shape.channel.bytes();
    (0..channels)
        .flat_map(|_| match shape.channel {
            ChannelType::F32 => (random.f32() * 4.0 - 2.0).to_ne_bytes().to_vec(),
            ChannelType::F16 => f16::from_f32(random.f32() * 4.0 - 2.0).to_ne_bytes().to_vec(),
            channel => (0..channel.bytes()).map(|_| random.u8(..)).collect(),
        })
        .collect()
}

/// The formats that the device offers for images of this extent, with an image of each.
fn offered(
    executor: &mut OpenClExecutor,
    extent: E,
    access: Access,
    random: &mut Rng,
) -> Vec<(ImageShape, MemoryId, Vec<u8>)> {
    let knows = Knows::of(executor.probe());
    let mut all = Vec::new();
    for order in ChannelOrder::ALL {
        for channel in ChannelType::ALL {
            let shape = ImageShape { extent, order, channel };
            // Depth images have other types.
            if shape.check().is_err() || order == ChannelOrder::Depth || !knows.format(order, channel) {
                continue;
            }
            let memory = noise(&shape, random);
            match executor.allocate(&MemoryKind::Image(shape), access, Some(&memory)) {
                Ok(image) => all.push((shape, image, memory)),
                Err(ExecuteError::NotOffered { .. }) => {}
                Err(error) => panic!("{shape:?}: {error}"),
            }
        }
    }
    // OpenCL 1.2 requires this many of every device.
    assert!(all.len() >= 10, "{extent}: {} formats", all.len());
    eprintln!("{}: {extent}, {} formats", executor.probe().name, all.len());
    all
}

fn samplers(extent: E, kind: TexelKind, knows: Knows) -> Vec<Sampler> {
    let all = ADDRESSING.into_iter().flat_map(|addressing| {
        [false, true].into_iter().flat_map(move |normalized| {
            [Filter::Nearest, Filter::Linear].map(|filter| Sampler { normalized, addressing, filter })
        })
    });
    let repeats =
        |sampler: &Sampler| matches!(sampler.addressing, Addressing::Repeat | Addressing::MirroredRepeat);
    all.filter(|sampler| sampler.normalized || !repeats(sampler))
        .filter(|sampler| sampler.filter == Filter::Nearest || kind == TexelKind::Float)
        .filter(|sampler| knows.sampler(extent, *sampler))
        .collect()
}

/// Coordinates in and around the image, at least a tenth of a texel from the boundary to another texel.
fn coordinates(extent: E, sampler: Sampler, random: &mut Rng) -> [f32; 4] {
    let sizes = match extent {
        E::D1Array { width, layers } => [width, layers, 1],
        _ => [extent.width(), extent.height(), extent.slices()],
    };
    let layer = match extent {
        E::D1Array { .. } => Some(1),
        E::D2Array { .. } => Some(2),
        _ => None,
    };
    let mut at = [0.0; 4];
    for (axis, size) in sizes.into_iter().enumerate() {
        let size = size as i32;
        let (outside, layered) = (sampler.addressing != Addressing::None, layer == Some(axis));
        let texel = match sampler.filter {
            _ if layered => random.i32(-2..size + 2),
            _ if outside => random.i32(-2 * size..3 * size),
            Filter::Nearest => random.i32(0..size),
            Filter::Linear => random.i32(0..size - i32::from(size > 1)),
        };
        // A layer is rounded to nearest, a nearest texel downwards. A linear filter is continuous; without
        // addressing, coordinates stay between the centres of two texels.
        let within = match sampler.filter {
            _ if layered => random.f32() * 0.8 - 0.4,
            _ if size == 1 && !outside => 0.5,
            Filter::Nearest => 0.1 + 0.8 * random.f32(),
            Filter::Linear => 0.5 + random.f32(),
        };
        let position = texel as f32 + within;
        at[axis] = if sampler.normalized && !layered { position / size as f32 } else { position };
    }
    at
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

/// All texels of an image.
fn texels(extent: E) -> Vec<[i32; 4]> {
    let sizes = match extent {
        E::D1Array { width, layers } => [width, layers, 1],
        _ => [extent.width(), extent.height(), extent.slices()],
    };
    let [width, height, depth] = sizes.map(|size| size as i32);
    (0..depth)
        .flat_map(|z| (0..height).map(move |y| (y, z)))
        .flat_map(|(y, z)| (0..width).map(move |x| [x, y, z, 0]))
        .collect()
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
fn queries_give_the_facts() {
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
