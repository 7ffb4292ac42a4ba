//! Images.

use std::collections::HashMap;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_image_desc, cl_image_format, cl_image_info, cl_mem_flags};
use tripipe_device::ImageLimits;
use tripipe_launch::{ImageExtent, ImageShape, MemoryKind};
use tripipe_simulate::image::{Image, Texel, TexelKind};

use super::buffer::check_host_pointer;
use super::context::Context;
use super::device::Device;
use super::failure::{Failure, Outcome, require};
use super::handle::{ApiObject as _, Handle, register};
use super::image_format;
use super::info::{self, Answer};
use super::memory::{ImageFacts, Memory, access, check_flags};
use super::rect::{Pitched, Region};
use super::storage::Storage;
use crate::host::HostRange;

fn size_error(what: impl Into<std::borrow::Cow<'static, str>>) -> Failure {
    Failure::new(cl::CL_INVALID_IMAGE_SIZE, what)
}

fn extent(desc: &cl_image_desc) -> Outcome<ImageExtent> {
    let (width, height, depth) = (desc.image_width, desc.image_height, desc.image_depth);
    let layers = desc.image_array_size;
    let extent = match desc.image_type {
        cl::CL_MEM_OBJECT_IMAGE1D => ImageExtent::D1 { width },
        cl::CL_MEM_OBJECT_IMAGE1D_BUFFER => ImageExtent::Buffer { width },
        cl::CL_MEM_OBJECT_IMAGE1D_ARRAY => ImageExtent::D1Array { width, layers },
        cl::CL_MEM_OBJECT_IMAGE2D => ImageExtent::D2 { width, height },
        cl::CL_MEM_OBJECT_IMAGE2D_ARRAY => ImageExtent::D2Array { width, height, layers },
        cl::CL_MEM_OBJECT_IMAGE3D => ImageExtent::D3 { width, height, depth },
        other => {
            let what = format!("{other:#x} is not a type of images");
            return Err(Failure::new(cl::CL_INVALID_IMAGE_DESCRIPTOR, what));
        }
    };
    if extent.width() == 0 || extent.height() == 0 || extent.slices() == 0 {
        return Err(size_error("an image has at least one texel"));
    }
    Ok(extent)
}

/// Whether a device has images of an extent.
fn supports(limits: &ImageLimits, extent: ImageExtent) -> bool {
    let [wide, high] = limits.max_2d;
    let most = match extent {
        ImageExtent::D1 { .. } => [wide, 1, 1],
        ImageExtent::Buffer { .. } => [limits.max_1d_buffer, 1, 1],
        ImageExtent::D1Array { .. } => [wide, 1, limits.max_layers],
        ImageExtent::D2 { .. } => [wide, high, 1],
        ImageExtent::D2Array { .. } => [wide, high, limits.max_layers],
        ImageExtent::D3 { .. } => limits.max_3d,
    };
    extent.width() <= most[0] && extent.height() <= most[1] && extent.slices() <= most[2]
}

/// The pitches of the application's memory, or of a buffer below an image: of rows, and of slices or layers.
fn pitches(desc: &cl_image_desc, shape: &ImageShape, given: bool) -> Outcome<(usize, usize)> {
    let invalid = |what: &'static str| Failure::new(cl::CL_INVALID_IMAGE_DESCRIPTOR, what);
    let (row, slice) = (desc.image_row_pitch, desc.image_slice_pitch);
    if !given && (row != 0 || slice != 0) {
        return Err(invalid("there is a pitch without host memory or a buffer"));
    }
    let least = shape.row_bytes();
    let row_pitch = if row == 0 { least } else { row };
    if row_pitch < least || row_pitch % shape.texel_bytes() != 0 {
        return Err(invalid("the row pitch is less than a row, or is not a multiple of a texel"));
    }
    let least = row_pitch.saturating_mul(shape.extent.height());
    let has_slices =
        !matches!(shape.extent, ImageExtent::D1 { .. } | ImageExtent::Buffer { .. } | ImageExtent::D2 { .. });
    let slice_pitch = match (has_slices, slice) {
        (false, _) => 0,
        (true, 0) => least,
        (true, slice) => slice,
    };
    if has_slices && (slice_pitch < least || slice_pitch % row_pitch != 0) {
        return Err(invalid("the slice pitch is less than a slice, or is not a multiple of the row pitch"));
    }
    Ok((row_pitch, slice_pitch))
}

