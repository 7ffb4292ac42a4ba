//! Measured ceilings, as text and JSON.

mod result;
mod text;

use tripipe_device::Gpu;
use tripipe_ladders::peaks::Peaks;
use tripipe_results::TransferRate;

pub use result::result;
pub use text::text;

/// The ceilings of one device.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The device's name.
    pub device: &'a str,
    /// The device's description, in one line.
    pub what: &'a str,
    /// The model of the device, if it is known.
    pub model: Option<&'a Gpu>,
    /// The measurements of the device.
    pub peaks: &'a Peaks,
    /// The ways to transfer data to the device, if there are any.
    pub transfers: Option<&'a [TransferRate]>,
}
