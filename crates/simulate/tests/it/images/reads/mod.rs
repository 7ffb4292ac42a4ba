//! The locations of reads and writes, compared with models of the specification (OpenCL C 3.0, 8.1, 8.2 and 8.4).

mod description;
mod properties;
mod sampling;

use tripipe_launch::{Addressing, ChannelOrder, ChannelType, Filter, ImageExtent as E, ImageShape, Sampler};
use tripipe_simulate::image::{Image, Reader, Sample, Texel};

const MODES: [Addressing; 5] = [
    Addressing::None,
    Addressing::ClampToEdge,
    Addressing::Clamp,
    Addressing::Repeat,
    Addressing::MirroredRepeat,
];

fn repeats(addressing: Addressing) -> bool {
    matches!(addressing, Addressing::Repeat | Addressing::MirroredRepeat)
}

fn shape(extent: E) -> ImageShape {
    ImageShape { extent, order: ChannelOrder::R, channel: ChannelType::F32 }
}

/// One `float` channel; texel `n` in memory is `n + 1`, so that none equals the border's 0.
fn counted(extent: E) -> (Image, Vec<u8>) {
    let image = Image::packed(&shape(extent)).unwrap();
    let texels = image.span_bytes() / 4;
    (image, (0..texels).flat_map(|texel| (texel as f32 + 1.0).to_ne_bytes()).collect())
}

fn reader(image: &Image, normalized: bool, addressing: Addressing, filter: Filter) -> Reader {
    Reader::new(image, Sampler { normalized, addressing, filter }).unwrap()
}

fn red(sample: Sample) -> f32 {
    let Texel::Float([red, ..]) = sample.texel else { panic!("{sample:?}") };
    red
}

/// The texel at any position of an endless line: the image tiled, mirrored, stretched or framed.
fn endless(addressing: Addressing, position: i64, size: i64) -> Option<i64> {
    let inside = (0..size).contains(&position);
    match addressing {
        Addressing::None | Addressing::Clamp => inside.then_some(position),
        Addressing::ClampToEdge if inside => Some(position),
        Addressing::ClampToEdge => Some(if position < 0 { 0 } else { size - 1 }),
        Addressing::Repeat => Some((position + 100 * size) % size),
        Addressing::MirroredRepeat => {
            let (tile, within) = ((position + 100 * size) / size, (position + 100 * size) % size);
            Some(if tile % 2 == 0 { within } else { size - 1 - within })
        }
    }
}
