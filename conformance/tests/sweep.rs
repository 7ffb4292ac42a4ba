//! A sweep of filters: every time has a verified result, best guess first, and no memory is leaked.

#![allow(clippy::unwrap_used, reason = "tests panic")]

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_kernels::filter::{self, Border, Chain, Element, Parameters, Raster, candidates, reference};
use tripipe_ladders::sweep::filter::{Case, sweep};
use tripipe_ladders::sweep::{Heats, TryError};
use tripipe_launch::{
    Access, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, Program,
    Submission, Timing,
};
use tripipe_simulate::{Options, Simulator};

/// A simulator that counts the bytes it holds, and their maximum.
struct Counting {
    simulator: Simulator,
    bytes: HashMap<MemoryId, usize>,
    most: usize,
}

impl Counting {
    fn new() -> Self {
        Self { simulator: Simulator::new(Options::default()), bytes: HashMap::new(), most: 0 }
    }

    fn holds(&self) -> usize {
        self.bytes.values().sum()
    }
}

impl Executor for Counting {
    fn probe(&self) -> &Probe {
        self.simulator.probe()
    }
    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        let id = self.simulator.allocate(kind, access, initial)?;
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            MemoryKind::Image(shape) => shape.bytes(),
            _ => 0,
        };
        self.bytes.insert(id, bytes);
        self.most = self.most.max(self.holds());
        Ok(id)
    }
    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        let id = self.simulator.image_over_buffer(buffer, shape, row_pitch_bytes)?;
        self.bytes.insert(id, 0);
        Ok(id)
    }
    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        self.bytes.remove(&memory);
        self.simulator.release(memory)
    }
    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        self.simulator.write(memory, offset, bytes)
    }
    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        self.simulator.read(memory, offset, into)
    }
    fn copy(
        &mut self,
        from: MemoryId,
        from_offset: usize,
        to: MemoryId,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        self.simulator.copy(from, from_offset, to, to_offset, bytes)
    }
    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        self.simulator.prepare(program, entry)
    }
    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.simulator.run(launches)
    }
}

#[test]
fn memory_does_not_grow_with_the_candidates() {
    // Two passes, so that a candidate needs an image between them.
    let chain = Chain::parse("median:3,laplace8", Border::Reflect101).unwrap();
    let raster = Raster::packed([24, 16], 3, Element::U8);
    let source: Vec<u8> = (0..raster.elements().unwrap()).map(|at| (at * 37 % 251) as u8).collect();
    let mut want = vec![0; source.len()];
    reference::apply(&chain, &raster, &source, &raster, &mut want).unwrap();
    let case = Case { chain: &chain, from: &raster, source: &source, to: &raster, want: &want };
    let mut executor = Counting::new();
    let all = candidates(&chain, &raster, &raster, executor.probe());
    let heats = Heats { finalists: 2, rounds: 1 };
    let mut swept = |count: usize, want: &[u8]| {
        executor.most = 0;
        let case = Case { want, ..case };
        let found = sweep(&mut executor, &case, &all[..count], heats, &mut |_| ControlFlow::Continue(()));
        assert_eq!(executor.holds(), 0, "{:?}", executor.bytes);
        (found.unwrap(), executor.most)
    };
    let (one, least) = swept(1, &want);
    let (six, most) = swept(6, &want);
    assert!(least > 2 * source.len() && most == least, "{least} bytes with one, {most} with six");
    for tried in one.heat.tried.iter().chain(&six.heat.tried) {
        assert!(tried.outcome.is_ok() || matches!(tried.outcome, Err(TryError::Dropped { .. })), "{tried:?}");
    }
    assert!(six.copy_seconds.is_some());
    let mut other = want.clone();
    other[5] ^= 1;
    let (wrong, _) = swept(1, &other);
    assert!(matches!(wrong.heat.tried[0].outcome, Err(TryError::WrongByte { at: 5, .. })), "{wrong:?}");
}

#[test]
fn the_default_is_tried_first() {
    let chain = Chain::parse("gaussian:5", Border::Reflect101).unwrap();
    let raster = Raster::packed([64, 64], 1, Element::U8);
    for name in ["Mali-G610", "Adreno(TM) 640", "Some other"] {
        let probe = Probe { name: name.to_owned(), ..Simulator::new(Options::default()).probe().clone() };
        let all: Vec<Parameters> = candidates(&chain, &raster, &raster, &probe);
        assert_eq!(all[0], filter::default_parameters(&chain, &raster, &probe).0, "{name}");
    }
}
