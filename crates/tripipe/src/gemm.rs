//! Matrix products: C = A B, row-major without gaps, A m x k, B k x n, C m x n, extents from 0 on.

use half::f16;
use tripipe_device::Family;
use tripipe_kernels::gemm::{Kernel, Product, Side, Tile, plan};
use tripipe_kernels::problem::Float;

use crate::cpu::{self, Threads};
use crate::run::{Pick, on_cpu, on_opencl};
use crate::{Device, Error, Explanation};

/// The product in `f32`.
///
/// # Errors
/// An operand of the wrong length; the device cannot hold the operands, or failed.
pub fn gemm_f32(
    device: &Device,
    [a, b]: [&[f32]; 2],
    c: &mut [f32],
    [m, n, k]: [usize; 3],
) -> Result<Explanation, Error> {
    check_lengths([a.len(), b.len(), c.len()], [m, n, k])?;
    match device {
        Device::OpenCl(opencl) if m * n * k > 0 => {
            let operands = [bytemuck::cast_slice(a), bytemuck::cast_slice(b)];
            let pick = pick(opencl, operands, [m, n, k], Float::F32);
            on_opencl(opencl, pick, bytemuck::cast_slice_mut(c))
        }
        _ => on_cpu("blocked product", "faer's product, on all threads", || {
            cpu::gemm_f32(a, b, c, m, n, k, Threads::All)
        }),
    }
}

/// The product in `f16`. The CPU path sums in `f32` and rounds once; an OpenCL device sums in `half`.
///
/// # Errors
/// As [`gemm_f32`]; the device has no half precision.
pub fn gemm_f16(
    device: &Device,
    [a, b]: [&[f16]; 2],
    c: &mut [f16],
    [m, n, k]: [usize; 3],
) -> Result<Explanation, Error> {
    check_lengths([a.len(), b.len(), c.len()], [m, n, k])?;
    match device {
        Device::OpenCl(opencl) if !opencl.probe().fp16() => {
            Err(Error::NotOffered { device: device.name(), what: "half precision (cl_khr_fp16)" })
        }
        Device::OpenCl(opencl) if m * n * k > 0 => {
            let operands = [bytemuck::cast_slice(a), bytemuck::cast_slice(b)];
            let pick = pick(opencl, operands, [m, n, k], Float::F16);
            on_opencl(opencl, pick, bytemuck::cast_slice_mut(c))
        }
        _ => on_cpu("blocked product", "faer's product in f32, rounded once, on all threads", || {
            cpu::gemm_f16(a, b, c, m, n, k, Threads::All)
        }),
    }
}

/// The product in `f64`, which only the CPU path offers.
///
/// # Errors
/// As [`gemm_f32`]; the device is not the CPU path.
pub fn gemm_f64(
    device: &Device,
    [a, b]: [&[f64]; 2],
    c: &mut [f64],
    [m, n, k]: [usize; 3],
) -> Result<Explanation, Error> {
    check_lengths([a.len(), b.len(), c.len()], [m, n, k])?;
    match device {
        Device::OpenCl(_) => {
            Err(Error::NotOffered { device: device.name(), what: "matrix products in double precision" })
        }
        Device::Cpu => on_cpu("blocked product", "faer's product, on all threads", || {
            cpu::gemm_f64(a, b, c, m, n, k, Threads::All)
        }),
    }
}

fn check_lengths([a, b, c]: [usize; 3], [m, n, k]: [usize; 3]) -> Result<(), Error> {
    for (operand, found, rows, columns) in [("A", a, m, k), ("B", b, k, n), ("C", c, m, n)] {
        let want = rows.saturating_mul(columns);
        if found != want {
            return Err(Error::Length { operand, want, found });
        }
    }
    Ok(())
}

/// The kernel for a device, and why. What is known of phones is published tunings of `CLBlast` and of Arm's Compute
/// Library; nothing here has run on one yet.
fn pick<'p>(
    device: &tripipe_opencl::Device,
    operands: [&'p [u8]; 2],
    extents: [usize; 3],
    element: Float,
) -> Pick<'p> {
    let probe = device.probe();
    let family = tripipe_device::identify(probe).family;
    let (columns, why) = match (family, element) {
        (Some(Family::Midgard), _) => (Side::Buffer4, "no published tuning reads images on Midgard"),
        (Some(Family::Bifrost | Family::Valhall | Family::Arm5thGen), Float::F32) => {
            (Side::Image4, "16 sums a work-item, B through the texture unit: where published tunings settle")
        }
        (Some(Family::Bifrost | Family::Valhall | Family::Arm5thGen), Float::F16) => {
            (Side::Image8, "32 sums a work-item, B through the texture unit: where published tunings settle")
        }
        (Some(_), _) => {
            (Side::Image8, "32 sums a work-item, B through the texture cache, which buffers lack")
        }
        (None, _) => (Side::Buffer8, "32 sums a work-item: the better half of the sweep on PoCL"),
    };
    let tile = |columns| Tile { rows: Side::Buffer4, columns, fma: false, unroll_k: true, work_group: None };
    let plan_of = |columns| {
        Product::new(operands, extents, element)
            .and_then(|product| plan(Kernel::Tile(tile(columns)), &product, probe))
    };
    let (columns, plan) = match plan_of(columns) {
        // No images, or the operand is too large for one.
        Err(_) if matches!(columns, Side::Image4 | Side::Image8) => (Side::Buffer4, plan_of(Side::Buffer4)),
        planned => (columns, planned),
    };
    Pick { kernel: tile(columns).to_string(), why: why.to_owned(), plan }
}
