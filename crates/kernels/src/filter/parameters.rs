//! How filters run: parameters, their constraints, and the choice for each GPU.

use tripipe_device::{DeviceKind, Probe};

use super::pairs::Pairs;
use super::passes::Pass;
use super::plan::{indexable, not_an_image};
use super::texels::{TEXEL, Texels};
use super::{Chain, Element, Layout, Raster, Stage};
use crate::nearest::nearest_first;
use crate::plan::PlanError;

/// How the kernels of a chain run. Parameters change times, never a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Elements of a row that a work-item computes in one vector: 2, 4, 8 or 16.
    pub lanes: usize,
    /// Rows that a work-item computes, 1 to 16. Its windows share overlapping rows.
    pub rows: usize,
    /// How a window's columns are loaded.
    pub loads: Loads,
    /// The width of integer sums.
    pub sums: Sums,
    /// Work-group size along the row and down the image. `None` leaves it to the driver.
    pub work_group: Option<[usize; 2]>,
    /// Which stages share a pass over memory.
    pub fuse: Fuse,
}

/// Which stages share a pass over memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fuse {
    /// None: each stage has its own pass.
    Nothing,
    /// Single-pixel stages share a pass with the adjacent stage, where that is possible and pays.
    Pixels,
    /// As `Pixels`, and two consecutive windows share a pass: the first is computed in registers, as input of the
    /// second. The first can be a sum or an extreme over at most 7 x 7 pixels. This is not possible between integers
    /// and floating point, with `half` between the two, or with a wrapping border. Of three windows, the first two
    /// share a pass.
    Windows,
}

impl Fuse {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Pixels, Self::Windows];
}

/// How a work-item loads the elements left and right of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// One load for each column of the window, at any address.
    Direct,
    /// As few loads as cover all columns; swizzles extract the columns.
    Shared,
    /// As `Shared`, with vectors at multiples of their size. For devices that split vector loads at other addresses
    /// into elements.
    Aligned,
    /// As `Shared`, from an image created over the source's buffer, four elements per texel. For GPUs whose texture
    /// unit has a cache that other loads bypass. The ends of rows are loaded from the buffer.
    Image,
}

impl Loads {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Direct, Self::Shared, Self::Aligned, Self::Image];
}

/// The width in which a window's integer sums are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sums {
    /// In 32 bits.
    Wide,
    /// In 16 bits when every partial sum of a stage fits, otherwise in 32.
    Narrow,
    /// Two 16-bit sums in a 32-bit register, for linear filters from bytes to bytes over at most 5 x 5 pixels whose
    /// divisor is a power of two and whose sums fit. Other stages, and those with a single-pixel stage in the same
    /// pass, run as with `Narrow`. For devices with 32-bit lanes.
    Paired,
}

impl Sums {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Wide, Self::Narrow, Self::Paired];
}

