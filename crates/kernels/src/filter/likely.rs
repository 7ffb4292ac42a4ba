//! The parameters that are likely to be fast for a chain.

use std::collections::BTreeMap;

use tripipe_device::Probe;

use super::{Chain, Fuse, Loads, Parameters, Raster, space, work};
use crate::space::spread;

/// Points of a kind that are listed.
const OF_A_KIND: usize = 4;

/// The points of the [space](fn@space) of a chain that take the least [work](fn@work): at most `most`, in the order in which they are
/// worth a try. Points with the same pixels of a work-item, loads and passes are of one kind ([`spread`]).
pub fn likely(chain: &Chain, from: &Raster, to: &Raster, probe: &Probe, most: usize) -> Vec<Parameters> {
    let mut kinds: BTreeMap<[usize; 4], Vec<(f64, Parameters)>> = BTreeMap::new();
    // The work does not depend on the work-group.
    let mut known: Option<(Parameters, f64)> = None;
    for parameters in space(chain, from, to, probe).points() {
        let alike = Parameters { work_group: None, ..parameters };
        let units = match known {
            Some((other, units)) if other == alike => units,
            _ => work(chain, from, to, &alike, probe).unwrap_or(f64::INFINITY),
        };
        known = Some((alike, units));
        let least = kinds.entry(kind(&parameters)).or_default();
        let at = least.partition_point(|(other, _)| *other <= units);
        if at < OF_A_KIND {
            least.insert(at, (units, parameters));
            least.truncate(OF_A_KIND);
        }
    }
    let all = kinds.into_iter().flat_map(|(kind, least)| {
        least.into_iter().map(move |(units, parameters)| (parameters, kind, units))
    });
    let mut ranked = spread(all);
    ranked.truncate(most);
    ranked
}

/// The pixels of a work-item, its loads and its passes.
fn kind(parameters: &Parameters) -> [usize; 4] {
    let Parameters { lanes, rows, loads, fuse, .. } = *parameters;
    let loads = match loads {
        Loads::Direct => 0,
        Loads::Shared => 1,
        Loads::Aligned => 2,
        Loads::Image => 3,
    };
    let fuse = match fuse {
        Fuse::Nothing => 0,
        Fuse::Pixels => 1,
        Fuse::Windows => 2,
    };
    [lanes, rows, loads, fuse]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{Border, PixelType, Size};
    use super::*;

    #[test]
    fn the_first_takes_the_least_work_and_no_kind_crowds_out_the_others() {
        let probe = Probe { name: "Mali-G610".to_owned(), max_work_group_size: 256, ..Probe::default() };
        let chain = Chain::parse("gray,gaussian:5", Border::Reflect101).unwrap();
        let from = Raster::packed(Size::new(64, 48), 3, PixelType::U8);
        let to = chain.apply_to(&from).unwrap();
        let found = likely(&chain, &from, &to, &probe, 30);
        let units = |one: &Parameters| work(&chain, &from, &to, one, &probe).unwrap();
        let least =
            space(&chain, &from, &to, &probe).points().map(|one| units(&one)).fold(f64::INFINITY, f64::min);
        assert_eq!(units(&found[0]).to_bits(), least.to_bits());
        let distinct: HashSet<Parameters> = found.iter().copied().collect();
        let kinds: HashSet<[usize; 4]> = found.iter().map(kind).collect();
        assert_eq!((found.len(), distinct.len()), (30, 30));
        assert!(kinds.len() >= 8, "{}", kinds.len());
        assert!(found.iter().all(|one| one.check(&chain, &from, &to, &probe).is_ok()));
    }
}
