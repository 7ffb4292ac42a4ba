//! `double-literal`: floats computed in double precision because of a constant.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::op::Number;
use tripipe_ir::{Inst, Kernel, Op, Scalar, Value, ValueData, ValueDef};

use super::context::{Advice, Context, Gain, counted};
use super::rewrite::replace;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "double-literal",
    severity: Severity::Warning,
    title: "floats computed in double precision because of a constant",
    explanation: r"## What it finds

Floats that are converted to double, computed with constants, and converted back to float.

## Why it costs

A literal without an `f` is a double where the device offers doubles, and so is every operation that it takes part in. Units
for doubles compute half as many or fewer, and each value is converted twice.

## Example

```c
out[i] = in[i] * 1.1 + 0.3;
```

## Instead

```c
out[i] = in[i] * 1.1f + 0.3f;
```

Or build with `-cl-single-precision-constant`.

## When it is wrong

Where the result needs the precision of doubles in between.

## Source

- OpenCL C 3.0, 6.2.3.1 and 6.3.1; the rates of doubles: docs/model.md.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let back = context.instructions().filter_map(|(_, inst)| Some((inst, doubles(context, inst)?)));
    for line in context.by_line(back, |_| ()) {
        let gain = context.gain_by(|kernel| {
            for (inst, doubles) in &line {
                single(kernel, *inst, doubles);
            }
        });
        let Some(gain) = gain.filter(Gain::is_worth_it) else { continue };
        let count: usize = line.iter().map(|(_, doubles)| doubles.len()).sum();
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[line[0].0].location,
            message: format!("{} on floats in double precision", counted(count, "operation")),
            fix: "Write the constants as floats, such as 1.1f, or build with -cl-single-precision-constant."
                .into(),
            gain: Some(gain),
        });
    }
}

/// The operations whose result a conversion to float narrows, if they compute with floats and constants only and nothing
/// else needs their results.
fn doubles(context: &Context<'_>, inst: Inst) -> Option<Vec<Inst>> {
    let kernel = context.kernel;
    let data = &kernel.insts[inst];
    if !matches!(data.op, Op::Convert(_)) || scalar(kernel, data.result?) != Some(Scalar::F32) {
        return None;
    }
    let (mut found, mut has_constant, mut open) = (Vec::new(), false, vec![(inst, data.operands[0])]);
    while let Some((user, value)) = open.pop() {
        if kernel.constant(value).is_some() {
            has_constant = true;
            continue;
        }
        let by = kernel.defining(value)?;
        let uses = context.facts.uses(value);
        if scalar(kernel, value) != Some(Scalar::F64)
            || uses.at_end
            || uses.by.iter().any(|other| *other != user)
        {
            return None;
        }
        match kernel.insts[by].op {
            Op::Convert(convert) if convert.from == Number::Float => {}
            Op::Unary(_) | Op::Binary(_) | Op::Builtin(_) => {
                found.push(by);
                open.extend(kernel.insts[by].operands.iter().map(|operand| (by, *operand)));
            }
            _ => return None,
        }
    }
    (has_constant && !found.is_empty()).then_some(found)
}

fn scalar(kernel: &Kernel, value: Value) -> Option<Scalar> {
    kernel.ty(value).scalar()
}

/// Computes them in single precision. The kernel is for pricing only, not for execution.
fn single(kernel: &mut Kernel, back: Inst, doubles: &[Inst]) {
    for inst in doubles {
        let Some(result) = kernel.insts[*inst].result else { continue };
        kernel.values[result].ty = kernel.ty(result).with_scalar(Scalar::F32).unwrap_or(kernel.ty(result));
        for position in 0..kernel.insts[*inst].operands.len() {
            let operand = kernel.insts[*inst].operands[position];
            let as_float = match (kernel.constant(operand), kernel.defining(operand)) {
                (Some(lanes), _) if scalar(kernel, operand) == Some(Scalar::F64) => {
                    let bits = |lane: &u64| u64::from((f64::from_bits(*lane) as f32).to_bits());
                    let lanes = lanes.iter().map(bits).collect();
                    let ty = kernel.ty(operand).with_scalar(Scalar::F32).unwrap_or(kernel.ty(operand));
                    kernel.values.push(ValueData { ty, def: ValueDef::Constant(lanes) })
                }
                (None, Some(by)) if matches!(kernel.insts[by].op, Op::Convert(_)) => {
                    kernel.insts[by].operands[0]
                }
                _ => operand,
            };
            kernel.insts[*inst].operands[position] = as_float;
        }
    }
    // What narrowed the last result computes it instead.
    if let Some(last) = kernel.defining(kernel.insts[back].operands[0]) {
        let (op, operands) = (kernel.insts[last].op, kernel.insts[last].operands.to_vec());
        replace(kernel, back, op, &operands);
    }
}
