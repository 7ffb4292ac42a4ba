//! Several threads at the same time, and ten thousand launches.

use std::sync::Arc;

use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program as Request};
use tripipe_opencl::memory::Buffer;
use tripipe_opencl::{Arg, Context, Program, Queue, live_objects};

use crate::support;

const SOURCE: &str = "kernel void advance(global int *all, int mul, int add) {
    size_t i = get_global_id(0);
    all[i] = all[i] * mul + add;
}";

fn resident_bytes() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<usize>().ok()? * 4096)
}

/// Alone, so that no other test makes objects while they are counted.
#[test]
fn threads_share_a_kernel_and_nothing_leaks() {
    if !support::is_alone("threads::threads_share_a_kernel_and_nothing_leaks") {
        return;
    }
    let Some(device) = support::device() else { return };
    let before = live_objects();

    // Two threads, one context, one kernel, a queue each; every launch has different arguments, so that an argument
    // set by the wrong thread changes the numbers.
    {
        let context = Context::new(&device).unwrap();
        let program = Program::build(&context, &Request::from_source("step.cl", SOURCE)).unwrap();
        let kernel = program.kernel("advance").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..2i32 {
                let (context, kernel) = (&context, &kernel);
                scope.spawn(move || {
                    let queue = Queue::with_profiling(context).unwrap();
                    let mut random = fastrand::Rng::with_seed(thread as u64 + 1);
                    let mut want = vec![thread; 64];
                    let mut buffer = Buffer::copied_from(context, &want, Access::ReadWrite).unwrap();
                    for round in 0..1000 {
                        let (mul, add) = (random.i32(-9..9), random.i32(..));
                        let arguments = [(&buffer).into(), Arg::value(mul), Arg::value(add)];
                        kernel.launch(&queue, &arguments, &NdRange::d1(64)).unwrap();
                        for value in &mut want {
                            *value = value.wrapping_mul(mul).wrapping_add(add);
                        }
                        if round % 100 == 99 {
                            let mapped = buffer.map(&queue, 0..256).unwrap();
                            let found: Vec<i32> = mapped
                                .chunks_exact(4)
                                .map(|b| i32::from_ne_bytes(b.try_into().unwrap()))
                                .collect();
                            assert_eq!(found, want, "thread {thread}, round {round}");
                        }
                    }
                    // Building at the same time.
                    let program = Request::from_source("step.cl", SOURCE).define("THREAD", thread);
                    assert!(Program::build(context, &program).unwrap().kernel("advance").is_ok());
                });
            }
        });
    }
    assert_eq!(live_objects(), before);

    let mut executor = support::executor().unwrap();
    let program = Arc::new(Request::from_source("step.cl", SOURCE));
    let mut cycle = |launches: usize| {
        let kind = MemoryKind::Buffer { bytes: 256 };
        let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[0; 256])).unwrap();
        let launch = Launch {
            program: Arc::clone(&program),
            entry: "advance".to_owned(),
            arguments: vec![Argument::Memory(memory), 1i32.into(), 1i32.into()],
            range: NdRange::d1(64),
        };
        let timings = executor.run(&vec![launch; launches]).unwrap();
        assert_eq!(timings.len(), launches);
        let mut first = [0; 4];
        executor.read(memory, 0, &mut first).unwrap();
        assert_eq!(i32::from_ne_bytes(first) as usize, launches);
        executor.release(memory).unwrap();
    };
    // Fill the driver's own pools first.
    (0..200).for_each(|_| cycle(10));
    let (objects, resident) = (live_objects(), resident_bytes());
    (0..1000).for_each(|_| cycle(10));
    assert_eq!(live_objects(), objects);
    if let (Some(then), Some(now)) = (resident, resident_bytes()) {
        let grown = now.saturating_sub(then);
        // An event alone is some hundred bytes in every driver: 10,000 leaked ones would exceed this.
        assert!(grown < 1 << 20, "resident memory grew by {grown} bytes over 10,000 launches");
    }
    // Objects made by an executor outlive it, and nothing leaks.
    let kind = MemoryKind::Buffer { bytes: 256 };
    let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[0; 256])).unwrap();
    let launch = Launch {
        program: Arc::clone(&program),
        entry: "advance".to_owned(),
        arguments: vec![Argument::Memory(memory), 1i32.into(), 1i32.into()],
        range: NdRange::d1(64),
    };
    let prepared = executor.prepare_launches(&[launch.clone(), launch]).unwrap();
    executor.take_times(false);
    let submissions = [(); 10].map(|()| executor.submit_prepared(&prepared).unwrap());
    let builder = executor.builder();
    drop(executor);
    for submission in &submissions {
        submission.wait().unwrap();
    }
    let built = builder.build(&program, &["advance"]).unwrap();
    assert!(live_objects() > before);
    drop((prepared, submissions, builder, built));
    assert_eq!(live_objects(), before);
}
