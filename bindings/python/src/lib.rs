//! The library for Python: `docs/python.md`.
//!
//! Arrays of NumPy are read and written in place on the CPU path, and copied to devices. Arrays of a device stay there
//! between calls. Nothing here computes.

#![allow(unsafe_code, reason = "only `host` has unsafe code: the memory of NumPy's arrays")]
#![allow(clippy::doc_markdown, reason = "NumPy is a name, and doc comments are shown by Python")]
#![allow(clippy::needless_pass_by_value, reason = "functions for Python take what the macros extract")]

mod arithmetic;
mod array;
mod chain;
mod context;
mod elements;
mod error;
mod explanation;
mod filter;
mod host;
mod numbers;
mod packed;
mod product;
mod reduce;
mod view;
mod wait;

use pyo3::prelude::*;

/// The native part of the package `tripipe`.
#[pymodule]
mod _tripipe {
    #[pymodule_export]
    use super::array::{PyArray, array};
    #[pymodule_export]
    use super::chain::{PyChain, stages, unpickled};
    #[pymodule_export]
    use super::context::{PyContext, PyDevice, context_of_host, devices, shared_context, unpickled_device};
    #[pymodule_export]
    use super::error::{DeviceError, Error, UnsupportedError};
    #[pymodule_export]
    use super::explanation::{PyExplanation, unpickled_explanation};
    #[pymodule_export]
    use super::filter::{PyWork, affine, explain, filter, filter_inside, resize, rotate};
    #[pymodule_export]
    use super::packed::{PyPacked, pack, unpickled_packed};
    #[pymodule_export]
    use super::product::{explain_matmul, matmul};
    #[pymodule_export]
    use super::reduce::{from_frame, histogram, to_frame};

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
