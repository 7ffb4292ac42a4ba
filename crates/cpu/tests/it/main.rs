//! The CPU path. `scripts/test` runs these tests with the vectors of older machines, too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod filter;
mod gemm;
mod image;
mod numeric;
