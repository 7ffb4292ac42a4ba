//! How filters are run: parameters, their constraints, and which to take on which GPU.

use tripipe_device::{DeviceKind, Probe};

use super::pairs::Pairs;
use super::passes::Pass;
use super::plan::{indexable, not_an_image};
use super::texels::{TEXEL, Texels};
use super::{Chain, Element, Layout, Raster, Stage};
use crate::plan::PlanError;
use crate::sweep::nearest_first;

/// How the kernels of a chain are run. It changes times, never a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Elements of a row that a work-item computes, in one vector: 2, 4, 8 or 16.
    pub lanes: usize,
    /// Rows that a work-item computes, 1 to 16. Its windows share the rows they have in common.
    pub rows: usize,
    /// How a window's columns are loaded.
    pub loads: Loads,
    /// How wide integer sums are.
    pub sums: Sums,
    /// Work-items along the row and down the image; nothing leaves it to the driver.
    pub work_group: Option<[usize; 2]>,
    /// Which stages share a pass over memory.
    pub fuse: Fuse,
}

/// Which stages share a pass over memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fuse {
    /// None: each has its own.
    Nothing,
    /// Those that look at one pixel, with the stage beside them, where it is possible and pays.
    Pixels,
    /// Those, and two windows after each other: the first is worked out in registers, on the way to the second. Sums and extremes over 7 x 7
    /// pixels at most can be the first; it is not possible between integers and floating point, for `half` between the two, and where
    /// the border wraps. Of three windows the first two share a pass.
    Windows,
}

impl Fuse {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Pixels, Self::Windows];
}

/// How a work-item loads the elements left and right of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// One load for each column of the window, at any address.
    Direct,
    /// As few loads as hold all columns; swizzles make the columns.
    Shared,
    /// As `Shared`, from vectors at multiples of their size. For devices that load vectors at other addresses element by element.
    Aligned,
    /// As `Shared`, from an image that lies over the source's buffer, four elements to a texel: for GPUs whose texture unit has a cache that
    /// other loads do not go through. The ends of rows are loaded from the buffer.
    Image,
}

impl Loads {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Direct, Self::Shared, Self::Aligned, Self::Image];
}

/// How a window's sums of integers are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sums {
    /// In 32 bits.
    Wide,
    /// In 16 bits where every partial sum of a stage fits, otherwise in 32.
    Narrow,
    /// Two of 16 bits to a register of 32, for linear filters from bytes to bytes over 5 x 5 pixels at most whose divisor is a power of two
    /// and whose sums fit; other stages, and those that have one of a single pixel in the same pass, are as with `Narrow`. For
    /// lanes of 32 bits.
    Paired,
}

impl Sums {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wide, Self::Narrow, Self::Paired];
}

impl Parameters {
    /// Checks that a chain can be run so from `from` to `to`: the one place that knows what the kernels and the device ask for.
    ///
    /// # Errors
    /// A parameter out of its range; `Aligned` for a source whose rows or planes do not lie at multiples of `lanes`; `Image` on a device that
    /// lays no images over buffers, for a source that none fits, or with fewer than 4 lanes; `Paired` with `Direct`, fewer than 4
    /// lanes or no stage for it; an image whose elements a `uint` cannot index; a work-group the device does not take.
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

/// Whether a stage of the chain keeps alpha beside the other channels: of the image, or of what a stage before made.
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

/// Whether vectors of so many elements, from the first of a row on, lie at multiples of their size.
pub(super) fn is_aligned(raster: &Raster, lanes: usize) -> bool {
    [raster.offset, raster.pitch, raster.plane_pitch].iter().all(|distance| distance.is_multiple_of(lanes))
}

/// What sets processors apart for a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// 128-bit vector units; a load occupies its pipe for as long whatever its width.
    Midgard,
    /// Warps of scalar lanes of 32 bits, which take two shorts.
    Bifrost,
    Adreno,
    Processor,
    /// Scalar lanes that read vectors at odd addresses element by element, and gain nothing from 16 bits.
    Desktop,
}

impl Family {
    /// Operations on 32-bit lanes that it does while a byte goes to memory or comes from there. Guessed, from what is in `crates/device/data`
    /// and measured bandwidths: T860 of an RK3399 51 G/s over 7 GB/s, G610 of an RK3588 256 over 27, G57 of two cores 61 over 14, Adreno 640
    /// 150 over 30, H200 17000 over 4200. For a processor less than its memory would have it, as much of an image is still in its caches.
    pub(super) fn operations_per_byte(self) -> f64 {
        match self {
            Self::Midgard | Self::Bifrost => 7.0,
            Self::Adreno => 5.0,
            Self::Desktop => 4.0,
            Self::Processor => 2.0,
        }
    }

    /// Whether it has vectors, whose unused lanes cost as much as the others.
    pub(super) fn has_vectors(self) -> bool {
        matches!(self, Self::Midgard | Self::Processor)
    }

    /// Whether two lanes of 16 bits cost as much as one of 32.
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

/// Parameters for a chain on a device, and why those. They pass [`Parameters::check`] wherever any do. Whether two windows share a pass is
/// estimated, from the bytes that this saves and the work that is done again where work-items meet.
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
            // Columns put in order serve their neighbours.
            parameters.loads = Loads::Shared;
        } else {
            // The elements of all its windows are in registers at once.
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

/// The parameters with windows that share a pass where that costs less, by [`Pass::cost_of_all`]; then with up to 8 rows, as each work-item
/// begins with all rows of the first window.
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

/// The parameters next to these in one respect that the device takes too, with what they would cost: the three that cost least by the
/// estimate of bytes moved and operations done, which knows neither registers nor what the compiler makes of a kernel.
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
        // What costs the same is the same here.
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

/// Bytes of the widest element that a stage of the chain reads.
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

/// Parameters worth trying for a chain on a device: all that [`Parameters::check`] admits of vectors, rows, ways to load and work-groups
/// that fit it: the default first, then those that are most like it.
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

    /// A pass less is worth it where memory is what is short; not where it stays in a cache and half of each vector is for nobody.
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
        // Nothing to share a pass with.
        assert_eq!(chosen(&chain.stages[..2], "Mali-G610", DeviceKind::Gpu), (4, Fuse::Pixels));
        Ok(())
    }
}
