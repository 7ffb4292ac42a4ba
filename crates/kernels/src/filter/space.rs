//! The space of parameters of filters.

use tripipe_device::Probe;

use super::family::Family;
use super::passes::Pass;
use super::{Chain, Fuse, Parameters, Raster};
use crate::space::{self, Space};

/// All parameters that can be tuned for a chain on a device: `data/space.toml`, without those that
/// [`Parameters::check`] refuses, and without ways to fuse that give the same passes as a simpler one.
pub fn space<'s>(
    chain: &'s Chain,
    from: &'s Raster,
    to: &'s Raster,
    probe: &'s Probe,
) -> Space<'s, Parameters> {
    let parts = space::of_filters(|devices| devices.includes(probe));
    Space::new(parts, move |parameters: &Parameters| {
        let passes = |fuse| {
            Pass::of(chain, from, to, &Parameters { fuse, ..*parameters }).map_or(0, |passes| passes.len())
        };
        let fuses = match parameters.fuse {
            Fuse::Pixels => true,
            Fuse::Nothing => passes(Fuse::Nothing) > passes(Fuse::Pixels),
            Fuse::Windows => passes(Fuse::Windows) < passes(Fuse::Pixels),
        };
        fuses && parameters.check(chain, from, to, probe).is_ok()
    })
}

/// The estimated work of a chain with these parameters: bytes moved and operations done for each element, in
/// operations. Comparable between parameters of one chain on one device only. `None` if the chain cannot run so.
pub fn work(
    chain: &Chain,
    from: &Raster,
    to: &Raster,
    parameters: &Parameters,
    probe: &Probe,
) -> Option<f64> {
    Pass::cost_of_all(chain, from, to, parameters, Family::of(probe)).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tripipe_device::{DeviceKind, ImageLimits};

    use super::super::{Border, PixelType, Size};
    use super::*;

    #[test]
    fn points_are_the_combinations_that_the_check_accepts() {
        let gpu = Probe {
            name: "Adreno 640".to_owned(),
            max_work_group_size: 128,
            images: Some(ImageLimits {
                max_2d: [16384; 2],
                max_1d_buffer: 65536,
                from_buffer: true,
                ..ImageLimits::default()
            }),
            ..Probe::default()
        };
        let cpu = Probe { kind: DeviceKind::Cpu, ..Probe::default() };
        for probe in [gpu, cpu] {
            for (text, channels) in
                [("laplace", 4), ("gray,gaussian:5,laplace8", 3), ("median:3", 1), ("yuv", 3)]
            {
                let chain = Chain::parse(text, Border::Reflect101).unwrap();
                let from = Raster::packed(Size::new(64, 48), channels, PixelType::U8);
                let to = chain.apply_to(&from).unwrap();
                let space = space(&chain, &from, &to, &probe);
                let found: HashSet<Parameters> = space.points().collect();
                assert!(found.len() > 50, "{text}: {}", space.size());
                let mut want = HashSet::new();
                let passes = |parameters: &Parameters, fuse| {
                    Pass::of(&chain, &from, &to, &Parameters { fuse, ..*parameters })
                        .map_or(0, |all| all.len())
                };
                for text in space::texts_of_filters(&probe) {
                    let one: Parameters = text.parse().unwrap();
                    let fuses = match one.fuse {
                        Fuse::Pixels => true,
                        Fuse::Nothing => passes(&one, Fuse::Nothing) > passes(&one, Fuse::Pixels),
                        Fuse::Windows => passes(&one, Fuse::Windows) < passes(&one, Fuse::Pixels),
                    };
                    if fuses && one.check(&chain, &from, &to, &probe).is_ok() {
                        want.insert(one);
                    }
                }
                assert_eq!(found.len(), want.len(), "{text}");
                assert_eq!(found, want, "{text}");
            }
        }
    }
}
