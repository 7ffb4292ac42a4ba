//! Tests of rewriting kernels.
