//! All constraints on the parameters of a product and a device.

use tripipe_device::Probe;

use super::description::QuantisedProduct;
use super::format::WeightFormat;
use super::layout::PackedLayout;
use super::parameters::{Parameters, Unpack, WeightMemory};
use crate::PlanError;

/// The maximum number of sums of a work-item.
const SUMS_MAX: usize = 64;

impl Parameters {
    /// Checks that these parameters can compute `product` on the device. The planner and the search space rely on this
    /// check.
    ///
    /// # Errors
    /// The first constraint that is violated. Limits that the probe does not know are not checked.
    pub fn check(&self, product: &QuantisedProduct, probe: &Probe) -> Result<(), PlanError> {
        product.check()?;
        let Self { outputs, vectors, group, parts, memory, unpack } = *self;
        let wrong = |parameter, found: String, want: &str| {
            Err(PlanError::Parameter { parameter, found, want: want.to_owned() })
        };
        if ![1, 2, 4, 8, 16].contains(&outputs) {
            return wrong("outputs", outputs.to_string(), "want 1, 2, 4, 8 or 16");
        }
        if memory == WeightMemory::Image && outputs < 4 {
            return wrong("outputs of an image", outputs.to_string(), "want 4, 8 or 16: a texel has four");
        }
        if !(1..=8).contains(&vectors) {
            return wrong("vectors", vectors.to_string(), "want 1 to 8");
        }
        if outputs * vectors > SUMS_MAX {
            let what = format!("{outputs} outputs of {vectors} vectors");
            return Err(PlanError::OverLimit { what, limit: SUMS_MAX as u64 });
        }
        if unpack == Unpack::Masks && product.format != WeightFormat::Q4_0 {
            return wrong("unpacking", "masks".to_owned(), "only q4_0 has numbers of four bits");
        }
        if group == 0 || !parts.is_power_of_two() || parts > 1024 {
            let want = "want at least one work-item, and a power of two up to 1024 of parts";
            return wrong("the work-group", format!("{group}x{parts}"), want);
        }
        let [max_x, max_y, _] = probe.max_work_item_sizes;
        let limits =
            [(group.saturating_mul(parts), probe.max_work_group_size), (group, max_x), (parts, max_y)];
        if let Some((_, limit)) = limits.into_iter().find(|(size, limit)| *limit != 0 && size > limit) {
            let what = format!("a work-group of {group}x{parts}");
            return Err(PlanError::OverLimit { what, limit: limit as u64 });
        }
        let local = if parts > 1 { 4 * group * parts * outputs } else { 0 };
        if probe.local_memory_bytes != 0 && local as u64 > probe.local_memory_bytes {
            let what = format!("{local} bytes of local memory for the sums of {parts} parts");
            return Err(PlanError::OverLimit { what, limit: probe.local_memory_bytes });
        }
        PackedLayout::of(product.format, product.weights(), memory, probe).map(drop)
    }
}
