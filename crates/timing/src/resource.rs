//! What a launch keeps busy.

/// Something that a launch keeps busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Arithmetic; on Valhall with parallel pipes the FMA pipe.
    Arithmetic,
    /// The CVT pipe (Valhall with parallel pipes).
    Convert,
    /// Special functions.
    Special,
    /// Loads and stores of a core.
    LoadStore,
    /// Image reads of a core.
    Texture,
    /// Dedicated local memory of a core.
    Local,
    /// The starts of work-groups and warps of a core.
    Start,
    /// The busiest core's way to the L2.
    Port,
    /// The busiest slice of the L2.
    L2,
    /// Translations of addresses that no core remembers.
    Translation,
    /// DRAM.
    Dram,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Arithmetic,
        Self::Convert,
        Self::Special,
        Self::LoadStore,
        Self::Texture,
        Self::Local,
        Self::Start,
        Self::Port,
        Self::L2,
        Self::Translation,
        Self::Dram,
    ];
}
