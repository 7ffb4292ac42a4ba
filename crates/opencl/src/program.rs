//! Programs, built for one device.

use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use opencl_sys::cl_program;
use thiserror::Error;
use tripipe_cache::{Cache, Key};
use tripipe_launch::locks::lock;
use tripipe_launch::{Source, Text};

use crate::api::{objects, queries};
use crate::build_log::{Complaint, first_complaint};
use crate::cache::{self, Entry, RecordedKernel};
use crate::code::{CallError, Code};
use crate::context::Context;
use crate::handle::{KernelHandle, ProgramHandle};
use crate::info;
use crate::kernel::{self, ArgumentInfo, Kernel, LaunchError};

/// Why a program cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The compiler reports an error.
    #[error(
        "{program} does not build{}: {}",
        complaint.location_text(),
        complaint.message
    )]
    Source {
        /// Name of the program.
        program: String,
        /// The first error, with its source line.
        complaint: Complaint,
        /// The complete compiler log.
        log: String,
    },
    /// The options contain a NUL, or the driver does not know one of them.
    #[error("{program}: the compiler does not accept the options `{options}`")]
    Options {
        /// Name of the program.
        program: String,
        /// The options.
        options: String,
    },
    /// The device does not support programs of this form.
    #[error("{program}: the device does not accept {what}")]
    NotOffered {
        /// Name of the program.
        program: String,
        /// The form.
        what: &'static str,
    },
    /// Another driver call failed.
    #[error("{program}: {source}")]
    Call {
        /// Name of the program.
        program: String,
        /// What failed.
        source: CallError,
    },
}

/// A program built for the device of its context. Cheap to clone; may be used by any number of threads.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    handle: ProgramHandle,
    context: Context,
    name: String,
    options: String,
    kernels: Vec<String>,
    from_cache: bool,
    /// Recorded arguments of the kernels of a program loaded from the cache.
    recorded: Vec<RecordedKernel>,
    /// Where to store the binary after a kernel was made: on Mali, a binary taken earlier contains no machine code,
    /// and loading it compiles again.
    pending: Mutex<Option<(Cache, Key)>>,
}

/// Added to the options so that arguments can be checked; OpenCL 1.2 and newer.
const ARGUMENT_INFO: &str = "-cl-kernel-arg-info";

impl Program {
    /// Builds `program` for the device of `context`.
    ///
    /// # Errors
    /// It does not compile: [`BuildError::Source`] has the first error, its source line and the whole log. A form or
    /// option that the driver does not support; the driver fails.
    pub fn build(context: &Context, program: &tripipe_launch::Program) -> Result<Self, BuildError> {
        let name = program.name.to_string();
        let options = program.build_options();
        let source = match &program.source {
            Source::OpenClC(text) => text.clone(),
            _ => Text::from(""),
        };
        let mut handle = create(context, program)?;
        let asked = with_argument_info(context, &options);
        if let Err(error) = build(context, &handle, &name, &asked, &source) {
            // Old drivers do not know the added option, and NVIDIA's 580 writes PTX that its own assembler rejects for
            // a kernel without arguments. So retry without the option; if that also fails, the first error is the
            // program's.
            handle = create(context, program)?;
            if asked == options || build(context, &handle, &name, &options, &source).is_err() {
                return Err(error);
            }
        }
        Ok(Self::new(context, handle, name, options, None))
    }

    /// Like [`Self::build`], but loads the binary from `cache` if there is one that the driver accepts. Otherwise the
    /// binary is stored there as soon as the first kernel was made.
    ///
    /// # Errors
    /// As [`Self::build`]. The cache itself never causes an error.
    pub fn build_cached(
        context: &Context,
        program: &tripipe_launch::Program,
        cache: &Cache,
    ) -> Result<Self, BuildError> {
        let options = program.build_options();
        let key = cache::key(program, &with_argument_info(context, &options), context.device());
        if let Some(entry) = cache.load(&key).and_then(|contents| Entry::decode(&contents)) {
            match load(context, program, &options, &entry.binary) {
                Ok(handle) => {
                    let name = program.name.to_string();
                    return Ok(Self::new(context, handle, name, options, Some(entry.kernels)));
                }
                Err(error) => {
                    tracing::warn!(program = %program.name, %error, "cached binary rejected, building from \
                        source");
                    cache.remove(&key);
                }
            }
        }
        let mut built = Self::build(context, program)?;
        if let Some(inner) = Arc::get_mut(&mut built.0) {
            inner.pending = Mutex::new(Some((cache.clone(), key)));
        }
        Ok(built)
    }

    fn new(
        context: &Context,
        handle: ProgramHandle,
        name: String,
        options: String,
        cached: Option<Vec<RecordedKernel>>,
    ) -> Self {
        let from_cache = cached.is_some();
        let recorded = cached.unwrap_or_default();
        let mut kernels = kernel_names(&handle);
        if kernels.is_empty() {
            kernels = recorded.iter().map(|kernel| kernel.name.clone()).collect();
        }
        let (context, pending) = (context.clone(), Mutex::new(None));
        Self(Arc::new(Inner { handle, context, name, options, kernels, from_cache, recorded, pending }))
    }

    /// The arguments of `entry` that were recorded when a cached program was built.
    pub(crate) fn recorded(&self, entry: &str) -> Option<&[ArgumentInfo]> {
        let kernel = self.0.recorded.iter().find(|kernel| kernel.name == entry)?;
        Some(&kernel.arguments)
    }

