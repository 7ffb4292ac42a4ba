//! Images: extents, formats, and their creation with own memory or over a buffer.

use std::marker::PhantomData;

use opencl_sys as cl;
use opencl_sys::{cl_image_desc, cl_image_format, cl_mem, cl_mem_flags, cl_mem_object_type};

use tripipe_device::{ImageLimits, Probe};
use tripipe_launch::{Access, ImageExtent, ImageShape};

use crate::api::queries;
use crate::code::CallError;
use crate::context::Context;
use crate::kernel::Arg;
use crate::memory::mapped::MappedImage;
use crate::memory::mapping::RawMapping;
use crate::memory::object::{Contents, Object};
use crate::memory::{MemoryError, Strategy};
use crate::queue::Queue;

/// An image with its own memory, or a view of a buffer ([`crate::memory::Buffer::image`]).
pub struct Image<'b> {
    object: Object,
    buffer: PhantomData<&'b Object>,
}

impl Image<'static> {
    /// An image with its own memory, of zeros or with `contents` (rows and slices tightly packed).
    ///
    /// # Errors
    /// No image support, a shape that OpenCL does not support, an extent over the limit, an unsupported format,
    /// contents of another length, or no memory.
    pub fn new(
        context: &Context,
        shape: &ImageShape,
        access: Access,
        contents: Option<&[u8]>,
    ) -> Result<Self, MemoryError> {
        let strategy = Strategy::for_device(context.device().probe());
        let contents = contents.map_or(Contents::Zero, Contents::Copy);
        Object::image(context, shape, access, strategy, &contents).map(Self::from_object)
    }
}

impl Image<'_> {
    pub(super) fn from_object(object: Object) -> Self {
        Self { object, buffer: PhantomData }
    }

    /// Its size in bytes on the host side, rows and slices tightly packed.
    pub fn bytes(&self) -> usize {
        self.object.shape().bytes()
    }

    /// Copies the whole image into tightly packed rows and slices; returns when the copy is complete.
    ///
    /// # Errors
    /// `into` of another length, a queue of another context, or the driver fails.
    pub fn read(&self, queue: &Queue, into: &mut [u8]) -> Result<(), MemoryError> {
        self.object.read(queue, Strategy::Copy, 0, into)
    }

    /// Overwrites the whole image from tightly packed rows and slices; returns when `from` may be reused.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(&self, queue: &Queue, from: &[u8]) -> Result<(), MemoryError> {
        self.object.write(queue, Strategy::Copy, 0, from)
    }

    /// Maps the whole image for reading and writing. No kernel can use it while the mapping exists.
    ///
    /// # Errors
    /// The image is a view of a buffer (map the buffer), a queue of another context, or the driver fails.
    pub fn map(&mut self, queue: &Queue) -> Result<MappedImage<'_>, MemoryError> {
        if self.object.over_buffer() {
            // Other views of the same memory may exist.
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
        image_channel_order: shape.order.opencl_number(),
        image_channel_data_type: shape.channel.opencl_number(),
    }
}

fn object_type(extent: ImageExtent) -> cl_mem_object_type {
    match extent {
        ImageExtent::D1 { .. } => cl::CL_MEM_OBJECT_IMAGE1D,
        ImageExtent::Buffer { .. } => cl::CL_MEM_OBJECT_IMAGE1D_BUFFER,
        ImageExtent::D1Array { .. } => cl::CL_MEM_OBJECT_IMAGE1D_ARRAY,
        ImageExtent::D2 { .. } => cl::CL_MEM_OBJECT_IMAGE2D,
        ImageExtent::D2Array { .. } => cl::CL_MEM_OBJECT_IMAGE2D_ARRAY,
        ImageExtent::D3 { .. } => cl::CL_MEM_OBJECT_IMAGE3D,
    }
}

