//! Memory objects that kernels read and write: buffers, images, samplers.

mod image;
mod sampler;
mod texel;

pub use image::{ImageExtent, ImageShape, ImageShapeError};
pub use sampler::{Addressing, Filter, Sampler};
pub use texel::{ChannelOrder, ChannelType};

/// A memory object of one executor. An executor never reuses a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryId(pub u64);

/// The access of kernels to a memory object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Kernels only read it.
    Read,
    /// Kernels only write it.
    Write,
    /// Kernels read and write it.
    ReadWrite,
}

/// A memory object to be created: a buffer or an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// A buffer of at least 1 byte.
    Buffer {
        /// Size in bytes.
        bytes: usize,
    },
    /// An image with its own memory; rows are tightly packed on the host side.
    Image(ImageShape),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(extent: ImageExtent, order: ChannelOrder, channel: ChannelType) -> ImageShape {
        ImageShape { extent, order, channel }
    }

    #[test]
    fn sizes_are_those_of_the_formats() {
        use ChannelOrder as O;
        use ChannelType as C;
        let cube = ImageExtent::D3 { width: 5, height: 3, depth: 2 };
        // Bytes of a texel: CL_IMAGE_ELEMENT_SIZE.
        for (order, channel, bytes) in [
            (O::R, C::UnormU8, 1),
            (O::Depth, C::UnormU16, 2),
            (O::Rg, C::F16, 4),
            (O::Rgb, C::Unorm565, 2),
            (O::Rgb, C::Unorm101010, 4),
            (O::Rgba, C::Unorm1010102, 4),
            (O::Sbgra, C::UnormU8, 4),
            (O::Rgba, C::I32, 16),
        ] {
            let shape = shape(cube, order, channel);
            assert_eq!((shape.texel_bytes(), shape.row_bytes()), (bytes, 5 * bytes));
            assert_eq!(shape.bytes(), 30 * bytes);
        }
        let layers = shape(ImageExtent::D1Array { width: 5, layers: 4 }, O::R, C::F32);
        assert_eq!(layers.bytes(), 80);
        let huge = ImageExtent::D3 { width: usize::MAX, height: 2, depth: 2 };
        assert_eq!(shape(huge, O::Rgba, C::F32).bytes(), usize::MAX);
    }

    #[test]
    fn valid_formats_are_those_of_the_specification() {
        use ChannelOrder as O;
        use ChannelType as C;
        let flat = ImageExtent::D2 { width: 1, height: 1 };
        // OpenCL 3.0 API, tables of channel orders and channel data types: plain orders allow 12 types each, RGBA one
        // more, RGB 3, the three other four-channel orders 4 each, intensity and luminance 6 each, depth 2, sRGB 1
        // each.
        let valid = O::ALL
            .into_iter()
            .flat_map(|order| C::ALL.map(|channel| (order, channel)))
            .filter(|(order, channel)| shape(flat, *order, *channel).check().is_ok())
            .count();
        assert_eq!(valid, 4 * 12 + 13 + 3 + 3 * 4 + 2 * 6 + 2 + 2);
        let error = shape(flat, O::Rgb, C::UnormU8).check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "CL_RGB texels cannot have CL_UNORM_INT8 channels; they can have CL_UNORM_SHORT_565, \
             CL_UNORM_SHORT_555, CL_UNORM_INT_101010"
        );
        let line = ImageExtent::D1 { width: 3 };
        assert!(matches!(shape(line, O::Depth, C::F32).check(), Err(ImageShapeError::Depth { .. })));
        let none = ImageExtent::D2Array { width: 3, height: 2, layers: 0 };
        let error = shape(none, O::R, C::F32).check().unwrap_err();
        assert_eq!(error.to_string(), "an image of 3x2 texels in 0 layers is empty");
    }
}
