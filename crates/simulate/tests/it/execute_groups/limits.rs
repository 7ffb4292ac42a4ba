//! Launches that need too much memory are refused before anything is allocated.

use tripipe_launch::NdRange;
use tripipe_simulate::Options;

use super::bench::{Bench, memory};

#[test]
fn private_variables_count() {
    let source = "kernel void k(global int *a) {\n    int many[10000];\n    int i = get_global_id(0);\n    \
                  many[i] = i;\n    barrier(CLK_GLOBAL_MEM_FENCE);\n    a[i] = many[i];\n}\n";
    // 40,000 bytes for each of 256 work-items, which wait for each other at the barrier.
    for (memory_bytes, fits) in [(20_000_000, true), (10_000_000, false)] {
        let options = Options { memory_bytes, threads: 2, ..Options::default() };
        let Some(mut bench) = Bench::with(options, source, "") else { return };
        let a = bench.buffer(&[0i32; 256]);
        let run = bench.try_run("k", NdRange::d1(256).local(256, 1, 1), &[memory(a)]);
        assert_eq!(run.is_ok(), fits, "{run:?}");
        let checked = bench.try_check("k", NdRange::d1(256).local(256, 1, 1), &[memory(a)]);
        assert_eq!(checked.is_ok(), fits, "{checked:?}");
        for error in [run.err(), checked.err()].into_iter().flatten() {
            assert!(error.contains("private variables") && error.contains("10000000 bytes"), "{error}");
        }
    }
}

#[test]
fn variables_of_the_program_count() {
    let source = "global int many[1 << 28];\nkernel void k(global int *a) {\n    many[a[0]] = 1;\n}\n";
    let options = Options { memory_bytes: 1 << 20, ..Options::default() };
    let Some(mut bench) = Bench::with(options, source, "-cl-std=CL2.0") else { return };
    let a = bench.buffer(&[0i32]);
    let error = bench.try_run("k", NdRange::d1(1), &[memory(a)]).unwrap_err();
    assert!(error.contains("1073741824 bytes") && error.contains("program's own variables"), "{error}");
}
