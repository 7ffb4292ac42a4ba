//! The time of a product, estimated from its shape: waves of work-groups over the cores, memory, launches, edges.
//!
//! The estimate alone ranks parameters of one kernel by their parts of K and their grid. It knows nothing about
//! registers or instructions: the measured times of a table correct it ([`crate::Table::choose_product`]).

use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::document::built_in;
use tripipe_device::{Probe, identify};

use super::check::Unfit;
use super::description::{Gemm, StridedLayout};
use super::parameters::{Local, Parameters, Source};
use super::product::RowMajorProduct;
use crate::table::{Basis, Device, Target};

const FILE: &str = include_str!("../../data/gemm/figures.toml");

static FIGURES: LazyLock<FiguresFile> =
    LazyLock::new(|| built_in("data/gemm/figures.toml", toml::from_str(FILE)));

/// What the estimate needs to know about a device. Every figure is positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceFigures {
    /// Shader cores, or cores of a CPU.
    pub cores: f64,
    /// Operations per second of all cores; a multiply-add counts as 2.
    pub operations_per_second: f64,
    /// Bytes per second of the memory, read plus written.
    pub bytes_per_second: f64,
    /// Bytes per second of operands that several work-groups read, out of caches.
    pub cache_bytes_per_second: f64,
    /// Bytes per second that the work-items of all cores load, out of local memory or a core's own cache.
    pub load_bytes_per_second: f64,
    /// Work-items that are resident on a core.
    pub resident: f64,
    /// Work-items that keep the arithmetic of a core busy.
    pub busy: f64,
    /// Work-items of a core that keep the memory busy.
    pub streaming: f64,
    /// Seconds of an empty kernel.
    pub launch_seconds: f64,
    /// Seconds that a further launch of the same product adds.
    pub next_launch_seconds: f64,
}

/// What takes the most time of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostLimit {
    /// Multiply-adds, those outside C included.
    Arithmetic,
    /// What work-items load, from local memory or a core's own cache.
    Loads,
    /// Operands from caches.
    Caches,
    /// Operands, results and sums of parts from and to memory.
    Memory,
    /// The launches.
    Launches,
}

