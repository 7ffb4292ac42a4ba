//! The executor with kernels whose results are known.

use std::sync::Arc;

use tripipe_launch::{
    Access, Addressing, Argument, ChannelOrder, ChannelType, ExecuteError, Executor, Filter, ImageExtent,
    ImageShape, Launch, MemoryId, MemoryKind, NdRange, Program, Sampler, Source, Text, Timing,
};
use tripipe_opencl::memory::Strategy;
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::support;

fn launch(program: &Arc<Program>, entry: &str, arguments: Vec<Argument>, range: NdRange) -> Launch {
    Launch { program: Arc::clone(program), entry: entry.to_owned(), arguments, range }
}

fn scale() -> Arc<Program> {
    Arc::new(Program::from_source(
        "scale.cl",
        "kernel void scale(global const int *from, global int *to, int by) {
             size_t i = get_global_id(0);
             to[i] = from[i] * by;
         }
         kernel void wide(global int *to, int4 lanes, uint base) {
             to[0] = lanes.x; to[1] = lanes.y; to[2] = lanes.z; to[3] = lanes.w; to[4] = (int)base;
         }
         kernel void sum(global const int *from, global int *to, local int *part) {
             size_t l = get_local_id(0);
             part[l] = from[get_global_id(0)];
             barrier(CLK_LOCAL_MEM_FENCE);
             if (l == 0) {
                 int all = 0;
                 for (size_t i = 0; i < get_local_size(0); ++i) all += part[i];
                 to[get_group_id(0)] = all;
             }
         }",
    ))
}

fn bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn ints(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect()
}

fn buffer(executor: &mut OpenClExecutor, initial: &[u8]) -> MemoryId {
    let kind = MemoryKind::Buffer { bytes: initial.len() };
    executor.allocate(&kind, Access::ReadWrite, Some(initial)).unwrap()
}

fn contents(executor: &mut OpenClExecutor, memory: MemoryId, len: usize) -> Vec<i32> {
    let mut into = vec![0; len * 4];
    executor.read(memory, 0, &mut into).unwrap();
    ints(&into)
}

#[test]
fn launches_run_in_order_with_times_on_one_clock() {
    let Some(mut executor) = support::executor() else { return };
    let program = scale();
    let a = buffer(&mut executor, &bytes(&[1, 2, 3, 4, 5]));
    let b = buffer(&mut executor, &[0; 20]);
    let times = |from, to, by: i32| {
        launch(
            &program,
            "scale",
            vec![Argument::Memory(from), Argument::Memory(to), by.into()],
            NdRange::d1(5),
        )
    };
    let timings = executor.run(&[times(a, b, 10), times(b, a, 7), times(a, b, -1)]).unwrap();
    assert_eq!(contents(&mut executor, a, 5), [70, 140, 210, 280, 350]);
    assert_eq!(contents(&mut executor, b, 5), [-70, -140, -210, -280, -350]);
    assert_eq!(timings.len(), 3);
    for timing in &timings {
        assert!(timing.queued_ns <= timing.submit_ns, "{timing:?}");
        assert!(timing.submit_ns <= timing.start_ns, "{timing:?}");
        assert!(timing.start_ns < timing.end_ns, "{timing:?}");
    }
    assert!(timings.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "{timings:?}");
    assert!(Timing::span_seconds(&timings) < 10.0);
    assert_eq!(executor.run(&[]).unwrap(), []);
}

#[test]
fn values_vectors_and_local_memory_arrive() {
    let Some(mut executor) = support::executor() else { return };
    let program = scale();
    let to = buffer(&mut executor, &[0; 20]);
    let arguments = vec![Argument::Memory(to), [1, -2, 3, -4i32].into(), 5u32.into()];
    executor.run(&[launch(&program, "wide", arguments, NdRange::d1(1))]).unwrap();
    assert_eq!(contents(&mut executor, to, 5), [1, -2, 3, -4, 5]);

    let from = buffer(&mut executor, &bytes(&(1..=64).collect::<Vec<_>>()));
    let arguments = vec![Argument::Memory(from), Argument::Memory(to), Argument::Local { bytes: 64 }];
    executor.run(&[launch(&program, "sum", arguments, NdRange::d1(64).local(16, 1, 1))]).unwrap();
    assert_eq!(contents(&mut executor, to, 4), [136, 392, 648, 904]);
}

