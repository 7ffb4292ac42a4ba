use super::*;
use std::sync::Arc;

struct Fake(Arc<AtomicBool>, Result<CommandTimes, String>);

impl DeviceCommand for Fake {
    fn times(&self) -> Option<Result<CommandTimes, String>> {
        self.0.load(Ordering::SeqCst).then(|| self.1.clone())
    }
}

fn command(name: &str) -> Command {
    Command { name: name.to_owned(), ..Command::default() }
}

fn times(queued_ns: u64) -> CommandTimes {
    CommandTimes { queued_ns, submit_ns: queued_ns + 10, start_ns: queued_ns + 20, end_ns: queued_ns + 50 }
}

#[test]
fn commands_get_times_of_the_host_once_they_have_ended() {
    let recorder = Recorder::default();
    let queue = recorder.queue(recorder.gpu("GPU", 0, Vec::new), "queue");
    let done = Arc::new(AtomicBool::new(false));
    recorder.enqueued(queue, command("a"), [1000, 1010], Box::new(Fake(done.clone(), Ok(times(5)))));
    let timeline = recorder.timeline();
    assert!(timeline.processes[1].gpu.as_ref().unwrap().queues.is_empty());
    assert!(
        timeline
            .facts
            .0
            .iter()
            .any(|(name, value)| { name.contains("had not ended") && *value == ArgumentValue::Integer(1) })
    );
    done.store(true, Ordering::SeqCst);
    let timeline = recorder.timeline();
    let commands = &timeline.processes[1].gpu.as_ref().unwrap().queues[0].commands;
    // 5 on the device's clock is 1005 on the host's.
    assert_eq!((commands[0].start_ns, commands[0].duration_ns), (1025, 30));
    assert_eq!(timeline.facts.0.len(), 1);
}

#[test]
fn a_failed_command_says_why() {
    let recorder = Recorder::default();
    let queue = recorder.queue(recorder.gpu("GPU", 0, Vec::new), "queue");
    let failed = Fake(Arc::new(AtomicBool::new(true)), Err("out of resources".to_owned()));
    recorder.enqueued(queue, command("a"), [7, 9], Box::new(failed));
    let timeline = recorder.timeline();
    let command = &timeline.processes[1].gpu.as_ref().unwrap().queues[0].commands[0];
    assert_eq!((command.start_ns, command.duration_ns), (7, 0));
    assert_eq!(command.arguments, Arguments::default().with("no times", "out of resources".to_owned()));
}

/// NVIDIA's driver reports 0 for the times of a map, and for those at which an unmap was queued and submitted.
#[test]
fn times_that_the_driver_does_not_report_move_nothing() {
    let recorder = Recorder::default();
    let queue = recorder.queue(recorder.gpu("GPU", 0, Vec::new), "queue");
    let done = Arc::new(AtomicBool::new(true));
    let enqueue = |name: &str, host: u64, times: CommandTimes| {
        let device = Box::new(Fake(done.clone(), Ok(times)));
        recorder.enqueued(queue, command(name), [host, host + 10], device);
    };
    // The device's clock is far ahead of the host's.
    let ahead = 1_795_394_852_000_000_000;
    enqueue("kernel", 1000, times(ahead + 1005));
    enqueue("map", 2000, CommandTimes::default());
    enqueue(
        "unmap",
        3000,
        CommandTimes { start_ns: ahead + 3030, end_ns: ahead + 3100, ..CommandTimes::default() },
    );
    enqueue("backwards", 4000, CommandTimes { end_ns: ahead, ..times(ahead + 4005) });
    let timeline = recorder.timeline();
    let process = &timeline.processes[1];
    assert_eq!(process.labels, ["device times are on the host's clock to within 0.0 us"]);
    let mut found: Vec<(&str, u64, u64)> = Vec::new();
    for command in &process.gpu.as_ref().unwrap().queues[0].commands {
        found.push((&command.name, command.start_ns, command.duration_ns));
        let incomplete = command.arguments.0.iter().any(|(name, _)| name == "no times");
        assert_eq!(incomplete, command.name != "kernel", "{command:?}");
    }
    assert_eq!(found, [("kernel", 1025, 30), ("map", 2000, 0), ("unmap", 3000, 70), ("backwards", 4000, 0)]);
}

#[test]
fn what_exceeds_the_limit_is_counted() {
    let recorder = Recorder::with_limit(2);
    for _ in 0..5 {
        recorder.host(Slice::default());
    }
    let timeline = recorder.timeline();
    assert_eq!(timeline.processes[0].tracks[0].slices.len(), 2);
    assert!(timeline.facts.0.contains(&("later slices and commands, left out".into(), 3u64.into())));
}

#[test]
fn threads_and_queues_of_one_name_are_apart() {
    let recorder = Recorder::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let named = std::thread::Builder::new().name("worker".to_owned());
            named.spawn_scoped(scope, || recorder.host(Slice::default())).unwrap();
        }
    });
    let gpu = recorder.gpu("GPU", 0, Vec::new);
    assert_eq!(recorder.gpu("GPU", 0, || vec!["ignored".to_owned()]), gpu);
    assert_ne!(recorder.gpu("GPU", 1, Vec::new), gpu);
    for used in [true, false, true] {
        let queue = recorder.queue(gpu, "queue");
        if used {
            recorder.executed(queue, command("a"));
        }
    }
    let timeline = recorder.timeline();
    let names: Vec<_> = timeline.processes[0].tracks.iter().map(|track| track.name.as_str()).collect();
    assert_eq!(names, ["worker", "worker 2"]);
    let queues = &timeline.processes[1].gpu.as_ref().unwrap().queues;
    assert_eq!([&*queues[0].name, &*queues[1].name], ["queue", "queue 2"]);
}
