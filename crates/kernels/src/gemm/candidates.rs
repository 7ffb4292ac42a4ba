//! The parameters worth trying.

use tripipe_device::{DeviceKind, Probe, Vendor, identify};

use super::description::Gemm;
use super::parameters::{Dot, Local, Parameters, Source, Tile, Vector};
use super::shape::Shape;
use super::table::default_parameters;
use crate::nearest::nearest_first;

const DIRECT: Source = Source::Direct;
const ONE_PANEL: Source = Source::Packed { panel: 0 };
const PANELS: Source = Source::Packed { panel: 1 };

/// The parameters for `gemm` on a device that are worth a sweep: some tens to a few hundred, all of which pass
/// [`Parameters::check`], without duplicates. Empty when the device lacks support for the element types.
///
/// The kind of the device and the shape of the product decide which kernels are included. Tiles, memory and
/// work-groups are those of published tunings, and their neighbours.
pub fn candidates(gemm: &Gemm, probe: &Probe) -> Vec<Parameters> {
    let mut found = Vec::new();
    let shape = Shape::of(gemm);
    if shape == Shape::Vector {
        vectors(&mut found);
    } else if probe.kind == DeviceKind::Cpu {
        cpu_tiles(&mut found);
    } else {
        let parts: &[usize] = if shape == Shape::Skinny { &[1, 4, 16] } else { &[1] };
        tiles(&mut found, parts);
        // On Mali, local memory is ordinary memory behind the same cache.
        let emulated = identify(probe).vendor == Some(Vendor::Arm) && !probe.local_memory_dedicated;
        if !emulated && shape != Shape::Skinny {
            locals(&mut found);
        }
    }
    // Each tile of bytes with 16-bit products too; other elements refuse that.
    let shorts = found.clone().into_iter().filter_map(|parameters| match parameters {
        Parameters::Tile(tile) => Some(Parameters::Tile(Tile { short_products: true, ..tile })),
        _ => None,
    });
    found.extend(shorts);
    found.retain(|parameters| parameters.check(gemm, probe).is_ok());
    found
}

/// The candidates in the order in which a sweep should try them: the table's choice and its runners-up, then the rest
/// in order of similarity to these.
pub fn best_guess_first(gemm: &Gemm, candidates: &[Parameters], probe: &Probe) -> Vec<Parameters> {
    let choice = default_parameters(gemm, probe);
    let guesses =
        std::iter::once(choice.parameters).chain(choice.runners_up.into_iter().map(|(other, _)| other));
    let guesses: Vec<Parameters> = guesses.filter(|guess| guess.check(gemm, probe).is_ok()).collect();
    nearest_first(&guesses, candidates)
}

fn vectors(found: &mut Vec<Parameters>) {
    for outputs in [2, 4, 8] {
        for width in [4, 8, 16] {
            for group in [1, 16, 32, 64, 128, 256] {
                found.push(Parameters::Vector(Vector { outputs, width, group, sub_groups: false }));
            }
        }
        for group in [64, 128, 256] {
            found.push(Parameters::Vector(Vector { outputs, width: 4, group, sub_groups: true }));
        }
    }
    for (columns, vector) in [(4, 4), (8, 8), (64, 16)] {
        for parts in [1, 4, 16, 64] {
            for group in [[1, 1], [64, 1]] {
                let group = Some(group);
                found.push(Parameters::Tile(Tile {
                    vector,
                    unroll: 4,
                    group,
                    parts,
                    ..Tile::new(1, columns)
                }));
            }
        }
    }
}

/// One work-item per work-group, panels of one tile.
fn cpu_tiles(found: &mut Vec<Parameters>) {
    for (columns, vector) in [(16, 16), (32, 16), (48, 16), (16, 8), (8, 8)] {
        for rows in [4, 6, 8, 12, 14] {
            for (a, b) in [(DIRECT, DIRECT), (DIRECT, PANELS), (PANELS, PANELS)] {
                for unroll in [1, 4] {
                    for rows_first in [true, false] {
                        found.push(Parameters::Tile(Tile {
                            vector,
                            unroll,
                            a,
                            b,
                            rows_first,
                            rolled: true,
                            group: Some([1, 1]),
                            ..Tile::new(rows, columns)
                        }));
                    }
                }
            }
        }
    }
    found.push(Parameters::Tile(Tile { unroll: 4, group: Some([8, 8]), ..Tile::new(4, 4) }));
}

fn tiles(found: &mut Vec<Parameters>, parts: &[usize]) {
    // Rows, columns and elements of a vector.
    let shapes =
        [(2, 2, 2), (2, 4, 4), (4, 4, 4), (4, 8, 4), (4, 8, 8), (8, 4, 4), (8, 8, 4), (8, 8, 8), (4, 16, 8)];
    let sources = [
        (DIRECT, DIRECT),
        (DIRECT, ONE_PANEL),
        (ONE_PANEL, ONE_PANEL),
        (DIRECT, Source::Image),
        (ONE_PANEL, Source::Image),
        (Source::Image, ONE_PANEL),
        (Source::Image, Source::Image),
    ];
    for (rows, columns, vector) in shapes {
        for (a, b) in sources {
            for group in [[8, 8], [16, 8], [32, 4]] {
                for parts in parts {
                    let unroll = if a == DIRECT { 4 } else { 2 };
                    let tile = Tile {
                        vector,
                        unroll,
                        a,
                        b,
                        a_vector: a == ONE_PANEL,
                        group: Some(group),
                        parts: *parts,
                        ..Tile::new(rows, columns)
                    };
                    found.push(Parameters::Tile(tile));
                    if a == ONE_PANEL && b == ONE_PANEL && vector == 4 {
                        for dot in [Dot::Khr, Dot::Arm] {
                            let tile = Tile { dot: Some(dot), a_vector: false, unroll: 1, ..tile };
                            found.push(Parameters::Tile(tile));
                        }
                    }
                }
            }
        }
    }
}

fn locals(found: &mut Vec<Parameters>) {
    for (rows, columns) in [(4, 4), (8, 4), (4, 8), (8, 8), (16, 8), (8, 16)] {
        for group in [[8, 8], [16, 8], [16, 16], [32, 8]] {
            for depth in [8, 16, 32] {
                for buffers in [1, 2] {
                    for (a, b) in [(DIRECT, DIRECT), (ONE_PANEL, DIRECT), (ONE_PANEL, ONE_PANEL)] {
                        let block = Local { depth, group, a, b, buffers, ..Local::new(rows, columns) };
                        found.push(Parameters::Local(block));
                    }
                }
            }
        }
    }
}
