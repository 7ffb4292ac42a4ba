//! The activity of a launch from what was recorded of its parts.

use std::collections::BTreeMap;

use super::{
    Activity, CoreSeries, Counts, LineActivity, MemorySeries, Recorder, Sample, Span, Timeline, Window,
};
use crate::memory::TICKS;
use crate::program::SERVERS;
use crate::resource::Resource;

/// What was recorded, when playing has ended.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) recorder: Box<Recorder>,
    pub(crate) memory: Box<Timeline>,
    pub(crate) series: MemorySeries,
    pub(crate) slices: usize,
    /// Counts of what was played.
    pub(crate) counts: Counts,
    /// Work that was played.
    pub(crate) work: f64,
    /// Of a launch of which a part was played: what some of its work-groups do, in any part of it.
    pub(crate) survey: Option<Box<Recorded>>,
    /// Ticks until the last server is free.
    pub(crate) end: u64,
}

/// The launch, of which a part was recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeLaunch {
    pub(crate) clocks: f64,
    /// The work of all work-groups; `None` if all were played.
    pub(crate) work: Option<f64>,
    /// Whether the last window ends with the launch.
    pub(crate) to_end: bool,
    pub(crate) clock_hz: f64,
    pub(crate) global: [u64; 3],
    pub(crate) local: [u64; 3],
    /// Lanes of a warp.
    pub(crate) width: u32,
    pub(crate) cores: usize,
    /// Engines of a core.
    pub(crate) engines: usize,
}

impl WholeLaunch {
    /// Work-groups, warps, full warps and work-items.
    fn sizes(&self) -> [f64; 4] {
        let mut sizes = [0.0; 4];
        // Extents of work-groups, with their number: full ones, and the one at the end.
        let parts: [[(u64, u64); 2]; 3] = std::array::from_fn(|d| {
            let local = self.local[d].max(1);
            [
                (local, self.global[d] / local),
                (self.global[d] % local, u64::from(!self.global[d].is_multiple_of(local))),
            ]
        });
        // Full and cut extents combine to eight kinds of work-groups. A kind that does not exist counts 0 times.
        for (x, columns) in parts[0] {
            for (y, rows) in parts[1] {
                for (z, planes) in parts[2] {
                    let (items, groups) = (x * y * z, (columns * rows * planes) as f64);
                    let width = u64::from(self.width.max(1));
                    let each = [1, items.div_ceil(width), items / width, items];
                    sizes.iter_mut().zip(each).for_each(|(size, each)| *size += groups * each as f64);
                }
            }
        }
        sizes
    }
}

/// A window in ticks of the engine, and where it starts in the launch.
struct LaunchWindow {
    start: u64,
    end: u64,
    at: f64,
    first_group: u64,
}

impl Recorded {
    pub(crate) fn activity(mut self, launch: &WholeLaunch) -> Activity {
        let counts = self.whole(launch);
        // Both timelines get equal intervals, so that a sample is one position in both.
        let width = self.recorder.timeline.width.max(self.memory.width);
        self.recorder.timeline.widen(width);
        self.memory.widen(width);
        let placed = self.launch_windows(launch);
        let seconds = |ticks: f64| ticks / TICKS / launch.clock_hz;
        let mut windows: Vec<Window> = placed
            .iter()
            .map(|window| Window {
                start: seconds(window.at),
                end: seconds(window.at + (window.end - window.start) as f64),
                first_group: window.first_group,
                samples: 0..0,
            })
            .collect();
        let of = |tick: u64| placed.iter().rposition(|window| window.start <= tick).unwrap_or(0);
        // In floats, because an interval may start before its window does.
        let map =
            |window: usize, tick: u64| seconds(placed[window].at + tick as f64 - placed[window].start as f64);
        let mut samples = Vec::new();
        for bin in 0..self.memory.len().max(self.recorder.timeline.len()) {
            let start = bin as u64 * width;
            let Some(length) = self.end.checked_sub(start).filter(|left| *left > 0) else { break };
            let length = length.min(width);
            // An interval may overlap two windows. Its middle decides.
            let window = of(start + length / 2);
            let known = windows[window].samples.start..samples.len();
            windows[window].samples = if known.start == 0 && windows[window].samples.is_empty() {
                samples.len()..samples.len() + 1
            } else {
                known.start..samples.len() + 1
            };
            samples.push(Sample {
                start: map(window, start),
                seconds: seconds(length as f64),
                ..self.sample(bin, length as f64, launch)
            });
        }
        let spans = self.recorder.spans.iter().map(|span| {
            let window = of(span.start);
            // A work-group that was dropped ends with its window.
            let end = span.end.unwrap_or(placed[window].end).max(span.start);
            let (start, end) = (map(window, span.start), map(window, end));
            Span {
                group: span.group,
                core: span.core,
                slot: span.slot,
                start,
                end,
                ended: span.end.is_some(),
            }
        });
        Activity {
            spans: spans.collect(),
            spans_left_out: self.recorder.spans_left_out,
            lines: self.lines(&counts, launch),
            counts,
            played: self.counts,
            windows,
            samples,
        }
    }

