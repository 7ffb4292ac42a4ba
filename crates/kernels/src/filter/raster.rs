//! The memory layout of images.

use std::fmt;

use half::f16;

use super::FilterError;

/// The type of one channel of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelType {
    /// `uchar`, 0..=255.
    U8,
    /// `short`, -32768..=32767.
    I16,
    /// `ushort`, 0..=65535.
    U16,
    /// `half`; computed in `float` and rounded to the nearest when stored.
    F16,
    /// `float`.
    F32,
}

impl PixelType {
    /// All element types.
    pub const ALL: [Self; 5] = [Self::U8, Self::I16, Self::U16, Self::F16, Self::F32];

    /// Bytes per element.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::F32 => 4,
        }
    }

    /// Smallest and largest value of an integer type; `None` for floating-point types.
    pub fn range(self) -> Option<[i32; 2]> {
        match self {
            Self::U8 => Some([0, 255]),
            Self::I16 => Some([-32768, 32767]),
            Self::U16 => Some([0, 65535]),
            Self::F16 | Self::F32 => None,
        }
    }

    /// The nearest value of the type (ties to even). Integer types saturate, and NaN becomes 0.
    pub fn nearest(self, value: f64) -> f64 {
        match self.range() {
            Some(_) if value.is_nan() => 0.0,
            Some([low, high]) => value.round_ties_even().clamp(f64::from(low), f64::from(high)),
            None if self == Self::F16 => f16::from_f32(value as f32).to_f64(),
            None => f64::from(value as f32),
        }
    }

    /// The value of white and of opaque: the largest value, 1 for floating-point types.
    pub fn white(self) -> f64 {
        self.range().map_or(1.0, |[_, high]| f64::from(high))
    }

    /// The zero of chroma: the middle of the range for unsigned types, 0 for `I16`, 0.5 for floating-point types.
    pub fn chroma_zero(self) -> f64 {
        match self {
            Self::U8 => 128.0,
            Self::U16 => 32768.0,
            Self::I16 => 0.0,
            Self::F16 | Self::F32 => 0.5,
        }
    }

    /// Whether it is `half` or `float`.
    pub fn is_float(self) -> bool {
        self.range().is_none()
    }
}

/// The extents of an image, or of a part or a window of one, in pixels: the width first, as pictures are measured. Those of a
/// matrix, rows first, are [`Extents`](crate::gemm::Extents).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Pixels in a row; may be 0.
    pub width: usize,
    /// Rows; may be 0.
    pub height: usize,
}

impl Size {
    /// `width` x `height` pixels.
    pub const fn new(width: usize, height: usize) -> Self {
        Self { width, height }
    }

    /// As many rows as columns: `extent` x `extent` pixels.
    pub const fn square(extent: usize) -> Self {
        Self::new(extent, extent)
    }
}

/// Columns and rows: `640x480`.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// How the channels of an image are arranged in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelLayout {
    /// The channels of a pixel are adjacent.
    Packed,
    /// Each channel is a plane of its own.
    Planar,
}

/// The memory layout of an image in a slice or a buffer. All distances are in elements.
///
/// Channel c of the pixel (x, y) is at `offset + y * pitch + x * channels + c` when packed, at
/// `offset + c * plane_pitch + y * pitch + x` when planar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Raster {
    /// Pixels in a row; may be 0.
    pub width: usize,
    /// Rows; may be 0.
    pub height: usize,
    /// Channels of a pixel, 1 to 4.
    pub channels: usize,
    /// Type of a channel.
    pub element: PixelType,
    /// Packed or planar.
    pub layout: ChannelLayout,
    /// Offset of the first pixel.
    pub offset: usize,
    /// Distance from row to row.
    pub pitch: usize,
    /// Distance from plane to plane; 0 when packed.
    pub plane_pitch: usize,
}

impl fmt::Display for Raster {
    /// `640x480 pixels of 3 u8, packed, 1920 elements from row to row`; with offset and distance of planes if there
    /// are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height, channels, element, layout, offset, pitch, plane_pitch } = self;
        let layout = match layout {
            ChannelLayout::Packed => "packed",
            ChannelLayout::Planar => "planar",
        };
        write!(
            f,
            "{width}x{height} pixels of {channels} {element}, {layout}, {pitch} elements from row to row"
        )?;
        if *plane_pitch > 0 {
            write!(f, ", {plane_pitch} from plane to plane")?;
        }
        if *offset > 0 { write!(f, ", from element {offset} on") } else { Ok(()) }
    }
}

impl Raster {
    /// Packed pixels without gaps.
    pub fn packed(size: Size, channels: usize, element: PixelType) -> Self {
        let Size { width, height } = size;
        let pitch = width.saturating_mul(channels);
        Self {
            width,
            height,
            channels,
            element,
            layout: ChannelLayout::Packed,
            offset: 0,
            pitch,
            plane_pitch: 0,
        }
    }

    /// Planes without gaps, one after the other.
    pub fn planar(size: Size, channels: usize, element: PixelType) -> Self {
        let Size { width, height } = size;
        let plane_pitch = width.saturating_mul(height);
        Self {
            width,
            height,
            channels,
            element,
            layout: ChannelLayout::Planar,
            offset: 0,
            pitch: width,
            plane_pitch,
        }
    }

    /// Pixels without gaps, packed or in planes.
    pub fn dense(layout: ChannelLayout, size: Size, channels: usize, element: PixelType) -> Self {
        match layout {
            ChannelLayout::Packed => Self::packed(size, channels, element),
            ChannelLayout::Planar => Self::planar(size, channels, element),
        }
    }

