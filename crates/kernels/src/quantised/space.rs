//! The search space of the parameters.

use tripipe_device::Probe;

use super::description::QuantisedProduct;
use super::parameters::{Parameters, Unpack, WeightMemory};

/// The parameters worth trying for a product on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSpace {
    /// The size of the whole space: every combination of the declared values.
    pub size: usize,
    /// The combinations that pass [`Parameters::check`] and do not waste more than they compute, in a fixed order.
    pub valid: Vec<Parameters>,
}

const OUTPUTS: [usize; 5] = [1, 2, 4, 8, 16];
const VECTORS: [usize; 4] = [1, 2, 4, 8];
const GROUPS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const PARTS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const MEMORIES: [WeightMemory; 2] = [WeightMemory::Buffer, WeightMemory::Image];
const UNPACKS: [Unpack; 2] = [Unpack::Shifts, Unpack::Masks];

/// The search space of a product on a device: invalid combinations are left out, and so are those that compute more than
/// twice the vectors there are, or that have more parts than blocks.
pub fn search_space(product: &QuantisedProduct, probe: &Probe) -> SearchSpace {
    let blocks = product.k.div_ceil(super::BLOCK).max(1);
    let mut valid = Vec::new();
    for memory in MEMORIES {
        for unpack in UNPACKS {
            for outputs in OUTPUTS {
                for vectors in VECTORS.into_iter().filter(|vectors| *vectors < 2 * product.m.max(1)) {
                    for group in GROUPS {
                        for parts in PARTS.into_iter().filter(|parts| *parts < 2 * blocks) {
                            valid.push(Parameters { outputs, vectors, group, parts, memory, unpack });
                        }
                    }
                }
            }
        }
    }
    valid.retain(|parameters| parameters.check(product, probe).is_ok());
    let sizes = [OUTPUTS.len(), VECTORS.len(), GROUPS.len(), PARTS.len(), MEMORIES.len(), UNPACKS.len()];
    SearchSpace { size: sizes.into_iter().product(), valid }
}
