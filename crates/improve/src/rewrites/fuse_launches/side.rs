//! One of two kernels: its memory, its tests, and where it stores and loads.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::address::{Values, acts, address, is_volatile};
use super::super::counted::changed;
use super::super::text::is_bounds_test;
use crate::syntax::{
    Affine, Edits, Expr, ExprKind, Function, NameKind, Stmt, StmtKind, Symbol, Tree, Variable,
};

/// A kernel, and what is known of its variables.
pub(super) struct Side<'t> {
    pub(super) kernel: &'t Function,
    changed: BTreeSet<Symbol>,
    values: Values<'t>,
    /// The tests that end a work-item, each by its text without variables.
    pub(super) guards: Vec<String>,
    tests: Vec<&'t Expr>,
    /// Whether it does something before the last of them.
    pub(super) acts_early: bool,
    tree: &'t Tree,
}

/// The element that a work-item accesses: a sum of products of ids and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnElement(Affine);

impl OwnElement {
    /// Whether it depends on an id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.terms.keys().any(|term| term.iter().any(|factor| factor.as_str() == id))
    }
}

/// The accesses of a kernel to one of its arguments.
pub(super) struct Accesses {
    all: Vec<FusedAccess>,
    names: BTreeMap<String, Symbol>,
}

struct FusedAccess {
    place: Range<usize>,
    sum: Affine,
    way: FusedWay,
}

/// What an access does.
#[derive(Clone)]
enum FusedWay {
    Load,
    /// It stores a value that starts there, under these conditions.
    Store(usize, Vec<String>),
    /// It stores in another way.
    Change,
}

/// Where the first kernel stores what passes to the second.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// What it assigns to.
    pub(super) target: Range<usize>,
    /// The start of the value.
    pub(super) value: usize,
}

/// Renames the parameters of a kernel.
pub(super) type Rename<'r> = dyn Fn(Symbol) -> Option<String> + 'r;

impl<'t> Side<'t> {
    /// A kernel whose parameters keep their values, and that ends early at most by tests at its start; `None` for others.
    pub(super) fn of(tree: &'t Tree, kernel: &'t Function) -> Option<Self> {
        let (changed, values) = changed(&kernel.body);
        let mut side =
            Self { kernel, changed, values, guards: Vec::new(), tests: Vec::new(), acts_early: false, tree };
        let StmtKind::Block(body) = &kernel.body.kind else { return None };
        let tests = body.iter().filter(|stmt| is_bounds_test(stmt)).filter_map(|stmt| match &stmt.kind {
            StmtKind::If { condition, .. } => Some(condition),
            _ => None,
        });
        side.tests = tests.collect();
        let last = body.iter().rposition(is_bounds_test).unwrap_or(0);
        side.acts_early = body[..last].iter().any(|stmt| acts(tree, stmt));
        let mut ends = 0;
        kernel.body.walk(&mut |stmt| {
            ends += usize::from(matches!(stmt.kind, StmtKind::Return(_)));
            ends += usize::from(matches!(stmt.kind, StmtKind::Other { .. })) * 1000;
        });
        let is_plain =
            ends == side.tests.len() && kernel.parameters.iter().all(|it| !side.changed.contains(&it.symbol));
        side.guards = side.guards_as(&|_| None);
        (is_plain && side.guards.len() == side.tests.len()).then_some(side)
    }

    /// The tests that end a work-item, with other names of the parameters.
    pub(super) fn guards_as(&self, rename: &Rename<'_>) -> Vec<String> {
        self.tests.iter().filter_map(|test| self.canonical(test, rename)).collect()
    }

    /// The text of a condition without variables and blanks; `None` if it depends on a variable that changes, or on a name
    /// that a macro hides.
    fn canonical(&self, expr: &Expr, rename: &Rename<'_>) -> Option<String> {
        let mut edits = Edits::new();
        let mut fits = expr.place.exact && !expr.assigns();
        expr.walk(&mut |inner| {
            let ExprKind::Name { symbol, kind, .. } = &inner.kind else { return };
            let text = match (self.values.get(symbol), kind) {
                (Some(value), _) => self.canonical(value, rename).map(|text| format!("({text})")),
                (None, NameKind::Parameter) => match rename(*symbol) {
                    Some(name) => Some(name),
                    None => return,
                },
                (None, NameKind::Variable) => None,
                _ => return,
            };
            fits &= inner.place.exact
                && text.is_some_and(|text| edits.replace(inner.place.range.clone(), text).is_ok());
        });
        let text = edits.apply_to(&self.tree.source, expr.place.range.clone());
        fits.then(|| text.split_whitespace().collect::<String>())
    }

