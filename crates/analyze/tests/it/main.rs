//! The analysis: lints, launches, and published figures.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test reports what it leaves out")]

mod held;
mod launch;
mod lint_variants;
mod lints;
