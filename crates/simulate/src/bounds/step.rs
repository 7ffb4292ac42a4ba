//! One instruction: the intervals of its result.

use tripipe_ir::op::{Builtin, BuiltinSignature, Compare};
use tripipe_ir::{Inst as IrInst, Op, Scalar, Type};

use super::Reason;
use super::arithmetic::{self, Freedom};
use super::interval::{Interval, compare};
use super::registers::{Intervals, computed};
use crate::execute::code::{Detail, Inst, NONE};
use crate::execute::rows::lanes;
use crate::execute::state::State;

/// Operands of an instruction, as they were before it ran: by lane, operand and component.
pub(super) struct Operands {
    /// The lanes, and for each the components of all operands.
    lanes: Vec<(usize, Vec<Vec<Interval>>)>,
    /// Whether all of them are certain, in float64 too.
    plain: bool,
}

/// A number as float64; integers as signed.
pub(super) fn number(scalar: Scalar, bits: u64) -> f64 {
    match scalar {
        Scalar::Bool => (bits & 1) as f64,
        _ if scalar.is_float() => scalar.to_f64(bits),
        _ => scalar.to_i64(bits) as f64,
    }
}

/// The lanes whose results an instruction computes.
pub(super) fn active(s: &State<'_>, i: &Inst) -> Vec<usize> {
    if i.width == 1 { vec![0] } else { lanes(s.mask).collect() }
}

impl Operands {
    pub(super) fn of(intervals: &Intervals, s: &State<'_>, i: &Inst) -> Self {
        let data = &s.kernel.insts[i.origin];
        let types: Vec<Type> = data.operands.iter().map(|operand| s.kernel.ty(*operand)).collect();
        let mut plain = true;
        let lanes = active(s, i)
            .into_iter()
            .map(|lane| {
                let all = types
                    .iter()
                    .enumerate()
                    .map(|(operand, ty)| {
                        let slot = i.arg(operand);
                        let of_one = |component: usize| {
                            let found = intervals.read(s, slot, *ty, component, lane);
                            plain &= found.1;
                            found.0
                        };
                        (0..usize::from(ty.lanes())).map(of_one).collect()
                    })
                    .collect();
                (lane, all)
            })
            .collect();
        Self { lanes, plain }
    }
}

/// Whether an operation on numbers that are certain has a result that is not, or that float64 arithmetic does not
/// give.
fn rounds(op: Op, result: Type) -> bool {
    match op {
        Op::Binary(_) | Op::Convert(_) => result.is_float(),
        Op::Builtin(builtin) => {
            result.is_float()
                && !matches!(builtin, Builtin::Bitselect | Builtin::Nan)
                && !matches!(builtin.signature(), BuiltinSignature::Shuffle(_))
        }
        _ => false,
    }
}

/// Stores the intervals of an instruction's result, after it ran.
pub(super) fn results(
    intervals: &mut Intervals,
    s: &State<'_>,
    i: &Inst,
    operands: &Operands,
    freedom: Freedom,
) {
    if i.out == NONE {
        return;
    }
    let data = &s.kernel.insts[i.origin];
    let Some(result) = data.result else { return };
    let ty = s.kernel.ty(result);
    if operands.plain && !rounds(data.op, ty) {
        intervals.forget(s, i.out, ty, operands.lanes.iter().map(|(lane, _)| *lane));
        return;
    }
    for (lane, operands) in &operands.lanes {
        for component in 0..usize::from(ty.lanes()) {
            let computed = computed(s, i.out, ty, component, *lane).unwrap_or(0.0);
            let found = one(s, i, ty, component, operands, freedom, computed);
            intervals.write(s, i.out, ty, component, *lane, found);
        }
    }
}

fn open(i: &Inst, reason: Reason, computed: f64) -> Interval {
    Interval::open(computed, cause_number(i.origin, reason))
}

/// A cause as a number: the instruction, and what leaves its result open.
pub(super) fn cause_number(inst: IrInst, reason: Reason) -> u32 {
    inst.as_u32() << 3 | reason as u32
}

