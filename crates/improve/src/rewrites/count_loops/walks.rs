//! Numbers that grow by the same amount in each turn of a loop, as multiples of its counter.

use std::ops::Range;

use super::super::counted::changed;
use super::super::text::indentation;
use super::super::text::line_of;
use super::headers::is_sometimes;
use super::variables::{changes, constant, counts, growth, is_costly, is_left, lists, locals};
use crate::syntax::text::{ADDITIVE, Level, PRIMARY, Text, UNARY, level_of};
use crate::syntax::{
    Affine, Edits, Expr, ExprKind, Function, Scalar, Stmt, StmtKind, Symbol, Tree, Type, affine,
};

/// The source with one number less that walks.
pub(super) fn multiplied(tree: &Tree, kernel: &Function) -> Option<String> {
    let mut variables: Vec<(Symbol, &str)> = locals(kernel)
        .into_iter()
        .filter(|(it, _)| is_index(&it.ty))
        .map(|(it, _)| (it.symbol, it.name.as_str()))
        .collect();
    variables.extend(
        kernel.parameters.iter().filter(|it| is_index(&it.ty)).map(|it| (it.symbol, it.name.as_str())),
    );
    variables.retain(|(symbol, _)| counts(&kernel.body, *symbol).1 > 0);
    let mut loops = Vec::new();
    kernel.body.walk(&mut |stmt| loops.push(stmt));
    // The innermost first.
    let in_loop = loops.into_iter().rev().find_map(|stmt| {
        let turns = CountedTurns::of(tree, stmt)?;
        variables.iter().find_map(|it| turns.multiplied(tree, kernel, *it))
    });
    in_loop.or_else(|| variables.iter().find_map(|it| straight(tree, kernel, *it)))
}

fn is_index(ty: &Type) -> bool {
    matches!(ty.as_number(), Some(Scalar::Integer { bits: 32.., .. }))
}

/// What a list of statements does with a variable, in order.
enum Event {
    /// A place that reads it.
    Use(Range<usize>),
    /// It grows; a statement that does nothing else vanishes.
    Grow(Affine, Option<Range<usize>>),
    /// It gets another value.
    Set,
}

/// What statements do with a variable; `None` where that is not known.
fn events(tree: &Tree, list: &[Stmt], symbol: Symbol, fixed: &dyn Fn(&Expr) -> bool) -> Option<Vec<Event>> {
    let amount = |by: Option<&Expr>, down: bool| {
        let sum = match by {
            None => Affine::constant(1),
            Some(by) if !is_costly(by) && fixed(by) => {
                affine(by, &|it| format!("({})", tree.text(&it.place)), &|_| None)
            }
            Some(_) => return None,
        };
        Some(if down { Affine::default().plus(&sum, -1) } else { sum })
    };
    let mut all = Vec::new();
    for stmt in list {
        let (named, changed) = counts(stmt, symbol);
        if named == 0 {
            continue;
        }
        if changed == 0 {
            let mut exact = true;
            stmt.walk_expressions(&mut |expr| {
                if matches!(&expr.kind, ExprKind::Name { symbol: other, .. } if *other == symbol) {
                    exact &= expr.place.exact;
                    all.push(Event::Use(expr.place.range.clone()));
                }
            });
            if !exact {
                return None;
            }
            continue;
        }
        let exprs = stmt.expressions();
        if let (StmtKind::Expr(expr), Some(growth)) =
            (&stmt.kind, exprs.first().and_then(|it| growth(it, symbol)))
        {
            if !expr.place.exact {
                return None;
            }
            all.push(Event::Grow(amount(growth.by, growth.down)?, Some(stmt.full.clone())));
            continue;
        }
        if let StmtKind::Expr(expr) = &stmt.kind
            && let ExprKind::Assign { operator: None, target, .. } = &expr.bare().kind
            && target.symbol() == Some(symbol)
            && named == 1
        {
            all.push(Event::Set);
            continue;
        }
        // `a[v++]`, once, in a statement that is executed once.
        if changed != 1 || named != 1 || !matches!(stmt.kind, StmtKind::Expr(_) | StmtKind::Declare(_)) {
            return None;
        }
        let mut found = None;
        for expr in &exprs {
            expr.walk(&mut |inner| {
                if changes(inner, symbol) {
                    found = Some((*expr, inner));
                }
            });
        }
        let (whole, part) = found?;
        let growth = growth(part, symbol).filter(|it| it.by.is_none())?;
        if is_sometimes(whole, part) || !part.place.exact {
            return None;
        }
        let (grow, place) =
            (Event::Grow(amount(None, growth.down)?, None), Event::Use(part.place.range.clone()));
        if growth.after {
            all.extend([place, grow]);
        } else {
            all.extend([grow, place]);
        }
    }
    Some(all)
}

