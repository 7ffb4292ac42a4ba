//! Memory objects: each way to create and to access them, compared with the contents written.

use tripipe_launch::{Access, ChannelOrder, ChannelType, ImageExtent, ImageShape, ImageShapeError, NdRange};
use tripipe_opencl::memory::{Buffer, HostMemory, Image, MemoryError, SvmBuffer, SvmGrain};
use tripipe_opencl::{Arg, Context, Kernel, Program, Queue};

use crate::support;

struct Bench {
    context: Context,
    queue: Queue,
    add: Kernel,
}

fn bench() -> Option<Bench> {
    let context = Context::new(&support::device()?).unwrap();
    let queue = Queue::new(&context).unwrap();
    let source = "kernel void add(global int *all, int by) { all[get_global_id(0)] += by; }";
    let program = Program::build(&context, &tripipe_launch::Program::from_source("add.cl", source)).unwrap();
    let add = program.kernel("add").unwrap();
    Some(Bench { context, queue, add })
}

impl Bench {
    fn add<'a>(&self, to: impl Into<Arg<'a>>, by: i32, len: usize) {
        self.add.launch(&self.queue, &[to.into(), Arg::value(by)], &NdRange::d1(len)).unwrap();
    }
}

const LEN: usize = 1024;

fn numbers() -> Vec<i32> {
    (0..LEN as i32).collect()
}

