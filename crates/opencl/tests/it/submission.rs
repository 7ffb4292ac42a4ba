//! Submitted launches: waiting, times, completion callbacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tripipe_launch::{
    Access, Argument, Block, ExecuteError, Executor, Launch, MemoryId, MemoryKind, NdRange, Program,
    Submission,
};
use tripipe_opencl::OpenClExecutor;

use crate::support;

const LEN: usize = 1 << 12;

/// Adds 1 to each of `LEN` numbers, `rounds` times; many rounds take a while.
fn busy(executor: &mut OpenClExecutor, rounds: i32) -> (MemoryId, Launch) {
    let source = "kernel void count(global volatile int *all, int rounds) {
        for (int i = 0; i < rounds; ++i) all[get_global_id(0)] += 1;
    }";
    let kind = MemoryKind::Buffer { bytes: 4 * LEN };
    let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[0; 4 * LEN])).unwrap();
    let launch = Launch {
        program: Arc::new(Program::from_source("count.cl", source)),
        entry: "count".to_owned(),
        arguments: vec![Argument::Memory(memory), rounds.into()],
        range: NdRange::d1(LEN),
    };
    (memory, launch)
}

fn first(executor: &mut OpenClExecutor, memory: MemoryId) -> i32 {
    let mut bytes = [0; 4];
    executor.read(memory, 0, &mut bytes).unwrap();
    i32::from_ne_bytes(bytes)
}

#[test]
fn completion_is_reported_once() {
    let Some(mut executor) = support::executor() else { return };
    let (memory, launch) = busy(&mut executor, 10_000);
    let calls = Arc::new(AtomicUsize::new(0));
    let (tell, told) = channel();
    let submission: Arc<dyn Submission> = Arc::from(executor.submit(&[launch.clone(), launch]).unwrap());
    let ask = |tell: &Sender<bool>| {
        let (calls, tell, asked) = (Arc::clone(&calls), tell.clone(), Arc::clone(&submission));
        submission.on_done(Box::new(move || {
            calls.fetch_add(1, Ordering::SeqCst);
            tell.send(asked.is_done()).unwrap();
        }));
    };
    // While it runs, and after it has ended; `is_done` is true by then.
    ask(&tell);
    assert_eq!(told.recv_timeout(Duration::from_secs(900)), Ok(true));
    ask(&tell);
    assert_eq!(told.recv_timeout(Duration::from_secs(900)), Ok(true));
    submission.wait().unwrap();
    assert_eq!(submission.timings().unwrap().len(), 2);
    assert_eq!(first(&mut executor, memory), 20_000);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn empty_submissions_complete_at_once_and_dropped_ones_still_run() {
    let Some(mut executor) = support::executor() else { return };
    let (tell, told) = channel();
    let again = tell.clone();
    let nothing = executor.submit(&[]).unwrap();
    nothing.on_done(Box::new(move || tell.send(()).unwrap()));
    assert_eq!(told.try_recv(), Ok(()));
    assert!(nothing.is_done() && nothing.timings().unwrap().is_empty());

    let (memory, launch) = busy(&mut executor, 1000);
    let submission = executor.submit(&[launch]).unwrap();
    submission.on_done(Box::new(move || again.send(()).unwrap()));
    drop(submission);
    told.recv_timeout(Duration::from_secs(900)).unwrap();
    assert_eq!(first(&mut executor, memory), 1000);
}

#[test]
fn no_times_are_taken_where_none_are_wanted() {
    let Some(mut executor) = support::executor() else { return };
    let source = "kernel void next(global int *all, int by) { all[0] = all[0] * by + 1; }";
    let kind = MemoryKind::Buffer { bytes: 4 };
    let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[0; 4])).unwrap();
    let program = Arc::new(Program::from_source("next.cl", source));
    let next = |by: i32| Launch {
        program: Arc::clone(&program),
        entry: "next".to_owned(),
        arguments: vec![Argument::Memory(memory), by.into()],
        range: NdRange::d1(1),
    };
    let prepared = executor.prepare_launches(&[next(3), next(5)]).unwrap();
    let timed = executor.submit_prepared(&prepared).unwrap();
    executor.take_times(false);
    // Each runs after the one before, timed or not.
    let untimed = executor.submit(&[next(2), next(7)]).unwrap();
    assert_eq!(executor.run(&[next(11), next(2)]).unwrap().len(), 2);
    let last = executor.submit_prepared(&prepared).unwrap();
    let (tell, told) = channel();
    last.on_done(Box::new(move || tell.send(()).unwrap()));
    told.recv_timeout(Duration::from_secs(900)).unwrap();
    let want = [3, 5, 2, 7, 11, 2, 3, 5].iter().fold(0, |value, by| value * by + 1);
    assert_eq!(first(&mut executor, memory), want);
    assert_eq!(timed.timings().unwrap().len(), 2);
    for submission in [untimed, last] {
        assert!(submission.is_done());
        submission.wait().unwrap();
        let error = submission.timings().unwrap_err();
        assert!(matches!(error, ExecuteError::NotOffered { .. }), "{error}");
    }
    executor.take_times(true);
    assert_eq!(executor.submit(&[next(1)]).unwrap().timings().unwrap().len(), 1);
}

