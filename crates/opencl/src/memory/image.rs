//! Images: extents, formats, and the two ways to make one.

use std::marker::PhantomData;

use cl3::memory as cl;
use cl3::types::{cl_image_desc, cl_image_format, cl_mem, cl_mem_flags, cl_mem_object_type};

use tripipe_device::{ImageLimits, Probe};
use tripipe_launch::{Access, ChannelOrder, ChannelType, ImageShape};

use crate::code::CallError;
use crate::context::Context;
use crate::kernel::Arg;
use crate::memory::mapped::MappedImage;
use crate::memory::mapping::RawMapping;
use crate::memory::object::{Contents, Object};
use crate::memory::{MemoryError, Strategy};
use crate::queue::Queue;

/// A 1D or 2D image: one with memory of its own, or a view of a buffer ([`crate::memory::Buffer::image`]).
pub struct Image<'b> {
    object: Object,
    buffer: PhantomData<&'b Object>,
}

impl Image<'static> {
    /// An image of its own, of zeros or with `contents` (rows tightly packed).
    ///
    /// # Errors
    /// No images, an extent of 0 or over the limit, a format that is not offered, contents of another
    /// length, no memory.
    pub fn new(
        context: &Context,
        shape: &ImageShape,
        access: Access,
        contents: Option<&[u8]>,
    ) -> Result<Self, MemoryError> {
        let strategy = Strategy::for_device(context.device().probe());
        let contents = contents.map_or(Contents::Zero, Contents::Copy);
        Object::image(context, shape, access, strategy, &contents).map(Self::made)
    }
}

impl Image<'_> {
    pub(super) fn made(object: Object) -> Self {
        Self { object, buffer: PhantomData }
    }

    /// Its size in bytes on the host side, rows tightly packed.
    pub fn bytes(&self) -> usize {
        self.object.shape().bytes()
    }

    /// Copies the whole image, rows tightly packed; returns when it is done.
    ///
    /// # Errors
    /// `into` of another length, a queue of another context, the driver fails.
    pub fn read(&self, queue: &Queue, into: &mut [u8]) -> Result<(), MemoryError> {
        self.object.read(queue, Strategy::Copy, 0, into)
    }

    /// Overwrites the whole image from tightly packed rows; returns when `from` may be reused.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(&self, queue: &Queue, from: &[u8]) -> Result<(), MemoryError> {
        self.object.write(queue, Strategy::Copy, 0, from)
    }

    /// Maps the whole image for reading and writing. No kernel can be given it while the guard lives.
    ///
    /// # Errors
    /// The image is a view of a buffer (map the buffer), a queue of another context, the driver fails.
    pub fn map(&mut self, queue: &Queue) -> Result<MappedImage<'_>, MemoryError> {
        if self.object.over_buffer() {
            // Others may hold views of the same memory.
            let what = "mapping of an image made from a buffer (map the buffer)".to_owned();
            return Err(MemoryError::NotOffered { what });
        }
        let flags = cl::CL_MAP_READ | cl::CL_MAP_WRITE;
        RawMapping::new(&self.object, queue, flags, 0, self.bytes()).map(MappedImage)
    }
}

impl<'a> From<&'a Image<'_>> for Arg<'a> {
    fn from(image: &'a Image<'_>) -> Self {
        Arg::memory(&image.object)
    }
}

pub(super) fn format(shape: &ImageShape) -> cl_image_format {
    cl_image_format {
        image_channel_order: order_code(shape.order).unwrap_or(0),
        image_channel_data_type: channel_code(shape.channel).unwrap_or(0),
    }
}

fn order_code(order: ChannelOrder) -> Option<u32> {
    match order {
        ChannelOrder::R => Some(cl::CL_R),
        ChannelOrder::Rg => Some(cl::CL_RG),
        ChannelOrder::Rgba => Some(cl::CL_RGBA),
        _ => None,
    }
}

fn channel_code(channel: ChannelType) -> Option<u32> {
    match channel {
        ChannelType::UnormU8 => Some(cl::CL_UNORM_INT8),
        ChannelType::U8 => Some(cl::CL_UNSIGNED_INT8),
        ChannelType::U16 => Some(cl::CL_UNSIGNED_INT16),
        ChannelType::U32 => Some(cl::CL_UNSIGNED_INT32),
        ChannelType::I32 => Some(cl::CL_SIGNED_INT32),
        ChannelType::F16 => Some(cl::CL_HALF_FLOAT),
        ChannelType::F32 => Some(cl::CL_FLOAT),
        _ => None,
    }
}

