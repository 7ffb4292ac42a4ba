//! Findings of checks and lints in a kernel, as data; reporters render them.

use super::SourceLocation;
use crate::Space;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Informative; not an error by the specification.
    Note,
    /// Probably unintended, or correct on some devices only.
    Warning,
    /// Undefined by the specification: any result is possible.
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

/// Who has a rule; reporters choose the headings of its sections by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// A check of a running kernel.
    Check,
    /// Advice on what costs time.
    Lint,
    /// A change of a source.
    Rewrite,
    /// A verdict on a device's results.
    Verdict,
}

/// A kind of finding: its code, and the sections of its text for `tripipe explain`.
///
/// Sections are markdown or OpenCL C, without headings and fences; a newline at their start does not count. A rule
/// leaves out what it does not have: `Rule { code: "data-race", ..Rule::CHECK }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The code: lower-case words with hyphens, e.g. `data-race`. Never renamed, never reused.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// What it finds, in half a line.
    pub title: &'static str,
    /// Whose it is.
    pub kind: RuleKind,
    /// Markdown: what it finds; what a rewrite does.
    pub what: &'static str,
    /// Markdown: why it matters, or what it costs.
    pub why: &'static str,
    /// Code: an example that it finds.
    pub example: &'static str,
    /// Markdown before the code of `instead`.
    pub advice: &'static str,
    /// Code: what to write instead.
    pub instead: &'static str,
    /// Markdown after the code of `instead`.
    pub remark: &'static str,
    /// Markdown: when it is wrong; when a rewrite keeps off.
    pub exceptions: &'static str,
    /// Markdown: where that is written.
    pub source: &'static str,
}

impl Rule {
    /// A check without text; an error.
    pub const CHECK: Self = Self {
        code: "",
        severity: Severity::Error,
        title: "",
        kind: RuleKind::Check,
        what: "",
        why: "",
        example: "",
        advice: "",
        instead: "",
        remark: "",
        exceptions: "",
        source: "",
    };
    /// A lint without text; a note.
    pub const LINT: Self = Self { severity: Severity::Note, kind: RuleKind::Lint, ..Self::CHECK };
    /// A rewrite without text; a note.
    pub const REWRITE: Self = Self { kind: RuleKind::Rewrite, ..Self::LINT };
    /// A verdict without text; a note.
    pub const VERDICT: Self = Self { kind: RuleKind::Verdict, ..Self::LINT };
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
    /// The object's name in the source: an argument's or variable's name.
    pub object: String,
    /// Its address space.
    pub space: Space,
    /// Size of the object in bytes.
    pub object_bytes: u64,
    /// Where the access starts in the object, in bytes; negative before its start.
    pub offset: i64,
    /// Bytes accessed.
    pub bytes: u64,
}

/// A second location of a finding: the other side of a race, or the origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What happened there.
    pub message: String,
    /// Its source location, if known.
    pub location: Option<SourceLocation>,
    /// The work-item, if a single one did it.
    pub work_item: Option<WorkItem>,
}

/// A finding of a check or a lint; one for each instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its rule.
    pub rule: &'static Rule,
    /// The kernel.
    pub kernel: String,
    /// Its source location, if known.
    pub location: Option<SourceLocation>,
    /// The instruction in the IR's text form; empty when it is about the kernel as a whole.
    pub instruction: String,
    /// One sentence with the values of the first occurrence.
    pub message: String,
    /// One sentence on how to fix it.
    pub fix: String,
    /// The number of occurrences; at least 1.
    pub count: u64,
    /// The first work-item that it occurred in, if it is about one.
    pub work_item: Option<WorkItem>,
    /// The memory, if it is about memory.
    pub memory: Option<AccessedMemory>,
    /// Further locations.
    pub related: Vec<Related>,
}
