//! The 3x3 Laplace filter on 8-bit gray: three load methods, three border strategies, and work-group sizes.
//!
//! Contract of every kernel: source and result have one byte per pixel, rows without gaps, at least 1x1; the result
//! must not alias the source. Each pixel becomes 9 x the pixel - its 8 neighbours, clamped to 0..255. The outermost
//! ring of pixels is copied, so an image less than 3 pixels wide or high is copied. Results are exact.
//!
//! The border strategies are those that Arm recommends for Bifrost, each with its cost: a test in the kernel
//! (branches), a separate kernel (another launch), a padded buffer (which must be filled: the preparation does that,
//! timed separately). The separate kernel leaves an interior whose extents may have no useful divisors, so that a driver
//! chooses narrow work-groups: `border-kernel` takes what it chooses, `border-divided` does not leave it the choice. Images too narrow for a vector of 16 pixels use the scalar kernel of the same strategy.

mod work_group;

use std::sync::{Arc, LazyLock};

use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program, ScalarType, Text};

use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::laplace::{
    GLOBAL_MULTIPLE, STORE_LAST, check_bytes, check_image, extents, one_launch, packed_rgb, problem, serial,
};
use crate::problem::{Problem, Size, SizeKind};
use tripipe_kernels::plan::{Output, Plan, PlanError};

/// The filter on gray.
pub const LADDER: Ladder = Ladder {
    name: "laplace-gray",
    about: "3x3 sharpening of 8-bit gray: loads, borders and work-group sizes compared",
    element: ScalarType::I16,
    size_kind: SizeKind::Image,
    default_sizes: &[
        Size::Image { width: 768, height: 432 },
        Size::Image { width: 2048, height: 2048 },
        Size::Image { width: 7680, height: 4320 },
    ],
    steps: &[
        Step {
            name: "scalar/test",
            about: "one pixel per work-item, the border test inside",
            plan: |problem, probe| step(Loads::Scalar, Border::Test, problem, probe),
        },
        Step {
            name: "scalar/border-kernel",
            about: "no test for the interior; a second launch for the border",
            plan: |problem, probe| step(Loads::Scalar, Border::Kernel, problem, probe),
        },
        Step {
            name: "scalar/border-divided",
            about: "the same in launches that 16x4 divides, or in partial work-groups",
            plan: |problem, probe| divided(Loads::Scalar, problem, probe),
        },
        Step {
            name: "scalar/padded",
            about: "no branch: a buffer with padding around the image",
            plan: |problem, probe| step(Loads::Scalar, Border::Padded, problem, probe),
        },
        Step {
            name: "vector/test",
            about: "16 pixels per work-item, nine 16-byte loads, widened to short; tests inside",
            plan: |problem, probe| step(Loads::Vector, Border::Test, problem, probe),
        },
        Step {
            name: "vector/border-kernel",
            about: "the same, the border in a second launch",
            plan: |problem, probe| step(Loads::Vector, Border::Kernel, problem, probe),
        },
        Step {
            name: "vector/border-divided",
            about: "the same in launches that 16x4 divides, or in partial work-groups",
            plan: |problem, probe| divided(Loads::Vector, problem, probe),
        },
        Step {
            name: "vector/padded",
            about: "the same in a buffer with padding around the image",
            plan: |problem, probe| step(Loads::Vector, Border::Padded, problem, probe),
        },
        Step {
            name: "synthesised/test",
            about: "six loads: the middle vector of each row is assembled; tests inside",
            plan: |problem, probe| step(Loads::Synthesised, Border::Test, problem, probe),
        },
        Step {
            name: "synthesised/border-kernel",
            about: "the same, the border in a second launch",
            plan: |problem, probe| step(Loads::Synthesised, Border::Kernel, problem, probe),
        },
        Step {
            name: "synthesised/border-divided",
            about: "the same in launches that 16x4 divides, or in partial work-groups",
            plan: |problem, probe| divided(Loads::Synthesised, problem, probe),
        },
        Step {
            name: "synthesised/padded",
            about: "the same in a buffer with padding around the image",
            plan: |problem, probe| step(Loads::Synthesised, Border::Padded, problem, probe),
        },
        Step {
            name: "local-size",
            about: "synthesised/test, swept over work-group sizes",
            plan: |problem, probe| {
                let (width, height) = extents(problem.size);
                work_group::sweep(problem.inputs[0].bytes(), width, height, probe)
            },
        },
    ],
    // Over the photo's luma, or noise.
    problem: |size, inputs| problem::<1>(size, packed_rgb(size, inputs).chunks_exact(3).map(luma).collect()),
    serial: serial::<1>,
    published: None,
};

/// The loads of a work-item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// Nine bytes for one pixel.
    Scalar,
    /// Nine vectors for 16 pixels.
    Vector,
    /// Six vectors for 16 pixels; three more are assembled from them.
    Synthesised,
}

