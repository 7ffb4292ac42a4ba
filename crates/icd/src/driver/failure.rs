//! Errors of calls.

use std::borrow::Cow;

use opencl_sys::cl_int;

/// Why a call fails: the code that it returns, and a message for the context's callback.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (error {code})")]
pub struct Failure {
    /// The code of the API, below 0.
    pub code: cl_int,
    /// What is wrong.
    pub message: Cow<'static, str>,
}

/// The result of a call.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A failure with a code of the API.
    pub fn new(code: cl_int, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Fails with a code unless a condition holds.
///
/// # Errors
/// The condition does not hold.
pub fn require(holds: bool, code: cl_int, message: &'static str) -> Outcome<()> {
    if holds { Ok(()) } else { Err(Failure::new(code, message)) }
}