fn object_type(shape: &ImageShape, over_buffer: bool) -> cl_mem_object_type {
    match (shape.height, over_buffer) {
        (Some(_), _) => cl::CL_MEM_OBJECT_IMAGE2D,
        (None, false) => cl::CL_MEM_OBJECT_IMAGE1D,
        (None, true) => cl::CL_MEM_OBJECT_IMAGE1D_BUFFER,
    }
}

pub(super) fn description(shape: &ImageShape, row_pitch_bytes: usize, buffer: cl_mem) -> cl_image_desc {
    cl_image_desc {
        image_type: object_type(shape, !buffer.is_null()),
        image_width: shape.width,
        image_height: shape.height.unwrap_or(1),
        image_depth: 1,
        image_array_size: 1,
        // An image1d_buffer_t has one row, whose pitch must not be given.
        image_row_pitch: if shape.height.is_some() { row_pitch_bytes } else { 0 },
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer,
    }
}

/// Origin and region of a whole image.
pub(super) fn whole(shape: &ImageShape) -> ([usize; 3], [usize; 3]) {
    ([0; 3], [shape.width, shape.height.unwrap_or(1), 1])
}

fn offered(probe: &Probe) -> Result<ImageLimits, MemoryError> {
    probe.images.ok_or_else(|| MemoryError::NotOffered { what: "images".to_owned() })
}

/// Bytes of an image of its own, if the device can take its extent.
pub(super) fn check_extent(probe: &Probe, shape: &ImageShape) -> Result<usize, MemoryError> {
    let limits = offered(probe)?;
    let (width, height) = (shape.width, shape.height.unwrap_or(1));
    if width == 0 || height == 0 {
        return Err(MemoryError::Empty);
    }
    // A 1D image has the width limit of a 2D one.
    let [max_width, max_height] = limits.max_2d;
    if width > max_width || height > max_height {
        return Err(MemoryError::ImageTooLarge { width, height, max_width, max_height });
    }
    let limit = probe.max_buffer_bytes;
    let bytes = width.checked_mul(height).and_then(|texels| texels.checked_mul(shape.texel_bytes()));
    match bytes {
        Some(bytes) if limit == 0 || bytes as u64 <= limit => Ok(bytes),
        _ => Err(MemoryError::TooLarge { bytes: bytes.map_or(u64::MAX, |bytes| bytes as u64), limit }),
    }
}

/// Whether an image of `shape` can lie over a buffer of `buffer_bytes`.
pub(super) fn check_over_buffer(
    probe: &Probe,
    shape: &ImageShape,
    row_pitch_bytes: usize,
    buffer_bytes: usize,
) -> Result<(), MemoryError> {
    let limits = offered(probe)?;
    let row = shape.width.saturating_mul(shape.texel_bytes());
    let Some(height) = shape.height else {
        // image1d_buffer_t: part of OpenCL 1.2 wherever there are images.
        return match shape.width {
            0 => Err(MemoryError::Empty),
            width if width > limits.max_1d_buffer => Err(MemoryError::ImageTooLarge {
                width,
                height: 1,
                max_width: limits.max_1d_buffer,
                max_height: 1,
            }),
            _ if row > buffer_bytes => Err(MemoryError::Bounds { offset: 0, len: row, bytes: buffer_bytes }),
            _ => Ok(()),
        };
    };
    if !limits.from_buffer {
        return Err(MemoryError::NotOffered { what: "2D images made from buffers".to_owned() });
    }
    check_extent(probe, shape)?;
    if row_pitch_bytes < row {
        return Err(MemoryError::Bounds { offset: 0, len: row, bytes: row_pitch_bytes });
    }
    let alignment = (limits.pitch_alignment.max(1) as usize) * shape.texel_bytes();
    if !row_pitch_bytes.is_multiple_of(alignment) {
        return Err(MemoryError::Alignment {
            what: "a row pitch in bytes",
            value: row_pitch_bytes,
            alignment,
        });
    }
    // All rows at full pitch: drivers differ in whether the last row may be shorter.
    let len = row_pitch_bytes.saturating_mul(height);
    if len > buffer_bytes {
        return Err(MemoryError::Bounds { offset: 0, len, bytes: buffer_bytes });
    }
    Ok(())
}

