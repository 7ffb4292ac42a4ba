//! The loads and stores of recorded work-groups on a CPU core.

use tripipe_device::Cpu;
use tripipe_simulate::trace::{Action, GroupTrace, Reach, TracedAccess, WarpTrace};

use super::cost::{IssueCounts, vector_bits};
use crate::cache::{Cache, LINE_BYTES, Lookup, Replacement};

/// Where local memory lies: behind all buffers.
const LOCAL_BASE: u64 = 1 << 48;
/// The most elements from one work-item's element to the next that a structure load (`vld2` to `vld4`) takes apart.
const STRUCTURE: u64 = 4;

/// How work-items run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One after another.
    Serial,
    /// Together, in vectors.
    Neon,
}

/// The caches of a core, and what happened in them.
pub(super) struct Caches {
    l1: Cache,
    empty: Cache,
    l2: Cache,
    /// Lines from DRAM and to it.
    pub(super) dram_lines: u64,
    /// Loads that waited for the L2.
    pub(super) waits: u64,
}

impl Caches {
    pub(super) fn new(cpu: &Cpu) -> Self {
        let cache = |bytes: f64, ways: f64| Cache::new(bytes as u64, ways as u32, Replacement::LeastRecent);
        let l1 = cache(cpu.l1_data_bytes.value, cpu.l1_data_ways.value);
        let l2 = cache(cpu.l2_bytes.value, cpu.l2_ways.value);
        Self { empty: l1.clone(), l1, l2, dram_lines: 0, waits: 0 }
    }

    pub(super) fn empty_l1(&mut self) {
        self.l1 = self.empty.clone();
    }

    /// Accesses the lines of a group in the order of a form.
    pub(super) fn play(&mut self, trace: &GroupTrace, form: Form) {
        for warp in &trace.warps {
            match form {
                Form::Neon => {
                    for (_, access) in warp.accesses() {
                        for address in warp.addresses(access) {
                            self.access(access, *address);
                        }
                    }
                }
                Form::Serial => {
                    // One whole work-item after another: each finds the caches as the one before left them.
                    let mut left = warp.lanes;
                    while left != 0 {
                        let lane = left & left.wrapping_neg();
                        left &= left - 1;
                        for (_, access) in
                            warp.accesses().iter().filter(|(_, access)| access.mask & lane != 0)
                        {
                            let addresses = warp.addresses(access);
                            // Addresses are recorded for active work-items only, in their order.
                            let rank = (access.mask & (lane - 1)).count_ones() as usize;
                            let address =
                                if addresses.len() == 1 { addresses.first() } else { addresses.get(rank) };
                            if let Some(address) = address {
                                self.access(access, *address);
                            }
                        }
                    }
                }
            }
        }
    }

    fn access(&mut self, access: &TracedAccess, address: u64) {
        let address = match access.reach {
            Reach::Global => address,
            Reach::Local => LOCAL_BASE + address,
            // Private memory is in registers, or on a stack that stays in the L1.
            Reach::Private | Reach::Image(_) => return,
        };
        let last = address + u64::from(access.bytes.max(1)) - 1;
        for line in address / LINE_BYTES..=last / LINE_BYTES {
            let writes = access.action != Action::Read;
            let Lookup::Miss(evicted) = self.l1.access(line, writes) else { continue };
            // Writing back takes no time of the core, but its line may displace another in the L2.
            if let Some(evicted) = evicted {
                self.l2.access(evicted, true);
            }
            // Hardware prefetchers follow ascending lines, so the line before has requested this one.
            let is_prefetched = line > 0 && self.l1.contains(line - 1);
            // A store buffer hides the misses of stores.
            self.waits += u64::from(access.action != Action::Write && !is_prefetched);
            if let Lookup::Miss(_) = self.l2.access(line, writes) {
                // What is written comes in first, and goes back some time.
                self.dram_lines += 1 + u64::from(writes);
            }
        }
    }
}

/// The instructions of an access, one work-item at a time.
pub(super) fn serial(access: &TracedAccess) -> IssueCounts {
    of(access.action, f64::from(access.mask.count_ones()))
}

/// The instructions of an access of all work-items of a warp.
pub(super) fn neon(warp: &WarpTrace, access: &TracedAccess, cpu: &Cpu) -> IssueCounts {
    let addresses = warp.addresses(access);
    let items = f64::from(access.mask.count_ones());
    let [first, second, ..] = addresses else { return of(access.action, 1.0) };
    let (step, bytes) = (second.wrapping_sub(*first), u64::from(access.bytes.max(1)));
    let is_regular = addresses.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
    if is_regular && step == 0 {
        return of(access.action, 1.0);
    }
    if is_regular && step <= STRUCTURE * bytes {
        // A structure load transfers the gaps too, so the step counts and not the bytes.
        return of(access.action, items * step as f64 * 8.0 / vector_bits(cpu));
    }
    // One by one, each into or out of its lane.
    let mut counts = of(access.action, items);
    counts.vector += items;
    counts
}

fn of(action: Action, times: f64) -> IssueCounts {
    let (load, store) = match action {
        Action::Read => (times, 0.0),
        Action::Write => (0.0, times),
        Action::Atomic => (times, times),
    };
    IssueCounts { load, store, ..IssueCounts::default() }
}
