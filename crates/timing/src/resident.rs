//! What is on the cores: work-groups and warps, and the delays that they meet.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::figures::Figures;
use crate::memory::{Server, ticks};
use crate::play::Play;
use crate::program::SERVERS;
use crate::shape::Shape;

#[derive(Clone, Debug)]
pub(crate) struct Core {
    pub(crate) engines: Vec<[Server; SERVERS]>,
    pub(crate) load_store: Server,
    pub(crate) texture: Server,
    pub(crate) local: Server,
    /// Sets up work-groups, one after another.
    pub(crate) handout: Server,
    /// Starts warps, one after another.
    pub(crate) start: Server,
    pub(crate) free_threads: u32,
    pub(crate) free_local: u64,
    pub(crate) groups: usize,
    pub(crate) next_engine: usize,
    /// Numbers that resident work-groups and warps do not use: their local and private memory.
    pub(crate) slots: Vec<u32>,
    /// Threads of work-groups that have started, for which there was no place: work-group, position, what they do.
    pub(crate) queue: VecDeque<(usize, u32, Play)>,
}

/// Work-groups of a core that have local and private memory of their own.
pub(crate) const SLOTS: u32 = 256;

impl Core {
    /// An idle core, with its number.
    pub(crate) fn new(number: usize, shape: &Shape) -> Self {
        // Cores take turns: each is given its first work-group a clock after the one before.
        let handout = Server { free: ticks(1.0) * number as u64, busy: 0 };
        Self {
            engines: vec![[Server::default(); SERVERS]; shape.engines],
            load_store: Server::default(),
            texture: Server::default(),
            local: Server::default(),
            handout,
            start: Server::default(),
            free_threads: shape.threads,
            free_local: shape.local_bytes,
            groups: 0,
            next_engine: 0,
            // `pop` takes from the end, so low numbers come first.
            slots: (0..SLOTS).rev().collect(),
            queue: VecDeque::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub(crate) core: usize,
    pub(crate) engine: usize,
    pub(crate) group: usize,
    /// Position among the work-group's warps.
    pub(crate) index: u32,
    pub(crate) play: Play,
    pub(crate) visit: usize,
    pub(crate) step: usize,
    pub(crate) message: usize,
    pub(crate) line: usize,
    /// Results of messages that have not been used: register, time.
    pub(crate) pending: SmallVec<[(u32, u64); 8]>,
}

impl Warp {
    /// Follows an edge: what messages wrote is now in other registers.
    pub(crate) fn pass(&mut self, passed: &[(u32, u32)]) {
        if self.pending.is_empty() {
            return;
        }
        // An edge moves all registers at once: one that it writes may be another that it reads.
        let before = self.pending.clone();
        self.pending.retain(|(register, _)| !passed.iter().any(|(_, to)| to == register));
        for (from, to) in passed {
            if let Some((_, time)) = before.iter().find(|(register, _)| register == from) {
                self.pending.push((*to, *time));
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) core: usize,
    pub(crate) slot: u32,
    /// Warps that have not ended.
    pub(crate) left: u32,
    pub(crate) threads: u32,
    pub(crate) waiting: Vec<usize>,
}

/// Figures in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    pub(crate) load: u64,
    pub(crate) store: u64,
    pub(crate) texture: u64,
    pub(crate) local: u64,
    pub(crate) barrier: u64,
    pub(crate) warp_start: u64,
    pub(crate) warp_gap: u64,
    pub(crate) group_gap: u64,
    /// How long modified lines wait before a warp waits for them.
    pub(crate) slack: u64,
}

impl Delays {
    pub(crate) fn new(figures: &Figures) -> Self {
        Self {
            load: ticks(figures.load_latency),
            store: ticks(figures.store_latency),
            texture: ticks(figures.texture_latency),
            local: ticks(figures.local_latency),
            barrier: ticks(figures.barrier_clocks),
            warp_start: ticks(figures.warp_start_latency),
            warp_gap: ticks(figures.warp_start_clocks),
            group_gap: ticks(figures.group_start_clocks),
            slack: ticks(figures.store_queue_clocks),
        }
    }
}

/// How busy everything was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Busy {
    /// Ticks of each server of the engines, summed over engines and cores, divided by their number.
    pub(crate) servers: [f64; SERVERS],
    pub(crate) load_store: f64,
    pub(crate) texture: f64,
    pub(crate) local: f64,
    pub(crate) start: f64,
    pub(crate) l2: f64,
    pub(crate) port: f64,
    pub(crate) translation: f64,
    pub(crate) dram: f64,
}
