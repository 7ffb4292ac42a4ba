//! Sub-groups: which lanes an operation of a sub-group waits for.

use super::code::Inst;
use super::ops::meet::perform;
use super::rows::{WIDTH, first_lanes, neighbours};
use super::state::{LaneGroup, Present, State, Stop, Waits, Warp};

impl State<'_> {
    /// Whether the active lanes' sub-groups are complete at this instruction. If not, the warp stops to wait for the
    /// lanes that may still arrive. This occurs in kernels whose lanes may be at arbitrary blocks, and if sub-groups
    /// are larger than warps.
    pub(crate) fn meets_sub_groups(&mut self, i: &Inst) -> bool {
        let whole =
            !self.group.has_wide_sub_groups() && (self.code.spins.is_empty() || self.has_whole_sub_groups(i));
        if !whole {
            self.stop = Some(Stop::MeetSubGroup);
        }
        whole
    }

    /// Whether no missing lane of the active lanes' sub-groups can still reach this instruction. This can be false
    /// only in kernels whose lanes may be at arbitrary blocks.
    fn has_whole_sub_groups(&self, inst: &Inst) -> bool {
        let wanted =
            neighbours(self.mask, self.group.sub_group).fold(0, |all, lanes| all | self.sub_group(lanes));
        !self
            .warp
            .lane_groups
            .iter()
            .any(|lane_group| lane_group.mask & wanted != 0 && self.comes(lane_group, inst))
    }

    /// Whether a lane group may still join the lanes at an instruction.
    fn comes(&self, lane_group: &LaneGroup, inst: &Inst) -> bool {
        let at = &self.code.blocks[lane_group.block as usize].insts;
        match lane_group.waits {
            Waits::No => true,
            Waits::SubGroup => at.get(lane_group.inst as usize).is_some_and(|at| std::ptr::eq(at, inst)),
            Waits::WideSubGroup | Waits::Group => false,
        }
    }

    /// All lanes of the sub-group that contains the given lanes.
    fn sub_group(&self, lanes: u64) -> u64 {
        let size = self.group.sub_group;
        first_lanes(size as usize) << (lanes.trailing_zeros() / size * size)
    }

    /// Parks the active lanes; each incomplete sub-group waits for its other lanes.
    pub(crate) fn park_sub_groups(&mut self, block: u32, inst: u32) {
        if self.group.has_wide_sub_groups() {
            self.park(LaneGroup { block, inst, mask: self.mask, waits: Waits::WideSubGroup });
            return;
        }
        // Each sub-group waits by itself: one that is complete must not be held up by another.
        for lanes in neighbours(self.mask, self.group.sub_group) {
            self.mask = lanes;
            let at = &self.code.blocks[block as usize].insts[inst as usize];
            let waits = if self.has_whole_sub_groups(at) { Waits::No } else { Waits::SubGroup };
            self.park(LaneGroup { block, inst, mask: lanes, waits });
        }
    }

    /// Performs an operation of each sub-group that several warps run, once none of its lanes can go on: of the lanes
    /// that wait, those at the lowest position. Returns whether there was any; execution may have stopped.
    pub(crate) fn meet_wide_sub_groups(&mut self, warps: &mut [Warp]) -> bool {
        let code = self.code;
        let place = |lane_group: &LaneGroup| (lane_group.block, lane_group.inst);
        let mut met = false;
        // Warps are full if sub-groups are wide (`Schedule::at_least`), so a sub-group is a whole number of warps.
        for warps in warps.chunks_mut(self.group.sub_group as usize / WIDTH) {
            let lane_groups = || warps.iter().flat_map(|warp| &warp.lane_groups);
            // Lanes that can go on may still arrive.
            if lane_groups().any(|lane_group| !lane_group.waits.is_for_other_warps()) {
                continue;
            }
            let waiting = lane_groups().filter(|lane_group| lane_group.waits == Waits::WideSubGroup);
            let Some((block, inst)) = waiting.map(place).min() else { continue };
            let meets = |lane_group: &LaneGroup| {
                lane_group.waits == Waits::WideSubGroup && place(lane_group) == (block, inst)
            };
            let mask_of = |warp: &Warp| {
                warp.lane_groups
                    .iter()
                    .filter(|lane_group| meets(lane_group))
                    .fold(0, |mask, lane_group| mask | lane_group.mask)
            };
            let mut present: Vec<Present<'_>> = warps
                .iter_mut()
                .map(|warp| Present { mask: mask_of(warp), warp })
                .filter(|present| present.mask != 0)
                .collect();
            if !perform(self, &code.blocks[block as usize].insts[inst as usize], &mut present) {
                return true;
            }
            for lane_group in warps.iter_mut().flat_map(|warp| &mut warp.lane_groups) {
                if meets(lane_group) {
                    lane_group.waits = Waits::No;
                    lane_group.inst += 1;
                }
            }
            met = true;
        }
        met
    }

    /// Releases waiting sub-groups when no running lane can still join them.
    pub(crate) fn release_sub_groups(&mut self) {
        for index in 0..self.warp.lane_groups.len() {
            let lane_group = self.warp.lane_groups[index];
            let all = self.sub_group(lane_group.mask);
            let runs = |other: &LaneGroup| other.waits == Waits::No && other.mask & all != 0;
            if lane_group.waits == Waits::SubGroup && !self.warp.lane_groups.iter().any(runs) {
                for other in &mut self.warp.lane_groups {
                    let here = (other.block, other.inst) == (lane_group.block, lane_group.inst);
                    if here && other.waits == Waits::SubGroup && other.mask & all != 0 {
                        other.waits = Waits::No;
                    }
                }
            }
        }
    }
}
