//! Virtual time: predicted durations of commands, in the order of their queue.

use std::sync::Mutex;

use tripipe_launch::locks::lock;
use tripipe_timing::figures::Figures;

use super::device::Device;

/// How long a command takes on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// From the command's submission to its start, in nanoseconds.
    pub launch_ns: u64,
    /// From its start to its end, in nanoseconds.
    pub busy_ns: u64,
}

impl Span {
    /// A copy in the memory of a device: `bytes` are read and written once, at the memory's nominal bandwidth.
    pub fn copy(device: &Device, bytes: usize) -> Self {
        let gb_s = device.gpu.configuration.dram_gb_s_peak.value;
        Self { launch_ns: 0, busy_ns: (2.0 * bytes as f64 / gb_s).round() as u64 }
    }

    /// A map or unmap: the driver's call, the maintenance of caches for `visible` bytes, and the copy of `copied`
    /// bytes.
    pub fn map(device: &Device, visible: usize, copied: usize) -> Self {
        let gb_s = device.gpu.configuration.dram_gb_s_peak.value;
        let call_ns = Figures::of(device.gpu).launch_us * 1e3;
        let share = device.map_data().maintenance_share;
        let maintenance_ns = share.map_or(0.0, |share| visible as f64 / (share * gb_s));
        let copy = Self::copy(device, copied);
        Self { busy_ns: copy.busy_ns + (call_ns + maintenance_ns).round() as u64, ..copy }
    }
}

/// When a command was queued, submitted, started and ended, in nanoseconds.
pub type Times = [u64; 4];

/// The timeline of a queue. It starts at 0, and commands follow each other on it.
#[derive(Debug, Default)]
pub struct Timeline {
    now_ns: Mutex<u64>,
}

impl Timeline {
    /// Appends a command that starts after `ready_ns`, when the commands that it waits for have ended.
    pub fn append(&self, ready_ns: u64, span: Span) -> Times {
        let mut now = lock(&self.now_ns);
        let queued = *now;
        let start = queued.max(ready_ns).saturating_add(span.launch_ns);
        *now = start.saturating_add(span.busy_ns);
        [queued, queued, start, *now]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_follow_each_other_and_what_they_wait_for() {
        let timeline = Timeline::default();
        let span = Span { launch_ns: 10, busy_ns: 100 };
        assert_eq!(timeline.append(0, span), [0, 0, 10, 110]);
        assert_eq!(timeline.append(50, span), [110, 110, 120, 220]);
        assert_eq!(timeline.append(1000, span), [220, 220, 1010, 1110]);
        assert_eq!(timeline.append(0, Span::default()), [1110, 1110, 1110, 1110]);
    }
}
