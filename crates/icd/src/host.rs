//! Memory of the application, which the API passes as pointers, and memory for it.
//!
//! A [`HostRange`] is made where the application's promise is known: the memory stays valid until the command that
//! uses it has ended. Its safe methods then stay inside of it.

use std::alloc::{Layout as AllocLayout, alloc_zeroed, dealloc};

/// Bytes of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRange {
    address: usize,
    bytes: usize,
}

impl HostRange {
    /// The bytes from `pointer` on.
    ///
    /// # Safety
    /// They are readable until the last use of the range, and writable where [`Self::write`] is called.
    pub unsafe fn new(pointer: *const std::ffi::c_void, bytes: usize) -> Self {
        Self { address: pointer as usize, bytes }
    }

    /// The address of the first byte.
    pub fn address(&self) -> usize {
        self.address
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies bytes from `offset` on; `false`, with nothing copied, if they are not all inside.
    #[must_use]
    pub fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        if offset.checked_add(into.len()).is_none_or(|end| end > self.bytes) {
            return false;
        }
        // SAFETY: the bytes are inside of the range, which is readable as `new` demands. `into` is an exclusive borrow
        // of Rust's, so that it is no memory of the application.
        unsafe {
            std::ptr::copy_nonoverlapping(
                (self.address + offset) as *const u8,
                into.as_mut_ptr(),
                into.len(),
            );
        }
        true
    }

    /// Overwrites bytes from `offset` on; `false`, with nothing copied, if they are not all inside.
    #[must_use]
    pub fn write(&self, offset: usize, from: &[u8]) -> bool {
        if offset.checked_add(from.len()).is_none_or(|end| end > self.bytes) {
            return false;
        }
        // SAFETY: as for `read`; the caller of `new` promised that the bytes are writable.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), (self.address + offset) as *mut u8, from.len());
        }
        true
    }

    /// A part of the range; `None` if it is not all inside.
    pub fn part(&self, offset: usize, bytes: usize) -> Option<Self> {
        (offset.checked_add(bytes)? <= self.bytes).then_some(Self { address: self.address + offset, bytes })
    }
}

/// Memory that the application gets a pointer to. It starts as zeros.
#[derive(Debug)]
pub struct HostBlock {
    address: usize,
    layout: AllocLayout,
}

impl HostBlock {
    /// `bytes` bytes, at least 1, at a multiple of `align`, a power of two. `None` if there is no such memory.
    pub fn new(bytes: usize, align: usize) -> Option<Self> {
        let layout = AllocLayout::from_size_align(bytes.max(1), align).ok()?;
        // SAFETY: the size is not 0.
        let address = unsafe { alloc_zeroed(layout) } as usize;
        (address != 0).then_some(Self { address, layout })
    }

    /// The memory, as the application has it.
    pub fn range(&self) -> HostRange {
        HostRange { address: self.address, bytes: self.layout.size() }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and only this value owns it.
        unsafe { dealloc(self.address as *mut u8, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_stay_inside() {
        let block = HostBlock::new(8, 128).unwrap();
        let range = block.range();
        assert_eq!((range.address() % 128, range.bytes()), (0, 8));
        assert!(range.write(3, &[1, 2, 3, 4, 5]));
        assert!(!range.write(4, &[1, 2, 3, 4, 5]) && !range.write(usize::MAX, &[1]));
        let mut bytes = [9; 8];
        assert!(range.read(0, &mut bytes));
        assert_eq!(bytes, [0, 0, 0, 1, 2, 3, 4, 5]);
        let part = range.part(6, 2).unwrap();
        assert!(part.read(0, &mut bytes[..2]) && !part.read(0, &mut bytes[..3]));
        assert_eq!(bytes[..2], [4, 5]);
        assert_eq!(range.part(6, 3), None);
    }
}