fn ints(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// Writes numbers by copy, adds on the device, and reads them by map and by copy.
fn round_trip(bench: &Bench, buffer: &mut Buffer<'_>) {
    assert_eq!(buffer.bytes(), 4 * LEN);
    buffer.write(&bench.queue, 0, &numbers()).unwrap();
    bench.add(&*buffer, 1000, LEN);
    let want: Vec<i32> = numbers().iter().map(|n| n + 1000).collect();
    let mut read = vec![0i32; LEN];
    buffer.read(&bench.queue, 0, &mut read).unwrap();
    assert_eq!(read, want);

    let mut mapped = buffer.map_mut(&bench.queue, 8..16).unwrap();
    assert_eq!(ints(&mapped), [1002, 1003]);
    mapped.copy_from_slice(&[0xff; 8]);
    mapped.unmap().unwrap();
    bench.add(&*buffer, 1, LEN);
    let mapped = buffer.map(&bench.queue, 0..4 * LEN).unwrap();
    assert_eq!(ints(&mapped)[..5], [1001, 1002, 0, 0, 1005]);
    drop(mapped);
    assert_eq!(buffer.map(&bench.queue, 4..8).unwrap()[..], 1002i32.to_ne_bytes());
}

#[test]
fn every_creation_mode_round_trips() {
    let Some(bench) = bench() else { return };
    let (context, bytes, access) = (&bench.context, 4 * LEN, Access::ReadWrite);
    round_trip(&bench, &mut Buffer::zeroed(context, bytes, access).unwrap());
    round_trip(&bench, &mut Buffer::alloc_host(context, bytes, access).unwrap());
    round_trip(&bench, &mut Buffer::on_device(context, bytes, access).unwrap());
    round_trip(&bench, &mut Buffer::copied_from(context, &vec![-1i32; LEN], access).unwrap());
    let memory = HostMemory::zeroed(bytes).unwrap();
    round_trip(&bench, &mut Buffer::over_owned(context, memory, access).unwrap());
    let mut memory = vec![5i32; LEN];
    round_trip(&bench, &mut Buffer::over(context, &mut memory, access).unwrap());
}

#[test]
fn memory_without_contents_is_zero_and_copies_are_independent() {
    let Some(bench) = bench() else { return };
    let (context, queue) = (&bench.context, &bench.queue);
    let made = [
        Buffer::zeroed(context, 4096, Access::ReadWrite),
        Buffer::alloc_host(context, 4096, Access::ReadWrite),
        Buffer::on_device(context, 4096, Access::ReadWrite),
    ];
    for buffer in made {
        assert!(buffer.unwrap().map(queue, 0..4096).unwrap().iter().all(|byte| *byte == 0));
    }
    let mut source = numbers();
    let mut buffer = Buffer::copied_from(context, &source, Access::Read).unwrap();
    source.fill(-1);
    assert_eq!(ints(&buffer.map(queue, 0..4 * LEN).unwrap()), numbers());
}

#[test]
fn host_memory_shows_what_a_kernel_wrote_once_mapped() {
    let Some(bench) = bench() else { return };
    let mut memory = numbers();
    let mut buffer = Buffer::over(&bench.context, &mut memory, Access::ReadWrite).unwrap();
    bench.add(&buffer, 7, LEN);
    drop(buffer.map(&bench.queue, 0..4 * LEN).unwrap());
    drop(buffer);
    assert!(memory.iter().zip(numbers()).all(|(found, n)| *found == n + 7));
}

#[test]
fn a_buffer_may_go_while_its_kernel_runs() {
    let Some(bench) = bench() else { return };
    for _ in 0..50 {
        let memory = HostMemory::zeroed(4 * LEN).unwrap();
        let buffer = Buffer::over_owned(&bench.context, memory, Access::ReadWrite).unwrap();
        bench.add(&buffer, 1, LEN);
    }
    bench.queue.finish().unwrap();
}

#[test]
fn sub_buffers_show_their_part() {
    let Some(bench) = bench() else { return };
    let align = bench.context.device().probe().base_alignment_bytes;
    assert!(align > 0 && align % 4 == 0);
    let mut buffer = Buffer::zeroed(&bench.context, 4 * align, Access::ReadWrite).unwrap();
    {
        let part = buffer.part(align, 2 * align, Access::ReadWrite).unwrap();
        assert_eq!(part.bytes(), 2 * align);
        bench.add(&part, 3, part.bytes() / 4);
    }
    let found = ints(&buffer.map(&bench.queue, 0..4 * align).unwrap());
    let each = align / 4;
    for (index, value) in found.iter().enumerate() {
        assert_eq!(*value, if (each..3 * each).contains(&index) { 3 } else { 0 }, "{index}");
    }
    for (offset, bytes) in [(0, 0), (align, 4 * align), (usize::MAX - 3, 4)] {
        assert!(buffer.part(offset, bytes, Access::Read).is_err());
    }
    let error = buffer.part(1, 8, Access::Read).err().unwrap();
    assert!(matches!(error, MemoryError::Alignment { value: 1, .. }), "{error}");
}

#[test]
fn ranges_and_contexts_are_checked() {
    let Some(bench) = bench() else { return };
    let mut buffer = Buffer::zeroed(&bench.context, 16, Access::ReadWrite).unwrap();
    #[allow(clippy::reversed_empty_ranges, reason = "what is tested")]
    for range in [0..17, 16..17, 8..8, 9..8, usize::MAX - 1..usize::MAX] {
        assert!(buffer.map(&bench.queue, range.clone()).is_err(), "{range:?}");
    }
    assert!(buffer.write(&bench.queue, 13, &[0u8; 4]).is_err());
    let other = Context::new(bench.context.device()).unwrap();
    let queue = Queue::new(&other).unwrap();
    assert_eq!(buffer.map(&queue, 0..4).err(), Some(MemoryError::OtherContext));
    assert_eq!(buffer.write(&queue, 0, &[0u8; 4]), Err(MemoryError::OtherContext));
    let arguments = [Arg::from(&buffer), Arg::value(1i32)];
    assert!(bench.add.launch(&queue, &arguments, &NdRange::d1(4)).is_err());
    let foreign = Buffer::zeroed(&other, 16, Access::ReadWrite).unwrap();
    let arguments = [Arg::from(&foreign), Arg::value(1i32)];
    assert!(bench.add.launch(&bench.queue, &arguments, &NdRange::d1(4)).is_err());
    assert_eq!(HostMemory::zeroed(0).err(), Some(MemoryError::Empty));
}

#[test]
fn shared_virtual_memory_where_offered() {
    let Some(bench) = bench() else { return };
    let svm = bench.context.device().probe().svm;
    for (grain, offered) in [(SvmGrain::Coarse, svm.coarse_buffer), (SvmGrain::Fine, svm.fine_buffer)] {
        let made = SvmBuffer::zeroed(&bench.queue, 4 * LEN, grain);
        if !offered {
            assert!(matches!(made, Err(MemoryError::NotOffered { .. })));
            continue;
        }
        let mut buffer = made.unwrap();
        let mut mapped = buffer.map(&bench.queue).unwrap();
        assert!(mapped.iter().all(|byte| *byte == 0));
        for (to, number) in mapped.chunks_exact_mut(4).zip(numbers()) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        mapped.unmap().unwrap();
        bench.add(&buffer, -5, LEN);
        let found = ints(&buffer.map(&bench.queue).unwrap());
        assert!(found.iter().zip(numbers()).all(|(found, n)| *found == n - 5), "{grain:?}");
        // Dropped while a kernel may be running.
        bench.add(&buffer, 1, LEN);
    }
}

#[test]
fn images_are_mapped_row_by_row() {
    let Some(bench) = bench() else { return };
    if bench.context.device().probe().images.is_none() {
        return;
    }
    let shape = ImageShape::d2(5, 3, ChannelOrder::Rgba, ChannelType::U8);
    let texels: Vec<u8> = (0..60).collect();
    let mut image = Image::new(&bench.context, &shape, Access::ReadWrite, Some(&texels)).unwrap();
    let mut mapped = image.map(&bench.queue).unwrap();
    assert_eq!(mapped.rows(), 3);
    for y in 0..3 {
        assert_eq!(mapped.row(y).unwrap(), &texels[20 * y..][..20]);
    }
    assert!(mapped.row(3).is_none());
    mapped.row_mut(1).unwrap().fill(9);
    mapped.unmap().unwrap();
    let mut back = vec![0; 60];
    image.read(&bench.queue, &mut back).unwrap();
    assert_eq!((&back[..20], &back[20..40], &back[40..]), (&texels[..20], &[9; 20][..], &texels[40..]));
    image.write(&bench.queue, &texels).unwrap();
    image.read(&bench.queue, &mut back).unwrap();
    assert_eq!(back, texels);
    assert!(image.read(&bench.queue, &mut back[..59]).is_err());

    let empty = ImageShape::d2(0, 3, ChannelOrder::Rgba, ChannelType::U8);
    let error = Image::new(&bench.context, &empty, Access::Read, None).err().unwrap();
    assert!(matches!(error, MemoryError::Shape(ImageShapeError::Empty { .. })), "{error}");
    let huge = ImageShape::d2(1 << 30, 3, ChannelOrder::Rgba, ChannelType::U8);
    let error = Image::new(&bench.context, &huge, Access::Read, None).err().unwrap();
    assert!(matches!(error, MemoryError::ImageTooLarge { .. }), "{error}");
}

#[test]
fn lines_arrays_and_volumes_round_trip_by_copy_and_by_map() {
    let Some(bench) = bench() else { return };
    if bench.context.device().probe().images.is_none() {
        return;
    }
    for extent in [
        ImageExtent::D1 { width: 5 },
        ImageExtent::D1Array { width: 5, layers: 4 },
        ImageExtent::D2Array { width: 5, height: 3, layers: 4 },
        ImageExtent::D3 { width: 5, height: 3, depth: 4 },
    ] {
        let shape = ImageShape { extent, order: ChannelOrder::Rgba, channel: ChannelType::UnormU8 };
        let texels: Vec<u8> = (0..shape.bytes()).map(|byte| byte as u8).collect();
        let mut image = Image::new(&bench.context, &shape, Access::ReadWrite, Some(&texels)).unwrap();
        let mut back = vec![0; texels.len()];
        image.read(&bench.queue, &mut back).unwrap();
        assert_eq!(back, texels, "{extent}");
        let mut mapped = image.map(&bench.queue).unwrap();
        assert_eq!(mapped.rows(), texels.len() / 20);
        for (y, row) in texels.chunks_exact(20).enumerate() {
            assert_eq!(mapped.row(y).unwrap(), row, "{extent}, row {y}");
            mapped.row_mut(y).unwrap().reverse();
        }
        mapped.unmap().unwrap();
        image.read(&bench.queue, &mut back).unwrap();
        for (found, row) in back.chunks_exact(20).zip(texels.chunks_exact(20)) {
            assert!(found.iter().eq(row.iter().rev()), "{extent}");
        }
        image.write(&bench.queue, &texels).unwrap();
        image.read(&bench.queue, &mut back).unwrap();
        assert_eq!(back, texels, "{extent}");
    }
}

#[test]
fn images_made_from_buffers_where_offered() {
    let Some(bench) = bench() else { return };
    let Some(limits) = bench.context.device().probe().images else { return };
    let source =
        "constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
        kernel void square(read_only image2d_t from, global float *to, int width) {
            int2 p = (int2)(get_global_id(0), get_global_id(1));
            to[p.y * width + p.x] = read_imagef(from, at, p).x;
        }
        kernel void line(read_only image1d_buffer_t from, global float *to) {
            int x = get_global_id(0);
            to[x] = read_imagef(from, x).x;
        }";
    let program = tripipe_launch::Program::from_source("view.cl", source);
    let program = Program::build(&bench.context, &program).unwrap();
    let values: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let buffer = Buffer::copied_from(&bench.context, &values, Access::ReadWrite).unwrap();
    let to = Buffer::zeroed(&bench.context, 4096, Access::Write).unwrap();

    // 32 texels apart, which is a multiple of every power-of-two alignment up to it.
    let shape = ImageShape::d2(7, 5, ChannelOrder::R, ChannelType::F32);
    let pitch = 4 * limits.pitch_alignment.max(32) as usize;
    match buffer.image(&shape, pitch, Access::Read) {
        Err(MemoryError::NotOffered { what }) => {
            assert!(!limits.from_buffer || what.contains("texels"), "{what}");
            eprintln!("not offered here: {what}");
        }
        view => {
            let view = view.unwrap();
            let kernel = program.kernel("square").unwrap();
            let arguments = [(&view).into(), (&to).into(), Arg::value(7i32)];
            kernel.launch(&bench.queue, &arguments, &NdRange::d2(7, 5)).unwrap();
            let mut found = vec![0f32; 35];
            to.read(&bench.queue, 0, &mut found).unwrap();
            let want: Vec<f32> =
                (0..5).flat_map(|y| (0..7).map(move |x| (y * pitch / 4 + x) as f32)).collect();
            assert_eq!(found, want);
            assert!(buffer.image(&shape, 4 * 6, Access::Read).is_err());
            let extent = ImageExtent::D2 { width: 7, height: 4096 / pitch + 1 };
            let tall = ImageShape { extent, ..shape };
            assert!(buffer.image(&tall, pitch, Access::Read).is_err());
        }
    }

    let line = |width| ImageShape { extent: ImageExtent::Buffer { width }, ..shape };
    let view = buffer.image(&line(100), 0, Access::Read).unwrap();
    let kernel = program.kernel("line").unwrap();
    kernel.launch(&bench.queue, &[(&view).into(), (&to).into()], &NdRange::d1(100)).unwrap();
    let mut found = vec![0f32; 100];
    to.read(&bench.queue, 0, &mut found).unwrap();
    assert_eq!(found, values[..100]);
    assert!(buffer.image(&line(1025), 0, Access::Read).is_err());
}
