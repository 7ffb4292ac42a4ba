//! Image kernels against a second, independent definition of their results.
//!
//! `ladders` compares every step with its family's own reference; this compares those references with the definition,
//! runs a kernel that is on no ladder (RGBA), and covers the ends of vectors: every width up to two vectors and a ring,
//! and images at the ends of the range. Without an OpenCL device the device tests are skipped with a message.

use std::process::Command;

use tripipe_kernels::{Plan, PlanError};
use tripipe_ladders::catalog;
use tripipe_ladders::ladder::Ladder;
use tripipe_ladders::laplace::rgba_plan;
use tripipe_ladders::{Data, Expected, Inputs, Photo, Problem, Size};
use tripipe_launch::{ExecuteError, Executor};
use tripipe_opencl::OpenClExecutor;

use crate::opencl;

/// Bytes of a picture: width, height, channels.
type Picture = fn(usize, usize, usize) -> Vec<u8>;

/// Noise, and the pictures that saturate most.
const PICTURES: [Picture; 4] = [
    |width, height, channels| {
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        noise.take(width * height * channels).collect()
    },
    |width, height, channels| vec![0; width * height * channels],
    |width, height, channels| vec![255; width * height * channels],
    |width, height, channels| {
        let square = |byte: usize| (byte / channels % width + byte / channels / width) % 2;
        (0..width * height * channels).map(|byte| if square(byte) == 0 { 0 } else { 255 }).collect()
    },
];

/// The definition: weights of a 3x3 window, each channel separately, the ring and alpha copied.
fn sharpened(source: &[u8], width: usize, height: usize, channels: usize) -> Vec<u8> {
    let weights = [[-1, -1, -1], [-1, 9, -1], [-1, -1, -1]];
    let value = |x: usize, y: usize, channel: usize| source[(y * width + x) * channels + channel];
    let mut result = Vec::new();
    for (y, x, channel) in (0..height)
        .flat_map(|y| (0..width).map(move |x| (y, x)))
        .flat_map(|(y, x)| (0..channels).map(move |channel| (y, x, channel)))
    {
        let ring = x == 0 || y == 0 || x + 1 == width || y + 1 == height;
        if ring || channel == 3 {
            result.push(value(x, y, channel));
            continue;
        }
        let mut sum = 0;
        for (dy, row) in weights.iter().enumerate() {
            for (dx, weight) in row.iter().enumerate() {
                sum += weight * i32::from(value(x + dx - 1, y + dy - 1, channel));
            }
        }
        result.push(sum.clamp(0, 255) as u8);
    }
    result
}

fn problem(ladder: &Ladder, width: usize, height: usize, picture: usize) -> Problem {
    let photo = Photo::new(width, height, PICTURES[picture](width, height, 3)).unwrap();
    let inputs = Inputs { photo: Some(&photo), seed: 0 };
    ladder.make_problem(Size::Image { width, height }, &inputs).unwrap()
}

fn expected(problem: &Problem) -> &[u8] {
    let Expected::Exact(Data::U8(bytes)) = &problem.expected else { panic!("not bytes") };
    bytes
}

/// Small sizes, with widths beyond two vectors of 16 pixels and a ring.
fn sizes() -> impl Iterator<Item = (usize, usize)> {
    let wide = (1..=36).flat_map(|width| [1, 2, 3, 5].map(|height| (width, height)));
    wide.chain([(1, 33), (2, 20), (3, 20), (64, 33), (97, 65)])
}

fn run(executor: &mut OpenClExecutor, plan: &Plan<'_>) -> Result<Vec<u8>, ExecuteError> {
    let mut staged = plan.stage(executor)?;
    staged.prepare()?;
    staged.run()?;
    staged.output()
}

