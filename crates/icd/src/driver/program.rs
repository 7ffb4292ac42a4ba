//! Programs.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use opencl_sys::{cl_build_status, cl_program_binary_type, cl_program_build_info, cl_program_info};
use tripipe_ir::Module;
use tripipe_ir::front::spirv;
use tripipe_launch::locks::lock;
use tripipe_launch::{Executor as _, KernelFacts, Source};
use tripipe_simulate::drivers::Subject;

use super::binary::Binary;
use super::build::{self, BuildOptions, Built};
use super::context::Context;
use super::device::Device;
use super::engine::{self, Engine};
use super::failure::{Failure, Outcome, require};
use super::handle::{ApiObject, Handle, api_object, register};
use super::info::{self, Answer};
use super::inject;

/// What a program was made of.
pub enum Origin {
    /// OpenCL C.
    Source(String),
    /// SPIR-V.
    Module(Vec<u8>),
    /// A binary of this driver.
    Binary(Binary),
    /// Other programs, which were linked.
    Linked,
}

/// A program.
pub struct Program {
    handle: Handle,
    context: Arc<Context>,
    devices: Vec<Arc<Device>>,
    /// What it was made of.
    pub origin: Origin,
    state: Mutex<LastBuild>,
    /// Kernels of it that exist.
    pub(super) kernels: AtomicUsize,
    specialization: Mutex<Vec<(u32, Vec<u8>)>>,
}

/// The last build.
struct LastBuild {
    status: cl_build_status,
    options: String,
    log: String,
    built: Option<Arc<Executable>>,
    binary: Option<Arc<Binary>>,
}

/// A program that kernels can be taken from.
pub struct Executable {
    /// Its kernels.
    pub module: Module,
    /// The kernels that the simulator cannot run, and why.
    pub refused: Vec<(String, String)>,
    /// The program for executors.
    pub launch: Arc<tripipe_launch::Program>,
    engine: Arc<Engine>,
    facts: Mutex<HashMap<(usize, String), KernelFacts>>,
}

api_object!(Program, cl::CL_INVALID_PROGRAM, "program", |object| &object.context);

impl Executable {
    fn new(spirv: &[u8], engine: &Arc<Engine>) -> Outcome<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let loaded = spirv::load_each(spirv, &spirv::Options::default())
            .map_err(|error| Failure::new(cl::CL_BUILD_PROGRAM_FAILURE, error.to_string()))?;
        let refused: Vec<(String, String)> =
            loaded.refused.into_iter().map(|refused| (refused.kernel, refused.error.to_string())).collect();
        if let ([], Some((kernel, error))) = (&loaded.module.kernels[..], refused.first()) {
            return Err(Failure::new(cl::CL_BUILD_PROGRAM_FAILURE, format!("kernel `{kernel}`: {error}")));
        }
        let launch = tripipe_launch::Program {
            name: build::SOURCE_NAME.into(),
            source: Source::SpirV(spirv.into()),
            // Executors share what they built of equal programs; program-scope variables are not shared.
            defines: vec![("TRIPIPE_PROGRAM".into(), NEXT.fetch_add(1, Ordering::Relaxed).to_string())],
            options: Vec::new(),
        };
        let (launch, engine) = (Arc::new(launch), Arc::clone(engine));
        Ok(Self { module: loaded.module, refused, launch, engine, facts: Mutex::default() })
    }

    /// The first kernel that uses `double`.
    fn with_double(&self) -> Option<&str> {
        let kernel = self.module.kernels.iter().find(|kernel| kernel.first_double().is_some())?;
        Some(&kernel.name)
    }

    /// What the compiler of a device reports about a kernel.
    ///
    /// # Errors
    /// The device cannot run it.
    pub fn facts(&self, device: &Device, entry: &str) -> Outcome<KernelFacts> {
        let key = (device.index, entry.to_owned());
        if let Some(facts) = lock(&self.facts).get(&key) {
            return Ok(*facts);
        }
        let facts = self
            .engine
            .with(device, |gpu| gpu.prepare(&self.launch, entry).map_err(|error| engine::failure(&error)))?;
        lock(&self.facts).insert(key, facts);
        Ok(facts)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.engine.release_program_later(&self.launch);
    }
}

