//! Sub-groups: which lanes an operation of a sub-group waits for.

use super::code::Inst;
use super::ops::meet::perform;
use super::rows::{WIDTH, first_lanes, neighbours};
use super::state::{Party, Present, State, Stop, Waits, Warp};

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
        !self.warp.parties.iter().any(|party| party.mask & wanted != 0 && self.comes(party, inst))
    }

    /// Whether a party may still join the lanes at an instruction.
    fn comes(&self, party: &Party, inst: &Inst) -> bool {
        let at = &self.code.blocks[party.block as usize].insts;
        match party.waits {
            Waits::No => true,
            Waits::SubGroup => at.get(party.inst as usize).is_some_and(|at| std::ptr::eq(at, inst)),
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
            self.park(Party { block, inst, mask: self.mask, waits: Waits::WideSubGroup });
            return;
        }
        // Each sub-group waits by itself: one that is complete must not be held up by another.
        for lanes in neighbours(self.mask, self.group.sub_group) {
            self.mask = lanes;
            let at = &self.code.blocks[block as usize].insts[inst as usize];
            let waits = if self.has_whole_sub_groups(at) { Waits::No } else { Waits::SubGroup };
            self.park(Party { block, inst, mask: lanes, waits });
        }
    }

    /// Performs an operation of each sub-group that several warps run, once none of its lanes can go on: of the lanes
    /// that wait, those at the lowest position. Returns whether there was any; execution may have stopped.
    pub(crate) fn meet_wide_sub_groups(&mut self, warps: &mut [Warp]) -> bool {
        let code = self.code;
        let place = |party: &Party| (party.block, party.inst);
        let mut met = false;
        for warps in warps.chunks_mut(self.group.sub_group as usize / WIDTH) {
            let parties = || warps.iter().flat_map(|warp| &warp.parties);
            if parties().any(|party| !party.waits.is_for_other_warps()) {
                continue;
            }
            let waiting = parties().filter(|party| party.waits == Waits::WideSubGroup);
            let Some((block, inst)) = waiting.map(place).min() else { continue };
            let meets = |party: &Party| party.waits == Waits::WideSubGroup && place(party) == (block, inst);
            let mask_of = |warp: &Warp| {
                warp.parties.iter().filter(|party| meets(party)).fold(0, |mask, party| mask | party.mask)
            };
            let mut present: Vec<Present<'_>> = warps
                .iter_mut()
                .map(|warp| Present { mask: mask_of(warp), warp })
                .filter(|present| present.mask != 0)
                .collect();
            if !perform(self, &code.blocks[block as usize].insts[inst as usize], &mut present) {
                return true;
            }
            for party in warps.iter_mut().flat_map(|warp| &mut warp.parties) {
                if meets(party) {
                    party.waits = Waits::No;
                    party.inst += 1;
                }
            }
            met = true;
        }
        met
    }

    /// Releases waiting sub-groups when no running lane can still join them.
    pub(crate) fn release_sub_groups(&mut self) {
        for index in 0..self.warp.parties.len() {
            let party = self.warp.parties[index];
            let all = self.sub_group(party.mask);
            let runs = |other: &Party| other.waits == Waits::No && other.mask & all != 0;
            if party.waits == Waits::SubGroup && !self.warp.parties.iter().any(runs) {
                for other in &mut self.warp.parties {
                    let here = (other.block, other.inst) == (party.block, party.inst);
                    if here && other.waits == Waits::SubGroup && other.mask & all != 0 {
                        other.waits = Waits::No;
                    }
                }
            }
        }
    }
}
