//! `tripipe check`: work-items in another order, and barriers that are missing between them.

use crate::Bench;
use crate::check::{codes, said};
use crate::run_kernel::compiles;

/// One missing barrier is one finding: what else it leaves unordered are notes of it.
#[test]
fn a_missing_barrier_is_reported_once() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let kernel = |first: &str, second: &str| {
        format!(
            "kernel void sums(global const float *in, global float *out) {{\n    local float a[64], b[64];\n    \
             int l = get_local_id(0);\n    a[l] = in[l];\n    b[l] = in[63 - l];\n    {first}\n    \
             float x = a[63 - l];\n    float y = b[(l + 1) % 64];\n    float z = a[(l + 2) % 64];\n    {second}\n    \
             a[l] = x + y + z;\n    barrier(CLK_LOCAL_MEM_FENCE);\n    out[l] = a[63 - l];\n}}\n"
        )
    };
    let launch = "source = 'sums.cl'\nglobal = 64\nlocal = 64\n\
                  [[argument]]\nbuffer = 'float'\ncount = 64\nfill = 1\naccess = 'read'\n\
                  [[argument]]\nbuffer = 'float'\ncount = 64\n";
    bench.write("sums.toml", launch);
    let barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
    for (first, second, count) in [(barrier, barrier, 0), ("", barrier, 1), (barrier, "", 1), ("", "", 2)] {
        bench.write("sums.cl", kernel(first, second));
        assert_eq!(codes(&bench, &["sums.toml"]), vec!["data-race"; count], "`{first}`, `{second}`");
    }
    // Lines 7 to 9 read what others write in lines 4 and 5.
    bench.write("sums.cl", kernel("", barrier));
    let text = said(bench.run(&["check", "sums.toml"]), 1);
    for line in ["float x = a[63 - l];", "float y = b[(l + 1) % 64];", "float z = a[(l + 2) % 64];"] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    assert_eq!(text.matches("one barrier orders this as well").count(), 2, "{text}");
}

#[test]
fn other_orders_find_more() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    // The work-item that counts first writes; unless it is work-item 0, another work-item reads what it wrote.
    bench.write(
        "first.cl",
        "kernel void first(global int *a, global int *out) {\n    \
         local int turn;\n    size_t i = get_local_id(0);\n    if (i == 0)\n        turn = 0;\n    \
         barrier(CLK_LOCAL_MEM_FENCE);\n    int mine = atomic_inc(&turn);\n    \
         if (mine == 0 && i != 0)\n        a[0] = (int)i;\n    if (i == 1)\n        out[0] = a[0];\n}\n",
    );
    bench.write(
        "first.toml",
        "source = 'first.cl'\nglobal = 64\nlocal = 64\n\
         [[argument]]\nbuffer = 'int'\ncount = 1\nfill = 0\n[[argument]]\nbuffer = 'int'\ncount = 1\n",
    );
    assert!(codes(&bench, &["first.toml"]).is_empty());
    assert_eq!(codes(&bench, &["first.toml", "--schedules", "4"]), ["data-race"]);
    let said = said(bench.run(&["check", "first.toml", "--schedules", "4"]), 1);
    // The other access of the race, with its line.
    assert!(
        said.contains("11 |         out[0] = a[0];\n") && said.contains("9 |         a[0] = (int)i;\n"),
        "{said}"
    );
    for wrong in ["0", "1001", "some"] {
        bench.refuse(&["check", "first.toml", "--schedules", wrong], &["--schedules", wrong]);
    }
}
