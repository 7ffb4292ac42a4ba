//! Sharpening with a 3x3 Laplace filter: 9 x a pixel - its 8 neighbours, clamped to 0..255.
//!
//! Contract of every kernel. Source and result are packed RGB ([`plan`]) or RGBA ([`rgba_plan`]), 8 bits per channel,
//! rows without gaps, at least 1x1; the result must not alias the source. Each channel is filtered separately. Alpha
//! is copied, and so is the outermost ring of pixels: an image less than 3 pixels wide or high is copied. Results are
//! exact.
//!
//! Edges: the published kernels read past the last rows and need a width that is a multiple of their vector. Here the
//! last work-item of a row shifts its vector left to end with the row and stores only the pixels that its neighbour
//! does not; the ring is copied by the nearest work-item, in the same launch. Nothing is padded. Images too narrow
//! for one vector use the scalar kernel.

mod published;
mod serial;

use std::sync::{Arc, LazyLock};

use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program, ScalarType, Text};

pub(crate) use serial::sharpen;

use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Expected, Inputs, Problem, Quoted, Size, SizeKind, Work};
use tripipe_kernels::plan::{Plan, PlanError};

/// The filter on packed RGB, climbed as published for the Mali-T604.
pub const LADDER: Ladder = Ladder {
    name: "laplace",
    about: "3x3 sharpening of packed RGB: 9 x centre - neighbours, clamped",
    element: ScalarType::I16,
    size_kind: SizeKind::Image,
    default_sizes: &[
        Size::Image { width: 768, height: 432 },
        Size::Image { width: 2048, height: 2048 },
        Size::Image { width: 7680, height: 4320 },
    ],
    steps: &[
        Step {
            name: "scalar",
            about: "one pixel per work-item, byte loads, the border test inside",
            plan: |problem, probe| step(LaplaceKernel::Scalar, problem, probe),
        },
        Step {
            name: "vectorise",
            about: "five pixels per work-item: nine 16-byte loads instead of 135, sums in int",
            plan: |problem, probe| step(LaplaceKernel::Vectorise, problem, probe),
        },
        Step {
            name: "synthesise-loads",
            about: "two loads per row: the middle vector is assembled from the outer ones",
            plan: |problem, probe| step(LaplaceKernel::SynthesiseLoads, problem, probe),
        },
        Step {
            name: "short-arithmetic",
            about: "sums in short: half the registers",
            plan: |problem, probe| step(LaplaceKernel::ShortArithmetic, problem, probe),
        },
        Step {
            name: "four-pixels",
            about: "four pixels per work-item: fewer lanes, two stores instead of four, widths that divide",
            plan: |problem, probe| step(LaplaceKernel::FourPixels, problem, probe),
        },
        Step {
            name: "eight-pixels",
            about: "eight pixels per work-item: one and a half vectors, every lane used",
            plan: |problem, probe| step(LaplaceKernel::EightPixels, problem, probe),
        },
    ],
    problem: |size, inputs| problem::<3>(size, packed_rgb(size, inputs)),
    serial: serial::<3>,
    published: Some(&published::LADDER),
};

/// The kernels for packed RGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaplaceKernel {
    /// One pixel per work-item.
    Scalar,
    /// Five pixels, three loads per row, `int`.
    Vectorise,
    /// Five pixels, two loads per row, `int`.
    SynthesiseLoads,
    /// Five pixels, two loads per row, `short`.
    ShortArithmetic,
    /// Four pixels, two loads per row, `short`.
    FourPixels,
    /// Eight pixels, two loads per row, `short`.
    EightPixels,
}

impl LaplaceKernel {
    /// Name of the kernel function, and the number of pixels that each work-item filters.
    fn entry(self) -> (&'static str, usize) {
        match self {
            Self::Scalar => ("laplace_scalar", 1),
            Self::Vectorise => ("laplace_vectorise", 5),
            Self::SynthesiseLoads => ("laplace_synthesise_loads", 5),
            Self::ShortArithmetic => ("laplace_short_arithmetic", 5),
            Self::FourPixels => ("laplace_four_pixels", 4),
            Self::EightPixels => ("laplace_eight_pixels", 8),
        }
    }

    /// The minimum width that has room for a shifted vector, the loads to its left and the ring.
    fn least_width(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Vectorise | Self::SynthesiseLoads | Self::ShortArithmetic | Self::FourPixels => 8,
            Self::EightPixels => 10,
        }
    }
}

/// Global sizes are rounded up to multiples of this (the surplus work-items do nothing), so that a driver that
/// chooses the work-group size among the divisors finds a good one.
pub(crate) const GLOBAL_MULTIPLE: [usize; 2] = [16, 4];

/// The store of a part of a vector, for every program with vectors of 16 bytes.
pub(crate) const STORE_LAST: (&str, &str) = ("laplace/store_last.cl", include_str!("store_last.cl"));

static RGB: LazyLock<Arc<Program>> = LazyLock::new(|| {
    let parts = [STORE_LAST, ("laplace/laplace.cl", include_str!("laplace.cl"))];
    Arc::new(Program::from_source("laplace.cl", Text::of_parts(parts)))
});
static RGBA: LazyLock<Arc<Program>> =
    LazyLock::new(|| Arc::new(Program::from_source("rgba.cl", include_str!("rgba.cl"))));

