//! Plays the warps of work-groups on the cores of a GPU, event by event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;
use tripipe_device::Gpu;

use crate::cache::LINE_BYTES;
use crate::figures::Figures;
use crate::memory::{Memory, Server, TICKS, Through, ticks};
use crate::play::{Kind, Play, Sent, block};
use crate::program::{Message, Program, Run, SERVERS, Step};
use crate::shape::Shape;

#[derive(Clone, Debug)]
struct Core {
    engines: Vec<[Server; SERVERS]>,
    load_store: Server,
    texture: Server,
    local: Server,
    start: Server,
    free_threads: u32,
    free_local: u64,
    groups: usize,
    next_engine: usize,
    /// Numbers that resident work-groups and warps do not use: their local and private memory.
    slots: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Warp {
    core: usize,
    engine: usize,
    group: usize,
    /// Position among the work-group's warps.
    index: u32,
    play: Play,
    /// The part of the work-group that one of its visits is.
    share: f64,
    visit: usize,
    step: usize,
    message: usize,
    line: usize,
    /// Results of messages that have not been used: register, time.
    pending: SmallVec<[(u32, u64); 8]>,
}

#[derive(Clone, Debug)]
struct Group {
    core: usize,
    slot: u32,
    /// Warps that have not ended.
    left: u32,
    threads: u32,
    waiting: Vec<usize>,
    has_barrier: bool,
}

/// How busy everything was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Busy {
    /// Ticks of each server of the engines, summed over engines and cores, divided by their number.
    pub(crate) servers: [f64; SERVERS],
    pub(crate) load_store: f64,
    pub(crate) texture: f64,
    pub(crate) local: f64,
    pub(crate) l2: f64,
    pub(crate) port: f64,
    pub(crate) dram: f64,
}

