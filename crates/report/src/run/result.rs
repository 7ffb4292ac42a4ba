//! A kernel run as the result of the command.

use serde_json::Value;
use tripipe_launch::NdRange;
use tripipe_launch_file::{Comparison, Difference, Scalar};
use tripipe_results::{ComparedNumber, ComparedNumbers, KernelRun, MemoryContents, RanLaunch};

use super::text::bits;
use super::{Base, Memory, Run};

/// The run; `printed` is the output of `printf`.
pub fn result(run: &Run<'_>, printed: &str) -> KernelRun {
    let range = run.range;
    KernelRun::Launch(RanLaunch {
        version: KernelRun::VERSION,
        kernel: run.kernel.to_owned(),
        program: run.program.to_owned(),
        global: extents(range, range.global_size()),
        local: range.local_size().map(|local| extents(range, local)),
        offset: extents(range, range.global_offset()),
        device: run.device.to_owned(),
        seconds: run.seconds,
        cpu_load: run.cpu_load.map(crate::cpu_load),
        joules: run.energy.map(|energy| energy.joules),
        watts: run.energy.map(|energy| energy.watts),
        printed: printed.to_owned(),
    })
}

fn extents(range: &NdRange, sizes: [usize; 3]) -> Vec<usize> {
    sizes[..range.dimensions()].to_vec()
}

/// A memory object after the run.
pub fn memory_result(memory: &Memory<'_>) -> KernelRun {
    let scalar = memory.array.element.scalar();
    let numbers = |base| {
        let number = |number| match base {
            Base::Ten => value(Scalar::from_bytes(scalar, number)),
            Base::Sixteen => Value::String(bits(number)),
        };
        memory.array.numbers(memory.bytes).map(number).collect()
    };
    KernelRun::Memory(MemoryContents {
        version: KernelRun::VERSION,
        argument: memory.argument,
        name: memory.name.to_owned(),
        element: memory.array.element.to_string(),
        extents: memory.array.extents.clone(),
        written: memory.written,
        numbers: memory.shown.map(numbers),
        file: memory.file.map(str::to_owned),
        comparison: memory.comparison.map(compared),
    })
}

/// The digits of the text form, as a JSON number where possible.
fn value(number: Scalar) -> Value {
    let digits = number.to_string();
    // JSON has no NaN and no infinities, which stay text.
    serde_json::from_str(&digits).unwrap_or(Value::String(digits))
}

fn compared(comparison: &Comparison) -> ComparedNumbers {
    let Comparison { numbers, differing, first, largest } = comparison;
    let difference = |Difference { index, found, want }: &Difference| ComparedNumber {
        index: index.clone(),
        found: value(*found),
        expected: value(*want),
    };
    ComparedNumbers {
        numbers: *numbers,
        differing: *differing,
        largest_difference: value(Scalar::F64(*largest)),
        first: first.iter().map(difference).collect(),
    }
}
