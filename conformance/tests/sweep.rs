//! A sweep of filters: every time has a verified result, best guess first, and no memory is leaked.

#![allow(clippy::unwrap_used, reason = "tests panic")]

use std::collections::HashMap;
use std::ops::ControlFlow;

use tripipe_conformance::clock::WorkItemClock;
use tripipe_device::Probe;
use tripipe_kernels::filter::{self, Border, Chain, Parameters, PixelType, Raster, candidates, reference};
use tripipe_ladders::sweep::filter::{Case, sweep};
use tripipe_ladders::sweep::{Heats, TryError};
use tripipe_launch::{Access, ExecuteError, Executor, ImageShape, Intercept, Layer, MemoryId, MemoryKind};
use tripipe_simulate::{Options, Simulator};

/// Counts the bytes that an executor holds, and their maximum.
#[derive(Default)]
struct Counting {
    bytes: HashMap<MemoryId, usize>,
    most: usize,
}

impl Counting {
    fn holds(&self) -> usize {
        self.bytes.values().sum()
    }

    fn add(&mut self, id: MemoryId, kind: &MemoryKind) {
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            MemoryKind::Image(shape) => shape.bytes(),
            _ => 0,
        };
        self.bytes.insert(id, bytes);
        self.most = self.most.max(self.holds());
    }
}

impl<E: Executor> Intercept<E> for Counting {
    fn allocate(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        inner.allocate(kind, access, initial).inspect(|id| self.add(*id, kind))
    }

    fn allocate_zeros(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
    ) -> Result<MemoryId, ExecuteError> {
        inner.allocate_zeros(kind, access).inspect(|id| self.add(*id, kind))
    }

    fn image_over_buffer(
        &mut self,
        inner: &mut E,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        let id = inner.image_over_buffer(buffer, shape, row_pitch_bytes)?;
        self.bytes.insert(id, 0);
        Ok(id)
    }

    fn release(&mut self, inner: &mut E, memory: MemoryId) -> Result<(), ExecuteError> {
        self.bytes.remove(&memory);
        inner.release(memory)
    }
}

#[test]
fn memory_does_not_grow_with_the_candidates() {
    // Two passes, so that a candidate needs an image between them.
    let chain = Chain::parse("median:3,laplace8", Border::Reflect101).unwrap();
    let raster = Raster::packed([24, 16], 3, PixelType::U8);
    let source: Vec<u8> = (0..raster.elements().unwrap()).map(|at| (at * 37 % 251) as u8).collect();
    let mut want = vec![0; source.len()];
    reference::apply(&chain, &raster, &source, &raster, &mut want).unwrap();
    let case = Case { chain: &chain, from: &raster, source: &source, to: &raster, want: &want };
    let timed = Layer::new(Simulator::new(Options::default()), WorkItemClock::default());
    let mut executor = Layer::new(timed, Counting::default());
    let all = candidates(&chain, &raster, &raster, executor.probe());
    let heats = Heats { finalists: 2, rounds: 1 };
    let mut swept = |count: usize, want: &[u8]| {
        executor.calls.most = 0;
        let case = Case { want, ..case };
        let found = sweep(&mut executor, &case, &all[..count], heats, &mut |_| ControlFlow::Continue(()));
        assert_eq!(executor.calls.holds(), 0, "{:?}", executor.calls.bytes);
        (found.unwrap(), executor.calls.most)
    };
    let (one, least) = swept(1, &want);
    let (six, most) = swept(6, &want);
    assert!(least > 2 * source.len() && most == least, "{least} bytes with one, {most} with six");
    for tried in one.heat.tried.iter().chain(&six.heat.tried) {
        assert!(tried.outcome.is_ok(), "{tried:?}");
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
    let raster = Raster::packed([64, 64], 1, PixelType::U8);
    for name in ["Mali-G610", "Adreno(TM) 640", "Some other"] {
        let probe = Probe { name: name.to_owned(), ..Simulator::new(Options::default()).probe().clone() };
        let all: Vec<Parameters> = candidates(&chain, &raster, &raster, &probe);
        assert_eq!(all[0], filter::default_parameters(&chain, &raster, &probe).0, "{name}");
    }
}
