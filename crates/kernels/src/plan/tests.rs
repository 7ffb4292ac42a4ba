//! Operands are bound by their role.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use tripipe_device::Probe;
use tripipe_launch::{KernelFacts, Timing};

use super::*;

/// Gives objects numbers, and runs nothing.
#[derive(Default)]
struct Numbers {
    probe: Probe,
    last: u64,
}

impl Executor for Numbers {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn allocate(&mut self, _: &MemoryKind, _: Access, _: Option<&[u8]>) -> Result<MemoryId, ExecuteError> {
        self.last += 1;
        Ok(MemoryId(self.last))
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        _: &ImageShape,
        _: usize,
    ) -> Result<MemoryId, ExecuteError> {
        Ok(buffer)
    }

    fn release(&mut self, _: MemoryId) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn write(&mut self, _: MemoryId, _: usize, _: &[u8]) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn read(&mut self, _: MemoryId, _: usize, _: &mut [u8]) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn prepare(&mut self, _: &Arc<Program>, _: &str) -> Result<KernelFacts, ExecuteError> {
        Ok(KernelFacts::default())
    }

    fn run(&mut self, _: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        Ok(Vec::new())
    }
}

/// `f(x, x's offset, scratch, y, y's offset)`.
fn plan() -> Plan<'static> {
    let mut plan = Plan::new();
    let program = Arc::new(Program::from_source("f.cl", "kernel void f() {}"));
    // Declared in another order than the kernel reads them in.
    let (y, scratch, x) = (plan.operand(Role::Y), plan.scratch(8), plan.operand(Role::X));
    assert_eq!(plan.operand(Role::X), x);
    let of_y = Arguments::default().with(y).at(Role::Y, 7u32);
    let arguments = Arguments::default().with(x).at(Role::X, 5u32).with(scratch).and(of_y);
    plan.launch(&program, "f", arguments, NdRange::d1(1));
    plan
}

const X: (Role, MemoryId) = (Role::X, MemoryId(70));
const Y: (Role, MemoryId) = (Role::Y, MemoryId(80));

#[test]
fn operands_are_found_by_their_role() {
    let plan = plan();
    let mut executor = Numbers::default();
    let scratch = plan.make_scratch(&mut executor).unwrap();
    let [x, own, y] = [X.1, MemoryId(1), Y.1].map(Argument::Memory);
    let want: [Argument; 5] = [x, 105u32.into(), own, y, 1007u32.into()];
    for operands in [[X, Y], [Y, X]] {
        for later in [[(Role::X, 100), (Role::Y, 1000)], [(Role::Y, 1000), (Role::X, 100)]] {
            let bound = plan.bind_at(&mut executor, &operands, &later, &scratch).unwrap();
            assert_eq!(bound.launches[0].arguments, want);
        }
    }
    let bound = plan.bind_at(&mut executor, &[X, Y], &[(Role::Y, 3)], &scratch).unwrap();
    let arguments = &bound.launches[0].arguments;
    assert_eq!([&arguments[1], &arguments[4]], [&5u32.into(), &10u32.into()]);
}

#[test]
fn every_operand_is_given_once() {
    let plan = plan();
    let said = |operands: &[(Role, MemoryId)]| {
        plan.bind(&mut Numbers::default(), operands).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(said(&[X, Y]), Ok(()));
    assert_eq!(said(&[X]), Err("operand y is missing".to_owned()));
    assert_eq!(said(&[]), Err("operand y is missing".to_owned()));
    assert_eq!(said(&[X, Y, X]), Err("operand x is given twice".to_owned()));
    assert_eq!(said(&[X, (Role::A, Y.1)]), Err("operand A is not one of the plan's".to_owned()));
}
