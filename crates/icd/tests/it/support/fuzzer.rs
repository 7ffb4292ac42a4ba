//! Random calls of the API: random functions with handles of all types, released, forged or NULL, with NULL for pointers
//! and with wrong sizes, on several threads.
//!
//! Tests of other crates include this file by its path. Calls go through [`crate::cl`].

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fastrand::Rng;
use opencl_sys as cl;

use crate::cl;
use crate::support::platform;

/// Bytes of the application that commands read and write; nothing depends on what they are.
const ARENA: usize = 1 << 20;

/// What programs are made of: 256 numbers of a buffer are enough for its launches.
const KERNEL: &str = "kernel void k(global int *p) { p[get_global_id(0) & 255] += 1; }";

/// What is called, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FuzzOptions {
    /// Calls of each thread.
    pub(crate) steps: u64,
    /// Ends the run earlier.
    pub(crate) seconds: Option<u64>,
    /// Whether there are events that the application completes.
    pub(crate) user_events: bool,
    /// Other seeds give other calls.
    pub(crate) seed: u64,
    /// Whether answers have less space than calls say: an error that a sanitizer has to see.
    pub(crate) lies: bool,
}

impl FuzzOptions {
    /// `steps` calls, or calls for `TRIPIPE_FUZZ_SECONDS` seconds, if that is set. `TRIPIPE_FUZZ_SEED` gives
    /// other calls. `TRIPIPE_FUZZ_LIES=1` plants an error, to see that a sanitizer is at work.
    pub(crate) fn new(steps: u64) -> Self {
        let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
        let seconds = number("TRIPIPE_FUZZ_SECONDS");
        let steps = if seconds.is_some() { u64::MAX } else { steps };
        let lies = number("TRIPIPE_FUZZ_LIES") == Some(1);
        Self { steps, seconds, user_events: true, seed: number("TRIPIPE_FUZZ_SEED").unwrap_or(0), lies }
    }
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fuzzed {
    /// Calls of the API.
    pub(crate) calls: u64,
    /// Of these, calls that succeeded.
    pub(crate) succeeded: u64,
    /// Launches with valid objects that succeeded.
    pub(crate) launches: u64,
    /// Seconds of processor time of the process; `None` if the system does not tell.
    pub(crate) processor_seconds: Option<f64>,
}

/// Seconds of processor time of this process: fields 14 and 15 of Linux' `stat`, in hundredths.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    let ticks: Vec<f64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    Some(ticks.iter().sum::<f64>() / 100.0)
}

/// Calls random functions on four threads.
pub(crate) fn fuzz(options: FuzzOptions) -> Fuzzed {
    let start = Instant::now();
    let mut device = null_mut();
    cl!(clGetDeviceIDs(platform(), cl::CL_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut()));
    let handles = Mutex::new(vec![platform() as usize, device as usize]);
    let device = device as usize;
    let done: Vec<[u64; 3]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let handles = &handles;
                scope.spawn(move || Fuzzer::new(options, thread, handles).run(device as *mut c_void, start))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    Fuzzed {
        calls: done.iter().map(|[calls, ..]| calls).sum(),
        succeeded: done.iter().map(|[_, succeeded, _]| succeeded).sum(),
        launches: done.iter().map(|[.., launches]| launches).sum(),
        processor_seconds: processor_seconds(),
    }
}

struct Fuzzer<'a> {
    options: FuzzOptions,
    rng: Rng,
    /// Handles of all threads, also of objects that are gone.
    handles: &'a Mutex<Vec<usize>>,
    arena: usize,
    /// Shared virtual memory of this thread.
    shared: Vec<usize>,
    /// The codes that calls returned, to see that some succeed.
    succeeded: u64,
    launches: u64,
}

impl<'a> Fuzzer<'a> {
    fn new(options: FuzzOptions, thread: u64, handles: &'a Mutex<Vec<usize>>) -> Self {
        // Commands may use it until the process ends.
        let arena = Box::leak(vec![0u64; ARENA / 8].into_boxed_slice()).as_mut_ptr() as usize;
        let rng = Rng::with_seed(options.seed.wrapping_mul(4) + thread);
        Self { options, rng, handles, arena, shared: Vec::new(), succeeded: 0, launches: 0 }
    }

