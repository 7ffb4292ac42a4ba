//! Programs: built once, with the decoded code of each kernel.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tripipe_ir::front::clang::{self, BuildError};
use tripipe_ir::front::spirv;
use tripipe_ir::{Inst, Kernel, Module};
use tripipe_launch::{ExecuteError, Program, Source};

use super::options::Options;
use crate::drivers;
use crate::execute::code::Code;
use crate::execute::decode::{self, Observes};
use crate::execute::slice::Slice;
use crate::source::location_of;
use crate::trace;
use crate::watch::plan::watchers;

/// What code is decoded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Running.
    Run,
    /// Running with checks.
    Check,
    /// Recording.
    Trace,
    /// Running with the bounds of each number.
    Bound,
}

/// The programs of a simulator.
#[derive(Default)]
pub(super) struct Programs {
    all: HashMap<Arc<Program>, Loaded>,
}

impl Programs {
    /// A program, built at the first call; `device` is the simulator's name.
    pub(super) fn load(
        &mut self,
        program: &Arc<Program>,
        options: &Options,
        device: &str,
    ) -> Result<&mut Loaded, ExecuteError> {
        Ok(match self.all.entry(Arc::clone(program)) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(place) => place.insert(Loaded::new(program, options, device)?),
        })
    }

    pub(super) fn release(&mut self, program: &Program) {
        self.all.remove(program);
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

/// A program that was built.
pub(super) struct Loaded {
    pub(super) module: Module,
    refused: Vec<spirv::Refused>,
    /// The name of the GPU, if it is one without `double`.
    without_double: Option<&'static str>,
    /// By kernel and purpose.
    codes: HashMap<(String, Purpose), Arc<Code>>,
    /// Program-scope objects keep their contents between launches. Kernels number objects differently, so constants
    /// are created again.
    pub(super) objects: Option<Vec<Vec<u8>>>,
}

impl Loaded {
    /// Builds a program; `device` is the simulator's name.
    fn new(program: &Program, options: &Options, device: &str) -> Result<Self, ExecuteError> {
        let failed = |summary: String, line: Option<u32>| ExecuteError::Build {
            program: program.name.to_string(),
            // The summary names the file.
            part: None,
            line,
            summary: first_error(&summary).to_owned(),
            log: summary,
        };
        let offered = options.build.offered.as_ref();
        let without_double = options
            .gpu
            .filter(|_| offered.is_some_and(|offered| !offered.has("cl_khr_fp64")))
            .map(tripipe_device::Gpu::name);
        let built;
        // Prebuilt programs were built from the unchanged source, without further options.
        let as_usual =
            options.build.options.is_empty() && options.build.optimization == clang::Optimization::AsWritten;
        let prebuilt = options.prebuilt.filter(|_| as_usual).and_then(|find| find(program));
        let bytes: &[u8] = match (&program.source, prebuilt) {
            (_, Some(bytes)) => bytes,
            (Source::SpirV(bytes), None) => bytes,
            (Source::OpenClC(text), None) => {
                let mut build = options.build.clone();
                for (name, value) in &program.defines {
                    build.options.push(format!("-D{name}={value}"));
                }
                build.options.extend(program.options.iter().cloned());
                let found = match clang::build_text(&program.name, text, None, &build) {
                    // The translator does not know all that the optimiser makes.
                    Err(BuildError::Translate { .. })
                        if build.optimization != clang::Optimization::AsWritten =>
                    {
                        build.optimization = clang::Optimization::AsWritten;
                        clang::build_text(&program.name, text, None, &build)
                    }
                    found => found,
                };
                built = found.map_err(|error| failed(error.to_string(), None))?;
                &built.spirv
            }
            (_, None) => {
                return Err(ExecuteError::NotOffered {
                    what: "this form of program".into(),
                    device: device.to_owned(),
                });
            }
        };
        let math = spirv::Math::of(&program.options);
        let load = spirv::Options { math, ..spirv::Options::default() };
        let spirv::Loaded { mut module, refused } = spirv::load_each(bytes, &load).map_err(|error| {
            let line =
                error.location().and_then(|location| location.source.as_ref()).map(|location| location.line);
            failed(error.to_string(), line)
        })?;
        if let Some(quirk) = options.inject {
            drivers::inject(&mut module, &program.options, quirk);
        }
        Ok(Self { module, refused, without_double, codes: HashMap::new(), objects: None })
    }

    /// A kernel of the program.
    ///
    /// # Errors
    /// There is none of that name, or it was refused.
    pub(super) fn kernel(&self, program: &Program, entry: &str) -> Result<&Kernel, ExecuteError> {
        if let Some(kernel) = self.module.kernel(entry) {
            return Ok(kernel);
        }
        let name = program.name.to_string();
        if let Some(refused) = self.refused.iter().find(|refused| refused.kernel == entry) {
            let location = refused.error.location().and_then(|location| location.source.as_ref());
            return Err(ExecuteError::Build {
                part: location.map(|location| location.file.clone()).filter(|file| *file != name),
                program: name,
                line: location.map(|location| location.line),
                summary: refused.error.to_string(),
                log: refused.error.to_string(),
            });
        }
        Err(ExecuteError::NoSuchKernel {
            program: name,
            entry: entry.to_owned(),
            kernels: self
                .module
                .kernels
                .iter()
                .map(|kernel| kernel.name.clone())
                .chain(self.refused.iter().map(|refused| refused.kernel.clone()))
                .collect(),
        })
    }

    /// The code of a kernel of the program, decoded at the first call.
    pub(super) fn code(
        &mut self,
        program: &Program,
        entry: &str,
        purpose: Purpose,
    ) -> Result<Arc<Code>, ExecuteError> {
        let name = program.name.to_string();
        if let Some(code) = self.codes.get(&(entry.to_owned(), purpose)) {
            return Ok(Arc::clone(code));
        }
        let kernel = self.kernel(program, entry)?;
        let module = &self.module;
        if let (Some(gpu), Some(inst)) = (self.without_double, kernel.first_double()) {
            let location = location_of(module, kernel, inst);
            let summary = format!(
                "kernel `{entry}` uses `double`, which {gpu} does not have (cl_khr_fp64): use `float`"
            );
            return Err(ExecuteError::Build {
                part: location.as_ref().map(|location| location.file.clone()).filter(|file| *file != name),
                program: name,
                line: location.as_ref().map(|location| location.line),
                log: summary.clone(),
                summary,
            });
        }
        let describe = |inst: Inst| {
            let data = &kernel.insts[inst];
            (data.op.to_string(), location_of(module, kernel, inst))
        };
        let watchers = (purpose == Purpose::Check).then(|| watchers(kernel));
        let checked = |inst: Inst| watchers.as_ref().is_some_and(|watchers| watchers[inst].is_some());
        let traced = |inst: Inst| trace::observes(kernel, inst);
        let observes: Option<Observes<'_>> = match purpose {
            Purpose::Run => None,
            Purpose::Check => Some(&checked),
            Purpose::Trace => Some(&traced),
            Purpose::Bound => Some(&|_| true),
        };
        let slice = (purpose == Purpose::Trace).then(|| Slice::new(kernel));
        let code = decode::decode(kernel, describe, observes, slice.as_ref()).map_err(|error| {
            ExecuteError::Build {
                part: error
                    .location
                    .as_ref()
                    .map(|location| location.file.clone())
                    .filter(|file| *file != name),
                program: name,
                line: error.location.as_ref().map(|location| location.line),
                summary: error.to_string(),
                log: error.to_string(),
            }
        })?;
        let code = Arc::new(code);
        self.codes.insert((entry.to_owned(), purpose), Arc::clone(&code));
        Ok(code)
    }
}

/// The first error that a compiler reports, without what comes before it.
fn first_error(messages: &str) -> &str {
    let error = messages.lines().find(|line| line.contains("error: "));
    error.or(messages.lines().next()).unwrap_or_default()
}