    /// The statements of the body.
    pub(super) fn statements(&self) -> &'t [Stmt] {
        match &self.kernel.body.kind {
            StmtKind::Block(inner) => inner,
            _ => &[],
        }
    }

    /// All variables that the kernel declares.
    pub(super) fn variables(&self) -> Vec<&'t Variable> {
        let mut all = Vec::new();
        self.kernel.body.walk(&mut |stmt| {
            if let StmtKind::Declare(variables) = &stmt.kind {
                all.extend(variables);
            }
        });
        all
    }

    /// The variables of a statement of the body that keep their values, with the texts of these; `None` if it declares
    /// others, or none.
    pub(super) fn fixed(&self, stmt: &'t Stmt, rename: &Rename<'_>) -> Option<Vec<(&'t Variable, String)>> {
        let StmtKind::Declare(variables) = &stmt.kind else { return None };
        let value = |variable: &'t Variable| {
            let value = self.values.get(&variable.symbol)?;
            Some((variable, self.canonical(value, rename)?))
        };
        variables.iter().map(value).collect()
    }

    /// Whether a statement is a test after which those work-items have ended for which one of `guards` holds.
    pub(super) fn repeats(&self, stmt: &Stmt, guards: &[String], rename: &Rename<'_>) -> bool {
        match &stmt.kind {
            StmtKind::If { condition, .. } if is_bounds_test(stmt) => {
                self.canonical(condition, rename).is_some_and(|text| guards.contains(&text))
            }
            _ => false,
        }
    }

    /// A parameter as it is declared, with a name.
    pub(super) fn parameter(&self, tree: &Tree, index: usize, name: &str) -> Option<String> {
        let parameter = self.kernel.parameters.get(index)?;
        let from = match index.checked_sub(1) {
            Some(before) => self.kernel.parameters.get(before)?.place.range.end,
            None => self.kernel.name_range.end,
        };
        let end = parameter.place.range.end.max(parameter.name_range.end);
        let mut edits = Edits::new();
        edits.replace(parameter.name_range.clone(), name).ok()?;
        let text = edits.apply_to(&tree.source, from..end);
        let text = text.trim_start_matches([',', '(', ' ', '\n', '\t', '\r']);
        let is_plain = parameter.place.exact && !text.contains(['#', '/', '(']);
        is_plain.then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Gives parameters and variables other names in the body.
    pub(super) fn rename(&self, named: &BTreeMap<Symbol, String>, edits: &mut Edits) -> Option<()> {
        let mut fits = true;
        for variable in self.variables() {
            let Some(other) = named.get(&variable.symbol).filter(|other| **other != variable.name) else {
                continue;
            };
            let at = variable.name_range.clone();
            let is_inside = edits.clone().replace(at.clone(), "").is_err();
            fits &= is_inside || !variable.place.in_macro && edits.replace(at, other.clone()).is_ok();
        }
        self.kernel.body.walk_expressions(&mut |expr| {
            let ExprKind::Name { symbol, name, .. } = &expr.kind else { return };
            let Some(other) = named.get(symbol).filter(|other| *other != name) else { return };
            let at = expr.place.range.clone();
            // What is replaced already is a load of what the first kernel passes.
            let is_inside = edits.clone().replace(at.clone(), "").is_err();
            fits &= is_inside
                || expr.place.exact && !expr.place.in_macro && edits.replace(at, other.clone()).is_ok();
        });
        fits.then_some(())
    }

    /// The accesses to an argument; `None` if it is used otherwise than element by element.
    pub(super) fn accesses(&self, tree: &Tree, parameter: &Variable) -> Option<Accesses> {
        let (mut all, mut names, mut fits) =
            (Vec::new(), 0, !is_volatile(tree, self.kernel, parameter.symbol));
        self.statement(&self.kernel.body, &mut Vec::new(), &mut |expr, conditions| {
            let mut stores: Vec<(Range<usize>, Option<usize>)> = Vec::new();
            expr.walk(&mut |inner| match &inner.kind {
                ExprKind::Assign { target, value, operator, .. } => {
                    let start = operator.is_none().then_some(value.place.range.start);
                    let is_plain = target.place.exact && value.place.exact && !value.place.in_macro;
                    stores.push((target.place.range.clone(), start.filter(|_| is_plain)));
                }
                ExprKind::Unary { operator, operand, .. } if ["++", "--"].contains(&operator.as_str()) => {
                    stores.push((operand.place.range.clone(), None));
                }
                ExprKind::Unary { operator, operand, .. } if operator == "&" => {
                    let base = address(tree, operand, &self.values).map(|address| address.base);
                    fits &= base != Some(parameter.symbol);
                }
                ExprKind::Name { symbol, .. } if *symbol == parameter.symbol => names += 1,
                _ => {}
            });
            expr.walk(&mut |inner| {
                if !matches!(inner.kind, ExprKind::Index { .. } | ExprKind::Unary { .. }) {
                    return;
                }
                let Some(found) = address(tree, inner, &self.values).filter(|it| it.base == parameter.symbol)
                else {
                    return;
                };
                let place = inner.place.range.clone();
                // A part of a vector, or a sum into memory, is stored to, but passes nothing.
                let store = stores.iter().find(|(at, _)| at.start <= place.start && place.end <= at.end);
                let way = match store {
                    None => FusedWay::Load,
                    Some((at, value)) => match (value.filter(|_| *at == place), conditions.clone()) {
                        (Some(value), Some(conditions)) => FusedWay::Store(value, conditions),
                        _ => FusedWay::Change,
                    },
                };
                fits &= inner.place.exact && !inner.place.in_macro;
                all.push(FusedAccess { place, sum: found.sum, way });
            });
        });
        let parameters = self.kernel.parameters.iter().map(|it| (it.name.clone(), it.symbol));
        (fits && names == all.len() && names > 0).then(|| Accesses { all, names: parameters.collect() })
    }

    /// Calls `found` for the expressions of a statement with the conditions under which they are evaluated; `None` if that
    /// is also a loop, or the other arm of a condition.
    fn statement(
        &self,
        stmt: &Stmt,
        conditions: &mut Vec<Option<String>>,
        found: &mut dyn FnMut(&Expr, Option<Vec<String>>),
    ) {
        let known = conditions.iter().cloned().collect::<Option<Vec<String>>>();
        stmt.expressions().into_iter().for_each(|expr| found(expr, known.clone()));
        match &stmt.kind {
            StmtKind::Block(inner) => inner.iter().for_each(|inner| self.statement(inner, conditions, found)),
            StmtKind::If { condition, then, otherwise } => {
                conditions.push(self.canonical(condition, &|_| None));
                self.statement(then, conditions, found);
                conditions.pop();
                conditions.push(None);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise, conditions, found);
                }
                conditions.pop();
            }
            _ => {
                conditions.push(None);
                stmt.children().into_iter().for_each(|inner| self.statement(inner, conditions, found));
                conditions.pop();
            }
        }
    }

    /// The store whose value every load of the `second` kernel gets; `own` are the first kernel's accesses.
    pub(super) fn passes(
        own: &Accesses,
        its: &Accesses,
        second: &Side<'_>,
        rename: &Rename<'_>,
    ) -> Option<Stored> {
        let stores: Vec<&FusedAccess> = own.all.iter().filter(|access| access.stores()).collect();
        let [store] = stores[..] else { return None };
        let FusedWay::Store(value, conditions) = store.way.clone() else { return None };
        if its.stores() {
            return None;
        }
        // The second kernel's loads are under the same conditions.
        let mut fits = true;
        second.statement(&second.kernel.body, &mut Vec::new(), &mut |expr, _| {
            expr.walk(&mut |inner| {
                if its.all.iter().any(|load| load.place == inner.place.range) {
                    fits &= conditions.iter().all(|wanted| second.is_under(inner, wanted, rename));
                }
            });
        });
        fits.then(|| Stored { target: store.place.clone(), value })
    }

    /// Whether an expression is evaluated only where a condition holds.
    fn is_under(&self, expr: &Expr, wanted: &str, rename: &Rename<'_>) -> bool {
        let mut found = false;
        self.kernel.body.walk(&mut |stmt| {
            if let StmtKind::If { condition, then, .. } = &stmt.kind {
                let at = &then.full;
                let is_inside = at.start <= expr.place.range.start && expr.place.range.end <= at.end;
                found |= is_inside && self.canonical(condition, rename).as_deref() == Some(wanted);
            }
        });
        found
    }
}