/// Filters packed RGB with `kernel`. Images too narrow for it use [`LaplaceKernel::Scalar`].
///
/// # Errors
/// `rgb` is not `3 * width * height` bytes, or is empty; it is 4 GiB or more, or exceeds the device's limit for a
/// buffer.
pub fn plan<'p>(
    kernel: LaplaceKernel,
    rgb: &'p [u8],
    width: usize,
    height: usize,
    probe: &Probe,
) -> Result<Plan<'p>, PlanError> {
    check_image(rgb, [width, height], 3, probe)?;
    let kernel = if width < kernel.least_width() { LaplaceKernel::Scalar } else { kernel };
    let (entry, pixels) = kernel.entry();
    // The vector kernels' groups start at pixel 1 and end before the ring; a surplus group does nothing.
    let groups = if kernel == LaplaceKernel::Scalar { width } else { (width - 2).div_ceil(pixels) };
    Ok(one_launch(&RGB, entry, rgb, [groups, height], [width, height]))
}

/// Filters the colours of RGBA, four pixels per work-item; alpha is copied.
///
/// # Errors
/// `rgba` is not `4 * width * height` bytes, or is empty; it is 4 GiB or more, or exceeds the device's limit for a
/// buffer.
pub fn rgba_plan<'p>(
    rgba: &'p [u8],
    width: usize,
    height: usize,
    probe: &Probe,
) -> Result<Plan<'p>, PlanError> {
    check_image(rgba, [width, height], 4, probe)?;
    let (entry, groups) = if width < 6 {
        ("laplace_rgba_scalar", width)
    } else {
        ("laplace_rgba_four_pixels", (width - 2).div_ceil(4))
    };
    Ok(one_launch(&RGBA, entry, rgba, [groups, height], [width, height]))
}

/// A plan of one launch `entry(source, result, width, height)` with at least `global` work-items.
pub(crate) fn one_launch<'p>(
    program: &Arc<Program>,
    entry: &str,
    source: &'p [u8],
    global: [usize; 2],
    [width, height]: [usize; 2],
) -> Plan<'p> {
    let mut plan = Plan::new();
    let from = plan.input(source);
    let to = plan.result(source.len());
    let arguments = [from.into(), to.into(), (width as u32).into(), (height as u32).into()];
    let [x, y] = [0, 1].map(|axis| global[axis].next_multiple_of(GLOBAL_MULTIPLE[axis]));
    plan.launch(program, entry, arguments, NdRange::d2(x, y));
    plan
}

/// Checks that `source` is an image of these extents, and that the kernels and the device support its size.
pub(crate) fn check_image(
    source: &[u8],
    [width, height]: [usize; 2],
    channels: usize,
    probe: &Probe,
) -> Result<(), PlanError> {
    let bytes = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(channels));
    if source.is_empty() || bytes != Some(source.len()) {
        let what = format!("an image of {width}x{height} pixels of {channels} bytes");
        return Err(PlanError::Operand { what, found: source.len() });
    }
    check_bytes("an image", source.len(), probe)
}

/// Checks that the kernels and the device support a buffer of this size.
pub(crate) fn check_bytes(what: &str, bytes: usize, probe: &Probe) -> Result<(), PlanError> {
    // Kernels count bytes in `uint`: 64-bit addresses cost a phone GPU twice the arithmetic.
    let limit = match probe.max_buffer_bytes {
        0 => u64::from(u32::MAX),
        limit => limit.min(u64::from(u32::MAX)),
    };
    if bytes as u64 > limit {
        return Err(PlanError::OverLimit { what: format!("{what} of {bytes} bytes"), limit });
    }
    Ok(())
}

/// Width and height; 0x0 for a size of another kind, which image ladders do not receive.
pub(crate) fn extents(size: Size) -> (usize, usize) {
    if let Size::Image { width, height } = size { (width, height) } else { (0, 0) }
}

/// Packed RGB for a problem: the photo at this size, or noise.
pub(crate) fn packed_rgb(size: Size, inputs: &Inputs<'_>) -> Vec<u8> {
    let (width, height) = extents(size);
    if let Some(photo) = inputs.photo {
        return photo.spread(width, height);
    }
    let mut noise = vec![0; 3 * width * height];
    fastrand::Rng::with_seed(inputs.seed).fill(&mut noise);
    noise
}

/// The filter of an image of `C` bytes per pixel.
pub(crate) fn problem<const C: usize>(size: Size, source: Vec<u8>) -> Problem {
    let (width, height) = extents(size);
    let mut expected = vec![0; source.len()];
    sharpen::<C>(&source, width, height, &mut expected);
    Problem {
        size,
        work: filter_work(source.len()),
        inputs: vec![Data::U8(source)],
        expected: Expected::Exact(Data::U8(expected)),
    }
}

/// Solves a problem with [`sharpen`].
pub(crate) fn serial<const C: usize>(problem: &Problem, output: &mut Data) {
    if let (Some(source), Data::U8(result)) = (problem.inputs[0].as_u8(), output) {
        let (width, height) = extents(problem.size);
        sharpen::<C>(source, width, height, result);
    }
}

/// A filter whose result is not known: [`Problem::unsolved`].
pub fn unsolved(size: Size) -> Problem {
    let (width, height) = extents(size);
    let bytes = 3 * width * height;
    Problem::unsolved(size, &[bytes], |bytes| Data::U8(vec![0; bytes]), filter_work(bytes))
}

/// Nine multiplications and eight additions per byte, as for any 3x3 filter, the ring included; each byte is read
/// once and written once.
pub(crate) fn filter_work(bytes: usize) -> Work {
    Work { operations: 17.0 * bytes as f64, bytes: 2.0 * bytes as f64, quoted: Quoted::Bandwidth }
}

fn step<'p>(kernel: LaplaceKernel, problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let (width, height) = extents(problem.size);
    Ok(Variant::only(plan(kernel, problem.inputs[0].bytes(), width, height, probe)?))
}