#[test]
fn a_panicking_callback_does_not_affect_the_submission() {
    let Some(mut executor) = support::executor() else { return };
    let (memory, launch) = busy(&mut executor, 1);
    let submission = executor.submit(&[launch]).unwrap();
    submission.on_done(Box::new(|| panic!("on purpose")));
    submission.wait().unwrap();
    assert_eq!(first(&mut executor, memory), 1);
}

/// Transfers run in order with launches: each reads or overwrites the contents at that point. A dropped transfer is
/// freed when it has ended.
#[test]
fn transfers_are_in_line() {
    let Some(mut executor) = support::executor() else { return };
    let (memory, launch) = busy(&mut executor, 20_000);
    let block = |value: i32| Block::new(vec![value; LEN]);
    let mut readings = Vec::new();
    for round in 1..=3 {
        drop(executor.submit(std::slice::from_ref(&launch)).unwrap());
        readings.push((executor.enqueue_read(memory, 0, block(-1)).unwrap(), round * 20_000));
    }
    drop(executor.enqueue_read(memory, 0, block(-1)).unwrap());
    let written = executor.enqueue_write(memory, 0, block(5)).unwrap();
    drop(executor.enqueue_write(memory, 4, Block::new(vec![6i32; LEN - 1])).unwrap());
    drop(executor.submit(std::slice::from_ref(&launch)).unwrap());
    let last = executor.enqueue_read(memory, 0, Block::new(vec![0i32; 2])).unwrap();
    executor.release(memory).unwrap();
    let (tell, told) = channel();
    last.on_done(Box::new(move || tell.send(()).unwrap()));
    for (reading, want) in readings {
        // Incomplete contents are not visible.
        let early = reading.take();
        assert!(early.is_none() || reading.is_done());
        reading.wait().unwrap();
        let found: Vec<i32> = early.or_else(|| reading.take()).and_then(Block::into_vec).unwrap();
        assert!(found.len() == LEN && found.iter().all(|value| *value == want), "{} {want}", found[0]);
        assert!(reading.take().is_none());
        assert_eq!(reading.timings().unwrap().len(), 1);
    }
    written.wait().unwrap();
    assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(()));
    last.wait().unwrap();
    assert_eq!(last.take().and_then(Block::into_vec), Some(vec![20_005, 20_006]));
    assert!(executor.enqueue_read(memory, 0, block(0)).is_err());
    let (memory, _) = busy(&mut executor, 1);
    assert!(executor.enqueue_read(memory, 4, block(0)).is_err());
    assert!(executor.enqueue_write(memory, 4, block(0)).is_err());
    let none = executor.enqueue_read(memory, 4 * LEN, Block::new(Vec::<u8>::new())).unwrap();
    assert!(none.is_done() && none.take().is_some());
}