/// Replaces what reads a variable by `name` with what it has grown by; returns what is left at the end.
fn replace(tree: &Tree, events: &[Event], name: &str, start: &Affine, edits: &mut Edits) -> Option<Affine> {
    let mut grown = start.clone();
    for event in events {
        match event {
            Event::Use(range) => {
                if grown != Affine::default() {
                    let text = Text::primary(name).plus_sum(&grown);
                    let before = tree.source[..range.start].trim_end();
                    let after = tree.source[range.end..].trim_start();
                    let opens = before.ends_with(['[', '(', '=']);
                    let is_alone = opens && after.starts_with([']', ')', ';']);
                    let is_first = opens && after.starts_with(['+', '-']);
                    let level = match (is_alone, is_first) {
                        (true, _) => Level(0),
                        (_, true) => ADDITIVE,
                        _ => PRIMARY,
                    };
                    edits.replace(range.clone(), text.at(level)).ok()?;
                } else if tree.source[range.clone()] != *name {
                    edits.replace(range.clone(), name).ok()?;
                }
            }
            Event::Grow(by, statement) => {
                grown = grown.plus(by, 1);
                if let Some(range) = statement {
                    edits.replace(line_of(&tree.source, range), "").ok()?;
                }
            }
            Event::Set => grown = Affine::default(),
        }
    }
    Some(grown)
}

/// A loop that counts, with others inside or not.
struct CountedTurns<'t> {
    stmt: &'t Stmt,
    counter: Symbol,
    name: &'t str,
    first: &'t Expr,
    end: &'t Expr,
    /// Whether the end is one of the turns.
    includes: bool,
    step: &'t Expr,
    body: &'t Stmt,
}

impl<'t> CountedTurns<'t> {
    fn of(tree: &'t Tree, stmt: &'t Stmt) -> Option<Self> {
        let StmtKind::For { first: Some(first), condition: Some(condition), step: Some(step), body } =
            &stmt.kind
        else {
            return None;
        };
        let (counter, name, first) = match &first.kind {
            StmtKind::Declare(variables) => match &variables[..] {
                [only] => (only.symbol, only.name.as_str(), only.value.as_ref()?),
                _ => return None,
            },
            StmtKind::Expr(expr) => match &expr.bare().kind {
                ExprKind::Assign { operator: None, target, value, .. } => {
                    (target.symbol()?, tree.text(&target.place), &**value)
                }
                _ => return None,
            },
            _ => return None,
        };
        let ExprKind::Binary { operator, left, right } = &condition.bare().kind else { return None };
        let includes = operator == "<=";
        let is_up = steps(step).iter().any(|it| {
            growth(it, counter).is_some_and(|it| !it.down && it.by.is_none_or(|by| constant(by) == Some(1)))
        });
        let fits = (includes || operator == "<")
            && left.symbol() == Some(counter)
            && is_up
            && counts(body, counter).1 == 0
            && !is_left(body);
        fits.then_some(Self { stmt, counter, name, first, end: right, includes, step, body })
    }

    fn multiplied(&self, tree: &Tree, kernel: &Function, (symbol, name): (Symbol, &str)) -> Option<String> {
        let list = match &self.body.kind {
            StmtKind::Block(inner) => inner,
            _ => std::slice::from_ref(self.body),
        };
        let mut declared = false;
        self.body.walk(&mut |stmt| {
            if let StmtKind::Declare(variables) = &stmt.kind {
                declared |= variables.iter().any(|it| it.symbol == symbol);
            }
        });
        let in_step = steps(self.step).into_iter().any(|it| changes(it, symbol));
        if declared || symbol == self.counter || counts(self.body, symbol).1 == 0 && !in_step {
            return None;
        }
        let (moving, values) = changed(self.body);
        let fixed = |expr: &Expr| {
            !expr.any(|it| {
                it.symbol()
                    .is_some_and(|it| it == self.counter || moving.contains(&it) || values.contains_key(&it))
            })
        };
        if !fixed(self.end) || is_costly(self.end) || is_costly(self.first) {
            return None;
        }
        let mut edits = Edits::new();
        let mut all = events(tree, list, symbol, &fixed)?;
        let others = steps(self.step);
        for step in others.iter().filter(|it| changes(it, symbol)) {
            let growth = growth(step, symbol)?;
            let sum = match growth.by {
                None => Affine::constant(1),
                Some(by) if !is_costly(by) && fixed(by) => {
                    affine(by, &|it| format!("({})", tree.text(&it.place)), &|_| None)
                }
                Some(_) => return None,
            };
            all.push(Event::Grow(Affine::default().plus(&sum, if growth.down { -1 } else { 1 }), None));
        }
        if in_step {
            let kept: Option<Vec<&str>> = others
                .iter()
                .filter(|it| !changes(it, symbol))
                .map(|it| it.place.exact.then(|| tree.text(&it.place)))
                .collect();
            edits.replace(self.step.place.range.clone(), kept?.join(", ")).ok()?;
        }
        let is_set = all.iter().any(|event| matches!(event, Event::Set));
        let mut total = Affine::default();
        for event in &all {
            if let Event::Grow(by, _) = event {
                total = total.plus(by, 1);
            }
        }
        let text = |expr: &Expr| format!("({})", tree.text(&expr.place));
        let term = |expr: &Expr| affine(expr, &text, &|_| None);
        let mut inside = Affine::default();
        if is_set {
            // What is set in each turn, and read only after that.
            if !matches!(all.first(), Some(Event::Set)) || self.is_named_outside(kernel, symbol) {
                return None;
            }
        } else {
            inside = Affine::term(self.name).plus(&term(self.first), -1).product(&total);
        }
        replace(tree, &all, name, &inside, &mut edits)?;
        if !is_set && self.is_named_outside(kernel, symbol) {
            let count =
                term(self.end).plus(&term(self.first), -1).plus(&Affine::constant(self.includes.into()), 1);
            let count = match count.as_constant() {
                Some(count) => Affine::constant(count.max(0)),
                None => Affine::term(format!("max({}, 0)", Text::sum(&count).text)),
            };
            let indent = indentation(&tree.source, self.stmt.full.start);
            let text = format!("\n{indent}{name} += {};", Text::sum(&count.product(&total)).text);
            edits.insert(self.stmt.full.end, text).ok()?;
        }
        let is_same = edits.is_empty();
        (!is_same).then(|| edits.apply(&tree.source)).filter(|it| *it != tree.source)
    }

