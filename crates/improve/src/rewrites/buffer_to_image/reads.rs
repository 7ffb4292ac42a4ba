//! The reads of a buffer in a function, and what else is done with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::rewrites::address::{Address, Values, address, pointer};
use crate::rewrites::counted::changed;
use crate::syntax::{Affine, Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Type, affine, fold};

/// Elements that are read together.
pub(super) struct ElementRead<'t> {
    /// What is replaced.
    pub(super) expr: &'t Expr,
    /// Their number: 1, or that of a vector load.
    pub(super) lanes: usize,
    /// The first one's distance from the start of the buffer, in elements.
    pub(super) sum: Affine,
    /// The variables of the index that stand for an expression, by its text.
    pub(super) names: BTreeMap<String, String>,
    /// Variables that are multiples of 4 there.
    pub(super) aligned: BTreeSet<String>,
}

/// All uses of a buffer in a function.
#[derive(Default)]
pub(super) struct Uses<'t> {
    pub(super) reads: Vec<ElementRead<'t>>,
    /// Functions of the source that it is passed to, and the position of the argument.
    pub(super) calls: Vec<(Symbol, usize, &'t [Expr])>,
    /// Declarations of pointers into it.
    pub(super) pointers: Vec<&'t Stmt>,
}

/// The search for the uses of a buffer.
struct UseFinder<'t> {
    tree: &'t Tree,
    buffer: Symbol,
    /// Variables whose values hold wherever they are visible.
    values: Values<'t>,
    uses: Uses<'t>,
    aligned: BTreeSet<String>,
}

/// All uses of a parameter in a function; `None` if it is used otherwise than to read elements.
pub(super) fn uses<'t>(tree: &'t Tree, function: &'t Function, buffer: Symbol) -> Option<Uses<'t>> {
    let values = lasting_values(function);
    let mut finder = UseFinder { tree, buffer, values, uses: Uses::default(), aligned: BTreeSet::new() };
    finder.statement(&function.body)?;
    Some(finder.uses)
}

/// Variables that are set once, to values that do not change while they are visible.
fn lasting_values(function: &Function) -> Values<'_> {
    let (changed, values) = changed(&function.body);
    // The counter of a loop changes after each turn of its body, where nothing else that is declared inside lives on.
    let mut steps: BTreeMap<Symbol, usize> = BTreeMap::new();
    let mut counters: BTreeSet<Symbol> = BTreeSet::new();
    function.body.walk(&mut |stmt| {
        if let StmtKind::For { first: Some(first), step: Some(step), .. } = &stmt.kind
            && let StmtKind::Declare(declared) = &first.kind
        {
            counters.extend(declared.iter().map(|it| it.symbol));
            for symbol in assigned(step) {
                *steps.entry(symbol).or_default() += 1;
            }
        }
    });
    let mut all: BTreeMap<Symbol, usize> = BTreeMap::new();
    function.body.walk_expressions(&mut |expr| {
        if let Some(symbol) = assigned_here(expr) {
            *all.entry(symbol).or_default() += 1;
        }
    });
    let is_counter = |it: &Symbol| counters.contains(it) && all.get(it) == steps.get(it);
    let lasts = |value: &Expr| {
        !value.any(|it| {
            let is_memory = matches!(&it.kind, ExprKind::Index { .. } | ExprKind::Field { .. })
                || matches!(&it.kind, ExprKind::Unary { operator, .. } if operator == "*");
            let is_changed = |it: Symbol| changed.contains(&it) && !is_counter(&it);
            // The address of an element is no load of it.
            is_memory && !matches!(value.ty, Type::Pointer { .. }) || it.symbol().is_some_and(is_changed)
        })
    };
    let mut values = values;
    loop {
        let before = values.len();
        let known: BTreeSet<Symbol> = values.keys().copied().collect();
        let declared: BTreeSet<Symbol> = declared(function);
        values.retain(|_, value| {
            lasts(value)
                && !value.any(|it| {
                    it.symbol()
                        .is_some_and(|it| declared.contains(&it) && !known.contains(&it) && !is_counter(&it))
                })
        });
        if values.len() == before {
            return values;
        }
    }
}

/// The variables that a function declares.
fn declared(function: &Function) -> BTreeSet<Symbol> {
    let mut all = BTreeSet::new();
    function.body.walk(&mut |stmt| {
        if let StmtKind::Declare(variables) = &stmt.kind {
            all.extend(variables.iter().map(|it| it.symbol));
        }
    });
    all
}