impl Parameters {
    /// Checks that a chain can run from `from` to `to` with these parameters. All constraints of the kernels and the
    /// device are here.
    ///
    /// # Errors
    /// A parameter out of its range. `Aligned` for a source whose rows or planes are not at multiples of `lanes`.
    /// `Image` on a device that cannot create images over buffers, for a source that does not fit one, or with fewer
    /// than 4 lanes. `Paired` with `Direct`, with fewer than 4 lanes or without a suitable stage. An image whose
    /// elements a `uint` cannot index. A work-group that the device does not support.
    pub fn check(&self, chain: &Chain, from: &Raster, to: &Raster, probe: &Probe) -> Result<(), PlanError> {
        let refuse = |parameter: &'static str, found: String, want: String| {
            Err(PlanError::Parameter { parameter, found, want })
        };
        for raster in [from, to] {
            indexable(raster)?;
        }
        if ![2, 4, 8, 16].contains(&self.lanes) {
            return refuse("lanes", self.lanes.to_string(), "2, 4, 8 or 16".to_owned());
        }
        if !(1..=16).contains(&self.rows) {
            return refuse("rows", self.rows.to_string(), "1 to 16".to_owned());
        }
        if chain.keep_alpha && self.lanes < 4 && has_packed_alpha(chain, from) {
            let want = "4, 8 or 16, so that alpha is always in the same lane".to_owned();
            return refuse("lanes", self.lanes.to_string(), want);
        }
        if self.loads == Loads::Aligned && !is_aligned(from, self.lanes) {
            let want = format!("an offset, a pitch and a plane pitch that are multiples of {}", self.lanes);
            return refuse("loads", "aligned".to_owned(), want);
        }
        if self.loads == Loads::Image {
            if self.lanes < TEXEL {
                return refuse(
                    "lanes",
                    self.lanes.to_string(),
                    "4, 8 or 16, which are whole texels".to_owned(),
                );
            }
            let passes = if from.is_empty() { Vec::new() } else { Pass::of(chain, from, to, self)? };
            for pass in passes.iter().filter(|pass| Pass::is_vector(pass.stage.as_deref())) {
                Texels::over(&pass.from, probe).map_err(not_an_image)?;
            }
        }
        if self.sums == Sums::Paired {
            let refuse = |want: &str| refuse("sums", "paired".to_owned(), want.to_owned());
            if self.lanes < 4 {
                return refuse("lanes are 4, 8 or 16, which are whole words");
            }
            if self.loads == Loads::Direct {
                return refuse("loads are shared, aligned or image, as columns are parts of words");
            }
            if !Pairs::any_of(chain, from) {
                return refuse(
                    "a linear filter from bytes to bytes over 5 x 5 pixels at most whose divisor is a power of two and \
                     whose sums fit 16 bits",
                );
            }
        }
        if let Some([x, y]) = self.work_group {
            if x == 0 || y == 0 {
                return refuse("group", format!("{x}x{y}"), "1x1 or more".to_owned());
            }
            let limits = [
                (x.saturating_mul(y), probe.max_work_group_size),
                (x, probe.max_work_item_sizes[0]),
                (y, probe.max_work_item_sizes[1]),
            ];
            for (found, limit) in limits {
                if limit != 0 && found > limit {
                    let what = format!("a work-group of {x}x{y}");
                    return Err(PlanError::OverLimit { what, limit: limit as u64 });
                }
            }
        }
        Ok(())
    }
}

/// Whether a stage of the chain keeps alpha beside the other channels, in the image or in the output of an earlier
/// stage.
fn has_packed_alpha(chain: &Chain, from: &Raster) -> bool {
    let mut channels = from.channels;
    let mut element = from.element;
    from.layout == Layout::Packed
        && chain.stages.iter().any(|stage| {
            let keeps = channels == 4 && stage.keeps_alpha();
            (channels, element) = stage.output(channels, element).unwrap_or((channels, element));
            keeps
        })
}

/// Whether vectors of `lanes` elements, counted from the start of a row, are at multiples of their size.
pub(super) fn is_aligned(raster: &Raster, lanes: usize) -> bool {
    [raster.offset, raster.pitch, raster.plane_pitch].iter().all(|distance| distance.is_multiple_of(lanes))
}

/// Processor families that filters distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// 128-bit vector units; a load occupies its pipe equally long at every width.
    Midgard,
    /// Warps of scalar 32-bit lanes, each of which takes two shorts.
    Bifrost,
    Adreno,
    Processor,
    /// Scalar lanes that split vector loads at odd addresses into elements and gain nothing from 16 bits.
    Desktop,
}

impl Family {
    /// Operations on 32-bit lanes in the time that a byte takes to or from memory. Guessed, from the data in
    /// `crates/device/data` and measured bandwidths: T860 of an RK3399 51 G/s over 7 GB/s, G610 of an RK3588 256 over
    /// 27, G57 of two cores 61 over 14, Adreno 640 150 over 30, H200 17000 over 4200. The value for a processor is
    /// less than its memory bandwidth suggests, because much of an image is still in its caches.
    pub(super) fn operations_per_byte(self) -> f64 {
        match self {
            Self::Midgard | Self::Bifrost => 7.0,
            Self::Adreno => 5.0,
            Self::Desktop => 4.0,
            Self::Processor => 2.0,
        }
    }

