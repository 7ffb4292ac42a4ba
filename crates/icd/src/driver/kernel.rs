//! Kernels and their arguments.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

use opencl_sys as cl;
use tripipe_ir::{ImageAccess, Kernel as IrKernel, Parameter, ParameterKind, Scalar, Space, Type};
use tripipe_launch::locks::lock;
use tripipe_launch::{Sampler, ScalarType, Value};
use tripipe_simulate::image::Image;

use super::context::Context;
use super::failure::{Failure, Outcome, require};
use super::handle::{Handle, api_object, find, register};
use super::memory::Memory;
use super::program::{Executable, Program};
use super::sampler::ContextSampler;
use super::settings::Settings;
use super::storage::Storage;

/// A kernel.
pub struct Kernel {
    pub(super) handle: Handle,
    /// Its program.
    pub program: Arc<Program>,
    /// The program as it was built.
    pub executable: Arc<Executable>,
    /// Its position among the kernels of the module.
    index: usize,
    arguments: Mutex<Vec<Option<Stored>>>,
    /// Shared virtual memory that the kernel uses without an argument.
    pub shared: Mutex<Vec<Arc<Storage>>>,
}

/// An argument that was set.
#[derive(Clone)]
pub enum Set {
    /// A buffer or an image.
    Object(Arc<Memory>),
    /// A pointer into shared virtual memory: its offset there.
    Shared(Arc<Storage>, usize),
    /// A pointer that is null.
    Null,
    /// A scalar or a vector.
    Value(Value),
    /// A struct.
    Bytes(Arc<[u8]>),
    /// Local memory of this size.
    Local(usize),
    /// A sampler.
    Sampler(Sampler),
}

/// An argument as a kernel stores it. OpenCL 3.0, clSetKernelArg: kernels do not retain memory objects, because an
/// application cannot have a kernel release them.
#[derive(Clone)]
enum Stored {
    Object(Weak<Memory>),
    Other(Set),
}

impl Stored {
    fn new(set: Set) -> Self {
        match set {
            Set::Object(memory) => Self::Object(Arc::downgrade(&memory)),
            other => Self::Other(other),
        }
    }

    /// The argument; `None` if the memory object is gone.
    fn load(&self) -> Option<Set> {
        match self {
            Self::Object(memory) => memory.upgrade().map(Set::Object),
            Self::Other(set) => Some(set.clone()),
        }
    }
}

api_object!(Kernel, cl::CL_INVALID_KERNEL, "kernel", |object| object.program.owner());

/// What an application passes as the value of an argument.
pub struct ArgumentBytes<'a> {
    /// The bytes of the value; `None` for NULL.
    pub bytes: Option<&'a [u8]>,
    /// The size that it gave.
    pub size: usize,
}

impl ArgumentBytes<'_> {
    /// The pointer or handle in the bytes.
    fn pointer(&self) -> Option<*mut c_void> {
        let bytes: [u8; size_of::<usize>()] = self.bytes?.try_into().ok()?;
        Some(usize::from_ne_bytes(bytes) as *mut c_void)
    }
}

fn scalar_type(scalar: Scalar) -> Option<ScalarType> {
    Some(match scalar {
        Scalar::Bool => return None,
        Scalar::I8 => ScalarType::I8,
        Scalar::I16 => ScalarType::I16,
        Scalar::I32 => ScalarType::I32,
        Scalar::I64 => ScalarType::I64,
        Scalar::F16 => ScalarType::F16,
        Scalar::F32 => ScalarType::F32,
        Scalar::F64 => ScalarType::F64,
    })
}

impl Kernel {
    /// The kernel of a name.
    ///
    /// # Errors
    /// The program was not built, has no such kernel, or the simulator cannot run it.
    pub fn new(program: &Arc<Program>, name: &str) -> Outcome<Arc<Self>> {
        let executable = program.executable()?;
        let kernels = &executable.module.kernels;
        let Some(index) = kernels.iter().position(|kernel| kernel.name == name) else {
            if let Some((_, why)) = executable.refused.iter().find(|refused| refused.0 == name) {
                let what = format!("kernel `{name}` cannot be run: {why}");
                return Err(Failure::new(cl::CL_OUT_OF_RESOURCES, what));
            }
            let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            let what = format!("the program has no kernel `{name}`; it has {}", names.join(", "));
            return Err(Failure::new(cl::CL_INVALID_KERNEL_NAME, what));
        };
        Ok(Self::of(program, &executable, index))
    }