pub(super) fn description(shape: &ImageShape, row_pitch_bytes: usize, buffer: cl_mem) -> cl_image_desc {
    let extent = shape.extent;
    cl_image_desc {
        image_type: object_type(extent),
        image_width: extent.width(),
        image_height: extent.height(),
        // Drivers read each of these only if the type has it.
        image_depth: extent.slices(),
        image_array_size: extent.slices(),
        // An image1d_buffer_t has one row; its pitch must not be given.
        image_row_pitch: if matches!(extent, ImageExtent::Buffer { .. }) { 0 } else { row_pitch_bytes },
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer,
    }
}

/// Origin and region of a whole image. The layers of a 1D array are its second dimension.
pub(super) fn whole(shape: &ImageShape) -> ([usize; 3], [usize; 3]) {
    let extent = shape.extent;
    let region = match extent {
        ImageExtent::D1Array { width, layers } => [width, layers, 1],
        _ => [extent.width(), extent.height(), extent.slices()],
    };
    ([0; 3], region)
}

fn offered(probe: &Probe) -> Result<ImageLimits, MemoryError> {
    probe.images.ok_or_else(|| MemoryError::NotOffered { what: "images".to_owned() })
}

/// Checks that OpenCL supports the shape and that it is within the device's extents.
fn check_shape(limits: &ImageLimits, shape: &ImageShape) -> Result<(), MemoryError> {
    shape.check()?;
    let extent = shape.extent;
    let ([flat_width, flat_height], layers) = (limits.max_2d, limits.max_layers);
    let limit = match extent {
        // A 1D image has the width limit of a 2D one.
        ImageExtent::D1 { .. } => ImageExtent::D1 { width: flat_width },
        ImageExtent::Buffer { .. } => ImageExtent::Buffer { width: limits.max_1d_buffer },
        ImageExtent::D1Array { .. } => ImageExtent::D1Array { width: flat_width, layers },
        ImageExtent::D2 { .. } => ImageExtent::D2 { width: flat_width, height: flat_height },
        ImageExtent::D2Array { .. } => {
            ImageExtent::D2Array { width: flat_width, height: flat_height, layers }
        }
        ImageExtent::D3 { .. } => {
            let [width, height, depth] = limits.max_3d;
            ImageExtent::D3 { width, height, depth }
        }
    };
    let over = extent.width() > limit.width()
        || extent.height() > limit.height()
        || extent.slices() > limit.slices();
    if over { Err(MemoryError::ImageTooLarge { extent, limit }) } else { Ok(()) }
}

/// Bytes of an image with its own memory, if the device supports the shape.
pub(super) fn check_own(probe: &Probe, shape: &ImageShape) -> Result<usize, MemoryError> {
    check_shape(&offered(probe)?, shape)?;
    if matches!(shape.extent, ImageExtent::Buffer { .. }) {
        let what = "an image1d_buffer_t with its own memory (create it from a buffer)".to_owned();
        return Err(MemoryError::NotOffered { what });
    }
    let (bytes, limit) = (shape.bytes(), probe.max_buffer_bytes);
    if bytes == usize::MAX || (limit > 0 && bytes as u64 > limit) {
        return Err(MemoryError::TooLarge { bytes: bytes as u64, limit });
    }
    Ok(bytes)
}

