//! The choice of parameters for each GPU.

use tripipe_device::Probe;

use super::family::{CANDIDATE_LANES, CANDIDATE_ROWS, CANDIDATE_WORK_GROUPS, FUSED_ROWS_MAX, Family};
use super::pairs::Pairs;
use super::passes::Pass;
use super::raster::is_aligned;
use super::table::default_parameters;
use super::{Chain, Fuse, Loads, Parameters, PixelType, Raster, Stage, Sums};
use crate::nearest::nearest_first;

/// What the rules of `data/filter.toml` say.
pub(super) struct RuleChoice {
    pub(super) parameters: Parameters,
    pub(super) why: &'static str,
    pub(super) source: &'static str,
}

/// Parameters for a chain on a device by the rules of `data/filter.toml`, and the reason. They pass
/// [`Parameters::check`] whenever any parameters do. Whether two windows share a pass is estimated, from the bytes saved
/// and the work that adjacent work-items repeat.
pub(super) fn preset(chain: &Chain, from: &Raster, probe: &Probe) -> RuleChoice {
    let wide = 16 / widest(chain, from);
    let paired = Pairs::any_of(chain, from);
    let median = chain.stages.iter().any(|stage| matches!(stage, Stage::Median { .. }));
    let family = Family::of(probe);
    let preset = family.preset(paired, median);
    let mut parameters = preset.parameters;
    if preset.lanes_of_vector {
        parameters.lanes = parameters.lanes.min(wide);
    }
    if parameters.sums == Sums::Paired && !paired {
        parameters.sums = Sums::Narrow;
    }
    if parameters.loads == Loads::Aligned && !is_aligned(from, parameters.lanes) {
        parameters.loads = Loads::Shared;
    }
    if median {
        parameters.rows = family.figures().median_rows.unwrap_or(parameters.rows);
        parameters.loads = family.figures().median_loads.unwrap_or(parameters.loads);
    }
    let fits = |[x, y]: [usize; 2]| probe.max_work_group_size == 0 || x * y <= probe.max_work_group_size;
    parameters.work_group = parameters.work_group.filter(|group| fits(*group));
    parameters = with_windows_fused(chain, from, parameters, family);
    parameters = within_registers(parameters, chain, from, probe);
    let image = within_registers(Parameters { loads: Loads::Image, ..parameters }, chain, from, probe);
    let fits = chain.apply_to(from).is_ok_and(|to| image.check(chain, from, &to, probe).is_ok());
    match family.figures().images {
        Some(why) if fits => RuleChoice { parameters: image, why, source: preset.source },
        _ => RuleChoice { parameters, why: preset.why, source: preset.source },
    }
}

/// The parameters, with fewer lanes or rows if a work-item would spill registers, or be too long to unroll and compute
/// shared sums again: those that cost least, by [`Pass::cost_of_all`], or need the fewest registers if there are always
/// too few.
pub(super) fn within_registers(
    parameters: Parameters,
    chain: &Chain,
    from: &Raster,
    probe: &Probe,
) -> Parameters {
    let family = Family::of(probe);
    let (Some(limit), Ok(to)) = (family.register_bytes(probe), chain.apply_to(from)) else {
        return parameters;
    };
    let excess = |parameters: &Parameters| {
        let bytes = Pass::most_register_bytes(chain, from, &to, parameters, family).unwrap_or(0);
        let repeats = Pass::any_repeats_sums(chain, from, &to, parameters).unwrap_or(false);
        (repeats, bytes.saturating_sub(limit))
    };
    if excess(&parameters) == (false, 0) {
        return parameters;
    }
    // Columns that share their loads are arrays of vectors. In windows that are too long, with two lanes, they stay in
    // memory: 20 to 180 times as slow, by predicted times.
    let loads = match parameters.loads {
        Loads::Shared if excess(&parameters).0 => Loads::Direct,
        loads => loads,
    };
    let parameters = Parameters { loads, ..parameters };
    let Parameters { lanes, rows, .. } = parameters;
    let sizes =
        [lanes, lanes / 2, lanes / 4].into_iter().flat_map(|lanes| (1..=rows).map(move |rows| [lanes, rows]));
    let smaller = sizes.map(|[lanes, rows]| Parameters { lanes, rows, ..parameters });
    let cost = |parameters: &Parameters| {
        Pass::cost_of_all(chain, from, &to, parameters, family).unwrap_or(f64::INFINITY)
    };
    let fits = smaller.filter(|smaller| smaller.check(chain, from, &to, probe).is_ok());
    let ranked = fits.map(|smaller| (excess(&smaller), cost(&smaller), smaller));
    let least = ranked.min_by(|(excess, cost, _), (other_excess, other_cost, _)| {
        excess.cmp(other_excess).then(cost.total_cmp(other_cost))
    });
    least.map_or(parameters, |(_, _, smaller)| smaller)
}

