//! The storage of bytes during a launch, and the format of pointers.
//!
//! A pointer has 64 bits: the object number in the upper 16, and in the lower 48 the offset plus [`BIAS`], so that an
//! offset before the object's start stays with the object. All bits zero is null: object 0, far outside its bounds.
//!
//! Memory that the application shares with kernels has the application's addresses, so that both can follow pointers
//! that are stored in it. Their upper 16 bits are zero, too: [`Memory::parts`] tells them from null.
//!
//! Global memory is exclusive to the thread when one thread runs all work-groups. When several threads run, it is
//! shared and read-only, and each thread has a copy of the pages that it writes. Other work-groups see these writes
//! only after the launch. Without atomics OpenCL guarantees no more, and launches with atomics on global memory run
//! on one thread.

use std::sync::Arc;

use bytemuck::Pod;
use tripipe_ir::Space;
use tripipe_ir::diagnostic::AccessedMemory;

use super::rows::WIDTH;

const OFFSET_BITS: u32 = 48;
const BIAS: u64 = 1 << (OFFSET_BITS - 1);
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// Maximum number of objects in a launch.
pub(crate) const MAX_OBJECTS: usize = 1 << 16;

/// The pointer to a byte of an object.
pub(crate) const fn pointer(object: u32, offset: u64) -> u64 {
    ((object as u64) << OFFSET_BITS) | (BIAS.wrapping_add(offset) & OFFSET_MASK)
}

/// Object and offset of a pointer that is not an address of the application.
pub(crate) const fn parts(pointer: u64) -> (u32, i64) {
    ((pointer >> OFFSET_BITS) as u32, (pointer & OFFSET_MASK).cast_signed() - BIAS.cast_signed())
}

/// An object that has addresses of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedRange {
    /// The address of its first byte.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) object: u32,
}

/// How far beside an object an address still counts as one of that object, in messages.
const BESIDE: u64 = 4096;

/// Object and offset of an address of the application: of the object that it is in, or else of one that it is beside.
/// `ranges` are sorted.
fn shared_parts(ranges: &[SharedRange], address: u64) -> Option<(u32, i64)> {
    let next = ranges.partition_point(|range| range.address <= address);
    let below = next.checked_sub(1).map(|index| ranges[index]);
    let below = below.filter(|range| address - range.address < range.bytes + BESIDE);
    let above = || ranges.get(next).copied().filter(|range| range.address - address <= BESIDE);
    let range = below.or_else(above)?;
    Some((range.object, address.wrapping_sub(range.address).cast_signed()))
}

/// The storage of an object's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// No storage: null.
    Null,
    /// A buffer or program-scope object, by position in [`Memory::globals`].
    Global(u32),
    /// Per work-group, by position in [`Memory::locals`].
    Local(u32),
    /// Per work-item, by position in the warp's privates.
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

/// A private object of a warp. Units of `unit` bytes are interleaved across lanes, so that an element at the same
/// index in all lanes is one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Private {
    pub(crate) unit: usize,
    /// Size of one work-item's object.
    pub(crate) object_bytes: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Private {
    pub(crate) fn new(object_bytes: usize, unit: usize) -> Self {
        Self { unit, object_bytes, bytes: vec![0; object_bytes.next_multiple_of(unit) * WIDTH] }
    }

    /// The offset, if the `bytes` bytes from it on are inside the object.
    pub(crate) fn inside(&self, offset: i64, bytes: usize) -> Option<usize> {
        let offset = usize::try_from(offset).ok()?;
        // The kernel computes the offset, so the sum may overflow.
        (offset.checked_add(bytes)? <= self.object_bytes).then_some(offset)
    }

    /// The numbers of all lanes as one row, if a number is one unit.
    pub(crate) fn row(&self, offset: usize, bytes: usize) -> Option<&[u8]> {
        let start = offset * WIDTH;
        (bytes == self.unit && offset.is_multiple_of(self.unit))
            .then(|| &self.bytes[start..start + bytes * WIDTH])
    }

    /// The same, mutable.
    pub(crate) fn row_mut(&mut self, offset: usize, bytes: usize) -> Option<&mut [u8]> {
        let start = offset * WIDTH;
        (bytes == self.unit && offset.is_multiple_of(self.unit))
            .then(|| &mut self.bytes[start..start + bytes * WIDTH])
    }

    /// Reads a lane's number; the offset has been checked.
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

    /// Index of a byte of a lane.
    #[inline]
    pub(crate) fn position(&self, offset: usize, lane: usize) -> usize {
        (offset / self.unit * WIDTH + lane) * self.unit + offset % self.unit
    }
}

