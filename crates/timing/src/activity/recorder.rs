//! Records what the engine plays.

use std::collections::{BTreeMap, HashMap};

use tripipe_machine::Pipe;

use super::facts::{Facts, Sends, is_arithmetic};
use super::{Counts, Timeline};
use crate::memory::TICKS;
use crate::play::{Kind, Line, MessageAddresses};
use crate::program::SERVERS;
use crate::resident::Warp;
use crate::traffic::Traffic;

/// Work-groups whose spans are kept.
const SPANS: usize = 4096;

/// Positions of quantities of the cores in their timeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreSeries;

impl CoreSeries {
    pub(crate) const LOAD_STORE: usize = SERVERS;
    pub(crate) const TEXTURE: usize = SERVERS + 1;
    pub(crate) const LOCAL: usize = SERVERS + 2;
    /// Work-items on the cores, times ticks.
    pub(crate) const THREADS: usize = SERVERS + 3;
    /// Set-up of work-groups.
    pub(crate) const HANDOUT: usize = SERVERS + 4;
    /// Starts of warps.
    pub(crate) const START: usize = SERVERS + 5;
    const COUNT: usize = SERVERS + 6;
}

/// How often a step was executed, by warps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Executed {
    pub(crate) times: u64,
    /// By a part of the warp's work-items.
    pub(crate) diverged: u64,
    /// Work-items that took part.
    pub(crate) lanes: u64,
    /// Ticks of the load/store pipe, the texture pipe and local memory for a message.
    pub(crate) ticks: [u64; 3],
    /// Ticks that warps waited for the pipe.
    pub(crate) queued: u64,
    /// Ticks that warps waited for the message itself.
    pub(crate) waited: u64,
    /// Bytes that work-items loaded and stored.
    pub(crate) bytes: u64,
    /// Bytes that it moved between a core and the L2, and between the L2 and DRAM.
    pub(crate) l2_bytes: u64,
    pub(crate) dram_bytes: u64,
}

/// A work-group on a core, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanTicks {
    pub(crate) group: u64,
    pub(crate) core: u32,
    pub(crate) slot: u32,
    pub(crate) start: u64,
    /// `None` until it ends.
    pub(crate) end: Option<u64>,
}

/// A part of the launch that is played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowTicks {
    pub(crate) start: u64,
    pub(crate) group: u64,
    /// Share of the launch's work before it.
    pub(crate) share: f64,
}

/// How a message passed its pipe, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipeTransit {
    /// The pipe, as a quantity of [`CoreSeries`].
    pub(crate) series: usize,
    /// When the pipe began with it.
    pub(crate) start: u64,
    /// When the pipe was free again.
    pub(crate) end: u64,
    /// When the warp goes on.
    pub(crate) issued: u64,
    /// When its result is there.
    pub(crate) done: u64,
}

/// What the engine plays.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) facts: Facts,
    pub(crate) timeline: Timeline,
    pub(crate) steps: Vec<Vec<Executed>>,
    pub(crate) spans: Vec<SpanTicks>,
    pub(crate) spans_left_out: u64,
    pub(crate) windows: Vec<WindowTicks>,
    /// Ticks that warps waited for a register.
    pub(crate) waits: BTreeMap<u32, u64>,
    /// What is counted as it happens.
    counts: Counts,
    /// Lanes of a warp.
    width: u32,
    /// Warps of each core, and since when it has any.
    resident: Vec<(u32, u64)>,
    /// The span of each work-group of the engine.
    open: Vec<Option<usize>>,
    /// Linear number of the next work-group.
    pub(crate) next: u64,
    /// Arrivals at barriers, by warp.
    arrived: HashMap<usize, u64>,
    /// Counts and work at the start of a measured part, and their sums over all of them.
    pub(crate) begun: Option<(Counts, f64)>,
    pub(crate) measured: (Counts, f64),
}

