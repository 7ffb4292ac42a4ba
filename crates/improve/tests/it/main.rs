//! Tests of rewriting kernels.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod advice;
mod fidelity;
mod fusing;
mod helpers;
mod images;
mod loads;
mod rewrites;
mod rewriting;
mod search;
mod syntax;
mod tiles;
mod verify;
mod walks;

use std::path::PathBuf;

use tripipe_improve::{Subject, Target};

/// The kernel `k` of a source, and a launch in the form of launch files, without its first line.
pub(crate) fn subject(source: &str, launch: &str) -> Subject {
    let launch = tripipe_launch_file::parse(&format!("source = 'k.cl'\n{launch}"), "k.toml").unwrap();
    Subject {
        name: "k.cl".to_owned(),
        source: source.to_owned(),
        folder: PathBuf::new(),
        kernel: "k".to_owned(),
        launch,
    }
}

pub(crate) fn targets(names: &[&str]) -> Vec<Target> {
    let target = |name: &&str| {
        let gpu = tripipe_device::find(name).unwrap();
        Target { gpu, offered: gpu.opencl().clone() }
    };
    names.iter().map(target).collect()
}

/// A picture that is doubled, a work-item for each pixel.
pub(crate) const DOUBLE: &str =
    "kernel void k(global const uchar *source, global uchar *target, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    target[y * width + x] = source[y * width + x] * 2;
}
";

pub(crate) const PICTURE: &str = "global = [640, 480]
[[argument]]
name = 'source'
buffer = 'uchar'
count = [480, 640]
random = { seed = 1 }
[[argument]]
name = 'target'
buffer = 'uchar'
count = [480, 640]
[[argument]]
name = 'width'
value = 640
[[argument]]
name = 'height'
value = 480
";
