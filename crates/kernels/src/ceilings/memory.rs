//! Bandwidths of buffers.

use std::sync::Arc;

use bytemuck::cast_slice;
use tripipe_device::{DeviceKind, Probe};
use tripipe_launch::{Argument, Launch, MemoryId, MemoryKind, NdRange, Program};

use super::{Effort, PeakError};
use crate::bench::Bench;

/// The transfer to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Reads; each work-item writes one sum.
    Read,
    /// Writes.
    Write,
    /// Reads and writes.
    Copy,
}

impl Transfer {
    /// All, in measurement order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Copy];

    /// The name of the measured ceiling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "buffer read",
            Self::Write => "buffer write",
            Self::Copy => "buffer copy",
        }
    }
}

const MIB: usize = 1 << 20;
/// Enough work-items for full bandwidth on the largest GPUs; beyond that each does more work.
const ITEMS: usize = 1 << 20;

/// Bytes of one buffer: several times the last-level cache, a power of two, and within the device's limits.
///
/// Some drivers of discrete GPUs report their first-level cache, so the size is fixed there.
pub fn buffer_bytes(probe: &Probe, effort: Effort) -> usize {
    let discrete = probe.kind == DeviceKind::Gpu && !probe.unified_memory;
    let floor = if discrete { 512 * MIB } else { 64 * MIB };
    let (times, most) = match effort {
        Effort::Quick => (2, 128 * MIB),
        Effort::Full => (4, 512 * MIB),
    };
    let mut bytes =
        usize::try_from(probe.cache_bytes).unwrap_or(0).saturating_mul(times).max(floor).min(most);
    for limit in [probe.max_buffer_bytes / 4, probe.global_memory_bytes / 16] {
        if limit != 0 {
            bytes = bytes.min(usize::try_from(limit).unwrap_or(usize::MAX));
        }
    }
    1 << bytes.max(64 << 10).ilog2()
}

/// The float at an index of the source: 0 to 7, without a period that a stride could share.
pub fn pattern(index: usize) -> f32 {
    ((index as u32).wrapping_mul(2_654_435_761) >> 29) as f32
}

/// Compares the floats of an output, given as bytes, with the expected value of each.
///
/// # Errors
/// The first difference.
pub fn check(found: &[u8], mut want: impl FnMut(usize) -> f32) -> Result<(), PeakError> {
    let found =
        found.chunks_exact(4).map(|bytes| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    for (index, found) in found.enumerate() {
        let want = want(index);
        if found != want {
            return Err(PeakError::Wrong { what: format!("element {index} is {found}, expected {want}") });
        }
    }
    Ok(())
}

/// Bytes per second of a buffer, read plus written.
///
/// # Errors
/// The device failed, or the result is wrong.
pub fn buffer(
    bench: &mut Bench<'_>,
    transfer: Transfer,
    width: usize,
    effort: Effort,
) -> Result<f64, PeakError> {
    let bytes = buffer_bytes(bench.probe(), effort);
    let vectors = bytes / (4 * width);
    let per_item = (vectors / ITEMS).clamp(1, 16);
    let items = vectors / per_item;
    let program = Program::from_source("ceilings/bandwidth.cl", include_str!("bandwidth.cl"))
        .define("WIDTH", width)
        .define("PER_ITEM", per_item);
    let program = Arc::new(program);
    let launch = |entry: &str, arguments: Vec<Argument>| Launch {
        program: Arc::clone(&program),
        entry: entry.to_owned(),
        arguments,
        range: NdRange::d1(items),
    };
    let source = |bench: &mut Bench<'_>| -> Result<(Vec<f32>, MemoryId), PeakError> {
        let contents: Vec<f32> = (0..bytes / 4).map(pattern).collect();
        let id = bench.input(&MemoryKind::Buffer { bytes }, cast_slice(&contents))?;
        Ok((contents, id))
    };
    let (seconds, moved) = match transfer {
        Transfer::Read => {
            let (contents, from) = source(bench)?;
            drop(contents);
            let sums = bench.output(4 * items)?;
            let launch = launch("read_bandwidth", vec![Argument::Memory(from), Argument::Memory(sums)]);
            let seconds = bench.best_seconds(&launch, effort)?;
            let sum = |item| {
                let vectors = (0..per_item).map(|j| (j * items + item) * width);
                vectors.flat_map(|first| first..first + width).map(pattern).sum()
            };
            bench.verify(sums, 4 * items, |found| check(found, sum))?;
            (seconds, bytes + 4 * items)
        }
        Transfer::Write => {
            let to = bench.output(bytes)?;
            let start = 3.0f32;
            let launch = launch("write_bandwidth", vec![Argument::Memory(to), start.into()]);
            let seconds = bench.best_seconds(&launch, effort)?;
            bench.verify(to, bytes, |found| check(found, |index| start + ((index / width) % 256) as f32))?;
            (seconds, bytes)
        }
        Transfer::Copy => {
            let (contents, from) = source(bench)?;
            let to = bench.output(bytes)?;
            let launch = launch("copy_bandwidth", vec![Argument::Memory(from), Argument::Memory(to)]);
            let seconds = bench.best_seconds(&launch, effort)?;
            bench.verify(to, bytes, |found| {
                if found == cast_slice::<f32, u8>(&contents) {
                    return Ok(());
                }
                Err(PeakError::Wrong { what: "the copy differs from its source".to_owned() })
            })?;
            (seconds, 2 * bytes)
        }
    };
    Ok(moved as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_fit_the_device() {
        let phone = Probe {
            kind: DeviceKind::Gpu,
            unified_memory: true,
            cache_bytes: 1 << 20,
            max_buffer_bytes: 128 << 20,
            global_memory_bytes: 4 << 30,
            ..Probe::default()
        };
        assert_eq!(buffer_bytes(&phone, Effort::Full), 32 << 20);
        let desktop = Probe {
            unified_memory: false,
            max_buffer_bytes: 16 << 30,
            global_memory_bytes: 64 << 30,
            ..phone.clone()
        };
        assert_eq!(buffer_bytes(&desktop, Effort::Full), 512 << 20);
        assert_eq!(buffer_bytes(&desktop, Effort::Quick), 128 << 20);
        let silent = Probe::default();
        assert_eq!(buffer_bytes(&silent, Effort::Full), 64 << 20);
    }
}
