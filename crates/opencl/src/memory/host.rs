//! Host memory that a buffer can use in place.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::memory::MemoryError;

/// Zeroed bytes aligned to a page, as drivers require for use in place (`CL_MEM_USE_HOST_PTR`): many make a hidden
/// copy if the address or size is not a multiple of a cache line.
pub struct HostMemory {
    start: NonNull<u8>,
    layout: Layout,
    len: usize,
}

/// Address and rounded size are multiples of this. It is the page size of all supported systems except those with 16
/// KiB pages, which only need the alignment of a cache line.
const ALIGNMENT: usize = 4096;

impl HostMemory {
    /// Allocates `bytes` zero bytes.
    ///
    /// # Errors
    /// 0 bytes, or more than the host can allocate.
    pub fn zeroed(bytes: usize) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        let too_large = || MemoryError::TooLarge { bytes: bytes as u64, limit: isize::MAX as u64 };
        let rounded = bytes.checked_next_multiple_of(ALIGNMENT).ok_or_else(too_large)?;
        let layout = Layout::from_size_align(rounded, ALIGNMENT).map_err(|_| too_large())?;
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(too_large)?;
        Ok(Self { start, layout, len: bytes })
    }

    pub(super) fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Deref for HostMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes, owned by self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for HostMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

// SAFETY: plain owned bytes.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostMemory({} bytes)", self.len)
    }
}