    /// Whether it has vector registers, whose unused lanes cost as much as the others.
    pub(super) fn has_vectors(self) -> bool {
        matches!(self, Self::Midgard | Self::Processor)
    }

    /// Whether two 16-bit lanes cost as much as one 32-bit lane.
    pub(super) fn has_short_lanes(self) -> bool {
        self != Self::Desktop
    }
}

fn family(probe: &Probe) -> Family {
    if probe.kind == DeviceKind::Cpu {
        Family::Processor
    } else if probe.name.contains("Mali-T") {
        Family::Midgard
    } else if probe.name.contains("Mali") {
        Family::Bifrost
    } else if probe.name.contains("Adreno") || probe.version.contains("Adreno") {
        Family::Adreno
    } else {
        Family::Desktop
    }
}

/// Parameters for a chain on a device, and the reason. They pass [`Parameters::check`] whenever any parameters do.
/// Whether two windows share a pass is estimated, from the bytes saved and the work that adjacent work-items repeat.
pub fn default_parameters(chain: &Chain, from: &Raster, probe: &Probe) -> (Parameters, &'static str) {
    let wide = 16 / widest(chain, from);
    let paired = Pairs::any_of(chain, from);
    let sums = if paired { Sums::Paired } else { Sums::Narrow };
    let (mut parameters, why) = match family(probe) {
        Family::Midgard => (
            Parameters {
                lanes: wide,
                rows: 2,
                loads: Loads::Shared,
                sums: Sums::Narrow,
                work_group: Some([8, 8]),
                fuse: Fuse::Pixels,
            },
            "Midgard: a load of 16 bytes takes as long as one of 1, and 16-bit sums fill its 128-bit vector units",
        ),
        Family::Bifrost => (
            Parameters {
                lanes: wide.min(8),
                rows: 4,
                loads: Loads::Shared,
                sums,
                work_group: Some([16, 4]),
                fuse: Fuse::Pixels,
            },
            "Mali with warps: two 16-bit sums to a lane, few loads, and registers for all threads",
        ),
        Family::Adreno => (
            Parameters {
                lanes: wide.min(8),
                rows: 4,
                loads: Loads::Shared,
                sums,
                work_group: Some([32, 2]),
                fuse: Fuse::Pixels,
            },
            "Adreno: 16-bit sums in half registers or two to a whole one, few loads, neighbours of a wave along the row",
        ),
        Family::Processor => (
            Parameters {
                lanes: 16,
                rows: 8,
                loads: Loads::Direct,
                sums: Sums::Narrow,
                work_group: Some([32, 1]),
                fuse: Fuse::Pixels,
            },
            "a CPU: wide vectors, loads at any address, many rows to share sums between",
        ),
        Family::Desktop if paired => (
            Parameters {
                lanes: wide,
                rows: 8,
                loads: Loads::Aligned,
                sums,
                work_group: Some([64, 2]),
                fuse: Fuse::Pixels,
            },
            "a GPU of scalar lanes: loads of 16 bytes at multiples of 16, two 16-bit sums to a register",
        ),
        Family::Desktop if chain.stages.iter().any(|stage| matches!(stage, Stage::Median { .. })) => (
            Parameters {
                lanes: wide.min(8),
                rows: 2,
                loads: Loads::Shared,
                sums: Sums::Narrow,
                work_group: Some([16, 4]),
                fuse: Fuse::Pixels,
            },
            "a GPU of scalar lanes: eight elements side by side, as sorting takes more time than loads",
        ),
        Family::Desktop => (
            Parameters {
                lanes: wide.min(4),
                rows: 8,
                loads: Loads::Aligned,
                sums: Sums::Wide,
                work_group: Some([16, 4]),
                fuse: Fuse::Pixels,
            },
            "a GPU of scalar lanes: four elements at multiples of their size, 32-bit sums",
        ),
    };
    if parameters.loads == Loads::Aligned && !is_aligned(from, parameters.lanes) {
        parameters.loads = Loads::Shared;
    }
    if chain.stages.iter().any(|stage| matches!(stage, Stage::Median { .. })) {
        if family(probe) == Family::Processor {
            // Sorted columns are reused by neighbouring windows.
            parameters.loads = Loads::Shared;
        } else {
            // All elements of its windows are in registers at once.
            parameters.rows = 2;
        }
    }
    let fits = |[x, y]: [usize; 2]| probe.max_work_group_size == 0 || x * y <= probe.max_work_group_size;
    parameters.work_group = parameters.work_group.filter(|group| fits(*group));
    parameters = with_windows_fused(chain, from, parameters, family(probe));
    let image = Parameters { loads: Loads::Image, ..parameters };
    let fits = chain.apply_to(from).is_ok_and(|to| image.check(chain, from, &to, probe).is_ok());
    if fits && family(probe) == Family::Adreno {
        let why = "Adreno: texels, as its texture unit has a cache that other loads go past (guessed, from Qualcomm's OpenCL guide), and \
                   16-bit sums in half registers or two to a whole one";
        return (image, why);
    }
    (parameters, why)
}