/// Plays work-groups.
pub(crate) struct Engine<'a> {
    program: &'a Program,
    figures: &'a Figures,
    shape: Shape,
    cores: Vec<Core>,
    pub(crate) memory: Memory,
    warps: Vec<Option<Warp>>,
    /// Positions of warps that have ended.
    free: Vec<usize>,
    groups: Vec<Group>,
    events: BinaryHeap<Reverse<(u64, usize)>>,
    dispatcher: Server,
    now: u64,
    /// Ticks times work-items resident, for the mean occupancy.
    pub(crate) resident: f64,
    resident_now: u32,
    /// Steps played.
    pub(crate) steps: u64,
    /// Work-groups played, those in progress by the part of their blocks that has been played.
    progress: f64,
    /// Time in ticks and progress, now and then.
    pub(crate) samples: Vec<(u64, f64)>,
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
        let core = Core {
            engines: vec![[Server::default(); SERVERS]; shape.engines],
            load_store: Server::default(),
            texture: Server::default(),
            local: Server::default(),
            start: Server::default(),
            free_threads: shape.threads,
            free_local: shape.local_bytes,
            groups: 0,
            next_engine: 0,
            slots: (0..256).rev().collect(),
        };
        Self {
            program,
            figures,
            shape,
            cores: vec![core; shape.cores],
            memory: Memory::new(gpu, figures, shape.cores),
            warps: Vec::new(),
            free: Vec::new(),
            groups: Vec::new(),
            events: BinaryHeap::new(),
            dispatcher: Server::default(),
            now: 0,
            resident: 0.0,
            resident_now: 0,
            steps: 0,
            progress: 0.0,
            samples: vec![(0, 0.0)],
        }
    }

    /// Work-groups played.
    pub(crate) fn progress(&self) -> f64 {
        self.progress
    }

    /// The core that can take a work-group of `items` work-items, if there is one: the one with most free threads.
    pub(crate) fn room(&self, items: u32) -> Option<usize> {
        let threads = items.next_multiple_of(self.shape.allocated).min(self.shape.threads);
        let fits = |core: &&Core| {
            core.free_threads >= threads
                && (!self.shape.local_dedicated || core.free_local >= self.shape.group_local_bytes)
                && (core.groups as f64) < self.figures.groups_per_core
                && !core.slots.is_empty()
        };
        let best = self.cores.iter().filter(fits).map(|core| core.free_threads).max()?;
        self.cores.iter().position(|core| core.free_threads == best && fits(&core))
    }

    /// Starts a work-group on a core.
    pub(crate) fn start(&mut self, core: usize, plays: Vec<Play>) {
        let items: u32 = plays.iter().map(|play| play.items).sum();
        let threads = items.next_multiple_of(self.shape.allocated).min(self.shape.threads);
        let at = self.dispatcher.serve(self.now, ticks(self.figures.group_start_clocks))
            + ticks(self.figures.group_start_clocks);
        let group = self.groups.len();
        let on = &mut self.cores[core];
        on.free_threads -= threads;
        on.free_local = on.free_local.saturating_sub(self.shape.group_local_bytes);
        on.groups += 1;
        let slot = on.slots.pop().unwrap_or(0);
        let left = plays.len() as u32;
        self.resident_now += threads;
        self.groups.push(Group { core, slot, left, threads, waiting: Vec::new(), has_barrier: false });
        for (index, play) in plays.into_iter().enumerate() {
            let on = &mut self.cores[core];
            let begin = on.start.serve(at, ticks(self.figures.warp_start_clocks));
            let engine = on.next_engine;
            on.next_engine = (engine + 1) % self.shape.engines;
            let warp = Warp {
                core,
                engine,
                group,
                index: index as u32,
                share: 1.0 / f64::from(left) / play.blocks.len().max(1) as f64,
                play,
                visit: 0,
                step: 0,
                message: 0,
                line: 0,
                pending: SmallVec::new(),
            };
            let number = self.free.pop().unwrap_or(self.warps.len());
            if number == self.warps.len() {
                self.warps.push(None);
            }
            self.warps[number] = Some(warp);
            self.events.push(Reverse((begin + ticks(self.figures.warp_start_latency), number)));
        }
    }

    /// Plays until a work-group ends, or `most` steps have been played in all.
    pub(crate) fn play(&mut self, most: u64) -> Stopped {
        while let Some(Reverse((at, number))) = self.events.pop() {
            if self.steps >= most {
                return Stopped::Enough;
            }
            self.resident += (at.saturating_sub(self.now)) as f64 * f64::from(self.resident_now);
            self.now = self.now.max(at);
            let Some(mut warp) = self.warps[number].take() else { continue };
            let mut time = at;
            let next = loop {
                match self.step(&mut warp, number, time) {
                    // Others may be due before this warp goes on.
                    Some(next) if self.events.peek().is_none_or(|Reverse((due, _))| next <= *due) => {
                        time = next;
                    }
                    other => break other,
                }
            };
            if let Some(next) = next {
                self.warps[number] = Some(warp);
                self.events.push(Reverse((next, number)));
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
            self.resident += (time.saturating_sub(self.now)) as f64 * f64::from(self.resident_now);
            self.now = self.now.max(time);
            self.free.push(number);
            if self.end(&warp, time) {
                return Stopped::GroupEnded;
            }
        }
        Stopped::Done
    }

    /// A warp has ended; has whether its work-group has.
    fn end(&mut self, warp: &Warp, time: u64) -> bool {
        let group = &mut self.groups[warp.group];
        group.left -= 1;
        let core = &mut self.cores[group.core];
        let over = group.left == 0;
        if over {
            core.free_threads += group.threads;
            core.free_local += self.shape.group_local_bytes;
            core.groups -= 1;
            core.slots.push(group.slot);
            self.resident_now -= group.threads;
        } else {
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
        let on = at + ticks(self.figures.barrier_clocks);
        for number in std::mem::take(&mut group.waiting) {
            self.events.push(Reverse((on, number)));
        }
    }

    /// Plays the next step of a warp; has the time of the one after. `None`: it has ended, or waits at a barrier.
    fn step(&mut self, warp: &mut Warp, number: usize, at: u64) -> Option<u64> {
        loop {
            let of = block(*warp.play.blocks.get(warp.visit)?);
            let program = self.program;
            let Some(step) = program.blocks[of].get(warp.step) else {
                pass(warp, &program.passed[of]);
                self.progress += warp.share;
                warp.visit += 1;
                warp.step = 0;
                continue;
            };
            let waits = match step {
                Step::Run(run) => &run.waits,
                Step::Message(message) => &message.waits,
                Step::Barrier => {
                    warp.step += 1;
                    self.groups[warp.group].has_barrier = true;
                    self.groups[warp.group].waiting.push(number);
                    return None;
                }
            };
            let due = warp.pending.iter().filter(|(register, _)| waits.contains(register));
            let due = due.map(|(_, time)| *time).fold(at, u64::max);
            if !waits.is_empty() {
                warp.pending.retain(|(register, _)| !waits.contains(register));
            }
            if due > at {
                return Some(due);
            }
            warp.step += 1;
            self.steps += 1;
            if self.steps.is_multiple_of(1024) {
                self.samples.push((at, self.progress));
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
        let mut end = at + ticks(run.alone);
        for (server, clocks) in engine.iter_mut().zip(run.clocks) {
            let time = ticks(clocks / self.shape.shared_pipes);
            if time > 0 {
                end = end.max(server.serve(at, time) + time);
            }
        }
        end
    }

    fn message(&mut self, warp: &mut Warp, message: &Message, at: u64) -> u64 {
        let sent = warp.play.sent.get(warp.message).copied().unwrap_or_default();
        warp.message += 1;
        let first = warp.line;
        warp.line += usize::from(sent.lines);
        let blocking = self.figures.messages_in_flight < 1.0;
        let (issued, done) = self.transfer(warp, message, sent, first, at);
        if blocking {
            return done;
        }
        for register in &message.writes {
            // An earlier iteration's result in the same register is gone.
            warp.pending.retain(|(other, _)| other != register);
            warp.pending.push((*register, done));
        }
        if !message.writes.is_empty() && warp.pending.len() as f64 > self.figures.messages_in_flight {
            let earliest = warp.pending.iter().map(|(_, time)| *time).min().unwrap_or(issued);
            warp.pending.retain(|(_, time)| *time > earliest);
            return issued.max(earliest);
        }
        issued
    }

    /// The time at which a message has been issued, and the time of its result.
    fn transfer(&mut self, warp: &Warp, message: &Message, sent: Sent, first: usize, at: u64) -> (u64, u64) {
        let lines = &warp.play.lines[first..first + usize::from(sent.lines)];
        let on = &mut self.cores[warp.core];
        if message.texture {
            let clocks = (f64::from(sent.texels) / 4.0 / self.shape.texels_per_clock).max(1.0);
            let start = on.texture.serve(at, ticks(clocks));
            let issued = start + ticks(clocks);
            let mut done = issued + ticks(self.figures.texture_latency);
            for line in lines {
                done = done.max(self.memory.read(warp.core, line.number(), true, start, Through::Texture));
            }
            return (issued, done);
        }
        let local = lines.first().is_some_and(|line| line.kind() == Kind::Local);
        if local && self.shape.local_dedicated {
            // A request that reads the same as the one before is only returned.
            let same = lines.windows(2).filter(|pair| pair[0].number() == pair[1].number()).count();
            let other = (lines.len() - same) as f64 / self.figures.local_bytes_per_clock.max(1.0);
            let same = same as f64 / self.figures.local_returned_bytes_per_clock.max(1.0);
            let clocks = ((other + same) * LINE_BYTES as f64).max(1.0);
            let start = on.local.serve(at, ticks(clocks));
            let clash = ticks(f64::from(sent.clashes) * self.figures.atomic_clocks);
            let issued = start + ticks(clocks);
            return (issued, issued + ticks(self.figures.local_latency) + clash);
        }
        let clocks = (lines.len() as f64).max(message.clocks) / self.shape.lines_per_clock;
        let start = on.load_store.serve(at, ticks(clocks));
        let issued = start + ticks(clocks);
        let mut done = issued;
        let slot = u64::from(self.groups[warp.group].slot);
        let own = (warp.core as u64 * 256 + slot) << 12;
        let mut accepted = issued;
        for line in lines {
            let number = match line.kind() {
                Kind::Global | Kind::Texture => line.number(),
                Kind::Local => LOCAL_LINES + own + line.number(),
                Kind::Private => {
                    let warp = (warp.core as u64 * 256 + slot) * 256 + u64::from(warp.index);
                    PRIVATE_LINES + warp * self.shape.private_lines + line.number()
                }
            };
            if sent.clashes > 0 && line.kind() == Kind::Global {
                let time =
                    f64::from(sent.clashes) * self.figures.atomic_clocks / self.shape.atomics_per_clock;
                done = done.max(self.memory.atomic(warp.core, number, start) + ticks(time));
            } else if line.writes() {
                accepted = accepted.max(self.memory.write(warp.core, number, line.is_whole(), start));
            } else {
                done =
                    done.max(self.memory.read(warp.core, number, line.is_whole(), start, Through::LoadStore));
            }
        }
        // Modified lines wait in a buffer; a warp waits when it is full.
        let slack = ticks(self.figures.lines_in_flight * 4.0);
        let issued = issued.max(accepted.saturating_sub(slack));
        if message.writes.is_empty() {
            done = done.max(issued + ticks(self.figures.store_latency));
        } else {
            done = done.max(issued + ticks(self.figures.load_latency));
        }
        (issued, done)
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
        }
        let (l2, port) = self.memory.busy();
        busy.l2 = l2 as f64;
        busy.port = port as f64;
        busy.dram = self.memory.dram.busy as f64;
        busy
    }

    /// Clocks until the last server is free.
    pub(crate) fn drained(&self) -> f64 {
        self.now.max(self.memory.dram.free) as f64 / TICKS
    }
}

/// Follows an edge: what messages wrote is now in other registers.
fn pass(warp: &mut Warp, passed: &[(u32, u32)]) {
    if warp.pending.is_empty() {
        return;
    }
    let before = warp.pending.clone();
    warp.pending.retain(|(register, _)| !passed.iter().any(|(_, to)| to == register));
    for (from, to) in passed {
        if let Some((_, time)) = before.iter().find(|(register, _)| register == from) {
            warp.pending.push((*to, *time));
        }
    }
}
