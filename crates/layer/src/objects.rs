//! The application's objects: what lives, how often it is held, and where it was made.

use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::call::Call;
use crate::function::Function;

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ObjectKind {
    /// Released last.
    Context,
    /// `cl_command_queue`
    Queue,
    /// A buffer or a part of one.
    Buffer,
    /// `cl_mem`
    Image,
    /// `cl_mem`
    Pipe,
    /// `cl_sampler`
    Sampler,
    /// `cl_program`
    Program,
    /// `cl_kernel`
    Kernel,
    /// `cl_event`
    Event,
    /// Shared virtual memory, by its address.
    Shared,
}

impl ObjectKind {
    /// Whether it is a `cl_mem`.
    pub(crate) fn is_memory(self) -> bool {
        matches!(self, Self::Buffer | Self::Image | Self::Pipe)
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "context",
            Self::Queue => "command queue",
            Self::Buffer => "buffer",
            Self::Image => "image",
            Self::Pipe => "pipe",
            Self::Sampler => "sampler",
            Self::Program => "program",
            Self::Kernel => "kernel",
            Self::Event => "event",
            Self::Shared => "shared virtual memory",
        })
    }
}

/// An object that lives.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// What it is.
    pub(crate) kind: ObjectKind,
    /// How often the application holds it.
    pub(crate) references: u32,
    /// The call that made it, and its number, thread and time.
    pub(crate) made_by: Function,
    pub(crate) call: u64,
    pub(crate) thread: u32,
    pub(crate) made_at: Instant,
    /// Bytes of memory, if the call says so.
    pub(crate) bytes: Option<u64>,
    /// A number for the sizes, flags and format of memory.
    pub(crate) shape: u64,
    /// The name of a kernel.
    pub(crate) name: Option<Arc<str>>,
    /// Where the application was.
    pub(crate) backtrace: Option<Arc<Backtrace>>,
}

/// All objects that live, by handle.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    live: Mutex<HashMap<u64, Object>>,
}

/// What a function makes.
fn created_kind(function: Function) -> Option<ObjectKind> {
    use Function as F;
    Some(match function {
        F::clCreateContext | F::clCreateContextFromType => ObjectKind::Context,
        F::clCreateCommandQueue | F::clCreateCommandQueueWithProperties => ObjectKind::Queue,
        F::clCreateBuffer
        | F::clCreateBufferWithProperties
        | F::clCreateSubBuffer
        | F::clCreateFromGLBuffer => ObjectKind::Buffer,
        F::clCreateImage
        | F::clCreateImageWithProperties
        | F::clCreateImage2D
        | F::clCreateImage3D
        | F::clCreateFromGLTexture
        | F::clCreateFromGLTexture2D
        | F::clCreateFromGLTexture3D
        | F::clCreateFromGLRenderbuffer
        | F::clCreateFromEGLImageKHR => ObjectKind::Image,
        F::clCreatePipe => ObjectKind::Pipe,
        F::clCreateSampler | F::clCreateSamplerWithProperties => ObjectKind::Sampler,
        F::clCreateProgramWithSource
        | F::clCreateProgramWithBinary
        | F::clCreateProgramWithBuiltInKernels
        | F::clCreateProgramWithIL
        | F::clLinkProgram => ObjectKind::Program,
        F::clCreateKernel | F::clCloneKernel | F::clCreateKernelsInProgram => ObjectKind::Kernel,
        F::clCreateUserEvent | F::clCreateEventFromGLsyncKHR | F::clCreateEventFromEGLSyncKHR => {
            ObjectKind::Event
        }
        F::clSVMAlloc => ObjectKind::Shared,
        _ => return None,
    })
}

/// Whether a function holds an object once more (`true`) or once less.
fn is_retain(function: Function) -> Option<bool> {
    use Function as F;
    match function {
        F::clRetainContext
        | F::clRetainCommandQueue
        | F::clRetainMemObject
        | F::clRetainSampler
        | F::clRetainProgram
        | F::clRetainKernel
        | F::clRetainEvent => Some(true),
        F::clReleaseContext
        | F::clReleaseCommandQueue
        | F::clReleaseMemObject
        | F::clReleaseSampler
        | F::clReleaseProgram
        | F::clReleaseKernel
        | F::clReleaseEvent => Some(false),
        _ => None,
    }
}

/// A number for what memory a call makes: the same for the same sizes, flags and format.
pub(crate) fn shape(call: &Call) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.function.hash(&mut hasher);
    for name in ["flags", "size", "image_width", "image_height", "image_depth"] {
        call.word(name).hash(&mut hasher);
    }
    for name in ["image_format", "image_desc"] {
        call.argument(name).words().hash(&mut hasher);
    }
    hasher.finish()
}

