//! Virtual time: predicted durations of commands, on one clock for each device.

use std::sync::Mutex;

use tripipe_launch::locks::lock;
use tripipe_timing::host::HostCosts;

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
        let seconds = HostCosts::of(device.gpu).copy_seconds(bytes as u64);
        Self { launch_ns: 0, busy_ns: nanoseconds(seconds) }
    }

    /// A map or unmap: the driver's call, the maintenance of caches for `visible` bytes, and the copy of `copied`
    /// bytes.
    pub fn map(device: &Device, visible: usize, copied: usize) -> Self {
        let costs = HostCosts::of(device.gpu);
        let call = costs.launch.value + costs.maintenance_seconds(visible as u64);
        Self { launch_ns: 0, busy_ns: nanoseconds(costs.copy_seconds(copied as u64)) + nanoseconds(call) }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// When a command was queued, submitted, started and ended, in nanoseconds.
pub type Times = [u64; 4];

/// The timeline of a device, which all its queues share. It starts at 0. The device does one command at a time, and
/// meanwhile the host submits the next ones: launches that are queued back to back cost the host's part only where they
/// are shorter than it.
#[derive(Debug, Default)]
pub struct Timeline {
    clocks: Mutex<Clocks>,
}

/// Times in nanoseconds.
#[derive(Debug, Default)]
struct Clocks {
    /// When the host has submitted the last command.
    submitted: u64,
    /// When the device has ended it.
    ended: u64,
    /// The end of the last command that the host has waited for.
    waited: u64,
}

impl Timeline {
    /// The time at which the host enqueues a command: that of what it last waited for.
    pub fn host_ns(&self) -> u64 {
        lock(&self.clocks).waited
    }

    /// Notes that the host has waited for a command.
    pub fn wait(&self, end_ns: u64) {
        let mut clocks = lock(&self.clocks);
        clocks.waited = clocks.waited.max(end_ns);
    }

    /// Appends a command that was enqueued at `queued_ns` and starts after `ready_ns`, when the commands that it waits
    /// for have ended.
    pub fn append(&self, queued_ns: u64, ready_ns: u64, span: Span) -> Times {
        let mut clocks = lock(&self.clocks);
        let submitted = queued_ns.max(clocks.submitted);
        clocks.submitted = submitted.saturating_add(span.launch_ns);
        let start = clocks.submitted.max(clocks.ended).max(ready_ns);
        clocks.ended = start.saturating_add(span.busy_ns);
        [queued_ns, submitted, start, clocks.ended]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span { launch_ns: 10, busy_ns: 100 };

    #[test]
    fn the_host_submits_while_the_device_works() {
        let timeline = Timeline::default();
        assert_eq!(timeline.append(0, 0, SPAN), [0, 0, 10, 110]);
        assert_eq!(timeline.append(0, 0, SPAN), [0, 10, 110, 210]);
        // What it waits for ends later.
        assert_eq!(timeline.append(0, 1000, SPAN), [0, 20, 1000, 1100]);
        assert_eq!(timeline.append(0, 0, Span::default()), [0, 30, 1100, 1100]);
        // Commands shorter than the host's part follow each other as fast as the host submits them.
        let short = Span { launch_ns: 1000, busy_ns: 1 };
        assert_eq!(timeline.append(0, 0, short), [0, 30, 1100, 1101]);
        assert_eq!(timeline.append(0, 0, short), [0, 1030, 2030, 2031]);
    }

    #[test]
    fn a_host_that_waits_submits_later() {
        let timeline = Timeline::default();
        let [.., end] = timeline.append(timeline.host_ns(), 0, SPAN);
        timeline.wait(end);
        assert_eq!(timeline.append(timeline.host_ns(), 0, SPAN), [110, 110, 120, 220]);
    }
}
