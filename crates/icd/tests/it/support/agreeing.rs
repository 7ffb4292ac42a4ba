//! Programs that agree with the description of a GPU.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tripipe_device::catalog;
use tripipe_device::opencl::OpenCl;

/// A text that compiles only for what a description says: its extensions and no others, and its version.
pub(crate) fn agreeing(opencl: &OpenCl) -> String {
    let all: BTreeSet<&str> = catalog().iter().flat_map(|gpu| gpu.opencl().names()).collect();
    let mut source = String::new();
    for name in all.into_iter().filter(|name| name.starts_with("cl_")) {
        let word = if opencl.has(name) { "ifndef" } else { "ifdef" };
        writeln!(source, "#{word} {name}\n#error {name}\n#endif").unwrap();
    }
    let (major, minor) = opencl.version;
    source
        + &format!("#if __OPENCL_VERSION__ != {major}{minor}0\n#error version\n#endif\n")
        + "kernel void k(global int *a) { a[get_global_id(0)] = 1; }\n"
}