#[test]
fn structs_and_null_arrive() {
    let Some(mut executor) = support::executor() else { return };
    let program = Arc::new(Program::from_source(
        "struct.cl",
        "typedef struct { int x; short y; int z; } S;
         kernel void take(global int *to, S s, global int *none, constant int *nothing) {
             to[0] = s.x; to[1] = s.y; to[2] = s.z; to[3] = none == 0; to[4] = nothing == 0;
         }",
    ));
    let to = buffer(&mut executor, &[0; 20]);
    let memory = Argument::Memory(to);
    // Two bytes of padding after the short.
    let s: Arc<[u8]> =
        [&5i32.to_ne_bytes()[..], &(-2i16).to_ne_bytes(), &[9, 9], &7i32.to_ne_bytes()].concat().into();
    let arguments = vec![memory.clone(), Argument::Bytes(s), Argument::Null, Argument::Null];
    executor.run(&[launch(&program, "take", arguments, NdRange::d1(1))]).unwrap();
    assert_eq!(contents(&mut executor, to, 5), [5, -2, 7, 1, 1]);
    let null = vec![memory, Argument::Null, Argument::Null, Argument::Null];
    let error = executor.run(&[launch(&program, "take", null, NdRange::d1(1))]).unwrap_err();
    assert!(matches!(&error, ExecuteError::Argument { index: 1, found, .. } if found == "NULL"), "{error}");
}

#[test]
fn both_strategies_give_the_same() {
    let Some(device) = support::device() else { return };
    for strategy in [Strategy::Map, Strategy::Copy] {
        let options = ExecutorOptions::default().strategy(strategy);
        let mut executor = OpenClExecutor::new(&device, &options).unwrap();
        assert_eq!(executor.strategy(), strategy);
        let memory = buffer(&mut executor, &bytes(&[1, 2, 3, 4]));
        executor.write(memory, 4, &bytes(&[20, 30])).unwrap();
        let mut into = [0; 8];
        executor.read(memory, 8, &mut into).unwrap();
        assert_eq!(ints(&into), [30, 4]);
        assert_eq!(contents(&mut executor, memory, 4), [1, 20, 30, 4]);

        let shape = ImageShape::d2(3, 5, ChannelOrder::R, ChannelType::U8);
        let texels: Vec<u8> = (0..15).collect();
        let image = executor.allocate(&MemoryKind::Image(shape), Access::Read, Some(&texels)).unwrap();
        let mut back = vec![0; 15];
        executor.read(image, 0, &mut back).unwrap();
        assert_eq!(back, texels);
        let other: Vec<u8> = (100..115).collect();
        executor.write(image, 0, &other).unwrap();
        executor.read(image, 0, &mut back).unwrap();
        assert_eq!(back, other);
    }
}