impl Recorder {
    pub(crate) fn new(facts: Facts, width: u32, cores: usize) -> Self {
        let steps = facts.steps.iter().map(|steps| vec![Executed::default(); steps.len()]).collect();
        Self {
            facts,
            timeline: Timeline::new(CoreSeries::COUNT),
            steps,
            spans: Vec::new(),
            spans_left_out: 0,
            windows: vec![WindowTicks { start: 0, group: 0, share: 0.0 }],
            waits: BTreeMap::new(),
            counts: Counts::default(),
            width,
            resident: vec![(0, 0); cores],
            open: Vec::new(),
            next: 0,
            arrived: HashMap::new(),
            begun: None,
            measured: (Counts::default(), 0.0),
        }
    }

    pub(crate) fn start_group(&mut self, core: usize, slot: u32, at: u64) {
        // The engine numbers its work-groups by position, so those without a span need an entry too.
        self.open.push((self.spans.len() < SPANS).then_some(self.spans.len()));
        if self.spans.len() < SPANS {
            let core = core as u32;
            self.spans.push(SpanTicks { group: self.next, core, slot, start: at, end: None });
        } else {
            self.spans_left_out += 1;
        }
    }

    pub(crate) fn end_group(&mut self, group: usize, at: u64) {
        self.counts.work_groups += 1.0;
        if let Some(span) = self.open.get(group).copied().flatten() {
            self.spans[span].end = Some(at);
        }
    }

    pub(crate) fn start_warp(&mut self, core: usize, items: u32, at: u64) {
        self.counts.warps += 1.0;
        self.counts.full_warps += f64::from(u8::from(items == self.width));
        self.counts.threads += f64::from(items);
        // A core is busy from the first of its resident warps to the last.
        let (warps, since) = &mut self.resident[core];
        if *warps == 0 {
            *since = at;
        }
        *warps += 1;
    }

    pub(crate) fn end_warp(&mut self, core: usize, at: u64) {
        let (warps, since) = &mut self.resident[core];
        *warps = warps.saturating_sub(1);
        if *warps == 0 {
            self.counts.core_clocks += at.saturating_sub(*since) as f64 / TICKS;
        }
    }

    /// Drops what is on the cores.
    pub(crate) fn abandon(&mut self, at: u64) {
        for (warps, since) in &mut self.resident {
            if std::mem::take(warps) > 0 {
                self.counts.core_clocks += at.saturating_sub(*since) as f64 / TICKS;
            }
        }
        // The engine starts to number its work-groups from 0 again.
        self.open.clear();
        self.arrived.clear();
    }

    /// Work-items on the cores, for some time.
    pub(crate) fn residents(&mut self, at: u64, ticks: u64, threads: u32) {
        let thread_ticks = ticks as f64 * f64::from(threads);
        self.timeline.spread(CoreSeries::THREADS, at, ticks, thread_ticks);
        self.counts.thread_clocks += thread_ticks / TICKS;
    }

    /// The set-up of a work-group, or the start of a warp, takes some time.
    pub(crate) fn begin(&mut self, series: usize, at: u64, ticks: u64) {
        self.timeline.spread(series, at, ticks, ticks as f64);
    }

    pub(crate) fn wait(&mut self, register: u32, ticks: u64) {
        *self.waits.entry(register).or_default() += ticks;
    }

    pub(crate) fn arrive(&mut self, warp: usize, at: u64) {
        self.counts.barriers += 1.0;
        self.arrived.insert(warp, at);
    }

    pub(crate) fn meet(&mut self, warp: usize, at: u64) {
        if let Some(since) = self.arrived.remove(&warp) {
            self.counts.wait_barrier_clocks += at.saturating_sub(since) as f64 / TICKS;
        }
    }

    /// A step of arithmetic that begins to wait at `at`; `served`: start and ticks at each server.
    pub(crate) fn run(&mut self, warp: &Warp, at: u64, served: [(u64, u64); SERVERS]) {
        // The pipes run in parallel: the warp waited for the last of them, not for the sum.
        let mut latest = at;
        for (server, (start, ticks)) in served.into_iter().enumerate() {
            if ticks > 0 {
                self.timeline.spread(server, start, ticks, ticks as f64);
                latest = latest.max(start);
            }
        }
        if let Some(executed) = self.executed(warp) {
            executed.queued += latest - at;
        }
    }

