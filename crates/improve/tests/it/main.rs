//! Tests of rewriting kernels.

mod syntax;
