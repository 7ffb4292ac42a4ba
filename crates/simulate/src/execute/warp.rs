//! Runs a warp: instruction by instruction, along the edges between blocks, with the lanes that are at the lowest
//! position first.

use tripipe_ir as ir;

use super::code::{End, Inst, NONE};
use super::edge::Edge;
use super::effects::stores;
use super::rows::{lanes, numbers, restore, true_lanes};
use super::state::{LaneGroup, State, Stop, Waits};

impl State<'_> {
    /// Runs the current warp until all its lanes are done, wait, or cannot continue.
    pub(crate) fn run_warp(&mut self) {
        let code = self.code;
        while let Some(lane_group) = self.next_lane_group() {
            let mut block = lane_group.block;
            let mut first = lane_group.inst as usize;
            self.mask = lane_group.mask;
            loop {
                let at = &code.blocks[block as usize];
                let insts = &at.insts[first..];
                let cost = insts.len() as u64 + 1;
                // A block runs as a whole or not at all, so its steps are counted once.
                if self.steps < cost {
                    let origin = insts.last().map(|inst| inst.origin);
                    self.park(LaneGroup { block, inst: first as u32, mask: self.mask, waits: Waits::No });
                    self.stop = Some(Stop::Steps(origin));
                    return;
                }
                self.steps -= cost;
                // A block that continues after a wait was counted when it was entered.
                if first == 0 {
                    self.entered[block as usize] += u64::from(self.mask.count_ones());
                }
                if let (true, Some(of)) = (self.observer.is_some(), at.of) {
                    self.observe(|observer, s| observer.enter(s, of, first == 0));
                }
                // Without other lanes there is nothing to preserve.
                let alone = self.warp.lane_groups.is_empty() && code.spins.is_empty();
                let careful = !alone && self.others_keep_all();
                for (index, inst) in insts.iter().enumerate() {
                    let goes_on = if alone || !(inst.blend || careful) {
                        (inst.run)(self, inst)
                    } else {
                        self.blended(inst)
                    };
                    if !goes_on {
                        let inst = (first + index) as u32;
                        match self.stop {
                            Some(Stop::Meet) => {
                                self.park(LaneGroup { block, inst, mask: self.mask, waits: Waits::Group });
                            }
                            Some(Stop::MeetSubGroup) => self.park_sub_groups(block, inst),
                            _ => return,
                        }
                        self.stop = None;
                        break;
                    }
                }
                // The lanes were parked, and others come first.
                if self.mask == 0 {
                    break;
                }
                if self.observer.is_some() {
                    self.observe_end(&at.end, at.insts.last().map(|inst| inst.origin));
                }
                match self.leave(&at.end) {
                    Some(next) => block = next,
                    None => break,
                }
                first = 0;
            }
        }
    }

    /// The non-waiting lanes at the lowest position, merged into one lane group.
    fn next_lane_group(&mut self) -> Option<LaneGroup> {
        if !self.code.spins.is_empty() {
            self.release_sub_groups();
        }
        let lane_groups = &mut self.warp.lane_groups;
        let index = (0..lane_groups.len())
            .filter(|index| {
                lane_groups[*index].waits == Waits::No && lane_groups[*index].mask & self.chosen != 0
            })
            .min_by_key(|index| (lane_groups[*index].block, lane_groups[*index].inst))?;
        let mut lane_group = lane_groups.swap_remove(index);
        // Lanes that meet at a position go on as one group: here they reconverge.
        lane_groups.retain(|other| {
            let same =
                other.waits == Waits::No && (other.block, other.inst) == (lane_group.block, lane_group.inst);
            lane_group.mask |= if same { other.mask } else { 0 };
            !same
        });
        Some(lane_group)
    }

    /// Whether inactive lanes may need any register, not only those that outlive a loop: waiting lanes run later code
    /// afterwards.
    fn others_keep_all(&self) -> bool {
        !self.code.spins.is_empty()
            || self.warp.lane_groups.iter().any(|lane_group| lane_group.waits != Waits::No)
    }

    /// Runs an instruction and restores the previous values of inactive lanes.
    fn blended(&mut self, inst: &Inst) -> bool {
        self.changes += u64::from(stores(self.kernel.insts.get(inst.origin).map(|inst| inst.op)));
        if inst.out == NONE || inst.width == 1 {
            return (inst.run)(self, inst);
        }
        let before = self.warp.rows.words(inst.out).to_vec();
        self.blends = true;
        let goes_on = (inst.run)(self, inst);
        self.blends = false;
        let components = usize::from(inst.components);
        restore(self.warp.rows.words_mut(inst.out), &before, components, !self.mask);
        goes_on
    }

    /// Reports the exit of a block whose direction depends on a register.
    #[cold]
    fn observe_end(&mut self, end: &End, last: Option<ir::Inst>) {
        let (register, bytes) = match end {
            End::Branch { condition, .. } => (*condition, 1),
            End::Switch { selector, bytes, .. } => (*selector, *bytes),
            End::Jump(_) | End::Return | End::Unreachable => return,
        };
        self.observe(|observer, s| observer.branch(s, register, bytes, last));
    }

    /// Leaves a block. Returns the next block if all active lanes go there and no other lanes must run first.
    fn leave(&mut self, end: &End) -> Option<u32> {
        match end {
            End::Jump(edge) => self.follow(edge),
            End::Branch { condition, then, otherwise } => {
                let values = self.warp.rows.words(*condition);
                let taken = if values.len() == 1 {
                    if values[0] & 1 == 1 { u64::MAX } else { 0 }
                } else {
                    true_lanes(numbers(values))
                };
                let taken = taken & self.mask;
                if taken == self.mask {
                    self.follow(then)
                } else if taken == 0 {
                    self.follow(otherwise)
                } else {
                    let rest = self.mask & !taken;
                    self.split(&[(taken, then), (rest, otherwise)]);
                    None
                }
            }
            End::Switch { selector, bytes, cases, default } => {
                let single = self.warp.rows.words(*selector).len() == 1;
                let edge =
                    |bits: u64| cases.iter().find(|case| case.0 == bits).map_or(default, |case| &case.1);
                if single {
                    return self.follow(edge(self.warp.rows.bits(*selector, 0, *bytes)));
                }
                let mut ways: Vec<(u64, &Edge)> = Vec::new();
                for lane in lanes(self.mask) {
                    let to = edge(self.warp.rows.bits(*selector, lane, *bytes));
                    // By identity: two edges to the same block may move different values.
                    match ways.iter_mut().find(|way| std::ptr::eq(way.1, to)) {
                        Some(way) => way.0 |= 1 << lane,
                        None => ways.push((1 << lane, to)),
                    }
                }
                if let [(_, only)] = ways[..] {
                    return self.follow(only);
                }
                self.split(&ways);
                None
            }
            // The source promises that unreachable code is not reached; lanes that reach it end.
            End::Return | End::Unreachable => {
                self.mask = 0;
                None
            }
        }
    }

    /// Follows an edge with all active lanes.
    fn follow(&mut self, edge: &Edge) -> Option<u32> {
        if self.warp.lane_groups.is_empty() {
            self.moves(edge, None);
            return Some(edge.target);
        }
        self.moves(edge, Some(self.mask));
        // The lowest position runs first, so these lanes go on only if no others are behind them.
        let alone = self
            .warp
            .lane_groups
            .iter()
            .all(|lane_group| lane_group.waits != Waits::No || lane_group.block > edge.target);
        if alone {
            return Some(edge.target);
        }
        self.park(LaneGroup { block: edge.target, inst: 0, mask: self.mask, waits: Waits::No });
        None
    }

    fn split(&mut self, ways: &[(u64, &Edge)]) {
        // All moves come first, because parking clears the active lanes that an observer looks at.
        for (mask, edge) in ways {
            self.moves(edge, Some(*mask));
        }
        for (mask, edge) in ways {
            self.park(LaneGroup { block: edge.target, inst: 0, mask: *mask, waits: Waits::No });
        }
    }

    /// Moves registers for some of the lanes; `None` for all.
    fn moves(&mut self, edge: &Edge, mask: Option<u64>) {
        self.warp.rows.follow(&self.code.slots, edge, mask);
        self.observe(|observer, s| observer.edge(s, edge, mask));
    }
}
