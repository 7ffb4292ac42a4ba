//! The cost of a launch, and this crate's share of it: `cargo bench -p tripipe-opencl --bench launch`.
//!
//! An empty kernel with 6 arguments, launched with bare driver calls and through each function of the executor;
//! medians, in microseconds per launch. `wait` is one launch and the wait for its end. `line` is the call alone, with
//! 100 launches enqueued, which are waited for untimed. With the stand-in driver
//! (`TRIPIPE_OPENCL=.../libstand_in.so`), whose calls do almost nothing, the whole time is the crate's share.
#![allow(
    unsafe_code,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark that prints its figures, with the driver's bare calls for comparison"
)]

#[macro_use]
#[path = "../tests/it/support/raw.rs"]
mod raw;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Instant;

use opencl_sys::cl_function_types::{
    clEnqueueNDRangeKernel_t, clFinish_t, clFlush_t, clReleaseEvent_t, clSetKernelArg_t, clWaitForEvents_t,
};
use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_opencl::{CacheChoice, Context, ExecutorOptions, OpenClExecutor, devices};

const RUNS: usize = 2000;
const LINE: usize = 100;

/// A program as long as those of matrix products: its length must not affect the time.
fn source() -> String {
    let filler =
        "// A line of about eighty characters, of which real programs have hundreds, too.\n".repeat(500);
    format!(
        "{filler}kernel void nothing(global float *a, global float *b, global float *c, int m, int n, float s) {{}}"
    )
}

