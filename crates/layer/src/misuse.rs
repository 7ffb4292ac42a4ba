//! What applications do that costs time or memory on phones.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opencl_sys as cl;

use crate::call::Call;
use crate::driver::Driver;
use crate::function::Function;
use crate::names;
use crate::objects::Object;

/// What happens as often as this happens in a loop.
const OFTEN: u64 = 8;

/// A misuse of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misused {
    /// Its name.
    pub(crate) code: &'static str,
    /// What happened.
    pub(crate) message: String,
    /// How often.
    pub(crate) count: u64,
    /// The number of the first call, and what it was.
    pub(crate) example: (u64, String),
    /// What to do.
    pub(crate) fix: &'static str,
}

/// What is known so far.
pub(crate) struct Misuse {
    driver: Driver,
    state: Mutex<MisuseState>,
}

#[derive(Default)]
struct MisuseState {
    launches: u64,
    queues: HashMap<u64, QueueUse>,
    finishes: CountedCall,
    reads: CountedCall,
    /// Memory by its shape: how often it was released, and how often made again after that.
    memory: HashMap<u64, (u64, u64)>,
    remade: CountedCall,
    copies: CountedCall,
    copied_bytes: u64,
    host_pointers: CountedCall,
    failed: BTreeMap<(Function, i32), CountedCall>,
}

/// A number of calls, and the first of them.
#[derive(Clone, Debug, Default)]
struct CountedCall {
    count: u64,
    example: Option<(u64, String)>,
}

impl CountedCall {
    fn add(&mut self, call: u64, what: impl FnOnce() -> String) {
        self.count += 1;
        self.example.get_or_insert_with(|| (call, what()));
    }

    fn finding(&self, code: &'static str, message: String, fix: &'static str) -> Option<Misused> {
        let example = self.example.clone()?;
        Some(Misused { code, message, count: self.count, example, fix })
    }
}

/// What a queue was used for.
#[derive(Default)]
struct QueueUse {
    /// Whether its device shares the host's memory.
    shares_memory: bool,
    /// Launches since the host waited for the queue.
    unwaited: u64,
    /// The kernel of the last launch.
    kernel: String,
    /// A blocking read of results, after which there was no launch yet.
    read: Option<(u64, String)>,
}