    /// Stores the binary in the cache if that is pending. Called after a kernel was made.
    pub(crate) fn keep(&self) {
        let pending = lock(&self.0.pending).take();
        let Some((cache, key)) = pending else { return };
        // All kernels are made first, so that the binary contains the machine code of each.
        let kernels: Vec<(&str, KernelHandle)> = self
            .0
            .kernels
            .iter()
            .filter_map(|name| Some((name.as_str(), kernel::create(self, name).ok()?)))
            .collect();
        let recorded = kernels.iter().filter_map(|(name, handle)| {
            let arguments = kernel::argument_infos(handle)?;
            Some(RecordedKernel { name: (*name).to_owned(), arguments })
        });
        // SAFETY: live as long as its handle.
        match unsafe { queries::program_binary(self.raw()) } {
            Ok(binary) if !binary.is_empty() => {
                let entry = Entry { binary, kernels: recorded.collect() };
                cache.store(&key, &entry.encode());
            }
            Ok(_) => tracing::debug!(program = self.name(), "the driver returns no binary"),
            Err(code) => {
                tracing::debug!(program = self.name(), code = %Code(code), "the driver returns no binary");
            }
        }
    }

    /// A kernel of the program.
    ///
    /// # Errors
    /// The program has no kernel of that name, or the driver fails.
    pub fn kernel(&self, entry: &str) -> Result<Kernel, LaunchError> {
        Kernel::new(self, entry)
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The options it was built with, without those that this crate adds.
    pub fn options(&self) -> &str {
        &self.0.options
    }

    /// Whether it was loaded from a [`Cache`] instead of compiled.
    pub fn from_cache(&self) -> bool {
        self.0.from_cache
    }

    /// Names of its kernels; empty if the driver does not report them.
    pub fn kernels(&self) -> &[String] {
        &self.0.kernels
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    pub(crate) fn raw(&self) -> cl_program {
        self.0.handle.raw()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.0.name).field("options", &self.0.options).finish()
    }
}

/// The options, with the one that requests argument information.
fn with_argument_info(context: &Context, options: &str) -> String {
    if context.device().version() >= (1, 2) {
        format!("{options} {ARGUMENT_INFO}").trim_start().to_owned()
    } else {
        options.to_owned()
    }
}

fn create(context: &Context, program: &tripipe_launch::Program) -> Result<ProgramHandle, BuildError> {
    let name = || program.name.to_string();
    let context_raw = context.raw();
    let (call, raw) = match &program.source {
        Source::OpenClC(text) => {
            // SAFETY: the context is live.
            let raw = unsafe { objects::create_program_with_source(context_raw, text) };
            ("clCreateProgramWithSource", raw)
        }
        Source::SpirV(words) if takes_spirv(context) => {
            // SAFETY: as above.
            ("clCreateProgramWithIL", unsafe { objects::create_program_with_il(context_raw, words) })
        }
        _ => return Err(BuildError::NotOffered { program: name(), what: "SPIR-V programs" }),
    };
    let raw = raw.map_err(|code| BuildError::Call { program: name(), source: CallError::at(call)(code) })?;
    // SAFETY: just created.
    Ok(unsafe { ProgramHandle::own(raw) })
}

/// Loads a program from a binary of this device and builds it, so that kernels can be made.
fn load(
    context: &Context,
    program: &tripipe_launch::Program,
    options: &str,
    binary: &[u8],
) -> Result<ProgramHandle, BuildError> {
    let name = program.name.to_string();
    let device = context.device().id();
    // SAFETY: the device belongs to the context; the binary lives for the call, and the driver checks its contents.
    let raw = unsafe { objects::create_program_with_binary(context.raw(), device, binary) };
    let failed = |code| BuildError::Call {
        program: name.clone(),
        source: CallError::at("clCreateProgramWithBinary")(code),
    };
    let raw = raw.map_err(failed)?;
    // SAFETY: just created.
    let handle = unsafe { ProgramHandle::own(raw) };
    build(context, &handle, &name, options, &Text::from(""))?;
    Ok(handle)
}

fn takes_spirv(context: &Context) -> bool {
    let device = context.device();
    let il = info::Ask(device.id()).text(cl::CL_DEVICE_IL_VERSION);
    il.contains("SPIR-V") && (device.version() >= (2, 1) || device.probe().has_extension("cl_khr_il_program"))
}

fn build(
    context: &Context,
    handle: &ProgramHandle,
    name: &str,
    options: &str,
    source: &Text,
) -> Result<(), BuildError> {
    let wrong_options = || BuildError::Options { program: name.to_owned(), options: options.to_owned() };
    let device = context.device().id();
    let options_c = CString::new(options).map_err(|_| wrong_options())?;
    // SAFETY: the program is live, and belongs to this context and its one device.
    match unsafe { objects::build_program(handle.raw(), device, &options_c) } {
        Ok(()) => Ok(()),
        Err(cl::CL_INVALID_BUILD_OPTIONS) => Err(wrong_options()),
        // Drivers return different codes for source that does not compile.
        Err(cl::CL_BUILD_PROGRAM_FAILURE | cl::CL_COMPILE_PROGRAM_FAILURE | cl::CL_LINK_PROGRAM_FAILURE) => {
            // SAFETY: as above.
            let log = unsafe { queries::program_build_info(handle.raw(), device, cl::CL_PROGRAM_BUILD_LOG) }
                .map(|bytes| info::text(&bytes))
                .unwrap_or_default();
            let complaint = first_complaint(&log, source);
            Err(BuildError::Source { program: name.to_owned(), complaint, log })
        }
        Err(code) => {
            let source = CallError { call: "clBuildProgram", code: Code(code) };
            Err(BuildError::Call { program: name.to_owned(), source })
        }
    }
}

fn kernel_names(handle: &ProgramHandle) -> Vec<String> {
    // SAFETY: live as long as its handle.
    let names = unsafe { queries::program_info(handle.raw(), cl::CL_PROGRAM_KERNEL_NAMES) };
    let names = names.unwrap_or_default();
    info::text(&names).split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
