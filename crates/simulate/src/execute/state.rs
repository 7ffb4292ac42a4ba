//! What a thread has before it while it runs a work-group.

use tripipe_ir as ir;

use super::code::{Code, Edge, End, Inst, NONE};
use super::layout::Layout;
use super::memory::{Memory, Private};
use super::rows::{Rows, WIDTH, first_lanes, lanes, numbers, numbers_mut, true_lanes};
use crate::arch::Arch;
use crate::watch::Watch;

/// Lanes that are at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Party {
    pub(crate) block: u32,
    /// The instruction to go on with.
    pub(crate) inst: u32,
    pub(crate) mask: u64,
    pub(crate) waits: Waits,
}

/// Whom lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nobody: they can go on.
    No,
    /// The rest of their sub-group.
    SubGroup,
    /// The rest of the work-group.
    Group,
}

/// 64 work-items of a group, side by side in the order of their local linear ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warp {
    pub(crate) rows: Rows,
    /// Lanes that are apart, or wait; the lowest place last.
    pub(crate) parties: Vec<Party>,
    pub(crate) privates: Vec<Private>,
    /// Local linear id of lane 0.
    pub(crate) first_item: u32,
    /// Where the last party was that had a turn of its own.
    pub(crate) turn: (u32, u32),
    /// In a checked launch: whether a shadow may have a bit set.
    pub(crate) tainted: bool,
    /// In a checked launch: by register, the instruction that met what nobody had written.
    pub(crate) origins: Vec<u32>,
    /// In a checked launch: by private object and byte, the lanes that have written it.
    pub(crate) private_written: Vec<Vec<u64>>,
    /// In a checked launch: by private object, the lanes for which its block has come to its end.
    pub(crate) private_dead: Vec<u64>,
}

/// Why running stopped short.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// Waits for the rest of the group at this instruction.
    Meet,
    /// Waits for the rest of its sub-groups at this instruction.
    MeetSubGroup,
    /// Cannot go on; what happened.
    Fault(Fault),
    /// The step budget is used up; an instruction of the block that would have been next.
    Steps(Option<ir::Inst>),
    /// Waits for what nobody does any more: what reads the memory, and a work-item.
    Waits(Option<ir::Inst>, u32),
}

/// What a kernel did that has no result.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) origin: ir::Inst,
    pub(crate) item: u32,
    pub(crate) message: String,
}

/// In which order work-items run, and how many side by side. OpenCL promises none; what a kernel does must not depend
/// on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Work-items of a warp, 1 to 64.
    pub(crate) warp: usize,
    /// Whether the last warp of a group runs first, and the last group.
    pub(crate) backward: bool,
    /// Groups run that many apart, wrapping around, where it has no factor in common with their number.
    pub(crate) stride: u64,
}

impl Schedule {
    /// The `index`-th of a list that begins with the usual order; each is another width or order.
    pub fn numbered(index: u32) -> Self {
        let widths = [WIDTH, WIDTH, 16, 4, 1, 8, 32];
        Self {
            warp: widths[index as usize % widths.len()],
            backward: index % 2 == 1,
            stride: if index < 2 { 1 } else { 2 * u64::from(index) + 5 },
        }
    }

    /// The same order with warps of at most so many work-items.
    #[must_use]
    pub fn at_most(self, width: usize) -> Self {
        Self { warp: self.warp.min(width.clamp(1, WIDTH)), ..self }
    }

    /// The same order with warps of at least so many work-items: a sub-group is within a warp.
    #[must_use]
    pub(crate) fn at_least(self, width: usize) -> Self {
        Self { warp: self.warp.max(width), ..self }
    }

    /// The group that runs at a position of `0..groups`.
    pub(crate) fn group(self, position: u64, groups: u64) -> u64 {
        let stride = if gcd(self.stride, groups) == 1 { self.stride } else { 1 };
        let group = ((u128::from(position) * u128::from(stride)) % u128::from(groups)) as u64;
        if self.backward { groups - 1 - group } else { group }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The work-group that runs.
#[allow(clippy::struct_field_names, reason = "a sub-group is called so")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group {
    pub(crate) id: [u64; 3],
    /// Of this group: smaller at the far edges if the range is not a multiple.
    pub(crate) local: [u64; 3],
    /// Of the group in the middle.
    pub(crate) enqueued_local: [u64; 3],
    pub(crate) groups: [u64; 3],
    pub(crate) global: [u64; 3],
    pub(crate) offset: [u64; 3],
    pub(crate) dimensions: u32,
    /// Work-items of a sub-group.
    pub(crate) sub_group: u32,
}

impl Group {
    /// Work-items of this group.
    pub(crate) fn items(&self) -> u64 {
        self.local.iter().product()
    }

    /// Number of this group, dimension 0 fastest.
    pub(crate) fn linear(&self) -> u64 {
        (self.id[2] * self.groups[1] + self.id[1]) * self.groups[0] + self.id[0]
    }

