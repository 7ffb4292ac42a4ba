//! Image filters.

use tripipe_device::{DeviceKind, Family};
use tripipe_kernels::laplace::{self, Kernel};
use tripipe_kernels::laplace_gray::{self, Border, Loads};

use crate::cpu::{self, Threads};
use crate::run::{Pick, on_cpu, on_opencl};
use crate::{Device, Error, Explanation};

/// Channels of a pixel, 8 bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pixels {
    /// One.
    Gray,
    /// Three, packed.
    Rgb,
    /// Four, packed; the fourth is alpha and is copied.
    Rgba,
}

impl Pixels {
    /// Bytes of a pixel.
    pub fn bytes(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }
}

/// Sharpens an image with a 3x3 Laplace filter: 9 x each pixel - its 8 neighbours, clamped to 0..255, each
/// channel by itself; the outermost ring of pixels is copied.
///
/// `source` and `result` are `width * height` packed pixels without gaps, from 1x1 on.
///
/// # Errors
/// A slice of another length; the device cannot hold the image, or failed.
pub fn laplace(
    device: &Device,
    pixels: Pixels,
    [width, height]: [usize; 2],
    source: &[u8],
    result: &mut [u8],
) -> Result<Explanation, Error> {
    let want = width.saturating_mul(height).saturating_mul(pixels.bytes());
    for (operand, found) in [("the source", source.len()), ("the result", result.len())] {
        if found != want {
            return Err(Error::Length { operand, want, found });
        }
    }
    match device {
        Device::Cpu => on_cpu("rows in SIMD", "bands of rows, one for each thread", || match pixels {
            Pixels::Gray => cpu::laplace_gray(source, result, width, height, Threads::All),
            Pixels::Rgb => cpu::laplace_rgb(source, result, width, height, Threads::All),
            Pixels::Rgba => cpu::laplace_rgba(source, result, width, height, Threads::All),
        }),
        Device::OpenCl(opencl) => {
            let probe = opencl.probe();
            let pick = match pixels {
                Pixels::Gray => Pick {
                    kernel: "gray, 16 pixels, border kernel".to_owned(),
                    why: "16 pixels are one 16-byte load; the border test is kept out of the hot kernel"
                        .to_owned(),
                    plan: laplace_gray::plan(Loads::Vector, Border::Kernel, source, width, height, probe),
                },
                Pixels::Rgb => {
                    let (kernel, why) = rgb_kernel(device);
                    let plan = laplace::plan(kernel, source, width, height, probe);
                    Pick { kernel: kernel.name().to_owned(), why, plan }
                }
                Pixels::Rgba => Pick {
                    kernel: "rgba-four-pixels".to_owned(),
                    why: "four pixels are one 16-byte load".to_owned(),
                    plan: laplace::rgba_plan(source, width, height, probe),
                },
            };
            on_opencl(opencl, pick, result)
        }
    }
}

/// The kernel for packed RGB, and why. Published for one phone GPU, measured on two devices that are none
/// (`data/runs`), inferred for the rest.
fn rgb_kernel(device: &Device) -> (Kernel, String) {
    match (device.identification().and_then(|found| found.family), device.probe()) {
        (Some(Family::Midgard), _) => {
            (Kernel::EightPixels, "the fastest published step for large images on a Mali-T604".to_owned())
        }
        (Some(family), _) => (
            Kernel::FourPixels,
            format!("16-bit sums in few registers; inferred, not yet measured on {family}"),
        ),
        (None, Some(probe)) if probe.kind == DeviceKind::Cpu => (
            Kernel::Vectorise,
            "the fastest step on PoCL 5 on a 16-core Xeon, second on PoCL 3.1 on two Zen 4 cores, measured"
                .to_owned(),
        ),
        (None, _) => (Kernel::FourPixels, "the fastest step on an NVIDIA H200, measured".to_owned()),
    }
}
