//! What goes wrong while a kernel runs.
//!
//! In a checked launch each instruction that can go wrong is run by a watcher ([`Plan::watcher`]): it looks at the operands,
//! writes down what is wrong with them ([`findings`]), and has the instruction itself run for the lanes that are left. Kernels
//! that are not checked have none of this in their way. [`rules`] says what there is to be found.
//!
//! [`access`] checks addresses, [`races`] who accesses the same bytes, with [`objects`] and [`cells`] as the memory of who has
//! written what, and [`order`] for what orders work-groups; [`taint`] follows values that nobody has written; [`values`] looks at results;
//! [`kernel`] at what a kernel says of itself.

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

/// Which rules are looked for.
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

    /// Whether a rule is looked for.
    pub fn has(&self, rule: &Rule) -> bool {
        !self.off.contains(rule.code)
    }
}

/// The watchers of a launch, and what they have found.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) checks: Checks,
    pub(crate) findings: Findings,
    /// By the number of the object.
    pub(crate) objects: Vec<Watched>,
    pub(crate) times: Times,
    pub(crate) order: Order,
    /// Pointers that have left an inner array, by the first work-item of the warp.
    pub(crate) left: HashMap<(u32, Value), access::Left>,
    /// Asynchronous copies of the current group that nobody has waited for.
    pub(crate) copies: Vec<copies::Pending>,
    /// Loads and stores for a part's sake.
    pub(crate) partial: Partial,
    /// What an instruction reads that nobody has written, by its number.
    pub(crate) births: HashMap<u32, String>,
    /// Whether some accesses were too many for races to be looked for.
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

    /// What could not be looked for.
    pub(crate) fn left_out(&self) -> Option<String> {
        let reason =
            format!("races behind the first {} work-items or barriers: make the launch smaller", u32::MAX);
        self.races_left_out.then_some(reason)
    }

    /// A group starts, with local memory that nobody has written.
    pub(crate) fn start_group(&mut self, group: u64, locals: impl Iterator<Item = usize>) {
        self.times.start_group();
        self.order.start(group as u32);
        self.left.clear();
        self.copies.clear();
        for object in locals {
            if let Some(written) = &mut self.objects[object].written {
                written.clear();
            }
        }
    }
}

/// Which watcher each instruction of a kernel gets.
pub(crate) struct Plan<'k> {
    kernel: &'k Kernel,
    /// Values that an address depends on by signed arithmetic.
    addresses: EntitySet<Value>,
    /// Values that do nothing but cut the count of a shift to the width.
    counts: EntitySet<Value>,
    /// Loads whose value the exchange of a compare-and-exchange of the same place depends on.
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

    /// Whether a value is another cut to the width of a shift.
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

    /// The watcher that runs an instruction in a checked launch; `None` if it can be left to itself. It finds the
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
            // `nan` makes one on purpose; those of no arithmetic hand on what they are given.
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