/// What compiling and linking are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `clBuildProgram`.
    Build,
    /// `clCompileProgram`.
    Compile,
}

impl Program {
    /// A program for devices of a context.
    pub fn new(context: Arc<Context>, devices: Vec<Arc<Device>>, origin: Origin) -> Arc<Self> {
        let binary = match &origin {
            Origin::Binary(binary) => Some(Arc::new(binary.clone())),
            _ => None,
        };
        let status = cl::CL_BUILD_NONE;
        let state = LastBuild { status, options: String::new(), log: String::new(), built: None, binary };
        let program = Self {
            handle: Handle::default(),
            context,
            devices,
            origin,
            state: Mutex::new(state),
            kernels: AtomicUsize::new(0),
            specialization: Mutex::default(),
        };
        register(program, 1)
    }

    /// Its context.
    pub fn owner(&self) -> &Arc<Context> {
        &self.context
    }

    /// Its devices.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// Fails unless devices are all the program's.
    ///
    /// # Errors
    /// One of them is not.
    pub fn check_devices(&self, devices: &[Arc<Device>]) -> Outcome<()> {
        let own = |device: &Arc<Device>| self.devices.iter().any(|own| own.index == device.index);
        require(devices.iter().all(own), cl::CL_INVALID_DEVICE, "a device is not one of the program's")
    }

    /// Begins a build: from now on the program has no kernels.
    ///
    /// # Errors
    /// It has kernels already, or another thread builds it.
    pub fn begin(&self, options: &str) -> Outcome<()> {
        let none = self.kernels.load(Ordering::Acquire) == 0;
        require(none, cl::CL_INVALID_OPERATION, "kernels of the program exist")?;
        let mut state = lock(&self.state);
        let free = state.status != cl::CL_BUILD_IN_PROGRESS;
        require(free, cl::CL_INVALID_OPERATION, "the program is being built")?;
        state.status = cl::CL_BUILD_IN_PROGRESS;
        options.clone_into(&mut state.options);
        state.log.clear();
        state.built = None;
        Ok(())
    }

    /// Builds or compiles it, after [`Self::begin`].
    ///
    /// # Errors
    /// It does not build; the build log says why.
    pub fn build(&self, step: Step, options: &BuildOptions, headers: &[(String, String)]) -> Outcome<()> {
        let outcome = self.make(step, options, headers);
        self.finish(outcome)
    }

    fn make(
        &self,
        step: Step,
        options: &BuildOptions,
        headers: &[(String, String)],
    ) -> Outcome<(Built, cl_program_binary_type)> {
        let kind = match step {
            Step::Build => cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
            Step::Compile => cl::CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
        };
        let code = match step {
            Step::Build => cl::CL_BUILD_PROGRAM_FAILURE,
            Step::Compile => cl::CL_COMPILE_PROGRAM_FAILURE,
        };
        let built = match (&self.origin, step) {
            (Origin::Source(source), _) => {
                build::compile(source, options, headers, Device::common_offer(&self.devices), code)?
            }
            (Origin::Module(bytes), _) => {
                let bytes = build::specialize(bytes, &lock(&self.specialization));
                let spirv = if step == Step::Build { build::optimize(bytes) } else { bytes };
                Built { spirv, log: String::new() }
            }
            (Origin::Binary(binary), Step::Build) => {
                let spirv = if binary.kind == cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE {
                    binary.spirv.clone()
                } else {
                    build::link(&[&binary.spirv], false)?.spirv
                };
                Built { spirv, log: String::new() }
            }
            (Origin::Binary(_), Step::Compile) | (Origin::Linked, _) => {
                let what = "the program has no source";
                return Err(Failure::new(cl::CL_INVALID_OPERATION, what));
            }
        };
        Ok((built, kind))
    }