/// One component of a result.
fn one(
    s: &State<'_>,
    i: &Inst,
    ty: Type,
    component: usize,
    operands: &[Vec<Interval>],
    freedom: Freedom,
    computed: f64,
) -> Interval {
    let data = &s.kernel.insts[i.origin];
    let at = |operand: usize, component: usize| -> Interval {
        let all = operands.get(operand);
        let found = all.and_then(|all| all.get(component).or(all.last()));
        found.copied().unwrap_or(Interval::point(0.0))
    };
    let each = |operand: usize| at(operand, component);
    // What moves numbers about.
    let moved = match data.op {
        Op::Construct => {
            // Operands may be vectors: their components in order.
            operands.iter().flatten().nth(component).copied()
        }
        Op::Extract(lane) => Some(at(0, usize::from(lane))),
        Op::Insert(lane) if usize::from(lane) == component => Some(at(1, 0)),
        Op::Shuffle(_) => {
            let Detail::Shuffle { mask, first, .. } = i.detail else {
                return open(i, Reason::Operation, computed);
            };
            match mask.lanes().nth(component).flatten() {
                Some(lane) if lane < first => Some(at(0, usize::from(lane))),
                Some(lane) => Some(at(1, usize::from(lane - first))),
                None => Some(Interval::point(computed)),
            }
        }
        Op::Insert(_) | Op::PointerToInt | Op::IntToPointer | Op::SpaceCast { .. } => Some(each(0)),
        Op::Bitcast => {
            let same = s.kernel.ty(data.operands[0]) == ty;
            if same { Some(each(0)) } else { None }
        }
        Op::Select => {
            let condition = each(0);
            let (then, otherwise) = (each(1), each(2));
            Some(if condition.is_certain() {
                if condition.low == 0.0 { otherwise } else { then }
            } else {
                let (first, second) =
                    if computed == then.exact { (then, otherwise) } else { (otherwise, then) };
                first.hull(second)
            })
        }
        _ => None,
    };
    if let Some(moved) = moved {
        return moved;
    }
    // A result from what is open is open, unless a bound makes it certain.
    let used: Vec<Interval> = (0..operands.len()).map(each).collect();
    let whole = matches!(data.op, Op::Unary(_) | Op::ExtractDynamic | Op::InsertDynamic)
        || matches!(data.op, Op::Builtin(_) if component_free(data.op));
    let culprit = if whole {
        operands.iter().flatten().find(|operand| operand.is_open())
    } else {
        used.iter().find(|operand| operand.is_open())
    };
    if let Some(culprit) = culprit {
        return Interval::open(computed, culprit.open);
    }
    let scalar = ty.scalar().unwrap_or(Scalar::I64);
    let all_certain = operands.iter().flatten().all(Interval::is_certain);
    let outcome = match data.op {
        Op::Unary(op) if s.kernel.ty(data.operands[0]).lanes() == ty.lanes() => {
            arithmetic::unary(op, each(0), computed)
        }
        Op::Binary(op) if used.len() == 2 && (ty.is_float() || !all_certain) => {
            arithmetic::binary(op, scalar, data.flags, freedom, [used[0], used[1]], computed)
        }
        Op::Compare(op) => {
            let unsigned = matches!(op, Compare::ULt | Compare::ULe | Compare::UGt | Compare::UGe);
            let signs = unsigned && used.iter().any(|operand| operand.low < 0.0);
            let (may, may_not) = if signs { (true, true) } else { compare(op, used[0], used[1]) };
            if may && may_not {
                Ok(Interval { exact: computed, low: 0.0, high: 1.0, nan: false, ..Interval::point(computed) })
            } else {
                Ok(Interval::point(computed))
            }
        }
        Op::Convert(convert) => arithmetic::convert(convert, scalar, used[0], computed),
        Op::Builtin(builtin) if matches!(builtin.signature(), BuiltinSignature::FloatsToScalar(_)) => {
            let empty = Vec::new();
            let second = operands.get(1).unwrap_or(&empty);
            arithmetic::of_vectors(builtin, scalar, &operands[0], second, computed)
        }
        Op::Builtin(builtin) if !component_free(data.op) && (ty.is_float() || !all_certain) => {
            arithmetic::builtin(builtin, scalar, freedom, &used, computed)
        }
        _ => Err(arithmetic::Unbounded),
    };
    match outcome {
        Ok(found) => found,
        // Integers and bits of what is certain.
        Err(_) if all_certain && !ty.is_float() => Interval::point(computed),
        Err(_) if all_certain && matches!(data.op, Op::Bitcast | Op::Unary(_)) => Interval::point(computed),
        Err(_) if matches!(data.op, Op::Builtin(_)) => open(i, Reason::Function, computed),
        Err(_) => open(i, Reason::Operation, computed),
    }
}

/// Whether each component of a result depends on all components of the operands.
fn component_free(op: Op) -> bool {
    let Op::Builtin(builtin) = op else { return false };
    matches!(builtin, Builtin::Cross | Builtin::Normalize | Builtin::FastNormalize)
        || matches!(
            builtin.signature(),
            BuiltinSignature::FloatsToScalar(_) | BuiltinSignature::Shuffle(_) | BuiltinSignature::Cross
        )
}