/// The estimated time of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostEstimate {
    /// Seconds, packing of operands that change included.
    pub seconds: f64,
    /// Work-groups of the product's launch.
    pub groups: usize,
    /// The most work-groups that a core runs, over their mean: 1 when all cores have the same number.
    pub imbalance: f64,
    /// What takes the most time.
    pub limit: CostLimit,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FiguresFile {
    figures: Vec<FiguresEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FiguresEntry {
    on: Target,
    operations_per_core_per_clock: f64,
    gigabytes_per_second: f64,
    cache_to_memory: f64,
    load_bytes_per_core_per_clock: f64,
    resident: f64,
    busy: f64,
    streaming: f64,
    launch_us: f64,
    next_launch_us: f64,
    /// Required in the file, for its readers.
    #[serde(rename = "basis")]
    _basis: Basis,
    /// Required in the file, for its readers.
    #[serde(rename = "source")]
    _source: String,
}

impl DeviceFigures {
    /// The figures of a device: of the GPU's model if it has one, otherwise of `data/gemm/figures.toml`.
    pub fn of(probe: &Probe) -> Self {
        let found = identify(probe);
        let device = Device::of(probe);
        let fits = |entry: &&FiguresEntry| device.relation(&entry.on, probe).is_some();
        // The last entries are for kinds, and every device is of one.
        let entry = FIGURES.figures.iter().find(fits).or(FIGURES.figures.last());
        let clock_mhz = found.clock_mhz.or(probe.believed_clock_mhz()).unwrap_or(1000);
        let cores = f64::from(found.cores.unwrap_or(probe.compute_units).max(1));
        let clock = f64::from(clock_mhz.max(1)) * 1e6;
        let rate = found.model.map(|gpu| 2.0 * f64::from(gpu.operations_per_clock_per_core.fp32_fma.value));
        let figure = |of: fn(&FiguresEntry) -> f64, otherwise: f64| entry.map_or(otherwise, of);
        let rate = rate.unwrap_or_else(|| figure(|entry| entry.operations_per_core_per_clock, 128.0));
        let operations_per_second = rate * cores * clock;
        let memory = found.model.map(|gpu| gpu.configuration.dram_gb_s_peak.value * 1e9);
        let memory = memory.unwrap_or_else(|| figure(|entry| entry.gigabytes_per_second, 0.0) * 1e9);
        let bytes_per_second = if memory > 0.0 { memory } else { operations_per_second / 50.0 };
        Self {
            cores,
            operations_per_second,
            bytes_per_second,
            cache_bytes_per_second: bytes_per_second * figure(|entry| entry.cache_to_memory, 2.5),
            load_bytes_per_second: figure(|entry| entry.load_bytes_per_core_per_clock, 64.0) * cores * clock,
            resident: figure(|entry| entry.resident, 1024.0),
            busy: figure(|entry| entry.busy, 128.0),
            streaming: figure(|entry| entry.streaming, 256.0),
            launch_seconds: figure(|entry| entry.launch_us, 20.0) * 1e-6,
            next_launch_seconds: figure(|entry| entry.next_launch_us, 20.0) * 1e-6,
        }
    }
}

impl DeviceFigures {
    /// With ceilings that were measured on the device: operations and bytes per second, and seconds of an empty
    /// launch. What is not positive is ignored.
    #[must_use]
    pub fn with_ceilings(
        self,
        operations_per_second: f64,
        bytes_per_second: f64,
        launch_seconds: f64,
    ) -> Self {
        let or = |new: f64, old: f64| if new > 0.0 && new.is_finite() { new } else { old };
        let bytes_per_second = or(bytes_per_second, self.bytes_per_second);
        Self {
            operations_per_second: or(operations_per_second, self.operations_per_second),
            bytes_per_second,
            cache_bytes_per_second: self.cache_bytes_per_second * bytes_per_second / self.bytes_per_second,
            launch_seconds: or(launch_seconds, self.launch_seconds),
            ..self
        }
    }
}

/// The grid of a product's launch.
struct GroupGrid {
    /// Rows and columns of C that a work-group computes.
    block: [usize; 2],
    /// Work-items of a work-group.
    items: usize,
    /// Work-groups, without parts.
    groups: usize,
    /// Times slower than without edges.
    edges: f64,
    /// Elements that a work-item loads in a step along K.
    loads: f64,
    /// Steps along K that a work-group takes at once: the length of K is rounded up to them.
    depth: usize,
    /// Work-items that share a tile, each with a slice of K.
    slices: usize,
}

/// A block that reaches over an edge in the middle of a vector loads element by element.
const SLOW_EDGES: f64 = 1.5;

/// Loads of elements of one step that are far apart, over loads of vectors.
const GATHER: f64 = 8.0;

impl GroupGrid {
    fn of(parameters: &Parameters, product: &RowMajorProduct) -> Self {
        let RowMajorProduct { m, n, count, .. } = *product;
        let (block, items) = match parameters {
            Parameters::Tile(tile) => {
                let [x, y] = tile.group.unwrap_or([8, 8]);
                let [rows, columns] = if tile.rows_first { [x, y] } else { [y, x] };
                ([tile.rows * rows, tile.columns * columns], x * y * tile.slices)
            }
            Parameters::Local(local) => (local.block(), local.group[0] * local.group[1]),
            Parameters::Vector(vector) => ([1, vector.outputs], vector.group),
        };
        let (loads, depth, slices, edges) = match parameters {
            // The elements of A are the same for the neighbours: one access serves them, a vector of steps at once.
            Parameters::Tile(tile) => {
                let gathers = tile.b == Source::Direct && product.b.column_stride != 1;
                let columns = tile.columns as f64 * if gathers { GATHER } else { 1.0 };
                (columns + tile.rows as f64 / 4.0, tile.unroll * tile.slices, tile.slices, 1.0)
            }
            Parameters::Local(local) => {
                let edges = if has_slow_edges(local, product) { SLOW_EDGES } else { 1.0 };
                ((local.rows + local.columns) as f64, local.depth, 1, edges)
            }
            Parameters::Vector(vector) => {
                (vector.outputs as f64 + 1.0, vector.width * vector.group, vector.group, 1.0)
            }
        };
        let groups = m.div_ceil(block[0].max(1)) * n.div_ceil(block[1].max(1)) * count;
        Self { block, items: items.max(1), groups, edges, loads, depth: depth.max(1), slices: slices.max(1) }
    }
}

/// Whether the blocks of an operand reach over an edge by less than a vector.
fn has_slow_edges(local: &Local, product: &RowMajorProduct) -> bool {
    let RowMajorProduct { m, n, k, a, b, .. } = *product;
    let slow = |source: Source, extent: usize, view: StridedLayout, along: bool| {
        let whole = if along { k } else { extent };
        source == Source::Direct && (!whole.is_multiple_of(4) || !view.is_aligned(4))
    };
    slow(local.a, m, a, a.column_stride == 1) || slow(local.b, n, b, b.row_stride == 1)
}

/// The estimated time of a product with `parameters` on a device with these figures. Operands that the parameters
/// pack are packed each time.
///
/// Not modelled: registers, instructions, bank conflicts, the contents of caches between launches.
///
/// # Errors
/// As [`Parameters::check`].
pub fn cost(
    gemm: &Gemm,
    parameters: &Parameters,
    probe: &Probe,
    figures: &DeviceFigures,
) -> Result<CostEstimate, Unfit> {
    parameters.check(gemm, probe)?;
    Ok(unchecked(gemm, parameters, figures))
}

/// As [`cost`], without a check.
pub(super) fn unchecked(gemm: &Gemm, parameters: &Parameters, figures: &DeviceFigures) -> CostEstimate {
    let product = RowMajorProduct::of(gemm);
    let RowMajorProduct { m, n, k, count, .. } = product;
    let grid = GroupGrid::of(parameters, &product);
    let bytes = gemm.elements.types().0.bytes() as f64;
    let parts = parameters.parts().clamp(1, k.max(1));
    // A work-group begins with a block of steps before it multiplies.
    let steps = (k.div_ceil(parts).next_multiple_of(grid.depth) + grid.depth / grid.slices) as f64;
    let groups = grid.groups * parts;
    let items = grid.items as f64;
    // The busiest core.
    let most = (groups as f64 / figures.cores).ceil().max(1.0);
    let at_once = (figures.resident / items).floor().clamp(1.0, 16.0).min(most);
    let filled = (at_once * items / figures.busy).min(1.0);
    let block = (grid.block[0] * grid.block[1]) as f64;
    let of_group = 2.0 * block * steps * grid.edges;
    let arithmetic = most * of_group / (figures.operations_per_second / figures.cores * filled);
    let loaded = most * items * steps / grid.slices as f64 * grid.loads * bytes;
    let loads = loaded / (figures.load_bytes_per_second / figures.cores * filled);
    let read = groups as f64 * (grid.block[0] + grid.block[1]) as f64 * steps * bytes;
    let caches = read / figures.cache_bytes_per_second;
    let [m, n, k, count] = [m, n, k, count].map(|extent| extent as f64);
    let sums = if parts > 1 { 2.0 * parts as f64 * m * n * count * 4.0 } else { 0.0 };
    let streams = (groups as f64 * items / (figures.cores * figures.streaming)).min(1.0);
    let memory = (count * bytes * (m * k + k * n + m * n) + sums) / (figures.bytes_per_second * streams);
    let packs = |source: Source| source != Source::Direct;
    let [packs_a, packs_b] = match parameters {
        Parameters::Tile(tile) => [packs(tile.a), packs(tile.b)],
        Parameters::Local(local) => [packs(local.a), packs(local.b)],
        Parameters::Vector(_) => [false; 2],
    };
    let packed =
        count * bytes * 2.0 * (f64::from(u8::from(packs_a)) * m * k + f64::from(u8::from(packs_b)) * k * n);
    let more = [parts > 1, packs_a, packs_b].into_iter().filter(|is_needed| *is_needed).count() as f64;
    let launches = figures.launch_seconds + more * figures.next_launch_seconds;
    let limits = [
        (arithmetic, CostLimit::Arithmetic),
        (loads, CostLimit::Loads),
        (caches, CostLimit::Caches),
        (memory, CostLimit::Memory),
        (launches, CostLimit::Launches),
    ];
    let (_, limit) =
        limits.into_iter().fold(limits[0], |most, other| if other.0 > most.0 { other } else { most });
    // The longest decides; those nearly as long are in its way.
    let overlapped =
        [arithmetic.max(loads), caches, memory].map(|seconds| seconds.powi(3)).iter().sum::<f64>().cbrt();
    let seconds = overlapped + launches + packed / figures.bytes_per_second;
    CostEstimate { seconds, groups, imbalance: most * figures.cores / (groups.max(1) as f64), limit }
}

/// The numbers of parts of K worth considering: those with which the work-groups fill the cores once, twice and so on,
/// and one. Ascending, without duplicates; each part has at least two blocks of steps. Empty where K is too short for
/// the slices of a tile.
pub(super) fn parts(gemm: &Gemm, parameters: &Parameters, figures: &DeviceFigures) -> Vec<usize> {
    let product = RowMajorProduct::of(gemm);
    let grid = GroupGrid::of(parameters, &product);
    if matches!(parameters, Parameters::Vector(_)) {
        return vec![1];
    }
    if grid.slices > 1 && 2 * grid.depth > product.k {
        return Vec::new();
    }
    let most = (product.k / (2 * grid.depth)).clamp(1, 1024);
    let waves = (figures.resident / grid.items as f64).clamp(1.0, 16.0);
    let mut found = vec![1];
    for fill in [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0].into_iter().filter(|fill| *fill <= waves)
    {
        let parts = (fill * figures.cores / grid.groups.max(1) as f64).floor() as usize;
        found.push(parts.clamp(1, most));
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl Parameters {
    /// The same kernel with K divided into this number of parts.
    #[must_use]
    pub fn with_parts(self, parts: usize) -> Self {
        match self {
            Self::Tile(tile) => Self::Tile(super::Tile { parts, ..tile }),
            Self::Local(local) => Self::Local(Local { parts, ..local }),
            Self::Vector(_) => self,
        }
    }
}