    /// The executable of a module that its devices can run.
    fn checked(&self, spirv: &[u8]) -> Outcome<Executable> {
        let executable = Executable::new(spirv, &self.context.engine)?;
        if !self.devices.iter().any(|device| device.has_double())
            && let Some(kernel) = executable.with_double()
        {
            let names: Vec<&str> = self.devices.iter().map(|device| device.gpu.name()).collect();
            let what =
                format!("kernel `{kernel}` uses `double`; no `double` (cl_khr_fp64): {}", names.join(", "));
            return Err(Failure::new(cl::CL_BUILD_PROGRAM_FAILURE, what));
        }
        let options: Vec<String> = lock(&self.state).options.split_whitespace().map(str::to_owned).collect();
        let module = &executable.module;
        module
            .kernels
            .iter()
            .try_for_each(|kernel| inject::build(&Subject { module, kernel, options: &options }))?;
        Ok(executable)
    }

    /// Ends a build, a compilation or a link.
    pub(super) fn finish(&self, outcome: Outcome<(Built, cl_program_binary_type)>) -> Outcome<()> {
        let outcome = outcome.and_then(|(built, kind)| {
            let is_executable = kind == cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
            let executable = if is_executable { Some(Arc::new(self.checked(&built.spirv)?)) } else { None };
            Ok((built, kind, executable))
        });
        let mut state = lock(&self.state);
        match outcome {
            Ok((built, kind, executable)) => {
                state.status = cl::CL_BUILD_SUCCESS;
                state.log = built.log;
                for (kernel, error) in executable.iter().flat_map(|executable| &executable.refused) {
                    let _ = writeln!(state.log, "kernel `{kernel}` cannot be run: {error}");
                }
                let options = state.options.clone();
                state.binary = Some(Arc::new(Binary { kind, options, spirv: built.spirv }));
                state.built = executable;
                Ok(())
            }
            Err(failure) => {
                state.status = cl::CL_BUILD_ERROR;
                state.log = failure.message.clone().into_owned();
                state.binary = None;
                Err(failure)
            }
        }
    }

    /// Links programs to another one.
    ///
    /// # Errors
    /// One of them was not compiled, or they do not link; in the second case the program exists, with its log.
    pub fn link(
        context: &Arc<Context>,
        devices: Vec<Arc<Device>>,
        programs: &[Arc<Self>],
        text: &str,
        options: &BuildOptions,
    ) -> (Option<Arc<Self>>, Outcome<()>) {
        let mut modules = Vec::new();
        for program in programs {
            let binary = lock(&program.state).binary.clone();
            match binary {
                Some(binary) if binary.kind != cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE => modules.push(binary),
                _ => {
                    let what = "a program to link was not compiled";
                    return (None, Err(Failure::new(cl::CL_INVALID_OPERATION, what)));
                }
            }
        }
        let linked = Self::new(Arc::clone(context), devices, Origin::Linked);
        if let Err(failure) = linked.begin(text) {
            return (None, Err(failure));
        }
        let modules: Vec<&[u8]> = modules.iter().map(|binary| &binary.spirv[..]).collect();
        let kind = if options.library {
            cl::CL_PROGRAM_BINARY_TYPE_LIBRARY
        } else {
            cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE
        };
        let outcome = linked.finish(build::link(&modules, options.library).map(|built| (built, kind)));
        let outcome = outcome.map_err(|failure| match failure.code {
            cl::CL_BUILD_PROGRAM_FAILURE => Failure { code: cl::CL_LINK_PROGRAM_FAILURE, ..failure },
            _ => failure,
        });
        (Some(linked), outcome)
    }

    /// Sets the value of a specialization constant.
    ///
    /// # Errors
    /// The program is not SPIR-V, or has no such constant of this size.
    pub fn set_specialization(&self, id: u32, value: Vec<u8>) -> Outcome<()> {
        let Origin::Module(bytes) = &self.origin else {
            return Err(Failure::new(cl::CL_INVALID_PROGRAM, "the program was not made of SPIR-V"));
        };
        let constants = build::specialization_constants(bytes);
        let constant = constants.iter().find(|constant| constant.id == id);
        let constant = constant.ok_or_else(|| {
            Failure::new(cl::CL_INVALID_SPEC_ID, format!("the module has no specialization constant {id}"))
        })?;
        require(constant.bytes == value.len(), cl::CL_INVALID_VALUE, "the constant has another size")?;
        let mut values = lock(&self.specialization);
        values.retain(|(other, _)| *other != id);
        values.push((id, value));
        Ok(())
    }