/// The variable that an expression itself changes.
fn assigned_here(expr: &Expr) -> Option<Symbol> {
    match &expr.kind {
        ExprKind::Assign { target, .. } => target.symbol(),
        ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
            operand.symbol()
        }
        _ => None,
    }
}

fn assigned(expr: &Expr) -> Vec<Symbol> {
    let mut all = Vec::new();
    expr.walk(&mut |it| all.extend(assigned_here(it)));
    all
}

impl<'t> UseFinder<'t> {
    fn statement(&mut self, stmt: &'t Stmt) -> Option<()> {
        match &stmt.kind {
            StmtKind::Block(inner) => {
                for (index, one) in inner.iter().enumerate() {
                    match &one.kind {
                        StmtKind::For { .. } => self.repeated(one, &inner[..index])?,
                        _ => self.statement(one)?,
                    }
                }
                Some(())
            }
            StmtKind::For { .. } => self.repeated(stmt, &[]),
            StmtKind::Declare(variables) => {
                let is_pointer = |value: &Expr| {
                    matches!(value.ty, Type::Pointer { .. })
                        && pointer(self.tree, value, &self.values).is_some_and(|it| it.base == self.buffer)
                };
                let of_buffer = |it: &&crate::syntax::Variable| it.value.as_ref().is_some_and(is_pointer);
                let count = variables.iter().filter(of_buffer).count();
                if count == 0 {
                    return self.parts(stmt);
                }
                let all_last = variables.iter().all(|it| self.values.contains_key(&it.symbol));
                let is_dropped = count == variables.len() && all_last && stmt.place.exact;
                self.uses.pointers.push(stmt);
                is_dropped.then_some(())
            }
            _ => self.parts(stmt),
        }
    }

    fn parts(&mut self, stmt: &'t Stmt) -> Option<()> {
        stmt.expressions().into_iter().try_for_each(|expr| self.expression(expr))?;
        stmt.children().into_iter().try_for_each(|child| self.statement(child))
    }

    /// A loop, in whose body a counter may be a multiple of 4; `before` are the statements before it in its block.
    fn repeated(&mut self, stmt: &'t Stmt, before: &[Stmt]) -> Option<()> {
        let StmtKind::For { first, step, body, .. } = &stmt.kind else { return None };
        let counter = step.as_ref().and_then(|step| match &step.bare().kind {
            ExprKind::Assign { operator: Some(operator), target, value, .. }
                if operator == "+" && fold(value).is_some_and(|by| by % 4 == 0) =>
            {
                target.symbol()
            }
            _ => None,
        });
        let declared = first.as_deref().into_iter().chain(before.iter().rev()).find_map(|stmt| {
            let StmtKind::Declare(variables) = &stmt.kind else { return None };
            variables.iter().find(|it| Some(it.symbol) == counter)
        });
        let is_changed = |stmt: &Stmt, symbol: Symbol| {
            let mut changes = false;
            stmt.walk_expressions(&mut |it| changes |= assigned_here(it) == Some(symbol));
            changes
        };
        let name = declared.filter(|it| {
            let start = it.value.as_ref().map(|value| self.sum(value));
            let is_multiple = start.is_some_and(|start| residue(&start, &self.aligned) == Some(0));
            is_multiple
                && !is_changed(body, it.symbol)
                && !before.iter().any(|stmt| is_changed(stmt, it.symbol))
        });
        let outer = self.aligned.clone();
        if let Some(first) = first {
            self.statement(first)?;
        }
        // A name that is declared again means another variable.
        if let StmtKind::For { first: Some(first), .. } = &stmt.kind
            && let StmtKind::Declare(variables) = &first.kind
        {
            for variable in variables {
                self.aligned.remove(&variable.name);
            }
        }
        self.aligned.extend(name.map(|it| it.name.clone()));
        stmt.expressions().into_iter().try_for_each(|expr| self.expression(expr))?;
        self.statement(body)?;
        self.aligned = outer;
        Some(())
    }

    fn sum(&self, index: &Expr) -> Affine {
        let known = |expr: &Expr| match &expr.kind {
            ExprKind::Name { symbol, .. } => Some(self.sum(self.values.get(symbol)?)),
            _ => None,
        };
        affine(index, &|it| self.tree.text(&it.place).to_owned(), &known)
    }