/// The parameters with windows fused when that costs less, by [`Pass::cost_of_all`]. Fused passes then use up to
/// [`FUSED_ROWS_MAX`] rows, because each work-item first computes all rows of the first window.
fn with_windows_fused(chain: &Chain, from: &Raster, parameters: Parameters, family: Family) -> Parameters {
    let Ok(to) = chain.apply_to(from) else { return parameters };
    let sums = if family.has_short_lanes() { parameters.sums } else { Sums::Wide };
    let fused = Parameters { fuse: Fuse::Windows, sums, ..parameters };
    let passes = |parameters: &Parameters| Pass::of(chain, from, &to, parameters).unwrap_or_default().len();
    if passes(&fused) >= passes(&parameters) {
        return parameters;
    }
    let more = Parameters { rows: FUSED_ROWS_MAX.min(2 * parameters.rows), ..fused };
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
    let family = Family::of(probe);
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
        let but = if times < 1.0 { ", at the cost of registers or of partial loads" } else { "" };
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
        let held = if raster.element == PixelType::F16 { 4 } else { raster.element.bytes() };
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
    let default = default_parameters(chain, from, probe).parameters;
    let family = Family::of(probe);
    let wide = 16 / widest(chain, from);
    let passes = |fuse: Fuse, lanes: usize| {
        let parameters = Parameters { fuse, lanes, sums: Sums::Paired, ..default };
        Pass::of(chain, from, to, &parameters).unwrap_or_default()
    };
    let mut found = vec![default];
    for lanes in CANDIDATE_LANES.into_iter().filter(|lanes| *lanes <= wide || family == Family::Processor) {
        let [apart, together] = [Fuse::Pixels, Fuse::Windows].map(|fuse| passes(fuse, lanes));
        let fuses = together.len() < apart.len();
        let pairs = together.iter().any(Pass::is_paired);
        for rows in CANDIDATE_ROWS {
            for loads in Loads::ALL {
                for sums in Sums::ALL {
                    for work_group in CANDIDATE_WORK_GROUPS {
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
    use tripipe_device::DeviceKind;

    use super::super::{Border, Color, FilterError, Linear, Size};
    use super::*;

    /// gaussian:7 of bytes needs sums of 32 bits: 6 rows of 8 take 192 bytes, a sum along a row and two loaded vectors
    /// 96 more, and a work-item of a Mali-G78 has 256. gaussian:5 has sums of 16 bits.
    #[test]
    fn sums_fit_the_registers() -> Result<(), FilterError> {
        let taken = |text: &str, name: &str| {
            let chain = Chain::parse(text, Border::Reflect101)?;
            let probe = Probe { name: name.to_owned(), kind: DeviceKind::Gpu, ..Probe::default() };
            let (loads, sums, fuse) = (Loads::Shared, Sums::Narrow, Fuse::Pixels);
            let given = Parameters { lanes: 8, rows: 6, loads, sums, work_group: None, fuse };
            let from = Raster::packed(Size::new(640, 480), 1, PixelType::U8);
            let Parameters { lanes, rows, .. } = within_registers(given, &chain, &from, &probe);
            Ok::<_, FilterError>([lanes, rows])
        };
        assert_eq!(taken("gaussian:5", "Mali-G78")?, [8, 6]);
        let [lanes, rows] = taken("gaussian:7", "Mali-G78")?;
        assert!(
            (lanes * rows + lanes + (6_usize + lanes).div_ceil(lanes) * lanes) * 4 + 48 <= 256,
            "{lanes}x{rows}"
        );
        // 768 bytes.
        assert_eq!(taken("gaussian:7", "Adreno(TM) 650")?, [8, 6]);
        Ok(())
    }

    /// Code that is too long is not unrolled, and each result then computes sums that the others have: 5 to 130 times as
    /// slow, by the predicted times of the 44 GPUs.
    #[test]
    fn results_share_the_sums_of_rows() -> Result<(), FilterError> {
        for (text, name) in ["dilate-cross:15", "unsharp:11", "unsharp:13", "unsharp:15", "gaussian:15:1.5"]
            .into_iter()
            .flat_map(|text| {
                ["Mali-T860", "Mali-G78", "Mali-G720", "Adreno(TM) 740"].map(|name| (text, name))
            })
        {
            let chain = Chain::parse(text, Border::Reflect101)?;
            let probe = Probe { name: name.to_owned(), kind: DeviceKind::Gpu, ..Probe::default() };
            let from = Raster::packed(Size::new(1920, 1088), 1, PixelType::U8);
            let to = chain.apply_to(&from)?;
            for (lanes, rows) in [(8, 6), (4, 9), (2, 12), (16, 8)] {
                let (loads, sums, fuse) = (Loads::Shared, Sums::Narrow, Fuse::Pixels);
                let given = Parameters { lanes, rows, loads, sums, work_group: None, fuse };
                let taken = within_registers(given, &chain, &from, &probe);
                assert!(!Pass::any_repeats_sums(&chain, &from, &to, &taken)?, "{text} on {name}: {taken}");
            }
        }
        Ok(())
    }

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
        let from = Raster::packed(Size::new(640, 480), 3, PixelType::U8);
        let chosen = |stages: &[Stage], name: &str, kind: DeviceKind| {
            let probe = Probe { name: name.to_owned(), kind, ..Probe::default() };
            let chain = Chain { stages: stages.to_vec(), ..chain.clone() };
            let Parameters { rows, fuse, .. } = preset(&chain, &from, &probe).parameters;
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