/// The border strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Border {
    /// Every work-item tests its position.
    Test,
    /// A separate kernel, in a second launch.
    Kernel,
    /// The same, with the interior in several launches, which overlap, of extents that work-groups of 16x4 divide. An
    /// interior that is smaller is that of [`Self::Kernel`].
    Divided,
    /// A buffer with a margin around the image, filled by the preparation.
    Padded,
}

/// Pixels per work-item of a vector kernel.
const VECTOR: usize = 16;
/// The minimum width that has room for a shifted vector, the pixel to its left and the ring.
const LEAST_WIDTH: usize = VECTOR + 2;

/// The arithmetic of the vector kernels, for every border strategy.
const VECTORS: (&str, &str) = ("laplace_gray/vectors.cl", include_str!("vectors.cl"));

static TEST: LazyLock<Arc<Program>> = LazyLock::new(|| {
    program("test.cl", [VECTORS, STORE_LAST, ("laplace_gray/test.cl", include_str!("test.cl"))])
});
static BORDER_KERNEL: LazyLock<Arc<Program>> = LazyLock::new(|| {
    let border_kernel = ("laplace_gray/border_kernel.cl", include_str!("border_kernel.cl"));
    program("border_kernel.cl", [VECTORS, STORE_LAST, border_kernel])
});
static PADDED: LazyLock<Arc<Program>> =
    LazyLock::new(|| program("padded.cl", [VECTORS, ("laplace_gray/padded.cl", include_str!("padded.cl"))]));

/// A program of these parts.
fn program<const PARTS: usize>(
    name: &'static str,
    parts: [(&'static str, &'static str); PARTS],
) -> Arc<Program> {
    Arc::new(Program::from_source(name, Text::of_parts(parts)))
}

/// Filters gray. Images too narrow for a vector use [`Loads::Scalar`].
///
/// # Errors
/// `gray` is not `width * height` bytes, or is empty; it is 4 GiB or more (including the margin), or exceeds the
/// device's limit for a buffer.
pub fn plan<'p>(
    loads: Loads,
    border: Border,
    gray: &'p [u8],
    width: usize,
    height: usize,
    probe: &Probe,
) -> Result<Plan<'p>, PlanError> {
    check_image(gray, [width, height], 1, probe)?;
    let loads = if width < LEAST_WIDTH { Loads::Scalar } else { loads };
    match border {
        Border::Test => Ok(test_plan(loads, gray, [width, height])),
        Border::Kernel => Ok(border_kernel_plan(loads, gray, [width, height], &Interior::Whole)),
        Border::Divided => Ok(border_kernel_plan(loads, gray, [width, height], &Interior::Divided)),
        Border::Padded => padded_plan(loads, gray, [width, height], probe),
    }
}

/// The kernel with the border test, and its number of work-items.
fn test_kernel(loads: Loads, [width, height]: [usize; 2]) -> (&'static str, [usize; 2]) {
    let entry = match loads {
        Loads::Scalar => return ("gray_test_scalar", [width, height]),
        Loads::Vector => "gray_test_vector",
        Loads::Synthesised => "gray_test_synthesised",
    };
    (entry, [(width - 2).div_ceil(VECTOR), height])
}

fn test_plan(loads: Loads, gray: &[u8], extents: [usize; 2]) -> Plan<'_> {
    let (entry, global) = test_kernel(loads, extents);
    one_launch(&TEST, entry, gray, global, extents)
}

/// How the interior is launched whose border has a kernel of its own.
enum Interior {
    /// At once; the driver chooses the work-groups.
    Whole,
    /// In parts that [`GLOBAL_MULTIPLE`] divides.
    Divided,
    /// At once in work-groups of [`GLOBAL_MULTIPLE`], those at the edge partial; the program allows that.
    NonUniform(Arc<Program>),
}

impl Interior {
    /// The ranges of the launches.
    fn ranges(&self, whole: [usize; 2]) -> Vec<NdRange> {
        let [x, y] = whole;
        let [across, down] = GLOBAL_MULTIPLE;
        match self {
            Self::Divided if x >= across && y >= down => {
                // What is left over is done by a part that overlaps the one before: both store the same.
                let parts = |extent: usize, multiple: usize| {
                    let most = extent / multiple * multiple;
                    let rest = (most < extent).then_some((extent - multiple, multiple));
                    [(0, most)].into_iter().chain(rest)
                };
                let rows = parts(y, down);
                rows.flat_map(|(top, rows)| {
                    parts(x, across)
                        .map(move |(left, columns)| NdRange::d2(columns, rows).offset(left, top, 0))
                })
                .collect()
            }
            Self::Whole | Self::Divided => vec![NdRange::d2(x, y)],
            Self::NonUniform(_) => vec![NdRange::d2(x, y).local(across, down, 1)],
        }
    }
}

