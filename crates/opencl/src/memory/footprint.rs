//! The bytes that an object occupies, to determine whether two objects share memory.

use std::ops::Range;

/// The bytes that an object occupies, as far as this process can tell.
///
/// Two objects of one context share bytes if their footprints [overlap](Self::overlaps): the same object, an image and
/// the buffer it is made from, parts of one buffer, one `cl_mem`, dma-buf or `AHardwareBuffer` that was imported
/// twice, buffers over the same host memory. Mappings of other processes are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The object that owns the memory, and the range of its bytes.
    pub(super) object: Option<(usize, Range<usize>)>,
    /// Host addresses.
    pub(super) host: Option<Range<usize>>,
    /// File system and inode of a dma-buf.
    pub(super) dma_buf: Option<(u64, u64)>,
    /// The address of an `AHardwareBuffer`.
    pub(super) hardware_buffer: Option<usize>,
}

impl Footprint {
    /// The footprint of an object with `bytes` bytes of its own memory.
    pub(super) fn of_object(raw: usize, bytes: usize) -> Self {
        Self { object: Some((raw, 0..bytes)), ..Self::default() }
    }

    /// The footprint of `bytes` bytes at `offset` of this one.
    pub(super) fn part(&self, offset: usize, bytes: usize) -> Self {
        let shifted = |range: &Range<usize>| {
            let start = range.start.saturating_add(offset);
            start..start.saturating_add(bytes)
        };
        Self {
            object: self.object.as_ref().map(|(raw, range)| (*raw, shifted(range))),
            host: self.host.as_ref().map(shifted),
            ..self.clone()
        }
    }

    /// Whether the two have bytes in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        let objects = match (&self.object, &other.object) {
            (Some((a, of_a)), Some((b, of_b))) => a == b && meet(of_a, of_b),
            _ => false,
        };
        let hosts = match (&self.host, &other.host) {
            (Some(a), Some(b)) => meet(a, b),
            _ => false,
        };
        objects
            || hosts
            || (self.dma_buf.is_some() && self.dma_buf == other.dma_buf)
            || (self.hardware_buffer.is_some() && self.hardware_buffer == other.hardware_buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_object_overlap_where_their_bytes_meet() {
        let whole = Footprint::of_object(8, 100);
        let (first, second) = (whole.part(0, 50), whole.part(50, 50));
        assert!(whole.overlaps(&whole) && whole.overlaps(&first) && second.overlaps(&whole));
        assert!(!first.overlaps(&second));
        assert!(first.overlaps(&whole.part(49, 1)) && !first.overlaps(&whole.part(50, 1)));
        assert!(!whole.overlaps(&Footprint::of_object(16, 100)));
    }

    #[test]
    fn memory_is_the_same_by_address_inode_or_buffer() {
        let host = |range| Footprint { host: Some(range), ..Footprint::default() };
        assert!(host(10..20).overlaps(&host(19..30)) && !host(10..20).overlaps(&host(20..30)));
        let dma = |inode| Footprint { dma_buf: Some((1, inode)), ..Footprint::default() };
        assert!(dma(7).overlaps(&dma(7)) && !dma(7).overlaps(&dma(8)));
        let hardware = |at| Footprint { hardware_buffer: Some(at), ..Footprint::default() };
        assert!(hardware(1).overlaps(&hardware(1)) && !hardware(1).overlaps(&hardware(2)));
        // An unknown footprint overlaps nothing.
        assert!(!Footprint::default().overlaps(&Footprint::default()));
    }
}