/// The parameters with windows fused when that costs less, by [`Pass::cost_of_all`]. Fused passes then use up to 8
/// rows, because each work-item first computes all rows of the first window.
fn with_windows_fused(chain: &Chain, from: &Raster, parameters: Parameters, family: Family) -> Parameters {
    let Ok(to) = chain.apply_to(from) else { return parameters };
    let sums = if family.has_short_lanes() { parameters.sums } else { Sums::Wide };
    let fused = Parameters { fuse: Fuse::Windows, sums, ..parameters };
    let passes = |parameters: &Parameters| Pass::of(chain, from, &to, parameters).unwrap_or_default().len();
    if passes(&fused) >= passes(&parameters) {
        return parameters;
    }
    let more = Parameters { rows: 8.min(2 * parameters.rows), ..fused };
    let cost = |parameters: &Parameters| {
        Pass::cost_of_all(chain, from, &to, parameters, family).unwrap_or(f64::INFINITY)
    };
    let cheaper = |best: Parameters, other: Parameters| if cost(&other) < cost(&best) { other } else { best };
    cheaper(parameters, cheaper(fused, more))
}

/// Alternatives that differ from `parameters` in one respect and that the device also supports, with their estimated
/// cost: the three cheapest. The estimate counts bytes moved and operations done. It does not model registers or the
/// compiler's output.
pub fn runners_up(
    chain: &Chain,
    from: &Raster,
    to: &Raster,
    parameters: &Parameters,
    probe: &Probe,
) -> Vec<(Parameters, String)> {
    let Parameters { lanes, rows, .. } = *parameters;
    let sizes = [[lanes, rows / 2], [lanes, 2 * rows], [lanes / 2, rows], [2 * lanes, rows]];
    let sizes = sizes.map(|[lanes, rows]| Parameters { lanes, rows, ..*parameters });
    let loads = Loads::ALL.map(|loads| Parameters { loads, ..*parameters });
    let sums = Sums::ALL.map(|sums| Parameters { sums, ..*parameters });
    let fuses = [Fuse::Pixels, Fuse::Windows].map(|fuse| Parameters { fuse, ..*parameters });
    let family = family(probe);
    let cost = |parameters: &Parameters| Pass::cost_of_all(chain, from, to, parameters, family).ok();
    let Some(taken) = cost(parameters) else { return Vec::new() };
    let all = sizes.into_iter().chain(loads).chain(sums).chain(fuses);
    let mut others: Vec<(f64, Parameters)> = all
        .filter(|other| other.check(chain, from, to, probe).is_ok())
        .filter_map(|other| Some((cost(&other)? / taken, other)))
        // The same cost means the same kernel here.
        .filter(|(times, _)| (times - 1.0).abs() > 1e-3)
        .collect();
    others.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    others.truncate(3);
    let named = |(times, other): (f64, Parameters)| {
        let but = if times < 1.0 { ", at the price of registers or of loads in pieces" } else { "" };
        (other, format!("an estimated {times:.2} times the bytes and operations{but}"))
    };
    others.into_iter().map(named).collect()
}

