//! Plays the warps of work-groups on the cores of a GPU, event by event.

mod messages;
mod survey;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use tripipe_device::Gpu;
use tripipe_ir::Block;

use crate::activity::{CoreSeries, Counts, Facts, Recorded, Recorder, WindowTicks};
use crate::events::Events;
use crate::figures::Figures;
use crate::memory::Memory;
use crate::play::{Kind, Line, Play, block};
use crate::program::{Program, Run, SERVERS, Step};
use crate::resident::{Busy, Core, Delays, Group, SLOTS, Warp};
use crate::shape::Shape;

/// Plays work-groups.
pub(crate) struct Engine<'a> {
    program: &'a Program,
    figures: &'a Figures,
    shape: Shape,
    /// Whether warps of a work-group start one by one as others end, because none waits for another.
    singly: bool,
    /// Threads that a warp occupies.
    warp_threads: u32,
    times: Delays,
    cores: Vec<Core>,
    pub(crate) memory: Memory,
    warps: Vec<Option<Box<Warp>>>,
    /// Positions of warps that have ended.
    free: Vec<usize>,
    groups: Vec<Group>,
    events: Events,
    now: u64,
    /// Ticks times work-items resident, for the mean occupancy.
    pub(crate) resident: f64,
    resident_now: u32,
    /// Steps played.
    pub(crate) steps: u64,
    /// Work played in each block, in [`Program::costs`].
    pub(crate) worked: SecondaryMap<Block, f64>,
    /// What happens, if that is recorded.
    pub(crate) recorder: Option<Box<Recorder>>,
}

/// Why playing stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// A work-group has ended.
    GroupEnded,
    /// Nothing is left.
    Done,
    /// The wanted number of steps has been played.
    Enough,
}

/// First line of the local memory of resident work-groups, and of private memory. Above every address of a launch.
const LOCAL_LINES: u64 = 1 << 34;
const PRIVATE_LINES: u64 = 1 << 35;

impl<'a> Engine<'a> {
    pub(crate) fn new(gpu: &Gpu, figures: &'a Figures, program: &'a Program, shape: Shape) -> Self {
        let times = Delays::new(figures);
        let cores = (0..shape.cores).map(|number| Core::new(number, &shape)).collect();
        Self {
            program,
            figures,
            shape,
            singly: !program.has_barriers() && shape.warps_singly,
            warp_threads: shape.warp.min(shape.threads).max(1),
            times,
            cores,
            memory: Memory::new(gpu, figures, shape.cores),
            warps: Vec::new(),
            free: Vec::new(),
            groups: Vec::new(),
            events: Events::default(),
            now: 0,
            resident: 0.0,
            resident_now: 0,
            steps: 0,
            worked: SecondaryMap::new(),
            recorder: None,
        }
    }

    /// Work played, in [`Program::costs`].
    pub(crate) fn progress(&self) -> f64 {
        self.worked.values().sum()
    }

    /// The time, in ticks.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The number of cores.
    pub(crate) fn cores(&self) -> usize {
        self.cores.len()
    }

    /// Whether no work-group is resident.
    pub(crate) fn is_idle(&self) -> bool {
        self.resident_now == 0
    }

    /// Threads that a work-group occupies.
    pub(crate) fn threads_of(&self, items: u32) -> u32 {
        items.next_multiple_of(self.shape.allocated).min(self.shape.threads).max(1)
    }

    /// Work-groups of `items` work-items that all cores hold.
    pub(crate) fn room_for(&self, items: u32) -> usize {
        let mut each = (self.shape.threads / self.threads_of(items)) as usize;
        if self.shape.local_dedicated && self.shape.group_local_bytes > 0 {
            each = each.min((self.shape.local_bytes / self.shape.group_local_bytes) as usize);
        }
        let most = (self.figures.groups_per_core as usize).min(SLOTS as usize);
        // A work-group that is too large runs too, alone on its core.
        each.clamp(1, most.max(1)) * self.cores.len()
    }

