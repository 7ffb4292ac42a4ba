//! Measured ceilings of a device: multiply-add rates, bandwidths, the cost of a launch.
//!
//! Every kernel writes a result that the host computes independently and compares, so that a rate is not that of a
//! loop that the compiler removed. A multiply-add counts as 2 operations. A copied byte counts twice, once read and
//! once written. Seconds are measured by the device, from a launch's start to its end.
//!
//! Not covered: sustained clocks (a row lasts tens of milliseconds), atomics, constant memory, transfers between host
//! and device.

pub mod cpu;
mod dot;
mod image;
mod local;

use tripipe_kernels::bench::Bench;
use tripipe_kernels::ceilings::{arithmetic, launch, memory};
use tripipe_launch::{ExecuteError, Executor};

pub use tripipe_kernels::ceilings::{Effort, PeakError};

/// The vector widths measured: all widths of OpenCL C except 3.
pub const WIDTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// The unit of a measured ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Operations per second; a multiply-add counts as 2.
    OperationsPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
}

/// One measured ceiling.
#[derive(Debug)]
pub struct Peak {
    /// What was measured, e.g. `mad float`, `buffer copy`.
    pub name: &'static str,
    /// Elements per vector; `None` where it does not apply.
    pub width: Option<usize>,
    /// The best of several rounds, or the reason why it is missing.
    pub value: Result<f64, PeakError>,
    /// The unit of the value.
    pub unit: Unit,
}

/// Every ceiling of a device.
#[derive(Debug)]
pub struct Peaks {
    /// The rows, in measurement order: arithmetic, buffers, images, local memory, launches.
    pub rows: Vec<Peak>,
}

impl Peaks {
    /// The best value of the rows with this name.
    pub fn best(&self, name: &str) -> Option<f64> {
        let values =
            self.rows.iter().filter(|row| row.name == name).filter_map(|row| row.value.as_ref().ok());
        values.copied().max_by(f64::total_cmp)
    }
}

/// One ceiling to measure.
#[derive(Clone, Copy)]
enum Row {
    Mad(&'static arithmetic::MultiplyAddType),
    Dot,
    Buffer(memory::Transfer),
    Image(image::Texel),
    Local,
    Launch(launch::Cost),
}

impl Row {
    /// All rows, in measurement order.
    fn all() -> impl Iterator<Item = Self> {
        let mads = arithmetic::MADS.iter().map(Self::Mad).chain([Self::Dot]);
        let buffers = memory::Transfer::ALL.into_iter().map(Self::Buffer);
        let images = image::Texel::ALL.into_iter().map(Self::Image);
        let launches = launch::Cost::ALL.into_iter().map(Self::Launch);
        mads.chain(buffers).chain(images).chain([Self::Local]).chain(launches)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Mad(mad) => mad.name,
            Self::Dot => dot::NAME,
            Self::Buffer(transfer) => transfer.name(),
            Self::Image(texel) => texel.name(),
            Self::Local => local::NAME,
            Self::Launch(cost) => cost.name(),
        }
    }

    /// The vector widths it is measured with.
    fn widths(self) -> Vec<Option<usize>> {
        match self {
            Self::Mad(_) | Self::Buffer(_) => WIDTHS.map(Some).to_vec(),
            Self::Dot | Self::Image(_) | Self::Local => vec![Some(4)],
            Self::Launch(_) => vec![None],
        }
    }

    fn unit(self) -> Unit {
        match self {
            Self::Mad(_) | Self::Dot => Unit::OperationsPerSecond,
            Self::Buffer(_) | Self::Image(_) | Self::Local => Unit::BytesPerSecond,
            Self::Launch(_) => Unit::Seconds,
        }
    }

    fn measure(self, bench: &mut Bench<'_>, width: Option<usize>, effort: Effort) -> Result<f64, PeakError> {
        let width = width.unwrap_or(1);
        match self {
            Self::Mad(mad) => arithmetic::rate(bench, mad, width, effort),
            Self::Dot => dot::rate(bench, effort),
            Self::Buffer(transfer) => memory::buffer(bench, transfer, width, effort),
            Self::Image(texel) => image::rate(bench, texel, effort),
            Self::Local => local::rate(bench, effort),
            Self::Launch(cost) => launch::seconds(bench, cost),
        }
    }
}

/// The names of the ceilings, in measurement order.
pub fn names() -> Vec<&'static str> {
    Row::all().map(Row::name).collect()
}

/// Measures the ceilings whose names are `wanted`; `progress` is called with each name before its measurement.
///
/// A ceiling that cannot be measured gives a row with the reason.
///
/// # Errors
/// The device is lost.
pub fn measure(
    executor: &mut dyn Executor,
    effort: Effort,
    wanted: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(&str),
) -> Result<Peaks, ExecuteError> {
    let mut rows = Vec::new();
    for row in Row::all().filter(|row| wanted(row.name())) {
        let (name, widths) = (row.name(), row.widths());
        for width in &widths {
            match width {
                Some(width) if widths.len() > 1 => progress(&format!("{name} x{width}")),
                _ => progress(name),
            }
            let value = row.measure(&mut Bench::new(executor), *width, effort);
            if let Err(PeakError::Execute(lost @ ExecuteError::DeviceLost { .. })) = value {
                return Err(lost);
            }
            rows.push(Peak { name, width: *width, value, unit: row.unit() });
        }
    }
    Ok(Peaks { rows })
}
