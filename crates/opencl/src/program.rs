//! Programs: source, built for one device.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use cl3::error_codes as codes;
use cl3::program as cl;
use cl3::types::cl_program;
use thiserror::Error;
use tripipe_launch::Source;

use crate::build_log::{Complaint, first_complaint};
use crate::code::{CallError, Code};
use crate::context::Context;
use crate::handle::ProgramHandle;
use crate::info;
use crate::kernel::{Kernel, LaunchError};

/// Why a program cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The compiler complains.
    #[error(
        "{program} does not build{}: {}",
        complaint.line.map(|line| format!(" (line {line}: `{}`)", complaint.text)).unwrap_or_default(),
        complaint.message
    )]
    Source {
        /// Name of the program.
        program: String,
        /// The first complaint, with its source line.
        complaint: Complaint,
        /// All the compiler said.
        log: String,
    },
    /// The options hold a NUL, or the driver does not know one of them.
    #[error("{program}: the compiler does not take the options `{options}`")]
    Options {
        /// Name of the program.
        program: String,
        /// The options.
        options: String,
    },
    /// The device takes no program of this form.
    #[error("{program}: the device does not take {what}")]
    NotOffered {
        /// Name of the program.
        program: String,
        /// The form.
        what: &'static str,
    },
    /// The driver failed otherwise.
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
}

/// Asked of the compiler so that arguments can be checked; OpenCL 1.2 and newer.
const ARGUMENT_INFO: &str = "-cl-kernel-arg-info";

impl Program {
    /// Builds `program` for the device of `context`.
    ///
    /// # Errors
    /// It does not compile: [`BuildError::Source`] has the first complaint, its source line and the whole
    /// log. A form or option the driver does not take; the driver fails.
    pub fn build(context: &Context, program: &tripipe_launch::Program) -> Result<Self, BuildError> {
        let name = program.name.to_string();
        let options = program.build_options();
        let source = match &program.source {
            Source::OpenClC(text) => text.as_ref(),
            _ => "",
        };
        let created = || {
            let (call, raw) = match &program.source {
                Source::OpenClC(text) => {
                    ("clCreateProgramWithSource", cl::create_program_with_source(context.raw(), &[text]))
                }
                Source::SpirV(words) if takes_spirv(context) => {
                    ("clCreateProgramWithIL", cl::create_program_with_il(context.raw(), words))
                }
                _ => return Err(BuildError::NotOffered { program: name.clone(), what: "SPIR-V programs" }),
            };
            let failed = |code| BuildError::Call { program: name.clone(), source: CallError::at(call)(code) };
            let raw = raw.map_err(failed)?;
            // SAFETY: just created.
            Ok(unsafe { ProgramHandle::own(raw) })
        };
        let mut handle = created()?;
        let with_info = format!("{options} {ARGUMENT_INFO}");
        let first = if context.device().version() >= (1, 2) { with_info.trim() } else { &options };
        match build(context, &handle, &name, first, source) {
            // An old driver that does not know the added option.
            Err(BuildError::Options { .. }) if first != options => {
                handle = created()?;
                build(context, &handle, &name, &options, source)?;
            }
            outcome => outcome?,
        }
        let kernels = kernel_names(&handle);
        Ok(Self(Arc::new(Inner { handle, context: context.clone(), name, options, kernels })))
    }

    /// A kernel of the program.
    ///
    /// # Errors
    /// There is none of that name, or the driver fails.
    pub fn kernel(&self, entry: &str) -> Result<Kernel, LaunchError> {
        Kernel::new(self, entry)
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The options it was built with, without those this crate adds.
    pub fn options(&self) -> &str {
        &self.0.options
    }

    /// Names of its kernels; empty when the driver does not say.
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

fn takes_spirv(context: &Context) -> bool {
    let device = context.device();
    let il = info::Ask(device.id()).text(cl3::device::CL_DEVICE_IL_VERSION);
    il.contains("SPIR-V") && (device.version() >= (2, 1) || device.probe().has_extension("cl_khr_il_program"))
}

fn build(
    context: &Context,
    handle: &ProgramHandle,
    name: &str,
    options: &str,
    source: &str,
) -> Result<(), BuildError> {
    let wrong_options = || BuildError::Options { program: name.to_owned(), options: options.to_owned() };
    let device = context.device().id();
    let options_c = CString::new(options).map_err(|_| wrong_options())?;
    match cl::build_program(handle.raw(), &[device], &options_c, None, std::ptr::null_mut()) {
        Ok(()) => Ok(()),
        Err(codes::CL_INVALID_BUILD_OPTIONS) => Err(wrong_options()),
        // Drivers differ in the code they use for source that does not compile.
        Err(
            codes::CL_BUILD_PROGRAM_FAILURE
            | codes::CL_COMPILE_PROGRAM_FAILURE
            | codes::CL_LINK_PROGRAM_FAILURE,
        ) => {
            let log = cl::get_program_build_data(handle.raw(), device, cl::CL_PROGRAM_BUILD_LOG)
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
    let names = cl::get_program_data(handle.raw(), cl::CL_PROGRAM_KERNEL_NAMES).unwrap_or_default();
    info::text(&names).split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
