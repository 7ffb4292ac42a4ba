//! Kernels, their argument declarations, and their launch.

mod argument;
mod bound;

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use opencl_sys::{cl_event, cl_mem};
use thiserror::Error;
use tripipe_launch::locks::lock;
use tripipe_launch::{KernelFacts, NdRange};

use crate::api::{commands, objects, queries};
use crate::code::{CallError, Code};
use crate::event::Event;
use crate::handle::KernelHandle;
use crate::info;
use crate::kernel::argument::{Declared, Kind, wanted};
use crate::program::Program;
use crate::queue::Queue;
use crate::range::{self, GroupRules, RangeError};
use crate::tape::Enqueued;

pub use argument::{Arg, ArgumentInfo, KernelArguments, Space};
pub(crate) use bound::BoundKernel;

/// Why a kernel cannot be made or launched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The program has no such kernel.
    #[error("{program} has no kernel `{entry}`; it has {}", kernels.join(", "))]
    NoSuchKernel {
        /// Name of the program.
        program: String,
        /// The requested kernel.
        entry: String,
        /// The kernels of the program.
        kernels: Vec<String>,
    },
    /// Too many or too few arguments.
    #[error("kernel `{entry}` takes {want} arguments, {found} were given")]
    Count {
        /// The kernel.
        entry: String,
        /// Number of arguments it takes.
        want: usize,
        /// Number of arguments given.
        found: usize,
    },
    /// An argument whose kind, type or size does not match the declaration.
    #[error("kernel `{entry}`, argument {index} (`{name}`): expected {want}, found {found}")]
    Argument {
        /// The kernel.
        entry: String,
        /// 0-based position.
        index: usize,
        /// The argument's name; empty if the driver does not know it.
        name: String,
        /// The declaration.
        want: String,
        /// The argument given.
        found: String,
    },
    /// A range that the kernel or the device cannot run.
    #[error("kernel `{entry}` cannot run {range}: {source}")]
    Range {
        /// The kernel.
        entry: String,
        /// The requested range.
        range: String,
        /// What is wrong with it.
        source: RangeError,
    },
    /// The driver failed.
    #[error("kernel `{entry}`: {source}")]
    Call {
        /// The kernel.
        entry: String,
        /// What failed.
        source: CallError,
    },
}

/// A kernel of a program. Cheap to clone; clones are the same kernel, and any number of threads may launch it
/// concurrently.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    handle: KernelHandle,
    /// clSetKernelArg is the one call that is not thread-safe: from the first argument to the enqueue, the kernel is
    /// locked by one thread.
    setting: Mutex<()>,
    program: Program,
    entry: String,
    arguments: KernelArguments,
    /// The parsed declarations; empty if they are not known.
    declared: Vec<Declared>,
    facts: KernelFacts,
    rules: GroupRules,
}

/// The platform whose driver (NVIDIA 580) reports groups of up to 256 for kernels that were compiled for, and run in,
/// groups of 512.
const UNDERSTATES_GROUPS: &str = "NVIDIA CUDA";

impl Kernel {
    pub(crate) fn new(program: &Program, entry: &str) -> Result<Self, LaunchError> {
        let handle = create(program, entry)?;
        let raw = handle.raw();
        let arguments = match (argument_infos(&handle), program.recorded(entry)) {
            (Some(told), _) => KernelArguments::Known(told),
            (None, Some(recorded)) => KernelArguments::Known(recorded.to_vec()),
            (None, None) => KernelArguments::Counted(argument_count(&handle)),
        };
        program.keep();

        let device = program.context().device();
        // SAFETY: the kernel is live, and the device its program's.
        let ask = |question| unsafe { queries::kernel_work_group_info(raw, device.id(), question) }.ok();
        let number = |question| ask(question).and_then(|bytes| info::number(&bytes)).unwrap_or(0);
        let facts = KernelFacts {
            max_work_group_size: number(cl::CL_KERNEL_WORK_GROUP_SIZE) as usize,
            preferred_work_group_multiple: number(cl::CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) as usize,
            local_bytes: number(cl::CL_KERNEL_LOCAL_MEM_SIZE),
            private_bytes: number(cl::CL_KERNEL_PRIVATE_MEM_SIZE),
        };
        let required = ask(cl::CL_KERNEL_COMPILE_WORK_GROUP_SIZE).map(|bytes| info::sizes(&bytes));
        let required = match required.as_deref() {
            // All zero if the kernel has no reqd_work_group_size.
            Some(&[x, y, z]) if x > 0 => Some([x, y, z]),
            _ => None,
        };
        let is_understated = required.is_some() && device.probe().platform == UNDERSTATES_GROUPS;
        let rules = GroupRules {
            max_group: if is_understated { 0 } else { facts.max_work_group_size },
            required,
            non_uniform: range::allows_non_uniform(program.options(), device.probe()),
        };
        let declared = match &arguments {
            KernelArguments::Known(all) => all.iter().map(Declared::of).collect(),
            KernelArguments::Counted(_) => Vec::new(),
        };
        Ok(Self(Arc::new(Inner {
            handle,
            setting: Mutex::new(()),
            program: program.clone(),
            entry: entry.to_owned(),
            arguments,
            declared,
            facts,
            rules,
        })))
    }

