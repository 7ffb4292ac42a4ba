//! Images of one and three dimensions, and arrays of them; images over buffers.

use std::ptr::{null, null_mut};

use opencl_sys as cl;

use crate::support::{self, Application, application};

static FORMAT: cl::cl_image_format =
    cl::cl_image_format { image_channel_order: cl::CL_RGBA, image_channel_data_type: cl::CL_SIGNED_INT32 };

/// A type of images, of this many texels along each coordinate of OpenCL's regions.
struct Shape {
    kind: cl::cl_mem_object_type,
    size: [usize; 3],
    /// The type in OpenCL C, and the coordinate of the texel `x`, `y`, `z`.
    name: &'static str,
    at: &'static str,
}

const SHAPES: [Shape; 4] = [
    Shape { kind: cl::CL_MEM_OBJECT_IMAGE1D, size: [12, 1, 1], name: "image1d_t", at: "x" },
    Shape {
        kind: cl::CL_MEM_OBJECT_IMAGE1D_ARRAY,
        size: [6, 5, 1],
        name: "image1d_array_t",
        at: "(int2)(x, y)",
    },
    Shape {
        kind: cl::CL_MEM_OBJECT_IMAGE2D_ARRAY,
        size: [5, 3, 4],
        name: "image2d_array_t",
        at: "(int4)(x, y, z, 0)",
    },
    Shape { kind: cl::CL_MEM_OBJECT_IMAGE3D, size: [4, 5, 3], name: "image3d_t", at: "(int4)(x, y, z, 0)" },
];

impl Shape {
    fn texels(&self) -> usize {
        self.size.iter().product()
    }

    fn image(&self, app: &Application) -> cl::cl_mem {
        let [width, second, third] = self.size;
        let layers = match self.kind {
            cl::CL_MEM_OBJECT_IMAGE1D_ARRAY => second,
            cl::CL_MEM_OBJECT_IMAGE2D_ARRAY => third,
            _ => 0,
        };
        let desc = cl::cl_image_desc {
            image_height: if self.kind == cl::CL_MEM_OBJECT_IMAGE1D_ARRAY { 0 } else { second },
            image_depth: third,
            image_array_size: layers,
            ..desc(self.kind, width)
        };
        made!(clCreateImage(app.context, 0, &raw const FORMAT, &raw const desc, null_mut()))
    }
}

fn desc(kind: cl::cl_mem_object_type, width: usize) -> cl::cl_image_desc {
    cl::cl_image_desc {
        image_type: kind,
        image_width: width,
        image_height: 0,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    }
}

/// Writes all texels of an image, or reads them.
fn transfer(app: &Application, image: cl::cl_mem, size: [usize; 3], texels: &mut [[i32; 4]], writes: bool) {
    let (origin, host) = ([0usize; 3], texels.as_mut_ptr().cast());
    let (queue, at, size, none) = (app.queue, origin.as_ptr(), size.as_ptr(), (null(), null_mut()));
    let code = if writes {
        cl!(clEnqueueWriteImage(queue, image, 1, at, size, 0, 0, host, 0, none.0, none.1))
    } else {
        cl!(clEnqueueReadImage(queue, image, 1, at, size, 0, 0, host, 0, none.0, none.1))
    };
    assert_eq!(code, cl::CL_SUCCESS);
}

/// Each texel is its number, its coordinates.
fn numbered(size: [usize; 3]) -> Vec<[i32; 4]> {
    let mut texels = Vec::new();
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                texels.push([texels.len(), x, y, z].map(|number| number as i32));
            }
        }
    }
    texels
}

