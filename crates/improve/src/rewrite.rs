//! What a rewrite is.

use tripipe_device::Gpu;
use tripipe_ir::diagnostic::Rule;

use crate::improvement::{Refusal, Refused};
use crate::syntax::{Function, Tree};
use crate::{Condition, HostChange, Subject};

/// What rewrites may change beyond what every result keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Whether floating-point results may be rounded differently (`--allow-rounding`).
    pub rounding: bool,
}

/// A kernel as rewrites see it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The kernel's source and launch.
    pub subject: &'a Subject,
    /// The syntax tree of its source; `None` where clang cannot parse it.
    pub tree: Option<&'a Tree>,
    /// The GPUs that it is improved for.
    pub gpus: &'a [&'static Gpu],
    /// What may change.
    pub allowed: Allowed,
}

impl<'a> View<'a> {
    /// The kernel in the syntax tree.
    pub fn kernel(&self) -> Option<&'a Function> {
        self.tree?.kernel(&self.subject.kernel)
    }

    /// The tree of another source of the kernel.
    pub(crate) fn parse(&self, source: String) -> Option<Tree> {
        let offered = self.gpus.first().map(|gpu| gpu.opencl().clone());
        Subject { source, ..self.subject.clone() }.tree(offered).ok()
    }
}

/// A changed kernel, neither verified nor priced yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The code of the rewrite.
    pub code: &'static str,
    /// What it changes, in a few words with its parameters: `4 outputs a work-item in dimension 0, as vectors`.
    pub title: String,
    /// Why that is faster, in a sentence about this kernel.
    pub why: String,
    /// The whole changed source.
    pub source: String,
    /// What must hold for the results to be the same.
    pub conditions: Vec<Condition>,
    /// What the host's code must change, in this order; the changed launch follows from it.
    pub host: Vec<HostChange>,
    /// The most that a floating-point result may deviate, relative; 0 where results are the same bits.
    pub relative_error: f64,
}

/// The largest deviation that needs no permission, relative: what OpenCL lets any device deviate in the function that is
/// replaced, by much (OpenCL C, table of accuracy: `pow` within 16 units in the last place, about 1e-6).
const SPECIFIED: f64 = 5e-7;

impl Proposal {
    /// Whether it rounds results in a way that a user must allow.
    pub fn rounds(&self) -> bool {
        self.relative_error > SPECIFIED
    }

    /// An empty one of a rewrite, which needs nothing and keeps the bits of results: the base of others.
    pub fn of(code: &'static str) -> Self {
        Self {
            code,
            title: String::new(),
            why: String::new(),
            source: String::new(),
            conditions: Vec::new(),
            host: Vec::new(),
            relative_error: 0.0,
        }
    }

    /// What is said of it if it is not applied after `depth` others.
    pub(crate) fn refused(&self, depth: usize, reason: Refusal) -> Refused {
        Refused { code: self.code, title: self.title.clone(), depth, reason }
    }

    /// The subject that it makes of `before`.
    pub fn subject(&self, before: &Subject) -> Subject {
        let launch = HostChange::apply_all(&self.host, &before.launch);
        Subject { source: self.source.clone(), launch, ..before.clone() }
    }
}

/// A way to rewrite kernels.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite {
    /// Its code and documentation: what it does, why, when not, source.
    pub rule: &'static Rule,
    /// Whether it gains nothing by itself, and makes a form of the kernel that others understand better.
    pub prepares: bool,
    /// What it would change. Empty where its preconditions do not hold.
    pub proposals: fn(&View<'_>) -> Vec<Proposal>,
}
