//! Histograms of images.

use tripipe_kernels::filter::{ChannelLayout, PixelType, Raster};

use tripipe_launch::{elements_of, elements_of_mut};

use crate::error::{CpuError, check_length};
use crate::filter::check_raster;

/// Counts the values of all channels: bytes, or the upper 8 bits of 16-bit values. `counts` are 256 `u32`.
///
/// # Errors
/// [`CpuError::Filter`] for a raster that is none, or that exceeds `image`; [`CpuError::Length`] for other than 256 counts.
pub fn histogram(raster: &Raster, image: &[u8], counts: &mut [u8]) -> Result<(), CpuError> {
    check_raster("image", raster, image)?;
    check_length("histogram", "counts", &[256, size_of::<u32>()], counts.len())?;
    let bins = elements_of_mut::<u32>(counts);
    bins.fill(0);
    if raster.is_empty() {
        return Ok(());
    }
    let planes = if raster.layout == ChannelLayout::Packed { 1 } else { raster.channels };
    for plane in 0..planes {
        for y in 0..raster.height {
            let first = raster.index(0, y, if planes > 1 { plane } else { 0 });
            if raster.element == PixelType::U16 {
                for value in &elements_of::<u16>(image)[first..][..raster.row_elements()] {
                    bins[usize::from(*value >> 8)] += 1;
                }
            } else {
                for value in &image[first..][..raster.row_elements()] {
                    bins[usize::from(*value)] += 1;
                }
            }
        }
    }
    Ok(())
}
