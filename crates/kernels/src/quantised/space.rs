//! The space of parameters.

use tripipe_device::{DeviceKind, Probe};

use super::description::QuantisedProduct;
use super::format::BLOCK;
use super::layout::PackedLayout;
use super::parameters::{Parameters, WeightMemory};
use crate::space::{self, Space};

/// All parameters that can be tuned for a product on a device: `data/space.toml`, without those that [`Parameters::check`]
/// refuses, those that compute twice as many vectors as there are, and those with twice as many parts as blocks.
pub fn space<'s>(product: &'s QuantisedProduct, probe: &'s Probe) -> Space<'s, Parameters> {
    let parts = space::of_quantised(|devices| devices.includes(probe));
    let blocks = product.k.div_ceil(BLOCK).max(1);
    Space::new(parts, move |parameters: &Parameters| {
        parameters.vectors < 2 * product.m.max(1)
            && parameters.parts < 2 * blocks
            && parameters.check(product, probe).is_ok()
    })
}

/// A rough measure of the time of a product with certain parameters, to compare parameters of one product: the bytes of weights
/// that are read, at the share of the device that its work-items fill, and the operations. `None` if the parameters are not
/// valid. Its unit has no meaning. The figures are guesses: 512 work-items fill a compute unit, and a byte takes as
/// long as 8 operations. A CPU is filled by a work-item for each compute unit, computes 16 outputs at once or as many as the work-item
/// has, and reads an image four times as slowly.
pub fn work(product: &QuantisedProduct, parameters: &Parameters, probe: &Probe) -> Option<f64> {
    const ITEMS_PER_UNIT: f64 = 512.0;
    const OPERATIONS_PER_BYTE: f64 = 8.0;
    const CPU_LANES: f64 = 16.0;
    const CPU_IMAGE: f64 = 4.0;
    let is_cpu = probe.kind == DeviceKind::Cpu;
    parameters.check(product, probe).ok()?;
    let layout = PackedLayout::of(product.format, product.weights(), parameters.memory, probe).ok()?;
    let Parameters { outputs, vectors, group, parts, .. } = *parameters;
    let passes = product.m.div_ceil(vectors).max(1);
    let items = (product.n.div_ceil(outputs).next_multiple_of(group) * parts * passes) as f64;
    let per_unit = if is_cpu { 1.0 } else { ITEMS_PER_UNIT };
    let fill = (items / (per_unit * f64::from(probe.compute_units.max(1)))).min(1.0);
    let bytes = (passes * layout.weights_bytes()) as f64;
    let wasted = (passes * vectors) as f64 / product.m.max(1) as f64;
    let lanes = if is_cpu { CPU_LANES / outputs as f64 } else { 1.0 };
    let image = if is_cpu && parameters.memory == WeightMemory::Image { CPU_IMAGE } else { 1.0 };
    let operations = product.operations() * wasted * lanes;
    Some(image * (bytes + operations / OPERATIONS_PER_BYTE) / fill.max(1e-6))
}