/// An image: with its own memory, or over that of a buffer.
///
/// # Errors
/// Wrong flags, format, descriptor or size; not offered by any device of the context; or no memory.
pub fn create(
    context: &Arc<Context>,
    flags: cl_mem_flags,
    format: cl_image_format,
    desc: &cl_image_desc,
    buffer: Option<Arc<Memory>>,
    host: impl FnOnce(usize) -> Option<HostRange>,
    properties: Vec<u64>,
) -> Outcome<Arc<Memory>> {
    check_flags(flags)?;
    let (order, channel) = image_format::of(format)?;
    require(
        desc.num_mip_levels == 0 && desc.num_samples == 0,
        cl::CL_INVALID_IMAGE_DESCRIPTOR,
        "mipmaps and multisampling are not offered",
    )?;
    let shape = ImageShape { extent: extent(desc)?, order, channel };
    let kind_flags = if flags & (cl::CL_MEM_READ_ONLY | cl::CL_MEM_WRITE_ONLY) == 0 {
        flags | cl::CL_MEM_READ_WRITE
    } else {
        flags
    };
    if !image_format::is_offered(order, channel, desc.image_type, kind_flags) {
        return Err(Failure::new(
            cl::CL_IMAGE_FORMAT_NOT_SUPPORTED,
            "images of this type cannot have this format",
        ));
    }
    let devices: Vec<&Arc<Device>> =
        context.devices().iter().filter(|device| device.probe.images.is_some()).collect();
    require(!devices.is_empty(), cl::CL_INVALID_OPERATION, "no device of the context has images")?;
    let fits =
        |device: &&Arc<Device>| device.probe.images.is_some_and(|limits| supports(&limits, shape.extent));
    if !devices.iter().any(fits) {
        return Err(size_error(format!("an image of {} is larger than the devices' limits", shape.extent)));
    }
    let over = matches!(desc.image_type, cl::CL_MEM_OBJECT_IMAGE1D_BUFFER | cl::CL_MEM_OBJECT_IMAGE2D);
    let needs = desc.image_type == cl::CL_MEM_OBJECT_IMAGE1D_BUFFER;
    if (buffer.is_some() && !over) || (needs && buffer.is_none()) {
        let what = "1D buffer images are made over a buffer, 2D images can be, others cannot";
        return Err(Failure::new(cl::CL_INVALID_IMAGE_DESCRIPTOR, what));
    }
    if let Some(buffer) = buffer {
        return over_buffer(context, flags, format, desc, shape, buffer, properties);
    }
    let wants = flags & (cl::CL_MEM_USE_HOST_PTR | cl::CL_MEM_COPY_HOST_PTR) != 0;
    // Whether there is a pointer is known with a size of 0.
    let (host_row_pitch, host_slice_pitch) = pitches(desc, &shape, wants)?;
    let packed =
        Region { bytes: shape.row_bytes(), rows: shape.extent.height(), slices: shape.extent.slices() };
    let size = packed.size().ok_or_else(|| size_error("the image is too large"))?;
    if size as u64 > context.largest_buffer() {
        return Err(Failure::new(
            cl::CL_MEM_OBJECT_ALLOCATION_FAILURE,
            "the image is larger than a buffer may be",
        ));
    }
    let outside = Pitched { offset: 0, row_pitch: host_row_pitch, slice_pitch: host_slice_pitch };
    let host_size = outside.end(packed).ok_or_else(|| size_error("the image is too large"))?;
    let host = host(host_size);
    check_host_pointer(flags, host)?;
    let storage = Storage::new(&context.engine, MemoryKind::Image(shape), access(flags), size)?;
    if let Some(host) = host {
        let bytes = read_host(host, outside, packed)?;
        storage.write(packed.packed(), packed, &bytes)?;
    }
    let row_pitch = shape.row_bytes();
    let slice_pitch = if host_slice_pitch == 0 { 0 } else { row_pitch * shape.extent.height() };
    let facts = ImageFacts { shape, format, row_pitch, slice_pitch, host_row_pitch, host_slice_pitch };
    let host = host.filter(|_| flags & cl::CL_MEM_USE_HOST_PTR != 0);
    Ok(register(
        Memory {
            handle: Handle::default(),
            context: Arc::clone(context),
            kind: desc.image_type,
            flags: kind_flags,
            size,
            offset: 0,
            storage,
            parent: None,
            image: Some(facts),
            host,
            properties,
            destructors: Vec::new().into(),
            mappings: Vec::new().into(),
            image_ids: HashMap::new().into(),
        },
        1,
    ))
}

