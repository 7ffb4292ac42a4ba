//! The layouts of random images.

use fastrand::Rng;
use tripipe::filter::{ChannelLayout, PixelType, Raster};
use tripipe::{Context, Error, Image, Pixel, Size};

use super::numbers::{Kind, choose, scrambled};

/// The layout of pixels in a buffer: distances in addition to the minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RasterLayout {
    pub planar: bool,
    pub offset: usize,
    /// Elements between the end of a row and the start of the next one.
    pub row_gap: usize,
    /// Elements between planes; ignored for packed pixels.
    pub plane_gap: usize,
    /// Elements after the last one.
    pub slack: usize,
}

/// Width, height and channels.
pub type Shape = [usize; 3];

impl RasterLayout {
    pub const DENSE: Self = Self { planar: false, offset: 0, row_gap: 0, plane_gap: 0, slack: 0 };

    /// Draws everything that selects kernels from `random`, the rest from `details`.
    pub fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        let planar = random.u32(..3) == 0;
        let gaps = details.u32(..3) > 0;
        let gap = |details: &mut Rng| if gaps { choose(details, &[0, 0, 1, 2, 3, 5, 16, 29]) } else { 0 };
        let [offset, row_gap, slack] = [gap(details), gap(details), gap(details)];
        let plane_gap = if planar || details.u32(..6) == 0 { gap(details) } else { 0 };
        Self { planar, offset, row_gap, plane_gap, slack }
    }

    fn step(&self, [_, _, channels]: Shape) -> usize {
        if self.planar { 1 } else { channels }
    }

    fn pitch(&self, shape: Shape) -> usize {
        shape[0] * self.step(shape) + self.row_gap
    }

    fn plane_pitch(&self, shape: Shape) -> usize {
        if self.planar { self.pitch(shape) * shape[1] + self.plane_gap } else { self.plane_gap }
    }

    /// The location of channel `channel` of the pixel (x, y).
    pub fn index(&self, shape: Shape, [x, y, channel]: [usize; 3]) -> usize {
        let inside = self.offset + y * self.pitch(shape) + x * self.step(shape);
        inside + if self.planar { channel * self.plane_pitch(shape) } else { channel }
    }

    /// The number of elements of the buffer.
    pub fn elements(&self, shape: Shape) -> usize {
        if shape.contains(&0) {
            return 0;
        }
        self.index(shape, shape.map(|extent| extent - 1)) + 1 + self.slack
    }

    /// A description of an element of the buffer, as a pixel.
    pub fn name(&self, shape: Shape, index: usize) -> String {
        match places(shape).find(|place| self.index(shape, *place) == index) {
            Some([x, y, channel]) => format!("channel {channel} of the pixel ({x}, {y})"),
            None => format!("element {index} of the buffer, of no pixel,"),
        }
    }

    /// The layout as the library's description.
    pub fn raster(&self, shape: Shape, element: PixelType) -> Raster {
        let [width, height, channels] = shape;
        Raster {
            width,
            height,
            channels,
            element,
            layout: if self.planar { ChannelLayout::Planar } else { ChannelLayout::Packed },
            offset: self.offset,
            pitch: self.pitch(shape),
            plane_pitch: self.plane_pitch(shape),
        }
    }

    /// Simpler layouts.
    pub fn smaller(&self) -> Vec<Self> {
        let simple = [
            Self::DENSE,
            Self { planar: self.planar, ..Self::DENSE },
            Self { planar: false, ..*self },
            Self { offset: 0, ..*self },
            Self { row_gap: 0, ..*self },
            Self { plane_gap: 0, ..*self },
            Self { slack: 0, ..*self },
        ];
        simple.into_iter().filter(|smaller| smaller != self).collect()
    }
}

/// All positions (x, y, channel).
pub fn places([width, height, channels]: Shape) -> impl Iterator<Item = [usize; 3]> {
    (0..height)
        .flat_map(move |y| (0..width).flat_map(move |x| (0..channels).map(move |channel| [x, y, channel])))
}

/// The library's name for a type.
pub fn element(kind: Kind) -> PixelType {
    match kind {
        Kind::U8 => PixelType::U8,
        Kind::I16 => PixelType::I16,
        Kind::U16 => PixelType::U16,
        Kind::F16 => PixelType::F16,
        _ => PixelType::F32,
    }
}

/// The types of pixels.
pub const PIXELS: [Kind; 5] = [Kind::U8, Kind::I16, Kind::U16, Kind::F16, Kind::F32];

/// Calls a function that is generic over the type of pixels.
macro_rules! with_pixel {
    ($kind:expr, $type:ident => $call:expr) => {
        match $kind {
            $crate::tester::numbers::Kind::U8 => {
                type $type = u8;
                $call
            }
            $crate::tester::numbers::Kind::I16 => {
                type $type = i16;
                $call
            }
            $crate::tester::numbers::Kind::U16 => {
                type $type = u16;
                $call
            }
            $crate::tester::numbers::Kind::F16 => {
                type $type = half::f16;
                $call
            }
            _ => {
                type $type = f32;
                $call
            }
        }
    };
}
pub(crate) use with_pixel;

/// An image with the given contents.
///
/// # Errors
/// An error of the library.
pub fn image<T: Pixel>(context: &Context, raster: Raster, contents: &[u8]) -> Result<Image<T>, Error> {
    Image::with_raster(context, raster, bytemuck::pod_collect_to_vec::<u8, T>(contents))
}

/// Width and height as the library's type.
pub fn size([width, height]: [usize; 2]) -> Size {
    Size::new(width, height)
}

/// Smaller widths and heights.
pub fn smaller_sizes([width, height]: [usize; 2]) -> Vec<[usize; 2]> {
    let widths = super::numbers::smaller_extents(width).into_iter().map(|width| [width, height]);
    let heights = super::numbers::smaller_extents(height).into_iter().map(|height| [width, height]);
    widths.chain(heights).collect()
}

/// A number from 0 to 1 that depends on a seed and an index.
pub fn fraction(seed: u32, index: usize) -> f64 {
    (scrambled(u64::from(seed), index as u64) >> 11) as f64 / (1u64 << 53) as f64
}
