//! Matrix products: C = A B, row-major without gaps, A m x k, B k x n, C m x n, extents from 0 on.

use half::f16;
use tripipe_device::{DeviceKind, Family, Probe, identify};
use tripipe_kernels::PlanError;
use tripipe_kernels::gemm::{Kernel, LocalTile, Product, Side, Tile, plan};
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
        Device::OpenCl(opencl) if ![m, n, k].contains(&0) => {
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
        Device::OpenCl(opencl) if ![m, n, k].contains(&0) => {
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
/// Library; nothing here has run on one yet. The rest is measured (`data/runs`).
fn pick<'p>(
    device: &tripipe_opencl::Device,
    operands: [&'p [u8]; 2],
    extents: [usize; 3],
    element: Float,
) -> Pick<'p> {
    let probe = device.probe();
    let (kernel, why) = kernel(probe, extents, element);
    let plan_of =
        |kernel| Product::new(operands, extents, element).and_then(|product| plan(kernel, &product, probe));
    let (kernel, why, plan) = match plan_of(kernel) {
        Err(PlanError::NotOffered { .. } | PlanError::OverLimit { .. }) if kernel != FALLBACK => {
            (FALLBACK, "an operand does not fit an image", plan_of(FALLBACK))
        }
        planned => (kernel, why, planned),
    };
    Pick { kernel: kernel.to_string(), why: why.to_owned(), plan }
}

/// Needs no more than buffers.
const FALLBACK: Kernel = Kernel::Tile(tile(Side::Buffer4, Side::Buffer4, None));

/// Extent of C from which on the larger of the local tiles fills an NVIDIA H200, measured.
const LARGE: usize = 2048;

const fn tile(rows: Side, columns: Side, work_group: Option<[usize; 2]>) -> Tile {
    Tile { rows, columns, fma: false, unroll_k: true, work_group }
}

fn kernel(probe: &Probe, [m, n, _]: [usize; 3], element: Float) -> (Kernel, &'static str) {
    use Family::{Arm5thGen, Bifrost, Midgard, Valhall};
    let whole_group = probe.max_work_group_size >= 256 && probe.local_memory_bytes >= 10 << 10;
    match (identify(probe).family, element) {
        (Some(Midgard), _) => (FALLBACK, "16 sums a work-item; no published tuning reads images on Midgard"),
        (Some(Bifrost | Valhall | Arm5thGen), Float::F32) => (
            Kernel::Tile(tile(Side::Buffer4, Side::Image4, None)),
            "16 sums a work-item, B through the texture unit: where published tunings settle",
        ),
        (Some(Bifrost | Valhall | Arm5thGen), Float::F16) => (
            Kernel::Tile(tile(Side::Buffer4, Side::Image8, None)),
            "32 sums a work-item, B through the texture unit: where published tunings settle",
        ),
        (Some(_), _) => (
            Kernel::Tile(tile(Side::Buffer4, Side::Image8, None)),
            "32 sums a work-item, B through the texture cache, which buffers lack: where published tunings settle",
        ),
        (None, _) if probe.kind == DeviceKind::Cpu || !probe.local_memory_dedicated || !whole_group => (
            Kernel::Tile(tile(Side::Buffer8, Side::Buffer8, Some([8, 8]))),
            "64 sums a work-item in registers: the fastest of the sweep on PoCL, measured",
        ),
        (None, _) if m.min(n) >= LARGE => (
            Kernel::LocalTile(LocalTile::Side8),
            "64 sums a work-item, fed from local memory: the fastest of the sweep on an NVIDIA H200, measured",
        ),
        (None, _) => (
            Kernel::LocalTile(LocalTile::Side4),
            "16 sums a work-item, fed from local memory: the fastest of the sweep on an NVIDIA H200, measured",
        ),
    }
}
