//! A work-group: runs its warps one after the other and handles the points where they wait for each other.

use super::ops::meet::together;
use super::rows::{WIDTH, first_lanes};
use super::state::{Fault, LaneGroup, Present, State, Stop, Waits, Warp};
use super::turns::Snapshot;

impl State<'_> {
    /// Runs the current group to its end, or until execution stops early.
    pub(crate) fn run_group(&mut self, warps: &mut Vec<Warp>) {
        let items = self.group.items() as usize;
        self.number_items();
        self.observe(|observer, s| observer.start_group(s));
        // Local memory has no defined contents. Zeros make a run repeatable.
        for local in &mut self.memory.locals {
            local.fill(0);
        }
        for [copy, of] in &self.memory_map.copies {
            self.memory.copy_whole(*copy, *of);
        }
        let count = items.div_ceil(self.schedule.warp);
        if !self.code.interleaves(&self.group) {
            for index in 0..count {
                let index = if self.schedule.backward { count - 1 - index } else { index };
                self.start_warp(index, items);
                self.run_warp();
                if self.stop.is_some() {
                    return;
                }
            }
            return;
        }
        // Work-items wait for each other: all warps of the work-group are in progress, each with registers of its own.
        while warps.len() < count {
            warps.push(self.warp.clone());
        }
        for (index, warp) in warps.iter_mut().take(count).enumerate() {
            std::mem::swap(&mut self.warp, warp);
            self.start_warp(index, items);
            std::mem::swap(&mut self.warp, warp);
        }
        let warps = &mut warps[..count];
        let mut past = Snapshot::default();
        loop {
            let mut running = false;
            for index in 0..count {
                let index = if self.schedule.backward { count - 1 - index } else { index };
                let warp = &mut warps[index];
                // Swapped in, because operations find the current warp in the state.
                std::mem::swap(&mut self.warp, warp);
                if self.code.spins.is_empty() {
                    self.run_warp();
                } else {
                    self.take_turn();
                    running |=
                        self.warp.lane_groups.iter().any(|lane_group| !lane_group.waits.is_for_other_warps());
                }
                std::mem::swap(&mut self.warp, warp);
                if self.stop.is_some() {
                    return;
                }
            }
            if self.group.has_wide_sub_groups() {
                let met = self.meet_wide_sub_groups(warps);
                if self.stop.is_some() {
                    return;
                }
                // A sub-group that has met goes on, so the work-group is not at a standstill.
                if met {
                    continue;
                }
            }
            if running {
                if self.stands_still(&mut past, warps) {
                    return;
                }
                continue;
            }
            // The group is past a meeting, so the search for a repetition starts again.
            past = Snapshot::default();
            if !self.meet(warps) {
                return;
            }
        }
    }

    /// Computes the local ids, unless the previous group had the same size.
    fn number_items(&mut self) {
        // Divisions are slow, and all groups but those at the far edges have the same size.
        if self.local_ids_of == self.group.local {
            return;
        }
        self.local_ids_of = self.group.local;
        self.local_ids.clear();
        for first in (0..self.group.items()).step_by(self.schedule.warp) {
            let mut ids = [[0; WIDTH]; 3];
            for lane in 0..WIDTH {
                let id = self.group.local_id(first + lane as u64);
                for (ids, id) in ids.iter_mut().zip(id) {
                    ids[lane] = id;
                }
            }
            self.local_ids.push(ids);
        }
    }

    fn start_warp(&mut self, index: usize, items: usize) {
        self.warp.first_item = (index * self.schedule.warp) as u32;
        self.warp.number = if self.code.interleaves(&self.group) { index as u32 } else { 0 };
        self.warp.lane_groups.clear();
        let left = items - index * self.schedule.warp;
        let mask = first_lanes(left.min(self.schedule.warp));
        self.warp.lane_groups.push(LaneGroup { block: 0, inst: 0, mask, waits: Waits::No });
        self.observe(|observer, s| observer.start_warp(s));
        for (private, shape) in self.warp.privates.iter_mut().zip(&self.memory_map.privates) {
            private.bytes.fill(0);
            for (offset, byte) in shape.initial.iter().take(shape.bytes).enumerate() {
                for lane in 0..WIDTH {
                    let position = private.position(offset, lane);
                    private.bytes[position] = *byte;
                }
            }
        }
    }

    /// Continues the group after all work-items have reached the same wait. Returns `false` if nothing waits, or
    /// execution stopped early.
    fn meet(&mut self, warps: &mut [Warp]) -> bool {
        let mut waiting = warps
            .iter()
            .enumerate()
            .flat_map(|(index, warp)| warp.lane_groups.iter().map(move |lane_group| (index, *lane_group)));
        let Some((_, first)) = waiting.next() else { return false };
        let at = |lane_group: &LaneGroup| (lane_group.block, lane_group.inst);
        if let Some((index, other)) = waiting.find(|(_, lane_group)| at(lane_group) != at(&first)) {
            let here = &self.code.blocks[other.block as usize].insts[other.inst as usize];
            let item = warps[index].first_item + other.mask.trailing_zeros();
            let there = self.code.blocks[first.block as usize].insts[first.inst as usize].origin;
            // An observer reports it in its own way, instead of a fault.
            if self.observe(|observer, s| observer.meet_elsewhere(s, here, item, there)).is_some() {
                return false;
            }
            let there =
                self.kernel.insts[there].location.map_or(0, |location| self.kernel.locations[location].line);
            let message = format!(
                "waits here for work-items of its group that wait at another location (line \
                    {there})"
            );
            self.stop = Some(Stop::Fault(Fault { origin: here.origin, item, message }));
            return false;
        }
        let code = self.code;
        let inst = &code.blocks[first.block as usize].insts[first.inst as usize];
        let mut present: Vec<Present<'_>> = warps
            .iter_mut()
            .map(|warp| Present {
                mask: warp.lane_groups.iter().fold(0, |mask, lane_group| mask | lane_group.mask),
                warp,
            })
            .filter(|present| present.mask != 0)
            .collect();
        if !together(self, inst, &mut present) {
            return false;
        }
        for warp in warps {
            for lane_group in &mut warp.lane_groups {
                lane_group.waits = Waits::No;
                lane_group.inst += 1;
            }
        }
        true
    }
}
