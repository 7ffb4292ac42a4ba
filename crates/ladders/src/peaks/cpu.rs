//! The ceilings of the CPU path, as rows like those of a device.

use tripipe_cpu::{MultiplyAdd, Threads, copy_rate, multiply_add_rate};
use tripipe_kernels::ceilings::{Ceilings, PeakError};
use tripipe_launch::ScalarType;

use super::{Peak, Peaks, Unit};

/// The names of the ceilings, in the order in which they are measured.
pub fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    // A predicate that wants none is asked for each name.
    measure_some(
        &mut |name| {
            names.push(name);
            false
        },
        &mut |_| (),
    );
    names
}

/// Measures the ceilings for whose names `wanted` returns true; `progress` is called with each name before its
/// measurement.
pub fn measure(wanted: &dyn Fn(&str) -> bool, progress: &mut dyn FnMut(&str)) -> Peaks {
    measure_some(&mut |name| wanted(name), progress)
}

fn measure_some(wanted: &mut dyn FnMut(&'static str) -> bool, progress: &mut dyn FnMut(&str)) -> Peaks {
    let mut rows = Vec::new();
    for (name, threads) in
        [("memory copy, one thread", Threads::One), ("memory copy, all threads", Threads::All)]
    {
        if !wanted(name) {
            continue;
        }
        progress(name);
        rows.push(Peak { name, width: None, value: Ok(copy_rate(threads)), unit: Unit::BytesPerSecond });
    }
    for (names, kind) in [
        (["mad float, one thread", "mad float, all threads"], MultiplyAdd::F32),
        (["mad double, one thread", "mad double, all threads"], MultiplyAdd::F64),
        (["mad int, one thread", "mad int, all threads"], MultiplyAdd::I32),
        (["mad short, one thread", "mad short, all threads"], MultiplyAdd::I16),
    ] {
        for (name, threads) in names.into_iter().zip([Threads::One, Threads::All]) {
            if !wanted(name) {
                continue;
            }
            progress(name);
            let value = mad_rate(kind, threads);
            rows.push(Peak { name, width: None, value, unit: Unit::OperationsPerSecond });
        }
    }
    Peaks { rows }
}

/// The ceilings of the CPU path for arithmetic in `element`: the copy and the multiply-add rate of all threads. Half
/// precision is computed in single precision, bytes are computed in 16 bits.
///
/// # Errors
/// A multiply-add loop gave a wrong result.
pub fn ceilings(element: ScalarType) -> Result<Ceilings, PeakError> {
    let kind = match element {
        ScalarType::F16 | ScalarType::F32 => MultiplyAdd::F32,
        ScalarType::F64 => MultiplyAdd::F64,
        ScalarType::I32 | ScalarType::U32 | ScalarType::I64 | ScalarType::U64 => MultiplyAdd::I32,
        _ => MultiplyAdd::I16,
    };
    Ok(Ceilings {
        bytes_per_second: copy_rate(Threads::All),
        operations_per_second: mad_rate(kind, Threads::All)?,
    })
}

fn mad_rate(kind: MultiplyAdd, threads: Threads) -> Result<f64, PeakError> {
    multiply_add_rate(kind, threads).map_err(|error| PeakError::Wrong { what: error.to_string() })
}
