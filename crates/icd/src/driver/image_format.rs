//! Formats of images, by their numbers in the API.

use opencl_sys as cl;
use opencl_sys::{cl_image_format, cl_mem_flags, cl_mem_object_type};
use tripipe_launch::{ChannelOrder, ChannelType, ImageExtent, ImageShape};

use super::failure::{Failure, Outcome};

/// Channel order and type of a format.
///
/// # Errors
/// OpenCL has no such format (`CL_INVALID_IMAGE_FORMAT_DESCRIPTOR`), or it is not offered.
pub fn of(format: cl_image_format) -> Outcome<(ChannelOrder, ChannelType)> {
    let (order, channel) = (format.image_channel_order, format.image_channel_data_type);
    let orders = cl::CL_R..=cl::CL_ABGR;
    let channels = cl::CL_SNORM_INT8..=cl::CL_UNORM_INT_101010_2;
    if !orders.contains(&order) || !channels.contains(&channel) {
        let what = format!("{order:#x}, {channel:#x} is not an image format");
        return Err(Failure::new(cl::CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, what));
    }
    let found = ChannelOrder::ALL.into_iter().find(|known| known.opencl_number() == order);
    let kind = ChannelType::ALL.into_iter().find(|known| known.opencl_number() == channel);
    match (found, kind) {
        (Some(found), Some(kind)) if found.takes(kind) => Ok((found, kind)),
        (Some(_), Some(_)) => {
            let what = format!("channel order {order:#x} does not take channels of type {channel:#x}");
            Err(Failure::new(cl::CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, what))
        }
        _ => {
            let what = format!("the image format {order:#x}, {channel:#x} is not offered");
            Err(Failure::new(cl::CL_IMAGE_FORMAT_NOT_SUPPORTED, what))
        }
    }
}

/// Whether images of a type may have a format when they are made with these flags.
pub fn is_offered(
    order: ChannelOrder,
    channel: ChannelType,
    kind: cl_mem_object_type,
    flags: cl_mem_flags,
) -> bool {
    let writes =
        flags & (cl::CL_MEM_WRITE_ONLY | cl::CL_MEM_READ_WRITE | cl::CL_MEM_KERNEL_READ_AND_WRITE) != 0;
    let flat = ImageExtent::D2 { width: 1, height: 1 };
    let extent = match kind {
        cl::CL_MEM_OBJECT_IMAGE2D => flat,
        cl::CL_MEM_OBJECT_IMAGE2D_ARRAY => ImageExtent::D2Array { width: 1, height: 1, layers: 1 },
        cl::CL_MEM_OBJECT_IMAGE3D => ImageExtent::D3 { width: 1, height: 1, depth: 1 },
        cl::CL_MEM_OBJECT_IMAGE1D_ARRAY => ImageExtent::D1Array { width: 1, layers: 1 },
        cl::CL_MEM_OBJECT_IMAGE1D_BUFFER => ImageExtent::Buffer { width: 1 },
        _ => ImageExtent::D1 { width: 1 },
    };
    // Kernels write sRGB only with cl_khr_srgb_image_writes.
    ImageShape { extent, order, channel }.check().is_ok() && !(writes && order.is_srgb())
}

/// The formats that images of a type may have.
pub fn offered(kind: cl_mem_object_type, flags: cl_mem_flags) -> Vec<cl_image_format> {
    let formats =
        ChannelOrder::ALL.into_iter().flat_map(|order| ChannelType::ALL.map(|channel| (order, channel)));
    formats
        .filter(|(order, channel)| is_offered(*order, *channel, kind, flags))
        .map(|(order, channel)| cl_image_format {
            image_channel_order: order.opencl_number(),
            image_channel_data_type: channel.opencl_number(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_are_listed_can_be_made() {
        let listed = offered(cl::CL_MEM_OBJECT_IMAGE2D, cl::CL_MEM_READ_WRITE);
        // OpenCL 3.0 API, minimum of read-write formats: among them CL_RGBA of CL_FLOAT and CL_BGRA of CL_UNORM_INT8.
        for (order, channel) in
            [(cl::CL_RGBA, cl::CL_FLOAT), (cl::CL_BGRA, cl::CL_UNORM_INT8), (cl::CL_R, cl::CL_HALF_FLOAT)]
        {
            assert!(listed.iter().any(|format| {
                (format.image_channel_order, format.image_channel_data_type) == (order, channel)
            }));
        }
        assert!(listed.iter().all(|format| of(*format).is_ok()));
        let wrong = cl_image_format { image_channel_order: 1, image_channel_data_type: cl::CL_FLOAT };
        assert_eq!(of(wrong).err().map(|failure| failure.code), Some(cl::CL_INVALID_IMAGE_FORMAT_DESCRIPTOR));
    }
}