    /// Local id of a local linear id.
    pub(crate) fn local_id(&self, item: u64) -> [u64; 3] {
        let [x, y, _] = self.local;
        [item % x, item / x % y, item / (x * y)]
    }

    /// Global id of a local linear id.
    pub(crate) fn global_id(&self, item: u64) -> [u64; 3] {
        let local = self.local_id(item);
        std::array::from_fn(|d| self.offset[d] + self.id[d] * self.enqueued_local[d] + local[d])
    }
}

/// All a running work-group sees.
pub(crate) struct State<'l> {
    pub(crate) arch: Arch,
    pub(crate) kernel: &'l ir::Kernel,
    pub(crate) code: &'l Code,
    pub(crate) layout: &'l Layout,
    pub(crate) memory: Memory<'l>,
    pub(crate) images: &'l [super::launch::BoundImage],
    /// The warp that runs.
    pub(crate) warp: Warp,
    /// The lanes that run.
    pub(crate) mask: u64,
    pub(crate) group: Group,
    /// In which order and how wide work-items run.
    pub(crate) schedule: Schedule,
    /// Local ids of the group's work-items, for each warp and dimension a row.
    pub(crate) local_ids: Vec<[[u64; WIDTH]; 3]>,
    /// The group size they are for.
    pub(crate) local_ids_of: [u64; 3],
    pub(crate) stop: Option<Stop>,
    /// Instructions it may still run.
    pub(crate) steps: u64,
    /// How many work-items have entered each block of the code.
    pub(crate) entered: Vec<u64>,
    /// The lanes among which the next to run are looked for.
    pub(crate) chosen: u64,
    /// How often memory may have changed, counted in kernels that wait for that.
    pub(crate) changes: u64,
    /// Events of asynchronous copies given out.
    pub(crate) events: u64,
    /// What was printed.
    pub(crate) printed: Vec<u8>,
    /// The watchers of a checked launch.
    pub(crate) watch: Option<Box<Watch>>,
}

