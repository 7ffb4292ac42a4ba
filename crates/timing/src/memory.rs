//! The memory behind the cores: L1 and texture caches of each core, the L2 of the GPU, DRAM.

use std::collections::VecDeque;

use tripipe_device::Gpu;

use crate::cache::{Cache, Found, LINE_BYTES, Replacement};
use crate::figures::Figures;

/// Parts of a clock in which time is counted.
pub(crate) const TICKS: f64 = 64.0;

/// Clocks as ticks.
pub(crate) fn ticks(clocks: f64) -> u64 {
    (clocks * TICKS).round().max(0.0) as u64
}

/// Something that serves one request after another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    /// When it is free, in ticks.
    pub(crate) free: u64,
    /// Ticks that it was busy.
    pub(crate) busy: u64,
}

impl Server {
    /// Serves a request that arrives at `at` and takes `ticks`; has its start.
    pub(crate) fn serve(&mut self, at: u64, ticks: u64) -> u64 {
        let start = self.free.max(at);
        self.free = start + ticks;
        self.busy += ticks;
        start
    }
}

/// What was transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Lines that loads and stores asked the L1 for.
    pub l1_accesses: u64,
    /// Of these, those that it had.
    pub l1_hits: u64,
    /// Lines that image reads asked the texture cache for.
    pub texture_accesses: u64,
    /// Of these, those that it had.
    pub texture_hits: u64,
    /// Lines that the L2 was asked for.
    pub l2_accesses: u64,
    /// Of these, those that it had.
    pub l2_hits: u64,
    /// Bytes read from DRAM.
    pub dram_read_bytes: u64,
    /// Bytes written to DRAM.
    pub dram_written_bytes: u64,
    /// Translations that were not remembered.
    pub tlb_misses: u64,
}

/// The caches of one core.
#[derive(Clone, Debug)]
struct Near {
    l1: Cache,
    texture: Cache,
    port: Server,
    /// Page numbers, the last used one first.
    pages: VecDeque<u64>,
    /// When requested lines arrive.
    in_flight: VecDeque<u64>,
}

/// Latencies and service times in ticks.
#[derive(Clone, Copy, Debug)]
struct Times {
    load: u64,
    texture: u64,
    l2: u64,
    dram: u64,
    port_line: u64,
    slice_line: u64,
    dram_line: u64,
    tlb: u64,
    walk: u64,
}

/// Caches and DRAM of a GPU.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    cores: Vec<Near>,
    slices: Vec<Server>,
    l2: Cache,
    pub(crate) dram: Server,
    /// Translates for all cores.
    pub(crate) walker: Server,
    times: Times,
    has_l1: bool,
    lines_in_flight: usize,
    tlb_pages: usize,
    pub(crate) traffic: Traffic,
}

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// The way of a line into a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    LoadStore,
    Texture,
}

impl Memory {
    pub(crate) fn new(gpu: &Gpu, figures: &Figures, cores: usize) -> Self {
        let clock_hz = f64::from(gpu.configuration.clock_mhz.value.max(1)) * 1e6;
        let line = LINE_BYTES as f64;
        let dram_per_clock =
            gpu.configuration.dram_gb_s_peak.value * 1e9 * figures.dram_efficiency / clock_hz;
        let times = Times {
            load: ticks(figures.load_latency),
            texture: ticks(figures.texture_latency),
            l2: ticks(figures.l2_latency),
            dram: ticks(figures.dram_latency_ns * 1e-9 * clock_hz),
            port_line: ticks(line / figures.port_bytes_per_clock.max(1e-3)),
            slice_line: ticks(line / figures.l2_slice_bytes_per_clock.max(1e-3)),
            dram_line: ticks(line / dram_per_clock.max(1e-6)),
            tlb: ticks(figures.tlb_miss_clocks),
            walk: ticks(figures.tlb_walk_clocks),
        };
        let near = Near {
            l1: Cache::new(gpu.memory.l1_bytes.value, figures.l1_ways as u32, Replacement::LeastRecent),
            texture: Cache::new(
                gpu.texture.l1_bytes.value,
                figures.texture_ways as u32,
                Replacement::LeastRecent,
            ),
            port: Server::default(),
            pages: VecDeque::new(),
            in_flight: VecDeque::new(),
        };
        Self {
            cores: vec![near; cores],
            slices: vec![Server::default(); gpu.memory.l2_slices.value.max(1) as usize],
            l2: Cache::new(gpu.memory.l2_bytes.value, figures.l2_ways as u32, Replacement::Random),
            dram: Server::default(),
            walker: Server::default(),
            times,
            has_l1: gpu.memory.l1_bytes.value > 0,
            lines_in_flight: figures.lines_in_flight.max(1.0) as usize,
            tlb_pages: figures.tlb_pages.max(1.0) as usize,
            traffic: Traffic::default(),
        }
    }

