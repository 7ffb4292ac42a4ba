//! What kernels cost on GPUs ([`tripipe_analyze::Analysis`]).

mod diff;
mod json;
mod malioc;
mod markdown;
mod text;

pub use diff::diff;
pub use json::json;
pub use malioc::malioc;
pub use markdown::markdown;
pub use text::text;

use tripipe_analyze::Analysis;
use tripipe_ir::diagnostic::{Finding, SourcePlace};
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

/// The advice of all of them as findings, for the forms that findings have: each says of which GPU it is.
pub fn findings(priced: &Priced<'_>) -> Vec<Finding> {
    let place = |place| {
        let data = priced.kernel.outermost(place);
        let file = priced.module.files[data.file].to_string();
        (data.line > 0).then_some(SourcePlace { file, line: data.line, column: data.column })
    };
    priced
        .analyses
        .iter()
        .flat_map(|analysis| analysis.advice.iter().map(move |advice| (analysis.gpu.name(), advice)))
        .map(|(gpu, advice)| Finding {
            rule: advice.rule,
            kernel: priced.kernel.name.clone(),
            place: advice.place.and_then(place),
            instruction: String::new(),
            message: format!("on {gpu}: {}", advice.message),
            cure: advice.cure.clone(),
            count: 1,
            work_item: None,
            memory: None,
            related: Vec::new(),
        })
        .collect()
}

/// The columns that bound, as they are called: `A`, `A, CVT`; `none` when nothing costs anything.
fn bound(analysis: &Analysis, at: &[usize]) -> String {
    let family = analysis.gpu.family();
    let names: Vec<&str> = at.iter().map(|at| analysis.columns[*at].head(family)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
