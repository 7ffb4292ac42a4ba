//! A kernel that was rewritten: the ladder of its steps.

mod list;
mod result;
mod sarif;
mod text;

pub use list::{LaunchLadder, LaunchPrice, taken};
pub use result::result;
pub use sarif::sarif;
pub use text::text;
pub(crate) use text::{ROUGH, proof};

/// The difference of two sources in the unified format; empty if they are the same.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    let (old, new) = (format!("a/{name}"), format!("b/{name}"));
    if before == after { String::new() } else { diff.unified_diff().header(&old, &new).to_string() }
}
