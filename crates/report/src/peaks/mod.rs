//! Measured ceilings, as text and JSON.

mod json;
mod text;

use tripipe_device::Gpu;
use tripipe_ladders::peaks::Peaks;

pub use json::json;
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
    pub transfers: Option<&'a [Transfer]>,
}

/// One way to transfer data to a device and back.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Its name.
    pub name: String,
    /// Bytes transferred.
    pub bytes: usize,
    /// Bytes per second to the device and from it, or the reason why there are none.
    pub rates: Result<Rates, String>,
}

/// The speed of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Bytes per second from the host to the device.
    pub to_device: f64,
    /// Bytes per second from the device to the host.
    pub to_host: f64,
}
