//! Checks for errors while a kernel runs.
//!
//! `state::Watch` observes a checked launch (`observer`). A watcher checks each instruction that can go wrong
//! (`plan`): it examines the operands, records findings (`findings`), and runs the instruction itself for the
//! remaining lanes. Unchecked launches have no observer. `rules` lists the kinds of findings.
//!
//! `access` checks addresses, and `races` conflicting accesses, with `objects` and `cells` as the record of
//! earlier accesses and `order` for the order between work-groups; `taint` tracks unwritten values in the
//! `shadow` of each warp; `values` checks results, and `sums` what additions lose; `kernel` checks the kernel itself.

pub(crate) mod access;
pub(crate) mod cells;
mod checks;
pub(crate) mod copies;
pub(crate) mod findings;
mod images;
pub(crate) mod kernel;
mod losses;
pub(crate) mod objects;
mod observer;
pub(crate) mod order;
pub(crate) mod partial;
pub(crate) mod plan;
mod races;
pub mod rules;
pub(crate) mod shadow;
pub(crate) mod state;
pub(crate) mod sums;
pub(crate) mod taint;
pub(crate) mod touch;
pub(crate) mod values;

pub use checks::Checks;
pub use kernel::static_findings;
