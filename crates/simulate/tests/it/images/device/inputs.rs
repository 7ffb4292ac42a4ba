//! Images in every format that a device offers, samplers, and coordinates.

use fastrand::Rng;
use half::f16;
use tripipe_launch::{
    Access, Addressing, ChannelOrder, ChannelType, ExecuteError, Executor, Filter, ImageExtent as E,
    ImageShape, MemoryId, MemoryKind, Sampler,
};
use tripipe_opencl::OpenClExecutor;
use tripipe_simulate::image::TexelKind;

use super::expected::Knows;

const ADDRESSING: [Addressing; 5] = [
    Addressing::None,
    Addressing::ClampToEdge,
    Addressing::Clamp,
    Addressing::Repeat,
    Addressing::MirroredRepeat,
];

/// Random bytes; floats are between -2 and 2.
pub(super) fn noise(shape: &ImageShape, random: &mut Rng) -> Vec<u8> {
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
pub(super) fn offered(
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

pub(super) fn samplers(extent: E, kind: TexelKind, knows: Knows) -> Vec<Sampler> {
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
pub(super) fn coordinates(extent: E, sampler: Sampler, random: &mut Rng) -> [f32; 4] {
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

/// All texels of an image.
pub(super) fn texels(extent: E) -> Vec<[i32; 4]> {
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
