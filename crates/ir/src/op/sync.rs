//! Atomics, barriers, memory order.

use super::names::named;

named! {
    /// Who takes part, or sees memory ordered.
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
    /// Memory order, as C11 has it.
    pub enum Order {
        /// None.
        Relaxed = "relaxed",
        /// Later accesses stay later.
        Acquire = "acquire",
        /// Earlier accesses stay earlier.
        Release = "release",
        /// Both.
        AcquireRelease = "acqrel",
        /// Both, in one order that all see.
        SeqCst = "seqcst",
    }
}

/// The order, and the memory it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// The order.
    pub order: Order,
    /// Local memory.
    pub local: bool,
    /// Global memory.
    pub global: bool,
    /// Images.
    pub image: bool,
}

named! {
    /// What an atomic does; every one but `Store`, `FlagClear` gives the old value. Operands after the pointer:
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
        /// none; sets the `i32` flag and says as `bool` whether it was set
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

    /// Whether it gives the old value.
    pub const fn has_result(self) -> bool {
        !matches!(self, Self::Store | Self::FlagClear)
    }
}

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atomic {
    /// What it does.
    pub op: AtomicOp,
    /// Who sees it.
    pub scope: Scope,
    /// Order on success.
    pub semantics: Semantics,
}
