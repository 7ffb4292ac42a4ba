//! Systems without dma-bufs: the types are there, and nobody has one.

use std::convert::Infallible;
use std::marker::PhantomData;

use tripipe_launch::Access;

use crate::memory::MemoryError;

/// A dma-buf, of which there are none on this system.
#[derive(Clone, Debug)]
pub enum DmaBuf {}

/// The host may touch a dma-buf while this lives.
pub struct HostAccess<'a>(Infallible, PhantomData<&'a DmaBuf>);

impl DmaBuf {
    /// How many bytes are used of it.
    pub fn bytes(&self) -> usize {
        match *self {}
    }

    /// Begins access by the host.
    ///
    /// # Errors
    /// None: nobody has a dma-buf.
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
    /// None: nobody has a dma-buf.
    pub fn end(self) -> Result<(), MemoryError> {
        match self.0 {}
    }
}
