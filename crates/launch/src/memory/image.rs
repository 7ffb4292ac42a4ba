//! Shapes of images.

use std::fmt;

use thiserror::Error;

use super::{ChannelOrder, ChannelType};

/// Extent of an image in texels, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageExtent {
    /// `image1d_t`.
    D1 {
        /// Texels.
        width: usize,
    },
    /// `image1d_buffer_t`: one row over the memory of a buffer. It has no memory of its own, and samplers cannot read
    /// it.
    Buffer {
        /// Texels.
        width: usize,
    },
    /// `image1d_array_t`.
    D1Array {
        /// Texels of a layer.
        width: usize,
        /// Layers.
        layers: usize,
    },
    /// `image2d_t`, or `image2d_depth_t`.
    D2 {
        /// Texels of a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// `image2d_array_t`, or `image2d_array_depth_t`.
    D2Array {
        /// Texels of a row.
        width: usize,
        /// Rows of a layer.
        height: usize,
        /// Layers.
        layers: usize,
    },
    /// `image3d_t`.
    D3 {
        /// Texels of a row.
        width: usize,
        /// Rows of a slice.
        height: usize,
        /// Slices.
        depth: usize,
    },
}

impl ImageExtent {
    /// Texels of a row.
    pub fn width(self) -> usize {
        match self {
            Self::D1 { width }
            | Self::Buffer { width }
            | Self::D1Array { width, .. }
            | Self::D2 { width, .. }
            | Self::D2Array { width, .. }
            | Self::D3 { width, .. } => width,
        }
    }

    /// Rows of a slice or layer; 1 for 1D images.
    pub fn height(self) -> usize {
        match self {
            Self::D1 { .. } | Self::Buffer { .. } | Self::D1Array { .. } => 1,
            Self::D2 { height, .. } | Self::D2Array { height, .. } | Self::D3 { height, .. } => height,
        }
    }

    /// Slices of a 3D image, layers of an array; otherwise 1.
    pub fn slices(self) -> usize {
        match self {
            Self::D1 { .. } | Self::Buffer { .. } | Self::D2 { .. } => 1,
            Self::D1Array { layers, .. } | Self::D2Array { layers, .. } => layers,
            Self::D3 { depth, .. } => depth,
        }
    }
}

impl fmt::Display for ImageExtent {
    /// `640x480 texels`, `64x64x64 texels`, `640x480 texels in 3 layers`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::D1 { width } | Self::Buffer { width } => write!(f, "{width} texels"),
            Self::D1Array { width, layers } => write!(f, "{width} texels in {layers} layers"),
            Self::D2 { width, height } => write!(f, "{width}x{height} texels"),
            Self::D2Array { width, height, layers } => {
                write!(f, "{width}x{height} texels in {layers} layers")
            }
            Self::D3 { width, height, depth } => write!(f, "{width}x{height}x{depth} texels"),
        }
    }
}

/// Extent and texel format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageShape {
    /// Its size and dimensions.
    pub extent: ImageExtent,
    /// Channels of a texel.
    pub order: ChannelOrder,
    /// Type of a channel.
    pub channel: ChannelType,
}

impl ImageShape {
    /// A 2D image.
    pub fn d2(width: usize, height: usize, order: ChannelOrder, channel: ChannelType) -> Self {
        Self { extent: ImageExtent::D2 { width, height }, order, channel }
    }

    /// A 2D image of four `float` channels.
    pub fn rgba_f32(width: usize, height: usize) -> Self {
        Self::d2(width, height, ChannelOrder::Rgba, ChannelType::F32)
    }

    /// Size of a texel in bytes: 1 to 16.
    pub fn texel_bytes(&self) -> usize {
        let channels = if self.channel.is_packed() { 1 } else { self.order.channels() };
        channels * self.channel.bytes()
    }

    /// Size of a row in bytes, texels tightly packed; `usize::MAX` on overflow.
    pub fn row_bytes(&self) -> usize {
        self.extent.width().saturating_mul(self.texel_bytes())
    }

    /// Size of the whole image in bytes, rows and slices tightly packed; `usize::MAX` on overflow.
    pub fn bytes(&self) -> usize {
        self.row_bytes().saturating_mul(self.extent.height()).saturating_mul(self.extent.slices())
    }

    /// The type of a kernel parameter for this image, e.g. `image2d_t`.
    pub fn opencl_type(&self) -> &'static str {
        match (self.extent, self.order) {
            (ImageExtent::D2 { .. }, ChannelOrder::Depth) => "image2d_depth_t",
            (ImageExtent::D2Array { .. }, ChannelOrder::Depth) => "image2d_array_depth_t",
            (ImageExtent::D1 { .. }, _) => "image1d_t",
            (ImageExtent::Buffer { .. }, _) => "image1d_buffer_t",
            (ImageExtent::D1Array { .. }, _) => "image1d_array_t",
            (ImageExtent::D2 { .. }, _) => "image2d_t",
            (ImageExtent::D2Array { .. }, _) => "image2d_array_t",
            (ImageExtent::D3 { .. }, _) => "image3d_t",
        }
    }

    /// Checks that OpenCL supports such images: no extent is 0, and order, channel type and dimensions are compatible.
    /// A device may support fewer; that is not checked here.
    ///
    /// Source: OpenCL 3.0 API, "Image Format Descriptor" and "Image Format Mapping to OpenCL Kernel Language Image
    /// Access Qualifiers".
    ///
    /// # Errors
    /// [`ImageShapeError`] describes the incompatibility.
    pub fn check(&self) -> Result<(), ImageShapeError> {
        let extent = self.extent;
        if extent.width() == 0 || extent.height() == 0 || extent.slices() == 0 {
            return Err(ImageShapeError::Empty { extent });
        }
        let (order, channel) = (self.order, self.channel);
        if !order.takes(channel) {
            return Err(ImageShapeError::Format { order, channel });
        }
        let flat = matches!(extent, ImageExtent::D2 { .. } | ImageExtent::D2Array { .. });
        if order == ChannelOrder::Depth && !flat {
            return Err(ImageShapeError::Depth { extent });
        }
        Ok(())
    }
}

/// Why an image shape is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageShapeError {
    /// An extent is 0.
    #[error("an image of {extent} is empty")]
    Empty {
        /// The extent.
        extent: ImageExtent,
    },
    /// The channel order is incompatible with the channel type.
    #[error(
        "{} texels cannot have {} channels; they can have {}",
        order.opencl_name(),
        channel.opencl_name(),
        ChannelType::ALL
            .into_iter()
            .filter(|channel| order.takes(*channel))
            .map(ChannelType::opencl_name)
            .collect::<Vec<_>>()
            .join(", ")
    )]
    Format {
        /// The order.
        order: ChannelOrder,
        /// The type.
        channel: ChannelType,
    },
    /// A depth image of other dimensions.
    #[error("a depth image of {extent}: depth images are 2D, or arrays of 2D")]
    Depth {
        /// The extent.
        extent: ImageExtent,
    },
}