/// Checks that an image of `shape` can be made over a buffer of `buffer_bytes`.
pub(super) fn check_over_buffer(
    probe: &Probe,
    shape: &ImageShape,
    row_pitch_bytes: usize,
    buffer_bytes: usize,
) -> Result<(), MemoryError> {
    let limits = offered(probe)?;
    check_shape(&limits, shape)?;
    let row = shape.row_bytes();
    match shape.extent {
        // OpenCL 1.2 requires it of every device with images.
        ImageExtent::Buffer { .. } if row > buffer_bytes => {
            Err(MemoryError::Bounds { offset: 0, len: row, bytes: buffer_bytes })
        }
        ImageExtent::Buffer { .. } => Ok(()),
        ImageExtent::D2 { height, .. } => {
            if !limits.from_buffer {
                return Err(MemoryError::NotOffered { what: "2D images made from buffers".to_owned() });
            }
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
        _ => Err(MemoryError::NotOffered {
            what: format!("an {} made from a buffer (only 1D and 2D images can be)", shape.opencl_type()),
        }),
    }
}

/// Checks that the device supports the format for this access.
pub(super) fn check_format(
    context: &Context,
    shape: &ImageShape,
    access: cl_mem_flags,
) -> Result<(), MemoryError> {
    let wanted = format(shape);
    let kind = object_type(shape.extent);
    // SAFETY: live as long as its handle.
    let formats = unsafe { queries::supported_image_formats(context.raw(), access, kind) }
        .map_err(CallError::at("clGetSupportedImageFormats"))?;
    let same = |one: &cl_image_format| {
        one.image_channel_order == wanted.image_channel_order
            && one.image_channel_data_type == wanted.image_channel_data_type
    };
    if formats.iter().any(same) {
        Ok(())
    } else {
        Err(MemoryError::NotOffered {
            what: format!(
                "an {} of {} texels with {} channels",
                shape.opencl_type(),
                shape.order.opencl_name(),
                shape.channel.opencl_name()
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use tripipe_launch::{ChannelOrder, ChannelType, ImageShapeError};

    use super::*;

    /// Limits like those of a Mali driver: pitch in multiples of 64 texels.
    fn mali() -> Probe {
        let images = ImageLimits {
            max_2d: [65536, 65536],
            max_3d: [2048, 2048, 1024],
            max_layers: 2048,
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
        // A row that is longer than the pitch.
        assert!(check_over_buffer(&mali(), &rgba(65, 1), 1024, 1 << 20).is_err());
        assert!(check_over_buffer(&mali(), &rgba(10, usize::MAX), 1024, 4096).is_err());
        let error = check_over_buffer(&mali(), &rgba(0, 4), 1024, 4096).unwrap_err();
        assert!(matches!(error, MemoryError::Shape(ImageShapeError::Empty { .. })), "{error}");
        let line = ImageShape { extent: ImageExtent::D1 { width: 4 }, ..rgba(1, 1) };
        let error = check_over_buffer(&mali(), &line, 1024, 4096).unwrap_err();
        assert!(error.to_string().contains("an image1d_t made from a buffer"), "{error}");
    }

    #[test]
    fn a_line_has_no_pitch_but_a_limit() {
        let line = |width| ImageShape { extent: ImageExtent::Buffer { width }, ..rgba(1, 1) };
        assert_eq!(check_over_buffer(&mali(), &line(256), 0, 4096), Ok(()));
        assert!(check_over_buffer(&mali(), &line(257), 0, 4096).is_err());
        let error = check_over_buffer(&mali(), &line((1 << 20) + 1), 0, usize::MAX).unwrap_err();
        let limit = ImageExtent::Buffer { width: 1 << 20 };
        assert!(matches!(error, MemoryError::ImageTooLarge { limit: at, .. } if at == limit), "{error}");
        assert!(matches!(check_own(&mali(), &line(4)), Err(MemoryError::NotOffered { .. })));
    }

    #[test]
    fn unsupported_images_are_reported() {
        let mut probe = mali();
        probe.images = Some(ImageLimits { from_buffer: false, ..probe.images.unwrap_or_default() });
        let error = check_over_buffer(&probe, &rgba(1, 1), 1024, 4096).unwrap_err();
        assert!(matches!(error, MemoryError::NotOffered { .. }), "{error}");
        probe.images = None;
        assert!(matches!(check_own(&probe, &rgba(1, 1)), Err(MemoryError::NotOffered { .. })));
    }

    #[test]
    fn extents_are_checked_without_overflow() {
        assert_eq!(check_own(&mali(), &rgba(3, 5)), Ok(240));
        assert!(matches!(check_own(&mali(), &rgba(65537, 1)), Err(MemoryError::ImageTooLarge { .. })));
        // Within the extents, over the allocation limit.
        assert!(matches!(check_own(&mali(), &rgba(65536, 65536)), Err(MemoryError::TooLarge { .. })));
    }

    #[test]
    fn arrays_and_volumes_have_limits_of_their_own() {
        let shape = |extent| ImageShape { extent, ..rgba(1, 1) };
        let fits = [
            ImageExtent::D1 { width: 65536 },
            ImageExtent::D1Array { width: 3, layers: 2048 },
            ImageExtent::D2Array { width: 2049, height: 1, layers: 2048 },
            ImageExtent::D3 { width: 2048, height: 1, depth: 1024 },
        ];
        for extent in fits {
            assert!(check_own(&mali(), &shape(extent)).is_ok(), "{extent}");
        }
        let over = [
            ImageExtent::D1 { width: 65537 },
            ImageExtent::D1Array { width: 1, layers: 2049 },
            ImageExtent::D2Array { width: 1, height: 65537, layers: 1 },
            ImageExtent::D3 { width: 2049, height: 1, depth: 1 },
            ImageExtent::D3 { width: 1, height: 1, depth: 1025 },
        ];
        for extent in over {
            let error = check_own(&mali(), &shape(extent)).unwrap_err();
            assert!(matches!(error, MemoryError::ImageTooLarge { .. }), "{extent}: {error}");
        }
    }

    #[test]
    fn formats_have_the_numbers_and_names_of_opencl() {
        let orders = [
            ("CL_R", cl::CL_R),
            ("CL_A", cl::CL_A),
            ("CL_RG", cl::CL_RG),
            ("CL_RA", cl::CL_RA),
            ("CL_RGB", cl::CL_RGB),
            ("CL_RGBA", cl::CL_RGBA),
            ("CL_BGRA", cl::CL_BGRA),
            ("CL_ARGB", cl::CL_ARGB),
            ("CL_ABGR", cl::CL_ABGR),
            ("CL_INTENSITY", cl::CL_INTENSITY),
            ("CL_LUMINANCE", cl::CL_LUMINANCE),
            ("CL_DEPTH", cl::CL_DEPTH),
            ("CL_sRGBA", cl::CL_sRGBA),
            ("CL_sBGRA", cl::CL_sBGRA),
        ];
        assert_eq!(ChannelOrder::ALL.map(|order| (order.opencl_name(), order.opencl_number())), orders);
        let channels = [
            ("CL_SNORM_INT8", cl::CL_SNORM_INT8),
            ("CL_SNORM_INT16", cl::CL_SNORM_INT16),
            ("CL_UNORM_INT8", cl::CL_UNORM_INT8),
            ("CL_UNORM_INT16", cl::CL_UNORM_INT16),
            ("CL_UNORM_SHORT_565", cl::CL_UNORM_SHORT_565),
            ("CL_UNORM_SHORT_555", cl::CL_UNORM_SHORT_555),
            ("CL_UNORM_INT_101010", cl::CL_UNORM_INT_101010),
            ("CL_UNORM_INT_101010_2", cl::CL_UNORM_INT_101010_2),
            ("CL_SIGNED_INT8", cl::CL_SIGNED_INT8),
            ("CL_SIGNED_INT16", cl::CL_SIGNED_INT16),
            ("CL_SIGNED_INT32", cl::CL_SIGNED_INT32),
            ("CL_UNSIGNED_INT8", cl::CL_UNSIGNED_INT8),
            ("CL_UNSIGNED_INT16", cl::CL_UNSIGNED_INT16),
            ("CL_UNSIGNED_INT32", cl::CL_UNSIGNED_INT32),
            ("CL_HALF_FLOAT", cl::CL_HALF_FLOAT),
            ("CL_FLOAT", cl::CL_FLOAT),
        ];
        let found = ChannelType::ALL.map(|channel| (channel.opencl_name(), channel.opencl_number()));
        assert_eq!(found, channels);
    }
}