    /// Reads a line; has the time at which it arrives.
    pub(crate) fn read(&mut self, core: usize, line: u64, at: u64, through: Through) -> u64 {
        let at = self.translate(core, line, at);
        let near = &mut self.cores[core];
        let (cache, latency) = match through {
            Through::LoadStore => {
                self.traffic.l1_accesses += 1;
                (&mut near.l1, self.times.load)
            }
            Through::Texture => {
                self.traffic.texture_accesses += 1;
                (&mut near.texture, self.times.texture)
            }
        };
        let cached = through == Through::Texture || self.has_l1;
        let victim = if cached {
            match cache.access(line, false) {
                Found::Hit(ready) => {
                    match through {
                        Through::LoadStore => self.traffic.l1_hits += 1,
                        Through::Texture => self.traffic.texture_hits += 1,
                    }
                    return ready.max(at) + latency;
                }
                Found::Miss(victim) => victim,
            }
        } else {
            None
        };
        if let Some(victim) = victim {
            self.put(core, victim, at);
        }
        let arrives = self.fetch(core, line, at);
        let near = &mut self.cores[core];
        if cached {
            match through {
                Through::LoadStore => near.l1.arrives(line, arrives),
                Through::Texture => near.texture.arrives(line, arrives),
            }
        }
        arrives + latency
    }

    /// Writes to a line; has the time at which the write is accepted. A line that is written is not read first.
    pub(crate) fn write(&mut self, core: usize, line: u64, at: u64) -> u64 {
        let at = self.translate(core, line, at);
        self.traffic.l1_accesses += 1;
        if !self.has_l1 {
            return self.put(core, line, at);
        }
        match self.cores[core].l1.access(line, true) {
            Found::Hit(_) => {
                self.traffic.l1_hits += 1;
                at
            }
            Found::Miss(None) => at,
            Found::Miss(Some(victim)) => self.put(core, victim, at),
        }
    }

    /// An atomic operation on a line in the L2; has the time of its result.
    pub(crate) fn atomic(&mut self, core: usize, line: u64, at: u64) -> u64 {
        let at = self.translate(core, line, at);
        let near = &mut self.cores[core];
        if near.l1.remove(line) {
            self.put(core, line, at);
        }
        self.fetch(core, line, at) + self.times.load
    }

    /// A line from the L2 or DRAM to a core.
    fn fetch(&mut self, core: usize, line: u64, at: u64) -> u64 {
        let near = &mut self.cores[core];
        let mut at = at;
        while near.in_flight.front().is_some_and(|arrival| *arrival <= at) {
            near.in_flight.pop_front();
        }
        if near.in_flight.len() >= self.lines_in_flight {
            at = near.in_flight.pop_front().unwrap_or(at).max(at);
        }
        let start = near.port.serve(at, self.times.port_line);
        let number = scattered(line);
        let slices = self.slices.len() as u64;
        let start = self.slices[(number % slices) as usize].serve(start, self.times.slice_line);
        self.traffic.l2_accesses += 1;
        let arrives = match self.l2.access(number, false) {
            Found::Hit(ready) => {
                self.traffic.l2_hits += 1;
                ready.max(start + self.times.l2)
            }
            Found::Miss(victim) => {
                if victim.is_some() {
                    self.traffic.dram_written_bytes += LINE_BYTES;
                    self.dram.serve(start, self.times.dram_line);
                }
                self.traffic.dram_read_bytes += LINE_BYTES;
                let begin = self.dram.serve(start, self.times.dram_line);
                let arrives = begin + self.times.dram_line + self.times.dram + self.times.l2;
                self.l2.arrives(number, arrives);
                arrives
            }
        };
        self.cores[core].in_flight.push_back(arrives);
        arrives
    }

    /// A modified line from a core to the L2; has the time at which it is accepted.
    fn put(&mut self, core: usize, line: u64, at: u64) -> u64 {
        let start = self.cores[core].port.serve(at, self.times.port_line);
        let number = scattered(line);
        let slices = self.slices.len() as u64;
        let start = self.slices[(number % slices) as usize].serve(start, self.times.slice_line);
        self.traffic.l2_accesses += 1;
        match self.l2.access(number, true) {
            Found::Hit(_) => {
                self.traffic.l2_hits += 1;
                start
            }
            Found::Miss(None) => start,
            Found::Miss(Some(_)) => {
                self.traffic.dram_written_bytes += LINE_BYTES;
                self.dram.serve(start, self.times.dram_line)
            }
        }
    }

    /// The time at which the translation of a line's page is there.
    fn translate(&mut self, core: usize, line: u64, at: u64) -> u64 {
        let page = line * LINE_BYTES / PAGE_BYTES;
        let pages = &mut self.cores[core].pages;
        match pages.iter().position(|known| *known == page) {
            Some(0) => at,
            Some(position) => {
                pages.remove(position);
                pages.push_front(page);
                at
            }
            None => {
                pages.push_front(page);
                pages.truncate(self.tlb_pages);
                self.traffic.tlb_misses += 1;
                self.walker.serve(at, self.times.walk) + self.times.tlb
            }
        }
    }

    /// Ticks that the busiest slice of the L2, and the busiest port of a core, were busy.
    pub(crate) fn busy(&self) -> (u64, u64) {
        let slices = self.slices.iter().map(|slice| slice.busy).max().unwrap_or(0);
        let ports = self.cores.iter().map(|near| near.port.busy).max().unwrap_or(0);
        (slices, ports)
    }
}

/// The physical line of a line: pages are scattered over memory, so that addresses with a large power of two between
/// them do not meet in one set of the L2.
fn scattered(line: u64) -> u64 {
    let per_page = PAGE_BYTES / LINE_BYTES;
    let (page, rest) = (line / per_page, line % per_page);
    let mixed = (page ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    mixed * per_page + rest
}
