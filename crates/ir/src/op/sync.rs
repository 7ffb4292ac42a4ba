//! Atomics, barriers, memory order.

use super::names::named;

named! {
    /// The participants of an operation, or the observers of memory order.
    pub enum Scope {
        /// One work-item.
        WorkItem = "item",
        /// A sub-group.
        SubGroup = "subgroup",
        /// A work-group.
        WorkGroup = "workgroup",
        /// The device.
        Device = "device",
        /// All devices and the host.
        System = "system",
    }
}

named! {
    /// Memory order, as in C11.
    pub enum MemoryOrder {
        /// No order.
        Relaxed = "relaxed",
        /// Later accesses are not moved before it.
        Acquire = "acquire",
        /// Earlier accesses are not moved after it.
        Release = "release",
        /// Acquire and release.
        AcquireRelease = "acqrel",
        /// Acquire and release, in one total order for all observers.
        SeqCst = "seqcst",
    }
}

impl MemoryOrder {
    /// Whether later accesses are not moved before it.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcquireRelease | Self::SeqCst)
    }

    /// Whether earlier accesses are not moved after it.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcquireRelease | Self::SeqCst)
    }
}

/// A memory order, and the memory that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// The order.
    pub order: MemoryOrder,
    /// Local memory.
    pub local: bool,
    /// Global memory.
    pub global: bool,
    /// Images.
    pub image: bool,
}

named! {
    /// The kind of an atomic; all except `Store` and `FlagClear` return the old value. Operands after the pointer:
    pub enum AtomicOp {
        /// none
        Load = "load",
        /// value
        Store = "store",
        /// value
        Exchange = "exchange",
        /// desired value, expected value
        CompareExchange = "cmpxchg",
        /// none
        Increment = "inc",
        /// none
        Decrement = "dec",
        /// value
        Add = "add",
        /// value
        Sub = "sub",
        /// value, signed
        SMin = "smin",
        /// value, unsigned
        UMin = "umin",
        /// value, signed
        SMax = "smax",
        /// value, unsigned
        UMax = "umax",
        /// value
        And = "and",
        /// value
        Or = "or",
        /// value
        Xor = "xor",
        /// value
        FAdd = "fadd",
        /// value
        FMin = "fmin",
        /// value
        FMax = "fmax",
        /// none; sets the `i32` flag and returns as `bool` whether it was set
        FlagTestAndSet = "flagset",
        /// none
        FlagClear = "flagclear",
    }
}

impl AtomicOp {
    /// Operands after the pointer.
    pub const fn operands(self) -> usize {
        match self {
            Self::Load | Self::Increment | Self::Decrement | Self::FlagTestAndSet | Self::FlagClear => 0,
            Self::CompareExchange => 2,
            _ => 1,
        }
    }

    /// Whether it returns the old value.
    pub const fn has_result(self) -> bool {
        !matches!(self, Self::Store | Self::FlagClear)
    }
}

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atomic {
    /// The operation.
    pub op: AtomicOp,
    /// The observers.
    pub scope: Scope,
    /// Order on success.
    pub semantics: Semantics,
}
