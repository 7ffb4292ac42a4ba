//! The space of parameters of products.

use tripipe_device::Probe;

use super::description::Gemm;
use super::parameters::{Local, Parameters, Tile};
use super::product::RowMajorProduct;
use super::shape::Shape;
use crate::space::{self, Space};

/// All parameters that can be tuned for a product on a device: `data/space.toml`, without those that
/// [`Parameters::check`] refuses, that cover the product several times with one tile, or that divide K further than
/// is of use. Empty if the device lacks support for the element types.
pub fn space<'s>(gemm: &'s Gemm, probe: &'s Probe) -> Space<'s, Parameters> {
    let parts = space::of_products(Shape::of(gemm), |devices| devices.includes(probe));
    let product = RowMajorProduct::of(gemm);
    Space::new(parts, move |parameters: &Parameters| {
        is_of_use(parameters, &product) && parameters.check(gemm, probe).is_ok()
    })
}

/// Whether the tile is not larger than the product's next power of two, and K is not divided too far: each slice has two
/// iterations at least.
fn is_of_use(parameters: &Parameters, product: &RowMajorProduct) -> bool {
    if let Parameters::Tile(Tile { slices, unroll, .. }) = parameters
        && *slices > 1
        && 2 * slices * unroll > product.k
    {
        return false;
    }
    let ([rows, columns], parts) = match parameters {
        Parameters::Tile(Tile { rows, columns, parts, .. })
        | Parameters::Local(Local { rows, columns, parts, .. }) => ([*rows, *columns], *parts),
        Parameters::Vector(_) => return true,
    };
    let limits = space::part_limits();
    let items = product.m.div_ceil(rows.max(1)).saturating_mul(product.n.div_ceil(columns.max(1)));
    let items = items.saturating_mul(product.count);
    let divided = parts == 1
        || (product.k / parts.max(1) >= limits.steps_min.0
            && items.saturating_mul(parts) <= limits.items_max.0);
    rows <= product.m.next_power_of_two() && columns <= product.n.next_power_of_two().max(4) && divided
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tripipe_device::{DeviceKind, ImageLimits};

    use super::super::{Accumulate, Elements, Layout, ProductExtents};
    use super::*;

    fn probes() -> Vec<Probe> {
        let cpu = Probe { kind: DeviceKind::Cpu, name: "pthread".to_owned(), ..Probe::default() };
        let old = Probe { name: "Mali-T860".to_owned(), max_work_group_size: 64, ..Probe::default() };
        let modern = Probe {
            name: "Some GPU".to_owned(),
            max_work_group_size: 256,
            max_work_item_sizes: [256; 3],
            local_memory_bytes: 32768,
            local_memory_dedicated: true,
            opencl_c: (3, 0),
            extensions: ["cl_khr_fp16", "cl_khr_integer_dot_product", "cl_khr_subgroups"]
                .map(str::to_owned)
                .to_vec(),
            images: Some(ImageLimits { max_2d: [16384; 2], from_buffer: true, ..ImageLimits::default() }),
            ..Probe::default()
        };
        vec![cpu, old, modern]
    }

    fn products() -> Vec<Gemm> {
        let f16 = Elements::F16(Accumulate::F16);
        vec![
            Gemm::new(Elements::F32, ProductExtents { m: 196, n: 64, k: 512 }),
            Gemm {
                b: Layout::column_major(300),
                ..Gemm::new(Elements::F32, ProductExtents { m: 1, n: 77, k: 300 })
            },
            Gemm::new(Elements::I8ToI32, ProductExtents { m: 3, n: 200, k: 128 }),
            Gemm::new(f16, ProductExtents { m: 512, n: 512, k: 64 }),
        ]
    }

    /// Pruning loses nothing: every combination that passes is a point, and no other.
    #[test]
    fn points_are_the_combinations_that_the_check_accepts() {
        for probe in probes() {
            for gemm in products() {
                let product = RowMajorProduct::of(&gemm);
                let space = space(&gemm, &probe);
                let found: HashSet<Parameters> = space.points().collect();
                let mut want = HashSet::new();
                for text in space::texts_of(Shape::of(&gemm), &probe) {
                    // Not every text of a product has to be one that parses.
                    let Ok(parameters) = text.parse::<Parameters>() else { continue };
                    if is_of_use(&parameters, &product) && parameters.check(&gemm, &probe).is_ok() {
                        want.insert(parameters);
                    }
                }
                let lost: Vec<String> = want.difference(&found).take(3).map(ToString::to_string).collect();
                assert_eq!(found.len(), want.len(), "{} {gemm:?}: without {lost:?}", probe.name);
                assert_eq!(found, want);
            }
        }
    }

    #[test]
    fn gpus_have_thousands_of_points_and_checks_are_fewer_than_combinations() {
        let [_, old, modern] = &probes()[..] else { panic!("three probes") };
        let gemm = &products()[0];
        let size = space(gemm, modern).size();
        assert!(size.points > 10_000, "{size}");
        assert!(size.checks < size.combinations / 2, "{size}");
        assert!(space(gemm, old).size().points > 1000);
        let double = Gemm::new(Elements::F64, ProductExtents { m: 64, n: 64, k: 64 });
        assert_eq!(space(&double, modern).size().points, 0);
    }
}