#[test]
fn kernels_read_and_write_images_of_all_shapes() {
    let app = application(0);
    for shape in &SHAPES {
        let [width, height, depth] = shape.size;
        // Mirrors the image, with a sampler, and with a sampler past its edges.
        let source = format!(
            "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
             constant sampler_t near = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
             kernel void mirror(read_only {name} from, write_only {name} to, global int4 *past) {{
                int x = {width} - 1 - (int)get_global_id(0), y = {height} - 1 - (int)get_global_id(1);
                int z = {depth} - 1 - (int)get_global_id(2);
                int4 texel = read_imagei(from, near, {at});
                int i = ((int)get_global_id(2) * {height} + (int)get_global_id(1)) * {width} + (int)get_global_id(0);
                x += {width};
                past[i] = read_imagei(from, near, {at});
                x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
                write_imagei(to, {at}, texel);
             }}",
            name = shape.name,
            at = shape.at
        );
        let kernel = app.kernel(&source, "mirror");
        let (from, to) = (shape.image(&app), shape.image(&app));
        let mut texels = numbered(shape.size);
        transfer(&app, from, shape.size, &mut texels, true);
        let past = app.buffer(0, &vec![[7i32; 4]; shape.texels()]);
        for (index, object) in [from, to, past].iter().enumerate() {
            app.set(kernel, index as u32, object);
        }
        let ran = cl!(clEnqueueNDRangeKernel(
            app.queue,
            kernel,
            3,
            null(),
            shape.size.as_ptr(),
            null(),
            0,
            null(),
            null_mut()
        ));
        assert_eq!(ran, cl::CL_SUCCESS, "{}", shape.name);
        let mut mirrored = vec![[0i32; 4]; shape.texels()];
        transfer(&app, to, shape.size, &mut mirrored, false);
        let expected: Vec<[i32; 4]> = texels.iter().rev().copied().collect();
        assert_eq!(mirrored, expected, "{}", shape.name);
        // The border of images with an alpha channel is transparent black.
        assert_eq!(
            app.read::<[i32; 4]>(past, shape.texels()),
            vec![[0; 4]; shape.texels()],
            "{}",
            shape.name
        );
    }
}

/// A box of one image to another place of a second one.
#[test]
fn images_of_all_shapes_are_copied() {
    let app = application(0);
    for shape in &SHAPES {
        let (from, to) = (shape.image(&app), shape.image(&app));
        let mut texels = numbered(shape.size);
        transfer(&app, from, shape.size, &mut texels, true);
        transfer(&app, to, shape.size, &mut vec![[-1; 4]; shape.texels()], true);
        // All but the first texel of each dimension, to the place before.
        let region = shape.size.map(|size| size.max(2) - 1);
        let start = shape.size.map(|size| usize::from(size > 1));
        let none = (null(), null_mut());
        let copied = cl!(clEnqueueCopyImage(
            app.queue,
            from,
            to,
            start.as_ptr(),
            [0usize; 3].as_ptr(),
            region.as_ptr(),
            0,
            none.0,
            none.1
        ));
        assert_eq!(copied, cl::CL_SUCCESS, "{}", shape.name);
        let mut result = vec![[0i32; 4]; shape.texels()];
        transfer(&app, to, shape.size, &mut result, false);
        let index = |x: usize, y: usize, z: usize| (z * shape.size[1] + y) * shape.size[0] + x;
        let mut expected = vec![[-1; 4]; shape.texels()];
        for z in 0..region[2] {
            for y in 0..region[1] {
                for x in 0..region[0] {
                    expected[index(x, y, z)] = texels[index(x + start[0], y + start[1], z + start[2])];
                }
            }
        }
        assert_eq!(result, expected, "{}", shape.name);
    }
}

