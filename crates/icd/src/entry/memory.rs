//! Memory objects: creation and queries.

use std::ffi::c_void;

use opencl_sys as cl;
use opencl_sys::{
    cl_buffer_create_type, cl_buffer_region, cl_context, cl_image_desc, cl_image_format, cl_image_info,
    cl_mem, cl_mem_flags, cl_mem_info, cl_mem_object_type, cl_mem_properties, cl_uint,
};

use super::boundary::{asked, pairs, put, reported};
use crate::driver::context::Context;
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::{ApiObject as _, find, find_optional};
use crate::driver::memory::{Memory, check_flags};
use crate::driver::{buffer, image, image_format};
use crate::host::HostRange;

/// Memory of the application; `None` for NULL.
unsafe fn host(pointer: *const c_void, bytes: usize) -> Option<HostRange> {
    // SAFETY: the application passes NULL, or memory of that size for as long as OpenCL demands.
    (!pointer.is_null()).then(|| unsafe { HostRange::new(pointer, bytes) })
}

/// The properties of an object; none are offered.
unsafe fn properties(list: *const cl_mem_properties) -> Outcome<Vec<u64>> {
    // SAFETY: the caller passes a list of properties.
    let all = unsafe { pairs(list) };
    require(all.len() <= 1, cl::CL_INVALID_PROPERTY, "no properties of memory objects are offered")?;
    Ok(all)
}

unsafe fn make_image(
    context: cl_context,
    flags: cl_mem_flags,
    format: *const cl_image_format,
    desc: *const cl_image_desc,
    pointer: *mut c_void,
    properties: Vec<u64>,
) -> Outcome<*mut c_void> {
    let context = find::<Context>(context)?;
    let no_format = || Failure::new(cl::CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "the image format is NULL");
    let no_desc = || Failure::new(cl::CL_INVALID_IMAGE_DESCRIPTOR, "the image descriptor is NULL");
    // SAFETY: the application passes NULL or a format.
    let format = *unsafe { format.as_ref() }.ok_or_else(no_format)?;
    // SAFETY: the application passes NULL or a descriptor.
    let desc = *unsafe { desc.as_ref() }.ok_or_else(no_desc)?;
    let buffer = find_optional::<Memory>(desc.buffer);
    let buffer = buffer.map_err(|failure| Failure { code: cl::CL_INVALID_IMAGE_DESCRIPTOR, ..failure })?;
    // SAFETY: the application passes NULL, or memory of the size that format and descriptor say.
    let range = |bytes| unsafe { host(pointer, bytes) };
    Ok(image::create(&context, flags, format, &desc, buffer, range, properties)?.handle().pointer())
}

constructor! {
    fn clCreateBuffer(context: cl_context, flags: cl_mem_flags, size: usize, pointer: *mut c_void) {
        let context = find::<Context>(context)?;
        let made = buffer::create(&context, flags, size, host(pointer, size), Vec::new());
        if let Err(failure) = &made {
            context.report(failure);
        }
        Ok(made?.handle().pointer())
    }

    fn clCreateBufferWithProperties(
        context: cl_context,
        property_list: *const cl_mem_properties,
        flags: cl_mem_flags,
        size: usize,
        pointer: *mut c_void,
    ) {
        let context = find::<Context>(context)?;
        let properties = properties(property_list)?;
        Ok(buffer::create(&context, flags, size, host(pointer, size), properties)?.handle().pointer())
    }

    fn clCreateSubBuffer(
        parent: cl_mem,
        flags: cl_mem_flags,
        kind: cl_buffer_create_type,
        info: *const c_void,
    ) {
        let parent = find::<Memory>(parent)?;
        let region = kind == cl::CL_BUFFER_CREATE_TYPE_REGION && !info.is_null();
        require(region, cl::CL_INVALID_VALUE, "a sub-buffer is made of a region")?;
        let region = info.cast::<cl_buffer_region>().read_unaligned();
        Ok(reported(&parent, buffer::sub_buffer(&parent, flags, region))?.handle().pointer())
    }

    fn clCreateImage(
        context: cl_context,
        flags: cl_mem_flags,
        format: *const cl_image_format,
        desc: *const cl_image_desc,
        pointer: *mut c_void,
    ) {
        make_image(context, flags, format, desc, pointer, Vec::new())
    }

    fn clCreateImageWithProperties(
        context: cl_context,
        property_list: *const cl_mem_properties,
        flags: cl_mem_flags,
        format: *const cl_image_format,
        desc: *const cl_image_desc,
        pointer: *mut c_void,
    ) {
        make_image(context, flags, format, desc, pointer, properties(property_list)?)
    }

    fn clCreateImage2D(
        context: cl_context,
        flags: cl_mem_flags,
        format: *const cl_image_format,
        width: usize,
        height: usize,
        row_pitch: usize,
        pointer: *mut c_void,
    ) {
        let desc = cl_image_desc {
            image_type: cl::CL_MEM_OBJECT_IMAGE2D,
            image_width: width,
            image_height: height,
            image_row_pitch: row_pitch,
            ..NO_IMAGE
        };
        make_image(context, flags, format, &raw const desc, pointer, Vec::new())
    }

    fn clCreateImage3D(
        context: cl_context,
        flags: cl_mem_flags,
        format: *const cl_image_format,
        width: usize,
        height: usize,
        depth: usize,
        row_pitch: usize,
        slice_pitch: usize,
        pointer: *mut c_void,
    ) {
        let desc = cl_image_desc {
            image_type: cl::CL_MEM_OBJECT_IMAGE3D,
            image_width: width,
            image_height: height,
            image_depth: depth,
            image_row_pitch: row_pitch,
            image_slice_pitch: slice_pitch,
            ..NO_IMAGE
        };
        make_image(context, flags, format, &raw const desc, pointer, Vec::new())
    }
}

