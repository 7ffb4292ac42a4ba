//! Plays the work-groups of a launch, or samples of them, and returns the time of all.
//!
//! A [`Census`] estimates the work of every work-group. If all of them are too many:
//!
//! - *Short work-groups.* The start of the launch is played, its end, and windows between them, at the middle of equal
//!   shares of the work. Before each window the L2 sees what the work-groups before it access; its first generation of
//!   work-groups fills the cores and is not measured. What is not played takes the pace of the windows.
//! - *Long work-groups*, of which the cores hold too many for that: the start of the launch is played, a part from its
//!   middle, and its end.
//! - *Longer ones*: the start of the launch and a part from its middle. From the pace and the work of each work-group,
//!   [`handout`](crate::handout) has the time until the last one ends.

use std::ops::Range;

use cranelift_entity::SecondaryMap;
use tripipe_ir::Block;
use tripipe_launch::ExecuteError;
use tripipe_simulate::trace::{GroupTrace, Tracer};

use crate::activity::Recorded;
use crate::census::Census;
use crate::engine::{Engine, Stopped};
use crate::handout::{self, CoreSharing};
use crate::memory::TICKS;
use crate::play::Mapping;
use crate::program::Program;
use crate::resident::Busy;
use crate::traffic::Traffic;

/// Steps of warps that are played, unless all are wanted.
pub(crate) const STEPS: u64 = 1_000_000;
/// Times as many steps for work-groups so long that [`STEPS`] are not enough for their first generations.
const MORE: u64 = 5;
/// Change of the pace, as a logarithm, at which it is steady.
const STEADY: f64 = 0.01;
/// Relative error of samples that agree with each other: the usual one where all work-groups were played as well.
const UNSEEN: f64 = 0.01;
/// The same for work-groups so long that only a few generations are played: they start in step, and the pace of a launch
/// drifts as its work-groups fall out of step (by 12 % over 15 generations of a tiled product on a G77).
const DRIFT: f64 = 0.03;
/// How much the shares of blocks in the work of a part may differ from those of its work-groups, from 0 to 1.
const UNLIKE: f64 = 0.1;
/// Generations of resident work-groups that the start, a window and the end play at least.
const GENERATIONS: u64 = 3;

/// What was played, and the time of the whole launch.
#[derive(Clone, Debug)]
pub(crate) struct SampledLaunch {
    /// Clocks of the whole launch.
    pub(crate) clocks: f64,
    /// Its relative uncertainty from sampling.
    pub(crate) error: f64,
    /// Work-groups played.
    pub(crate) groups: u64,
    /// Ticks of what was played.
    pub(crate) ticks: f64,
    pub(crate) busy: Busy,
    /// Work-items times ticks.
    pub(crate) resident: f64,
    pub(crate) traffic: Traffic,
    /// What was recorded, if activity is wanted.
    pub(crate) recorded: Option<Recorded>,
    /// The work of all work-groups, if only a part was played.
    pub(crate) work: Option<f64>,
    /// Whether the end of the launch was played.
    pub(crate) to_end: bool,
}

/// The launch to play.
pub(crate) struct Sampler<'e, 't, 'l> {
    pub(crate) tracer: &'t mut Tracer<'l>,
    pub(crate) program: &'e Program,
    pub(crate) mapping: &'e Mapping,
    pub(crate) engine: Engine<'e>,
    played: u64,
    /// The work of the work-groups that a part of a long launch has started, by block.
    planned: Option<SecondaryMap<Block, f64>>,
}

/// A moment of playing.
#[derive(Clone, Copy, Debug)]
struct Mark {
    ticks: f64,
    work: f64,
    resident: f64,
}

impl Mark {
    /// Ticks for one unit of work, between this moment and a later one.
    fn pace(self, later: Self) -> f64 {
        (later.ticks - self.ticks) / (later.work - self.work).max(f64::MIN_POSITIVE)
    }

    /// Mean number of resident work-items between this moment and a later one.
    fn residents(self, later: Self) -> f64 {
        (later.resident - self.resident) / (later.ticks - self.ticks).max(1.0)
    }
}

/// Mean and standard deviation.
fn mean(of: &[f64]) -> (f64, f64) {
    let count = of.len().max(1) as f64;
    let mean = of.iter().sum::<f64>() / count;
    (mean, (of.iter().map(|each| (each - mean).powi(2)).sum::<f64>() / count).sqrt())
}

