//! `specialise-arguments`: small integer arguments that loops and divisions depend on become constants.

use tripipe_ir::diagnostic::Rule;
use tripipe_launch_file::{Given, Number};

use crate::syntax::{Edits, Expr, ExprKind, Function, Scalar, Stmt, StmtKind, Symbol, Variable};
use crate::{Condition, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "specialise-arguments",
    title: "small integer arguments become constants",
    what: "
Integer arguments of up to 64 that bound a loop or divide are replaced by their values in the launch. The kernel takes the
same arguments as before, and is right for these values only.",
    why: "
A compiler unrolls a loop whose number of steps it knows: the counter and its test vanish, offsets become part of the
addresses, and outputs that are neighbours share what they load. A division by a constant is a multiplication.",
    example: "
for (int k = -radius; k <= radius; k++)
    sum += in[at + k] * weights[k + radius];",
    instead: "
for (int k = -3; k <= 3; k++)
    sum += in[at + k] * weights[k + 3];",
    exceptions: "
Where the value changes from launch to launch: then build a program for each value, with the value as a macro (`-D`).",
    source: "- Qualcomm, *Snapdragon OpenCL Programming Guide*: values known to the compiler instead of arguments.",
    ..Rule::REWRITE
};

/// The largest value that becomes a constant: loops of more steps are not unrolled.
const MOST: i128 = 64;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let Some(kernel) = view.kernel() else { return Vec::new() };
    let decisive = deciding(kernel);
    let chosen = kernel.parameters.iter().enumerate().filter_map(|(position, parameter)| {
        let Given::Value { numbers, .. } = &view.subject.launch.arguments.get(position)?.given else {
            return None;
        };
        let [Number::Integer(value)] = numbers[..] else { return None };
        let fits = (-MOST..=MOST).contains(&value) && decisive.contains(&parameter.symbol);
        fits.then_some(Chosen { position, parameter, value, literal: literal(parameter, value)? })
    });
    specialised(&view.subject.source, kernel, chosen.collect()).into_iter().collect()
}

/// An argument that becomes a constant.
struct Chosen<'k> {
    position: usize,
    parameter: &'k Variable,
    value: i128,
    literal: String,
}

/// A value in the type of a parameter; `None` if that has not 32 bits.
fn literal(parameter: &Variable, value: i128) -> Option<String> {
    match parameter.ty.as_number()? {
        Scalar::Integer { bits: 32, signed: true } if value < 0 => Some(format!("({value})")),
        Scalar::Integer { bits: 32, signed: true } => Some(value.to_string()),
        Scalar::Integer { bits: 32, signed: false } => Some(format!("{value}u")),
        _ => None,
    }
}

/// What bounds a loop, or divides.
fn deciding(kernel: &Function) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let mut of = |expr: &Expr| expr.walk(&mut |inner| symbols.extend(inner.symbol()));
    kernel.body.walk(&mut |stmt| match &stmt.kind {
        StmtKind::For { first, condition, step, .. } => {
            first.iter().flat_map(|first| Stmt::expressions(first)).for_each(&mut of);
            condition.iter().chain(step).for_each(&mut of);
        }
        StmtKind::While { condition, .. } => of(condition),
        _ => {}
    });
    kernel.body.walk_expressions(&mut |expr| {
        if let ExprKind::Binary { operator, right, .. } = &expr.kind
            && (operator == "/" || operator == "%")
        {
            of(right);
        }
    });
    symbols
}

fn specialised(source: &str, kernel: &Function, mut chosen: Vec<Chosen<'_>>) -> Option<Proposal> {
    // What is changed or has its address taken, or stands in a macro, stays a variable.
    let mut fixed = Vec::new();
    let mut uses = Vec::new();
    kernel.body.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Name { symbol, .. } if expr.place.exact && !expr.place.in_macro => {
            uses.push((*symbol, expr.place.range.clone()));
        }
        ExprKind::Name { symbol, .. } => fixed.push(*symbol),
        ExprKind::Assign { target, .. } => fixed.extend(target.symbol()),
        ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
            fixed.extend(operand.symbol());
        }
        _ => {}
    });
    chosen.retain(|one| !fixed.contains(&one.parameter.symbol));
    let mut edits = Edits::new();
    for one in &chosen {
        for (_, range) in uses.iter().filter(|(symbol, _)| *symbol == one.parameter.symbol) {
            edits.replace(range.clone(), one.literal.clone()).ok()?;
        }
    }
    if edits.is_empty() {
        return None;
    }
    let is = |one: &Chosen<'_>| format!("`{}` = {}", one.parameter.name, one.value);
    let condition = |one: &Chosen<'_>| Condition::ArgumentIs {
        argument: one.position,
        name: one.parameter.name.clone(),
        value: Number::Integer(one.value),
    };
    Some(Proposal {
        title: format!("{} as constants", chosen.iter().map(is).collect::<Vec<_>>().join(", ")),
        why: "the compiler knows the steps of loops, unrolls them and shares loads".to_owned(),
        source: edits.apply(source),
        conditions: chosen.iter().map(condition).collect(),
        ..Proposal::of(RULE.code)
    })
}
