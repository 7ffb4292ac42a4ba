//! A program on the simulator, with buffers of numbers.

use std::sync::Arc;

use bytemuck::Pod;
use tripipe_ir::diagnostic::Finding;
use tripipe_ir::front::clang::{Clang, Translator};
use tripipe_launch::{
    Access, Argument, Executor as _, Launch, MemoryId, MemoryKind, NdRange, Program, Source,
};
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Options, Simulator};

/// A simulator and the program that runs on it.
pub(crate) struct Bench {
    pub(crate) simulator: Simulator,
    program: Arc<Program>,
}

impl Bench {
    /// With default options. `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` requires
    /// one.
    pub(crate) fn new(source: impl Into<String>, build: &str) -> Option<Self> {
        Self::with(Options::default(), source, build)
    }

    pub(crate) fn with(options: Options, source: impl Into<String>, build: &str) -> Option<Self> {
        if !Self::has_clang() {
            return None;
        }
        let mut program = Program::from_source("test.cl", source.into());
        for option in build.split_whitespace() {
            program = program.option(option);
        }
        Some(Self { simulator: Simulator::new(options), program: Arc::new(program) })
    }

    /// Whether clang is available; prints a message if not, unless `TRIPIPE_REQUIRE_CLANG` requires it.
    pub(crate) fn has_clang() -> bool {
        let found = Clang::find().is_ok_and(|clang| clang.translator != Translator::BackEnd);
        if !found {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "no clang with llvm-spirv");
            println!("skipped: no clang with llvm-spirv");
        }
        found
    }

    /// For a module that was built earlier.
    pub(crate) fn built(options: Options, spirv: &[u8]) -> Self {
        let program = Program {
            name: "test.spv".into(),
            source: Source::SpirV(spirv.into()),
            defines: Vec::new(),
            options: Vec::new(),
        };
        Self { simulator: Simulator::new(options), program: Arc::new(program) }
    }

    pub(crate) fn buffer<T: Pod>(&mut self, contents: &[T]) -> MemoryId {
        let bytes: &[u8] = bytemuck::cast_slice(contents);
        let kind = MemoryKind::Buffer { bytes: bytes.len() };
        self.simulator.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
    }

    pub(crate) fn read<T: Pod>(&mut self, memory: MemoryId, count: usize) -> Vec<T> {
        let mut contents = vec![T::zeroed(); count];
        self.simulator.read(memory, 0, bytemuck::cast_slice_mut(&mut contents)).unwrap();
        contents
    }

    fn launch(&self, entry: &str, range: NdRange, arguments: &[Argument]) -> Launch {
        Launch {
            program: Arc::clone(&self.program),
            entry: entry.to_owned(),
            arguments: arguments.to_vec(),
            range,
        }
    }

    /// Checks a kernel.
    pub(crate) fn check(&mut self, entry: &str, range: NdRange, arguments: &[Argument]) -> Vec<Finding> {
        self.try_check(entry, range, arguments).unwrap()
    }

    /// Checks a kernel; returns the error message if that is impossible.
    pub(crate) fn try_check(
        &mut self,
        entry: &str,
        range: NdRange,
        arguments: &[Argument],
    ) -> Result<Vec<Finding>, String> {
        let launch = self.launch(entry, range, arguments);
        let checked = self.simulator.check(&launch, &Checks::all());
        checked.map(|checked| checked.findings).map_err(|error| error.to_string())
    }

    /// Runs a kernel; returns the error message if it fails.
    pub(crate) fn try_run(
        &mut self,
        entry: &str,
        range: NdRange,
        arguments: &[Argument],
    ) -> Result<(), String> {
        let launch = self.launch(entry, range, arguments);
        self.simulator.run(&[launch]).map(drop).map_err(|error| error.to_string())
    }

    pub(crate) fn run(&mut self, entry: &str, range: NdRange, arguments: &[Argument]) {
        if let Err(error) = self.try_run(entry, range, arguments) {
            panic!("{entry}: {error}");
        }
    }
}

/// A memory object as an argument.
pub(crate) fn memory(id: MemoryId) -> Argument {
    Argument::Memory(id)
}