    /// All calls of a thread: their number, how many succeeded, and launches with valid objects.
    fn run(mut self, device: *mut c_void, start: Instant) -> [u64; 3] {
        let until = start + Duration::from_secs(self.options.seconds.unwrap_or(3600));
        let mut step = 0;
        while step < self.options.steps && (step % 64 != 0 || Instant::now() < until) {
            if step % 200 == 0 {
                // There is always something to work with.
                let context =
                    cl!(clCreateContext(null(), 1, &raw const device, None, null_mut(), null_mut()));
                self.keep(context);
                let queue = cl!(clCreateCommandQueue(context, device, step / 200 % 4, null_mut()));
                self.keep(queue);
                let mut buffer = null_mut();
                for _ in 0..3 {
                    buffer = cl!(clCreateBuffer(context, 0, 1024, null_mut(), null_mut()));
                    self.keep(buffer);
                }
                self.launch(context, queue, buffer, KERNEL);
            }
            if step % 100_000 == 0 && self.options.seconds.is_some() {
                eprintln!("{step} calls of a thread, {:?} s of processor time", processor_seconds());
            }
            self.step(KERNEL);
            step += 1;
        }
        [step, self.succeeded, self.launches]
    }

    /// A launch that succeeds, unless another thread is faster with one of the objects. Its kernel keeps its argument for
    /// random launches.
    fn launch(&mut self, context: *mut c_void, queue: *mut c_void, buffer: *mut c_void, kernels: &str) {
        let (mut text, length) = (kernels.as_ptr().cast(), kernels.len());
        let program =
            cl!(clCreateProgramWithSource(context, 1, &raw mut text, &raw const length, null_mut()));
        self.keep(program);
        let built = cl!(clBuildProgram(program, 0, null(), null(), None, null_mut()));
        let kernel = cl!(clCreateKernel(program, c"k".as_ptr(), null_mut()));
        self.keep(kernel);
        let set = cl!(clSetKernelArg(kernel, 0, size_of_val(&buffer), (&raw const buffer).cast()));
        let global = self.rng.usize(1..=256);
        let (mut event, none) = (null_mut(), null());
        let ran = cl!(clEnqueueNDRangeKernel(
            queue,
            kernel,
            1,
            none,
            &raw const global,
            none,
            0,
            null(),
            &raw mut event
        ));
        self.keep(event);
        self.launches += u64::from([built, set, ran] == [0; 3]);
        // Handles of this launch are among those that are chosen most often.
        for handle in [context, queue, buffer, program, kernel] {
            self.handles.lock().unwrap().push(handle as usize);
        }
    }

    fn handle(&mut self) -> *mut c_void {
        let handles = self.handles.lock().unwrap();
        let handle = match self.rng.u32(..20) {
            0 => 0,
            1 => self.rng.usize(..),
            // Inside of a handle.
            2 => handles[self.rng.usize(..handles.len())].wrapping_add(self.rng.usize(..64)),
            _ => {
                let recent = handles.len().min(40);
                handles[handles.len() - 1 - self.rng.usize(..recent)]
            }
        };
        handle as *mut c_void
    }

    fn keep(&mut self, handle: *mut c_void) {
        if !handle.is_null() {
            self.succeeded += 1;
            self.handles.lock().unwrap().push(handle as usize);
        }
    }

    fn size(&mut self) -> usize {
        match self.rng.u32(..8) {
            0 => 0,
            1 => usize::MAX,
            2 => self.rng.usize(..),
            _ => self.rng.usize(..256) * 4,
        }
    }

    /// A size that the arena has.
    fn small(&mut self) -> usize {
        self.rng.usize(..512)
    }

    fn bits(&mut self) -> u64 {
        if self.rng.bool() { 1 << self.rng.u32(..13) } else { 0 }
    }

    fn three(&mut self) -> [usize; 3] {
        std::array::from_fn(|_| self.rng.usize(..9))
    }

    /// The arena; at times NULL.
    fn data(&mut self) -> *mut c_void {
        if self.rng.u8(..32) == 0 { null_mut() } else { self.arena as *mut c_void }
    }

    /// A pointer to sizes; at times NULL.
    fn or_null(&mut self, sizes: &[usize; 3]) -> *const usize {
        if self.rng.u8(..32) == 0 { null() } else { sizes.as_ptr() }
    }