    /// What counts of a survey are multiplied by.
    fn times(&self, launch: &WholeLaunch) -> f64 {
        launch.work.map_or(1.0, |work| work / self.work.max(f64::MIN_POSITIVE))
    }

    /// Counts of the whole launch.
    fn whole(&self, launch: &WholeLaunch) -> Counts {
        let left = launch.work.map_or(0.0, |work| (work - self.work).max(0.0));
        // Measured parts have warm caches and full cores, as most of the launch has. The start has neither.
        // Without a measured part, everything that was played stands for the rest.
        let (rate, work) = match self.recorder.measured {
            (measured, work) if work > 0.0 => (measured, work),
            _ => (self.counts, self.work),
        };
        let mut counts = self.counts.plus(&rate, left / work.max(f64::MIN_POSITIVE));
        if let Some(survey) = &self.survey {
            counts = matched(&counts, &survey.counts, survey.times(launch));
        }
        // The range gives these exactly, so nothing is estimated.
        [counts.work_groups, counts.warps, counts.full_warps, counts.threads] = launch.sizes();
        counts
    }

    fn launch_windows(&self, launch: &WholeLaunch) -> Vec<LaunchWindow> {
        let total = launch.clocks * TICKS;
        let windows = &self.recorder.windows;
        let mut placed: Vec<LaunchWindow> = Vec::new();
        for (index, window) in windows.iter().enumerate() {
            let end = windows.get(index + 1).map_or(self.end, |next| next.start).max(window.start);
            let length = (end - window.start) as f64;
            // The first window and the last lie at the ends; those between, where the work before them puts them.
            let at = match index {
                0 => 0.0,
                _ if index + 1 == windows.len() && launch.to_end => total - length,
                _ => window.share * total,
            };
            // Positions are estimates and may overlap. Time must not run backwards.
            let before = placed.last().map_or(0.0, |last| last.at + (last.end - last.start) as f64);
            placed.push(LaunchWindow {
                start: window.start,
                end,
                at: at.max(before),
                first_group: window.group,
            });
        }
        placed
    }

    fn sample(&self, bin: usize, ticks: f64, launch: &WholeLaunch) -> Sample {
        let cores = launch.cores as f64;
        let timeline = &self.recorder.timeline;
        let of_cores = |series: usize| timeline.at(series, bin) / ticks / cores;
        let of_engines = |server: usize| of_cores(server) / launch.engines as f64;
        // The one that is busiest in the whole.
        let busiest = |mut range: std::ops::Range<usize>| {
            let first = range.next().unwrap_or(0);
            range.fold(
                first,
                |best, each| {
                    if self.memory.total(each) > self.memory.total(best) { each } else { best }
                },
            )
        };
        let series = self.series;
        let shares = Resource::ALL.map(|resource| match resource {
            Resource::Arithmetic => of_engines(0),
            Resource::Convert => of_engines(1),
            Resource::Special => of_engines(2),
            Resource::LoadStore => of_cores(CoreSeries::LOAD_STORE),
            Resource::Texture => of_cores(CoreSeries::TEXTURE),
            Resource::Local => of_cores(CoreSeries::LOCAL),
            Resource::Start => {
                // Both go on at the same time, so the busier one is the share, as in `Engine::busy`.
                let series = [CoreSeries::HANDOUT, CoreSeries::START];
                let [handout, start] = series.map(|series| timeline.total(series));
                of_cores(if handout > start { series[0] } else { series[1] })
            }
            Resource::Port => self.memory.at(busiest(MemorySeries::port(0)..series.slice(0)), bin) / ticks,
            Resource::L2 => self.memory.at(busiest(series.slice(0)..series.slice(self.slices)), bin) / ticks,
            Resource::Translation => self.memory.at(MemorySeries::WALKER, bin) / ticks,
            Resource::Dram => self.memory.at(MemorySeries::DRAM, bin) / ticks,
        });
        Sample {
            shares,
            threads: timeline.at(CoreSeries::THREADS, bin) / ticks,
            l2_bytes: self.memory.at(MemorySeries::L2_BYTES, bin),
            dram_read_bytes: self.memory.at(MemorySeries::DRAM_READ, bin),
            dram_written_bytes: self.memory.at(MemorySeries::DRAM_WRITTEN, bin),
            ..Sample::default()
        }
    }

