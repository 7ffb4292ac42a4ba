//! Systems without dma-bufs: the types exist but have no values.

use std::convert::Infallible;
use std::marker::PhantomData;

use tripipe_launch::Access;

use crate::memory::MemoryError;

/// A dma-buf; there are none on this system.
#[derive(Clone, Debug)]
pub enum DmaBuf {}

/// The host may access a dma-buf while this exists.
pub struct HostAccess<'a>(Infallible, PhantomData<&'a DmaBuf>);

impl DmaBuf {
    /// The number of bytes used.
    pub fn bytes(&self) -> usize {
        match *self {}
    }

    /// Begins access by the host.
    ///
    /// # Errors
    /// None: there are no dma-bufs.
    pub fn host_access(&self, _: Access) -> Result<HostAccess<'_>, MemoryError> {
        match *self {}
    }

    pub(super) fn check_room(&self, _: usize) -> Result<(), MemoryError> {
        match *self {}
    }

    pub(super) fn inode(&self) -> Option<(u64, u64)> {
        match *self {}
    }

    pub(super) fn fd(&self) -> i32 {
        match *self {}
    }

    pub(super) fn pointer(&self) -> Result<*mut u8, MemoryError> {
        match *self {}
    }
}

impl HostAccess<'_> {
    /// Ends the access.
    ///
    /// # Errors
    /// None: there are no dma-bufs.
    pub fn end(self) -> Result<(), MemoryError> {
        match self.0 {}
    }
}
