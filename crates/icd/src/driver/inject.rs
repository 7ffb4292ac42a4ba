//! Programs that do not build and launches that fail, as with a real driver (`TRIPIPE_INJECT`). Wrong results are the
//! simulator's.

use opencl_sys as cl;
use tripipe_device::drivers::Injection;
use tripipe_simulate::drivers::{Subject, failure};

use super::failure::{Failure, Outcome};
use super::settings::Settings;

/// Fails where the build of a kernel is to fail.
///
/// # Errors
/// It is.
pub fn build(subject: &Subject<'_>) -> Outcome<()> {
    fail(Injection::BuildFails, cl::CL_BUILD_PROGRAM_FAILURE, subject)
}

/// Fails where the launch of a kernel is to fail.
///
/// # Errors
/// It is.
pub fn launch(subject: &Subject<'_>) -> Outcome<()> {
    fail(Injection::LaunchFails, cl::CL_OUT_OF_RESOURCES, subject)
}

fn fail(how: Injection, code: i32, subject: &Subject<'_>) -> Outcome<()> {
    let quirk = Settings::current().inject.filter(|quirk| quirk.injection == Some(how));
    match quirk.and_then(|quirk| failure(quirk, subject)) {
        Some(what) => Err(Failure::new(code, what)),
        None => Ok(()),
    }
}
