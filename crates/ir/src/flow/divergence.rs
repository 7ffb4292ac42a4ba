//! Divergence analysis: which values are the same for all work-items of a group, and how the others change from one
//! work-item to the next.
//!
//! The lattice of a value's [`Variation`], from known to unknown: *affine* with constant coefficients in the local ids (all
//! zero: uniform), *linear* (affine with uniform but unknown coefficients), *divergent*. Everything starts as uniform
//! and is lowered to a fixed point. Two rules beyond plain data flow:
//!
//! - *Join*: where the paths of a divergent branch join, block parameters diverge. The blocks are those that both paths
//!   reach before the branch's post-dominator, and the post-dominator itself.
//! - *Loop*: when work-items leave a loop in different iterations, values computed inside diverge for uses outside.
//!
//! A load is uniform if its address is uniform and the memory is constant. Any other load is divergent: it may see
//! another work-item's store, and private memory at a uniform index is divergent too.

use std::collections::HashMap;

use cranelift_entity::{EntitySet, SecondaryMap};

use super::{Cfg, Dominators, Loops};
use crate::op::{Address, Binary, GroupOp, GroupScope, Number, QueryKind};
use crate::{Block, Inst, Kernel, Op, Space, Type, Value, ValueDef};

/// How a value changes across the work-items of a work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    /// `uniform + c0 * local_id(0) + c1 * local_id(1) + c2 * local_id(2)`, in the value's own width.
    Affine([i64; 3]),
    /// The same with coefficients that are uniform but not known; `false` where a coefficient is certainly 0.
    Linear([bool; 3]),
    /// Any change.
    Divergent,
}

impl Variation {
    /// The same for all work-items.
    pub const UNIFORM: Self = Self::Affine([0; 3]);

    /// Whether all work-items of a group have the same value.
    pub fn is_uniform(self) -> bool {
        self == Self::UNIFORM
    }

    /// The coefficient of a local id, if it is known.
    pub fn coefficient(self, dimension: usize) -> Option<i64> {
        match self {
            Self::Affine(coefficients) => coefficients.get(dimension).copied(),
            Self::Linear(used) => used.get(dimension).filter(|used| !**used).map(|_| 0),
            Self::Divergent => None,
        }
    }

    fn used(self) -> Option<[bool; 3]> {
        match self {
            Self::Affine(coefficients) => Some(coefficients.map(|coefficient| coefficient != 0)),
            Self::Linear(used) => Some(used),
            Self::Divergent => None,
        }
    }

    fn combine(self, other: Self, with: impl Fn(i64, i64) -> i64) -> Self {
        match (self, other) {
            (Self::Affine(a), Self::Affine(b)) => {
                Self::Affine([with(a[0], b[0]), with(a[1], b[1]), with(a[2], b[2])])
            }
            _ => match (self.used(), other.used()) {
                (Some(a), Some(b)) => Self::Linear([a[0] || b[0], a[1] || b[1], a[2] || b[2]]),
                _ => Self::Divergent,
            },
        }
    }

    fn scaled(self, by: Option<i64>) -> Self {
        match (self, by) {
            _ if self.is_uniform() => self,
            (Self::Affine(a), Some(by)) => Self::Affine(a.map(|coefficient| coefficient.wrapping_mul(by))),
            _ => self.used().map_or(Self::Divergent, Self::Linear),
        }
    }

    /// Uniform if uniform, otherwise divergent.
    fn opaque(self) -> Self {
        if self.is_uniform() { self } else { Self::Divergent }
    }

    /// The most precise variation that covers both: where two values join on uniform paths.
    fn meet(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        match (self, other) {
            // The same slope from another start.
            (Self::Affine(_) | Self::Linear(_), Self::Affine(_) | Self::Linear(_)) => {
                self.combine(other, |a, _| a).demoted()
            }
            _ => Self::Divergent,
        }
    }

    fn demoted(self) -> Self {
        self.used().map_or(Self::Divergent, Self::Linear)
    }

    /// Height in the lattice; it only decreases.
    fn rank(self) -> u8 {
        match self {
            Self::Affine([0, 0, 0]) => 3,
            Self::Affine(_) => 2,
            Self::Linear(_) => 1,
            Self::Divergent => 0,
        }
    }
}

/// Variations of all values, and which branches diverge.
#[derive(Clone, Debug)]
pub struct Divergence {
    variations: SecondaryMap<Value, Option<Variation>>,
    divergent_branches: EntitySet<Block>,
    divergent_blocks: EntitySet<Block>,
}