impl State<'_> {
    /// Stops at an instruction that has no result for a lane.
    pub(crate) fn fault(&mut self, inst: &Inst, lane: usize, message: String) -> bool {
        let item = self.warp.first_item + lane as u32;
        self.stop = Some(Stop::Fault(Fault { origin: inst.origin, item, message }));
        false
    }

    /// Runs the current warp until all its lanes are done, wait, or cannot go on.
    pub(crate) fn run_warp(&mut self) {
        let code = self.code;
        while let Some(party) = self.next_party() {
            let mut block = party.block;
            let mut first = party.inst as usize;
            self.mask = party.mask;
            loop {
                let at = &code.blocks[block as usize];
                let insts = &at.insts[first..];
                let cost = insts.len() as u64 + 1;
                if self.steps < cost {
                    let origin = insts.last().map(|inst| inst.origin);
                    self.park(Party { block, inst: first as u32, mask: self.mask, waits: Waits::No });
                    self.stop = Some(Stop::Steps(origin));
                    return;
                }
                self.steps -= cost;
                if first == 0 {
                    self.entered[block as usize] += u64::from(self.mask.count_ones());
                }
                let alone = self.warp.parties.is_empty() && code.spins.is_empty();
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
                                self.park(Party { block, inst, mask: self.mask, waits: Waits::Group });
                            }
                            Some(Stop::MeetSubGroup) => self.park_sub_groups(block, inst),
                            _ => return,
                        }
                        self.stop = None;
                        break;
                    }
                }
                if self.mask == 0 {
                    break;
                }
                if self.warp.tainted {
                    self.check_branch(&at.end, at.insts.last().map(|inst| inst.origin));
                }
                match self.leave(&at.end) {
                    Some(next) => block = next,
                    None => break,
                }
                first = 0;
            }
        }
    }

    /// The lanes at the lowest place that do not wait, those that have met there together.
    fn next_party(&mut self) -> Option<Party> {
        if !self.code.spins.is_empty() {
            self.release_sub_groups();
        }
        let parties = &mut self.warp.parties;
        let index = (0..parties.len())
            .filter(|index| parties[*index].waits == Waits::No && parties[*index].mask & self.chosen != 0)
            .min_by_key(|index| (parties[*index].block, parties[*index].inst))?;
        let mut party = parties.swap_remove(index);
        parties.retain(|other| {
            let same = other.waits == Waits::No && (other.block, other.inst) == (party.block, party.inst);
            party.mask |= if same { other.mask } else { 0 };
            !same
        });
        Some(party)
    }

    /// Sets lanes aside; the current mask is empty afterwards.
    pub(super) fn park(&mut self, party: Party) {
        self.warp.parties.push(party);
        self.mask = 0;
    }

    /// Whether lanes that are elsewhere may need any register, not only those that outlive a loop: they wait for others, who
    /// then run what comes behind.
    fn others_keep_all(&self) -> bool {
        !self.code.spins.is_empty() || self.warp.parties.iter().any(|party| party.waits != Waits::No)
    }

    /// Runs an instruction and gives lanes that are elsewhere their old value back.
    fn blended(&mut self, inst: &Inst) -> bool {
        self.changes += u64::from(stores(self.kernel.insts.get(inst.origin).map(|inst| inst.op)));
        if inst.out == NONE || inst.width == 1 {
            return (inst.run)(self, inst);
        }
        let before = self.warp.rows.words(inst.out).to_vec();
        let shadow = inst.out + self.code.shadow;
        let shadow_before = self.watch.is_some().then(|| self.warp.rows.words(shadow).to_vec());
        let goes_on = (inst.run)(self, inst);
        let components = usize::from(inst.components);
        restore(self.warp.rows.words_mut(inst.out), &before, components, !self.mask);
        if let Some(before) = shadow_before {
            restore(self.warp.rows.words_mut(shadow), &before, components, !self.mask);
        }
        goes_on
    }

    /// In a checked launch: whether the way out of a block depends on what nobody has written.
    #[cold]
    fn check_branch(&mut self, end: &End, last: Option<ir::Inst>) {
        match end {
            End::Branch { condition, .. } => crate::watch::taint::branch(self, *condition, 1, last),
            End::Switch { selector, bytes, .. } => crate::watch::taint::branch(self, *selector, *bytes, last),
            End::Jump(_) | End::Return | End::Unreachable => {}
        }
    }

    /// Leaves a block. `Some`: all lanes go to that block and nobody else is to run before.
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
            // The source promises that nobody gets to an unreachable place; who does is done.
            End::Return | End::Unreachable => {
                self.mask = 0;
                None
            }
        }
    }

    /// Goes along an edge with all lanes of the mask.
    fn follow(&mut self, edge: &Edge) -> Option<u32> {
        if self.warp.parties.is_empty() {
            self.move_origins(edge);
            for each in &edge.moves {
                if each.last {
                    self.warp.rows.swap(each.from, each.to);
                } else {
                    let row = self.warp.rows.take(each.to);
                    let mut row = row;
                    row.copy_from_slice(self.warp.rows.words(each.from));
                    self.warp.rows.put(each.to, row);
                }
            }
            return Some(edge.target);
        }
        self.moves(edge, self.mask);
        let alone =
            self.warp.parties.iter().all(|party| party.waits != Waits::No || party.block > edge.target);
        if alone {
            return Some(edge.target);
        }
        self.park(Party { block: edge.target, inst: 0, mask: self.mask, waits: Waits::No });
        None
    }

    fn move_origins(&mut self, edge: &Edge) {
        if self.warp.tainted {
            for each in edge.moves.iter().filter(|each| each.to < self.code.shadow) {
                self.warp.origins[each.to as usize] = self.warp.origins[each.from as usize];
            }
        }
    }

    fn split(&mut self, ways: &[(u64, &Edge)]) {
        for (mask, edge) in ways {
            self.moves(edge, *mask);
        }
        for (mask, edge) in ways {
            self.park(Party { block: edge.target, inst: 0, mask: *mask, waits: Waits::No });
        }
    }

    /// Moves registers for some of the lanes.
    fn moves(&mut self, edge: &Edge, mask: u64) {
        self.move_origins(edge);
        for each in &edge.moves {
            let mut row = self.warp.rows.take(each.to);
            let from = self.warp.rows.words(each.from);
            let shape = self.code.slots[each.to as usize];
            if shape.single {
                row.copy_from_slice(from);
            } else {
                restore(&mut row, from, usize::from(shape.components), mask);
            }
            self.warp.rows.put(each.to, row);
        }
    }
}

/// Whether an operation may write what other work-items can see, atomics aside, which count for themselves.
fn stores(op: Option<ir::Op>) -> bool {
    use ir::Op;
    matches!(
        op,
        Some(Op::Store(_) | Op::Copy(_) | Op::AsyncCopy { .. } | Op::ImageWrite { .. } | Op::Printf(_))
    )
}

/// Copies the lanes of a mask from one row of 64 lanes to another; `components` numbers a lane.
pub(crate) fn restore(to: &mut [u64], from: &[u64], components: usize, mask: u64) {
    fn copy<T: bytemuck::Pod>(to: &mut [u64], from: &[u64], mask: u64) {
        let to = numbers_mut::<T>(to);
        let from = numbers::<T>(from);
        for (to, from) in to.chunks_exact_mut(64).zip(from.chunks_exact(64)) {
            for (lane, (to, from)) in to.iter_mut().zip(from).enumerate() {
                if mask >> lane & 1 == 1 {
                    *to = *from;
                }
            }
        }
    }
    match to.len() / components.max(1) {
        8 => copy::<u8>(to, from, mask),
        16 => copy::<u16>(to, from, mask),
        32 => copy::<u32>(to, from, mask),
        _ => copy::<u64>(to, from, mask),
    }
}

/// A party of all lanes at the start of the code.
pub(crate) fn everyone(items: usize) -> Party {
    Party { block: 0, inst: 0, mask: first_lanes(items), waits: Waits::No }
}
