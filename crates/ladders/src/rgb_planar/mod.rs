//! Packed RGB to three planes, and back: vector swizzles without arithmetic.
//!
//! Contract: packed is `3 * width * height` bytes, r g b r g b ...; planes have the same number of bytes, all reds,
//! all greens, all blues, rows without gaps. The result must not alias the source. Sizes are at least 1x1, results
//! are exact. Both sides are flat, so the only edge is the end of the image: the last work-item processes the rest
//! pixel by pixel.

use std::sync::{Arc, LazyLock};

use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program, ScalarType};

use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::laplace::{check_image, extents, packed_rgb};
use crate::problem::{Data, Expected, Inputs, Problem, Quoted, Size, SizeKind, Work};
use tripipe_kernels::plan::{Plan, PlanError};

/// From packed to planes.
pub const LADDER: Ladder = Ladder {
    name: "rgb-planar",
    about: "packed RGB to three planes",
    element: ScalarType::U8,
    size_kind: SizeKind::Image,
    default_sizes: &[
        Size::Image { width: 768, height: 432 },
        Size::Image { width: 2048, height: 2048 },
        Size::Image { width: 7680, height: 4320 },
    ],
    steps: &[
        Step {
            name: "scalar",
            about: "one pixel per work-item",
            plan: |problem, probe| step(Direction::Split, Width::One, problem, probe),
        },
        Step {
            name: "sixteen-pixels",
            about: "16 pixels per work-item: three 16-byte loads, swizzles, three 16-byte stores",
            plan: |problem, probe| step(Direction::Split, Width::Sixteen, problem, probe),
        },
    ],
    problem: |size, inputs| problem(size, inputs, Direction::Split),
    serial: |problem, output| serial(problem, output, split),
    published: None,
};

/// From planes to packed.
pub const LADDER_BACK: Ladder = Ladder {
    name: "planar-rgb",
    about: "three planes to packed RGB",
    steps: &[
        Step {
            name: "scalar",
            about: "one pixel per work-item",
            plan: |problem, probe| step(Direction::Merge, Width::One, problem, probe),
        },
        Step {
            name: "sixteen-pixels",
            about: "16 pixels per work-item: three 16-byte loads, swizzles, three 16-byte stores",
            plan: |problem, probe| step(Direction::Merge, Width::Sixteen, problem, probe),
        },
    ],
    problem: |size, inputs| problem(size, inputs, Direction::Merge),
    serial: |problem, output| serial(problem, output, merge),
    ..LADDER
};

/// The direction of the conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Packed to planes.
    Split,
    /// Planes to packed.
    Merge,
}

/// Pixels per work-item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// One pixel.
    One,
    /// Sixteen pixels: whole vectors on both sides.
    Sixteen,
}

static PROGRAM: LazyLock<Arc<Program>> =
    LazyLock::new(|| Arc::new(Program::from_source("rgb_planar.cl", include_str!("rgb_planar.cl"))));

/// Splits or merges an image.
///
/// # Errors
/// `source` is not `3 * width * height` bytes, or is empty; it is 4 GiB or more, or exceeds the device's limit for a
/// buffer.
pub fn plan<'p>(
    direction: Direction,
    work_item: Width,
    source: &'p [u8],
    width: usize,
    height: usize,
    probe: &Probe,
) -> Result<Plan<'p>, PlanError> {
    check_image(source, [width, height], 3, probe)?;
    let (entry, pixels) = match (direction, work_item) {
        (Direction::Split, Width::One) => ("split_scalar", 1),
        (Direction::Split, Width::Sixteen) => ("split_16", 16),
        (Direction::Merge, Width::One) => ("merge_scalar", 1),
        (Direction::Merge, Width::Sixteen) => ("merge_16", 16),
    };
    let all = width * height;
    let mut plan = Plan::new();
    let from = plan.input(source);
    let to = plan.result(source.len());
    // A multiple of 64 lets the driver choose a good work-group size.
    let items = all.div_ceil(pixels).next_multiple_of(64);
    plan.launch(&PROGRAM, entry, [from.into(), to.into(), (all as u32).into()], NdRange::d1(items));
    Ok(plan)
}

fn step<'p>(direction: Direction, work_item: Width, problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let (width, height) = extents(problem.size);
    Ok(Variant::only(plan(direction, work_item, problem.inputs[0].bytes(), width, height, probe)?))
}

fn problem(size: Size, inputs: &Inputs<'_>, direction: Direction) -> Problem {
    let packed = packed_rgb(size, inputs);
    let mut planes = vec![0; packed.len()];
    split(&packed, &mut planes);
    let work = Work { operations: 0.0, bytes: 2.0 * packed.len() as f64, quoted: Quoted::Bandwidth };
    let (input, expected) = match direction {
        Direction::Split => (packed, planes),
        Direction::Merge => (planes, packed),
    };
    Problem { size, inputs: vec![Data::U8(input)], expected: Expected::Exact(Data::U8(expected)), work }
}

fn serial(problem: &Problem, output: &mut Data, convert: fn(&[u8], &mut [u8])) {
    if let (Some(source), Data::U8(result)) = (problem.inputs[0].as_u8(), output) {
        convert(source, result);
    }
}

fn split(packed: &[u8], planes: &mut [u8]) {
    let pixels = planes.len() / 3;
    let (reds, others) = planes.split_at_mut(pixels);
    let (greens, blues) = others.split_at_mut(pixels);
    for (((pixel, red), green), blue) in packed.chunks_exact(3).zip(reds).zip(greens).zip(blues) {
        (*red, *green, *blue) = (pixel[0], pixel[1], pixel[2]);
    }
}

fn merge(planes: &[u8], packed: &mut [u8]) {
    let pixels = planes.len() / 3;
    let (reds, others) = planes.split_at(pixels);
    let (greens, blues) = others.split_at(pixels);
    for (((pixel, red), green), blue) in packed.chunks_exact_mut(3).zip(reds).zip(greens).zip(blues) {
        pixel.copy_from_slice(&[*red, *green, *blue]);
    }
}
