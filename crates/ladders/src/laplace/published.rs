//! The kernels of the published ladder (`data/published.toml`), written again from their description and launched as
//! published: dimension 0 walks down the image, and the driver chooses the work-groups.
//!
//! They leave more to the host than [`super::LADDER`] does: the outermost ring of pixels, and the columns that remain
//! where the width is not a multiple of a work-item's pixels. They read past the last row. So they compare times; use
//! [`super::plan`] for pictures.

use std::sync::{Arc, LazyLock};

use tripipe_kernels::plan::{Output, Plan, PlanError};
use tripipe_launch::{Argument, NdRange, Program, ScalarType};

use super::{extents, packed_rgb, sharpen};
use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Expected, Inputs, Problem, Size, SizeKind};

/// The published steps, at the published sizes.
pub(super) const LADDER: Ladder = Ladder {
    name: "laplace",
    about: "3x3 sharpening of packed RGB, the published kernels: the border is left to the host",
    element: ScalarType::I16,
    size_kind: SizeKind::Image,
    default_sizes: &[
        Size::Image { width: 768, height: 432 },
        Size::Image { width: 2560, height: 1600 },
        Size::Image { width: 2048, height: 2048 },
        Size::Image { width: 5760, height: 3240 },
        Size::Image { width: 7680, height: 4320 },
    ],
    steps: &[
        Step {
            name: "scalar",
            about: "one pixel per work-item, byte loads, the border test inside",
            plan: |problem, _| step("scalar", 1, problem),
        },
        Step {
            name: "vectorise",
            about: "five pixels per work-item: nine 16-byte loads instead of 135, sums in int",
            plan: |problem, _| step("vectorise", 5, problem),
        },
        Step {
            name: "synthesise-loads",
            about: "two loads per row: the middle vector is assembled from the outer ones",
            plan: |problem, _| step("synthesise_loads", 5, problem),
        },
        Step {
            name: "short-arithmetic",
            about: "sums in short: half the registers",
            plan: |problem, _| step("short_arithmetic", 5, problem),
        },
        Step {
            name: "four-pixels",
            about: "four pixels per work-item: widths that divide, two stores instead of four",
            plan: |problem, _| step("four_pixels", 4, problem),
        },
        Step {
            name: "eight-pixels",
            about: "eight pixels per work-item: one and a half vectors, every lane used",
            plan: |problem, _| step("eight_pixels", 8, problem),
        },
    ],
    problem,
    serial: |problem, output| {
        if let (Some(rgb), Data::U8(result)) = (problem.inputs[0].as_u8(), output) {
            let (width, height) = extents(problem.size);
            *result = interior(rgb, width, height);
        }
    },
    published: None,
};

static PROGRAM: LazyLock<Arc<Program>> =
    LazyLock::new(|| Arc::new(Program::from_source("published.cl", include_str!("published.cl"))));

/// Bytes that the kernels read and write past the last row, besides whole rows: one vector.
const PAST: usize = 64;
/// Rows that they read and write past the last one.
const ROWS_PAST: usize = 4;

/// The filtered pixels inside the ring.
fn interior(rgb: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut all = vec![0; rgb.len()];
    sharpen::<3>(rgb, width, height, &mut all);
    let rows = all.chunks_exact(3 * width.max(1)).skip(1).take(height.saturating_sub(2));
    rows.flat_map(|row| row.get(3..row.len() - 3).unwrap_or_default()).copied().collect()
}

fn problem(size: Size, inputs: &Inputs<'_>) -> Problem {
    let (width, height) = extents(size);
    let rgb = packed_rgb(size, inputs);
    let expected = Expected::Exact(Data::U8(interior(&rgb, width, height)));
    Problem { size, work: super::filter_work(rgb.len()), inputs: vec![Data::U8(rgb)], expected }
}

fn step<'p>(entry: &str, pixels: usize, problem: &'p Problem) -> Variants<'p> {
    let (width, height) = extents(problem.size);
    if width < 3 || height < 3 || width < pixels {
        let what =
            "the published kernels for images of less than 3x3 pixels, or than a work-item's".to_owned();
        return Err(PlanError::NotOffered { what });
    }
    let rgb = problem.inputs[0].bytes();
    let pitch = 3 * width;
    let mut plan = Plan::new();
    let mut source = rgb.to_vec();
    source.resize(rgb.len() + ROWS_PAST * pitch + PAST, 0);
    // The host's part: the columns right of the last whole work-item.
    let mut result = vec![0; source.len()];
    let covered = width / pixels * pixels;
    if covered < width {
        sharpen::<3>(rgb, width, height, &mut result[..rgb.len()]);
        for row in result[..rgb.len()].chunks_exact_mut(pitch) {
            row[..3 * (covered + 1).min(width)].fill(0);
        }
    }
    let from = plan.input(source);
    let to = plan.buffer(result);
    let mut arguments: Vec<Argument<_>> = vec![from.into(), to.into(), (width as i32).into()];
    if pixels == 1 {
        arguments.push((height as i32).into());
    }
    plan.launch(&PROGRAM, entry, arguments, NdRange::d2(height, width / pixels));
    plan.set_output(Output {
        slot: to,
        offset_bytes: pitch + 3,
        row_bytes: pitch - 6,
        pitch_bytes: pitch,
        rows: height - 2,
    });
    Ok(Variant::only(plan))
}
