//! The observer of a launch that carries sets beside its values.

use std::collections::HashMap;
use std::ops::Range;

use tripipe_ir as ir;
use tripipe_ir::flow::{Cfg, Dominators};
use tripipe_ir::{Inst as IrInst, Kernel, Module, Op};
use tripipe_launch::MemoryId;

use super::sets::{EMPTY, Set, Sets};
use super::{NeededLines, add_lines};
use crate::execute::code::{Inst, value_bytes};
use crate::execute::edge::Edge;
use crate::execute::effects::is_collective;
use crate::execute::memory::parts;
use crate::execute::memory_map::MemoryMap;
use crate::execute::observer::{Observed, Observer};
use crate::execute::ops::copy::Elements;
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::{Present, State};
use crate::shadow::{Shadows, pieces};

/// The sets of words of 4 bytes, by address.
type Words = HashMap<u64, Set>;

/// The branches of a warp.
struct Control {
    /// What decided that a lane runs its current block.
    here: [Set; WIDTH],
    /// What the last branch at the end of a block depended on.
    decided: HashMap<ir::Block, [Set; WIDTH]>,
    block: ir::Block,
}

impl Default for Control {
    fn default() -> Self {
        Self { here: [EMPTY; WIDTH], decided: HashMap::new(), block: Kernel::ENTRY }
    }
}

/// The dependences of a launch.
pub(crate) struct Dependence {
    sets: Sets,
    /// The address of the number.
    place: Option<u64>,
    /// For each block the blocks whose branches decide whether it runs.
    deciders: HashMap<ir::Block, Vec<ir::Block>>,
    /// The set of a register is that of its first component.
    shadows: Shadows<Set, Words, Control>,
    /// What an object depends on where the part of it that was written is unknown.
    objects: HashMap<u32, Set>,
    /// What work-items pass to the others, by instruction.
    shared: HashMap<IrInst, Set>,
    /// What the barriers depend on that were reached; they are part of every slice.
    barriers: Set,
}

impl Dependence {
    /// Nothing ran yet; the number is at a byte offset of a memory object.
    pub(crate) fn new(kernel: &Kernel, memory_map: &MemoryMap, (memory, offset): (MemoryId, usize)) -> Self {
        Self {
            sets: Sets::new(kernel.insts.len() + kernel.blocks.len()),
            place: memory_map.address(memory, offset),
            deciders: deciders(kernel),
            shadows: Shadows::default(),
            objects: HashMap::new(),
            shared: HashMap::new(),
            barriers: EMPTY,
        }
    }

    /// The lines that the number depends on.
    pub(crate) fn finish(mut self, module: &Module, kernel: &Kernel) -> NeededLines {
        let mut lines = NeededLines::default();
        let insts = kernel.insts.len();
        let location = |number: usize| match number.checked_sub(insts) {
            Some(block) => kernel.blocks[ir::Block::from_u32(block as u32)].terminator.location,
            None => kernel.insts[IrInst::from_u32(number as u32)].location,
        };
        for data in kernel.blocks.values() {
            let all = data.insts.iter().map(|inst| kernel.insts[*inst].location);
            for at in all.chain([data.terminator.location]) {
                add_lines(&mut lines.known, module, kernel, at);
            }
        }
        let written = self.place.map_or(EMPTY, |place| {
            let word = self.shadows.global.get(&(place >> 2)).copied().unwrap_or(EMPTY);
            let whole = self.objects.get(&parts(place).0).copied().unwrap_or(EMPTY);
            self.sets.union(word, whole)
        });
        if written != EMPTY {
            let all = self.sets.union(written, self.barriers);
            for number in self.sets.numbers(all) {
                add_lines(&mut lines.needed, module, kernel, location(number));
            }
        }
        lines
    }

    /// An instruction and its operands in a lane, and what decided that it runs.
    fn used(&mut self, s: &State<'_>, i: &Inst, lane: usize) -> Set {
        let mut set = self.sets.one(i.origin.as_u32() as usize);
        set = self.sets.union(set, self.shadows.path(s).here[lane]);
        for operand in 0..s.kernel.insts[i.origin].operands.len() {
            let of = self.shadows.get(s, i.arg(operand), 0, lane);
            set = self.sets.union(set, of);
        }
        set
    }

