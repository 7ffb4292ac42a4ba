//! What `front::clang` makes of sources, options and names.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod support;

use tripipe_ir::Module;
use tripipe_ir::front::clang::{Build, build_text};
use tripipe_ir::front::spirv::{Options, load};

const STORE: &str = "kernel void k(global int *a) { a[1] = N; }";

fn module(name: &str, text: &str, options: &str) -> Option<Module> {
    let built = support::built(build_text(name, text, None, &Build::with_options(options)))?;
    Some(load(&built.spirv, &Options::default()).unwrap())
}

#[test]
fn a_source_is_called_what_the_caller_calls_it() {
    // No folder is put before a relative name, nor taken from an absolute one.
    for name in ["k.cl", "gemm/k.cl", "../k.cl", "./k.cl", "/somewhere/k.cl", "with space.cl"] {
        let Some(module) = module(name, STORE, "-D N=1") else { return };
        let files: Vec<&str> = module.files.values().map(|file| &**file).collect();
        assert_eq!(files, [name]);
    }
}

#[test]
fn vendors_options_are_left_to_their_drivers() {
    let Some(plain) = module("k.cl", STORE, "-D N=1") else { return };
    let options = "-cl-arm-non-uniform-work-group-size -qcom-accelerate-16-bit -D N=1 -cl-nv-verbose";
    assert_eq!(module("k.cl", STORE, options).unwrap().to_string(), plain.to_string());
    // Others are not: an option that nobody knows is an error.
    assert!(build_text("k.cl", STORE, None, &Build::with_options("-cl-no-such-option")).is_err());
}
