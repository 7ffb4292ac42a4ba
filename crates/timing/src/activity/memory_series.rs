//! The quantities of the memory over time.

/// Positions of quantities of the memory in its timeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemorySeries {
    pub(crate) cores: usize,
    /// Of a slice of the L2.
    pub(crate) banks: usize,
}

impl MemorySeries {
    pub(crate) const DRAM: usize = 0;
    pub(crate) const L2_BYTES: usize = 1;
    pub(crate) const DRAM_READ: usize = 2;
    pub(crate) const DRAM_WRITTEN: usize = 3;
    pub(crate) const WALKER: usize = 4;
    const PORTS: usize = 5;

    pub(crate) fn port(core: usize) -> usize {
        Self::PORTS + core
    }

    pub(crate) fn slice(self, slice: usize) -> usize {
        Self::PORTS + self.cores + slice * (1 + self.banks)
    }

    pub(crate) fn bank(self, slice: usize, bank: usize) -> usize {
        self.slice(slice) + 1 + bank
    }

    pub(crate) fn count(self, slices: usize) -> usize {
        self.slice(slices)
    }
}
