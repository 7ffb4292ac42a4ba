//! The CPU path. `scripts/test` runs these tests with the vectors of older machines, too.

mod filter;
mod gemm;
mod image;
mod numeric;
