//! What a check or a lint found in a kernel: data, drawn by whoever reports it.

use super::SourcePlace;
use crate::Space;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong by the specification.
    Note,
    /// Probably not meant, or right on some devices only.
    Warning,
    /// Undefined by the specification: any result may come out.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A kind of finding: its code, and what `tripipe explain` says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The code: lower-case words with hyphens, e.g. `data-race`. Never renamed, never reused.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What it finds, in half a line.
    pub title: &'static str,
    /// What it finds, why it matters, an example, what to write in its place, when it is wrong, sources: markdown with these
    /// as `##` heads.
    pub explanation: &'static str,
}

/// A work-item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkItem {
    /// `get_global_id`
    pub global: [u64; 3],
    /// `get_local_id`
    pub local: [u64; 3],
    /// `get_group_id`
    pub group: [u64; 3],
}

/// Bytes of memory, or a texel of an image, that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessedMemory {
    /// The object as the source calls it: an argument's or variable's name.
    pub object: String,
    /// Where it lies.
    pub space: Space,
    /// Size of the object in bytes.
    pub object_bytes: u64,
    /// Where in the object the access starts, in bytes; negative before its start.
    pub offset: i64,
    /// Bytes accessed.
    pub bytes: u64,
}

/// A second place that a finding is about: the other side of a race, where a value was born.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What happened there.
    pub message: String,
    /// Where in the source, if known.
    pub place: Option<SourcePlace>,
    /// Who did it, if one work-item did.
    pub work_item: Option<WorkItem>,
}

/// Something a check or a lint found, once for each instruction it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What kind.
    pub rule: &'static Rule,
    /// The kernel.
    pub kernel: String,
    /// Where in the source, if known.
    pub place: Option<SourcePlace>,
    /// The instruction in the IR's text form; empty when it is about the kernel as a whole.
    pub instruction: String,
    /// One sentence with the values of the first occurrence.
    pub message: String,
    /// One sentence on the cure.
    pub cure: String,
    /// How often it happened; at least 1.
    pub count: u64,
    /// The first work-item it happened to, if it is about one.
    pub work_item: Option<WorkItem>,
    /// The memory, if it is about memory.
    pub memory: Option<AccessedMemory>,
    /// Further places.
    pub related: Vec<Related>,
}