    fn expression(&mut self, expr: &'t Expr) -> Option<()> {
        let is_buffer = |address: Option<Address>| address.filter(|it| it.base == self.buffer);
        match &expr.kind {
            ExprKind::Call { name, arguments, .. } if name.starts_with("vload") => {
                let (Some(lanes), [times, place]) = (lanes_of(name), &arguments[..]) else {
                    return self.children(expr);
                };
                let Some(start) = is_buffer(pointer(self.tree, place, &self.values)) else {
                    return self.children(expr);
                };
                let sum = start.sum.plus(&self.sum(times), lanes as i128);
                self.read(expr, lanes, sum)
            }
            ExprKind::Call { symbol, arguments, .. } if self.tree.function(*symbol).is_some() => {
                for (position, argument) in arguments.iter().enumerate() {
                    if argument.symbol() == Some(self.buffer) {
                        self.uses.calls.push((*symbol, position, arguments));
                    } else {
                        self.expression(argument)?;
                    }
                }
                Some(())
            }
            ExprKind::Assign { target, .. } if self.is_inside(target) => None,
            ExprKind::Unary { operator, operand, .. }
                if ["&", "++", "--"].contains(&operator.as_str()) && self.is_inside(operand) =>
            {
                None
            }
            ExprKind::Index { .. } | ExprKind::Unary { .. } => {
                match is_buffer(address(self.tree, expr, &self.values)) {
                    Some(start) => self.read(expr, 1, start.sum),
                    None => self.children(expr),
                }
            }
            ExprKind::Name { symbol, .. } => (*symbol != self.buffer).then_some(()),
            _ => self.children(expr),
        }
    }

    fn children(&mut self, expr: &'t Expr) -> Option<()> {
        expr.children().into_iter().try_for_each(|child| self.expression(child))
    }

    /// Whether an expression is a part of an element of the buffer.
    fn is_inside(&self, target: &Expr) -> bool {
        match &target.bare().kind {
            ExprKind::Swizzle { base, .. } | ExprKind::Field { base, .. } => self.is_inside(base),
            _ => address(self.tree, target.bare(), &self.values).is_some_and(|it| it.base == self.buffer),
        }
    }

    fn read(&mut self, expr: &'t Expr, lanes: usize, sum: Affine) -> Option<()> {
        let mut names = 0;
        expr.walk(&mut |it| {
            let is_pointer = it.symbol().is_some_and(|it| {
                it == self.buffer || self.uses.pointers.iter().any(|stmt| declares(stmt, it))
            });
            names += usize::from(matches!(it.kind, ExprKind::Name { .. }) && is_pointer);
        });
        // An index that is read from the same buffer would be replaced, too.
        let mut variables = BTreeMap::new();
        expr.walk(&mut |it| {
            let ExprKind::Name { symbol, name, .. } = &it.kind else { return };
            let Some(value) = self.values.get(symbol).filter(|it| !matches!(it.ty, Type::Pointer { .. }))
            else {
                return;
            };
            let sum = self.sum(value);
            if let [(term, 1)] = &sum.terms.iter().collect::<Vec<_>>()[..]
                && let ([only], 0) = (&term[..], sum.constant)
            {
                variables.insert(only.clone(), name.clone());
            }
        });
        let is_plain = names <= 1 && expr.place.exact && !expr.place.in_macro;
        self.uses.reads.push(ElementRead {
            expr,
            lanes,
            sum,
            names: variables,
            aligned: self.aligned.clone(),
        });
        is_plain.then_some(())
    }
}

fn declares(stmt: &Stmt, symbol: Symbol) -> bool {
    matches!(&stmt.kind, StmtKind::Declare(variables) if variables.iter().any(|it| it.symbol == symbol))
}

/// The lanes of `vload4`; `None` for `vload_half4`.
fn lanes_of(name: &str) -> Option<usize> {
    name.strip_prefix("vload")?.parse().ok()
}

/// A sum modulo 4, where that is the same for all values of its variables.
pub(super) fn residue(sum: &Affine, aligned: &BTreeSet<String>) -> Option<usize> {
    let is_multiple = |(term, times): (&Vec<String>, &i128)| {
        times % 4 == 0 || term.iter().any(|factor| aligned.contains(factor))
    };
    sum.terms.iter().all(is_multiple).then(|| sum.constant.rem_euclid(4) as usize)
}
