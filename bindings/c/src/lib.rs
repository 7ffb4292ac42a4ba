//! Tripipe for C and C++: `libtripipe.so` and `tripipe.h`.
//!
//! Every function returns a [`tripipe_status`]; `tripipe_last_error` has the message of the last failure of a thread. No
//! panic leaves a function. `docs/c.md` is the guide.
//!
//! - [`status`]: statuses, messages, strings;
//! - [`context`]: devices and contexts, over a command queue of the application too;
//! - [`vector`]: memory of a context, which may be a buffer of the application;
//! - [`filter`]: chains of image filters;
//! - [`resize`]: images with other extents;
//! - [`reduce`]: sums and extremes;
//! - [`product`]: matrix products;
//! - [`weights`]: products with quantised weights;
//! - [`blas`]: matrix products on buffers of the application, with the arguments of CLBlast.
#![allow(unsafe_code, reason = "the boundary of a C API; each block says why it is sound")]
#![allow(non_camel_case_types, reason = "the names that C programs use")]
#![allow(
    clippy::doc_markdown,
    reason = "the comments become those of the header, where names have no backticks"
)]

pub mod blas;
pub mod context;
pub mod filter;
pub mod product;
pub mod reduce;
pub mod resize;
pub mod status;
pub mod vector;
pub mod weights;

pub use status::tripipe_status;
