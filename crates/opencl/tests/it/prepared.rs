//! Launches that are checked once and submitted often, and programs built beside the executor.

use std::sync::Arc;
use std::thread;

use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, Launch, MemoryId, MemoryKind, NdRange, Program,
};
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor, Program as Built};

use crate::support;

fn program(add: i32) -> Arc<Program> {
    let source = "kernel void advance(global int *all, int by) { all[get_global_id(0)] = all[get_global_id(0)] * by + ADD; }
        kernel void other(global int *all) { all[get_global_id(0)] = 0; }";
    Arc::new(Program::from_source("step.cl", source).define("ADD", add))
}

fn step(program: &Arc<Program>, memory: MemoryId, by: i32) -> Launch {
    Launch {
        program: Arc::clone(program),
        entry: "advance".to_owned(),
        arguments: vec![Argument::Memory(memory), by.into()],
        range: NdRange::d1(4),
    }
}

fn numbers(executor: &mut OpenClExecutor, initial: [i32; 4]) -> MemoryId {
    let bytes: Vec<u8> = initial.iter().flat_map(|value| value.to_ne_bytes()).collect();
    executor.allocate(&MemoryKind::Buffer { bytes: 16 }, Access::ReadWrite, Some(&bytes)).unwrap()
}

fn contents(executor: &mut OpenClExecutor, memory: MemoryId) -> Vec<i32> {
    let mut bytes = [0; 16];
    executor.read(memory, 0, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn a_prepared_list_runs_as_often_as_it_is_submitted() {
    let Some(mut executor) = support::executor() else { return };
    let program = program(1);
    let (a, b) = (numbers(&mut executor, [0, 1, 2, 3]), numbers(&mut executor, [9; 4]));
    // One kernel with three sets of arguments.
    let list = [step(&program, a, 2), step(&program, b, 0), step(&program, a, 3)];
    let prepared = executor.prepare_launches(&list).unwrap();
    assert_eq!(prepared.launches(), list);
    // Another launch of the same kernel in between does not change their arguments.
    for _ in 0..2 {
        let submission = executor.submit_prepared(&prepared).unwrap();
        executor.run(&[step(&program, b, 5)]).unwrap();
        assert_eq!(submission.timings().unwrap().len(), 3);
    }
    // x to 3 (2 x + 1) + 1 applied twice, and 1 to 6.
    let want: Vec<i32> = (0..4).map(|x| 3 * (2 * (3 * (2 * x + 1) + 1) + 1) + 1).collect();
    assert_eq!(contents(&mut executor, a), want);
    assert_eq!(contents(&mut executor, b), [6; 4]);
    // The list keeps the objects it needs alive.
    executor.release(b).unwrap();
    let last = executor.submit_prepared(&prepared).unwrap();
    drop(prepared);
    last.wait().unwrap();
    assert!(contents(&mut executor, a).iter().zip(want).all(|(found, x)| *found == 3 * (2 * x + 1) + 1));
    let nothing = executor.prepare_launches(&[]).unwrap();
    assert!(executor.submit_prepared(&nothing).unwrap().is_done());
}

/// The same, recorded where the driver can, with other contents of memory in between.
#[test]
fn a_recorded_list_sees_memory_as_it_is_at_each_replay() {
    let Some(device) = support::device() else { return };
    let options = ExecutorOptions::default().cache(CacheChoice::Off).recorded();
    let mut executor = OpenClExecutor::new(&device, &options).unwrap();
    executor.take_times(false);
    let program = program(1);
    let a = numbers(&mut executor, [0, 1, 2, 3]);
    let list = [step(&program, a, 2), step(&program, a, 3)];
    let live = tripipe_opencl::live_objects();
    let prepared = executor.prepare_launches(&list).unwrap();
    // Again before the first has ended.
    let all: Vec<_> = (0..3).map(|_| executor.submit_prepared(&prepared).unwrap()).collect();
    for submission in &all {
        submission.wait().unwrap();
    }
    let once = |x: i32| 3 * (2 * x + 1) + 1;
    let thrice: Vec<i32> = (0..4).map(|x| once(once(once(x)))).collect();
    assert_eq!(contents(&mut executor, a), thrice);
    let bytes: Vec<u8> = [5i32; 4].iter().flat_map(|value| value.to_ne_bytes()).collect();
    executor.write(a, 0, &bytes).unwrap();
    executor.submit_prepared(&prepared).unwrap().wait().unwrap();
    assert_eq!(contents(&mut executor, a), [once(5); 4]);
    // With times they are enqueued one by one.
    executor.take_times(true);
    assert_eq!(executor.submit_prepared(&prepared).unwrap().timings().unwrap().len(), 2);
    drop((prepared, all));
    executor.take_times(false);
    assert_eq!(contents(&mut executor, a), [once(once(5)); 4]);
    assert!(tripipe_opencl::live_objects() <= live + 4, "a recording was not released");
}

#[test]
fn errors_are_found_while_preparing() {
    let Some(mut executor) = support::executor() else { return };
    let memory = numbers(&mut executor, [1; 4]);
    let good = step(&program(1), memory, 2);
    let bad = Launch { arguments: vec![Argument::Memory(memory), 2u32.into()], ..good.clone() };
    let error = executor.prepare_launches(&[good.clone(), bad]).unwrap_err();
    assert!(matches!(error, ExecuteError::Argument { index: 1, .. }), "{error}");
    let bad = Launch { range: NdRange::d1(0), ..good.clone() };
    assert!(matches!(executor.prepare_launches(&[bad]), Err(ExecuteError::Range { .. })));
    let bad = Launch { entry: "none".to_owned(), ..good.clone() };
    assert!(matches!(executor.prepare_launches(&[bad]), Err(ExecuteError::NoSuchKernel { .. })));
    assert_eq!(contents(&mut executor, memory), [1; 4]);

    let prepared = executor.prepare_launches(&[good]).unwrap();
    let mut other = support::executor().unwrap();
    numbers(&mut other, [1; 4]);
    let error = other.submit_prepared(&prepared).map(drop).unwrap_err();
    assert!(error.to_string().contains("another executor"), "{error}");
}

#[test]
fn only_equal_programs_are_shared() {
    let Some(mut executor) = support::executor() else { return };
    let memory = numbers(&mut executor, [1; 4]);
    // New programs each time: an address is meaningless once its program is dropped.
    for add in 0..40 {
        executor.run(&[step(&program(add % 3), memory, 0)]).unwrap();
        assert_eq!(contents(&mut executor, memory), [add % 3; 4]);
    }
    assert!((0..3).all(|add| executor.has_built(&program(add))) && !executor.has_built(&program(3)));
}

#[test]
fn programs_are_built_while_the_executor_works() {
    let Some(mut executor) = support::executor() else { return };
    let builder = executor.builder();
    let workers: Vec<_> = (0..4)
        .map(|add| {
            let builder = builder.clone();
            thread::spawn(move || builder.build(&program(add), &["advance"]).unwrap())
        })
        .collect();
    let memory = numbers(&mut executor, [1; 4]);
    for _ in 0..50 {
        executor.run(&[step(&program(100), memory, 1)]).unwrap();
    }
    assert_eq!(contents(&mut executor, memory), [5001; 4]);
    for (add, worker) in (0..).zip(workers) {
        assert!(!executor.has_built(&program(add)));
        executor.adopt(worker.join().unwrap()).unwrap();
        assert!(executor.has_built(&program(add)));
        executor.run(&[step(&program(add), memory, 0)]).unwrap();
        assert_eq!(contents(&mut executor, memory), [add; 4]);
    }
    // The executor's own program stays, and a kernel that was not requested is made on first use.
    executor.adopt(builder.build(&program(0), &[]).unwrap()).unwrap();
    let other = Launch {
        entry: "other".to_owned(),
        arguments: vec![Argument::Memory(memory)],
        ..step(&program(0), memory, 0)
    };
    executor.run(&[other]).unwrap();
    assert_eq!(contents(&mut executor, memory), [0; 4]);

    assert!(matches!(builder.build(&program(0), &["none"]), Err(ExecuteError::NoSuchKernel { .. })));
    let broken = Arc::new(Program::from_source("broken.cl", "kernel void advance( {"));
    assert!(matches!(builder.build(&broken, &[]), Err(ExecuteError::Build { .. })));
    let mut elsewhere = support::executor().unwrap();
    let error = elsewhere.adopt(builder.build(&program(0), &[]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("another context"), "{error}");
}

#[test]
fn builders_go_to_other_threads() {
    fn goes<T: Send + Sync + Clone + 'static>() {}
    fn moves<T: Send + 'static>() {}
    goes::<tripipe_opencl::Builder>();
    goes::<Built>();
    moves::<tripipe_opencl::BuiltProgram>();
    moves::<tripipe_launch::Prepared>();
    moves::<OpenClExecutor>();
}
