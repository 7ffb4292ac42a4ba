//! The memory behind the cores: L1 and texture caches of each core, the L2 of the GPU, DRAM.

use std::collections::HashMap;

use tripipe_device::Gpu;

use crate::activity::{MemorySeries, Timeline};
use crate::arrivals::Arrivals;
use crate::cache::{Cache, LINE_BYTES, Lookup, Replacement};
use crate::figures::Figures;
use crate::pages::Pages;
use crate::traffic::Traffic;

/// Parts of a clock in which time is counted.
pub(crate) const TICKS: f64 = 64.0;
/// Bytes of the operand of an atomic operation, which goes to the L2, and of its result, which returns.
const ATOMIC_BYTES: u64 = 8;

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
    /// Serves a request that arrives at `at` and takes `ticks`; returns its start.
    pub(crate) fn serve(&mut self, at: u64, ticks: u64) -> u64 {
        let start = self.free.max(at);
        self.free = start + ticks;
        self.busy += ticks;
        start
    }
}

/// The caches of one core.
#[derive(Clone, Debug)]
struct CoreCaches {
    l1: Cache,
    texture: Cache,
    port: Server,
    pages: Pages,
    /// When requested lines arrive: those of loads, those of image reads.
    in_flight: [Arrivals; 2],
    /// When the lines that loads requested from DRAM arrive.
    from_dram: Arrivals,
}

/// A slice of the L2.
#[derive(Clone, Debug)]
struct Slice {
    all: Server,
    banks: Vec<Server>,
}

impl Slice {
    /// Ticks that the slice or its busiest bank was busy.
    fn busy(&self) -> u64 {
        self.banks.iter().map(|bank| bank.busy).fold(self.all.busy, u64::max)
    }
}

/// Latencies and service times in ticks.
#[derive(Clone, Copy, Debug)]
struct Times {
    load: u64,
    texture: u64,
    l2: u64,
    dram: u64,
    system: u64,
    system_line: u64,
    port_half: u64,
    slice_half: u64,
    bank_half: u64,
    dram_line: u64,
    tlb: u64,
    walk: u64,
}

/// Caches and DRAM of a GPU.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    cores: Vec<CoreCaches>,
    slices: Vec<Slice>,
    /// Lines of consecutive addresses in one bank of a slice.
    bank_lines: u64,
    /// Whether half a line can be transferred.
    has_halves: bool,
    l2: Cache,
    /// The cache that the GPU shares with the rest of the chip.
    system_cache: Option<(Cache, Server)>,
    pub(crate) dram: Server,
    /// Lines with atomic operations.
    atomics: HashMap<u64, Server>,
    /// When the last of these operations ends.
    atomics_end: u64,
    /// Translates for all cores.
    pub(crate) walker: Server,
    times: Times,
    has_l1: bool,
    lines_in_flight: [usize; 2],
    dram_lines_in_flight: usize,
    /// Lines of a page.
    page_lines: u64,
    pub(crate) traffic: Traffic,
    /// What happens when, if that is recorded.
    pub(crate) timeline: Option<Box<Timeline>>,
}