impl Divergence {
    /// Runs the analysis.
    pub fn new(kernel: &Kernel, cfg: &Cfg, post: &Dominators, loops: &Loops) -> Self {
        let mut analysis = DivergenceAnalysis {
            kernel,
            cfg,
            post,
            loops,
            result: Self {
                variations: SecondaryMap::new(),
                divergent_branches: EntitySet::new(),
                divergent_blocks: EntitySet::new(),
            },
            joins: EntitySet::new(),
            left_unevenly: vec![false; loops.all.len()],
            homes: SecondaryMap::new(),
        };
        for (block, data) in &kernel.blocks {
            for inst in &data.insts {
                analysis.homes[*inst] = Some(block);
            }
        }
        while analysis.round() {}
        analysis.result
    }

    /// How a value changes across the work-items of a group; constants and unreachable values are uniform.
    pub fn variation(&self, value: Value) -> Variation {
        self.variations[value].unwrap_or(Variation::UNIFORM)
    }

    /// Whether work-items of one group may take different successors of the block.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.divergent_branches.contains(block)
    }

    /// Whether some work-items of a group may be in the block while others are not.
    pub fn is_divergent_block(&self, block: Block) -> bool {
        self.divergent_blocks.contains(block)
    }
}

struct DivergenceAnalysis<'k> {
    kernel: &'k Kernel,
    cfg: &'k Cfg,
    post: &'k Dominators,
    loops: &'k Loops,
    result: Divergence,
    /// Blocks where the paths of a divergent branch join.
    joins: EntitySet<Block>,
    /// Loops that work-items leave in different iterations.
    left_unevenly: Vec<bool>,
    /// The block of each instruction.
    homes: SecondaryMap<Inst, Option<Block>>,
}