impl FusedAccess {
    fn stores(&self) -> bool {
        !matches!(self.way, FusedWay::Load)
    }
}

impl Accesses {
    /// Whether the kernel stores to it.
    pub(super) fn stores(&self) -> bool {
        self.all.iter().any(FusedAccess::stores)
    }

    /// Where the kernel loads from it.
    pub(super) fn loads(&self) -> Vec<Range<usize>> {
        self.all.iter().filter(|access| !access.stores()).map(|access| access.place.clone()).collect()
    }

    /// Whether a store is the only access.
    pub(super) fn is_only(&self, stored: &Stored) -> bool {
        self.all.iter().all(|access| access.place == stored.target)
    }

    /// The one element that all accesses name, with other names of the parameters; `None` if there are several, or it
    /// depends on more than ids and arguments.
    pub(super) fn element(&self, rename: &Rename<'_>) -> Option<OwnElement> {
        let mut element: Option<Affine> = None;
        for access in &self.all {
            let mut sum = Affine::constant(access.sum.constant);
            for (term, times) in &access.sum.terms {
                let mut product = Affine::constant(*times);
                for factor in term {
                    product = product.product(&Affine::term(self.factor(factor, rename)?));
                }
                sum = sum.plus(&product, 1);
            }
            if element.get_or_insert_with(|| sum.clone()) != &sum {
                return None;
            }
        }
        element.map(OwnElement)
    }

    fn factor(&self, text: &str, rename: &Rename<'_>) -> Option<String> {
        let text: String = text.split_whitespace().collect();
        if let Some(symbol) = self.names.get(&text) {
            return Some(rename(*symbol).unwrap_or(text));
        }
        let id = text.strip_prefix("get_global_id(")?.strip_suffix(')')?;
        ["0", "1", "2"].contains(&id).then_some(text)
    }
}
