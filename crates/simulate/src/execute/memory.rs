//! Where bytes lie during a launch, and what pointers to them look like.
//!
//! A pointer is 64 bits: the object's number in the upper 16, in the lower 48 the offset plus [`BIAS`], so that an
//! offset before the object's start stays with the object. All-zero is null: object 0, far outside of it.
//!
//! Global memory is exclusive to the thread, or, when several run work-groups, shared and read-only with the thread's
//! own copy of each page it writes. What a work-group writes others see only after the launch; OpenCL promises
//! no more without atomics, and launches with atomics on global memory run on one thread.

use std::sync::Arc;

use bytemuck::Pod;
use tripipe_ir::Space;

use super::rows::WIDTH;

const OFFSET_BITS: u32 = 48;
const BIAS: u64 = 1 << (OFFSET_BITS - 1);
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// The most objects a launch can have.
pub(crate) const MAX_OBJECTS: usize = 1 << 16;

/// The pointer to a byte of an object.
pub(crate) const fn pointer(object: u32, offset: u64) -> u64 {
    ((object as u64) << OFFSET_BITS) | (BIAS.wrapping_add(offset) & OFFSET_MASK)
}

/// Object and offset of a pointer.
pub(crate) const fn parts(pointer: u64) -> (u32, i64) {
    ((pointer >> OFFSET_BITS) as u32, (pointer & OFFSET_MASK).cast_signed() - BIAS.cast_signed())
}

/// Where an object's bytes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// Nowhere: null.
    Null,
    /// A buffer or program-scope object, by position in [`Memory::globals`].
    Global(u32),
    /// The work-group's, by position in [`Memory::locals`].
    Local(u32),
    /// Each work-item's own, by position in the warp's privates.
    Private(u32),
}

/// An object of a launch.
#[derive(Clone, Debug)]
pub(crate) struct ObjectInfo {
    pub(crate) name: Arc<str>,
    pub(crate) space: Space,
    pub(crate) home: Home,
    pub(crate) bytes: u64,
}

/// Private objects of a warp. Units of `unit` bytes of all lanes lie side by side, so that what all lanes index alike is
/// one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Private {
    pub(crate) unit: usize,
    /// Of one work-item's object.
    pub(crate) object_bytes: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Private {
    pub(crate) fn new(object_bytes: usize, unit: usize) -> Self {
        Self { unit, object_bytes, bytes: vec![0; object_bytes.next_multiple_of(unit) * WIDTH] }
    }

    /// The offset, if so many bytes from it on are inside.
    pub(crate) fn inside(&self, offset: i64, bytes: usize) -> Option<usize> {
        let offset = usize::try_from(offset).ok()?;
        (offset.checked_add(bytes)? <= self.object_bytes).then_some(offset)
    }

    /// A number of all lanes side by side, if it is one unit.
    pub(crate) fn row(&self, offset: usize, bytes: usize) -> Option<&[u8]> {
        let start = offset * WIDTH;
        (bytes == self.unit && offset.is_multiple_of(self.unit))
            .then(|| &self.bytes[start..start + bytes * WIDTH])
    }

    /// The same, to be written.
    pub(crate) fn row_mut(&mut self, offset: usize, bytes: usize) -> Option<&mut [u8]> {
        let start = offset * WIDTH;
        (bytes == self.unit && offset.is_multiple_of(self.unit))
            .then(|| &mut self.bytes[start..start + bytes * WIDTH])
    }

    /// A lane's number; the offset has been checked.
    pub(crate) fn read<T: Pod>(&self, offset: usize, lane: usize) -> T {
        let mut number = T::zeroed();
        for (index, byte) in bytemuck::bytes_of_mut(&mut number).iter_mut().enumerate() {
            *byte = self.bytes[self.position(offset + index, lane)];
        }
        number
    }

    /// Writes a lane's number; the offset has been checked.
    pub(crate) fn write<T: Pod>(&mut self, offset: usize, lane: usize, number: T) {
        for (index, byte) in bytemuck::bytes_of(&number).iter().enumerate() {
            let position = self.position(offset + index, lane);
            self.bytes[position] = *byte;
        }
    }

    /// Where a byte of a lane lies.
    #[inline]
    pub(crate) fn position(&self, offset: usize, lane: usize) -> usize {
        (offset / self.unit * WIDTH + lane) * self.unit + offset % self.unit
    }
}

