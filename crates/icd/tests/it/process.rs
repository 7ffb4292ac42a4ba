//! Processes: a fork, two contexts on several threads, and an end with work left.

use std::ptr::{null, null_mut};

use opencl_sys as cl;

use crate::support::{Application, again, application};

unsafe extern "C" {
    fn fork() -> i32;
    fn exit(code: i32) -> !;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
}

/// Whether a context computes what it should.
fn works(app: &Application) -> bool {
    let kernel = app.kernel("kernel void k(global int *p) { p[get_global_id(0)] += 41; }", "k");
    let buffer = app.buffer(0, &[1i32; 64]);
    app.set(kernel, 0, &buffer);
    app.run(kernel, 64);
    app.read::<i32>(buffer, 64) == [42; 64]
}

#[test]
fn a_fork_makes_its_own_context_and_ends() {
    // Alone, as a fork has none of the other tests' threads.
    if again::<&str>("process::a_fork_makes_its_own_context_and_ends", &[]).is_some() {
        return;
    }
    let app = application(0);
    assert!(works(&app));
    // SAFETY: the child calls the driver alone, and ends.
    let child = unsafe { fork() };
    if child == 0 {
        // The parent's context has no thread here.
        let marker = cl!(clEnqueueMarkerWithWaitList(app.queue, 0, null(), null_mut()));
        let own = works(&application(0));
        let code = i32::from(marker != cl::CL_OUT_OF_RESOURCES || !own);
        // SAFETY: functions that the process registered run as at every end.
        unsafe { exit(code) };
    }
    let mut status = -1;
    // SAFETY: the child is this process' own.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(works(&app));

    // Two contexts, used by two threads each.
    let contexts: Vec<(usize, usize, usize)> = (0..2)
        .map(|_| application(0))
        .map(|app| (app.device as usize, app.context as usize, app.queue as usize))
        .collect();
    let threads: Vec<_> = [0, 1, 0, 1]
        .map(|index| {
            let (device, context, queue) = contexts[index];
            std::thread::spawn(move || {
                works(&Application { device: device as _, context: context as _, queue: queue as _ })
            })
        })
        .into_iter()
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));

    // The process ends while a command waits for an event that nobody completes.
    let gate = made!(clCreateUserEvent(app.context));
    let queued = cl!(clEnqueueMarkerWithWaitList(app.queue, 1, &raw const gate, null_mut()));
    assert_eq!(queued, cl::CL_SUCCESS);
}
