//! Kernels, what they declare of their arguments, and their launch.

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cl3::error_codes as codes;
use cl3::kernel as cl;
use cl3::types::cl_mem;
use thiserror::Error;
use tripipe_launch::{KernelFacts, NdRange, ScalarType, Value};

use crate::code::{CallError, Code};
use crate::context::Context;
use crate::event::Event;
use crate::handle::KernelHandle;
use crate::info;
use crate::memory::{Object, Sampler, Shape, SvmBuffer};
use crate::program::Program;
use crate::queue::Queue;
use crate::range::{self, GroupRules, RangeError};

/// Why a kernel cannot be made or launched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The program has no such kernel.
    #[error("{program} has no kernel `{entry}`; it has {}", kernels.join(", "))]
    NoSuchKernel {
        /// Name of the program.
        program: String,
        /// The kernel asked for.
        entry: String,
        /// The kernels there are.
        kernels: Vec<String>,
    },
    /// Too many or too few arguments.
    #[error("kernel `{entry}` takes {want} arguments, {found} were given")]
    Count {
        /// The kernel.
        entry: String,
        /// How many it takes.
        want: usize,
        /// How many it was given.
        found: usize,
    },
    /// An argument of another kind, type or size than the kernel declares.
    #[error("kernel `{entry}`, argument {index} (`{name}`): wants {want}, was given {found}")]
    Argument {
        /// The kernel.
        entry: String,
        /// 0-based position.
        index: usize,
        /// The argument's name, empty when the driver does not know it.
        name: String,
        /// What the kernel declares.
        want: String,
        /// What was passed.
        found: String,
    },
    /// A range the kernel or the device cannot take.
    #[error("kernel `{entry}` cannot run {range}: {source}")]
    Range {
        /// The kernel.
        entry: String,
        /// The range asked for.
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

/// Where a kernel argument lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// `global`: a buffer or an image.
    Global,
    /// `constant`: a buffer.
    Constant,
    /// `local`: a size.
    Local,
    /// By value, or a sampler.
    Private,
}

/// One argument as the kernel declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentInfo {
    /// Its name.
    pub name: String,
    /// Its type as the driver writes it, e.g. `float4*`.
    pub type_name: String,
    /// Where it lives.
    pub space: Space,
}

/// What the driver knows of a kernel's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelArguments {
    /// Each argument.
    Known(Vec<ArgumentInfo>),
    /// Only how many there are.
    Counted(usize),
}

impl KernelArguments {
    /// How many arguments the kernel takes.
    pub fn len(&self) -> usize {
        match self {
            Self::Known(all) => all.len(),
            Self::Counted(count) => *count,
        }
    }

    /// Whether it takes none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One argument of a launch.
#[derive(Clone)]
pub struct Arg<'a>(Kind<'a>);