    /// Whether a variable is named after the loop, or in another turn of one around it.
    fn is_named_outside(&self, kernel: &Function, symbol: Symbol) -> bool {
        let range = &self.stmt.full;
        let mut around: Option<Range<usize>> = None;
        let mut declared = 0;
        kernel.body.walk(&mut |stmt| {
            let is_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::While { .. });
            let is_around = stmt.full.start < range.start && range.end <= stmt.full.end;
            if is_loop && is_around && around.is_none() {
                around = Some(stmt.full.clone());
            }
            if let StmtKind::Declare(variables) = &stmt.kind
                && variables.iter().any(|it| it.symbol == symbol)
            {
                declared = stmt.full.start;
            }
        });
        let from = match around {
            Some(around) if declared < around.start => around.start,
            _ => range.end,
        };
        let mut named = false;
        kernel.body.walk_expressions(&mut |expr| {
            let at = expr.place.range.start;
            let is_name = matches!(&expr.kind, ExprKind::Name { symbol: other, .. } if *other == symbol);
            named |= is_name && at >= from && !range.contains(&at);
        });
        named
    }
}

/// The parts of a loop's step between commas.
fn steps(step: &Expr) -> Vec<&Expr> {
    match &step.bare().kind {
        ExprKind::Binary { operator, left, right } if operator == "," => [steps(left), steps(right)].concat(),
        _ => vec![step],
    }
}

/// The source without steps of a variable one after the other, outside loops.
fn straight(tree: &Tree, kernel: &Function, (symbol, name): (Symbol, &str)) -> Option<String> {
    let is_parameter = kernel.parameters.iter().any(|it| it.symbol == symbol);
    let list = lists(&kernel.body).into_iter().find(|list| {
        is_parameter
            || list.iter().any(|stmt| {
                matches!(&stmt.kind, StmtKind::Declare(all) if all.iter().any(|it| it.symbol == symbol))
            })
    })?;
    let moving = changed(&kernel.body).0;
    let fixed = |expr: &Expr| !expr.any(|it| it.symbol().is_some_and(|it| moving.contains(&it)));
    let all = events(tree, list, symbol, &fixed)?;
    if !all.iter().any(|event| matches!(event, Event::Grow(..))) {
        return None;
    }
    let mut edits = Edits::new();
    replace(tree, &all, name, &Affine::default(), &mut edits)?;
    Some(edits.apply(&tree.source))
}

impl Text {
    /// A sum's text.
    pub(crate) fn sum(sum: &Affine) -> Self {
        let mut text: Option<Self> = None;
        let ordered = sum.terms.iter().filter(|it| *it.1 > 0).chain(sum.terms.iter().filter(|it| *it.1 < 0));
        for (term, times) in ordered {
            let product = term.join(" * ");
            let level = if term.len() > 1 { level_of("*") } else { PRIMARY };
            let product = match times.abs() {
                1 => Self::new(product, level),
                times => Self::new(format!("{times} * {product}"), level_of("*")),
            };
            text = Some(match text {
                None if *times < 0 => Self::new(format!("-{}", product.at(UNARY)), UNARY),
                None => product,
                Some(sum) => sum.binary(if *times < 0 { "-" } else { "+" }, &product),
            });
        }
        match text {
            None => Self::primary("0").plus(sum.constant),
            Some(text) => text.plus(sum.constant),
        }
    }

    /// The sum with another one.
    fn plus_sum(&self, sum: &Affine) -> Self {
        if let Some(constant) = sum.as_constant() {
            return self.plus(constant);
        }
        let sum = Self::sum(sum);
        match sum.text.strip_prefix('-') {
            Some(rest) if sum.level >= ADDITIVE && !rest.contains(['+', '-']) => {
                Self::new(format!("{} - {rest}", self.at(ADDITIVE)), ADDITIVE)
            }
            _ => Self::new(format!("{} + {}", self.at(ADDITIVE), sum.at(ADDITIVE)), ADDITIVE),
        }
    }
}