    /// One call.
    fn step(&mut self, kernels: &str) {
        let (h, g) = (self.handle(), self.handle());
        let (mut event, none) = (null_mut(), null());
        let waits = self.handle();
        let (count, list) = match self.rng.u8(..16) {
            0..4 => (1, &raw const waits),
            4 => (1, none),
            5 => (0, &raw const waits),
            _ => (0, none),
        };
        let place = if self.rng.bool() { &raw mut event } else { null_mut() };
        let (a, b, c) = (self.three(), self.three(), self.three());
        let (pa, pb, pc) = (self.or_null(&a), self.or_null(&b), self.or_null(&c));
        let (small, other, size, bits) = (self.small(), self.small(), self.size(), self.bits());
        let query = self.rng.u32(0x1000..0x1300);
        let (room, mut got) = (self.rng.usize(..300), 0);
        // No longer than it says, so that a sanitizer sees what is written behind it.
        let mut space = vec![0u8; if self.options.lies { room / 2 } else { room }];
        let answer = if self.rng.u8(..32) == 0 { null_mut() } else { space.as_mut_ptr().cast() };
        let data = self.data();
        if self.rng.u8(..4) == 0 {
            return self.other_step();
        }
        let code = match self.rng.u32(..48) {
            0 => {
                let made = cl!(clCreateContext(null(), 1, &raw const g, None, null_mut(), null_mut()));
                self.keep(made);
                0
            }
            1 => {
                let made = cl!(clCreateCommandQueue(h, g, bits & 3, null_mut()));
                self.keep(made);
                0
            }
            2 | 3 => {
                let host = if bits & (cl::CL_MEM_USE_HOST_PTR | cl::CL_MEM_COPY_HOST_PTR) != 0 {
                    data
                } else {
                    null_mut()
                };
                let size = if host.is_null() { size } else { small };
                let made = cl!(clCreateBuffer(h, bits, size, host, null_mut()));
                self.keep(made);
                0
            }
            4 => {
                let region = cl::cl_buffer_region { origin: small & !127, size: other };
                let made = cl!(clCreateSubBuffer(h, bits, 0x1220, (&raw const region).cast(), null_mut()));
                self.keep(made);
                0
            }
            5 => {
                let format = cl::cl_image_format {
                    image_channel_order: self.rng.u32(0x10AF..0x10C5),
                    image_channel_data_type: self.rng.u32(0x10CF..0x10E2),
                };
                let desc = cl::cl_image_desc {
                    image_type: self.rng.u32(0x10EF..0x10F9),
                    image_width: a[0],
                    image_height: a[1],
                    image_depth: a[2],
                    image_array_size: b[0],
                    image_row_pitch: if self.rng.bool() { 0 } else { small },
                    image_slice_pitch: 0,
                    num_mip_levels: 0,
                    num_samples: 0,
                    buffer: if self.rng.u8(..3) == 0 { g } else { null_mut() },
                };
                let host = if self.rng.u8(..4) == 0 { data } else { null_mut() };
                let made = cl!(clCreateImage(h, bits, &raw const format, &raw const desc, host, null_mut()));
                self.keep(made);
                0
            }
            6 => {
                let made = cl!(clCreateSampler(h, a[0] as u32, query, 0x1140 + b[0] as u32, null_mut()));
                self.keep(made);
                0
            }
            7 if !self.options.user_events => cl!(clFlush(h)),
            7 => {
                let made = cl!(clCreateUserEvent(h, null_mut()));
                self.keep(made);
                0
            }
            8 => {
                let (mut text, length) = (kernels.as_ptr().cast(), kernels.len());
                let made = cl!(clCreateProgramWithSource(h, 1, &raw mut text, &raw const length, null_mut()));
                self.keep(made);
                0
            }
            9 => cl!(clBuildProgram(h, 0, null(), null(), None, null_mut())),
            10 => {
                let made = cl!(clCreateKernel(h, if size == 0 { null() } else { c"k".as_ptr() }, null_mut()));
                self.keep(made);
                0
            }
            11 => cl!(clSetKernelArg(h, a[0] as u32, 8, (&raw const g).cast())),
            12 => cl!(clSetKernelArg(h, 0, size_of_val(&g), (&raw const g).cast())),
            13 => cl!(clSetKernelArg(h, a[0] as u32, size, if self.rng.bool() { data } else { null_mut() })),
            14 | 15 => {
                let local = if self.rng.bool() { pb } else { null() };
                cl!(clEnqueueNDRangeKernel(h, g, c[0] as u32 & 3, null(), pa, local, count, list, place))
            }
            16 => cl!(clEnqueueReadBuffer(h, g, 0, other, small, data, count, list, place)),
            17 => cl!(clEnqueueWriteBuffer(h, g, 0, other, small, data, count, list, place)),
            18 => cl!(clEnqueueReadBufferRect(
                h, g, 0, pa, pb, pc, small, 0, other, 0, data, count, list, place
            )),
            19 => cl!(clEnqueueCopyBuffer(h, g, waits, small, other, size, count, list, place)),
            20 => cl!(clEnqueueCopyBufferRect(
                h, g, waits, pa, pb, pc, small, size, other, 0, count, list, place
            )),
            21 => cl!(clEnqueueFillBuffer(h, g, data, a[0], other, size, count, list, place)),
            22 => {
                cl!(clEnqueueReadImage(h, g, 0, pa, pb, small, 0, data, count, list, place))
            }
            23 => {
                cl!(clEnqueueWriteImage(h, g, 0, pa, pb, small, 0, data, count, list, place))
            }
            24 => {
                cl!(clEnqueueCopyImage(h, g, waits, pa, pb, pc, count, list, place))
            }
            25 => cl!(clEnqueueCopyImageToBuffer(h, g, waits, pa, pb, small, count, list, place)),
            26 => cl!(clEnqueueCopyBufferToImage(h, g, waits, small, pa, pb, count, list, place)),
            27 => cl!(clEnqueueFillImage(h, g, data, pa, pb, count, list, place)),
            28 => {
                let mut code = 0;
                let mapped =
                    cl!(clEnqueueMapBuffer(h, g, 0, bits, other, small, count, list, place, &raw mut code));
                self.keep(mapped);
                code
            }
            29 => cl!(clEnqueueUnmapMemObject(h, g, waits, count, list, place)),
            30 => cl!(clEnqueueMarkerWithWaitList(h, count, list, place)),
            31 => cl!(clEnqueueBarrierWithWaitList(h, count, list, place)),
            32 => cl!(clSetUserEventStatus(h, -(a[0] as i32))),
            33 => cl!(clGetContextInfo(h, query, room, answer, &raw mut got)),
            34 => cl!(clGetCommandQueueInfo(h, query, room, answer, &raw mut got)),
            35 => cl!(clGetMemObjectInfo(h, query, room, answer, &raw mut got)),
            36 => cl!(clGetImageInfo(h, query, room, answer, &raw mut got)),
            37 => cl!(clGetEventInfo(h, query, room, answer, &raw mut got)),
            38 => cl!(clGetKernelInfo(h, query, room, answer, &raw mut got)),
            39 => cl!(clGetDeviceInfo(h, query, room, answer, &raw mut got)),
            40 => cl!(clGetKernelWorkGroupInfo(h, g, query, room, answer, &raw mut got)),
            41 => cl!(clRetainMemObject(h)),
            42 => cl!(clRetainEvent(h)),
            43 => cl!(clReleaseContext(h)).min(cl!(clReleaseCommandQueue(h))),
            44 => cl!(clReleaseMemObject(h)).min(cl!(clReleaseSampler(h))),
            45 => cl!(clReleaseProgram(h)).min(cl!(clReleaseKernel(h))),
            46 => cl!(clReleaseEvent(h)),
            _ => cl!(clFlush(h)),
        };
        assert!(code <= 0, "{code}");
        if code == 0 {
            self.succeeded += 1;
        }
        self.keep(event);
    }