impl<'e, 't, 'l> Sampler<'e, 't, 'l> {
    pub(crate) fn new(
        tracer: &'t mut Tracer<'l>,
        program: &'e Program,
        mapping: &'e Mapping,
        engine: Engine<'e>,
    ) -> Self {
        Self { tracer, program, mapping, engine, played: 0, planned: None }
    }

    /// Plays the launch: all of it, or about `most` steps.
    pub(crate) fn play(self, most: Option<u64>) -> Result<SampledLaunch, ExecuteError> {
        let grid = self.tracer.groups();
        let groups: u64 = grid.iter().product();
        let Some(most) = most else {
            return self.all(groups);
        };
        let (mut work, mut steps) = (0.0, 0);
        let (tracer, program, width) = (&mut *self.tracer, self.program, self.mapping.width);
        let census = Census::take(grid, &mut |group| {
            let trace = tracer.group(group)?;
            let weight = weigh(program, &trace, width);
            work += weight.0;
            steps += weight.1;
            Ok::<f64, ExecuteError>(weight.0)
        })?;
        let total = census.total();
        let steps_of_group = total * steps as f64 / work.max(1.0) / groups.max(1) as f64;
        // To play half of it would hardly be faster.
        if steps_of_group * groups as f64 <= 2.0 * most as f64 {
            return self.all(groups);
        }
        let items: u64 = self.tracer.local().iter().product();
        let room = self.engine.room_for(items as u32) as u64;
        let affordable = (most as f64 / steps_of_group.max(1.0)) as u64;
        // Two parts are the start and the end. More than six windows add little.
        let windows = (affordable / (GENERATIONS * room.max(1))).saturating_sub(2).min(6);
        if windows > 0 {
            return self.short(&census, windows, affordable / (windows + 2), groups, room);
        }
        // A few generations of long work-groups are worth more steps.
        let most = MORE * most;
        let few = if groups <= 4 * room { 2.0 } else { 1.0 };
        if steps_of_group * groups as f64 <= few * most as f64 {
            return self.all(groups);
        }
        let generations = most as f64 / steps_of_group.max(1.0) / room as f64;
        if generations >= 4.0 && groups > 6 * room {
            // The start, the filling of the window and the end take about 3.5 generations.
            let measured = (room as f64 * (generations - 3.5).min(2.0)) as u64;
            return self.medium(&census, groups, room, measured);
        }
        self.long(&census, most, groups, room)
    }

    /// Plays all work-groups.
    fn all(mut self, groups: u64) -> Result<SampledLaunch, ExecuteError> {
        self.feed(0..groups)?;
        self.engine.drain();
        let ticks = self.engine.drained();
        Ok(self.ended(ticks, 0.0, None))
    }

    /// Playing has ended. `census`: of a launch that was played in part.
    fn ended(&mut self, ticks: f64, error: f64, census: Option<&Census>) -> SampledLaunch {
        SampledLaunch {
            clocks: ticks / TICKS,
            error,
            groups: self.played,
            ticks: self.engine.drained(),
            busy: self.engine.busy(),
            resident: self.engine.resident,
            traffic: self.engine.memory.traffic,
            recorded: self.engine.recorded(),
            work: census.map(Census::total),
            to_end: true,
        }
    }