    fn of(program: &Arc<Program>, executable: &Arc<Executable>, index: usize) -> Arc<Self> {
        program.kernels.fetch_add(1, Ordering::AcqRel);
        let count = executable.module.kernels[index].parameters.len();
        let kernel = Self {
            handle: Handle::default(),
            program: Arc::clone(program),
            executable: Arc::clone(executable),
            index,
            arguments: Mutex::new(vec![None; count]),
            shared: Mutex::default(),
        };
        register(kernel, 1)
    }

    /// All kernels of a program.
    ///
    /// # Errors
    /// The program was not built.
    pub fn count(program: &Arc<Program>) -> Outcome<usize> {
        Ok(program.executable()?.module.kernels.len())
    }

    /// All kernels of a program.
    ///
    /// # Errors
    /// The program was not built.
    pub fn all(program: &Arc<Program>) -> Outcome<Vec<Arc<Self>>> {
        let executable = program.executable()?;
        Ok((0..executable.module.kernels.len()).map(|index| Self::of(program, &executable, index)).collect())
    }

    /// A kernel with the same arguments.
    pub fn duplicate(&self) -> Arc<Self> {
        let other = Self::of(&self.program, &self.executable, self.index);
        lock(&other.arguments).clone_from(&lock(&self.arguments));
        lock(&other.shared).clone_from(&lock(&self.shared));
        other
    }

    /// The kernel in the module.
    pub fn ir(&self) -> &IrKernel {
        &self.executable.module.kernels[self.index]
    }

    /// A parameter.
    ///
    /// # Errors
    /// There is no such parameter.
    pub fn parameter(&self, index: u32) -> Outcome<&Parameter> {
        let kernel = self.ir();
        kernel.parameters.get(index as usize).ok_or_else(|| {
            let what = format!("kernel `{}` has {} arguments", kernel.name, kernel.parameters.len());
            Failure::new(cl::CL_INVALID_ARG_INDEX, what)
        })
    }

    /// Whether an argument is local memory.
    pub fn is_local(&self, index: u32) -> bool {
        self.parameter(index).is_ok_and(|parameter| {
            matches!(parameter.kind, ParameterKind::Pointer { space: Space::Local, .. })
        })
    }

    /// The size of an argument's value in bytes.
    ///
    /// # Errors
    /// There is no such argument.
    pub fn argument_bytes(&self, index: u32) -> Outcome<usize> {
        Ok(match &self.parameter(index)?.kind {
            ParameterKind::Pointer { .. } | ParameterKind::Value(Type::Image(_) | Type::Sampler) => {
                size_of::<usize>()
            }
            ParameterKind::Value(ty) => ty.stored_bytes() as usize,
            ParameterKind::Struct { object } => self.ir().objects[*object].bytes() as usize,
        })
    }

