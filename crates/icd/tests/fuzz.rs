//! The boundary, fuzzed: random functions with random handles, of all types, released, forged or NULL, on four threads.
//!
//! It runs for a moment; `TRIPIPE_FUZZ_SECONDS=3600 valgrind target/debug/deps/fuzz-...` runs longer.
#![allow(unsafe_code, unused_unsafe, reason = "calls of a C API")]
#![allow(clippy::unwrap_used, clippy::macro_metavars_in_unsafe, reason = "tests of a C API")]
#![allow(clippy::print_stderr, reason = "statistics of a run")]

#[path = "it/support/fuzzer.rs"]
mod fuzzer;
#[path = "it/support/mod.rs"]
mod support;

use fuzzer::{FuzzOptions, fuzz};
use support::table;

#[test]
fn random_calls_on_four_threads_return_codes() {
    let done = fuzz(FuzzOptions::new(20_000));
    eprintln!("{done:?}");
    assert!(done.calls >= 80_000 || done.processor_seconds.is_some_and(|seconds| seconds > 1.0), "{done:?}");
    assert!(done.succeeded > 1000, "{done:?}");
    // Without clang there are none.
    assert!(done.launches > 10 || std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{done:?}");
    assert!(table().clFinish.is_some());
}