    /// Its name.
    pub fn entry(&self) -> &str {
        &self.0.entry
    }

    /// The declarations of its arguments.
    pub fn arguments(&self) -> &KernelArguments {
        &self.0.arguments
    }

    /// Facts that the compiler reports; 0 for those it does not report.
    pub fn facts(&self) -> KernelFacts {
        self.0.facts
    }

    /// Checks arguments and range as a launch does, without running the kernel.
    ///
    /// # Errors
    /// As [`Self::launch`], except errors that only the driver detects.
    pub fn check(&self, arguments: &[Arg<'_>], range: &NdRange) -> Result<(), LaunchError> {
        let entry = || self.0.entry.clone();
        let want = self.0.arguments.len();
        if arguments.len() != want {
            return Err(LaunchError::Count { entry: entry(), want, found: arguments.len() });
        }
        let context = self.0.program.context();
        for (index, argument) in arguments.iter().enumerate() {
            let ours = argument.context().is_none_or(|other| other.is(context));
            let fits = self.0.declared.get(index).is_none_or(|declared| declared.takes(argument));
            if ours && fits {
                continue;
            }
            let info = self.0.arguments.get(index);
            return Err(LaunchError::Argument {
                entry: entry(),
                index,
                name: info.map(|info| info.name.clone()).unwrap_or_default(),
                want: match info {
                    Some(info) if ours => wanted(info),
                    _ => "an object of the kernel's own context".to_owned(),
                },
                found: argument.shown(),
            });
        }
        let probe = context.device().probe();
        let local = arguments.iter().map(|argument| match argument.0 {
            Kind::Local(bytes) => bytes as u64,
            _ => 0,
        });
        range::check(range, probe, &self.0.rules)
            .and_then(|()| range::check_local_memory(self.0.facts.local_bytes, local.sum(), probe))
            .map_err(|source| LaunchError::Range { entry: entry(), range: format!("{range:?}"), source })
    }

    /// Enqueues the kernel in `queue` with all its arguments, and returns without waiting for it.
    ///
    /// A launch with a buffer over borrowed host memory waits until the kernel has ended.
    ///
    /// # Errors
    /// Arguments that do not match the declarations, a range that the kernel or the device cannot run (both found
    /// without calling the driver); the driver fails; the device is lost.
    pub fn launch(
        &self,
        queue: &Queue,
        arguments: &[Arg<'_>],
        range: &NdRange,
    ) -> Result<Event, LaunchError> {
        self.check(arguments, range)?;
        let mut event = None;
        self.launch_checked(queue, arguments, range, Some(&mut event))?;
        let Some(event) = event else {
            let code = Code(cl::CL_INVALID_EVENT);
            return Err(self.failed(CallError { call: "clEnqueueNDRangeKernel", code }));
        };
        let borrowed =
            |argument: &Arg<'_>| matches!(&argument.0, Kind::Memory(object) if object.synchronous());
        if arguments.iter().any(borrowed) {
            event.wait().map_err(|source| self.failed(source))?;
        }
        Ok(event)
    }

    /// Like [`Self::launch`], for arguments that passed [`Self::check`] and use no memory borrowed from the host. The
    /// event is optional, because with some drivers it costs more than the launch.
    pub(crate) fn launch_checked(
        &self,
        queue: &Queue,
        arguments: &[Arg<'_>],
        range: &NdRange,
        event: Option<&mut Option<Event>>,
    ) -> Result<(), LaunchError> {
        let _mine = lock(&self.0.setting);
        self.set_all(&self.0.handle, arguments)?;
        self.enqueue(&self.0.handle, queue, range, event)
    }

    /// Enqueues `handle`, a handle of this kernel whose arguments are all set.
    fn enqueue(
        &self,
        handle: &KernelHandle,
        queue: &Queue,
        range: &NdRange,
        event: Option<&mut Option<Event>>,
    ) -> Result<(), LaunchError> {
        if !queue.context().is(self.0.program.context()) {
            let code = Code(cl::CL_INVALID_CONTEXT);
            return Err(self.failed(CallError { call: "clEnqueueNDRangeKernel", code }));
        }
        let (global, offset, local) = (range.global_size(), range.global_offset(), range.local_size());
        let local = local.as_ref().map_or(std::ptr::null(), |local| local.as_ptr());
        let mut raw = std::ptr::null_mut();
        let call = queue.call();
        let wanted: *mut cl_event =
            if event.is_some() || call.is_recorded() { &raw mut raw } else { std::ptr::null_mut() };
        // SAFETY: kernel and queue are of one context; all arguments are set to live objects of the declared kind; the
        // size arrays have three elements and live for the call.
        unsafe {
            commands::enqueue_kernel(
                queue.raw(),
                handle.raw(),
                range.dimensions() as u32,
                offset.as_ptr(),
                global.as_ptr(),
                local,
                wanted,
            )
        }
        .map_err(|code| self.failed(CallError::at("clEnqueueNDRangeKernel")(code)))?;
        if !raw.is_null() {
            // SAFETY: the call returned a new event.
            let made = unsafe { Event::own(raw) };
            call.enqueued(&made, &Enqueued::Kernel { entry: &self.0.entry, range, facts: self.0.facts });
            if let Some(event) = event {
                *event = Some(made);
            }
        }
        Ok(())
    }

    fn failed(&self, source: CallError) -> LaunchError {
        LaunchError::Call { entry: self.0.entry.clone(), source }
    }

    /// Sets all arguments of `handle`, a handle of this kernel that no other thread uses.
    fn set_all(&self, handle: &KernelHandle, arguments: &[Arg<'_>]) -> Result<(), LaunchError> {
        for (index, argument) in arguments.iter().enumerate() {
            set(handle, index as u32, argument).map_err(|code| self.refused(index, argument, code))?;
        }
        Ok(())
    }

    /// An argument that the driver rejects: of a type whose size only the driver knows, or if it provides no argument
    /// information.
    fn refused(&self, index: usize, argument: &Arg<'_>, code: i32) -> LaunchError {
        let entry = self.0.entry.clone();
        let info = self.0.arguments.get(index);
        match code {
            cl::CL_INVALID_ARG_SIZE
            | cl::CL_INVALID_ARG_VALUE
            | cl::CL_INVALID_MEM_OBJECT
            | cl::CL_INVALID_SAMPLER => LaunchError::Argument {
                entry,
                index,
                name: info.map(|info| info.name.clone()).unwrap_or_default(),
                want: match info {
                    Some(info) => format!("{} ({})", info.type_name, Code(code)),
                    None => format!("another kind or size ({})", Code(code)),
                },
                found: argument.shown(),
            },
            _ => LaunchError::Call { entry, source: CallError { call: "clSetKernelArg", code: Code(code) } },
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("entry", &self.0.entry)
            .field("arguments", &self.0.arguments)
            .finish_non_exhaustive()
    }
}

fn set(handle: &KernelHandle, index: u32, argument: &Arg<'_>) -> Result<(), i32> {
    let (size, value): (usize, *const c_void);
    let memory;
    let sampler;
    match &argument.0 {
        Kind::Memory(object) => {
            memory = object.raw();
            (size, value) = (size_of::<cl_mem>(), (&raw const memory).cast());
        }
        Kind::Svm(buffer) => {
            // SAFETY: the pointer is the start of a live allocation of the kernel's context.
            return unsafe { objects::set_kernel_arg_svm_pointer(handle.raw(), index, buffer.pointer()) };
        }
        Kind::Sampler(object) => {
            sampler = object.raw();
            (size, value) = (size_of_val(&sampler), (&raw const sampler).cast());
        }
        Kind::Value(given) => {
            (size, value) = (given.bytes().len(), given.bytes().as_ptr().cast());
        }
        Kind::Bytes(bytes) => (size, value) = (bytes.len(), bytes.as_ptr().cast()),
        Kind::Local(bytes) => (size, value) = (*bytes, std::ptr::null()),
        Kind::Null => {
            memory = std::ptr::null_mut();
            (size, value) = (size_of::<cl_mem>(), (&raw const memory).cast());
        }
    }
    // SAFETY: `value` points to `size` live bytes, or is null for local memory; the objects live as long as the call,
    // and the driver retains those it needs for a queued kernel.
    unsafe { objects::set_kernel_arg(handle.raw(), index, size, value) }
}

/// Creates the driver's kernel object.
pub(crate) fn create(program: &Program, entry: &str) -> Result<KernelHandle, LaunchError> {
    let missing = || LaunchError::NoSuchKernel {
        program: program.name().to_owned(),
        entry: entry.to_owned(),
        kernels: program.kernels().to_vec(),
    };
    let name = CString::new(entry).map_err(|_| missing())?;
    // SAFETY: the program is live.
    match unsafe { objects::create_kernel(program.raw(), &name) } {
        // SAFETY: just created.
        Ok(raw) => Ok(unsafe { KernelHandle::own(raw) }),
        Err(cl::CL_INVALID_KERNEL_NAME) => Err(missing()),
        Err(code) => {
            let source = CallError { call: "clCreateKernel", code: Code(code) };
            Err(LaunchError::Call { entry: entry.to_owned(), source })
        }
    }
}

fn argument_count(kernel: &KernelHandle) -> usize {
    // SAFETY: live as long as its handle.
    let count = unsafe { queries::kernel_info(kernel.raw(), cl::CL_KERNEL_NUM_ARGS) }.ok();
    count.and_then(|bytes| info::number(&bytes)).unwrap_or(0) as usize
}

/// All arguments; `None` if the driver does not report one of them.
pub(crate) fn argument_infos(kernel: &KernelHandle) -> Option<Vec<ArgumentInfo>> {
    (0..argument_count(kernel)).map(|index| argument_info(kernel, index as u32)).collect()
}

fn argument_info(kernel: &KernelHandle, index: u32) -> Option<ArgumentInfo> {
    // SAFETY: live as long as its handle.
    let ask = |question| unsafe { queries::kernel_arg_info(kernel.raw(), index, question) }.ok();
    let space = info::number(&ask(cl::CL_KERNEL_ARG_ADDRESS_QUALIFIER)?)? as u32;
    let type_name = info::text(&ask(cl::CL_KERNEL_ARG_TYPE_NAME)?);
    if type_name.is_empty() {
        return None;
    }
    let bits = |question| ask(question).and_then(|bytes| info::number(&bytes)).unwrap_or(0);
    let constant = bits(cl::CL_KERNEL_ARG_TYPE_QUALIFIER) & u64::from(cl::CL_KERNEL_ARG_TYPE_CONST) != 0;
    let read_only = match space {
        // An image is also `global`, but has an access qualifier of its own.
        cl::CL_KERNEL_ARG_ADDRESS_GLOBAL => {
            constant || bits(cl::CL_KERNEL_ARG_ACCESS_QUALIFIER) as u32 == cl::CL_KERNEL_ARG_ACCESS_READ_ONLY
        }
        cl::CL_KERNEL_ARG_ADDRESS_LOCAL => false,
        _ => true,
    };
    Some(ArgumentInfo {
        read_only,
        name: ask(cl::CL_KERNEL_ARG_NAME).map(|name| info::text(&name)).unwrap_or_default(),
        type_name,
        space: match space {
            cl::CL_KERNEL_ARG_ADDRESS_GLOBAL => Space::Global,
            cl::CL_KERNEL_ARG_ADDRESS_CONSTANT => Space::Constant,
            cl::CL_KERNEL_ARG_ADDRESS_LOCAL => Space::Local,
            _ => Space::Private,
        },
    })
}
