//! Compares the OpenCL C library with arbitrary precision (MPFR), and with the special values of the specification.
//!
//! `cargo test -p tripipe-simulate --test it math:: -- --nocapture` prints the largest error of every function.

mod accuracy;
mod exact;
mod geometric;
mod integers;
mod kind;
mod samples;
mod special;
mod tables;
