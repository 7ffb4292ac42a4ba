//! What was transferred between the cores, the L2 and memory.

/// What was transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Lines that loads and stores asked the L1 for.
    pub l1_accesses: u64,
    /// Hits among them.
    pub l1_hits: u64,
    /// Accesses of stores.
    pub l1_writes: u64,
    /// Hits among them.
    pub l1_write_hits: u64,
    /// Lines on which atomic operations were executed in the L2.
    pub l1_atomics: u64,
    /// Lines that loads fetched from the L2.
    pub l1_fetches: u64,
    /// Modified lines that left the L1.
    pub l1_evictions: u64,
    /// Lines that image reads asked the texture cache for.
    pub texture_accesses: u64,
    /// Hits among them.
    pub texture_hits: u64,
    /// Lines that image reads fetched from the L2.
    pub texture_fetches: u64,
    /// Lines that the L2 was asked for.
    pub l2_accesses: u64,
    /// Hits among them.
    pub l2_hits: u64,
    /// Accesses that write.
    pub l2_writes: u64,
    /// Hits among them.
    pub l2_write_hits: u64,
    /// Bytes from the L2 to the load/store pipes.
    pub l2_load_bytes: u64,
    /// Bytes from the L2 to the texture pipes.
    pub l2_texture_bytes: u64,
    /// Bytes from the cores to the L2.
    pub l2_written_bytes: u64,
    /// Bytes that the L2 read for loads from beyond it: the system cache, or DRAM.
    pub external_load_bytes: u64,
    /// The same for image reads.
    pub external_texture_bytes: u64,
    /// Bytes that the L2 wrote back.
    pub external_written_bytes: u64,
    /// Bytes read from DRAM.
    pub dram_read_bytes: u64,
    /// Bytes written to DRAM.
    pub dram_written_bytes: u64,
    /// Translations that were not remembered.
    pub tlb_misses: u64,
}
