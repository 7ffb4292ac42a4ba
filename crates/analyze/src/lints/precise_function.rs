//! `precise-function`: a precise function where a native one may do.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::op::{Binary, Builtin, Ulp};
use tripipe_ir::{Op, Scalar};
use tripipe_machine::Model;

use super::{Advice, Context};
use crate::lints::recipe_clocks;

/// Functions, what the data call them, and what the native one is.
const NATIVE: [(Builtin, &[&str], &str, &[&str]); 4] = [
    (Builtin::Sin, &["sin"], "native_sin", &["sin_native"]),
    (Builtin::Cos, &["sin"], "native_cos", &["sin_native"]),
    (Builtin::Exp, &["mul", "mad", "exp2"], "native_exp", &["mul", "exp2"]),
    (
        Builtin::Pow,
        &["log2", "mad", "mad", "mul", "mad", "exp2", "compare_select", "compare_select"],
        "native_powr, for bases that are not negative",
        &["log2", "mul", "exp2"],
    ),
];

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "precise-function",
    severity: Severity::Note,
    title: "a precise function where a native one may do",
    explanation: r"## What it finds

A call of `sin`, `cos`, `tan`, `exp`, `log`, `pow`, a division and the like that has a `native_` form.

## Why it costs

The precise ones reduce their argument and correct their result: tens of instructions where the hardware has one that is good to
about as many bits as a picture needs.

## Example

```c
out[i] = sin(x) / y;
```

## Instead

```c
out[i] = native_divide(native_sin(x), y);
```

## When it is wrong

Where the error counts: `native_` functions promise nothing about it. `-cl-fast-relaxed-math` does the same for a whole program.

## Source

- OpenCL C 3.0, 7.4: errors in ULP. Costs: docs/model.md.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let model = Model::of(context.gpu);
    for (_, inst) in context.instructions() {
        let data = &context.kernel.insts[inst];
        let scalar = data.result.and_then(|result| context.kernel.ty(result).scalar());
        let Some(scalar @ (Scalar::F32 | Scalar::F16)) = scalar else { continue };
        let (name, own, native, cheaper, ulp) = match data.op {
            Op::Binary(Binary::FDiv) => {
                ("/", &["divide"][..], "native_divide", &["rcp", "mul"][..], "2.5 ULP".to_owned())
            }
            Op::Builtin(builtin) => {
                let Some((_, own, native, cheaper)) = NATIVE.iter().find(|entry| entry.0 == builtin) else {
                    continue;
                };
                let ulp = match builtin.ulp(scalar) {
                    Ulp::Within(ulp) => format!("{ulp} ULP"),
                    _ => "its bound".to_owned(),
                };
                (builtin.name(), *own, *native, *cheaper, ulp)
            }
            _ => continue,
        };
        let sum = |works: &[&str]| -> f64 {
            works.iter().map(|work| recipe_clocks(&model, scalar.name(), work)).sum()
        };
        let (before, after) = (sum(own), sum(cheaper));
        if after >= before {
            continue;
        }
        found.push(Advice {
            rule: &RULE,
            place: data.place,
            message: format!("`{name}` to {ulp} costs {before:.0} operations, {native} {after:.0}"),
            cure: format!("Write {native} where its error does not matter."),
            gain: context.gain(|share| if share.inst == inst { after / before } else { 1.0 }),
        });
    }
}