    /// A message: when it was there and when the warp goes on, and the traffic before and after it.
    pub(crate) fn message(
        &mut self,
        warp: &Warp,
        (sent, lines): (MessageAddresses, &[Line]),
        passage: PipeTransit,
        [at, next]: [u64; 2],
        [before, after]: [Traffic; 2],
    ) {
        let PipeTransit { series, start, end, .. } = passage;
        // A message accesses one memory, so its first line tells which.
        let local = lines.first().is_some_and(|line| line.kind() == Kind::Local);
        let Some((block, step)) = position(warp) else { return };
        let Some(facts) = self.facts.steps.get(block).and_then(|steps| steps.get(step)) else { return };
        let (bytes, sends) = (facts.bytes * f64::from(sent.lanes), facts.sends);
        let (clocks, counts) = ((end - start) as f64 / TICKS, &mut self.counts);
        // Arm's counters tell full accesses from partial ones. Idle lanes count as missing width.
        let full = bytes >= f64::from(4 * self.width);
        match (sends, local) {
            (Sends::Load, false) => counts.global_loads += 1.0,
            (Sends::Load, true) => counts.local_loads += 1.0,
            (Sends::Store, false) => counts.global_stores += 1.0,
            (Sends::Store, true) => counts.local_stores += 1.0,
            (Sends::Atomic, false) => counts.global_atomics += 1.0,
            (Sends::Atomic, true) => counts.local_atomics += 1.0,
            (Sends::Texture, _) => {
                counts.texels += f64::from(sent.lanes);
                // Texture units process quads of work-items, full or not.
                counts.texel_quads += f64::from(sent.lanes.div_ceil(4));
            }
            (Sends::Other, _) => {}
        }
        match sends {
            Sends::Load => counts.loaded_bytes += bytes,
            Sends::Store => counts.stored_bytes += bytes,
            _ => {}
        }
        if series == CoreSeries::TEXTURE {
            counts.texture_lookups += lines.len() as f64;
        }
        // Only this pipe goes through the L1. Textures and dedicated local memory bypass it.
        if series == CoreSeries::LOAD_STORE {
            for line in lines {
                *match sends {
                    // The L2 executes atomic operations on global memory. Those on local memory stay in the L1.
                    Sends::Atomic if line.kind() == Kind::Global => &mut counts.l1_atomics,
                    _ if line.writes() => &mut counts.l1_writes,
                    _ => &mut counts.l1_reads,
                } += 1.0;
            }
            *match (sends, full) {
                (Sends::Load, true) => &mut counts.load_full_clocks,
                (Sends::Load, false) => &mut counts.load_partial_clocks,
                (Sends::Store, true) => &mut counts.store_full_clocks,
                (Sends::Store, false) => &mut counts.store_partial_clocks,
                (Sends::Atomic, _) => &mut counts.atomic_clocks,
                (Sends::Other | Sends::Texture, _) => &mut counts.other_clocks,
            } += clocks;
        }
        self.timeline.spread(series, start, end - start, (end - start) as f64);
        if let Some(executed) = self.executed(warp) {
            // The series of the three pipes of messages follow those of the servers.
            executed.ticks[series - SERVERS] += end - start;
            executed.queued += start - at;
            // A warp that goes on when the pipe is free waits at the first use, which `wait` counts.
            executed.waited += next.saturating_sub(end);
            if matches!(sends, Sends::Load | Sends::Store) {
                executed.bytes += bytes as u64;
            }
            executed.l2_bytes += l2_bytes(&after) - l2_bytes(&before);
            executed.dram_bytes += dram_bytes(&after) - dram_bytes(&before);
        }
    }

