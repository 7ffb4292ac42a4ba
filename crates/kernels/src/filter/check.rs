//! Which parameters a chain can run with.

use tripipe_device::Probe;

use super::pairs::Pairs;
use super::passes::Pass;
use super::plan::{indexable, not_an_image};
use super::raster::is_aligned;
use super::texels::{TEXEL, Texels};
use super::{Chain, ChannelLayout, Loads, Parameters, Raster, Sums};
use crate::plan::PlanError;

impl Parameters {
    /// Checks that a chain can run from `from` to `to` with these parameters. All constraints of the kernels and the
    /// device are here.
    ///
    /// # Errors
    /// A parameter out of its range. `Aligned` for a source whose rows or planes are not at multiples of `lanes`.
    /// `Image` on a device that cannot create images over buffers, for a source that does not fit one, or with fewer
    /// than 4 lanes. `Paired` with `Direct`, with fewer than 4 lanes or without a suitable stage. An image whose
    /// elements a `uint` cannot index. A work-group that the device does not support.
    pub fn check(&self, chain: &Chain, from: &Raster, to: &Raster, probe: &Probe) -> Result<(), PlanError> {
        let refuse = |parameter: &'static str, found: String, want: String| {
            Err(PlanError::Parameter { parameter, found, want })
        };
        for raster in [from, to] {
            indexable(raster)?;
        }
        if ![2, 4, 8, 16].contains(&self.lanes) {
            return refuse("lanes", self.lanes.to_string(), "2, 4, 8 or 16".to_owned());
        }
        if !(1..=16).contains(&self.rows) {
            return refuse("rows", self.rows.to_string(), "1 to 16".to_owned());
        }
        if chain.keep_alpha && self.lanes < 4 && has_packed_alpha(chain, from) {
            let want = "4, 8 or 16, so that alpha is always in the same lane".to_owned();
            return refuse("lanes", self.lanes.to_string(), want);
        }
        if self.loads == Loads::Aligned && !is_aligned(from, self.lanes) {
            let want = format!("an offset, a pitch and a plane pitch that are multiples of {}", self.lanes);
            return refuse("loads", "aligned".to_owned(), want);
        }
        if self.loads == Loads::Image {
            if self.lanes < TEXEL {
                return refuse(
                    "lanes",
                    self.lanes.to_string(),
                    "4, 8 or 16, which are whole texels".to_owned(),
                );
            }
            let passes = if from.is_empty() { Vec::new() } else { Pass::of(chain, from, to, self)? };
            for pass in passes.iter().filter(|pass| Pass::is_vector(pass.stage.as_deref())) {
                Texels::over(&pass.from, probe).map_err(not_an_image)?;
            }
        }
        if self.sums == Sums::Paired {
            let refuse = |want: &str| refuse("sums", "paired".to_owned(), want.to_owned());
            if self.lanes < 4 {
                return refuse("lanes are 4, 8 or 16, which are whole words");
            }
            if self.loads == Loads::Direct {
                return refuse("loads are shared, aligned or image, as columns are parts of words");
            }
            if !Pairs::any_of(chain, from) {
                return refuse(
                    "a linear filter from bytes to bytes over 5 x 5 pixels at most whose divisor is a power of two and \
                     whose sums fit 16 bits",
                );
            }
        }
        if let Some([x, y]) = self.work_group {
            if x == 0 || y == 0 {
                return refuse("group", format!("{x}x{y}"), "1x1 or more".to_owned());
            }
            let limits = [
                (x.saturating_mul(y), probe.max_work_group_size),
                (x, probe.max_work_item_sizes[0]),
                (y, probe.max_work_item_sizes[1]),
            ];
            for (found, limit) in limits {
                if limit != 0 && found > limit {
                    let what = format!("a work-group of {x}x{y}");
                    return Err(PlanError::OverLimit { what, limit: limit as u64 });
                }
            }
        }
        Ok(())
    }
}

/// Whether a stage of the chain keeps alpha beside the other channels, in the image or in the output of an earlier
/// stage.
fn has_packed_alpha(chain: &Chain, from: &Raster) -> bool {
    let mut channels = from.channels;
    let mut element = from.element;
    from.layout == ChannelLayout::Packed
        && chain.stages.iter().any(|stage| {
            let keeps = channels == 4 && stage.keeps_alpha();
            (channels, element) = stage.output(channels, element).unwrap_or((channels, element));
            keeps
        })
}