#[test]
fn a_sampler_clamps_and_a_1d_image_is_read() {
    let Some(mut executor) = support::executor() else { return };
    if executor.probe().images.is_none() {
        return;
    }
    let program = Arc::new(Program::from_source(
        "images.cl",
        "kernel void edge(read_only image2d_t from, sampler_t how, global float4 *to) {
             to[0] = read_imagef(from, how, (int2)(-7, 1));
             to[1] = read_imagef(from, how, (int2)(9, 9));
         }
         kernel void line(read_only image1d_t from, sampler_t how, global uint4 *to) {
             to[0] = read_imageui(from, how, 2);
         }",
    ));
    let texels: Vec<u8> =
        (0..4).flat_map(|i| [i as f32, 0.5, -1.0, 2.0]).flat_map(f32::to_ne_bytes).collect();
    let image = MemoryKind::Image(ImageShape::rgba_f32(2, 2));
    let image = executor.allocate(&image, Access::Read, Some(&texels)).unwrap();
    let to = buffer(&mut executor, &[0; 32]);
    let how = Sampler { normalized: false, addressing: Addressing::ClampToEdge, filter: Filter::Nearest };
    let arguments = vec![Argument::Memory(image), Argument::Sampler(how), Argument::Memory(to)];
    executor.run(&[launch(&program, "edge", arguments, NdRange::d1(1))]).unwrap();
    let floats: Vec<f32> =
        contents(&mut executor, to, 8).into_iter().map(|bits| f32::from_bits(bits as u32)).collect();
    assert_eq!(floats, [2.0, 0.5, -1.0, 2.0, 3.0, 0.5, -1.0, 2.0]);

    let extent = ImageExtent::D1 { width: 4 };
    let shape = ImageShape { extent, order: ChannelOrder::Rgba, channel: ChannelType::U8 };
    let line: Vec<u8> = (0..16).collect();
    let line = executor.allocate(&MemoryKind::Image(shape), Access::Read, Some(&line)).unwrap();
    let arguments = vec![Argument::Memory(line), Argument::Sampler(how), Argument::Memory(to)];
    executor.run(&[launch(&program, "line", arguments, NdRange::d1(1))]).unwrap();
    assert_eq!(contents(&mut executor, to, 4), [8, 9, 10, 11]);
}

#[test]
fn wrong_arguments_and_ranges_are_found_before_anything_runs() {
    let Some(mut executor) = support::executor() else { return };
    let program = scale();
    let a = buffer(&mut executor, &bytes(&[1, 1]));
    let memory = Argument::Memory(a);
    let good = |range| launch(&program, "scale", vec![memory.clone(), memory.clone(), 2i32.into()], range);

    // The first launch is valid, but must not have run.
    let bad = launch(&program, "scale", vec![memory.clone(), memory.clone()], NdRange::d1(2));
    let error = executor.run(&[good(NdRange::d1(2)), bad]).unwrap_err();
    assert!(matches!(error, ExecuteError::ArgumentCount { want: 3, found: 2, .. }), "{error}");
    assert_eq!(contents(&mut executor, a, 2), [1, 1]);

    for (index, arguments) in [
        (2, vec![memory.clone(), memory.clone(), 2u32.into()]),
        (2, vec![memory.clone(), memory.clone(), memory.clone()]),
        (0, vec![1i32.into(), memory.clone(), 2i32.into()]),
        (1, vec![memory.clone(), Argument::Local { bytes: 8 }, 2i32.into()]),
    ] {
        let error = executor.run(&[launch(&program, "scale", arguments, NdRange::d1(2))]).unwrap_err();
        assert!(matches!(error, ExecuteError::Argument { index: at, .. } if at == index), "{error}");
    }

    let most = executor.prepare(&program, "scale").unwrap().max_work_group_size;
    for range in [
        NdRange::d1(0),
        NdRange::d1(10).local(4, 1, 1),
        NdRange::d1(4).local(0, 1, 1),
        NdRange::d1(1 << 20).local(most * 2, 1, 1),
        NdRange::d3(usize::MAX, usize::MAX, 2),
    ] {
        let error = executor.run(&[good(range)]).unwrap_err();
        assert!(matches!(error, ExecuteError::Range { .. }), "{range:?}: {error}");
    }
    let local = executor.probe().local_memory_bytes as usize;
    let arguments = vec![memory.clone(), memory.clone(), Argument::Local { bytes: local + 1 }];
    let error = executor.run(&[launch(&program, "sum", arguments, NdRange::d1(1))]).unwrap_err();
    assert!(matches!(error, ExecuteError::Range { .. }), "{error}");
    assert_eq!(contents(&mut executor, a, 2), [1, 1]);
}

