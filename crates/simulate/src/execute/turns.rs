//! Turns: the warps of a work-group run alternately when its work-items wait for each other in loops ([`super::spin`]).
//!
//! In each turn, first all lanes run, lowest position first as usual, for a number of steps; then a lane group that waits
//! after a loop and may hold the lock, a different lane group each time. When no work-item of a group can make progress any
//! more, the launch stops with that reason.

use super::state::{LaneGroup, State, Stop, Waits, Warp};

/// Steps per turn, except for longer blocks.
const TURN: u64 = 256;

/// A snapshot of a group at an earlier time.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    turns: u64,
    changes: u64,
    warps: Vec<Warp>,
}

impl State<'_> {
    /// Runs the current warp for one turn, or until all its lanes are done or wait for the group.
    pub(crate) fn take_turn(&mut self) {
        self.run_for_a_while(u64::MAX);
        if self.stop.is_none()
            && let Some(lane_group) = self.next_in_turn()
        {
            self.warp.turn = (lane_group.block, lane_group.inst);
            self.run_for_a_while(lane_group.mask);
        }
    }

    /// Runs some lanes for the steps of one turn.
    fn run_for_a_while(&mut self, lanes: u64) {
        // At least the longest block, because a block runs as a whole or not at all.
        let steps = TURN.max(self.code.longest).min(self.steps);
        let rest = self.steps - steps;
        (self.steps, self.chosen) = (steps, lanes);
        self.run_warp();
        self.steps += rest;
        self.chosen = u64::MAX;
        // The turn is over, not the launch's budget.
        if matches!(self.stop, Some(Stop::Steps(_))) && rest > 0 {
            self.stop = None;
        }
    }

    /// The next runnable lane group above the lowest position; `None` if there is none.
    fn next_in_turn(&self) -> Option<LaneGroup> {
        let place = |lane_group: &&LaneGroup| (lane_group.block, lane_group.inst);
        let runs = || self.warp.lane_groups.iter().filter(|lane_group| lane_group.waits == Waits::No);
        // The lanes at the lowest position have just had their steps.
        let lowest = runs().map(|lane_group| place(&lane_group)).min()?;
        let higher = || runs().filter(|lane_group| place(lane_group) > lowest);
        let next = higher().filter(|lane_group| place(lane_group) > self.warp.turn).min_by_key(place);
        next.or_else(|| higher().min_by_key(place)).copied()
    }

    /// Whether the state has repeated without any write in between, so that it would repeat forever; the launch then
    /// stops.
    pub(crate) fn stands_still(&mut self, past: &mut Snapshot, warps: &[Warp]) -> bool {
        let same = |(a, b): (&Warp, &Warp)| {
            a.turn == b.turn && a.lane_groups == b.lane_groups && a.rows == b.rows && a.privates == b.privates
        };
        let still = past.changes == self.changes
            && past.warps.len() == warps.len()
            && past.warps.iter().zip(warps).all(same);
        if still && let Some((warp, lane_group)) = first_running(warps) {
            // Inner loops come after the enclosing ones, so the innermost is found first.
            let spin = self.code.spins.iter().rev().find(|spin| {
                let (first, last) = spin.span;
                (first..=last).contains(&lane_group.block)
            });
            let item = warp.first_item + lane_group.mask.trailing_zeros();
            self.stop = Some(Stop::Waits(spin.map(|spin| spin.inst), item));
            return true;
        }
        // Brent's way to find a cycle (1980): with snapshots at powers of two, one is at last inside the cycle, and as old as
        // the cycle is long.
        past.turns += 1;
        if past.turns.is_power_of_two() {
            past.changes = self.changes;
            past.warps = warps.to_vec();
        }
        false
    }
}

/// The first lanes that do not wait for the group.
fn first_running(warps: &[Warp]) -> Option<(&Warp, &LaneGroup)> {
    warps.iter().find_map(|warp| {
        Some((warp, warp.lane_groups.iter().find(|lane_group| lane_group.waits != Waits::Group)?))
    })
}
