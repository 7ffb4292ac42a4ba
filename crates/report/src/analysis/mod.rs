//! What kernels cost on GPUs ([`tripipe_analyze::Analysis`]).

mod json;
mod malioc;
mod text;

pub use json::json;
pub use malioc::malioc;
pub use text::text;

use tripipe_analyze::Analysis;
use tripipe_ir::{Kernel, Module, Place};

/// A kernel and what it costs on each GPU.
pub struct Priced<'a> {
    /// The module it is of, for the names of its files.
    pub module: &'a Module,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The text of its source, for lines that are shown; empty when there is none.
    pub source: &'a str,
    /// One for each GPU.
    pub analyses: &'a [Analysis],
}

impl Priced<'_> {
    /// The line of a place in the kernel's own text.
    fn line(&self, place: Place) -> u32 {
        self.kernel.outermost(place).line
    }

    /// The text of a line, without what surrounds it; empty if it is not at hand.
    fn text_of(&self, line: u32) -> &str {
        self.source.lines().nth((line as usize).wrapping_sub(1)).unwrap_or("").trim()
    }
}

/// The columns that bound, as they are called: `A`, `A, CVT`; `none` when nothing costs anything.
fn bound(analysis: &Analysis, at: &[usize]) -> String {
    let family = analysis.gpu.family();
    let names: Vec<&str> = at.iter().map(|at| analysis.columns[*at].head(family)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
