//! The parameters that are likely to be fast for a shape.

use std::collections::BTreeMap;

use tripipe_device::Probe;

use super::cost::{DeviceFigures, unchecked};
use super::description::Gemm;
use super::parameters::{Local, Parameters, Source, Tile, Vector};
use super::space::space;
use crate::space::spread;

/// Points of a kind that are listed.
const OF_A_KIND: usize = 4;

/// The points of the [space](space) of a product that the cost estimate expects to be the fastest: at most `most`, in the
/// order in which they are worth a try. Points with the same tile and memory are of one kind ([`spread`]).
pub fn likely(gemm: &Gemm, probe: &Probe, figures: &DeviceFigures, most: usize) -> Vec<Parameters> {
    let mut kinds: BTreeMap<[usize; 5], Vec<(f64, Parameters)>> = BTreeMap::new();
    for parameters in space(gemm, probe).points() {
        let seconds = unchecked(gemm, &parameters, figures).seconds;
        let fastest = kinds.entry(kind(&parameters)).or_default();
        let at = fastest.partition_point(|(other, _)| *other <= seconds);
        if at < OF_A_KIND {
            fastest.insert(at, (seconds, parameters));
            fastest.truncate(OF_A_KIND);
        }
    }
    let all = kinds.into_iter().flat_map(|(kind, fastest)| {
        fastest.into_iter().map(move |(seconds, parameters)| (parameters, kind, seconds))
    });
    let mut ranked = spread(all);
    ranked.truncate(most);
    ranked
}

/// The kernel, its tile and the memory of its operands.
fn kind(parameters: &Parameters) -> [usize; 5] {
    let source = |source: Source| match source {
        Source::Direct => 0,
        Source::Packed { .. } => 1,
        Source::Image => 2,
    };
    match *parameters {
        Parameters::Tile(Tile { rows, columns, a, b, .. }) => [0, rows, columns, source(a), source(b)],
        Parameters::Local(Local { rows, columns, a, b, .. }) => [1, rows, columns, source(a), source(b)],
        Parameters::Vector(Vector { outputs, width, .. }) => [2, outputs, width, 0, 0],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::cost::cost;
    use super::super::{Elements, ProductExtents};
    use super::*;

    #[test]
    fn the_first_is_the_cheapest_of_the_space_and_no_kind_crowds_out_the_others() {
        let probe = Probe { name: "Mali-G77".to_owned(), max_work_group_size: 256, ..Probe::default() };
        let gemm = Gemm::new(Elements::F32, ProductExtents { m: 196, n: 64, k: 128 });
        let figures = DeviceFigures::of(&probe);
        let found = likely(&gemm, &probe, &figures, 20);
        let seconds = |parameters: &Parameters| cost(&gemm, parameters, &probe, &figures).unwrap().seconds;
        let cheapest =
            space(&gemm, &probe).points().map(|point| seconds(&point)).fold(f64::INFINITY, f64::min);
        assert_eq!(seconds(&found[0]).to_bits(), cheapest.to_bits());
        let distinct: HashSet<Parameters> = found.iter().copied().collect();
        let kinds: HashSet<[usize; 5]> = found.iter().map(kind).collect();
        assert_eq!((found.len(), distinct.len()), (20, 20));
        assert!(kinds.len() >= 6, "{}", kinds.len());
        let double = Gemm::new(Elements::F64, ProductExtents { m: 64, n: 64, k: 64 });
        assert_eq!(likely(&double, &probe, &figures, 20), []);
    }
}