/// Bytes of the widest element that any stage of the chain reads.
fn widest(chain: &Chain, from: &Raster) -> usize {
    let mut raster = *from;
    let mut bytes = raster.element.bytes();
    for stage in &chain.stages {
        // `half` is held as `float`.
        let held = if raster.element == Element::F16 { 4 } else { raster.element.bytes() };
        bytes = bytes.max(held);
        match stage.apply_to(&raster) {
            Ok(next) => raster = next,
            Err(_) => break,
        }
    }
    bytes
}

/// Parameters worth trying for a chain on a device: all vector sizes, rows, load methods and work-groups that pass
/// [`Parameters::check`]. The default is first, then the rest in order of similarity to it.
pub fn candidates(chain: &Chain, from: &Raster, to: &Raster, probe: &Probe) -> Vec<Parameters> {
    let (default, _) = default_parameters(chain, from, probe);
    let wide = 16 / widest(chain, from);
    let passes = |fuse: Fuse, lanes: usize| {
        let parameters = Parameters { fuse, lanes, sums: Sums::Paired, ..default };
        Pass::of(chain, from, to, &parameters).unwrap_or_default()
    };
    let mut found = vec![default];
    for lanes in [4, 8, 16].into_iter().filter(|lanes| *lanes <= wide || family(probe) == Family::Processor) {
        let [apart, together] = [Fuse::Pixels, Fuse::Windows].map(|fuse| passes(fuse, lanes));
        let fuses = together.len() < apart.len();
        let pairs = together.iter().any(Pass::is_paired);
        for rows in [1, 2, 4, 8] {
            for loads in Loads::ALL {
                for sums in Sums::ALL {
                    for work_group in [[8, 8], [16, 4], [32, 4], [64, 1], [64, 2], [128, 1]] {
                        let work_group = Some(work_group);
                        let pixels = Parameters { lanes, rows, loads, sums, work_group, fuse: Fuse::Pixels };
                        found.push(pixels);
                        if fuses && (pairs || sums != Sums::Paired) {
                            found.push(Parameters { fuse: Fuse::Windows, ..pixels });
                        }
                    }
                }
            }
        }
    }
    found.retain(|parameters| parameters.check(chain, from, to, probe).is_ok());
    let default = found.first().copied().filter(|first| *first == default);
    nearest_first(default.as_slice(), &found)
}

#[cfg(test)]
mod tests {
    use super::super::{Border, Color, FilterError, Linear};
    use super::*;

    /// Saving a pass pays when memory bandwidth is the limit. It does not pay when the image stays in a cache and
    /// half of each vector is unused.
    #[test]
    fn windows_share_a_pass_where_memory_is_short() -> Result<(), FilterError> {
        let stages = vec![
            Stage::Color(Color::RgbToGray),
            Stage::Linear(Linear::gaussian(5, None)?),
            Stage::Linear(Linear::laplace_sharpen()),
        ];
        let chain = Chain { stages, border: Border::Reflect101, keep_alpha: false };
        let from = Raster::packed([640, 480], 3, Element::U8);
        let chosen = |stages: &[Stage], name: &str, kind: DeviceKind| {
            let probe = Probe { name: name.to_owned(), kind, ..Probe::default() };
            let chain = Chain { stages: stages.to_vec(), ..chain.clone() };
            let (Parameters { rows, fuse, .. }, _) = default_parameters(&chain, &from, &probe);
            (rows, fuse)
        };
        for (name, kind, want) in [
            ("Mali-T860", DeviceKind::Gpu, (2, Fuse::Pixels)),
            ("Mali-G610", DeviceKind::Gpu, (8, Fuse::Windows)),
            ("Adreno(TM) 640", DeviceKind::Gpu, (8, Fuse::Windows)),
            ("Some other", DeviceKind::Gpu, (8, Fuse::Pixels)),
            ("pthread", DeviceKind::Cpu, (8, Fuse::Pixels)),
        ] {
            assert_eq!(chosen(&chain.stages, name, kind), want, "{name}");
        }
        // There is no other window to share a pass with.
        assert_eq!(chosen(&chain.stages[..2], "Mali-G610", DeviceKind::Gpu), (4, Fuse::Pixels));
        Ok(())
    }
}
