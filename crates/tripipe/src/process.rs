//! The process that the threads of contexts belong to.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Error;
use crate::error::Fault;

/// Checks that this is not the child of a process that has made contexts: their threads, and those of the driver, do not
/// exist in the child. The first call is in the process that makes a context. Costs a system call.
///
/// # Errors
/// It is.
pub(crate) fn check() -> Result<(), Error> {
    static USER: AtomicU32 = AtomicU32::new(0);
    let own = process::id();
    match USER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(user) if user != own => Err(Error::from(Fault::Forked)),
        _ => Ok(()),
    }
}