#[derive(Clone)]
enum Kind<'a> {
    Memory(&'a Object),
    Svm(&'a SvmBuffer),
    Sampler(&'a Sampler),
    Value(Value),
    Bytes(&'a [u8]),
    Local(usize),
    Null,
}

impl<'a> Arg<'a> {
    /// A scalar or vector by value.
    pub fn value(value: impl Into<Value>) -> Self {
        Self(Kind::Value(value.into()))
    }

    /// A struct by value: its bytes as the device lays it out.
    pub fn bytes(bytes: &'a [u8]) -> Self {
        Self(Kind::Bytes(bytes))
    }

    /// `NULL` in the place of a buffer.
    pub fn null() -> Self {
        Self(Kind::Null)
    }

    /// Local memory of `bytes` bytes.
    pub fn local(bytes: usize) -> Self {
        Self(Kind::Local(bytes))
    }

    pub(crate) fn memory(object: &'a Object) -> Self {
        Self(Kind::Memory(object))
    }

    pub(crate) fn svm(buffer: &'a SvmBuffer) -> Self {
        Self(Kind::Svm(buffer))
    }

    fn context(&self) -> Option<&Context> {
        match &self.0 {
            Kind::Svm(buffer) => Some(buffer.context()),
            Kind::Memory(object) => Some(object.context()),
            Kind::Sampler(sampler) => Some(sampler.context()),
            Kind::Value(_) | Kind::Bytes(_) | Kind::Local(_) | Kind::Null => None,
        }
    }

    fn shown(&self) -> String {
        match &self.0 {
            Kind::Memory(object) => match object.shape() {
                Shape::Buffer { bytes } => format!("a buffer of {bytes} bytes"),
                Shape::Image { shape } => format!("an {} of {}", shape.opencl_type(), shape.extent),
            },
            Kind::Svm(buffer) => format!("a shared buffer of {} bytes", buffer.bytes()),
            Kind::Sampler(_) => "a sampler".to_owned(),
            Kind::Value(value) => format!("a value of type {}", value.opencl_name()),
            Kind::Bytes(bytes) => format!("a struct of {} bytes", bytes.len()),
            Kind::Local(bytes) => format!("{bytes} bytes of local memory"),
            Kind::Null => "NULL".to_owned(),
        }
    }
}

impl<'a> From<&'a Sampler> for Arg<'a> {
    fn from(sampler: &'a Sampler) -> Self {
        Self(Kind::Sampler(sampler))
    }
}

/// A kernel of a program. Cheap to clone; clones are the same kernel, and any number of threads may
/// launch it at once.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    handle: KernelHandle,
    /// clSetKernelArg is the one call that is not thread-safe: from the first argument to the enqueue the
    /// kernel belongs to one thread.
    setting: Mutex<()>,
    program: Program,
    entry: String,
    arguments: KernelArguments,
    facts: KernelFacts,
    rules: GroupRules,
}

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
        let ask = |question| cl::get_kernel_work_group_data(raw, device.id(), question).ok();
        let number = |question| ask(question).and_then(|bytes| info::number(&bytes)).unwrap_or(0);
        let facts = KernelFacts {
            max_work_group_size: number(cl::CL_KERNEL_WORK_GROUP_SIZE) as usize,
            preferred_work_group_multiple: number(cl::CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) as usize,
            local_bytes: number(cl::CL_KERNEL_LOCAL_MEM_SIZE),
            private_bytes: number(cl::CL_KERNEL_PRIVATE_MEM_SIZE),
        };
        let required = ask(cl::CL_KERNEL_COMPILE_WORK_GROUP_SIZE).map(|bytes| info::sizes(&bytes));
        let rules = GroupRules {
            max_group: facts.max_work_group_size,
            required: match required.as_deref() {
                // All zero when the kernel has no reqd_work_group_size.
                Some(&[x, y, z]) if x > 0 => Some([x, y, z]),
                _ => None,
            },
            non_uniform: range::allows_non_uniform(program.options(), device.probe()),
        };
        Ok(Self(Arc::new(Inner {
            handle,
            setting: Mutex::new(()),
            program: program.clone(),
            entry: entry.to_owned(),
            arguments,
            facts,
            rules,
        })))
    }

    /// Its name.
    pub fn entry(&self) -> &str {
        &self.0.entry
    }

    /// What it declares of its arguments.
    pub fn arguments(&self) -> &KernelArguments {
        &self.0.arguments
    }

    /// What the compiler says of it; 0 where it does not say.
    pub fn facts(&self) -> KernelFacts {
        self.0.facts
    }

    /// Checks arguments and range as a launch does, and runs nothing.
    ///
    /// # Errors
    /// As [`Self::launch`], but for what only the driver finds.
    pub fn check(&self, arguments: &[Arg<'_>], range: &NdRange) -> Result<(), LaunchError> {
        let entry = || self.0.entry.clone();
        let want = self.0.arguments.len();
        if arguments.len() != want {
            return Err(LaunchError::Count { entry: entry(), want, found: arguments.len() });
        }
        for (index, argument) in arguments.iter().enumerate() {
            let info = match &self.0.arguments {
                KernelArguments::Known(all) => all.get(index),
                KernelArguments::Counted(_) => None,
            };
            let ours = argument.context().is_none_or(|context| context.is(self.0.program.context()));
            let want = if ours {
                let Some(info) = info else { continue };
                match mismatch(info, argument) {
                    None => continue,
                    Some(want) => want,
                }
            } else {
                "an object of the kernel's own context".to_owned()
            };
            return Err(LaunchError::Argument {
                entry: entry(),
                index,
                name: info.map(|info| info.name.clone()).unwrap_or_default(),
                want,
                found: argument.shown(),
            });
        }
        let probe = self.0.program.context().device().probe();
        let local = arguments.iter().map(|argument| match argument.0 {
            Kind::Local(bytes) => bytes as u64,
            _ => 0,
        });
        range::check(range, probe, &self.0.rules)
            .and_then(|()| range::check_local_memory(self.0.facts.local_bytes, local.sum(), probe))
            .map_err(|source| LaunchError::Range { entry: entry(), range: format!("{range:?}"), source })
    }

    /// Puts the kernel into `queue` with all its arguments, and returns without waiting for it.
    ///
    /// A launch with a buffer over borrowed host memory waits until the kernel ended.
    ///
    /// # Errors
    /// Arguments that do not fit what the kernel declares, a range it or the device cannot take (the
    /// driver is not asked then); the driver fails; the device is gone.
    pub fn launch(
        &self,
        queue: &Queue,
        arguments: &[Arg<'_>],
        range: &NdRange,
    ) -> Result<Event, LaunchError> {
        self.check(arguments, range)?;
        let failed = |source| LaunchError::Call { entry: self.0.entry.clone(), source };
        if !queue.context().is(self.0.program.context()) {
            let code = Code(codes::CL_INVALID_CONTEXT);
            return Err(failed(CallError { call: "clEnqueueNDRangeKernel", code }));
        }
        let raw = self.0.handle.raw();
        let event = {
            let _mine = self.0.setting.lock().unwrap_or_else(PoisonError::into_inner);
            for (index, argument) in arguments.iter().enumerate() {
                self.set(index as u32, argument).map_err(|code| self.refused(index, argument, code))?;
            }
            let (global, offset, local) = (range.global_size(), range.global_offset(), range.local_size());
            let local = local.as_ref().map_or(std::ptr::null(), |local| local.as_ptr());
            // SAFETY: kernel and queue are of one context; all arguments were just set to live objects of
            // the declared kind; the size arrays have three elements and live for the call.
            unsafe {
                cl3::command_queue::enqueue_nd_range_kernel(
                    queue.raw(),
                    raw,
                    range.dimensions() as u32,
                    offset.as_ptr(),
                    global.as_ptr(),
                    local,
                    0,
                    std::ptr::null(),
                )
            }
            .map_err(CallError::at("clEnqueueNDRangeKernel"))
            .map_err(failed)?
        };
        // SAFETY: the call returned a new event.
        let event = unsafe { Event::own(event) };
        let borrowed =
            |argument: &Arg<'_>| matches!(&argument.0, Kind::Memory(object) if object.synchronous());
        if arguments.iter().any(borrowed) {
            event.wait().map_err(failed)?;
        }
        Ok(event)
    }

    /// An argument the driver does not take: of a type whose size only the driver knows, or when it keeps
    /// no argument information.
    fn refused(&self, index: usize, argument: &Arg<'_>, code: i32) -> LaunchError {
        let entry = self.0.entry.clone();
        let info = match &self.0.arguments {
            KernelArguments::Known(all) => all.get(index),
            KernelArguments::Counted(_) => None,
        };
        match code {
            codes::CL_INVALID_ARG_SIZE
            | codes::CL_INVALID_ARG_VALUE
            | codes::CL_INVALID_MEM_OBJECT
            | codes::CL_INVALID_SAMPLER => LaunchError::Argument {
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

    fn set(&self, index: u32, argument: &Arg<'_>) -> Result<(), i32> {
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
                return unsafe {
                    cl::set_kernel_arg_svm_pointer(self.0.handle.raw(), index, buffer.pointer())
                };
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
        // SAFETY: `value` points to `size` live bytes, or is null for local memory; the objects live as
        // long as the call, and the driver keeps those it needs for a queued kernel.
        unsafe { cl::set_kernel_arg(self.0.handle.raw(), index, size, value) }
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

/// The driver's kernel object.
pub(crate) fn create(program: &Program, entry: &str) -> Result<KernelHandle, LaunchError> {
    let missing = || LaunchError::NoSuchKernel {
        program: program.name().to_owned(),
        entry: entry.to_owned(),
        kernels: program.kernels().to_vec(),
    };
    let name = CString::new(entry).map_err(|_| missing())?;
    match cl::create_kernel(program.raw(), &name) {
        // SAFETY: just created.
        Ok(raw) => Ok(unsafe { KernelHandle::own(raw) }),
        Err(codes::CL_INVALID_KERNEL_NAME) => Err(missing()),
        Err(code) => {
            let source = CallError { call: "clCreateKernel", code: Code(code) };
            Err(LaunchError::Call { entry: entry.to_owned(), source })
        }
    }
}

fn argument_count(kernel: &KernelHandle) -> usize {
    let count = cl::get_kernel_data(kernel.raw(), cl::CL_KERNEL_NUM_ARGS).ok();
    count.and_then(|bytes| info::number(&bytes)).unwrap_or(0) as usize
}

/// All arguments, `None` when the driver does not know one of them.
pub(crate) fn argument_infos(kernel: &KernelHandle) -> Option<Vec<ArgumentInfo>> {
    (0..argument_count(kernel)).map(|index| argument_info(kernel, index as u32)).collect()
}

fn argument_info(kernel: &KernelHandle, index: u32) -> Option<ArgumentInfo> {
    let ask = |question| cl::get_kernel_arg_data(kernel.raw(), index, question).ok();
    let space = info::number(&ask(cl::CL_KERNEL_ARG_ADDRESS_QUALIFIER)?)? as u32;
    let type_name = info::text(&ask(cl::CL_KERNEL_ARG_TYPE_NAME)?);
    if type_name.is_empty() {
        return None;
    }
    Some(ArgumentInfo {
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

/// What the kernel wants, if the argument is something else.
fn mismatch(info: &ArgumentInfo, argument: &Arg<'_>) -> Option<String> {
    let name = info.type_name.as_str();
    // Some drivers put the access qualifier before the type: `__read_only image2d_t`.
    let image = name.split_whitespace().find(|word| word.starts_with("image") && word.ends_with("_t"));
    let fits = match (&argument.0, info.space) {
        (Kind::Sampler(_), _) => name.ends_with("sampler_t"),
        (Kind::Memory(object), _) if image.is_some() => match object.shape() {
            Shape::Buffer { .. } => false,
            Shape::Image { shape } => image == Some(shape.opencl_type()),
        },
        (Kind::Memory(object), Space::Global | Space::Constant) => {
            matches!(object.shape(), Shape::Buffer { .. })
        }
        (Kind::Svm(_) | Kind::Null, Space::Global | Space::Constant) => image.is_none(),
        (Kind::Local(bytes), Space::Local) => *bytes > 0,
        // A struct's size is the driver's to check, and not all do.
        (Kind::Bytes(_), Space::Private) if image.is_none() && !name.ends_with("sampler_t") => {
            value_type(name).is_none()
        }
        (Kind::Value(value), Space::Private) if image.is_none() && !name.ends_with("sampler_t") => {
            match value_type(name) {
                Some((element, lanes)) => element == value.element() && lanes == value.lanes(),
                // A typedef or a struct: its size is the driver's to check.
                None => true,
            }
        }
        _ => false,
    };
    if fits {
        return None;
    }
    Some(match info.space {
        _ if image.is_some() => format!("an image of type {name}"),
        Space::Global => format!("a buffer (global {name})"),
        Space::Constant => format!("a buffer (constant {name})"),
        Space::Local => format!("local memory of more than 0 bytes (local {name})"),
        Space::Private if name.ends_with("sampler_t") => "a sampler".to_owned(),
        Space::Private => format!("a value of type {name}"),
    })
}

/// `float4` is (F32, 4); `None` for a name that is no built-in value type.
fn value_type(name: &str) -> Option<(ScalarType, usize)> {
    let words = name.trim();
    let digits = words.len() - words.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (element, lanes) = words.split_at(words.len() - digits);
    let lanes = match lanes {
        "" => 1,
        "2" => 2,
        "3" => 3,
        "4" => 4,
        "8" => 8,
        "16" => 16,
        _ => return None,
    };
    let element = match element.trim() {
        "char" | "signed char" => ScalarType::I8,
        "uchar" | "unsigned char" => ScalarType::U8,
        "short" | "signed short" => ScalarType::I16,
        "ushort" | "unsigned short" => ScalarType::U16,
        "int" | "signed int" | "signed" => ScalarType::I32,
        "uint" | "unsigned int" | "unsigned" => ScalarType::U32,
        "long" | "signed long" => ScalarType::I64,
        "ulong" | "unsigned long" => ScalarType::U64,
        "half" => ScalarType::F16,
        "float" => ScalarType::F32,
        "double" => ScalarType::F64,
        _ => return None,
    };
    Some((element, lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_as_drivers_write_them() {
        assert_eq!(value_type("float4"), Some((ScalarType::F32, 4)));
        assert_eq!(value_type("uint"), Some((ScalarType::U32, 1)));
        assert_eq!(value_type("unsigned int"), Some((ScalarType::U32, 1)));
        assert_eq!(value_type("uchar16"), Some((ScalarType::U8, 16)));
        assert_eq!(value_type("my_struct"), None);
        assert_eq!(value_type("float5"), None);
    }

    fn declared(space: Space, type_name: &str) -> ArgumentInfo {
        ArgumentInfo { name: "x".to_owned(), type_name: type_name.to_owned(), space }
    }

    #[test]
    fn values_are_compared_by_type_not_by_size() {
        let int = declared(Space::Private, "int");
        assert_eq!(mismatch(&int, &Arg::value(1i32)), None);
        for wrong in [Arg::value(1u32), Arg::value(1.0f32), Arg::value(1i64), Arg::value([1i32; 4])] {
            assert_eq!(mismatch(&int, &wrong).as_deref(), Some("a value of type int"));
        }
        let unknown = declared(Space::Private, "real");
        assert_eq!(mismatch(&unknown, &Arg::value(1.0f32)), None);
    }

    #[test]
    fn structs_and_null_go_where_they_may() {
        let fits = |space, type_name, argument| mismatch(&declared(space, type_name), &argument).is_none();
        assert!(fits(Space::Private, "struct s", Arg::bytes(&[0; 12])));
        assert!(!fits(Space::Private, "int", Arg::bytes(&[0; 4])));
        assert!(!fits(Space::Private, "sampler_t", Arg::bytes(&[0; 8])));
        assert!(!fits(Space::Global, "struct s*", Arg::bytes(&[0; 12])));
        assert!(fits(Space::Global, "float*", Arg::null()) && fits(Space::Constant, "float*", Arg::null()));
        for (space, type_name) in
            [(Space::Local, "float*"), (Space::Private, "int"), (Space::Global, "image2d_t")]
        {
            assert!(!fits(space, type_name, Arg::null()), "{type_name}");
        }
    }

    #[test]
    fn local_memory_goes_to_local_pointers_only() {
        assert_eq!(mismatch(&declared(Space::Local, "float*"), &Arg::local(4)), None);
        assert!(mismatch(&declared(Space::Local, "float*"), &Arg::local(0)).is_some());
        assert!(mismatch(&declared(Space::Global, "float*"), &Arg::local(4)).is_some());
        assert!(mismatch(&declared(Space::Private, "sampler_t"), &Arg::value(1i32)).is_some());
    }
}
