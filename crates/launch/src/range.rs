//! The index range of a launch.

use std::fmt;

/// Global size, offset and work-group size of a launch, in work-items.
///
/// Dimensions past `dimensions` are 1 (sizes) or 0 (offsets).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NdRange {
    dimensions: u8,
    global: [usize; 3],
    offset: [usize; 3],
    local: Option<[usize; 3]>,
}

impl NdRange {
    /// One dimension.
    pub fn d1(x: usize) -> Self {
        Self { dimensions: 1, global: [x, 1, 1], offset: [0; 3], local: None }
    }

    /// Two dimensions.
    pub fn d2(x: usize, y: usize) -> Self {
        Self { dimensions: 2, global: [x, y, 1], offset: [0; 3], local: None }
    }

    /// Three dimensions.
    pub fn d3(x: usize, y: usize, z: usize) -> Self {
        Self { dimensions: 3, global: [x, y, z], offset: [0; 3], local: None }
    }

    /// Sets the work-group size; it must be 1 in dimensions that the range does not have.
    #[must_use]
    pub fn local(mut self, x: usize, y: usize, z: usize) -> Self {
        self.local = Some([x, y, z]);
        self
    }

    /// Sets an offset for `get_global_id`.
    #[must_use]
    pub fn offset(mut self, x: usize, y: usize, z: usize) -> Self {
        self.offset = [x, y, z];
        self
    }

    /// The number of dimensions: 1, 2 or 3.
    pub fn dimensions(&self) -> usize {
        usize::from(self.dimensions)
    }

    /// Global size.
    pub fn global_size(&self) -> [usize; 3] {
        self.global
    }

    /// Offset of `get_global_id`.
    pub fn global_offset(&self) -> [usize; 3] {
        self.offset
    }

    /// Work-group size; `None` leaves the choice to the executor.
    pub fn local_size(&self) -> Option<[usize; 3]> {
        self.local
    }

    /// Number of work-items; `None` if it overflows.
    pub fn work_items(&self) -> Option<usize> {
        self.global.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent))
    }
}

impl fmt::Debug for NdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |sizes: &[usize; 3]| {
            sizes[..self.dimensions()].iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
        };
        write!(f, "{}", shown(&self.global))?;
        if self.offset != [0; 3] {
            write!(f, " from {}", shown(&self.offset))?;
        }
        match &self.local {
            Some(local) => write!(f, " in groups of {}", shown(local)),
            None => Ok(()),
        }
    }
}