    /// The executable.
    ///
    /// # Errors
    /// The program was not built, or linked, successfully.
    pub fn executable(&self) -> Outcome<Arc<Executable>> {
        let none =
            || Failure::new(cl::CL_INVALID_PROGRAM_EXECUTABLE, "the program was not built successfully");
        lock(&self.state).built.clone().ok_or_else(none)
    }

    /// Whether it was built with the option that forbids work-groups of different sizes.
    pub fn is_uniform(&self) -> bool {
        lock(&self.state).options.split_whitespace().any(|option| option == build::UNIFORM)
    }

    /// Whether its build options allow work-groups of different sizes on a device.
    pub fn allows_non_uniform(&self, device: &Device) -> bool {
        let options = &lock(&self.state).options;
        let probe = &device.probe;
        probe.non_uniform_work_groups || probe.allows_arms_non_uniform(options.split_whitespace())
    }

    /// The binary, as bytes; empty if there is none.
    pub fn binary(&self) -> Vec<u8> {
        lock(&self.state).binary.as_ref().map(|binary| binary.encode()).unwrap_or_default()
    }

    fn names(&self) -> Outcome<Vec<String>> {
        let executable = self.executable()?;
        let kernels = executable.module.kernels.iter().map(|kernel| kernel.name.clone());
        Ok(kernels.chain(executable.refused.iter().map(|refused| refused.0.clone())).collect())
    }

    /// Answers `clGetProgramInfo`, except for `CL_PROGRAM_BINARIES`.
    ///
    /// # Errors
    /// There is no such query, or the program was not built.
    pub fn info(&self, query: cl_program_info) -> Outcome<Answer> {
        let devices = || self.devices.iter();
        Ok(match query {
            cl::CL_PROGRAM_REFERENCE_COUNT => info::number(self.handle.references()),
            cl::CL_PROGRAM_CONTEXT => info::pointer(self.context.handle().pointer()),
            cl::CL_PROGRAM_NUM_DEVICES => info::number(self.devices.len() as u32),
            cl::CL_PROGRAM_DEVICES => {
                info::pointers(devices().map(|device| -> *mut c_void { device.handle().pointer() }))
            }
            cl::CL_PROGRAM_SOURCE => match &self.origin {
                Origin::Source(source) => info::text(source),
                _ => info::text(""),
            },
            cl::CL_PROGRAM_IL => match &self.origin {
                Origin::Module(bytes) => bytes.clone(),
                _ => Vec::new(),
            },
            cl::CL_PROGRAM_BINARY_SIZES => info::list(&vec![self.binary().len(); self.devices.len()]),
            cl::CL_PROGRAM_NUM_KERNELS => info::number(self.names()?.len()),
            cl::CL_PROGRAM_KERNEL_NAMES => info::text(&self.names()?.join(";")),
            cl::CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | cl::CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => {
                info::boolean(false)
            }
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of programs"),
                ));
            }
        })
    }

    /// Answers `clGetProgramBuildInfo`.
    ///
    /// # Errors
    /// There is no such query, or the device is not one of the program's.
    pub fn build_info(&self, device: &Arc<Device>, query: cl_program_build_info) -> Outcome<Answer> {
        self.check_devices(std::slice::from_ref(device))?;
        let state = lock(&self.state);
        Ok(match query {
            cl::CL_PROGRAM_BUILD_STATUS => info::number(state.status),
            cl::CL_PROGRAM_BUILD_OPTIONS => info::text(&state.options),
            cl::CL_PROGRAM_BUILD_LOG => info::text(&state.log),
            cl::CL_PROGRAM_BINARY_TYPE => {
                let binary = state.binary.as_ref();
                info::number(binary.map_or(cl::CL_PROGRAM_BINARY_TYPE_NONE, |binary| binary.kind))
            }
            cl::CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => {
                let objects = state.built.iter().flat_map(|built| built.module.objects.values());
                info::number(objects.map(|object| object.bytes() as usize).sum::<usize>())
            }
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of builds"),
                ));
            }
        })
    }
}
