//! Checks for errors while a kernel runs.
//!
//! In a checked launch, a watcher runs each instruction that can go wrong ([`Plan::watcher`]): it checks the
//! operands, records findings ([`findings`]), and runs the instruction itself for the remaining lanes. Unchecked
//! kernels have no overhead. [`rules`] lists the kinds of findings.
//!
//! [`access`] checks addresses, and [`races`] conflicting accesses, with [`objects`] and [`cells`] as the record of
//! earlier accesses and [`order`] for the order between work-groups; [`taint`] tracks unwritten values; [`values`]
//! checks results; [`kernel`] checks the kernel itself.

pub(crate) mod access;
pub(crate) mod cells;
pub(crate) mod copies;
pub(crate) mod findings;
pub(crate) mod kernel;
pub(crate) mod objects;
pub(crate) mod order;
pub(crate) mod partial;
mod races;
pub mod rules;
pub(crate) mod taint;
pub(crate) mod values;

use std::collections::{BTreeSet, HashMap};

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::Rule;
use tripipe_ir::op::{Binary, Builtin, Number, Shape};
use tripipe_ir::{Flags, Inst, Kernel, Op, Value, ValueDef};

use crate::execute::code::Run;
use cells::Times;
use findings::Findings;
use objects::Watched;
use order::Order;
use partial::Partial;

/// The set of enabled rules.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    off: BTreeSet<&'static str>,
}

impl Checks {
    /// All rules.
    pub fn all() -> Self {
        Self::default()
    }

    /// Turns a rule on or off.
    pub fn set(&mut self, rule: &'static Rule, on: bool) {
        if on {
            self.off.remove(rule.code);
        } else {
            self.off.insert(rule.code);
        }
    }

    /// Whether a rule is enabled.
    pub fn has(&self, rule: &Rule) -> bool {
        !self.off.contains(rule.code)
    }
}

/// The watchers of a launch, and their findings.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) checks: Checks,
    pub(crate) findings: Findings,
    /// Indexed by object number.
    pub(crate) objects: Vec<Watched>,
    pub(crate) times: Times,
    pub(crate) order: Order,
    /// Pointers that have left an inner array, keyed by the first work-item of the warp and the value.
    pub(crate) left: HashMap<(u32, Value), access::Left>,
    /// Asynchronous copies of the current group that have not been waited for.
    pub(crate) copies: Vec<copies::Pending>,
    /// Loads and stores that belong to partial writes.
    pub(crate) partial: Partial,
    /// Descriptions of unwritten memory that an instruction reads, by the instruction's number.
    pub(crate) births: HashMap<u32, String>,
    /// Whether races of some accesses were not checked because there were too many.
    races_left_out: bool,
}

impl Watch {
    pub(crate) fn new(checks: Checks, kernel: &Kernel, objects: Vec<Watched>) -> Self {
        Self {
            partial: Partial::of(kernel),
            checks,
            findings: Findings::default(),
            objects,
            times: Times::default(),
            order: Order::default(),
            left: HashMap::new(),
            copies: Vec::new(),
            births: HashMap::new(),
            races_left_out: false,
        }
    }

    /// The checks that could not be made.
    pub(crate) fn left_out(&self) -> Option<String> {
        let reason =
            format!("races behind the first {} work-items or barriers: make the launch smaller", u32::MAX);
        self.races_left_out.then_some(reason)
    }

    /// Starts a group; its local memory is unwritten.
    pub(crate) fn start_group(&mut self, group: u64, locals: impl Iterator<Item = usize>) {
        self.times.start_group();
        self.order.start(group as u32);
        self.left.clear();
        self.copies.clear();
        for object in locals {
            let Watched { written, at_first, .. } = &mut self.objects[object];
            match (written, at_first) {
                (Some(written), Some(at_first)) => written.clone_from(at_first),
                (Some(written), None) => written.clear(),
                (None, _) => {}
            }
        }
    }
}

/// Chooses the watcher for each instruction of a kernel.
pub(crate) struct Plan<'k> {
    kernel: &'k Kernel,
    /// Values from which addresses are computed by signed arithmetic.
    addresses: EntitySet<Value>,
    /// Values whose only purpose is to reduce a shift count modulo the width.
    counts: EntitySet<Value>,
    /// Loads of the expected value of a compare-exchange at the same address.
    guesses: EntitySet<Inst>,
}