    /// Bytes that begin as a module or a binary does, or as neither.
    fn module(&mut self) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..self.rng.usize(1..200)).map(|_| self.rng.u8(..)).collect();
        let start: &[u8] = match self.rng.u8(..3) {
            0 => &[3, 2, 0x23, 7, 0, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 17, 0, 2, 0],
            1 => b"tripipe",
            _ => &[],
        };
        bytes.splice(0..0, start.iter().copied());
        bytes
    }

    /// One call: shared virtual memory, modules, kernels and queries.
    fn other_step(&mut self) {
        unsafe extern "C" fn nothing(_event: *mut c_void, _status: i32, _data: *mut c_void) {}
        let (h, g) = (self.handle(), self.handle());
        let (mut event, none) = (null_mut(), null());
        let (a, b) = (self.three(), self.three());
        let (pa, pb) = (self.or_null(&a), self.or_null(&b));
        let (small, other, bits) = (self.small(), self.small(), self.bits());
        let query = self.rng.u32(0x1000..0x1300);
        let (room, mut got) = (self.rng.usize(..300), 0);
        // No longer than it says, so that a sanitizer sees what is written behind it.
        let mut space = vec![0u8; if self.options.lies { room / 2 } else { room }];
        let answer = if self.rng.u8(..32) == 0 { null_mut() } else { space.as_mut_ptr().cast() };
        let data = self.data();
        // Shared memory stays: commands may use it until the process ends.
        let shared = self.shared.get(self.rng.usize(..8)).map_or(data, |address| *address as *mut c_void);
        let near = if self.rng.bool() { shared.wrapping_byte_add(small) } else { g };
        let place = &raw mut event;
        let code = match self.rng.u32(..26) {
            0 if self.shared.len() < 8 => {
                let memory = cl!(clSVMAlloc(h, bits, 2048, self.rng.u32(..129)));
                if !memory.is_null() {
                    self.succeeded += 1;
                    self.shared.push(memory as usize);
                }
                0
            }
            0 => cl!(clSetKernelExecInfo(h, 0x11B6, 8 * a[0].min(1), (&raw const near).cast())),
            1 => cl!(clSetKernelArgSVMPointer(h, a[0] as u32 & 1, near)),
            2 => cl!(clEnqueueSVMMemcpy(h, 0, shared, data, small, 0, none, place)),
            3 => cl!(clEnqueueSVMMemFill(h, shared, data, b[0], small, 0, none, place)),
            4 => cl!(clEnqueueSVMMap(h, 0, bits, near, other, 0, none, place)),
            5 => cl!(clEnqueueSVMUnmap(h, near, 0, none, place)),
            6 => cl!(clEnqueueSVMMigrateMem(
                h,
                1,
                &raw const near as *mut _,
                &raw const other,
                0,
                0,
                none,
                place
            )),
            7 => {
                let bytes = self.module();
                let made = cl!(clCreateProgramWithIL(h, bytes.as_ptr().cast(), bytes.len(), null_mut()));
                self.keep(made);
                0
            }
            8 => {
                let bytes = self.module();
                let (length, mut start) = (bytes.len(), bytes.as_ptr());
                let made = cl!(clCreateProgramWithBinary(
                    h,
                    1,
                    &raw const g,
                    &raw const length,
                    &raw mut start,
                    null_mut(),
                    null_mut()
                ));
                self.keep(made);
                0
            }
            9 => cl!(clSetProgramSpecializationConstant(h, small as u32, a[0], data)),
            10 => {
                let made = cl!(clCloneKernel(h, null_mut()));
                self.keep(made);
                0
            }
            11 => {
                let programs = [h, g];
                let made = cl!(clLinkProgram(
                    self.handle(),
                    0,
                    null(),
                    null(),
                    a[0] as u32 & 1,
                    programs.as_ptr(),
                    None,
                    null_mut(),
                    null_mut()
                ));
                self.keep(made);
                0
            }
            12 => cl!(clGetProgramBuildInfo(h, g, query, room, answer, &raw mut got)),
            13 if query != cl::CL_PROGRAM_BINARIES => {
                cl!(clGetProgramInfo(h, query, room, answer, &raw mut got))
            }
            14 => cl!(clGetKernelArgInfo(h, a[0] as u32, query, room, answer, &raw mut got)),
            15 => cl!(clGetKernelSubGroupInfo(h, g, query, 8 * a[1], data, room, answer, &raw mut got)),
            16 => cl!(clGetEventProfilingInfo(h, query, room, answer, &raw mut got)),
            17 => cl!(clGetSamplerInfo(h, query, room, answer, &raw mut got)),
            18 => cl!(clSetEventCallback(h, a[0] as i32 - 1, Some(nothing), null_mut())),
            19 => {
                let (mut pitch, mut slice, mut code) = (0, 0, 0);
                let mapped = cl!(clEnqueueMapImage(
                    h,
                    g,
                    0,
                    bits,
                    pa,
                    pb,
                    &raw mut pitch,
                    &raw mut slice,
                    0,
                    none,
                    place,
                    &raw mut code
                ));
                self.keep(mapped);
                code
            }
            20 => cl!(clEnqueueMigrateMemObjects(h, 1, &raw const g, bits, 0, none, place)),
            21 => cl!(clRetainContext(h)).min(cl!(clRetainCommandQueue(h))),
            22 => cl!(clRetainProgram(h)).min(cl!(clRetainKernel(h))),
            23 => cl!(clRetainSampler(h)).min(cl!(clRetainDevice(h))),
            24 => cl!(clCompileProgram(h, 0, null(), null(), 0, null(), null_mut(), None, null_mut())),
            _ => cl!(clReleaseDevice(h)),
        };
        assert!(code <= 0, "{code}");
        if code == 0 {
            self.succeeded += 1;
        }
        self.keep(event);
    }
}