/// Whether the device offers the format for this use.
pub(super) fn check_format(
    context: &Context,
    shape: &ImageShape,
    access: cl_mem_flags,
) -> Result<(), MemoryError> {
    let wanted = format(shape);
    let kind = object_type(shape, false);
    let formats = cl::get_supported_image_formats(context.raw(), access, kind)
        .map_err(CallError::at("clGetSupportedImageFormats"))?;
    let same = |one: &cl_image_format| {
        one.image_channel_order == wanted.image_channel_order
            && one.image_channel_data_type == wanted.image_channel_data_type
    };
    if formats.iter().any(same) {
        Ok(())
    } else {
        Err(MemoryError::NotOffered {
            what: format!("images of {:?} texels with {:?} channels", shape.order, shape.channel),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits in the manner of a Mali driver: pitch in multiples of 64 texels.
    fn mali() -> Probe {
        let images = ImageLimits {
            max_2d: [65536, 65536],
            max_1d_buffer: 1 << 20,
            from_buffer: true,
            pitch_alignment: 64,
            base_address_alignment: 64,
        };
        Probe { images: Some(images), max_buffer_bytes: 1 << 30, ..Probe::default() }
    }

    fn rgba(width: usize, height: usize) -> ImageShape {
        ImageShape::rgba_f32(width, height)
    }

    #[test]
    fn a_view_must_fit_its_buffer_at_a_pitch_the_device_takes() {
        // 64 texels of 16 bytes are 1024.
        assert_eq!(check_over_buffer(&mali(), &rgba(10, 4), 1024, 4096), Ok(()));
        assert_eq!(
            check_over_buffer(&mali(), &rgba(10, 4), 160, 4096),
            Err(MemoryError::Alignment { what: "a row pitch in bytes", value: 160, alignment: 1024 })
        );
        assert!(matches!(
            check_over_buffer(&mali(), &rgba(10, 4), 1024, 4095),
            Err(MemoryError::Bounds { len: 4096, bytes: 4095, .. })
        ));
        // A row longer than the pitch.
        assert!(check_over_buffer(&mali(), &rgba(65, 1), 1024, 1 << 20).is_err());
        assert!(check_over_buffer(&mali(), &rgba(10, usize::MAX), 1024, 4096).is_err());
        assert_eq!(check_over_buffer(&mali(), &rgba(0, 4), 1024, 4096), Err(MemoryError::Empty));
    }

    #[test]
    fn a_line_has_no_pitch_but_a_limit() {
        let line = |width| ImageShape { height: None, ..rgba(width, 1) };
        assert_eq!(check_over_buffer(&mali(), &line(256), 0, 4096), Ok(()));
        assert!(check_over_buffer(&mali(), &line(257), 0, 4096).is_err());
        let error = check_over_buffer(&mali(), &line((1 << 20) + 1), 0, usize::MAX).unwrap_err();
        assert!(matches!(error, MemoryError::ImageTooLarge { max_width: 0x10_0000, .. }), "{error}");
    }

    #[test]
    fn what_is_not_offered_is_said_so() {
        let mut probe = mali();
        probe.images = Some(ImageLimits { from_buffer: false, ..probe.images.unwrap_or_default() });
        let error = check_over_buffer(&probe, &rgba(1, 1), 1024, 4096).unwrap_err();
        assert!(matches!(error, MemoryError::NotOffered { .. }), "{error}");
        probe.images = None;
        assert!(matches!(check_extent(&probe, &rgba(1, 1)), Err(MemoryError::NotOffered { .. })));
    }

    #[test]
    fn extents_are_checked_without_overflow() {
        assert_eq!(check_extent(&mali(), &rgba(3, 5)), Ok(240));
        assert!(matches!(check_extent(&mali(), &rgba(65537, 1)), Err(MemoryError::ImageTooLarge { .. })));
        // Within the extents, over the allocation limit.
        assert!(matches!(check_extent(&mali(), &rgba(65536, 65536)), Err(MemoryError::TooLarge { .. })));
    }
}
