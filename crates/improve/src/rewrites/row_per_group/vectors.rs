//! Steps of a loop as vectors: neighbouring elements of a row in one access.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::steps::is_memory;
use crate::rewrites::address::{Address, Values, address, is_volatile, text_without};
use crate::rewrites::counted::changed;
use crate::syntax::{Edits, Expr, ExprKind, Function, Scalar, Stmt, StmtKind, Symbol, Tree, Type, Variable};

/// The elements that each step of a loop loads or stores at its own place of a row of memory.
#[derive(Clone, Debug)]
pub(super) struct ElementRow<'t> {
    /// The row's first element: without the counter's term, so that it is the same in all loops.
    pub(super) start: Address,
    pub(super) scalar: Scalar,
    pub(super) accesses: Vec<ElementUse<'t>>,
    /// Whether the place depends on what never changes, the counter aside.
    pub(super) is_fixed: bool,
}

/// A load or a store of an element.
#[derive(Clone, Debug)]
pub(super) struct ElementUse<'t> {
    pub(super) element: &'t Expr,
    loads: bool,
    stores: bool,
    /// Whether each step does it.
    always: bool,
}

impl ElementRow<'_> {
    pub(super) fn stores(&self) -> bool {
        self.accesses.iter().any(|it| it.stores)
    }

    /// Whether a step needs what the memory holds before it.
    pub(super) fn loads_first(&self) -> bool {
        self.accesses.first().is_some_and(|it| it.loads)
    }

    /// The type of `lanes` elements.
    pub(super) fn vector(&self, lanes: usize) -> Option<Type> {
        Some(Type::Vector(self.scalar, u8::try_from(lanes).ok()?))
    }
}

/// What the search for rows needs to know.
pub(super) struct RowFinder<'t, 'k> {
    pub(super) tree: &'t Tree,
    pub(super) kernel: &'k Function,
    pub(super) counter: &'t Variable,
    /// Variables of the kernel that are set once.
    pub(super) values: &'k Values<'t>,
    /// All others that the kernel declares or assigns to.
    pub(super) changed: &'k BTreeSet<Symbol>,
}

impl<'t> RowFinder<'t, '_> {
    /// The rows of a loop's body; none if its steps cannot be vectors.
    pub(super) fn rows(&self, body: &'t Stmt) -> Vec<ElementRow<'t>> {
        let mut rows = Vec::new();
        let mut is_plain = true;
        body.walk(&mut |stmt| is_plain &= !matches!(stmt.kind, StmtKind::For { .. }));
        let exact = |stmt: &Stmt| stmt.place.exact && !stmt.place.in_macro;
        if !is_plain || !statements(body).iter().all(exact) {
            return rows;
        }
        self.block(body, true, &mut rows);
        rows.retain(|row: &ElementRow<'_>| {
            row.accesses.iter().any(|it| it.always)
                && row.accesses.iter().all(|it| it.always || !it.stores)
                && !is_volatile(self.tree, self.kernel, row.start.base)
        });
        rows
    }

    fn block(&self, stmt: &'t Stmt, always: bool, rows: &mut Vec<ElementRow<'t>>) {
        for expr in stmt.expressions() {
            self.accesses(expr, always, rows);
        }
        for child in stmt.children() {
            self.block(child, always && matches!(stmt.kind, StmtKind::Block(_)), rows);
        }
    }

    /// Loads and stores in the order in which they happen.
    fn accesses(&self, expr: &'t Expr, always: bool, rows: &mut Vec<ElementRow<'t>>) {
        match &expr.kind {
            ExprKind::Assign { operator, target, value, .. } if is_memory(target) => {
                self.accesses(value, always, rows);
                self.note(target.bare(), operator.is_some(), true, always, rows);
            }
            ExprKind::Cast { implicit: true, conversion, operand }
                if conversion == "LValueToRValue" && address(self.tree, operand, self.values).is_some() =>
            {
                self.note(operand, true, false, always, rows);
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                self.accesses(condition, always, rows);
                self.accesses(then, false, rows);
                self.accesses(otherwise, false, rows);
            }
            ExprKind::Binary { operator, left, right } if operator == "&&" || operator == "||" => {
                self.accesses(left, always, rows);
                self.accesses(right, false, rows);
            }
            ExprKind::Unary { operator, .. } if operator == "&" => {}
            _ => expr.children().into_iter().for_each(|child| self.accesses(child, always, rows)),
        }
    }

    fn note(
        &self,
        element: &'t Expr,
        loads: bool,
        stores: bool,
        always: bool,
        rows: &mut Vec<ElementRow<'t>>,
    ) {
        for child in element.children() {
            self.accesses(child, always, rows);
        }
        let (Some(at), Type::Scalar(scalar)) = (address(self.tree, element, self.values), &element.ty) else {
            return;
        };
        let name = &self.counter.name;
        let is_plain = element.place.exact && !element.place.in_macro && *scalar != Scalar::Bool;
        if !is_plain || at.sum.coefficient(name) != Some(1) {
            return;
        }
        let start = Address { sum: at.sum.without(name), ..at };
        let access = ElementUse { element, loads, stores, always };
        let is_fixed = self.is_fixed(element);
        match rows.iter_mut().find(|row| row.start == start && row.scalar == *scalar) {
            Some(row) => {
                row.accesses.push(access);
                row.is_fixed &= is_fixed;
            }
            None => rows.push(ElementRow { start, scalar: *scalar, accesses: vec![access], is_fixed }),
        }
    }

    /// Whether an element's place depends on what never changes, the counter aside.
    fn is_fixed(&self, element: &Expr) -> bool {
        element.children().into_iter().all(|part| self.is_fixed_value(part))
    }

    fn is_fixed_value(&self, value: &Expr) -> bool {
        !value.any(|it| {
            let symbol = it.symbol();
            let is_changed = |it: Symbol| it != self.counter.symbol && self.changed.contains(&it);
            let value = symbol.and_then(|it| self.values.get(&it));
            is_memory(it)
                || symbol.is_some_and(is_changed)
                || value.is_some_and(|it| !self.is_fixed_value(it))
        })
    }
}