impl<'k> Plan<'k> {
    pub(crate) fn new(kernel: &'k Kernel) -> Self {
        let mut plan = Self {
            kernel,
            addresses: EntitySet::new(),
            counts: EntitySet::new(),
            guesses: races::guesses(kernel),
        };
        let mut work: Vec<Value> = Vec::new();
        for data in kernel.blocks.values() {
            for inst in &data.insts {
                let inst = &kernel.insts[*inst];
                match inst.op {
                    Op::Address(_) => work.extend(inst.operands.get(1)),
                    Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr) => {
                        let width = kernel.ty(inst.operands[0]).scalar().map_or(64, tripipe_ir::Scalar::bits);
                        if plan.cuts(inst.operands[1], width) {
                            plan.counts.insert(inst.operands[1]);
                        }
                    }
                    _ => {}
                }
            }
        }
        while let Some(value) = work.pop() {
            if plan.addresses.insert(value)
                && let ValueDef::Result(inst) = kernel.values[value].def
            {
                let inst = &kernel.insts[inst];
                match inst.op {
                    Op::Binary(_) => work.extend(&inst.operands),
                    Op::Convert(convert) if convert.from != Number::Float => work.extend(&inst.operands),
                    _ => {}
                }
            }
        }
        plan
    }

    /// Whether a value is another one reduced modulo the width of a shift.
    fn cuts(&self, count: Value, width: u32) -> bool {
        let ValueDef::Result(inst) = self.kernel.values[count].def else { return false };
        let inst = &self.kernel.insts[inst];
        matches!(inst.op, Op::Binary(Binary::And))
            && inst.operands.iter().any(|operand| {
                self.kernel
                    .constant(*operand)
                    .is_some_and(|lanes| lanes.iter().all(|lane| *lane == u64::from(width) - 1))
            })
    }

    /// The watcher that runs an instruction in a checked launch; `None` if it needs none. The watcher finds the
    /// operation's own function in [`crate::execute::code::Inst::plain`].
    pub(crate) fn watcher(&self, inst: Inst) -> Option<Run> {
        let data = &self.kernel.insts[inst];
        let float = data.result.is_some_and(|result| self.kernel.ty(result).is_float());
        Some(match data.op {
            Op::Load(_) if self.guesses.contains(inst) => access::guess,
            Op::Load(_) => access::load,
            Op::Store(_) => access::store,
            Op::Atomic(_) => access::atomic,
            Op::Address(_) => access::address,
            Op::Undefined => taint::undefined,
            Op::LifetimeStart(_) => taint::lifetime_start,
            Op::LifetimeEnd(_) => taint::lifetime_end,
            Op::Copy(_) => copies::copy,
            Op::Binary(Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem | Binary::SMod) => {
                values::divide
            }
            Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr)
                if !data.operands.get(1).is_some_and(|count| self.counts.contains(*count)) =>
            {
                values::shift
            }
            Op::Binary(Binary::And) if data.result.is_some_and(|result| self.counts.contains(result)) => {
                values::shift
            }
            Op::Binary(Binary::Add | Binary::Sub | Binary::Mul)
                if data.flags.contains(Flags::NO_SIGNED_WRAP) =>
            {
                if data.result.is_some_and(|result| self.addresses.contains(result)) {
                    values::address_overflow
                } else {
                    values::signed_overflow
                }
            }
            Op::Convert(_) => values::convert,
            Op::ExtractDynamic | Op::InsertDynamic => values::dynamic,
            Op::Binary(_) if float => values::float_result,
            // `nan` makes a NaN on purpose; functions without arithmetic pass NaNs on.
            Op::Builtin(Builtin::Nan | Builtin::Bitselect | Builtin::Copysign | Builtin::Fabs) => taint::pure,
            Op::Builtin(builtin) if float && !matches!(builtin.shape(), Shape::Shuffle(_)) => {
                values::float_result
            }
            Op::Printf(_) | Op::ImageWrite { .. } | Op::ImageSample(_) | Op::ImageRead { .. } => {
                taint::matters
            }
            Op::Group(_) => kernel::sub_group,
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select
            | Op::Bitcast
            | Op::PointerToInt
            | Op::IntToPointer
            | Op::SpaceCast { .. }
            | Op::Construct
            | Op::Extract(_)
            | Op::Insert(_)
            | Op::Shuffle(_)
            | Op::Dot(_)
            | Op::Builtin(_) => taint::pure,
            Op::Fence { .. } => access::fence,
            _ => return None,
        })
    }
}