/// OpenCL 3.0, clCreateImage: an image over a sub-buffer has the sub-buffer's bytes.
#[test]
fn images_over_sub_buffers_have_their_bytes() {
    let app = application(0);
    let source = "kernel void one(read_only image1d_buffer_t image, global int4 *to) {
            to[get_global_id(0)] = read_imagei(image, (int)get_global_id(0));
        }
        kernel void put(write_only image1d_buffer_t image) {
            write_imagei(image, (int)get_global_id(0), (int4)(100 + (int)get_global_id(0)));
        }
        kernel void two(read_only image2d_t image, write_only image2d_t other, global int4 *to) {
            int2 at = (int2)(get_global_id(0) % 4, get_global_id(0) / 4);
            to[get_global_id(0)] = read_imagei(image, at);
            write_imagei(other, at, (int4)(-1 - (int)get_global_id(0)));
        }";
    let program = app.program(source);
    let built = cl!(clBuildProgram(program, 0, null(), null(), None, null_mut()));
    assert_eq!(built, cl::CL_SUCCESS, "{}", app.log(program));
    let ask = |query| -> u32 {
        support::number(|size, value, got| cl!(clGetDeviceInfo(app.device, query, size, value, got)))
    };
    let base = ask(cl::CL_DEVICE_MEM_BASE_ADDR_ALIGN) as usize / 8;
    // Two rows of 4 texels, with the pitch that the device wants.
    let pitch = (ask(cl::CL_DEVICE_IMAGE_PITCH_ALIGNMENT) as usize).max(4);
    let bytes = 2 * pitch * 16;
    let origin = (4 * bytes).next_multiple_of(base);
    let numbers: Vec<i32> = (0..(origin + 2 * bytes) as i32 / 4).collect();
    let buffer = app.buffer(0, &numbers);
    let region = cl::cl_buffer_region { origin, size: bytes };
    let kind = cl::CL_BUFFER_CREATE_TYPE_REGION;
    let part = made!(clCreateSubBuffer(buffer, 0, kind, (&raw const region).cast()));
    let first = origin / 4;

    let line = cl::cl_image_desc { buffer: part, ..desc(cl::CL_MEM_OBJECT_IMAGE1D_BUFFER, 8) };
    let line = made!(clCreateImage(app.context, 0, &raw const FORMAT, &raw const line, null_mut()));
    let seen = app.buffer(0, &[[0i32; 4]; 8]);
    let kernel = made!(clCreateKernel(program, c"one".as_ptr()));
    app.set(kernel, 0, &line);
    app.set(kernel, 1, &seen);
    app.run(kernel, 8);
    let texel = |at: usize| -> [i32; 4] { std::array::from_fn(|channel| numbers[first + 4 * at + channel]) };
    let expected: Vec<[i32; 4]> = (0..8).map(texel).collect();
    assert_eq!(app.read::<[i32; 4]>(seen, 8), expected);

    // Commands see the same bytes.
    let mut read = [[0i32; 4]; 8];
    transfer(&app, line, [8, 1, 1], &mut read, false);
    assert_eq!(read[..], expected);

    let square = cl::cl_image_desc {
        image_height: 2,
        image_row_pitch: 16 * pitch,
        buffer: part,
        ..desc(cl::CL_MEM_OBJECT_IMAGE2D, 4)
    };
    let square = made!(clCreateImage(app.context, 0, &raw const FORMAT, &raw const square, null_mut()));
    let kernel = made!(clCreateKernel(program, c"two".as_ptr()));
    app.set(kernel, 0, &square);
    app.set(kernel, 1, &square);
    app.set(kernel, 2, &seen);
    app.run(kernel, 8);
    let expected: Vec<[i32; 4]> = (0..8).map(|at| texel(at % 4 + at / 4 * pitch)).collect();
    assert_eq!(app.read::<[i32; 4]>(seen, 8), expected);
    let mut all = numbers.clone();
    for at in 0..8 {
        let place = first + 4 * (at % 4 + at / 4 * pitch);
        all[place..place + 4].fill(-1 - at as i32);
    }
    assert_eq!(app.read::<i32>(buffer, all.len()), all);

    let kernel = made!(clCreateKernel(program, c"put".as_ptr()));
    app.set(kernel, 0, &line);
    app.run(kernel, 3);
    for at in 0..3 {
        all[first + 4 * at..first + 4 * at + 4].fill(100 + at as i32);
    }
    assert_eq!(app.read::<i32>(buffer, all.len()), all);

    // The image is not larger than the part.
    let wide = cl::cl_image_desc { buffer: part, ..desc(cl::CL_MEM_OBJECT_IMAGE1D_BUFFER, bytes / 16 + 1) };
    let refused = refused!(clCreateImage(app.context, 0, &raw const FORMAT, &raw const wide, null_mut()));
    assert_eq!(refused, cl::CL_INVALID_IMAGE_SIZE);
}