/// A release that has begun: the handle, and the object if this was its last reference.
#[derive(Debug)]
pub(crate) struct Release {
    handle: u64,
    /// The object that is gone.
    pub(crate) last: Option<Object>,
}

impl Objects {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Object>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a release before the driver sees it: as soon as it has, another thread may get an object with the same
    /// handle.
    pub(crate) fn before(&self, function: Function, words: &[u64]) -> Option<Release> {
        let handle = match function {
            Function::clSVMFree => *words.get(1)?,
            _ if is_retain(function) == Some(false) => *words.first()?,
            _ => return None,
        };
        let mut live = self.lock();
        let object = live.get_mut(&handle)?;
        object.references = object.references.saturating_sub(1);
        let last = if object.references == 0 { live.remove(&handle) } else { None };
        Some(Release { handle, last })
    }

    /// Takes note of what a call made, held or released.
    pub(crate) fn after(&self, call: &Call, release: Option<&Release>, backtraces: bool) {
        if !call.succeeded() {
            if let Some(release) = release {
                self.undo(release);
            }
            return;
        }
        let mut new: Vec<(u64, ObjectKind)> = Vec::new();
        if let Some(kind) = created_kind(call.function) {
            let kernels = call.argument("kernels").words().iter().map(|handle| (*handle, kind));
            new.extend(kernels.chain((call.result != 0).then_some((call.result, kind))));
        }
        if call.event != 0 {
            new.push((call.event, ObjectKind::Event));
        }
        let backtrace = (backtraces && !new.is_empty()).then(|| Arc::new(Backtrace::force_capture()));
        let mut live = self.lock();
        for (handle, kind) in new {
            let bytes = match call.function {
                Function::clCreateSubBuffer => call.argument("buffer_create_info").words().get(1).copied(),
                _ if matches!(kind, ObjectKind::Buffer | ObjectKind::Shared) => Some(call.word("size")),
                _ => None,
            };
            let name = match call.argument("kernel_name") {
                crate::call::Argument::Text(name) => Some(name.as_str().into()),
                _ => live.get(&call.word("source_kernel")).and_then(|kernel| kernel.name.clone()),
            };
            live.insert(
                handle,
                Object {
                    kind,
                    references: 1,
                    made_by: call.function,
                    call: call.number,
                    thread: call.thread,
                    made_at: call.time[0],
                    bytes,
                    shape: shape(call),
                    name,
                    backtrace: backtrace.clone(),
                },
            );
        }
        if is_retain(call.function) == Some(true)
            && let Some(object) = call.arguments.first().and_then(|handle| live.get_mut(&handle.word()))
        {
            object.references += 1;
        }
        if call.function == Function::clEnqueueSVMFree {
            for pointer in call.argument("svm_pointers").words() {
                live.remove(pointer);
            }
        }
    }

    fn undo(&self, release: &Release) {
        let mut live = self.lock();
        match &release.last {
            Some(object) => {
                live.entry(release.handle).or_insert_with(|| Object { references: 1, ..object.clone() });
            }
            None => {
                if let Some(object) = live.get_mut(&release.handle) {
                    object.references += 1;
                }
            }
        }
    }

    /// The kind of an object; `None` if it does not live.
    pub(crate) fn kind(&self, handle: u64) -> Option<ObjectKind> {
        self.lock().get(&handle).map(|object| object.kind)
    }

    /// The name of a kernel, which `ask` finds out if it is not known.
    pub(crate) fn kernel_name(&self, kernel: u64, ask: impl FnOnce() -> Option<String>) -> Arc<str> {
        if let Some(name) = self.lock().get(&kernel).and_then(|object| object.name.clone()) {
            return name;
        }
        let name: Arc<str> = ask().unwrap_or_else(|| "unknown".to_owned()).into();
        if let Some(object) = self.lock().get_mut(&kernel) {
            object.name = Some(Arc::clone(&name));
        }
        name
    }

    /// The shared virtual memory that an address is in: its start and its bytes.
    pub(crate) fn shared(&self, address: u64) -> Option<(u64, u64)> {
        let live = self.lock();
        live.iter().find_map(|(start, object)| {
            let bytes = object.bytes.filter(|_| object.kind == ObjectKind::Shared)?;
            (*start..start.saturating_add(bytes)).contains(&address).then_some((*start, bytes))
        })
    }

    /// All objects that live, in the order in which they were made.
    pub(crate) fn live(&self) -> Vec<(u64, Object)> {
        let mut all: Vec<_> = self.lock().iter().map(|(handle, object)| (*handle, object.clone())).collect();
        all.sort_by_key(|(handle, object)| (object.call, *handle));
        all
    }
}