/// Microseconds of the median run.
fn median(runs: usize, mut run: impl FnMut() -> f64) -> f64 {
    for _ in 0..runs / 10 {
        run();
    }
    let mut seconds: Vec<f64> = (0..runs).map(|_| run()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[runs / 2] * 1e6
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn row(name: &str, wait: f64, line: f64) {
    println!("{name:<44} {wait:8.2} {line:8.2}");
}

/// The driver's own calls, without this crate.
struct Bare {
    queue: *mut c_void,
    kernel: *mut c_void,
    buffers: [*mut c_void; 3],
    calls: Calls,
}

/// The functions, looked up once.
struct Calls {
    set_argument: clSetKernelArg_t,
    enqueue: clEnqueueNDRangeKernel_t,
    flush: clFlush_t,
    finish: clFinish_t,
    wait: clWaitForEvents_t,
    release_event: clReleaseEvent_t,
}

impl Bare {
    fn new(context: *mut c_void, device: *mut c_void, text: &str, profiling: bool) -> Self {
        let queue = raw::queue(context, device, profiling);
        let mut code = 0;
        let (mut start, length) = (text.as_ptr().cast(), text.len());
        let create = raw!(clCreateProgramWithSource_t, b"clCreateProgramWithSource\0");
        // SAFETY: a list of one text with its length.
        let program = unsafe { create(context, 1, &raw mut start, &raw const length, &raw mut code) };
        let build = raw!(clBuildProgram_t, b"clBuildProgram\0");
        // SAFETY: a list of one device; no options, no callback.
        let built = unsafe { build(program, 1, &raw const device, c"".as_ptr(), None, null_mut()) };
        assert_eq!((code, built), (0, 0));
        let create = raw!(clCreateKernel_t, b"clCreateKernel\0");
        // SAFETY: the program is live, and the name ends with NUL.
        let kernel = unsafe { create(program, c"nothing".as_ptr(), &raw mut code) };
        assert_eq!(code, 0);
        let buffers = [(); 3].map(|()| raw::buffer(context, opencl_sys::CL_MEM_READ_WRITE, &mut [0u8; 64]));
        let calls = Calls {
            set_argument: Some(raw!(clSetKernelArg_t, b"clSetKernelArg\0")),
            enqueue: Some(raw!(clEnqueueNDRangeKernel_t, b"clEnqueueNDRangeKernel\0")),
            flush: Some(raw!(clFlush_t, b"clFlush\0")),
            finish: Some(raw!(clFinish_t, b"clFinish\0")),
            wait: Some(raw!(clWaitForEvents_t, b"clWaitForEvents\0")),
            release_event: Some(raw!(clReleaseEvent_t, b"clReleaseEvent\0")),
        };
        Self { queue, kernel, buffers, calls }
    }

    fn set_argument<T>(&self, index: u32, value: &T) {
        let value = std::ptr::from_ref(value).cast();
        // SAFETY: the size is that of the value, which lives for the call.
        let code = unsafe { self.calls.set_argument.unwrap()(self.kernel, index, size_of::<T>(), value) };
        assert_eq!(code, 0);
    }

    fn set(&self) {
        for (index, buffer) in self.buffers.iter().enumerate() {
            self.set_argument(index as u32, buffer);
        }
        self.set_argument(3, &1i32);
        self.set_argument(4, &2i32);
        self.set_argument(5, &3f32);
    }

    fn enqueue(&self, event: *mut *mut c_void) {
        let sizes = [64usize, 1, 1];
        let (queue, kernel) = (self.queue, self.kernel);
        let enqueue = self.calls.enqueue.unwrap();
        // SAFETY: all arguments were set, and the sizes live for the call.
        let code = unsafe { enqueue(queue, kernel, 1, null(), sizes.as_ptr(), null(), 0, null(), event) };
        assert_eq!(code, 0);
    }

    fn flush(&self) {
        // SAFETY: the queue is live.
        assert_eq!(unsafe { self.calls.flush.unwrap()(self.queue) }, 0);
    }

    fn finish(&self) {
        // SAFETY: as above.
        assert_eq!(unsafe { self.calls.finish.unwrap()(self.queue) }, 0);
    }

    fn measure(&self, name: &str, set: bool) {
        let launch = || {
            if set {
                self.set();
            }
            let mut event = null_mut();
            self.enqueue(&raw mut event);
            event
        };
        let finish = |event: *mut c_void| {
            // SAFETY: a list of one event, whose only reference is released.
            unsafe {
                assert_eq!(self.calls.wait.unwrap()(1, &raw const event), 0);
                assert_eq!(self.calls.release_event.unwrap()(event), 0);
            }
        };
        self.set();
        let wait = median(RUNS, || {
            seconds(|| {
                let event = launch();
                self.flush();
                finish(event);
            })
        });
        let line = median(RUNS / LINE, || {
            let mut events = Vec::with_capacity(LINE);
            let spent = seconds(|| {
                events.extend((0..LINE).map(|_| launch()));
                self.flush();
            });
            events.into_iter().for_each(finish);
            spent
        });
        row(name, wait, line / LINE as f64);
    }
}

impl Bare {
    /// One event for 100 launches, and no event if `clFinish` waits.
    fn measure_without_events(&self) {
        let launch = || {
            self.set();
            self.enqueue(null_mut());
        };
        let wait = median(RUNS, || {
            seconds(|| {
                launch();
                self.finish();
            })
        });
        let line = median(RUNS / LINE, || {
            let spent = seconds(|| {
                (0..LINE).for_each(|_| launch());
                self.flush();
            });
            self.finish();
            spent
        });
        row("driver alone, no events", wait, line / LINE as f64);
    }
}

fn main() {
    let device = match devices() {
        Ok(mut devices) => devices.remove(0),
        Err(error) => {
            println!("skipped: no OpenCL device: {error}");
            return;
        }
    };
    let probe = device.probe();
    println!("{} ({}), driver {}", probe.name, probe.platform, probe.driver);
    println!("{:<44} {:>8} {:>8}", "us a launch", "wait", "line");

    let id = raw::first_device();
    let raw = raw::context(id);
    let text = source();
    Bare::new(raw, id, &text, false).measure("driver alone", true);
    Bare::new(raw, id, &text, false).measure("driver alone, arguments set once", false);
    Bare::new(raw, id, &text, true).measure("driver alone, profiling queue", true);
    Bare::new(raw, id, &text, false).measure_without_events();

    // SAFETY: both are live.
    let context = unsafe { Context::over(raw, id) }.unwrap();
    let options = ExecutorOptions::default().cache(CacheChoice::Off);
    let mut executor = OpenClExecutor::over(&context, &options).unwrap();
    let kind = MemoryKind::Buffer { bytes: 64 };
    let [a, b, c] =
        [(); 3].map(|()| Argument::Memory(executor.allocate(&kind, Access::ReadWrite, None).unwrap()));
    let launch = Launch {
        program: Arc::new(Program::from_source("nothing.cl", text)),
        entry: "nothing".to_owned(),
        arguments: vec![a, b, c, 1i32.into(), 2i32.into(), 3f32.into()],
        range: NdRange::d1(64),
    };
    let one = std::slice::from_ref(&launch);
    let many = vec![launch.clone(); LINE];

    let wait = median(RUNS, || seconds(|| drop(executor.run(one).unwrap())));
    let line = median(RUNS / LINE, || seconds(|| drop(executor.run(&many).unwrap())));
    row("run, with times (line: with the wait)", wait, line / LINE as f64);

    for times in [true, false] {
        executor.take_times(times);
        let named = |name: &str| if times { name.to_owned() } else { format!("{name}, no times") };
        let wait = median(RUNS, || seconds(|| executor.submit(one).unwrap().wait().unwrap()));
        let line = median(RUNS / LINE, || {
            let mut submission = None;
            let spent = seconds(|| submission = Some(executor.submit(&many).unwrap()));
            submission.unwrap().wait().unwrap();
            spent
        });
        row(&named("submit"), wait, line / LINE as f64);

        let prepared = executor.prepare_launches(one).unwrap();
        let wait = median(RUNS, || seconds(|| executor.submit_prepared(&prepared).unwrap().wait().unwrap()));
        let prepared = executor.prepare_launches(&many).unwrap();
        let line = median(RUNS / LINE, || {
            let mut submission = None;
            let spent = seconds(|| submission = Some(executor.submit_prepared(&prepared).unwrap()));
            submission.unwrap().wait().unwrap();
            spent
        });
        row(&named("submit_prepared"), wait, line / LINE as f64);
    }

    let options = ExecutorOptions::default().cache(CacheChoice::Off).recorded();
    let mut executor = OpenClExecutor::over(&context, &options).unwrap();
    executor.take_times(false);
    let memory = [(); 3].map(|()| executor.allocate(&kind, Access::ReadWrite, None).unwrap());
    let mut own = launch.clone();
    for (argument, memory) in own.arguments.iter_mut().zip(memory) {
        *argument = Argument::Memory(memory);
    }
    let prepared = executor.prepare_launches(std::slice::from_ref(&own)).unwrap();
    let wait = median(RUNS, || seconds(|| executor.submit_prepared(&prepared).unwrap().wait().unwrap()));
    let prepared = executor.prepare_launches(&vec![own; LINE]).unwrap();
    let line = median(RUNS / LINE, || {
        let mut submission = None;
        let spent = seconds(|| submission = Some(executor.submit_prepared(&prepared).unwrap()));
        submission.unwrap().wait().unwrap();
        spent
    });
    row("submit_prepared, recorded", wait, line / LINE as f64);
}
