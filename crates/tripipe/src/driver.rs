//! What stands in for the OpenCL driver without the feature `opencl`: types that have no values, and no devices.

use std::ops::Range;

use thiserror::Error;
use tripipe_device::Probe;
use tripipe_launch::ExecuteError;

/// There are no OpenCL devices.
#[derive(Clone, Debug, Error)]
#[error("this program was built without OpenCL: the feature `opencl` of the crate `tripipe` is off")]
pub struct DevicesError;

/// An OpenCL device; there is none.
#[derive(Clone, Debug)]
pub enum Device {}

impl Device {
    /// The properties that it reports.
    pub fn probe(&self) -> &Probe {
        match *self {}
    }

    /// Its number.
    pub fn index(&self) -> usize {
        match *self {}
    }
}

/// The OpenCL devices.
///
/// # Errors
/// There are none.
pub(crate) fn devices() -> Result<Vec<Device>, DevicesError> {
    Err(DevicesError)
}

pub(crate) enum BuiltProgram {}

pub(crate) enum ObjectAccess {}

impl ObjectAccess {
    pub(crate) fn with_bytes<R>(
        &self,
        _: Range<usize>,
        _: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ExecuteError> {
        match *self {}
    }

    pub(crate) fn with_bytes_mut<R>(
        &mut self,
        _: Range<usize>,
        _: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ExecuteError> {
        match *self {}
    }
}

pub(crate) mod memory {
    /// Memory to import; there is none.
    #[derive(Clone, Debug)]
    pub enum External {}

    pub(crate) enum Footprint {}

    impl Footprint {
        pub(crate) fn overlaps(&self, _: &Self) -> bool {
            match *self {}
        }
    }
}