    /// Starts work-groups as cores have room, until all have started.
    fn feed(&mut self, range: Range<u64>) -> Result<(), ExecuteError> {
        let mut next = range.start;
        while next < range.end {
            self.start(&mut next, range.end)?;
            // Nothing runs and nothing fits, so the rest would never start.
            if next < range.end && self.engine.play(u64::MAX) == Stopped::Done {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Starts work-groups as cores have room, until all have ended or `most` steps have been played.
    fn feed_some(&mut self, next: &mut u64, end: u64, most: u64) -> Result<(), ExecuteError> {
        loop {
            self.start(next, end)?;
            if self.engine.play(most) != Stopped::GroupEnded {
                return Ok(());
            }
        }
    }

    /// Starts the work-groups that cores have room for.
    fn start(&mut self, next: &mut u64, end: u64) -> Result<(), ExecuteError> {
        let items: u64 = self.tracer.local().iter().product();
        while *next < end
            && let Some(core) = self.engine.room(items as u32)
        {
            let trace = self.tracer.group(*next)?;
            if let Some(planned) = &mut self.planned {
                for (block, count) in visits(&trace, self.mapping.width) {
                    planned[block] += count as f64 * self.program.costs[block];
                }
            }
            self.engine.announce(*next);
            self.engine.start(core, self.mapping.plays(self.program, &trace));
            self.played += 1;
            *next += 1;
        }
        Ok(())
    }

    fn mark(&self) -> Mark {
        Mark { ticks: self.engine.now() as f64, work: self.engine.progress(), resident: self.engine.resident }
    }

    /// Lets the caches of the whole GPU see what the work-groups before one access: as many as fill it.
    fn warm(&mut self, before: u64, window: u64) -> Result<(), ExecuteError> {
        let accesses = self.engine.memory.traffic.l2_accesses as f64 / self.played.max(1) as f64;
        // Work-groups share lines, so it takes more of them to fill the caches than their accesses suggest.
        let fill = 1.5 * self.engine.memory.shared_lines() as f64 / accesses.max(1.0);
        let count = (fill as u64).min(4 * window).min(before);
        for group in before - count..before {
            let trace = self.tracer.group(group)?;
            for play in self.mapping.plays(self.program, &trace) {
                self.engine.warm(&play.lines);
            }
        }
        Ok(())
    }

    /// Plays a window: its first generation, then the rest. Returns the moments after both.
    fn window(&mut self, from: u64, first: u64, length: u64) -> Result<[Mark; 2], ExecuteError> {
        self.warm(from, length)?;
        self.feed(from..from + first)?;
        let begin = self.mark();
        self.engine.measure(true);
        self.feed(from + first..from + length)?;
        self.engine.measure(false);
        Ok([begin, self.mark()])
    }

    fn short(
        mut self,
        census: &Census,
        windows: u64,
        length: u64,
        groups: u64,
        room: u64,
    ) -> Result<SampledLaunch, ExecuteError> {
        // Work-groups may start in generations: what is measured is a number of them.
        let (length, first) = (length / room * room, room);
        self.feed(0..length)?;
        let start = self.mark();
        // The last generation may be a few work-groups only.
        let last = groups - length - groups % room;
        let (mut paces, mut next) = (Vec::new(), length);
        for window in 0..windows {
            let centre = census.position((window as f64 + 0.5) / windows as f64);
            let from = centre.saturating_sub(length / 2).max(next).min(last.saturating_sub(length));
            if from < next {
                continue;
            }
            self.begin_window(census, from);
            let [begin, end] = self.window(from, first, length)?;
            paces.push(begin.pace(end));
            next = from + length;
        }
        self.begin_window(census, last);
        self.warm(last, length)?;
        self.feed(last..last + first)?;
        let end = self.mark();
        self.feed(last + first..groups)?;
        self.engine.drain();
        let over = self.mark();
        if paces.is_empty() {
            paces.push(start.ticks / start.work.max(f64::MIN_POSITIVE));
        }
        let (pace, mut spread) = mean(&paces);
        // One window does not show how paces differ; the start, which is cold, does.
        if paces.len() == 1 {
            spread = (start.ticks / start.work.max(f64::MIN_POSITIVE) - pace).abs() / 2.0;
        }
        // The start and the end have their own times. The end counts from the start of its first generation.
        let left = (census.total() - start.work - (over.work - end.work)).max(0.0);
        let ticks = start.ticks + left * pace + self.engine.drained() - end.ticks;
        let share = left * pace / ticks.max(1.0);
        let spread = spread / pace.max(1e-30) / (paces.len() as f64).sqrt();
        let error = share * (census.error + spread + UNSEEN);
        Ok(self.ended(ticks, error, Some(census)))
    }

    /// A part of the launch starts, with that work-group.
    fn begin_window(&mut self, census: &Census, group: u64) {
        self.engine.begin_window(group, census.before(group) / census.total().max(f64::MIN_POSITIVE));
    }

    /// The time in ticks of work-groups from one on, all at a pace.
    fn rest(&self, census: &Census, from: u64, steady: &SteadyPace, room: u64) -> f64 {
        let cores = self.engine.cores();
        let threads = self.engine.threads_of(self.tracer.local().iter().product::<u64>() as u32);
        let measured_at = (steady.residents / f64::from(threads) / cores as f64).max(1.0);
        // The pace is that of all residents together. A single one is slower by their number.
        let time = measured_at * cores as f64 * steady.pace;
        let alone = (steady.alone / time).min(1.0);
        let pace = CoreSharing { cores, room: (room as usize).div_ceil(cores), measured_at, alone };
        handout::time(pace, census.works().skip(from as usize).map(|work| work * time))
    }

    /// Ticks for a unit of work of a work-group that is alone, played for some steps. Ends playing.
    fn alone(&mut self, group: u64, steps: u64) -> Result<f64, ExecuteError> {
        self.engine.abandon();
        let before = self.mark();
        self.feed_some(&mut group.clone(), group + 1, self.engine.steps + steps)?;
        Ok(before.pace(self.mark()))
    }

    /// The first generation of work-groups, some from the middle, and the end.
    fn medium(
        mut self,
        census: &Census,
        groups: u64,
        room: u64,
        measured: u64,
    ) -> Result<SampledLaunch, ExecuteError> {
        let first: f64 = census.works().take(room as usize).sum();
        let mut next = 0;
        loop {
            self.start(&mut next, groups)?;
            // Before the first generation drains, because cores that run empty have another pace.
            if self.engine.play(u64::MAX) == Stopped::Done || self.engine.progress() >= 0.9 * first {
                break;
            }
        }
        let begun = self.mark();
        // The last generation may be a few work-groups only.
        let last = groups - room - groups % room;
        let middle = census.position(0.5).min(last.saturating_sub(room + measured)).max(next);
        self.begin_window(census, middle);
        self.warm(middle, room)?;
        self.planned = Some(SecondaryMap::new());
        self.feed(middle..middle + room)?;
        let (begin, worked) = (self.mark(), self.engine.worked.clone());
        self.engine.measure(true);
        self.feed(middle + room..middle + room + measured / 2)?;
        let half = self.mark();
        self.feed(middle + room + measured / 2..middle + room + measured)?;
        let end = self.mark();
        self.engine.measure(false);
        let change = (begin.pace(half) / half.pace(end).max(1e-30)).ln().abs();
        let unlike = Some(self.unlike(&worked)).filter(|unlike| *unlike > UNLIKE).unwrap_or(0.0);
        self.begin_window(census, last);
        self.warm(last, room)?;
        self.feed(last..last + room)?;
        let late = self.mark();
        self.feed(last + room..groups)?;
        self.engine.drain();
        let over = self.mark();
        let left = (census.total() - begun.work - (over.work - late.work)).max(0.0);
        let ticks = begun.ticks + left * begin.pace(end) + self.engine.drained() - late.ticks;
        let share = left * begin.pace(end) / ticks.max(1.0);
        Ok(self.ended(ticks, share * (census.error + change / 4.0 + unlike + DRIFT), Some(census)))
    }

    /// How much the shares of blocks in what was played differ from those of the work-groups that have started.
    fn unlike(&self, begin: &SecondaryMap<Block, f64>) -> f64 {
        let Some(planned) = &self.planned else { return 0.0 };
        let all = (self.engine.progress() - begin.values().sum::<f64>()).max(f64::MIN_POSITIVE);
        let wanted = planned.values().sum::<f64>().max(f64::MIN_POSITIVE);
        let shares = self.program.costs.keys().map(|block| {
            let played = self.engine.worked[block] - begin[block];
            (played / all - planned[block] / wanted).abs()
        });
        // Total variation distance: 0 for equal shares, 1 for disjoint ones.
        shares.sum::<f64>() / 2.0
    }

    /// Starts work-groups from `next` on, and plays `steps`, or twice as many while the pace changes, or four times while the
    /// work is unlike that of whole work-groups: those that start together stage their data together.
    fn part(&mut self, mut next: u64, groups: u64, steps: u64) -> Result<LaunchPart, ExecuteError> {
        let first = self.engine.steps;
        let (mut marks, mut worked) = (vec![self.mark()], vec![self.engine.worked.clone()]);
        self.planned = Some(SecondaryMap::new());
        self.engine.measure_again();
        loop {
            let count = marks.len();
            self.feed_some(&mut next, groups, first + steps * count as u64 / 6)?;
            marks.push(self.mark());
            worked.push(self.engine.worked.clone());
            if count == 2 {
                self.engine.measure(true);
            }
            // The first third fills caches and pipes. The other two are compared.
            let [begin, half, end] = [count / 3, count * 2 / 3, count].map(|at| marks[at]);
            let change = (begin.pace(half) / half.pace(end).max(1e-30)).ln().abs();
            let over = next == groups && self.engine.is_idle();
            // Where a third of the part passed without any work, or without any time, it says nothing yet.
            let unlike = self.unlike(&worked[count / 3]);
            let alike = unlike <= UNLIKE || count >= 24;
            let enough = change.is_finite() && alike && count >= 12 || count >= 12 * MORE as usize;
            if over || enough || count >= 6 && change < STEADY && alike {
                self.engine.measure(false);
                let unlike = if unlike <= UNLIKE { 0.0 } else { unlike };
                return Ok(LaunchPart { begin, end, change, unlike, over });
            }
        }
    }

    /// A part of the first generation of work-groups, and of one from the middle.
    fn long(
        mut self,
        census: &Census,
        most: u64,
        groups: u64,
        room: u64,
    ) -> Result<SampledLaunch, ExecuteError> {
        // In the first one caches are cold. There is no other if all work-groups start at once.
        let middle = (groups > room).then(|| census.position(0.5).min(groups - room));
        let start = self.part(0, groups, most / 2)?;
        if start.over {
            let ticks = self.engine.drained();
            return Ok(self.ended(ticks, 0.0, None));
        }
        let mut measured = start;
        if let Some(middle) = middle {
            self.engine.abandon();
            self.begin_window(census, middle);
            self.warm(middle, room)?;
            measured = self.part(middle, groups, most / 4)?;
        }
        let error = census.error + start.change.midpoint(measured.change) + measured.unlike + DRIFT;
        let mut played = self.ended(0.0, error, Some(census));
        played.to_end = false;
        let steady = SteadyPace {
            pace: measured.begin.pace(measured.end),
            residents: measured.begin.residents(measured.end),
            alone: self.alone(middle.unwrap_or(0), most / 16)?,
        };
        // What the first generation takes longer.
        let pace = start.begin.pace(start.end);
        let first: f64 = census.works().take(room as usize).sum();
        let cold = start.begin.ticks - start.begin.work * pace + first * (pace - steady.pace);
        played.clocks = (cold.max(0.0) + self.rest(census, 0, &steady, room)) / TICKS;
        Ok(played)
    }
}

/// The pace of the cores.
#[derive(Clone, Copy, Debug)]
struct SteadyPace {
    /// Ticks for a unit of work.
    pace: f64,
    /// Mean number of resident work-items.
    residents: f64,
    /// Ticks for a unit of work of a work-group that is alone.
    alone: f64,
}

/// A part of a launch of long work-groups.
#[derive(Clone, Copy, Debug)]
struct LaunchPart {
    /// After a third of it.
    begin: Mark,
    end: Mark,
    /// How much the pace changed in the measured part, as a logarithm.
    change: f64,
    /// How much the work of the measured part is unlike that of whole work-groups, if more than [`UNLIKE`].
    unlike: f64,
    /// Whether all work-groups have ended.
    over: bool,
}

/// How many warps of a work-group run each block that it visits.
fn visits(trace: &GroupTrace, width: u32) -> impl Iterator<Item = (Block, usize)> {
    trace.warps.iter().flat_map(tripipe_simulate::trace::WarpTrace::visits).map(move |visit| {
        if width == 1 {
            return (visit.block, visit.mask.count_ones() as usize);
        }
        let part = |chunk: u32| visit.mask >> (chunk * width) & (u64::MAX >> (64 - width));
        (visit.block, (0..64_u32.div_ceil(width)).filter(|chunk| part(*chunk) != 0).count())
    })
}

/// The work of a work-group, and its steps.
fn weigh(program: &Program, trace: &GroupTrace, width: u32) -> (f64, u64) {
    visits(trace, width).fold((0.0, 0), |(work, steps), (block, count)| {
        let steps_of_block = program.blocks[block].len() as u64;
        (work + count as f64 * program.costs[block], steps + count as u64 * steps_of_block)
    })
}