impl Misuse {
    /// Nothing so far.
    pub(crate) fn new(driver: Driver) -> Self {
        Self { driver, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, MisuseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a call. `kernel` is the name of the kernel of a launch, `gone` an object that it released.
    pub(crate) fn add(&self, call: &Call, kernel: Option<&str>, gone: Option<&Object>) {
        use Function as F;
        if !call.succeeded() {
            let failed = (call.function, call.code);
            self.lock()
                .failed
                .entry(failed)
                .or_default()
                .add(call.number, || call.function.name().to_owned());
            return;
        }
        let queue = call.word("command_queue");
        let transfers = matches!(
            call.function,
            F::clEnqueueReadBuffer
                | F::clEnqueueReadBufferRect
                | F::clEnqueueReadImage
                | F::clEnqueueWriteBuffer
                | F::clEnqueueWriteBufferRect
                | F::clEnqueueWriteImage
        );
        if (transfers || kernel.is_some()) && !self.lock().queues.contains_key(&queue) {
            // No lock while the driver is asked.
            let shares_memory = self.driver.shares_memory(self.driver.queue_device(queue));
            self.lock().queues.insert(queue, QueueUse { shares_memory, ..QueueUse::default() });
        }
        let mut state = self.lock();
        let state = &mut *state;
        if let Some(name) = kernel {
            state.launches += 1;
            let used = state.queues.entry(queue).or_default();
            used.unwaited += 1;
            name.clone_into(&mut used.kernel);
            if let Some((number, what)) = used.read.take() {
                state.reads.add(number, || what);
            }
        }
        if transfers {
            let used = state.queues.entry(queue).or_default();
            if used.shares_memory {
                state.copies.add(call.number, || call.function.name().to_owned());
                state.copied_bytes += call.word("size");
            }
            if call.word("blocking_read") != 0 && used.unwaited > 0 {
                let what = format!("{} after kernel {}", call.function.name(), used.kernel);
                used.read = Some((call.number, what));
            }
            if call.word("blocking_read") != 0 || call.word("blocking_write") != 0 {
                used.unwaited = 0;
            }
        }
        match call.function {
            F::clFinish => {
                if let Some(used) = state.queues.get_mut(&queue) {
                    if used.unwaited == 1 {
                        state.finishes.add(call.number, || format!("clFinish after kernel {}", used.kernel));
                    }
                    used.unwaited = 0;
                }
            }
            F::clReleaseCommandQueue if gone.is_some() => {
                state.queues.remove(&queue);
            }
            F::clReleaseMemObject => {
                if let Some(gone) = gone {
                    state.memory.entry(gone.shape).or_default().0 += 1;
                }
            }
            _ => {}
        }
        let allocates = matches!(
            call.function,
            F::clCreateBuffer
                | F::clCreateBufferWithProperties
                | F::clCreateImage
                | F::clCreateImageWithProperties
                | F::clCreateImage2D
                | F::clCreateImage3D
        );
        if allocates {
            if call.word("flags") & cl::CL_MEM_USE_HOST_PTR != 0 {
                state.host_pointers.add(call.number, || call.function.name().to_owned());
            }
            let (released, again) = state.memory.entry(crate::objects::shape(call)).or_default();
            if *released > *again {
                *again += 1;
                let size = call.word("size");
                let of = if size > 0 { format!(" of {size} bytes") } else { String::new() };
                state.remade.add(call.number, || format!("{}{of}", call.function.name()));
            }
        }
    }

    /// The number of launches.
    pub(crate) fn launches(&self) -> u64 {
        self.lock().launches
    }

    /// What was found.
    pub(crate) fn misuses(&self) -> Vec<Misused> {
        let state = self.lock();
        let mut found = Vec::new();
        let launches = state.launches;
        if state.finishes.count >= OFTEN && state.finishes.count * 2 >= launches {
            found.extend(state.finishes.finding(
                "finish-after-each-launch",
                format!(
                    "clFinish follows {} of {launches} launches directly: the GPU is idle until the host comes back",
                    state.finishes.count
                ),
                "enqueue all launches of a frame, then wait once, for an event or with clFinish; use clFlush to start \
                 the GPU early",
            ));
        }
        if state.reads.count >= OFTEN {
            found.extend(state.reads.finding(
                "blocking-read-in-loop",
                format!(
                    "a blocking read waits for a launch, and the next launch comes after it, {} times: host and GPU \
                     never work at the same time",
                    state.reads.count
                ),
                "map or read without blocking, with an event, and wait for it after the next launch was enqueued; use \
                 two buffers in turn",
            ));
        }
        if state.remade.count >= OFTEN {
            found.extend(state.remade.finding(
                "memory-per-frame",
                format!(
                    "memory of the same size and flags is released and made again {} times: each time the driver \
                     allocates, clears and maps pages",
                    state.remade.count
                ),
                "make memory once before the loop and keep it",
            ));
        }
        if state.copies.count >= OFTEN {
            found.extend(state.copies.finding(
                "copy-instead-of-map",
                format!(
                    "{} reads and writes copy {} bytes of buffers on a device that shares the host's memory",
                    state.copies.count, state.copied_bytes
                ),
                "make buffers with CL_MEM_ALLOC_HOST_PTR, and use clEnqueueMapBuffer and clEnqueueUnmapMemObject, which \
                 copy nothing (Arm Mali GPU OpenCL Developer Guide, memory allocation)",
            ));
        }
        found.extend(state.host_pointers.finding(
            "use-host-ptr",
            format!(
                "CL_MEM_USE_HOST_PTR is used {} times: a Mali driver cannot use memory of malloc, and copies",
                state.host_pointers.count
            ),
            "use CL_MEM_ALLOC_HOST_PTR and map, or import the memory (cl_arm_import_memory)",
        ));
        for ((function, code), often) in &state.failed {
            let message =
                format!("{} returned {} {} times", function.name(), names::code(*code), often.count);
            found.extend(often.finding("failed-call", message, "see the call in TRIPIPE_LAYER_LOG"));
        }
        found
    }
}
