//! What a launch costs, and how much of that is this crate's: `cargo bench -p tripipe-opencl --bench launch`.
//!
//! An empty kernel with 6 arguments, by the driver's bare calls and by each way of the executor; medians, in microseconds a
//! launch. `wait` is one launch and the wait for its end. `line` is the call alone, with 100 launches in line, which
//! are waited for untimed. With the stand-in driver (`TRIPIPE_OPENCL=.../libstand_in.so`), whose calls do next to
//! nothing, all is the crate's own share.
#![allow(
    unsafe_code,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark that prints its figures, with the driver's bare calls for comparison"
)]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_opencl::{CacheChoice, Context, ExecutorOptions, OpenClExecutor, devices};

const RUNS: usize = 2000;
const LINE: usize = 100;

/// A program as long as those of matrix products: its length must not matter.
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

/// The driver's own calls, through nothing of ours.
struct Bare {
    queue: *mut c_void,
    kernel: *mut c_void,
    buffers: [*mut c_void; 3],
}

impl Bare {
    fn new(context: *mut c_void, device: *mut c_void, text: &str, profiling: bool) -> Self {
        let flags = if profiling { cl3::command_queue::CL_QUEUE_PROFILING_ENABLE } else { 0 };
        #[allow(deprecated, reason = "the only call OpenCL 1.x has")]
        // SAFETY: context and device are live and belong together.
        let queue = unsafe { cl3::command_queue::create_command_queue(context, device, flags) }.unwrap();
        let program = cl3::program::create_program_with_source(context, &[text]).unwrap();
        cl3::program::build_program(program, &[device], c"", None, std::ptr::null_mut()).unwrap();
        let kernel = cl3::kernel::create_kernel(program, c"nothing").unwrap();
        let buffers = [(); 3].map(|()| {
            // SAFETY: no host memory is given.
            unsafe { cl3::memory::create_buffer(context, 1, 64, std::ptr::null_mut()) }.unwrap()
        });
        Self { queue, kernel, buffers }
    }

    fn set(&self) {
        let (m, n, s) = (1i32, 2i32, 3f32);
        // SAFETY: all sizes are those of the values.
        unsafe {
            for (index, buffer) in self.buffers.iter().enumerate() {
                let value = std::ptr::from_ref(buffer).cast();
                cl3::kernel::set_kernel_arg(self.kernel, index as u32, 8, value).unwrap();
            }
            cl3::kernel::set_kernel_arg(self.kernel, 3, 4, (&raw const m).cast()).unwrap();
            cl3::kernel::set_kernel_arg(self.kernel, 4, 4, (&raw const n).cast()).unwrap();
            cl3::kernel::set_kernel_arg(self.kernel, 5, 4, (&raw const s).cast()).unwrap();
        }
    }

    fn enqueue(&self) -> *mut c_void {
        let sizes = [64usize, 1, 1];
        let none = std::ptr::null();
        // SAFETY: all arguments were set, and the sizes live for the call.
        unsafe {
            cl3::command_queue::enqueue_nd_range_kernel(
                self.queue,
                self.kernel,
                1,
                none,
                sizes.as_ptr(),
                none,
                0,
                std::ptr::null(),
            )
        }
        .unwrap()
    }

    fn measure(&self, name: &str, set: bool) {
        let launch = || {
            if set {
                self.set();
            }
            self.enqueue()
        };
        let finish = |event| {
            cl3::event::wait_for_events(&[event]).unwrap();
            // SAFETY: this event's one reference.
            unsafe { cl3::event::release_event(event) }.unwrap();
        };
        self.set();
        let wait = median(RUNS, || {
            seconds(|| {
                let event = launch();
                cl3::command_queue::flush(self.queue).unwrap();
                finish(event);
            })
        });
        let line = median(RUNS / LINE, || {
            let mut events = Vec::with_capacity(LINE);
            let spent = seconds(|| {
                events.extend((0..LINE).map(|_| launch()));
                cl3::command_queue::flush(self.queue).unwrap();
            });
            events.into_iter().for_each(finish);
            spent
        });
        row(name, wait, line / LINE as f64);
    }
}

impl Bare {
    /// One event for 100 launches, and none where `clFinish` waits.
    fn measure_without_events(&self) {
        let runtime = cl3::load_library().as_ref().unwrap();
        let launch = || {
            self.set();
            let (none, sizes) = (std::ptr::null(), [64usize, 1, 1]);
            let (queue, kernel) = (self.queue, self.kernel);
            let code = runtime.clEnqueueNDRangeKernel(
                queue,
                kernel,
                1,
                none,
                sizes.as_ptr(),
                none,
                0,
                std::ptr::null(),
                std::ptr::null_mut(),
            );
            assert_eq!(code, Some(0));
        };
        let wait = median(RUNS, || {
            seconds(|| {
                launch();
                cl3::command_queue::finish(self.queue).unwrap();
            })
        });
        let line = median(RUNS / LINE, || {
            let spent = seconds(|| {
                (0..LINE).for_each(|_| launch());
                cl3::command_queue::flush(self.queue).unwrap();
            });
            cl3::command_queue::finish(self.queue).unwrap();
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

    let platform = cl3::platform::get_platform_ids().unwrap()[0];
    let id = cl3::device::get_device_ids(platform, cl3::device::CL_DEVICE_TYPE_ALL).unwrap()[0];
    let raw = cl3::context::create_context(&[id], std::ptr::null(), None, std::ptr::null_mut()).unwrap();
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
}