fn over_buffer(
    context: &Arc<Context>,
    flags: cl_mem_flags,
    format: cl_image_format,
    desc: &cl_image_desc,
    shape: ImageShape,
    buffer: Arc<Memory>,
    properties: Vec<u64>,
) -> Outcome<Arc<Memory>> {
    require(buffer.is_buffer(), cl::CL_INVALID_IMAGE_DESCRIPTOR, "the memory below an image is a buffer")?;
    let pointer = cl::CL_MEM_USE_HOST_PTR | cl::CL_MEM_COPY_HOST_PTR | cl::CL_MEM_ALLOC_HOST_PTR;
    require(flags & pointer == 0, cl::CL_INVALID_VALUE, "an image over a buffer has no host pointer")?;
    let (row_pitch, slice_pitch) = pitches(desc, &shape, true)?;
    if matches!(shape.extent, ImageExtent::D2 { .. }) {
        let aligned = |device: &Arc<Device>| {
            let (pitch, base) = device
                .probe
                .images
                .map_or((0, 0), |limits| (limits.pitch_alignment, limits.base_address_alignment));
            let fits =
                |bytes: usize, texels: u32| bytes.is_multiple_of(texels as usize * shape.texel_bytes());
            pitch > 0 && fits(row_pitch, pitch) && (buffer.offset == 0 || fits(buffer.offset, base))
        };
        let aligned = context.devices().iter().any(aligned);
        let what = "the row pitch is not a multiple of CL_DEVICE_IMAGE_PITCH_ALIGNMENT, or the sub-buffer's \
                    origin is not one of CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT";
        require(aligned, cl::CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, what)?;
    }
    let region = Region { bytes: shape.row_bytes(), rows: shape.extent.height(), slices: 1 };
    let end = Pitched { offset: 0, row_pitch, slice_pitch: 0 }.end(region);
    if end.is_none_or(|end| end > buffer.size) {
        return Err(size_error("the image is larger than the buffer"));
    }
    let device = cl::CL_MEM_READ_WRITE | cl::CL_MEM_READ_ONLY | cl::CL_MEM_WRITE_ONLY;
    let host = cl::CL_MEM_HOST_WRITE_ONLY | cl::CL_MEM_HOST_READ_ONLY | cl::CL_MEM_HOST_NO_ACCESS;
    let had = buffer.flags;
    let taken = (if flags & device == 0 { had & device } else { flags & device })
        | (if flags & host == 0 { had & host } else { flags & host })
        | had & pointer;
    let (host_row_pitch, host_slice_pitch) = (row_pitch, slice_pitch);
    Ok(register(
        Memory {
            handle: Handle::default(),
            context: Arc::clone(context),
            kind: desc.image_type,
            flags: taken,
            size: end.unwrap_or(0),
            offset: buffer.offset,
            storage: Arc::clone(&buffer.storage),
            host: buffer.host,
            parent: Some(buffer),
            image: Some(ImageFacts {
                shape,
                format,
                row_pitch,
                slice_pitch,
                host_row_pitch,
                host_slice_pitch,
            }),
            properties,
            destructors: Vec::new().into(),
            mappings: Vec::new().into(),
            image_ids: HashMap::new().into(),
        },
        1,
    ))
}

/// Bytes of the application, without gaps.
///
/// # Errors
/// They are not inside of the range.
pub(super) fn read_host(host: HostRange, at: Pitched, region: Region) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; region.size().unwrap_or(0)];
    let (starts, length) = at.runs(region);
    for (start, to) in starts.zip(bytes.chunks_exact_mut(length.max(1))) {
        require(host.read(start, to), cl::CL_INVALID_VALUE, "the region is not inside of the host memory")?;
    }
    Ok(bytes)
}

/// Overwrites bytes of the application with bytes without gaps.
///
/// # Errors
/// They are not inside of the range.
pub(super) fn write_host(host: HostRange, at: Pitched, region: Region, bytes: &[u8]) -> Outcome<()> {
    let (starts, length) = at.runs(region);
    for (start, from) in starts.zip(bytes.chunks_exact(length.max(1))) {
        require(
            host.write(start, from),
            cl::CL_INVALID_VALUE,
            "the region is not inside of the host memory",
        )?;
    }
    Ok(())
}

impl ImageFacts {
    /// Whether rows are layers: 1D arrays.
    fn rows_are_layers(&self) -> bool {
        matches!(self.shape.extent, ImageExtent::D1Array { .. })
    }

    /// The bytes of a region of texels.
    ///
    /// # Errors
    /// The region is empty, or not inside of the image.
    pub fn region(&self, origin: [usize; 3], region: [usize; 3]) -> Outcome<(Pitched, Region)> {
        let extent = self.shape.extent;
        let most = match extent {
            ImageExtent::D1Array { width, layers } => [width, layers, 1],
            _ => [extent.width(), extent.height(), extent.slices()],
        };
        for ((origin, count), most) in origin.into_iter().zip(region).zip(most) {
            let inside = count > 0 && origin.checked_add(count).is_some_and(|end| end <= most);
            require(inside, cl::CL_INVALID_VALUE, "the region is empty, or not inside of the image")?;
        }
        let row_pitch = if self.rows_are_layers() { self.slice_pitch } else { self.row_pitch };
        let texel = self.shape.texel_bytes();
        let offset = origin[0] * texel + origin[1] * row_pitch + origin[2] * self.slice_pitch;
        let bytes = Region { bytes: region[0] * texel, rows: region[1], slices: region[2] };
        Ok((Pitched { offset, row_pitch, slice_pitch: self.slice_pitch }, bytes))
    }

