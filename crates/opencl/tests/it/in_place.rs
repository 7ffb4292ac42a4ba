//! In-place access to contents, and copies on the device.

use tripipe_launch::{Access, ChannelOrder, ChannelType, ExecuteError, Executor, ImageShape, MemoryKind};
use tripipe_opencl::memory::Strategy;
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::support;

fn executors() -> Vec<OpenClExecutor> {
    let Some(device) = support::device() else { return Vec::new() };
    [Strategy::Map, Strategy::Copy]
        .map(|strategy| OpenClExecutor::new(&device, &ExecutorOptions::default().strategy(strategy)).unwrap())
        .into()
}

#[test]
fn a_buffer_is_accessed_in_place() {
    for mut executor in executors() {
        let initial: Vec<u8> = (0..64).collect();
        let kind = MemoryKind::Buffer { bytes: 64 };
        let memory = executor.allocate(&kind, Access::ReadWrite, Some(&initial)).unwrap();
        let mut seen = Vec::new();
        executor
            .with_bytes(memory, 8..16, &mut |bytes| {
                assert_eq!(bytes, &initial[8..16]);
                seen.push(bytes.as_ptr() as usize);
            })
            .unwrap();
        executor
            .with_bytes_mut(memory, 4..64, &mut |bytes| {
                assert_eq!(bytes, &initial[4..]);
                seen.push(bytes.as_ptr() as usize);
                bytes[4] = 99;
            })
            .unwrap();
        let mut found = [0; 3];
        executor.read(memory, 7, &mut found).unwrap();
        assert_eq!(found, [7, 99, 9]);
        let pocl = executor.probe().platform.contains("Portable Computing Language");
        if pocl && executor.strategy() == Strategy::Map {
            // The same memory, so no copy was made.
            assert_eq!(seen[0], seen[1] + 4);
        }
        let mut called = 0;
        executor.with_bytes(memory, 64..64, &mut |bytes| called += 1 + bytes.len()).unwrap();
        assert_eq!(called, 1);
        #[allow(clippy::reversed_empty_ranges, reason = "what is refused")]
        for range in [60..65, 65..65, 5..4, 0..usize::MAX, usize::MAX..0] {
            let read = executor.with_bytes(memory, range.clone(), &mut |_| panic!("not reached"));
            assert!(matches!(read, Err(ExecuteError::Memory { .. })), "{range:?}: {read:?}");
            let written = executor.with_bytes_mut(memory, range.clone(), &mut |_| panic!("not reached"));
            assert!(matches!(written, Err(ExecuteError::Memory { .. })), "{range:?}: {written:?}");
        }
    }
}

#[test]
fn several_objects_are_reached_at_once() {
    for mut executor in executors() {
        let mut make = |bytes: &[u8]| {
            let kind = MemoryKind::Buffer { bytes: bytes.len() };
            executor.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
        };
        let (first, second) = (make(&[1, 2, 3, 4]), make(&[10, 20, 30]));
        let mut add = |inputs: &[&[u8]], output: &mut [u8]| {
            assert_eq!(inputs.iter().map(|input| input.len()).collect::<Vec<_>>(), [4, 2, 0]);
            output[1] += inputs[0][3] + inputs[1][1];
        };
        executor.with_all_bytes(&[(first, 4), (first, 2), (first, 0)], (second, 2), &mut add).unwrap();
        let mut found = [0; 3];
        executor.read(second, 0, &mut found).unwrap();
        assert_eq!(found, [10, 26, 30]);
        for (inputs, output) in [([(first, 5)], (second, 3)), ([(first, 4)], (second, 4))] {
            let refused = executor.with_all_bytes(&inputs, output, &mut |_, _| panic!("not reached"));
            assert!(matches!(refused, Err(ExecuteError::Memory { .. })), "{refused:?}");
        }
    }
}

#[test]
fn an_input_that_is_also_the_output_is_read_as_it_was() {
    for mut executor in executors() {
        let kind = MemoryKind::Buffer { bytes: 4 };
        let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[1, 2, 3, 4])).unwrap();
        let mut shift = |inputs: &[&[u8]], output: &mut [u8]| {
            for i in 0..4 {
                output[i] = 10 * inputs[0][3 - i];
            }
            // Slices that are passed together must not overlap.
            assert_ne!(inputs[0].as_ptr(), output.as_ptr());
            assert_eq!(inputs[0], [1, 2, 3, 4]);
        };
        executor.with_all_bytes(&[(memory, 4)], (memory, 4), &mut shift).unwrap();
        let mut found = [0; 4];
        executor.read(memory, 0, &mut found).unwrap();
        assert_eq!(found, [40, 30, 20, 10]);
    }
}

#[test]
fn an_image_is_reached_as_a_whole() {
    for mut executor in executors() {
        if executor.probe().images.is_none() {
            return;
        }
        let shape = ImageShape::d2(3, 5, ChannelOrder::R, ChannelType::U8);
        let texels: Vec<u8> = (0..15).collect();
        let image = executor.allocate(&MemoryKind::Image(shape), Access::Read, Some(&texels)).unwrap();
        executor.with_bytes_mut(image, 0..15, &mut |bytes| bytes.reverse()).unwrap();
        let mut found = Vec::new();
        executor.with_bytes(image, 0..15, &mut |bytes| found = bytes.to_vec()).unwrap();
        assert!(found.iter().rev().eq(&texels), "{found:?}");
        assert!(executor.with_bytes(image, 0..14, &mut |_| panic!("not reached")).is_err());
    }
}

#[test]
fn copies_between_and_within_objects() {
    for mut executor in executors() {
        let initial: Vec<u8> = (0..64).collect();
        let kind = MemoryKind::Buffer { bytes: 64 };
        let a = executor.allocate(&kind, Access::ReadWrite, Some(&initial)).unwrap();
        let b = executor.allocate(&kind, Access::ReadWrite, Some(&[0; 64])).unwrap();
        let all = |executor: &mut OpenClExecutor, memory| {
            let mut bytes = [0; 64];
            executor.read(memory, 0, &mut bytes).unwrap();
            bytes
        };
        executor.copy(a, 3, b, 40, 20).unwrap().wait().unwrap();
        let mut want = [0; 64];
        want[40..60].copy_from_slice(&initial[3..23]);
        assert_eq!(all(&mut executor, b), want);
        // Within one buffer, disjoint and overlapping.
        for (from, to, len) in [(0, 32, 32), (1, 4, 50), (20, 10, 44), (7, 7, 9), (64, 0, 0)] {
            executor.write(a, 0, &initial).unwrap();
            let copied = executor.copy(a, from, a, to, len).unwrap();
            assert!(copied.timings().unwrap().len() <= 1);
            let mut want = initial.clone();
            want.copy_within(from..from + len, to);
            assert_eq!(all(&mut executor, a)[..], want, "{from} to {to}, {len}");
        }
        for (from, to, len) in [(60, 0, 5), (0, 60, 5), (usize::MAX, 0, 2), (0, 0, usize::MAX)] {
            let error = executor.copy(a, from, b, to, len).map(drop).unwrap_err();
            let place = if from == 0 && to == 60 { b } else { a };
            assert!(matches!(error, ExecuteError::Memory { memory, .. } if memory == place), "{error}");
        }
    }
}