    /// Sets an argument.
    ///
    /// # Errors
    /// There is no such argument, or the value or its size does not fit its type.
    pub fn set(&self, index: u32, given: &ArgumentBytes<'_>) -> Outcome<()> {
        let parameter = self.parameter(index)?;
        let named = |code, what: &str| {
            let name = &self.ir().name;
            Failure::new(code, format!("kernel `{name}`, argument {index} (`{}`): {what}", parameter.name))
        };
        let wrong_size = || named(cl::CL_INVALID_ARG_SIZE, "the size does not fit the type");
        let wrong_value = || named(cl::CL_INVALID_ARG_VALUE, "the value does not fit the type");
        let sized = |size: usize| if given.size == size { Ok(()) } else { Err(wrong_size()) };
        let set = match &parameter.kind {
            ParameterKind::Pointer { space: Space::Local, align, .. } => {
                if given.size == 0 {
                    return Err(wrong_size());
                }
                if given.bytes.is_some() {
                    return Err(wrong_value());
                }
                // The next one begins at a multiple of the alignment, so that the bytes up to there are nobody's; checks
                // know better.
                let align = if Settings::current().check { 1 } else { *align as usize };
                Set::Local(given.size.next_multiple_of(align.max(1)))
            }
            ParameterKind::Pointer { .. } => {
                sized(size_of::<usize>())?;
                match given.pointer().filter(|pointer| !pointer.is_null()) {
                    None => Set::Null,
                    Some(handle) => {
                        let memory = find::<Memory>(handle)?;
                        self.check_context(memory.owner())?;
                        if !memory.is_buffer() {
                            return Err(named(cl::CL_INVALID_MEM_OBJECT, "an image instead of a buffer"));
                        }
                        Set::Object(memory)
                    }
                }
            }
            ParameterKind::Value(Type::Image(ty)) => {
                sized(size_of::<usize>())?;
                let no_image = || named(cl::CL_INVALID_MEM_OBJECT, "the value is not an image");
                let memory = find::<Memory>(given.pointer().ok_or_else(no_image)?)?;
                self.check_context(memory.owner())?;
                let facts = memory.image.as_ref().ok_or_else(no_image)?;
                let fits = Image::packed(&facts.shape).is_ok_and(|image| image.fits(*ty));
                if !fits {
                    return Err(named(cl::CL_INVALID_MEM_OBJECT, "an image of another type"));
                }
                let refused = match ty.access {
                    ImageAccess::Read => cl::CL_MEM_WRITE_ONLY,
                    ImageAccess::Write => cl::CL_MEM_READ_ONLY,
                    ImageAccess::ReadWrite => cl::CL_MEM_WRITE_ONLY | cl::CL_MEM_READ_ONLY,
                };
                if memory.flags & refused != 0 {
                    let what = "the image's flags forbid the access of the argument";
                    return Err(named(cl::CL_INVALID_ARG_VALUE, what));
                }
                Set::Object(memory)
            }
            ParameterKind::Value(Type::Sampler) => {
                sized(size_of::<usize>())?;
                let no_sampler = || named(cl::CL_INVALID_SAMPLER, "the value is not a sampler");
                let sampler = find::<ContextSampler>(given.pointer().ok_or_else(no_sampler)?)?;
                Set::Sampler(sampler.sampler)
            }
            ParameterKind::Value(ty) => {
                sized(ty.stored_bytes() as usize)?;
                let bytes = given.bytes.ok_or_else(wrong_value)?;
                let scalar = ty.scalar().and_then(scalar_type).ok_or_else(wrong_value)?;
                let value = Value::from_bytes(scalar, usize::from(ty.lanes()), bytes.to_vec());
                Set::Value(value.ok_or_else(wrong_size)?)
            }
            ParameterKind::Struct { object } => {
                sized(self.ir().objects[*object].bytes() as usize)?;
                Set::Bytes(given.bytes.ok_or_else(wrong_value)?.into())
            }
        };
        lock(&self.arguments)[index as usize] = Some(Stored::new(set));
        Ok(())
    }

    fn check_context(&self, other: &Arc<Context>) -> Outcome<()> {
        let own = Arc::ptr_eq(self.program.owner(), other);
        require(own, cl::CL_INVALID_MEM_OBJECT, "the memory object is of another context")
    }

    /// Sets an argument to a pointer into shared virtual memory.
    ///
    /// # Errors
    /// There is no such argument, it is no pointer to global or constant memory, or the address is not shared.
    pub fn set_shared(&self, index: u32, address: usize) -> Outcome<()> {
        let parameter = self.parameter(index)?;
        let is_pointer = matches!(
            &parameter.kind,
            ParameterKind::Pointer { space: Space::Global | Space::Constant | Space::Generic, .. }
        );
        require(is_pointer, cl::CL_INVALID_ARG_INDEX, "the argument is not a pointer to global memory")?;
        let set = if address == 0 {
            Set::Null
        } else {
            let block = self.program.owner().svm_at(address);
            let block = block.ok_or_else(|| {
                Failure::new(cl::CL_INVALID_ARG_VALUE, "the address is not in shared memory")
            })?;
            let start = block.shared_range().map_or(0, |range| range.address());
            Set::Shared(block, address - start)
        };
        lock(&self.arguments)[index as usize] = Some(Stored::new(set));
        Ok(())
    }

    /// All arguments.
    ///
    /// # Errors
    /// One of them was not set, or its memory object is gone.
    pub fn arguments(&self) -> Outcome<Vec<Set>> {
        let arguments = lock(&self.arguments);
        let set = arguments.iter().enumerate().map(|(index, set)| {
            set.as_ref().and_then(Stored::load).ok_or_else(|| {
                let (kernel, name) = (&self.ir().name, &self.ir().parameters[index].name);
                let why = if set.is_some() { "is a memory object that is gone" } else { "was not set" };
                let what = format!("argument {index} (`{name}`) of kernel `{kernel}` {why}");
                Failure::new(cl::CL_INVALID_KERNEL_ARGS, what)
            })
        });
        set.collect()
    }

    /// Bytes of local memory that its arguments have.
    pub(super) fn local_arguments(&self) -> usize {
        let arguments = lock(&self.arguments);
        let local = arguments.iter().flatten();
        local.map(|set| if let Stored::Other(Set::Local(bytes)) = set { *bytes } else { 0 }).sum()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.program.kernels.fetch_sub(1, Ordering::AcqRel);
    }
}