    fn load(&mut self, s: &State<'_>, address: u64, bytes: u64, lane: usize) -> Set {
        let mut set = self.objects.get(&parts(address).0).copied().unwrap_or(EMPTY);
        for word in address >> 2..=(address + bytes.max(1) - 1) >> 2 {
            let of = self.shadows.memory(s, address, lane).get(&word).copied().unwrap_or(EMPTY);
            set = self.sets.union(set, of);
        }
        set
    }

    fn store(&mut self, s: &State<'_>, address: u64, bytes: u64, lane: usize, set: Set) {
        for word in address >> 2..=(address + bytes.max(1) - 1) >> 2 {
            let is_whole = word << 2 >= address && (word << 2) + 4 <= address + bytes;
            let before = self.shadows.memory(s, address, lane).get(&word).copied().unwrap_or(EMPTY);
            let after = if is_whole { set } else { self.sets.union(before, set) };
            self.shadows.memory(s, address, lane).insert(word, after);
        }
    }

    /// The bytes that an access reaches, by the type of its value.
    fn bytes(s: &State<'_>, value: Option<ir::Value>) -> u64 {
        value.map_or(0, |value| u64::from(value_bytes(s.kernel.ty(value))))
    }

    /// Adds to what some part of an object depends on.
    fn add_to_object(&mut self, object: u32, set: Set) {
        let before = self.objects.get(&object).copied().unwrap_or(EMPTY);
        let after = self.sets.union(before, set);
        self.objects.insert(object, after);
    }

    /// An instruction in a lane, before it runs.
    fn lane(&mut self, s: &State<'_>, i: &Inst, lane: usize) {
        let data = &s.kernel.insts[i.origin];
        let mut set = self.used(s, i, lane);
        let word = |index: usize| {
            let row = s.warp.rows.words(i.arg(index));
            row.get(lane).or(row.first()).copied().unwrap_or(0)
        };
        match data.op {
            Op::Load(_) => {
                let bytes = Self::bytes(s, data.result);
                let loaded = self.load(s, s.address(i.args[0], lane), bytes, lane);
                set = self.sets.union(set, loaded);
            }
            Op::Store(_) => {
                let bytes = Self::bytes(s, data.operands.get(1).copied());
                self.store(s, s.address(i.args[0], lane), bytes, lane, set);
            }
            Op::Copy(_) => {
                let [to, from, count] = std::array::from_fn(word);
                for (at, bytes) in pieces(to, count, 4) {
                    let moved = self.load(s, from.wrapping_add(at), bytes, lane);
                    let moved = self.sets.union(set, moved);
                    self.store(s, to.wrapping_add(at), bytes, lane, moved);
                }
            }
            Op::Atomic(_) => {
                let address = s.address(i.args[0], lane);
                let bytes = Self::bytes(s, data.operands.get(1).copied().or(data.result));
                let before = self.load(s, address, bytes, lane);
                set = self.sets.union(set, before);
                self.store(s, address, bytes, lane, set);
            }
            Op::ImageWrite { .. } => {
                if let Some(bound) = s.images.get(word(0) as usize) {
                    self.add_to_object(bound.object, set);
                }
            }
            Op::ImageRead { .. } | Op::ImageSample(_) => {
                if let Some(bound) = s.images.get(word(0) as usize) {
                    let whole = self.objects.get(&bound.object).copied().unwrap_or(EMPTY);
                    set = self.sets.union(set, whole);
                }
            }
            op if is_collective(op) => {
                let others = self.shared.get(&i.origin).copied().unwrap_or(EMPTY);
                set = self.sets.union(set, others);
                self.shared.insert(i.origin, set);
                self.barriers = self.sets.union(self.barriers, set);
            }
            _ => {}
        }
        self.shadows.set(s, i.out, 0, lane, set);
    }
}