const NO_IMAGE: cl_image_desc = cl_image_desc {
    image_type: 0,
    image_width: 0,
    image_height: 0,
    image_depth: 0,
    image_array_size: 0,
    image_row_pitch: 0,
    image_slice_pitch: 0,
    num_mip_levels: 0,
    num_samples: 0,
    buffer: std::ptr::null_mut(),
};

references! { Memory: clRetainMemObject, clReleaseMemObject; }

function! {
    fn clGetSupportedImageFormats(
        context: cl_context,
        flags: cl_mem_flags,
        kind: cl_mem_object_type,
        num_entries: cl_uint,
        formats: *mut cl_image_format,
        num_formats: *mut cl_uint,
    ) {
        find::<Context>(context)?;
        check_flags(flags)?;
        let images = (cl::CL_MEM_OBJECT_IMAGE2D..=cl::CL_MEM_OBJECT_IMAGE1D_BUFFER).contains(&kind);
        require(images, cl::CL_INVALID_VALUE, "the type is not one of images")?;
        require(num_entries > 0 || formats.is_null(), cl::CL_INVALID_VALUE, "there is no place for the formats")?;
        let access = cl::CL_MEM_READ_ONLY | cl::CL_MEM_WRITE_ONLY | cl::CL_MEM_READ_WRITE;
        let flags = if flags & access == 0 { flags | cl::CL_MEM_READ_WRITE } else { flags };
        let offered = image_format::offered(kind, flags);
        if !formats.is_null() {
            for (index, format) in offered.iter().take(num_entries as usize).enumerate() {
                put(formats.add(index), *format);
            }
        }
        put(num_formats, offered.len() as cl_uint);
        Ok(())
    }

    fn clSetMemObjectDestructorCallback(
        memory: cl_mem,
        callback: Option<unsafe extern "C" fn(cl_mem, *mut c_void)>,
        user_data: *mut c_void,
    ) {
        let found = find::<Memory>(memory)?;
        let callback = callback.ok_or_else(|| Failure::new(cl::CL_INVALID_VALUE, "the callback is NULL"))?;
        let (handle, user_data) = (memory as usize, user_data as usize);
        // SAFETY: the application passed a function for this, which may be called from any thread.
        found.at_end(Box::new(move || unsafe { callback(handle as *mut c_void, user_data as *mut c_void) }));
        Ok(())
    }
}

query! {
    fn clGetMemObjectInfo(memory: cl_mem, query: cl_mem_info) {
        asked::<Memory>(memory, |memory| memory.info(query))
    }

    fn clGetImageInfo(memory: cl_mem, query: cl_image_info) {
        asked::<Memory>(memory, |memory| memory.image_info(query))
    }
}
