//! Chooses the watcher of each instruction of a kernel.

use std::collections::HashMap;

use cranelift_entity::EntitySet;
use tripipe_ir::op::{Binary, Builtin, BuiltinSignature, Number};
use tripipe_ir::{Flags, Inst, Kernel, Op, Value, ValueDef};

use super::state::{Watcher, Watchers};
use super::taint::{flow, memory, uses};
use super::{access, copies, kernel, losses, races, sums, values};

/// The watchers of all instructions of a kernel.
pub(crate) fn watchers(kernel: &Kernel) -> Watchers {
    let plan = Plan::new(kernel);
    let mut watchers = Watchers::new();
    for inst in kernel.insts.keys() {
        watchers[inst] = plan.watcher(inst);
    }
    watchers
}

/// What the choice of watchers depends on.
struct Plan<'k> {
    kernel: &'k Kernel,
    /// Values from which addresses are computed by signed arithmetic.
    addresses: EntitySet<Value>,
    /// Values whose only purpose is to reduce a shift count modulo the width.
    counts: EntitySet<Value>,
    /// Loads of the expected value of a compare-exchange at the same address.
    guesses: EntitySet<Inst>,
    /// Additions of sums.
    sums: HashMap<Inst, usize>,
}

impl<'k> Plan<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut plan = Self {
            kernel,
            addresses: EntitySet::new(),
            counts: EntitySet::new(),
            guesses: races::guesses(kernel),
            sums: losses::sums(kernel),
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

    /// The watcher of an instruction; `None` if it needs none.
    fn watcher(&self, inst: Inst) -> Option<Watcher> {
        let data = &self.kernel.insts[inst];
        let float = data.result.is_some_and(|result| self.kernel.ty(result).is_float());
        Some(match data.op {
            Op::Load(_) if self.guesses.contains(inst) => Watcher::Around(access::guess),
            Op::Load(_) => Watcher::Around(access::load),
            Op::Store(_) => Watcher::Around(access::store),
            Op::Atomic(_) => Watcher::Around(access::atomic),
            Op::Address(_) => Watcher::Around(access::address),
            Op::Undefined => Watcher::Before(memory::undefined),
            Op::LifetimeStart(_) => Watcher::Before(memory::lifetime_start),
            Op::LifetimeEnd(_) => Watcher::Before(memory::lifetime_end),
            Op::Copy(_) => Watcher::Around(copies::copy),
            Op::Binary(Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem | Binary::SMod) => {
                Watcher::Around(values::divide)
            }
            Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr)
                if !data.operands.get(1).is_some_and(|count| self.counts.contains(*count)) =>
            {
                Watcher::Around(values::shift)
            }
            Op::Binary(Binary::And) if data.result.is_some_and(|result| self.counts.contains(result)) => {
                Watcher::Around(values::shift)
            }
            Op::Binary(Binary::Add | Binary::Sub | Binary::Mul)
                if data.flags.contains(Flags::NO_SIGNED_WRAP) =>
            {
                if data.result.is_some_and(|result| self.addresses.contains(result)) {
                    Watcher::Around(values::address_overflow)
                } else {
                    Watcher::Around(values::signed_overflow)
                }
            }
            Op::Convert(_) => Watcher::Around(values::convert),
            Op::ExtractDynamic | Op::InsertDynamic => Watcher::Around(values::dynamic),
            Op::Binary(_) | Op::Builtin(_) if self.sums.contains_key(&inst) => Watcher::Around(sums::sum),
            Op::Binary(_) if float => Watcher::Around(values::float_result),
            // `nan` makes a NaN on purpose; functions without arithmetic pass NaNs on.
            Op::Builtin(Builtin::Nan | Builtin::Bitselect | Builtin::Copysign | Builtin::Fabs) => {
                Watcher::Around(flow::pure)
            }
            Op::Builtin(builtin) if float && !matches!(builtin.signature(), BuiltinSignature::Shuffle(_)) => {
                Watcher::Around(values::float_result)
            }
            Op::Printf(_) | Op::ImageWrite { .. } | Op::ImageSample(_) | Op::ImageRead { .. } => {
                Watcher::Before(uses::matters)
            }
            Op::Group(_) => Watcher::Before(kernel::sub_group),
            Op::Fence { .. } => Watcher::Before(access::fence),
            Op::Query(_)
            | Op::ObjectAddress(_)
            | Op::ProgramAddress(_)
            | Op::ImageQuery(_)
            | Op::AsyncCopy { .. } => Watcher::Before(flow::fresh),
            op if op.is_pure() => Watcher::Around(flow::pure),
            _ => return None,
        })
    }
}