/// For each block, the blocks whose branches decide whether it runs: one way leads to it, another one can avoid it. That is
/// control dependence by post-dominators (Ferrante, Ottenstein and Warren 1987).
fn deciders(kernel: &Kernel) -> HashMap<ir::Block, Vec<ir::Block>> {
    let cfg = Cfg::new(kernel);
    let post = Dominators::post(&cfg);
    let mut all: HashMap<ir::Block, Vec<ir::Block>> = HashMap::new();
    for branch in kernel.blocks.keys().filter(|block| cfg.is_reachable(*block)) {
        let calls = kernel.blocks[branch].terminator.calls();
        if calls.len() < 2 {
            continue;
        }
        for call in calls {
            let mut at = Some(call.block);
            while let Some(block) = at.filter(|block| Some(*block) != post.immediate(branch)) {
                let of = all.entry(block).or_default();
                if of.contains(&branch) {
                    break;
                }
                of.push(branch);
                at = post.immediate(block);
            }
        }
    }
    all
}

impl Observer for Dependence {
    fn start_group(&mut self, _: &State<'_>) {
        self.shadows.start_group();
        self.shared.clear();
    }

    fn start_warp(&mut self, s: &State<'_>) {
        self.shadows.start_warp(s);
    }

    fn enter(&mut self, s: &State<'_>, block: ir::Block, _: bool) {
        let control = self.shadows.path_mut(s);
        control.block = block;
        let branches = self.deciders.get(&block).map_or(&[][..], |branches| &branches[..]);
        for lane in lanes(s.mask) {
            let decided = branches.iter().filter_map(|branch| control.decided.get(branch));
            control.here[lane] = decided.fold(EMPTY, |set, decided| self.sets.union(set, decided[lane]));
        }
    }

    fn instruction(&mut self, s: &mut State<'_>, i: &Inst) -> Observed {
        if i.width == 1 {
            let first = s.mask.trailing_zeros() as usize % WIDTH;
            self.lane(s, i, first);
        } else {
            for lane in lanes(s.mask) {
                self.lane(s, i, lane);
            }
        }
        Observed::Passed
    }

    fn splat(&mut self, s: &mut State<'_>, i: &Inst) {
        self.shadows.splat(s, i);
    }

    fn branch(&mut self, s: &State<'_>, register: u32, _: u32, _: Option<IrInst>) {
        let block = self.shadows.path(s).block;
        let own = self.sets.one(s.kernel.insts.len() + block.as_u32() as usize);
        for lane in lanes(s.mask) {
            let condition = self.shadows.get(s, register, 0, lane);
            let control = self.shadows.path_mut(s);
            let set = self.sets.union(own, condition);
            let set = self.sets.union(set, control.here[lane]);
            control.decided.entry(block).or_insert([EMPTY; WIDTH])[lane] = set;
        }
    }

    fn edge(&mut self, s: &State<'_>, edge: &Edge, mask: Option<u64>) {
        self.shadows.follow(s, edge, mask);
        // The value that a register gets tells which way the lane came, also if it is a constant.
        for (index, lane) in lanes(mask.unwrap_or(s.mask)).enumerate() {
            let control = self.shadows.path(s);
            let decided = control.decided.get(&control.block).map_or(EMPTY, |decided| decided[lane]);
            let taken = self.sets.union(control.here[lane], decided);
            for to in edge.moves.iter().map(|each| each.to) {
                if index == 0 || !s.code.slots[to as usize].single {
                    let set = self.sets.union(self.shadows.get(s, to, 0, lane), taken);
                    self.shadows.set(s, to, 0, lane, set);
                }
            }
        }
    }

    fn start_copy(&mut self, s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>], _: u64) -> Range<u64> {
        if let Some(elements) = Elements::of(s, i, present) {
            let [to, from] = elements.addresses.map(|address| parts(address).0);
            let words = self.shadows.global.iter().chain(&self.shadows.local);
            let read = words.filter(|(word, _)| parts(**word << 2).0 == from).map(|(_, set)| set);
            let read = read.chain(self.objects.get(&from)).chain(self.shared.get(&i.origin));
            let own = self.sets.one(i.origin.as_u32() as usize);
            let set = read.fold(own, |set, read| self.sets.union(set, *read));
            self.add_to_object(to, set);
        }
        0..u64::MAX
    }
}
