//! `double-literal`: floats computed in double precision because of a constant.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::op::Number;
use tripipe_ir::{Inst, Kernel, Op, Scalar, Type, Value, ValueData, ValueDef};

use super::context::{Advice, Context, Gain};
use super::rewrite::replace;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "double-literal",
    severity: Severity::Warning,
    title: "floats computed in double precision because of a constant",
    what: "
Floats and integers that are converted to double, computed with constants, and compared or converted back to float or to
integers.",
    why: "
A literal without an `f` is a double where the device offers doubles, and so is every operation that it takes part in. Units
for doubles compute half as many or fewer, and each value is converted twice.",
    example: "out[i] = in[i] * 1.1 + 0.3;",
    instead: "out[i] = in[i] * 1.1f + 0.3f;",
    remark: "Or build with `-cl-single-precision-constant`.",
    exceptions: "Where the result needs the precision of doubles in between.",
    source: "- OpenCL C 3.0, 6.2.3.1 and 6.3.1; the rates of doubles: docs/model.md.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let chains = chains(context).into_iter().filter_map(|chain| Some((*chain.first()?, chain)));
    for line in context.by_line(chains, |_| ()) {
        let gain = context.gain_by(|kernel| {
            for (_, doubles) in &line {
                single(kernel, doubles);
            }
        });
        let Some(gain) = gain.filter(Gain::is_worth_it) else { continue };
        let count: usize = line.iter().map(|(_, doubles)| doubles.len()).sum();
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[line[0].0].location,
            message: format!("{} on floats or integers in double precision", counted(count, "operation")),
            fix: "Write the constants as floats, such as 1.1f, or build with -cl-single-precision-constant."
                .into(),
            gain: Some(gain),
        });
    }
}

/// Operations in double precision that use each other's results, floats, integers and a constant, and whose results are
/// only compared or converted.
fn chains(context: &Context<'_>) -> Vec<Vec<Inst>> {
    let kernel = context.kernel;
    let mut all: Vec<Inst> =
        context.instructions().map(|(_, inst)| inst).filter(|inst| is_double(kernel, *inst)).collect();
    loop {
        let mut kept: EntitySet<Inst> = EntitySet::new();
        kept.extend(all.iter().copied());
        let before = all.len();
        all.retain(|inst| {
            let data = &kernel.insts[*inst];
            data.operands.iter().all(|operand| is_float(kernel, &kept, *operand))
                && data.result.is_none_or(|result| is_narrowed(context, &kept, result))
        });
        if all.len() == before {
            break;
        }
    }
    let mut chains: Vec<Vec<Inst>> = Vec::new();
    for inst in all {
        let makers: Vec<Inst> =
            kernel.insts[inst].operands.iter().filter_map(|operand| kernel.defining(*operand)).collect();
        let (joined, others): (Vec<_>, Vec<_>) =
            chains.into_iter().partition(|chain| chain.iter().any(|other| makers.contains(other)));
        chains = others;
        chains.push(joined.into_iter().flatten().chain([inst]).collect());
    }
    let has_constant = |inst: &Inst| {
        let mut operands = kernel.insts[*inst].operands.iter();
        operands.any(|operand| {
            kernel.constant(*operand).is_some() && scalar(kernel, *operand) == Some(Scalar::F64)
        })
    };
    chains.retain(|chain| chain.iter().any(has_constant));
    chains
}

/// Whether it computes or compares doubles.
fn is_double(kernel: &Kernel, inst: Inst) -> bool {
    let data = &kernel.insts[inst];
    let value = match data.op {
        Op::Unary(_) | Op::Binary(_) | Op::Builtin(_) | Op::Select => data.result,
        Op::Compare(_) => data.operands.first().copied(),
        _ => None,
    };
    value.is_some_and(|value| scalar(kernel, value) == Some(Scalar::F64))
}

