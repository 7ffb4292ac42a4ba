//! The space of parameters.

use tripipe_device::Probe;

use super::description::QuantisedProduct;
use super::format::BLOCK;
use super::parameters::Parameters;
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
