//! The OpenCL C library on single numbers.