/// The way of a line into a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
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
            system: ticks(figures.system_cache_latency_ns * 1e-9 * clock_hz),
            system_line: ticks(
                line * clock_hz
                    / (gpu.configuration.dram_gb_s_peak.value * 1e9 * figures.system_cache_speed).max(1.0),
            ),
            port_half: ticks(line / 2.0 / figures.port_bytes_per_clock.max(1e-3)),
            slice_half: ticks(line / 2.0 / figures.l2_slice_bytes_per_clock.max(1e-3)),
            bank_half: ticks(line / 2.0 / figures.l2_bank_bytes_per_clock.max(1e-3)),
            dram_line: ticks(line / dram_per_clock.max(1e-6)),
            tlb: ticks(figures.tlb_miss_clocks),
            walk: ticks(figures.tlb_walk_clocks),
        };
        let near = CoreCaches {
            l1: Cache::new(gpu.memory.l1_bytes.value, figures.l1_ways as u32, Replacement::LeastRecent),
            texture: Cache::new(
                gpu.texture.l1_bytes.value,
                figures.texture_ways as u32,
                Replacement::LeastRecent,
            ),
            port: Server::default(),
            pages: Pages::new(figures.tlb_pages.max(1.0) as usize),
            in_flight: Default::default(),
            from_dram: Arrivals::default(),
        };
        let slice = Slice {
            all: Server::default(),
            banks: vec![Server::default(); figures.l2_banks.max(1.0) as usize],
        };
        Self {
            cores: vec![near; cores],
            slices: vec![slice; gpu.memory.l2_slices.value.max(1) as usize],
            bank_lines: (figures.l2_bank_bytes as u64 / LINE_BYTES).max(1),
            has_halves: figures.l2_transfer_bytes < line,
            l2: Cache::new(gpu.memory.l2_bytes.value, figures.l2_ways as u32, Replacement::Random),
            system_cache: gpu.configuration.system_cache_bytes.as_ref().filter(|bytes| bytes.value > 0).map(
                |bytes| {
                    let cache = Cache::new(bytes.value, figures.l2_ways as u32, Replacement::Random);
                    (cache, Server::default())
                },
            ),
            dram: Server::default(),
            atomics: HashMap::new(),
            atomics_end: 0,
            walker: Server::default(),
            times,
            has_l1: gpu.memory.l1_bytes.value > 0,
            lines_in_flight: [figures.lines_in_flight, figures.texture_lines_in_flight]
                .map(|lines| lines.max(1.0) as usize),
            dram_lines_in_flight: figures.dram_lines_in_flight.max(1.0) as usize,
            page_lines: (figures.page_bytes as u64 / LINE_BYTES).max(1),
            traffic: Traffic::default(),
            timeline: None,
        }
    }

    /// Lines of the L2 and of the system cache.
    pub(crate) fn shared_lines(&self) -> usize {
        self.l2.lines() + self.system_cache.as_ref().map_or(0, |(cache, _)| cache.lines())
    }

    /// Lets the L2 and the system cache see a line, without time.
    pub(crate) fn warm(&mut self, line: u64, write: bool) {
        let number = scattered(line, self.page_lines);
        if let Lookup::Miss(victim) = self.l2.access(number, write)
            && let Some((cache, _)) = &mut self.system_cache
        {
            if let Some(victim) = victim {
                cache.access(victim, true);
            }
            // The L2 does not read a line that it is going to write.
            if !write {
                cache.access(number, false);
            }
        }
    }

    /// Reads a line, or half of it; returns the time at which it arrives.
    pub(crate) fn read(&mut self, core: usize, line: u64, whole: bool, at: u64, through: Route) -> u64 {
        let at = self.translate(core, line, at);
        let near = &mut self.cores[core];
        let (cache, latency) = match through {
            Route::LoadStore => {
                self.traffic.l1_accesses += 1;
                (&mut near.l1, self.times.load)
            }
            Route::Texture => {
                self.traffic.texture_accesses += 1;
                (&mut near.texture, self.times.texture)
            }
        };
        // Textures have a cache of their own even where loads have none.
        let cached = through == Route::Texture || self.has_l1;
        let victim = if cached {
            match cache.access(line, false) {
                // A line that is on its way is not requested again: the hit waits for it, as with the registers for
                // outstanding misses of a lockup-free cache (Kroft 1981).
                Lookup::Hit(ready) => {
                    match through {
                        Route::LoadStore => self.traffic.l1_hits += 1,
                        Route::Texture => self.traffic.texture_hits += 1,
                    }
                    return ready.max(at) + latency;
                }
                Lookup::Miss(victim) => victim,
            }
        } else {
            None
        };
        if let Some(victim) = victim {
            // The reader does not wait for the victim, but its request queues behind it at the port.
            self.evict(core, victim, at);
        }
        let bytes = self.moved(whole || cached);
        let arrives = self.fetch(core, line, bytes, at, through);
        let near = &mut self.cores[core];
        if cached {
            match through {
                Route::LoadStore => near.l1.arrives(line, arrives),
                Route::Texture => near.texture.arrives(line, arrives),
            }
        }
        arrives + latency
    }

    /// Writes to a line, or half of it; returns the time at which the write is accepted. A line that is written is not read first.
    pub(crate) fn write(&mut self, core: usize, line: u64, whole: bool, at: u64) -> u64 {
        let at = self.translate(core, line, at);
        self.traffic.l1_accesses += 1;
        self.traffic.l1_writes += 1;
        if !self.has_l1 {
            return self.put(core, line, whole, at);
        }
        match self.cores[core].l1.access(line, true) {
            Lookup::Hit(_) => {
                self.traffic.l1_hits += 1;
                self.traffic.l1_write_hits += 1;
                at
            }
            Lookup::Miss(None) => at,
            Lookup::Miss(Some(victim)) => self.evict(core, victim, at),
        }
    }

    /// Atomic operations on a line in the L2, which take some ticks; returns the time of their result. Those on the same line
    /// wait for each other.
    pub(crate) fn atomic(&mut self, core: usize, line: u64, at: u64, ticks: u64) -> u64 {
        let at = self.translate(core, line, at);
        self.traffic.l1_atomics += 1;
        // The L2 performs them, so that no L1 may keep a copy.
        if self.cores[core].l1.remove(line) {
            self.evict(core, line, at);
        }
        let arrives = self.fetch(core, line, ATOMIC_BYTES, at, Route::LoadStore);
        let end = self.atomics.entry(line).or_default().serve(arrives, ticks) + ticks;
        self.atomics_end = self.atomics_end.max(end);
        end + self.times.load
    }

    /// Bytes of a line from the L2 or DRAM to a core.
    fn fetch(&mut self, core: usize, line: u64, bytes: u64, at: u64, through: Route) -> u64 {
        // A core waits for a limited number of lines; that, and not the latency alone, bounds its bandwidth (Little's law).
        let in_flight = &mut self.cores[core].in_flight[through as usize];
        let at = in_flight.room(self.lines_in_flight[through as usize], at);
        let number = scattered(line, self.page_lines);
        let start = self.transfer(core, number, bytes, at);
        self.traffic.l2_accesses += 1;
        match through {
            Route::LoadStore => {
                self.traffic.l1_fetches += 1;
                self.traffic.l2_load_bytes += bytes;
            }
            Route::Texture => {
                self.traffic.texture_fetches += 1;
                self.traffic.l2_texture_bytes += bytes;
            }
        }
        // Textures return in the order of the requests, and so do loads that fill the lines of an L1: a guess, with which the
        // published times agree. Without an L1, as on Adreno, what the L2 has passes older misses (docs/model.md).
        let in_order = through == Route::Texture || self.has_l1;
        let arrives = match self.l2.access(number, false) {
            Lookup::Hit(ready) => {
                self.traffic.l2_hits += 1;
                // The line may still be on its way for another core.
                ready.max(start + self.times.l2)
            }
            Lookup::Miss(victim) => {
                if let Some(victim) = victim {
                    self.write_back(victim, start);
                }
                let from_dram = &mut self.cores[core].from_dram;
                // Loads wait for a limited number of lines from DRAM, image reads do not (ArchProbe on an Adreno 640).
                let start = match through {
                    Route::LoadStore => {
                        self.traffic.external_load_bytes += LINE_BYTES;
                        from_dram.room(self.dram_lines_in_flight, start)
                    }
                    Route::Texture => {
                        self.traffic.external_texture_bytes += LINE_BYTES;
                        start
                    }
                };
                let arrives = self.read_beyond(number, start) + self.times.l2;
                self.l2.arrives(number, arrives);
                if through == Route::LoadStore {
                    self.cores[core].from_dram.enter(arrives, in_order);
                }
                arrives
            }
        };
        self.cores[core].in_flight[through as usize].enter(arrives, in_order);
        arrives
    }

    /// A modified line that leaves the L1; returns the time at which the L2 accepts it.
    fn evict(&mut self, core: usize, line: u64, at: u64) -> u64 {
        self.traffic.l1_evictions += 1;
        // The L1 does not know which half was modified.
        self.put(core, line, true, at)
    }

    /// A modified line from a core to the L2; returns the time at which it is accepted.
    fn put(&mut self, core: usize, line: u64, whole: bool, at: u64) -> u64 {
        let number = scattered(line, self.page_lines);
        let bytes = self.moved(whole);
        let start = self.transfer(core, number, bytes, at);
        self.traffic.l2_accesses += 1;
        self.traffic.l2_writes += 1;
        self.traffic.l2_written_bytes += bytes;
        match self.l2.access(number, true) {
            Lookup::Hit(_) => {
                self.traffic.l2_hits += 1;
                self.traffic.l2_write_hits += 1;
                start
            }
            Lookup::Miss(None) => start,
            Lookup::Miss(Some(victim)) => self.write_back(victim, start),
        }
    }

    /// A line from the system cache or DRAM; returns the time at which the L2 receives it.
    fn read_beyond(&mut self, number: u64, at: u64) -> u64 {
        if let Some((cache, server)) = &mut self.system_cache {
            match cache.access(number, false) {
                Lookup::Hit(_) => {
                    let begin = server.serve(at, self.times.system_line);
                    return begin + self.times.system_line + self.times.system;
                }
                // The modified line that leaves takes its turn at DRAM, and the reader waits behind it.
                Lookup::Miss(Some(_)) => {
                    self.dram(at, true);
                }
                Lookup::Miss(None) => {}
            }
        }
        let begin = self.dram(at, false);
        begin + self.times.dram_line + self.times.dram
    }

    /// A modified line from the L2 to the system cache or DRAM; returns the time at which it is accepted.
    fn write_back(&mut self, number: u64, at: u64) -> u64 {
        self.traffic.external_written_bytes += LINE_BYTES;
        if let Some((cache, server)) = &mut self.system_cache {
            let start = server.serve(at, self.times.system_line);
            // Only the modified line that it displaces goes on to DRAM.
            if !matches!(cache.access(number, true), Lookup::Miss(Some(_))) {
                return start;
            }
        }
        self.dram(at, true)
    }

    /// A line from or to DRAM; returns its start.
    fn dram(&mut self, at: u64, write: bool) -> u64 {
        let start = self.dram.serve(at, self.times.dram_line);
        let (bytes, series) = if write {
            (&mut self.traffic.dram_written_bytes, MemorySeries::DRAM_WRITTEN)
        } else {
            (&mut self.traffic.dram_read_bytes, MemorySeries::DRAM_READ)
        };
        *bytes += LINE_BYTES;
        if let Some(timeline) = &mut self.timeline {
            timeline.spread(MemorySeries::DRAM, start, self.times.dram_line, self.times.dram_line as f64);
            timeline.add(series, start, LINE_BYTES as f64);
        }
        start
    }

    /// Bytes of a transfer between a core and the L2.
    fn moved(&self, whole: bool) -> u64 {
        if whole || !self.has_halves { LINE_BYTES } else { LINE_BYTES / 2 }
    }

    /// Moves bytes of a line between a core and the L2; returns the time at which the L2 starts. The port, the slice
    /// and the bank of the line each have a rate.
    fn transfer(&mut self, core: usize, number: u64, bytes: u64, at: u64) -> u64 {
        let [port_time, slice_time, bank_time] =
            [self.times.port_half, self.times.slice_half, self.times.bank_half]
                .map(|half| half * bytes / (LINE_BYTES / 2));
        // Each starts when the one before has started, not ended: the bytes stream through all three.
        let port = self.cores[core].port.serve(at, port_time);
        let slices = self.slices.len() as u64;
        let slice = &mut self.slices[(number % slices) as usize];
        let all = slice.all.serve(port, slice_time);
        let bank = number / slices / self.bank_lines % slice.banks.len() as u64;
        let start = slice.banks[bank as usize].serve(all, bank_time);
        if let Some(timeline) = &mut self.timeline {
            let series = MemorySeries { cores: self.cores.len(), banks: slice.banks.len() };
            let at = (number % slices) as usize;
            timeline.spread(MemorySeries::port(core), port, port_time, port_time as f64);
            timeline.spread(series.slice(at), all, slice_time, slice_time as f64);
            timeline.spread(series.bank(at, bank as usize), start, bank_time, bank_time as f64);
            timeline.add(MemorySeries::L2_BYTES, start, bytes as f64);
        }
        start
    }

    /// Records what happens when, from now on.
    pub(crate) fn record(&mut self) {
        self.timeline = Some(Box::new(Timeline::new(self.series().count(self.slices.len()))));
    }

    /// The quantities of the recorded timeline.
    pub(crate) fn series(&self) -> MemorySeries {
        let banks = self.slices.first().map_or(1, |slice| slice.banks.len());
        MemorySeries { cores: self.cores.len(), banks }
    }

    /// Slices of the L2.
    pub(crate) fn slices(&self) -> usize {
        self.slices.len()
    }

    /// The time at which the translation of a line's page is there.
    fn translate(&mut self, core: usize, line: u64, at: u64) -> u64 {
        let page = line / self.page_lines;
        if self.cores[core].pages.touch_page(page) {
            return at;
        }
        self.traffic.tlb_misses += 1;
        let start = self.walker.serve(at, self.times.walk);
        if let Some(timeline) = &mut self.timeline {
            timeline.spread(MemorySeries::WALKER, start, self.times.walk, self.times.walk as f64);
        }
        // Walks are pipelined: one starts every `walk` ticks, and each takes `tlb`.
        start + self.times.tlb
    }

    /// When the last transfer ends, in ticks.
    pub(crate) fn free(&self) -> u64 {
        let ports = self.cores.iter().map(|near| near.port.free);
        let slices = self.slices.iter().map(|slice| slice.all.free);
        let banks = self.slices.iter().flat_map(|slice| slice.banks.iter().map(|bank| bank.free));
        let system = self.system_cache.iter().map(|(_, server)| server.free);
        ports.chain(slices).chain(banks).chain(system).fold(self.dram.free.max(self.atomics_end), u64::max)
    }

    /// Ticks that the busiest slice of the L2, and the busiest port of a core, were busy.
    pub(crate) fn busy(&self) -> (u64, u64) {
        let slices = self.slices.iter().map(Slice::busy).max().unwrap_or(0);
        let ports = self.cores.iter().map(|near| near.port.busy).max().unwrap_or(0);
        (slices, ports)
    }
}

/// The physical line of a line: pages are scattered over memory, so that addresses with a large power of two between
/// them do not meet in one set of the L2.
fn scattered(line: u64, per_page: u64) -> u64 {
    let (page, rest) = (line / per_page, line % per_page);
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the factor is 2^64 over the golden ratio.
    let mixed = (page ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    mixed * per_page + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Modified lines that the system cache takes occupy it, although none goes on to DRAM.
    #[test]
    fn memory_is_busy_until_the_system_cache_is_free() {
        let gpu = tripipe_device::find("adreno-650").unwrap();
        let mut memory = Memory::new(gpu, &Figures::of(gpu), 1);
        let line = memory.times.system_line;
        for number in 0..100 {
            memory.write_back(number, 0);
        }
        assert_eq!((memory.dram.busy, memory.free()), (0, 100 * line));
        assert!(line > 0);
    }
}