fn border_kernel_plan<'p>(
    loads: Loads,
    gray: &'p [u8],
    [width, height]: [usize; 2],
    launches: &Interior,
) -> Plan<'p> {
    let (entry, pixels) = match loads {
        Loads::Scalar => ("gray_interior_scalar", 1),
        Loads::Vector => ("gray_interior_vector", VECTOR),
        Loads::Synthesised => ("gray_interior_synthesised", VECTOR),
    };
    let interior = [width, height].map(|extent| extent.saturating_sub(2));
    let mut plan = Plan::new();
    let from = plan.input(gray);
    let to = plan.result(gray.len());
    let whole = [interior[0] / pixels, interior[1]];
    if !whole.contains(&0) {
        let program = match launches {
            Interior::NonUniform(program) => program,
            _ => &*BORDER_KERNEL,
        };
        for range in launches.ranges(whole) {
            plan.launch(program, entry, [from.into(), to.into(), (width as u32).into()], range);
        }
    }
    let [width_, height_, rest] = [width, height, interior[0] % pixels].map(|value| value as u32);
    // The kernel checks its bounds, so a few surplus work-items are harmless.
    let items = (2 * width + interior[1]).next_multiple_of(64);
    let arguments = [from.into(), to.into(), width_.into(), height_.into(), rest.into()];
    plan.launch(&BORDER_KERNEL, "gray_border", arguments, NdRange::d1(items));
    plan
}

fn padded_plan<'p>(
    loads: Loads,
    gray: &'p [u8],
    [width, height]: [usize; 2],
    probe: &Probe,
) -> Result<Plan<'p>, PlanError> {
    let (entry, pixels) = match loads {
        Loads::Scalar => ("gray_padded_scalar", 1),
        Loads::Vector => ("gray_padded_vector", VECTOR),
        Loads::Synthesised => ("gray_padded_synthesised", VECTOR),
    };
    // The layout that `padded.cl` expects.
    let row = width.next_multiple_of(VECTOR);
    let pitch = row + VECTOR;
    let bytes = VECTOR + pitch * (height + 2);
    check_bytes("a padded image", bytes, probe)?;
    let mut plan = Plan::new();
    let from = plan.input(gray);
    let padded = plan.scratch(bytes);
    let to = plan.scratch(row * height);
    plan.set_output(Output { slot: to, offset_bytes: 0, row_bytes: width, pitch_bytes: row, rows: height });
    let [width_, height_, pitch_] = [width, height, pitch].map(|value| value as u32);
    let arguments = [from.into(), padded.into(), width_.into(), height_.into(), pitch_.into()];
    plan.prepare(&PADDED, "gray_pad", arguments, NdRange::d2(pitch / VECTOR, height + 2));
    let arguments = [padded.into(), to.into(), width_.into(), height_.into(), pitch_.into()];
    plan.launch(&PADDED, entry, arguments, NdRange::d2(row / pixels, height));
    Ok(plan)
}

fn step<'p>(loads: Loads, border: Border, problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let (width, height) = extents(problem.size);
    Ok(Variant::only(plan(loads, border, problem.inputs[0].bytes(), width, height, probe)?))
}

/// The interior in parts, and, where the device allows them, in partial work-groups.
fn divided<'p>(loads: Loads, problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let (width, height) = extents(problem.size);
    let gray = problem.inputs[0].bytes();
    let parts = plan(loads, Border::Divided, gray, width, height, probe)?;
    let mut variants = vec![Variant { label: "parts".to_owned(), plan: parts }];
    if let Some(option) = work_group::non_uniform_option(probe) {
        let loads = if width < LEAST_WIDTH { Loads::Scalar } else { loads };
        let program = Arc::new(Program::clone(&BORDER_KERNEL).option(option));
        let plan = border_kernel_plan(loads, gray, [width, height], &Interior::NonUniform(program));
        variants.push(Variant { label: "non-uniform".to_owned(), plan });
    }
    Ok(variants)
}

/// Luma with the weights of ITU-R BT.601 in units of 1/256, rounded.
fn luma(rgb: &[u8]) -> u8 {
    let sum: u32 = rgb.iter().zip([77, 150, 29]).map(|(channel, weight)| u32::from(*channel) * weight).sum();
    ((sum + 128) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of the interior of 7680x4320 and of smaller ones cover it, and 16x4 divides each.
    #[test]
    fn parts_cover_the_interior() {
        for whole in [[479, 4318], [16, 4], [17, 5], [64, 64], [15, 9], [30, 3]] {
            let mut covered = vec![0u8; whole[0] * whole[1]];
            let ranges = Interior::Divided.ranges(whole);
            for range in &ranges {
                let ([x, y, _], [left, top, _]) = (range.global_size(), range.global_offset());
                assert!(ranges.len() == 1 || (x % 16 == 0 && y % 4 == 0), "{range:?}");
                for row in top..top + y {
                    covered[row * whole[0] + left..][..x].fill(1);
                }
            }
            assert!(covered.iter().all(|pixel| *pixel == 1), "{whole:?}");
        }
    }
}