/// Bytes of a buffer during a launch.
#[derive(Debug)]
pub(crate) enum Global<'l> {
    /// This thread's alone.
    Exclusive(&'l mut [u8]),
    /// Written by no one.
    Shared(&'l [u8]),
    /// Shared, with this thread's writes on top.
    Overlay(Overlay<'l>),
}

const PAGE: usize = 4096;

/// A buffer with one thread's writes.
#[derive(Debug)]
pub(crate) struct Overlay<'l> {
    base: &'l [u8],
    /// As long as the base; pages that were never written are never touched.
    own: Vec<u8>,
    written: Vec<bool>,
}

impl<'l> Overlay<'l> {
    pub(crate) fn new(base: &'l [u8]) -> Self {
        Self { base, own: vec![0; base.len()], written: vec![false; base.len().div_ceil(PAGE)] }
    }

    fn pages(offset: usize, bytes: usize) -> std::ops::RangeInclusive<usize> {
        offset / PAGE..=(offset + bytes.max(1) - 1) / PAGE
    }

    fn take_over(&mut self, page: usize) {
        if !self.written[page] {
            let bytes = page * PAGE..((page + 1) * PAGE).min(self.base.len());
            self.own[bytes.clone()].copy_from_slice(&self.base[bytes]);
            self.written[page] = true;
        }
    }

    fn read(&mut self, offset: usize, bytes: usize) -> &[u8] {
        let mut pages = Self::pages(offset, bytes);
        let first = self.written[*pages.start()];
        if pages.all(|page| self.written[page] == first) {
            let from = if first { &self.own[..] } else { self.base };
            return &from[offset..offset + bytes];
        }
        self.write(offset, bytes)
    }

    fn write(&mut self, offset: usize, bytes: usize) -> &mut [u8] {
        for page in Self::pages(offset, bytes) {
            self.take_over(page);
        }
        &mut self.own[offset..offset + bytes]
    }

    /// What remains when the base is no longer borrowed.
    pub(crate) fn finish(self) -> Written {
        Written { own: self.own, pages: self.written }
    }
}

/// What one thread wrote to a buffer.
#[derive(Debug)]
pub(crate) struct Written {
    own: Vec<u8>,
    pages: Vec<bool>,
}

/// Brings the writes of all threads into the buffer. Where two wrote the same byte the later in order stays.
pub(crate) fn merge(base: &mut [u8], threads: &[Written]) {
    for (page, chunk) in base.chunks_mut(PAGE).enumerate() {
        let range = page * PAGE..page * PAGE + chunk.len();
        let mut writers = threads.iter().filter(|written| written.pages[page]).peekable();
        let Some(first) = writers.next() else { continue };
        if writers.peek().is_none() {
            chunk.copy_from_slice(&first.own[range]);
            continue;
        }
        let before = chunk.to_vec();
        for written in std::iter::once(first).chain(writers) {
            for ((byte, own), before) in chunk.iter_mut().zip(&written.own[range.clone()]).zip(&before) {
                if own != before {
                    *byte = *own;
                }
            }
        }
    }
}

/// All memory of a launch but what is private, as one thread sees it.
#[derive(Debug)]
pub(crate) struct Memory<'l> {
    pub(crate) objects: Arc<[ObjectInfo]>,
    pub(crate) globals: Vec<Global<'l>>,
    pub(crate) locals: Vec<Vec<u8>>,
}

impl Memory<'_> {
    /// The object of that number.
    pub(crate) fn object(&self, object: u32) -> Option<&ObjectInfo> {
        self.objects.get(object as usize)
    }

    /// Bytes of a buffer or local object; `None` if they are not all inside, or it is neither.
    #[inline]
    pub(crate) fn read(&mut self, object: u32, offset: i64, bytes: usize) -> Option<&[u8]> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(bytes)?;
        match self.objects.get(object as usize)?.home {
            Home::Global(index) => match &mut self.globals[index as usize] {
                Global::Exclusive(all) => all.get(offset..end),
                Global::Shared(all) => all.get(offset..end),
                Global::Overlay(overlay) => (end <= overlay.base.len()).then(|| overlay.read(offset, bytes)),
            },
            Home::Local(index) => self.locals[index as usize].get(offset..end),
            Home::Null | Home::Private(_) => None,
        }
    }

    /// Bytes of a buffer that is this thread's alone, or of a local object.
    pub(crate) fn peek(&self, object: u32, offset: i64, bytes: usize) -> Option<&[u8]> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(bytes)?;
        match self.objects.get(object as usize)?.home {
            Home::Global(index) => match &self.globals[index as usize] {
                Global::Exclusive(all) => all.get(offset..end),
                Global::Shared(all) => all.get(offset..end),
                Global::Overlay(_) => None,
            },
            Home::Local(index) => self.locals[index as usize].get(offset..end),
            Home::Null | Home::Private(_) => None,
        }
    }

    /// The same, to be written.
    #[inline]
    pub(crate) fn write(&mut self, object: u32, offset: i64, bytes: usize) -> Option<&mut [u8]> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(bytes)?;
        match self.objects.get(object as usize)?.home {
            Home::Global(index) => match &mut self.globals[index as usize] {
                Global::Exclusive(all) => all.get_mut(offset..end),
                Global::Shared(_) => None,
                Global::Overlay(overlay) => (end <= overlay.base.len()).then(|| overlay.write(offset, bytes)),
            },
            Home::Local(index) => self.locals[index as usize].get_mut(offset..end),
            Home::Null | Home::Private(_) => None,
        }
    }
}