    /// Drops all resident work-groups. Caches keep their contents, and time goes on.
    pub(crate) fn abandon(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.abandon(self.now);
        }
        self.warps.clear();
        self.free.clear();
        self.groups.clear();
        self.events.clear();
        self.resident_now = 0;
        let Shape { threads, local_bytes, .. } = self.shape;
        for core in &mut self.cores {
            (core.free_threads, core.free_local, core.groups) = (threads, local_bytes, 0);
            core.slots = (0..SLOTS).rev().collect();
            core.queue.clear();
        }
    }

    /// Lets the L2 see lines, without time.
    pub(crate) fn warm(&mut self, lines: &[Line]) {
        for line in lines {
            if matches!(line.kind(), Kind::Global | Kind::Texture) {
                self.memory.warm(line.number(), line.writes());
            }
        }
    }

    /// The core that can take a work-group of `items` work-items, if there is one: the one with most free threads.
    pub(crate) fn room(&self, items: u32) -> Option<usize> {
        // Where warps start one by one, room for the first is enough.
        let threads = if self.singly { self.warp_threads } else { self.threads_of(items) };
        let fits = |core: &&Core| {
            core.free_threads >= threads
                && (!self.shape.local_dedicated || core.free_local >= self.shape.group_local_bytes)
                && (core.groups as f64) < self.figures.groups_per_core
                && !core.slots.is_empty()
        };
        let best = self.cores.iter().filter(fits).map(|core| core.free_threads).max()?;
        // The first of equals, so that a launch is always played alike.
        self.cores.iter().position(|core| core.free_threads == best && fits(&core))
    }

    /// Starts a work-group on a core.
    pub(crate) fn start(&mut self, core: usize, plays: Vec<Play>) {
        let items: u32 = plays.iter().map(|play| play.items).sum();
        let threads = self.threads_of(items);
        let group = self.groups.len();
        let on = &mut self.cores[core];
        let at = on.handout.serve(self.now, self.times.group_gap) + self.times.group_gap;
        on.free_local = on.free_local.saturating_sub(self.shape.group_local_bytes);
        on.groups += 1;
        // `room` has checked that a slot is free.
        let slot = on.slots.pop().unwrap_or(0);
        let left = plays.len() as u32;
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(CoreSeries::HANDOUT, at - self.times.group_gap, self.times.group_gap);
            recorder.start_group(core, slot, at);
        }
        self.groups.push(Group { core, slot, left, threads, waiting: Vec::new() });
        if !self.singly {
            on.free_threads -= threads;
            self.resident_now += threads;
        }
        for (index, play) in plays.into_iter().enumerate() {
            let on = &mut self.cores[core];
            if self.singly {
                if on.free_threads < self.warp_threads {
                    on.queue.push_back((group, index as u32, play));
                    continue;
                }
                on.free_threads -= self.warp_threads;
                self.resident_now += self.warp_threads;
            }
            self.start_warp(group, index as u32, play, at);
        }
    }

    fn start_warp(&mut self, group: usize, index: u32, play: Play, at: u64) {
        let core = self.groups[group].core;
        let on = &mut self.cores[core];
        let begin = on.start.serve(at, self.times.warp_gap);
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(CoreSeries::START, begin, self.times.warp_gap);
            recorder.start_warp(core, play.items, at);
        }
        // Engines take warps in turn. A warp stays on its own, where its registers are.
        let engine = on.next_engine;
        on.next_engine = (engine + 1) % self.shape.engines;
        let warp = Warp {
            core,
            engine,
            group,
            index,
            play,
            visit: 0,
            step: 0,
            message: 0,
            line: 0,
            pending: SmallVec::new(),
        };
        // Positions of ended warps are used again: an event has few bits for the number.
        let number = self.free.pop().unwrap_or(self.warps.len());
        if number == self.warps.len() {
            self.warps.push(None);
        }
        self.warps[number] = Some(Box::new(warp));
        self.events.push(begin + self.times.warp_start, number);
    }

    /// Plays until a work-group ends, or `most` steps have been played in all.
    pub(crate) fn play(&mut self, most: u64) -> Stopped {
        loop {
            if self.steps >= most {
                return Stopped::Enough;
            }
            let Some((at, number)) = self.events.pop() else { return Stopped::Done };
            self.advance(at);
            let Some(mut warp) = self.warps[number].take() else { continue };
            let mut time = at;
            // Going on at once saves most of the traffic through the queue of events.
            let next = loop {
                match self.step(&mut warp, number, time) {
                    // Others may be due before this warp goes on.
                    Some(next) if self.events.due().is_none_or(|due| next <= due) => {
                        time = next;
                    }
                    other => break other,
                }
            };
            if let Some(next) = next {
                self.warps[number] = Some(warp);
                self.events.push(next, number);
                continue;
            }
            let ended = warp.visit >= warp.play.blocks.len();
            let group = warp.group;
            if !ended {
                // It waits at a barrier.
                self.warps[number] = Some(warp);
                self.meet(group, time);
                continue;
            }
            // The warp may have gone on beyond the event that woke it.
            self.advance(time);
            self.free.push(number);
            if self.end(&warp, time) {
                return Stopped::GroupEnded;
            }
        }
    }

    fn advance(&mut self, to: u64) {
        let passed = to.saturating_sub(self.now);
        if let Some(recorder) = &mut self.recorder {
            recorder.residents(self.now, passed, self.resident_now);
        }
        self.resident += passed as f64 * f64::from(self.resident_now);
        self.now = self.now.max(to);
    }

    /// Plays until nothing is left.
    pub(crate) fn drain(&mut self) {
        while self.play(u64::MAX) != Stopped::Done {}
    }

    /// Ends a warp; returns whether there may be room for another work-group.
    fn end(&mut self, warp: &Warp, time: u64) -> bool {
        let group = &mut self.groups[warp.group];
        group.left -= 1;
        let over = group.left == 0;
        if let Some(recorder) = &mut self.recorder {
            recorder.end_warp(warp.core, time);
            if over {
                recorder.end_group(warp.group, time);
            }
        }
        let core = &mut self.cores[group.core];
        if over {
            core.free_local += self.shape.group_local_bytes;
            core.groups -= 1;
            core.slots.push(group.slot);
        }
        if self.singly {
            // Its threads pass to the next warp of the queue, so there is no room for a work-group yet.
            if let Some((group, index, play)) = core.queue.pop_front() {
                self.start_warp(group, index, play, time);
                return false;
            }
            core.free_threads += self.warp_threads;
            self.resident_now -= self.warp_threads;
            return true;
        }
        if over {
            core.free_threads += group.threads;
            self.resident_now -= group.threads;
        } else {
            // A warp that has ended cannot arrive. Those that wait may be all that are left.
            self.meet(warp.group, time);
        }
        over
    }

    /// Lets the warps of a work-group go on if all of them wait.
    fn meet(&mut self, group: usize, at: u64) {
        let group = &mut self.groups[group];
        if group.waiting.is_empty() || (group.waiting.len() as u32) < group.left {
            return;
        }
        let on = at + self.times.barrier;
        for number in std::mem::take(&mut group.waiting) {
            if let Some(recorder) = &mut self.recorder {
                recorder.meet(number, on);
            }
            self.events.push(on, number);
        }
    }

    /// Plays the next step of a warp; returns the time of the one after. `None`: it has ended, or waits at a barrier.
    fn step(&mut self, warp: &mut Warp, number: usize, at: u64) -> Option<u64> {
        loop {
            let of = block(*warp.play.blocks.get(warp.visit)?);
            let program = self.program;
            let Some(step) = program.blocks[of].get(warp.step) else {
                warp.pass(&program.passed[of]);
                warp.visit += 1;
                warp.step = 0;
                continue;
            };
            let waits = match step {
                Step::Run(run) => &run.waits,
                Step::Message(message) => &message.waits,
                Step::Barrier => {
                    self.worked[of] += program.step_costs[of][warp.step];
                    warp.step += 1;
                    if let Some(recorder) = &mut self.recorder {
                        recorder.arrive(number, at);
                    }
                    self.groups[warp.group].waiting.push(number);
                    return None;
                }
            };
            // Messages return at once; a warp waits where it first uses a result, as GPUs' scoreboards have it.
            let due = warp.pending.iter().filter(|(register, _)| waits.contains(register));
            let due = due.map(|(_, time)| *time).fold(at, u64::max);
            if let Some(recorder) = self.recorder.as_mut().filter(|_| due > at) {
                // The last result to arrive is what the warp waited for.
                let last =
                    warp.pending.iter().find(|(register, time)| *time == due && waits.contains(register));
                if let Some((register, _)) = last {
                    recorder.wait(*register, due - at);
                }
            }
            if !waits.is_empty() {
                warp.pending.retain(|(register, _)| !waits.contains(register));
            }
            if due > at {
                return Some(due);
            }
            // Of each step, because a block may be a whole loop, unrolled, in which all warps are at once.
            self.worked[of] += program.step_costs[of][warp.step];
            warp.step += 1;
            self.steps += 1;
            if let Some(recorder) = &mut self.recorder {
                recorder.execute(warp);
            }
            return Some(match step {
                Step::Run(run) => self.run(warp, run, at),
                Step::Message(message) => self.message(warp, message, at),
                Step::Barrier => at,
            });
        }
    }

    fn run(&mut self, warp: &Warp, run: &Run, at: u64) -> u64 {
        let engine = &mut self.cores[warp.core].engines[warp.engine];
        // A lone warp cannot issue faster than its operations depend on each other; several warps fill the pipes.
        let mut end = at + run.alone_ticks;
        let mut served = [(at, 0); SERVERS];
        for ((server, time), served) in engine.iter_mut().zip(run.ticks).zip(&mut served) {
            if time > 0 {
                *served = (server.serve(at, time), time);
                end = end.max(served.0 + time);
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.run(warp, at, served);
        }
        end
    }

    /// How busy everything was so far.
    pub(crate) fn busy(&self) -> Busy {
        let mut busy = Busy::default();
        let engines = (self.shape.engines * self.shape.cores) as f64;
        let cores = self.shape.cores as f64;
        for core in &self.cores {
            for engine in &core.engines {
                for (sum, server) in busy.servers.iter_mut().zip(engine) {
                    *sum += server.busy as f64 / engines;
                }
            }
            busy.load_store += core.load_store.busy as f64 / cores;
            busy.texture += core.texture.busy as f64 / cores;
            busy.local += core.local.busy as f64 / cores;
            busy.start += core.handout.busy.max(core.start.busy) as f64 / cores;
        }
        let (l2, port) = self.memory.busy();
        busy.l2 = l2 as f64;
        busy.port = port as f64;
        busy.translation = self.memory.walker.busy as f64;
        busy.dram = self.memory.dram.busy as f64;
        busy
    }

    /// Records what happens, from now on.
    pub(crate) fn record(&mut self, facts: Facts, width: u32) {
        self.recorder = Some(Box::new(Recorder::new(facts, width, self.cores.len())));
        self.memory.record();
    }

    /// The next work-group that starts.
    pub(crate) fn announce(&mut self, group: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.next = group;
        }
    }

    /// A part of the launch starts that is not adjacent to the one before. `share`: of the work before it.
    pub(crate) fn begin_window(&mut self, group: u64, share: f64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.windows.push(WindowTicks { start: self.now, group, share });
        }
    }

    /// The counts and the work so far.
    fn counts(&self) -> Option<(Counts, f64)> {
        let recorder = self.recorder.as_ref()?;
        Some((recorder.counts(&self.memory.traffic, self.now), self.progress()))
    }

    /// Forgets the parts that were measured.
    pub(crate) fn measure_again(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            (recorder.begun, recorder.measured) = (None, (Counts::default(), 0.0));
        }
    }

    /// Begins or ends a part whose counts stand for what is not played.
    pub(crate) fn measure(&mut self, begin: bool) {
        let counts = self.counts();
        if let (Some(recorder), Some((now, work))) = (&mut self.recorder, counts) {
            if begin {
                recorder.begun = Some((now, work));
            } else if let Some((before, begun)) = recorder.begun.take() {
                recorder.measured.0 = recorder.measured.0.plus(&now, 1.0).plus(&before, -1.0);
                recorder.measured.1 += work - begun;
            }
        }
    }

    /// Ends recording, and has what was recorded.
    pub(crate) fn recorded(&mut self) -> Option<Recorded> {
        let (counts, work) = self.counts()?;
        let (series, slices) = (self.memory.series(), self.memory.slices());
        let (recorder, memory) = (self.recorder.take()?, self.memory.timeline.take()?);
        let end = self.drained() as u64;
        Some(Recorded { recorder, memory, series, slices, counts, work, survey: None, end })
    }

    /// Ticks until the last server is free.
    pub(crate) fn drained(&self) -> f64 {
        self.now.max(self.memory.free()) as f64
    }
}
