//! Memory for vectors.

use std::ops::{Deref, DerefMut};

/// The widest loads and the lines of most caches have this many bytes. A load across two lines takes as long as two.
const ALIGNMENT: usize = 64;

/// A slice whose first element is aligned to 64 bytes, in memory of its own.
#[derive(Default)]
pub struct Aligned<T> {
    memory: Vec<T>,
    len: usize,
}

impl<T: Copy> Aligned<T> {
    /// No elements.
    pub(super) const fn empty() -> Self {
        Self { memory: Vec::new(), len: 0 }
    }

    /// `len` times `value`.
    pub(super) fn filled(value: T, len: usize) -> Self {
        let mut aligned = Self::empty();
        aligned.resize(len, value);
        aligned
    }

    /// Changes the number of elements. Those that there were stay, unless memory has to grow: then all elements are
    /// `value` afterwards.
    pub(super) fn resize(&mut self, len: usize, value: T) {
        let wanted = len + ALIGNMENT / size_of::<T>();
        if self.memory.len() < wanted {
            self.memory.clear();
            self.memory.resize(wanted, value);
        }
        self.len = len;
    }

    /// The index in the memory of the first element.
    fn first(&self) -> usize {
        // The method may fail; then the elements are not aligned, which is slower, no more.
        self.memory.as_ptr().align_offset(ALIGNMENT).min(self.memory.len() - self.len)
    }
}

impl<T: Copy> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.first()..][..self.len]
    }
}

impl<T: Copy> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let first = self.first();
        &mut self.memory[first..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_aligned_and_as_many_as_asked_for() {
        for len in [0, 1, 63, 64, 1000] {
            let mut elements = Aligned::filled(7u16, len);
            assert_eq!(elements.to_vec(), vec![7; len]);
            assert_eq!(elements.as_ptr().addr() % 64, 0);
            elements.fill(8);
            elements.resize(len / 2, 9);
            assert_eq!(elements.to_vec(), vec![8; len / 2]);
            elements.resize(2 * len + 40, 9);
            assert_eq!(elements.to_vec(), vec![9; 2 * len + 40]);
            assert_eq!(elements.as_ptr().addr() % 64, 0);
        }
    }
}
