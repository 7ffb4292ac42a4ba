//! Mapped regions: host access to a buffer or an image while a guard exists.

use std::ops::{Deref, DerefMut};

use crate::memory::MemoryError;
use crate::memory::mapping::RawMapping;

/// Part of a buffer, mapped for reading. No kernel can use the buffer while this exists.
pub struct Mapped<'b>(pub(crate) RawMapping<'b>);

/// Part of a buffer, mapped for reading and writing. No kernel can use the buffer while this exists.
pub struct MappedMut<'b>(pub(crate) RawMapping<'b>);

/// A whole image, mapped for reading and writing, accessed by rows (which need not be contiguous).
pub struct MappedImage<'b>(pub(crate) RawMapping<'b>);

impl Mapped<'_> {
    /// Ends the mapping. Dropping it does the same, but can only log errors.
    ///
    /// # Errors
    /// The driver fails, or the device is lost.
    pub fn unmap(self) -> Result<(), MemoryError> {
        self.0.unmap()
    }
}

impl MappedMut<'_> {
    /// Ends the mapping and makes the writes visible to the device. Dropping it does the same, but can only log
    /// errors.
    ///
    /// # Errors
    /// The driver fails, or the device is lost.
    pub fn unmap(self) -> Result<(), MemoryError> {
        self.0.unmap()
    }
}

impl MappedImage<'_> {
    /// Ends the mapping, as [`MappedMut::unmap`].
    ///
    /// # Errors
    /// The driver fails, or the device is lost.
    pub fn unmap(self) -> Result<(), MemoryError> {
        self.0.unmap()
    }

    /// Number of rows in all slices or layers.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// Row `y` as tightly packed texels, counted across all slices or layers; `None` past the last.
    pub fn row(&self, y: usize) -> Option<&[u8]> {
        let (start, len) = self.0.row(y)?;
        // SAFETY: the row is inside the mapping, which was initialised when the image was made; shared for as long as
        // self is.
        Some(unsafe { std::slice::from_raw_parts(start, len) })
    }

    /// Row `y` for writing; `None` past the last.
    pub fn row_mut(&mut self, y: usize) -> Option<&mut [u8]> {
        let (start, len) = self.0.row(y)?;
        // SAFETY: as above, and exclusive for as long as self is.
        Some(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }
}

impl Deref for Mapped<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is live and one row of that many bytes, initialised when the buffer was made; no kernel
        // runs on it and none can be launched, as the guard borrows the buffer exclusively.
        unsafe { std::slice::from_raw_parts(self.0.pointer(), self.0.row_bytes()) }
    }
}

impl Deref for MappedMut<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: as for `Mapped`.
        unsafe { std::slice::from_raw_parts(self.0.pointer(), self.0.row_bytes()) }
    }
}

impl DerefMut for MappedMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `Mapped`; borrowed exclusively, and mapped for writing.
        unsafe { std::slice::from_raw_parts_mut(self.0.pointer(), self.0.row_bytes()) }
    }
}