/// The statements of a loop's body.
pub(super) fn statements(body: &Stmt) -> &[Stmt] {
    match &body.kind {
        StmtKind::Block(inner) => inner,
        _ => std::slice::from_ref(body),
    }
}

/// Texts of steps that are taken together.
pub(super) struct Writer<'a, 't> {
    pub(super) tree: &'t Tree,
    pub(super) body: &'t Stmt,
    pub(super) counter: &'t Variable,
    pub(super) rows: &'a [ElementRow<'t>],
    /// The vectors of the rows.
    pub(super) names: &'a [String],
    pub(super) lanes: usize,
    /// The first step that is done.
    pub(super) start: usize,
    /// Calls that have another text in all steps.
    pub(super) replaced: &'a [(Range<usize>, String)],
}

impl Writer<'_, '_> {
    /// The address of a row's elements, before the steps.
    pub(super) fn place(&self, row: &ElementRow<'_>) -> Option<String> {
        let inner = changed(self.body).1;
        let element = row.accesses.first()?.element;
        let mut text = match &element.kind {
            ExprKind::Unary { operand, .. } => text_without(self.tree, operand, &inner)?,
            _ => format!("&{}", text_without(self.tree, element, &inner)?),
        };
        for (range, new) in self.replaced {
            let old = self.tree.source.get(range.clone())?;
            text = text.replace(old, new);
        }
        Some(text)
    }

    /// `steps`, each as the body is written.
    pub(super) fn steps(&self, indent: &str) -> Option<String> {
        let statements = statements(self.body);
        let declares = statements.iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare(_)));
        let inner = if declares { format!("{indent}    ") } else { indent.to_owned() };
        let mut text = String::new();
        for step in 0..self.lanes {
            let edits = self.step(step)?;
            let is_early = step < self.start;
            if is_early {
                let counter = &self.counter.name;
                let _ = writeln!(text, "{indent}if ({counter} > {}) {{", self.start - 1 - step);
            } else if declares {
                let _ = writeln!(text, "{indent}{{");
            }
            let inner = if is_early { &format!("{indent}    ") } else { &inner };
            for stmt in statements {
                let _ = writeln!(text, "{inner}{}", edits.apply_to(&self.tree.source, stmt.full.clone()));
            }
            if declares || is_early {
                let _ = writeln!(text, "{indent}}}");
            }
        }
        Some(text)
    }

    /// The changes of the body in a step.
    fn step(&self, step: usize) -> Option<Edits> {
        let mut edits = Edits::new();
        let mut taken: Vec<Range<usize>> = Vec::new();
        let lane = "0123456789abcdef".get(step..=step)?;
        for (row, name) in self.rows.iter().zip(self.names) {
            for access in &row.accesses {
                let at = access.element.place.range.clone();
                edits.replace(at.clone(), format!("{name}.s{lane}")).ok()?;
                taken.push(at);
            }
        }
        let mut fits = true;
        self.body.walk_expressions(&mut |expr| {
            let at = &expr.place.range;
            let is_counter =
                matches!(&expr.kind, ExprKind::Name { symbol, .. } if *symbol == self.counter.symbol);
            if is_counter && !taken.iter().any(|it| it.start <= at.start && at.end <= it.end) {
                let text = format!("({} + {step})", self.counter.name);
                fits &= expr.place.exact && (step == 0 || edits.replace(at.clone(), text).is_ok());
            }
        });
        for (at, new) in self.replaced {
            if !taken.iter().any(|it| it.start <= at.start && at.end <= it.end) {
                edits.replace(at.clone(), new.clone()).ok()?;
            }
        }
        fits.then_some(edits)
    }
}