    /// How a region lies in the application's memory. A pitch of 0 is that of a packed region.
    ///
    /// # Errors
    /// A pitch is too small.
    pub fn host_box(&self, region: Region, row_pitch: usize, slice_pitch: usize) -> Outcome<Pitched> {
        let invalid = cl::CL_INVALID_VALUE;
        let row = if row_pitch == 0 { region.bytes } else { row_pitch };
        require(row >= region.bytes, invalid, "the row pitch is less than a row of the region")?;
        if self.rows_are_layers() {
            let layer = if slice_pitch == 0 { row } else { slice_pitch };
            require(layer >= row, invalid, "the slice pitch is less than a layer of the region")?;
            return Ok(Pitched { offset: 0, row_pitch: layer, slice_pitch: 0 });
        }
        let least = row.saturating_mul(region.rows);
        let slice = if slice_pitch == 0 { least } else { slice_pitch };
        require(slice >= least, invalid, "the slice pitch is less than a slice of the region")?;
        Ok(Pitched { offset: 0, row_pitch: row, slice_pitch: slice })
    }

    /// Where a region begins in the application's memory that has the whole image.
    pub fn mapped(&self, origin: [usize; 3]) -> Pitched {
        let row_pitch = if self.rows_are_layers() { self.host_slice_pitch } else { self.host_row_pitch };
        let offset =
            origin[0] * self.shape.texel_bytes() + origin[1] * row_pitch + origin[2] * self.host_slice_pitch;
        Pitched { offset, row_pitch, slice_pitch: self.host_slice_pitch }
    }

    /// The bytes of a texel of a colour: four floats or integers, as the format wants.
    ///
    /// # Errors
    /// The format is not that of an image.
    pub fn texel(&self, colour: [u32; 4]) -> Outcome<Vec<u8>> {
        let image = Image::packed(&self.shape);
        let image = image.map_err(|error| size_error(error.to_string()))?;
        let texel = match image.kind() {
            TexelKind::Float => Texel::Float(colour.map(f32::from_bits)),
            TexelKind::Signed => Texel::Signed(colour.map(u32::cast_signed)),
            TexelKind::Unsigned => Texel::Unsigned(colour),
        };
        Ok(image.encode(&texel).map_err(|error| size_error(error.to_string()))?.to_vec())
    }
}

impl Memory {
    /// Answers `clGetImageInfo`.
    ///
    /// # Errors
    /// There is no such query, or it is a buffer.
    pub fn image_info(&self, query: cl_image_info) -> Outcome<Answer> {
        let facts = self.facts()?;
        let extent = facts.shape.extent;
        Ok(match query {
            cl::CL_IMAGE_FORMAT => {
                info::list(&[facts.format.image_channel_order, facts.format.image_channel_data_type])
            }
            cl::CL_IMAGE_ELEMENT_SIZE => info::number(facts.shape.texel_bytes()),
            cl::CL_IMAGE_ROW_PITCH => info::number(facts.host_row_pitch),
            cl::CL_IMAGE_SLICE_PITCH => info::number(facts.host_slice_pitch),
            cl::CL_IMAGE_WIDTH => info::number(extent.width()),
            cl::CL_IMAGE_HEIGHT => info::number(match extent {
                ImageExtent::D2 { height, .. }
                | ImageExtent::D2Array { height, .. }
                | ImageExtent::D3 { height, .. } => height,
                _ => 0,
            }),
            cl::CL_IMAGE_DEPTH => info::number(match extent {
                ImageExtent::D3 { depth, .. } => depth,
                _ => 0,
            }),
            cl::CL_IMAGE_ARRAY_SIZE => info::number(match extent {
                ImageExtent::D1Array { layers, .. } | ImageExtent::D2Array { layers, .. } => layers,
                _ => 0,
            }),
            cl::CL_IMAGE_BUFFER => {
                let buffer = self.parent.as_ref().map(|parent| parent.handle().pointer());
                info::pointer(buffer.unwrap_or(std::ptr::null_mut()))
            }
            cl::CL_IMAGE_NUM_MIP_LEVELS | cl::CL_IMAGE_NUM_SAMPLES => info::number(0u32),
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of images"),
                ));
            }
        })
    }
}
