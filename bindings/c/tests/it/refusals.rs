//! Results over their sources, and children of `fork`, from C.

use std::path::Path;

use crate::support::{compiled, installed, run, with_library};

#[test]
fn misuse_is_refused_with_a_message() {
    let Some(prefix) = installed() else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals.c");
    // `fork`.
    let program = compiled("gcc", &["-std=gnu11"], source, prefix.path());
    let devices = tripipe::Device::list().devices.len();
    let mut command = with_library(&program, prefix.path());
    command.arg("cpu").args((1..devices).map(|index| format!("opencl:{}", index - 1)));
    run(&mut command);
}