#[test]
fn memory_is_checked() {
    let Some(mut executor) = support::executor() else { return };
    let error = executor.allocate(&MemoryKind::Buffer { bytes: 0 }, Access::Read, None).unwrap_err();
    assert!(matches!(error, ExecuteError::Memory { .. }), "{error}");
    let huge = MemoryKind::Buffer { bytes: 1 << 60 };
    let error = executor.allocate(&huge, Access::Read, None).unwrap_err();
    assert!(matches!(error, ExecuteError::OutOfMemory { bytes, .. } if bytes == 1 << 60), "{error}");
    let error = executor.allocate(&MemoryKind::Buffer { bytes: 8 }, Access::Read, Some(&[0; 7])).unwrap_err();
    assert!(matches!(error, ExecuteError::Memory { .. }), "{error}");
    let image = MemoryKind::Image(ImageShape::rgba_f32(1 << 20, 1 << 20));
    let error = executor.allocate(&image, Access::Read, None).unwrap_err();
    assert!(matches!(error, ExecuteError::Memory { .. }), "{error}");

    let memory = buffer(&mut executor, &[0; 8]);
    for (offset, len) in [(0, 9), (8, 1), (usize::MAX, 2)] {
        let error = executor.read(memory, offset, &mut vec![0; len]).unwrap_err();
        assert!(matches!(error, ExecuteError::Memory { .. }), "{error}");
        let error = executor.write(memory, offset, &vec![0; len]).unwrap_err();
        assert!(matches!(error, ExecuteError::Memory { .. }), "{error}");
    }
    executor.release(memory).unwrap();
    assert!(matches!(executor.release(memory), Err(ExecuteError::Memory { .. })));
    let again = buffer(&mut executor, &[0; 8]);
    assert_ne!(again, memory);
}

#[test]
fn a_build_failure_names_line_and_text() {
    let Some(mut executor) = support::executor() else { return };
    let text = "kernel void f(global int *p) {\n    p[0] = 1;\n    p[1] = nothere;\n}\n";
    let program = Arc::new(Program::from_source("broken.cl", text));
    match executor.prepare(&program, "f") {
        Err(ExecuteError::Build { program, line, summary, log, .. }) => {
            assert_eq!(program, "broken.cl");
            assert_eq!(line, Some(3), "{log}");
            assert!(summary.contains("nothere") && summary.contains("p[1] = nothere;"), "{summary}\n{log}");
            assert!(!summary.contains('\n'), "{summary}");
        }
        other => panic!("{other:?}"),
    }
    match executor.prepare(&scale(), "missing") {
        Err(ExecuteError::NoSuchKernel { kernels, .. }) => {
            let mut kernels = kernels;
            kernels.sort();
            assert_eq!(kernels, ["scale", "sum", "wide"]);
        }
        other => panic!("{other:?}"),
    }
}