/// Bytes of a buffer during a launch.
#[derive(Debug)]
pub(crate) enum Global<'l> {
    /// Exclusive to this thread.
    Exclusive(&'l mut [u8]),
    /// Not written during the launch.
    Shared(&'l [u8]),
    /// Shared, with this thread's writes in a copy.
    Overlay(Overlay<'l>),
}

const PAGE: usize = 4096;

/// A buffer with one thread's writes.
#[derive(Debug)]
pub(crate) struct Overlay<'l> {
    base: &'l [u8],
    /// As long as the base; pages that were never written are not accessed.
    own: Vec<u8>,
    written: Vec<bool>,
}

impl<'l> Overlay<'l> {
    pub(crate) fn new(base: &'l [u8]) -> Self {
        // The system maps zeroed memory only when it is accessed, so pages that are not written cost nothing.
        Self { base, own: vec![0; base.len()], written: vec![false; base.len().div_ceil(PAGE)] }
    }

    fn pages(offset: usize, bytes: usize) -> std::ops::RangeInclusive<usize> {
        offset / PAGE..=(offset + bytes.max(1) - 1) / PAGE
    }

    fn take_over(&mut self, page: usize) {
        // Page by page, because most kernels write a small part of what they may write.
        if !self.written[page] {
            let bytes = page * PAGE..((page + 1) * PAGE).min(self.base.len());
            self.own[bytes.clone()].copy_from_slice(&self.base[bytes]);
            self.written[page] = true;
        }
    }

    fn read(&mut self, offset: usize, bytes: usize) -> &[u8] {
        let mut pages = Self::pages(offset, bytes);
        // Mostly all pages are of one kind, and the bytes are contiguous in it.
        let first = self.written[*pages.start()];
        if pages.all(|page| self.written[page] == first) {
            let from = if first { &self.own[..] } else { self.base };
            return &from[offset..offset + bytes];
        }
        // Taking over the missing pages makes the bytes contiguous.
        self.write(offset, bytes)
    }

    fn write(&mut self, offset: usize, bytes: usize) -> &mut [u8] {
        for page in Self::pages(offset, bytes) {
            self.take_over(page);
        }
        &mut self.own[offset..offset + bytes]
    }

    /// The writes, without the borrow of the base.
    pub(crate) fn finish(self) -> Written {
        Written { own: self.own, pages: self.written }
    }
}

/// The writes of one thread to a buffer.
#[derive(Debug)]
pub(crate) struct Written {
    own: Vec<u8>,
    pages: Vec<bool>,
}

/// Merges the writes of all threads into the buffer. If two threads wrote the same byte, the later one in order wins.
pub(crate) fn merge(base: &mut [u8], threads: &[Written]) {
    for (page, chunk) in base.chunks_mut(PAGE).enumerate() {
        let range = page * PAGE..page * PAGE + chunk.len();
        let mut writers = threads.iter().filter(|written| written.pages[page]).peekable();
        let Some(first) = writers.next() else { continue };
        if writers.peek().is_none() {
            chunk.copy_from_slice(&first.own[range]);
            continue;
        }
        // Threads wrote parts of the page: a byte that a thread left alone is as before, and must not undo another's.
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

/// All non-private memory of a launch, as seen by one thread.
#[derive(Debug)]
pub(crate) struct Memory<'l> {
    pub(crate) objects: Arc<[ObjectInfo]>,
    /// Sorted by address.
    pub(crate) shared: Arc<[SharedRange]>,
    pub(crate) globals: Vec<Global<'l>>,
    pub(crate) locals: Vec<Vec<u8>>,
}

impl Memory<'_> {
    /// The object with this number.
    pub(crate) fn object(&self, object: u32) -> Option<&ObjectInfo> {
        self.objects.get(object as usize)
    }

    /// Object and offset of a pointer.
    #[inline]
    pub(crate) fn parts(&self, pointer: u64) -> (u32, i64) {
        let found = parts(pointer);
        if found.0 == 0 && !self.shared.is_empty() {
            return shared_parts(&self.shared, pointer).unwrap_or(found);
        }
        found
    }

    /// Bytes of an object as a finding names them; `None` if there is no object.
    pub(crate) fn accessed(&self, object: u32, offset: i64, bytes: u64) -> Option<AccessedMemory> {
        let info = self.object(object).filter(|info| info.home != Home::Null)?;
        let object = info.name.to_string();
        Some(AccessedMemory { object, space: info.space, object_bytes: info.bytes, offset, bytes })
    }

    /// Bytes of a buffer or local object; `None` if they are not all inside, or for other objects.
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

    /// Copies an object of as many bytes into another.
    pub(crate) fn copy_whole(&mut self, to: u32, from: u32) {
        let bytes = self.object(from).map_or(0, |info| info.bytes as usize);
        // A copy, because both objects are borrowed from the same memory.
        let Some(from) = self.read(from, 0, bytes).map(<[u8]>::to_vec) else { return };
        if let Some(to) = self.write(to, 0, bytes) {
            to.copy_from_slice(&from);
        }
    }

    /// Reads bytes of a buffer that is not an overlay, or of a local object, without changing the state.
    pub(crate) fn peek(&self, object: u32, offset: i64, bytes: usize) -> Option<&[u8]> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(bytes)?;
        match self.objects.get(object as usize)?.home {
            Home::Global(index) => match &self.globals[index as usize] {
                Global::Exclusive(all) => all.get(offset..end),
                Global::Shared(all) => all.get(offset..end),
                // An overlay may have to take over pages first.
                Global::Overlay(_) => None,
            },
            Home::Local(index) => self.locals[index as usize].get(offset..end),
            Home::Null | Home::Private(_) => None,
        }
    }

    /// Bytes of a buffer or local object, mutable.
    #[inline]
    pub(crate) fn write(&mut self, object: u32, offset: i64, bytes: usize) -> Option<&mut [u8]> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(bytes)?;
        match self.objects.get(object as usize)?.home {
            Home::Global(index) => match &mut self.globals[index as usize] {
                Global::Exclusive(all) => all.get_mut(offset..end),
                // Only a buffer that no store of the kernel can reach is shared.
                Global::Shared(_) => None,
                Global::Overlay(overlay) => (end <= overlay.base.len()).then(|| overlay.write(offset, bytes)),
            },
            Home::Local(index) => self.locals[index as usize].get_mut(offset..end),
            Home::Null | Home::Private(_) => None,
        }
    }
}