impl DivergenceAnalysis<'_> {
    fn round(&mut self) -> bool {
        let mut changed = false;
        for block in &self.cfg.order {
            for (position, parameter) in self.kernel.blocks[*block].parameters.iter().enumerate() {
                let variation = self.parameter(*block, position);
                changed |= self.lower(*parameter, variation);
            }
            for inst in &self.kernel.blocks[*block].insts {
                if let Some(result) = self.kernel.insts[*inst].result {
                    let variation = self.instruction(*inst, *block);
                    changed |= self.lower(result, variation);
                }
            }
            if let Some(decider) = self.kernel.blocks[*block].terminator.decider()
                && !self.variation_at_use(decider, *block).is_uniform()
                && self.cfg.successors[*block].len() > 1
                && self.result.divergent_branches.insert(*block)
            {
                self.diverge(*block);
                changed = true;
            }
        }
        changed
    }

    fn lower(&mut self, value: Value, variation: Variation) -> bool {
        let known = self.result.variations[value];
        let lowered = match known {
            None => variation,
            Some(known) if known == variation => return false,
            // It falls, or is another variation of the same height: then one step lower.
            Some(known) if variation.rank() < known.rank() => variation,
            Some(known) => known.meet(variation).min_rank(known),
        };
        self.result.variations[value] = Some(lowered);
        known != Some(lowered)
    }

    /// The variation of a value at its use: values from a loop that is left in different iterations diverge.
    fn variation_at_use(&self, value: Value, user: Block) -> Variation {
        let variation = self.result.variation(value);
        if variation == Variation::Divergent {
            return variation;
        }
        let Some(home) = self.home(value) else { return variation };
        let mut at = self.loops.around(home);
        while let Some(index) = at {
            if self.left_unevenly[index] && !self.loops.contains(index, user) {
                return Variation::Divergent;
            }
            at = self.loops.all[index].outer;
        }
        variation
    }

    fn home(&self, value: Value) -> Option<Block> {
        match self.kernel.values[value].def {
            ValueDef::Parameter(block, _) => Some(block),
            ValueDef::Result(inst) => self.homes[inst],
            ValueDef::Constant(_) => None,
        }
    }

    fn diverge(&mut self, block: Block) {
        let stop = self.post.immediate(block);
        // Blocks that its paths reach before the post-dominator, each with the last path that reaches it.
        let mut reached: HashMap<Block, usize> = HashMap::new();
        for (way, target) in self.cfg.successors[block].iter().enumerate() {
            let mut work = vec![*target];
            while let Some(at) = work.pop() {
                match reached.insert(at, way) {
                    Some(last) if last == way => continue,
                    Some(_) if at != block => drop(self.joins.insert(at)),
                    _ => {}
                }
                if Some(at) != stop {
                    self.result.divergent_blocks.insert(at);
                    if at != block {
                        work.extend(&self.cfg.successors[at]);
                    }
                }
            }
        }
        // An exit of a loop between the branch and its post-dominator is taken by some work-items earlier than by
        // others.
        let mut around = self.loops.around(block);
        while let Some(index) = around {
            let each = &self.loops.all[index];
            self.left_unevenly[index] |= each
                .exits
                .iter()
                .any(|(from, _)| *from == block || (reached.contains_key(from) && Some(*from) != stop));
            around = each.outer;
        }
    }

    fn parameter(&self, block: Block, position: usize) -> Variation {
        if block == Kernel::ENTRY {
            // Arguments are uniform; for a struct that holds for the address, within each work-item's private memory.
            return Variation::UNIFORM;
        }
        let mut variation: Option<Variation> = None;
        let mut first: Option<Value> = None;
        let mut several = false;
        for from in &self.cfg.predecessors[block] {
            for call in self.kernel.blocks[*from].terminator.calls() {
                if call.block != block {
                    continue;
                }
                let argument = call.arguments[position];
                several |= first.is_some_and(|first| first != argument);
                first.get_or_insert(argument);
                // A value that has not been computed yet has no influence.
                let known =
                    self.kernel.constant(argument).is_some() || self.result.variations[argument].is_some();
                if !known {
                    continue;
                }
                let own = self.variation_at_use(argument, block);
                variation = Some(variation.map_or(own, |variation| variation.meet(own)));
            }
        }
        let variation = variation.unwrap_or(Variation::UNIFORM);
        if several && self.joins.contains(block) { Variation::Divergent } else { variation }
    }

    fn instruction(&self, inst: Inst, block: Block) -> Variation {
        let inst = &self.kernel.insts[inst];
        let variations: Vec<Variation> =
            inst.operands.iter().map(|value| self.variation_at_use(*value, block)).collect();
        let all = || {
            variations.iter().fold(Variation::UNIFORM, |all, variation| {
                if all.is_uniform() { variation.opaque() } else { all }
            })
        };
        let constant = |position: usize| self.kernel.signed_constant(inst.operands[position]);
        match (inst.op, &variations[..]) {
            (Op::Binary(Binary::Add), [a, b]) => a.combine(*b, i64::wrapping_add),
            (Op::Binary(Binary::Sub), [a, b]) => a.combine(*b, i64::wrapping_sub),
            (Op::Binary(Binary::Mul), [a, b]) if b.is_uniform() => a.scaled(constant(1)),
            (Op::Binary(Binary::Mul), [a, b]) if a.is_uniform() => b.scaled(constant(0)),
            (Op::Binary(Binary::Shl), [a, b]) if b.is_uniform() => {
                a.scaled(constant(1).filter(|bits| (0..63).contains(bits)).map(|bits| 1 << bits))
            }
            // Widening keeps the slope: an index that wraps in its own width is not an index.
            (Op::Convert(convert), [a]) if convert.from != Number::Float && convert.to != Number::Float => {
                if convert.saturate {
                    a.opaque()
                } else {
                    *a
                }
            }
            (Op::Unary(crate::op::Unary::Neg), [a]) => a.scaled(Some(-1)),
            (Op::SpaceCast { checked: false } | Op::PointerToInt | Op::IntToPointer, [a]) => *a,
            (Op::Address(Address { stride, .. }), [base, index]) => {
                base.combine(index.scaled(Some(stride.cast_signed())), i64::wrapping_add)
            }
            (Op::Address(_), [base]) => *base,
            (Op::Query(query), _) => {
                let dimension = usize::from(query.dimension);
                match query.kind {
                    QueryKind::GlobalId | QueryKind::LocalId => {
                        let mut coefficients = [0; 3];
                        coefficients[dimension] = 1;
                        Variation::Affine(coefficients)
                    }
                    QueryKind::GlobalLinearId | QueryKind::LocalLinearId => Variation::Linear([true; 3]),
                    QueryKind::SubGroupId
                    | QueryKind::SubGroupLocalId
                    | QueryKind::SubGroupSize
                    | QueryKind::SubGroupEqMask
                    | QueryKind::SubGroupGeMask
                    | QueryKind::SubGroupGtMask
                    | QueryKind::SubGroupLeMask
                    | QueryKind::SubGroupLtMask => Variation::Divergent,
                    _ => Variation::UNIFORM,
                }
            }
            (Op::Group(group), _) => match (group.scope, group.op, group.active_only) {
                (
                    GroupScope::WorkGroup,
                    GroupOp::All | GroupOp::Any | GroupOp::AllEqual | GroupOp::Broadcast | GroupOp::Reduce(_),
                    false,
                ) => Variation::UNIFORM,
                _ => Variation::Divergent,
            },
            (Op::Load(_), [address]) => {
                let constant = self.kernel.ty(inst.operands[0]) == Type::Pointer(Space::Constant);
                if constant && address.is_uniform() { Variation::UNIFORM } else { Variation::Divergent }
            }
            // An undefined value differs between work-items.
            (Op::ImageSample(_) | Op::ImageRead { .. } | Op::Atomic(_) | Op::Undefined, _) => {
                Variation::Divergent
            }
            (Op::AsyncCopy { .. }, _) => Variation::UNIFORM,
            _ => all(),
        }
    }
}

impl Variation {
    fn min_rank(self, other: Self) -> Self {
        if self.rank() <= other.rank() { self } else { other }
    }
}