    /// Counts that a warp executes its step.
    pub(crate) fn execute(&mut self, warp: &Warp) {
        let lanes = warp.play.lanes.get(warp.visit).copied().unwrap_or(0);
        let items = warp.play.items;
        if let Some(executed) = self.executed(warp) {
            executed.times += 1;
            executed.diverged += u64::from(u32::from(lanes) < items);
            executed.lanes += u64::from(lanes);
        }
    }

    fn executed(&mut self, warp: &Warp) -> Option<&mut Executed> {
        let (block, step) = position(warp)?;
        self.steps.get_mut(block)?.get_mut(step)
    }

    /// All counts so far.
    pub(crate) fn counts(&self, traffic: &Traffic, now: u64) -> Counts {
        let mut counts = self.counts;
        // A core that is still busy has not reached its end, and counts up to now.
        for (warps, since) in &self.resident {
            if *warps > 0 {
                counts.core_clocks += now.saturating_sub(*since) as f64 / TICKS;
            }
        }
        // Words follow from the code, so each step is multiplied once instead of counted whenever it is issued.
        for (facts, executed) in self.facts.steps.iter().flatten().zip(self.steps.iter().flatten()) {
            if executed.times == 0 {
                continue;
            }
            let times = executed.times as f64;
            for pipe in Pipe::ALL {
                let words = facts.words[pipe.index()] * times;
                *counts.words_mut(pipe) += words;
                if is_arithmetic(pipe) {
                    counts.lanes += words * f64::from(self.width);
                    counts.active_lanes += facts.words[pipe.index()] * executed.lanes as f64;
                    counts.diverged_words += facts.words[pipe.index()] * executed.diverged as f64;
                }
            }
            counts.narrow_words += facts.narrow * times;
            counts.float_operations += f64::from(facts.float_operations) * executed.lanes as f64;
            counts.wait_pipe_clocks += executed.queued as f64 / TICKS;
            if facts.sends == Sends::Texture {
                counts.wait_texture_clocks += executed.waited as f64 / TICKS;
            } else {
                counts.wait_load_store_clocks += executed.waited as f64 / TICKS;
            }
        }
        // A wait is recorded by register. The message that wrote it decides which pipe the warp waited for.
        for (register, ticks) in &self.waits {
            let texture = self
                .producer(*register)
                .is_some_and(|(block, step)| self.facts.steps[block][step].sends == Sends::Texture);
            let clocks = *ticks as f64 / TICKS;
            if texture {
                counts.wait_texture_clocks += clocks;
            } else {
                counts.wait_load_store_clocks += clocks;
            }
        }
        let clocks = |series: usize| self.timeline.total(series) / TICKS;
        counts.arithmetic_clocks = clocks(0);
        counts.convert_clocks = clocks(1);
        counts.special_clocks = clocks(2);
        counts.load_store_clocks = clocks(CoreSeries::LOAD_STORE);
        counts.texture_clocks = clocks(CoreSeries::TEXTURE);
        counts.local_clocks = clocks(CoreSeries::LOCAL);
        counts.add_traffic(traffic);
        counts
    }

    /// The message that a register's contents came from: the one that was executed most.
    pub(crate) fn producer(&self, register: u32) -> Option<(usize, usize)> {
        let producers = self.facts.producers.get(&register)?;
        producers.iter().copied().max_by_key(|(block, step)| self.steps[*block][*step].times)
    }
}

/// Block and position of the step that a warp executes.
fn position(warp: &Warp) -> Option<(usize, usize)> {
    // The engine advances a warp's step before it executes it.
    Some((*warp.play.blocks.get(warp.visit)? as usize, warp.step.checked_sub(1)?))
}

fn l2_bytes(traffic: &Traffic) -> u64 {
    traffic.l2_load_bytes + traffic.l2_texture_bytes + traffic.l2_written_bytes
}

fn dram_bytes(traffic: &Traffic) -> u64 {
    traffic.dram_read_bytes + traffic.dram_written_bytes
}