    /// The luma plane of an NV12 or NV21 frame with a row pitch of `pitch` bytes: one channel of bytes.
    pub fn luma(size: Size, pitch: usize) -> Self {
        Self { pitch, ..Self::packed(size, 1, PixelType::U8) }
    }

    /// Width and height.
    pub fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }

    /// The same raster with rows `pitch` elements apart. Planes keep their distance, or get the size of `height` such
    /// rows if that is larger.
    #[must_use]
    pub fn with_pitch(self, pitch: usize) -> Self {
        let plane_pitch = match self.layout {
            ChannelLayout::Packed => 0,
            ChannelLayout::Planar => self.plane_pitch.max(pitch.saturating_mul(self.height)),
        };
        Self { pitch, plane_pitch, ..self }
    }

    /// The region of `size` pixels that starts at column `x` and row `y`. Filters treat it as a separate image: the
    /// pixels around it are outside.
    ///
    /// # Errors
    /// The region leaves the image, or starts at an index that cannot be addressed.
    pub fn region(self, x: usize, y: usize, size: Size) -> Result<Self, FilterError> {
        let Size { width, height } = size;
        let inside =
            |from: usize, length: usize, all: usize| from.checked_add(length).is_some_and(|end| end <= all);
        if !inside(x, width, self.width) || !inside(y, height, self.height) {
            return Err(FilterError::Region { x, y, size, image: self.size() });
        }
        let rows = y.checked_mul(self.pitch);
        let columns = x.checked_mul(self.step());
        let first =
            rows.zip(columns).and_then(|(rows, columns)| rows.checked_add(columns)?.checked_add(self.offset));
        match first {
            Some(offset) => Ok(Self { width, height, offset, ..self }),
            // An empty region addresses no pixel.
            None if width == 0 || height == 0 => Ok(Self { width, height, ..self }),
            None => Err(FilterError::TooLarge { size: self.size() }),
        }
    }

    /// Elements from a pixel to its right neighbour.
    pub fn step(&self) -> usize {
        match self.layout {
            ChannelLayout::Packed => self.channels,
            ChannelLayout::Planar => 1,
        }
    }

    /// Elements of a row (of one plane when planar); saturates on overflow.
    pub fn row_elements(&self) -> usize {
        self.width.saturating_mul(self.step())
    }

    /// The index of channel `channel` of the pixel (x, y); saturates on overflow.
    pub fn index(&self, x: usize, y: usize, channel: usize) -> usize {
        let (plane, inside) = match self.layout {
            ChannelLayout::Packed => (0, channel),
            ChannelLayout::Planar => (channel, 0),
        };
        let distances = [
            plane.saturating_mul(self.plane_pitch),
            y.saturating_mul(self.pitch),
            x.saturating_mul(self.step()),
        ];
        distances.into_iter().fold(self.offset.saturating_add(inside), usize::saturating_add)
    }

    /// Whether the image has no pixels.
    pub fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// Elements that a slice or buffer must have to hold the image: one past the last pixel's last channel, 0 for an
    /// empty image.
    ///
    /// # Errors
    /// No channels or more than 4, rows that overlap, planes that overlap, more elements than can be addressed.
    pub fn elements(&self) -> Result<usize, FilterError> {
        if !(1..=4).contains(&self.channels) {
            return Err(FilterError::Channels { found: self.channels });
        }
        let too_large = || FilterError::TooLarge { size: self.size() };
        let row = self.width.checked_mul(self.step()).ok_or_else(too_large)?;
        if self.is_empty() {
            return Ok(0);
        }
        if self.height > 1 && self.pitch < row {
            return Err(FilterError::Pitch { pitch: self.pitch, want: row });
        }
        let plane = (self.height - 1)
            .checked_mul(self.pitch)
            .and_then(|rows| rows.checked_add(row))
            .ok_or_else(too_large)?;
        let planes = match self.layout {
            ChannelLayout::Packed => 1,
            ChannelLayout::Planar => self.channels,
        };
        if planes > 1 && self.plane_pitch < plane {
            return Err(FilterError::PlanePitch { plane_pitch: self.plane_pitch, want: plane });
        }
        (planes - 1)
            .checked_mul(self.plane_pitch)
            .and_then(|before| before.checked_add(plane))
            .and_then(|all| all.checked_add(self.offset))
            .filter(|all| {
                all.checked_mul(self.element.bytes()).is_some_and(|bytes| isize::try_from(bytes).is_ok())
            })
            .ok_or_else(too_large)
    }
}

/// Whether vectors of `lanes` elements, counted from the start of a row, are at multiples of their size.
pub(super) fn is_aligned(raster: &Raster, lanes: usize) -> bool {
    [raster.offset, raster.pitch, raster.plane_pitch].iter().all(|distance| distance.is_multiple_of(lanes))
}

#[cfg(test)]
mod tests {
    use super::{PixelType, Raster, Size};

    #[test]
    fn rasters_are_described_in_words() {
        let packed = Raster::packed(Size::new(640, 480), 3, PixelType::U8);
        assert_eq!(packed.to_string(), "640x480 pixels of 3 u8, packed, 1920 elements from row to row");
        let planar = Raster { offset: 5, ..Raster::planar(Size::new(4, 2), 2, PixelType::F32) };
        assert_eq!(
            planar.to_string(),
            "4x2 pixels of 2 f32, planar, 4 elements from row to row, 8 from plane to plane, from element 5 on"
        );
    }
}