/// Whether a value is no double, or a constant, a converted float or integer, or the result of one of the operations.
fn is_float(kernel: &Kernel, kept: &EntitySet<Inst>, value: Value) -> bool {
    if scalar(kernel, value) != Some(Scalar::F64) || kernel.constant(value).is_some() {
        return true;
    }
    kernel.defining(value).is_some_and(|by| {
        kept.contains(by)
            || is_of_integer(kernel, by)
            || is_conversion(kernel, by, kernel.insts[by].operands.first().copied())
    })
}

/// Whether a double is only used by the operations, or converted to float or to an integer.
fn is_narrowed(context: &Context<'_>, kept: &EntitySet<Inst>, value: Value) -> bool {
    let (kernel, uses) = (context.kernel, context.facts.uses(value));
    let narrows = |user: &Inst| {
        let result = kernel.insts[*user].result;
        let is_integer = result.and_then(|result| scalar(kernel, result)).is_some_and(|to| !to.is_float());
        kept.contains(*user)
            || is_conversion(kernel, *user, result)
            || matches!(kernel.insts[*user].op, Op::Convert(_)) && is_integer
    };
    scalar(kernel, value) != Some(Scalar::F64) || !uses.at_end && uses.by.iter().all(narrows)
}

/// Whether it is a conversion between floating-point numbers, of which `other` is a float.
fn is_conversion(kernel: &Kernel, inst: Inst, other: Option<Value>) -> bool {
    matches!(kernel.insts[inst].op, Op::Convert(convert) if convert.from == Number::Float)
        && other.is_some_and(|other| scalar(kernel, other) == Some(Scalar::F32))
}

/// Whether it converts an integer.
fn is_of_integer(kernel: &Kernel, inst: Inst) -> bool {
    matches!(kernel.insts[inst].op, Op::Convert(convert) if convert.from != Number::Float)
}

fn scalar(kernel: &Kernel, value: Value) -> Option<Scalar> {
    kernel.ty(value).scalar()
}

/// Computes them in single precision. The kernel is for pricing only, not for execution.
fn single(kernel: &mut Kernel, doubles: &[Inst]) {
    for inst in doubles {
        if let Some(result) = kernel.insts[*inst].result
            && scalar(kernel, result) == Some(Scalar::F64)
        {
            kernel.values[result].ty = float(kernel.ty(result));
        }
        for position in 0..kernel.insts[*inst].operands.len() {
            let operand = kernel.insts[*inst].operands[position];
            let as_float = match (kernel.constant(operand), kernel.defining(operand)) {
                (Some(lanes), _) if scalar(kernel, operand) == Some(Scalar::F64) => {
                    let bits = |lane: &u64| u64::from((f64::from_bits(*lane) as f32).to_bits());
                    let lanes = lanes.iter().map(bits).collect();
                    let ty = float(kernel.ty(operand));
                    kernel.values.push(ValueData { ty, def: ValueDef::Constant(lanes) })
                }
                (None, Some(by)) if is_of_integer(kernel, by) => {
                    kernel.values[operand].ty = float(kernel.ty(operand));
                    operand
                }
                (None, Some(by)) if is_conversion(kernel, by, kernel.insts[by].operands.first().copied()) => {
                    kernel.insts[by].operands[0]
                }
                _ => operand,
            };
            kernel.insts[*inst].operands[position] = as_float;
        }
    }
    // What narrowed a result to a float has nothing to do.
    let results: Vec<Value> = doubles.iter().filter_map(|inst| kernel.insts[*inst].result).collect();
    let narrowing: Vec<Inst> = kernel
        .insts
        .keys()
        .filter(|inst| {
            let data = &kernel.insts[*inst];
            matches!(data.op, Op::Convert(_))
                && data.operands.first().is_some_and(|of| results.contains(of))
                && data.result.and_then(|result| scalar(kernel, result)) == Some(Scalar::F32)
        })
        .collect();
    for inst in narrowing {
        let operand = kernel.insts[inst].operands[0];
        replace(kernel, inst, Op::Bitcast, &[operand]);
    }
}

fn float(ty: Type) -> Type {
    ty.with_scalar(Scalar::F32).unwrap_or(ty)
}