#[test]
fn references_follow_the_definition() {
    let [laplace, gray, split, merge] =
        ["laplace", "laplace-gray", "rgb-planar", "planar-rgb"].map(|name| catalog::find(name).unwrap());
    for (width, height) in sizes() {
        for picture in 0..PICTURES.len() {
            for (ladder, channels) in [(laplace, 3), (gray, 1)] {
                let problem = problem(ladder, width, height, picture);
                let want = sharpened(problem.inputs[0].bytes(), width, height, channels);
                assert_eq!(expected(&problem), want, "{} {width}x{height}", ladder.name);
            }
            let pixels = width * height;
            let there = problem(split, width, height, picture);
            let packed = there.inputs[0].bytes();
            let planes: Vec<u8> =
                (0..3 * pixels).map(|byte| packed[3 * (byte % pixels) + byte / pixels]).collect();
            assert_eq!(expected(&there), planes, "rgb-planar {width}x{height}");
            let back = problem(merge, width, height, picture);
            assert_eq!((back.inputs[0].bytes(), expected(&back)), (planes.as_slice(), packed));
        }
    }
}

#[test]
fn gray_is_luma() {
    let photo = Photo::new(4, 1, vec![255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]).unwrap();
    let inputs = Inputs { photo: Some(&photo), seed: 0 };
    let gray = catalog::find("laplace-gray").unwrap();
    let problem = gray.make_problem(Size::Image { width: 4, height: 1 }, &inputs).unwrap();
    // 255 times 0.299, 0.587 and 0.114.
    assert_eq!(problem.inputs[0].bytes(), [77, 149, 29, 255]);
}

#[test]
fn every_variant_of_every_step_at_vector_boundaries() {
    let names = ["laplace", "laplace-gray", "rgb-planar", "planar-rgb"];
    for mut executor in opencl() {
        for ladder in names.map(|name| catalog::find(name).unwrap()) {
            for (width, height) in sizes() {
                for picture in 0..PICTURES.len() {
                    let problem = problem(ladder, width, height, picture);
                    for step in ladder.steps {
                        // The sweep repeats one kernel.
                        if step.name == "local-size" && (picture > 0 || width % 6 != 0) {
                            continue;
                        }
                        for variant in (step.plan)(&problem, executor.probe()).unwrap() {
                            let place = format!(
                                "{} {} {} {width}x{height} picture {picture}",
                                ladder.name, step.name, variant.label
                            );
                            let output = run(&mut executor, &variant.plan)
                                .unwrap_or_else(|error| panic!("{place}: {error}"));
                            problem
                                .expected
                                .verify(&output)
                                .unwrap_or_else(|error| panic!("{place}: {error}"));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rgba_sharpens_colours_and_preserves_alpha() {
    for mut executor in opencl() {
        for (width, height) in sizes() {
            for picture in PICTURES {
                let rgba = picture(width, height, 4);
                let plan = rgba_plan(&rgba, width, height, executor.probe()).unwrap();
                let want = sharpened(&rgba, width, height, 4);
                assert_eq!(run(&mut executor, &plan).unwrap(), want, "{width}x{height}");
            }
        }
    }
}

#[test]
fn rgba_stays_inside_its_buffers() {
    if Command::new("oclgrind").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(),
            "no oclgrind; scripts/setup installs it"
        );
        eprintln!("no oclgrind: accesses outside the buffers are not checked");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let child = Command::new("oclgrind")
        .args(["--data-races", "--uniform-writes", "--log"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "image_kernels::rgba_sharpens_colours_and_preserves_alpha"])
        .env("TRIPIPE_REQUIRE_OPENCL", "1")
        .env("TRIPIPE_CACHE", "off")
        // The library that `oclgrind` preloads. Through the ICD loader, whose calls to itself would reach it as well,
        // the child process crashes.
        .env("TRIPIPE_OPENCL", "liboclgrind-rt.so")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}{child:?}");
    // The log is created with the first error.
    let complaints = std::fs::read_to_string(&log).unwrap_or_default();
    assert!(complaints.trim().is_empty(), "{complaints}");
}

#[test]
fn an_image_of_another_size_is_refused() {
    let probe = tripipe_device::Probe::default();
    for (bytes, width, height) in [(47, 4, 3), (48, 3, 4 + 1), (0, 0, 0), (4, usize::MAX, 2)] {
        let rgba = vec![0; bytes];
        let refused = rgba_plan(&rgba, width, height, &probe);
        assert!(matches!(refused, Err(PlanError::Operand { .. })), "{bytes} {width}x{height}");
    }
}