/// The second part has the error in its second line.
#[test]
fn a_build_failure_names_the_part() {
    let Some(mut executor) = support::executor() else { return };
    let text = Text::of_parts([
        ("parts/twice.cl", "// One of two parts.\nint twice(int x) { return 2 * x; }\n"),
        ("parts/broken.cl", "kernel void f(global int *p) {\n    p[1] = twice(nothere);\n}\n"),
    ]);
    match executor.prepare(&Arc::new(Program::from_source("parts", text)), "f") {
        Err(error @ ExecuteError::Build { .. }) => {
            let said = error.to_string();
            assert!(said.starts_with("parts does not build (parts/broken.cl, line 2): "), "{said}");
            assert!(said.contains("p[1] = twice(nothere);"), "{said}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_argument_of_unknown_size_is_passed_on() {
    let Some(mut executor) = support::executor() else { return };
    let source = "typedef struct { int a; int b; } pair;
        kernel void f(global int *to, pair p) { to[0] = p.a + p.b; }";
    let program = Arc::new(Program::from_source("pair.cl", source));
    let to = buffer(&mut executor, &[0; 4]);
    // Two ints have the size of the struct.
    let arguments = vec![Argument::Memory(to), [3i32, 4].into()];
    executor.run(&[launch(&program, "f", arguments, NdRange::d1(1))]).unwrap();
    assert_eq!(contents(&mut executor, to, 1), [7]);
}

#[test]
fn images_over_buffers_keep_the_buffer_and_obey_the_limits() {
    let Some(mut executor) = support::executor() else { return };
    let Some(limits) = executor.probe().images else { return };
    let program = Arc::new(Program::from_source(
        "line.cl",
        "kernel void line(read_only image1d_buffer_t from, global float *to) {
             to[get_global_id(0)] = read_imagef(from, (int)get_global_id(0)).x;
         }",
    ));
    let values: Vec<u8> = (0..64).flat_map(|i| (i as f32).to_ne_bytes()).collect();
    let from = buffer(&mut executor, &values);
    let to = buffer(&mut executor, &[0; 256]);
    let extent = ImageExtent::Buffer { width: 64 };
    let shape = ImageShape { extent, order: ChannelOrder::R, channel: ChannelType::F32 };
    let view = executor.image_over_buffer(from, &shape, 0).unwrap();
    executor.release(from).unwrap();
    let arguments = vec![Argument::Memory(view), Argument::Memory(to)];
    executor.run(&[launch(&program, "line", arguments, NdRange::d1(64))]).unwrap();
    let mut found = vec![0; 256];
    executor.read(to, 0, &mut found).unwrap();
    assert_eq!(found, values);

    let square = ImageShape { extent: ImageExtent::D2 { width: 4, height: 4 }, ..shape };
    let made = executor.image_over_buffer(to, &square, 4 * limits.pitch_alignment.max(4) as usize);
    match made {
        Ok(_) => assert!(limits.from_buffer),
        // Not offered, or the pitch that the device requires makes it larger than the buffer.
        Err(ExecuteError::NotOffered { .. }) => {}
        Err(ExecuteError::Memory { .. }) => assert!(limits.pitch_alignment > 16),
        Err(error) => panic!("{error}"),
    }
    let error = executor.image_over_buffer(view, &shape, 0).unwrap_err();
    assert!(matches!(error, ExecuteError::Memory { .. }), "{error}");
}

#[test]
fn a_kernel_without_arguments_runs() {
    let Some(mut executor) = support::executor() else { return };
    let program = Arc::new(Program::from_source("nothing.cl", "kernel void nothing(void) {}"));
    assert_eq!(executor.run(&[launch(&program, "nothing", Vec::new(), NdRange::d1(1))]).unwrap().len(), 1);
}

#[test]
fn spirv_is_taken_or_refused_in_words() {
    let Some(mut executor) = support::executor() else { return };
    let mut program = Program::from_source("module.spv", "");
    program.source = Source::SpirV(Arc::from([0u8; 20]));
    match executor.prepare(&Arc::new(program), "f") {
        // Twenty zeros are not a valid module.
        Err(ExecuteError::NotOffered { .. } | ExecuteError::Build { .. } | ExecuteError::Backend { .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn handles_may_go_to_other_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<tripipe_opencl::Device>();
    shared::<tripipe_opencl::Context>();
    shared::<tripipe_opencl::Queue>();
    shared::<tripipe_opencl::Program>();
    shared::<tripipe_opencl::Kernel>();
    shared::<tripipe_opencl::Event>();
    shared::<tripipe_opencl::memory::Buffer<'_>>();
    shared::<tripipe_opencl::memory::Image<'_>>();
    shared::<tripipe_opencl::memory::SvmBuffer>();
    shared::<OpenClExecutor>();
}

#[test]
fn the_probe_is_filled() {
    let Some(device) = support::device() else { return };
    let probe = device.probe();
    eprintln!("{probe:#?}");
    for text in [&probe.platform, &probe.name, &probe.vendor, &probe.version, &probe.driver] {
        assert!(!text.is_empty(), "{probe:?}");
    }
    assert!(probe.opencl_c >= (1, 1) && device.version() >= (1, 1));
    assert!(probe.compute_units > 0 && probe.max_work_group_size > 0);
    assert!(probe.max_work_item_sizes.iter().all(|size| *size > 0));
    assert!(probe.address_bits == 32 || probe.address_bits == 64);
    assert!(probe.global_memory_bytes >= probe.max_buffer_bytes && probe.max_buffer_bytes > 0);
    assert!(probe.local_memory_bytes >= 1024 && probe.base_alignment_bytes > 0);
    assert!(!probe.extensions.is_empty() && probe.preferred_vector_width[4] > 0);
    assert_eq!(probe.fp64(), probe.preferred_vector_width[5] > 0);
}
