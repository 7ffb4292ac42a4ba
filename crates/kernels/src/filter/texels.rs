//! Sources read as images over their buffers.

use tripipe_device::Probe;
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape};

use super::{ChannelLayout, PixelType, Raster};

/// Elements of a texel: red, green, blue, alpha.
pub(super) const TEXEL: usize = 4;

/// Row alignment of images between two stages, in texels. A device that requires more, or an alignment that is not a
/// power of two, is refused.
const ALIGNMENT: usize = 64;

/// Row pitch multiple, in elements, of images between two stages, so that they can be read as images.
pub(super) const PITCH: usize = TEXEL * ALIGNMENT;

/// An image over a buffer, from the start of the buffer, with one image row per raster row. A partial last texel of a
/// row is not in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Texels {
    pub(super) shape: ImageShape,
    pub(super) pitch_bytes: usize,
}

impl Texels {
    /// The image over a raster's buffer.
    ///
    /// # Errors
    /// The unmet requirement on the device or the raster, in words.
    pub(super) fn over(raster: &Raster, probe: &Probe) -> Result<Self, String> {
        let limits = probe.images.filter(|limits| limits.from_buffer);
        let limits =
            limits.ok_or("a device that supports images over buffers (cl_khr_image2d_from_buffer)")?;
        let Raster { offset, pitch, plane_pitch, .. } = *raster;
        let multiple = TEXEL * limits.pitch_alignment.max(1) as usize;
        if pitch == 0 || !pitch.is_multiple_of(multiple) {
            return Err(format!("rows that are a multiple of {multiple} elements apart, not {pitch}"));
        }
        let end = (offset % pitch).saturating_add(raster.row_elements());
        if !offset.is_multiple_of(TEXEL) || !plane_pitch.is_multiple_of(pitch) || end > pitch {
            let want = "an offset that is a multiple of 4, no row around its end, and planes that are whole rows apart";
            return Err(want.to_owned());
        }
        let planes = if raster.layout == ChannelLayout::Planar { raster.channels } else { 1 };
        let last = (planes - 1).saturating_mul(plane_pitch).saturating_add(offset);
        let rows = (last / pitch).saturating_add(raster.height);
        let size = [end / TEXEL, rows];
        if size.contains(&0) || size.iter().zip(limits.max_2d).any(|(extent, limit)| *extent > limit) {
            let [width, height] = limits.max_2d;
            return Err(format!("1x1 to {width}x{height} texels, not {}x{}", size[0], size[1]));
        }
        let channel = match raster.element {
            PixelType::U8 => ChannelType::U8,
            PixelType::I16 => ChannelType::I16,
            PixelType::U16 => ChannelType::U16,
            PixelType::F16 => ChannelType::F16,
            PixelType::F32 => ChannelType::F32,
        };
        let shape = ImageShape::d2(size[0], size[1], ChannelOrder::Rgba, channel);
        let pitch_bytes = pitch.checked_mul(raster.element.bytes());
        let pitch_bytes = pitch_bytes
            .ok_or_else(|| format!("rows whose distance in bytes can be counted, not {pitch} elements"))?;
        Ok(Self { shape, pitch_bytes })
    }

    /// The start of a raster in the image: texel, row, and rows from plane to plane.
    pub(super) fn origin(raster: &Raster) -> [usize; 3] {
        let pitch = raster.pitch.max(1);
        [raster.offset % pitch / TEXEL, raster.offset / pitch, raster.plane_pitch / pitch]
    }

    /// The type of a texel's components in OpenCL C, and the function that reads one.
    pub(super) fn opencl_names(element: PixelType) -> [&'static str; 2] {
        match element {
            PixelType::U8 | PixelType::U16 => ["uint", "read_imageui"],
            PixelType::I16 => ["int", "read_imagei"],
            PixelType::F16 | PixelType::F32 => ["float", "read_imagef"],
        }
    }
}

#[cfg(test)]
mod tests {
    use tripipe_device::ImageLimits;

    use super::*;
    use crate::filter::Size;

    #[test]
    fn rows_too_far_apart_to_count_their_bytes_are_refused() {
        let images = ImageLimits {
            max_2d: [1 << 14; 2],
            max_3d: [0; 3],
            max_layers: 0,
            max_1d_buffer: 0,
            from_buffer: true,
            pitch_alignment: 4,
            base_address_alignment: 4,
        };
        let probe = Probe { images: Some(images), ..Probe::default() };
        let near = Raster { pitch: 16, ..Raster::packed(Size::new(5, 1), 1, PixelType::I16) };
        assert!(Texels::over(&near, &probe).is_ok());
        let far = Raster { pitch: 1 << 63, ..near };
        assert!(Texels::over(&far, &probe).is_err());
    }
}
