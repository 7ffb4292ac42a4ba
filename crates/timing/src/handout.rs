//! The time of many work-groups from the pace of a few: work-groups are handed out to cores, whose residents share the
//! core's speed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How resident work-groups of a core share its speed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreSharing {
    /// Cores.
    pub(crate) cores: usize,
    /// Work-groups that a core holds.
    pub(crate) room: usize,
    /// Work-groups of a core when the pace was measured.
    pub(crate) measured_at: f64,
    /// Time that a work-group that has its core alone takes, as a share of the measured one.
    pub(crate) alone: f64,
}

/// A core. Its clock runs at the residents' speed: a work-group takes its measured time of it, always.
#[derive(Clone, Debug, Default)]
struct PacedCore {
    time: f64,
    clock: f64,
    /// When residents end on its clock: bits of positive floats, which are in the same order.
    ends: BinaryHeap<Reverse<u64>>,
}

impl PacedCore {
    fn slowness(&self, pace: CoreSharing) -> f64 {
        // Twice as many residents halve the speed. Few residents are bound by latency, which sharing does not change.
        (self.ends.len() as f64 / pace.measured_at.max(1e-9)).max(pace.alone)
    }

    /// When the next resident ends.
    fn due(&self, pace: CoreSharing) -> Option<f64> {
        let Reverse(first) = *self.ends.peek()?;
        Some(self.time + (f64::from_bits(first) - self.clock).max(0.0) * self.slowness(pace))
    }

    fn advance(&mut self, to: f64, pace: CoreSharing) {
        if !self.ends.is_empty() {
            self.clock += (to - self.time).max(0.0) / self.slowness(pace).max(1e-30);
        }
        self.time = self.time.max(to);
    }

    fn start(&mut self, time: f64) {
        // An end never moves on the core's own clock, whatever starts or ends beside it: this is the virtual time of fair
        // queueing (Demers, Keshav, Shenker 1989).
        self.ends.push(Reverse((self.clock + time).to_bits()));
    }
}

/// Part of a work-group's time within which ends count as simultaneous.
const SIMULTANEOUS: f64 = 0.02;

/// The time until the last work-group ends. `times` are those of the work-groups at the measured pace.
pub(crate) fn time(pace: CoreSharing, mut times: impl Iterator<Item = f64>) -> f64 {
    let mut cores = vec![PacedCore::default(); pace.cores.max(1)];
    let mut free = cores.len() * pace.room.max(1);
    let (mut now, mut last) = (0.0, 0.0);
    loop {
        // Free places go to the cores with fewest residents.
        while free > 0
            && let Some(time) = times.next()
        {
            let Some(core) = cores.iter_mut().min_by_key(|core| core.ends.len()) else { break };
            core.advance(now, pace);
            core.start(time);
            (free, last) = (free - 1, time);
        }
        // Ends that nearly coincide free their places together, so that the emptiest core gets the next work-group.
        let mut until = f64::INFINITY;
        loop {
            let due = cores.iter_mut().filter_map(|core| Some((core.due(pace)?, core)));
            let Some((due, core)) = due.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            if due > until {
                break;
            }
            until = until.min(due + last * core.slowness(pace) * SIMULTANEOUS);
            core.advance(due, pace);
            core.ends.pop();
            (now, free) = (due, free + 1);
        }
        if until == f64::INFINITY {
            return now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CoreSharing, time};

    /// By hand.
    #[test]
    fn work_groups_share_their_core() {
        let pace = CoreSharing { cores: 2, room: 2, measured_at: 2.0, alone: 0.5 };
        let close = |found: f64, want: f64| assert!((found - want).abs() < 1e-9, "{found}, not {want}");
        // Four at once.
        close(time(pace, [3.0; 4].into_iter()), 3.0);
        // A fifth, alone on its core at twice the speed.
        close(time(pace, [3.0; 5].into_iter()), 4.5);
        // The same without that: two generations.
        close(time(CoreSharing { alone: 1.0, ..pace }, [3.0; 5].into_iter()), 6.0);
        // One core: work is conserved when its speed is shared.
        let one = CoreSharing { cores: 1, room: 3, measured_at: 3.0, alone: 0.0 };
        close(time(one, [1.0, 2.0, 6.0, 3.0].into_iter()), 4.0);
        close(time(pace, std::iter::empty()), 0.0);
    }
}
