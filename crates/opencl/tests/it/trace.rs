//! What a recording has of an executor's work: of the whole process, so the test runs in one of its own.

use std::sync::Arc;

use tripipe_launch::{Access, Argument, Block, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_trace::{ArgumentValue, Command, CommandKind, Slice, Timeline};

use crate::support;

const BYTES: usize = 1 << 12;

fn commands(timeline: &Timeline) -> Vec<&Command> {
    let queues = timeline.processes.iter().flat_map(|process| &process.gpu).flat_map(|gpu| &gpu.queues);
    queues.flat_map(|queue| &queue.commands).collect()
}

fn end(command: &Command) -> u64 {
    command.start_ns + command.duration_ns
}

#[test]
fn every_command_is_recorded_between_its_call_and_the_wait_for_it() {
    if !support::is_alone("trace::every_command_is_recorded_between_its_call_and_the_wait_for_it") {
        return;
    }
    let recorder = tripipe_trace::install();
    let Some(mut executor) = support::executor() else { return };
    let kind = MemoryKind::Buffer { bytes: BYTES };
    let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[1; BYTES])).unwrap();
    let zeros = executor.allocate_zeros(&kind, Access::ReadWrite).unwrap();
    let source = "kernel void count(global uint *all, uint rounds) {
        for (uint i = 0; i < rounds; ++i) all[get_global_id(0)] += i;
    }";
    let launch = |rounds: u32| Launch {
        program: Arc::new(Program::from_source("count.cl", source)),
        entry: "count".to_owned(),
        arguments: vec![Argument::Memory(memory), rounds.into()],
        range: NdRange::d1(BYTES / 4).local(64, 1, 1),
    };
    // Times are recorded even if the caller wants none.
    executor.take_times(false);
    executor.submit(&[launch(1), launch(2000), launch(3)]).unwrap().wait().unwrap();
    executor.copy(memory, 0, zeros, 0, BYTES).unwrap().wait().unwrap();
    let reading = executor.enqueue_read(zeros, 0, Block::new(vec![0u8; BYTES])).unwrap();
    reading.wait().unwrap();
    let mut bytes = [0; BYTES];
    executor.read(zeros, 0, &mut bytes).unwrap();
    let end_of_all = recorder.now_ns();
    drop((reading, executor));

    let timeline = recorder.timeline();
    let [host, gpu] = &timeline.processes[..] else { panic!("{timeline:?}") };
    assert_eq!((host.pid, gpu.gpu.is_some()), (Some(std::process::id()), true));
    let all = commands(&timeline);
    let kernels: Vec<&Command> = all.iter().filter(|command| command.name == "count").copied().collect();
    assert_eq!(kernels.len(), 3);
    for pair in kernels.windows(2) {
        assert!(end(pair[0]) <= pair[1].start_ns, "in order");
    }
    let CommandKind::Kernel(kernel) = &kernels[0].kind else { panic!() };
    assert_eq!((kernel.global, kernel.groups()), ([BYTES as u64 / 4, 1, 1], Some([16, 1, 1])));
    let slices: Vec<&Slice> = host.tracks.iter().flat_map(|track| &track.slices).collect();
    let named =
        |name: &str| -> Vec<&Slice> { slices.iter().filter(|slice| slice.name == name).copied().collect() };
    let build = named("build count.cl");
    assert_eq!(build[0].arguments.0[0], ("from".into(), ArgumentValue::from("source")));
    // Each kernel starts after its call began, and ends before the wait for the last one did: to within the accuracy of
    // the placement, which is at most that of a call.
    let calls = named("enqueue count");
    assert_eq!((calls.len(), build.len()), (3, 1));
    let accuracy = calls.iter().map(|call| call.duration_ns).max().unwrap();
    let wait = named("wait").iter().map(|wait| wait.start_ns + wait.duration_ns).min().unwrap();
    for (call, kernel) in calls.iter().zip(&kernels) {
        assert!(call.start_ns <= kernel.start_ns + accuracy, "{call:?} {kernel:?}");
    }
    assert!(end(kernels[2]) <= wait + accuracy && wait <= end_of_all);
    let moved: usize = all.iter().filter(|command| command.kind == CommandKind::Transfer).count();
    // The contents, the zeros, and at least the copy; a device that shares memory with the host maps it.
    assert!(moved >= 3, "{all:?}");
    assert!(all.iter().all(|command| command.start_ns > 0 && end(command) <= end_of_all + accuracy));
}