    /// What each line did, in the whole launch.
    fn lines(&self, whole: &Counts, launch: &WholeLaunch) -> Vec<LineActivity> {
        let Recorder { facts, steps, .. } = &*self.recorder;
        let mut lines: Vec<LineActivity> = facts
            .lines
            .iter()
            .map(|line| match line {
                Some((file, line)) => {
                    LineActivity { file: Some(file.clone()), line: *line, ..LineActivity::default() }
                }
                None => LineActivity::default(),
            })
            .collect();
        // A wait belongs to the line of the message that was waited for, not to the line that needed its result.
        let mut waits: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (register, ticks) in &self.recorder.waits {
            if let Some(producer) = self.recorder.producer(*register) {
                *waits.entry(producer).or_default() += ticks;
            }
        }
        let played = &self.counts;
        // Each kind of count has its own ratio of the whole launch to the played part.
        let ratio = |of: &dyn Fn(&Counts) -> f64| if of(played) > 0.0 { of(whole) / of(played) } else { 1.0 };
        let waited_ratio = ratio(&|counts| counts.wait_load_store_clocks + counts.wait_texture_clocks);
        let l2_ratio =
            ratio(&|counts| counts.l2_load_bytes + counts.l2_texture_bytes + counts.l2_written_bytes);
        let dram_ratio = ratio(&|counts| counts.dram_read_bytes + counts.dram_written_bytes);
        // What follows from the code is the survey's, if there is one.
        let (surveyed, times) = match &self.survey {
            Some(survey) => (&survey.recorder.steps, survey.times(launch)),
            None => (steps, 1.0),
        };
        for (block, facts) in facts.steps.iter().enumerate() {
            for (at, facts) in facts.iter().enumerate() {
                // The survey records the same facts, so its steps have the same positions.
                let (own, code) = (steps[block][at], surveyed[block][at]);
                let executed = code.times as f64 * times;
                let waited = own.waited + waits.get(&(block, at)).copied().unwrap_or(0);
                for share in &facts.lines {
                    let line = &mut lines[share.line];
                    for (sum, words) in line.words.iter_mut().zip(share.words) {
                        *sum += words * executed;
                    }
                    if facts.is_message {
                        let part = share.ticks[0];
                        for (pipe, ticks) in code.ticks.into_iter().enumerate() {
                            line.clocks[SERVERS + pipe] += part * ticks as f64 * times / TICKS;
                        }
                        line.bytes += part * code.bytes as f64 * times;
                        line.waited_clocks += part * waited as f64 * waited_ratio / TICKS;
                        line.l2_bytes += part * own.l2_bytes as f64 * l2_ratio;
                        line.dram_bytes += part * own.dram_bytes as f64 * dram_ratio;
                    } else {
                        for (sum, ticks) in line.clocks.iter_mut().zip(share.ticks) {
                            *sum += ticks * executed / TICKS;
                        }
                    }
                }
            }
        }
        lines.retain(|line| line.words.iter().chain(&line.clocks).any(|sum| *sum > 0.0) || line.bytes > 0.0);
        lines.sort_by(|a, b| {
            let key = |line: &LineActivity| line.busy_clocks() + line.waited_clocks;
            // Ties go in the order of the source, so that a report is always the same.
            key(b).total_cmp(&key(a)).then_with(|| (&a.file, a.line).cmp(&(&b.file, b.line)))
        });
        lines
    }
}

/// Extrapolated counts with those of a survey, `times` each, and what the caches did scaled to these: parts of long
/// work-groups may lack their stores.
fn matched(rates: &Counts, survey: &Counts, times: f64) -> Counts {
    let mut counts = rates.with_code(survey, times);
    let ratio = |of: &dyn Fn(&Counts) -> f64| if of(rates) > 0.0 { of(&counts) / of(rates) } else { 1.0 };
    // Hit rates are those of what was played. The number of accesses is the survey's, which sees whole work-groups.
    let reads = ratio(&|counts| counts.l1_reads + counts.l1_atomics);
    let writes = ratio(&|counts| counts.l1_writes);
    let texels = ratio(&|counts| counts.texture_lookups);
    counts.l1_read_hits *= reads;
    counts.l1_fetches *= reads;
    counts.l2_load_bytes *= reads;
    counts.external_load_bytes *= reads;
    counts.texture_hits *= texels;
    counts.texture_fetches *= texels;
    counts.l2_texture_bytes *= texels;
    counts.external_texture_bytes *= texels;
    counts.l1_write_hits *= writes;
    counts.l1_evictions *= writes;
    counts.l2_writes *= writes;
    counts.l2_write_hits *= writes;
    counts.l2_written_bytes *= writes;
    counts.external_written_bytes *= writes;
    counts.dram_written_bytes *= writes;
    // Sums are made again from their scaled parts, so that they still agree.
    counts.l2_reads = counts.l1_fetches + counts.texture_fetches;
    counts.l2_read_hits *= counts.l2_reads / rates.l2_reads.max(1.0);
    counts.external_read_bytes = counts.external_load_bytes + counts.external_texture_bytes;
    counts.dram_read_bytes *= counts.external_read_bytes / rates.external_read_bytes.max(1.0);
    counts
}
