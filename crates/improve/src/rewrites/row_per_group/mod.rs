//! `row-per-group`: the loops of a work-item are divided among the work-items of a work-group.

mod group;
mod steps;
mod vectors;
mod ways;

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;

use super::address::{Values, address};
use super::counted::changed;
use super::effects::{is_collective, is_pure, is_same};
use super::text::is_bounds_test;
use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Type, Variable, fold};
use crate::{Proposal, View};
use steps::{Gather, Steps, is_memory, root};
use vectors::{ElementRow, RowFinder};
use ways::Length;

pub(super) const RULE: Rule = Rule {
    code: "row-per-group",
    title: "a work-group does what one work-item did",
    what: "
A work-item that walks along a row with loops becomes a work-group: its work-items take the loop's steps in turns, and add
up sums, and find minima and maxima, over local memory. Where a loop reads or writes neighbouring elements in turn, a
work-item takes 4 or 8 of them as a vector; a row that is short enough is loaded once, and stays in registers from loop to
loop.",
    why: "
Neighbours in a work-group then load neighbouring elements, which share cache lines; and a launch with few rows has enough
work-items to fill the GPU.",
    example: "
float sum = 0.0f;
for (int i = 0; i < columns; i++) sum += in[row * columns + i];",
    instead: "
float sum = 0.0f;
for (int i = lane; i < columns; i += 64) sum += in[row * columns + i];
partial[lane] = sum;  // and a sum of 64 numbers over local memory",
    remark: "
What a loop stores and a later one stores again is stored by the last one alone.",
    exceptions: "
Where rows are short, or where there are enough of them and they lie side by side in memory. Sums of floats are taken in
another order, so that is only done with `--allow-rounding`.",
    source: "
- Arm's and Qualcomm's OpenCL guides: neighbouring work-items should access neighbouring elements. A softmax of 512 rows gains
  4 to 14 by the model of time (docs/improve.md).",
    ..Rule::REWRITE
};

/// Work-items of a work-group that are tried.
const SIZES: [usize; 4] = [64, 128, 256, 32];

/// The first value of a counter from which on vectors are not tried: a loop may leave out the first elements of a row.
const LATEST: usize = 4;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let launch = &view.subject.launch.range;
    if launch.dimensions() != 1 || launch.global_offset() != [0; 3] {
        return Vec::new();
    }
    let Some(tree) = view.tree else { return Vec::new() };
    let Some(kernel) = tree.kernel(&view.subject.kernel) else { return Vec::new() };
    let Some(rows) = Rows::of(tree, kernel) else { return Vec::new() };
    let length = Length::of(&rows, view.subject);
    let all = SIZES.iter().flat_map(|size| {
        let ways = ways::ways(&rows, length.as_ref(), *size);
        ways.into_iter().map(|way| (*size, way))
    });
    let written = all.filter_map(|(size, way)| rows.proposal(size, way, length.as_ref()));
    written.fold(Vec::new(), |mut all, proposal| {
        // A loop without rows is taken in one way alone.
        if !all.iter().any(|it: &Proposal| it.source == proposal.source) {
            all.push(proposal);
        }
        all
    })
}

/// A variable that a loop changes.
struct Gathered<'t> {
    variable: &'t Variable,
    by: Gather,
    /// The variable that has the step of an extreme, the first of several.
    position: Option<&'t Variable>,
}

/// A loop at the top of the kernel.
struct Loop<'t> {
    statement: &'t Stmt,
    /// The first value and the step `i++` of its counter.
    first: &'t Expr,
    step: &'t Expr,
    counter: &'t Variable,
    body: &'t Stmt,
    /// What the counter stays below, if it starts from `start`.
    end: Option<&'t Expr>,
    /// The first value of the counter, if that is a small constant.
    start: usize,
    gathered: Vec<Gathered<'t>>,
    /// The memory objects that it stores to.
    stored: Vec<Symbol>,
    /// The elements that its steps load and store in turn.
    rows: Vec<ElementRow<'t>>,
}

/// A kernel whose work-items walk along rows.
struct Rows<'t> {
    tree: &'t Tree,
    kernel: &'t Function,
    loops: Vec<Loop<'t>>,
    /// Stores at the top of the kernel, which one work-item of the group does.
    stores: Vec<&'t Stmt>,
    /// The calls of `get_global_id(0)`.
    ids: Vec<&'t Expr>,
    /// Variables that are set once, and their values.
    values: Values<'t>,
    /// All others that the kernel declares or assigns to.
    changed: BTreeSet<Symbol>,
    /// Memory objects that something else than the rows of the loops loads or stores.
    used_elsewhere: BTreeSet<Symbol>,
    /// Those of them that it stores to.
    stored_elsewhere: BTreeSet<Symbol>,
}

impl<'t> Rows<'t> {
    fn of(tree: &'t Tree, kernel: &'t Function) -> Option<Self> {
        let StmtKind::Block(body) = &kernel.body.kind else { return None };
        let mut ids = Vec::new();
        let mut is_alone = true;
        kernel.body.walk_expressions(&mut |expr| {
            if let ExprKind::Call { name, symbol, .. } = &expr.kind {
                match name.as_str() {
                    "get_global_id" => ids.push(expr),
                    // A function of the source may ask for the work-item's position.
                    _ => {
                        is_alone &= !name.starts_with("get_")
                            && !is_collective(name)
                            && tree.function(*symbol).is_none_or(is_pure);
                    }
                }
            }
        });
        let of_rows = |expr: &&Expr| expr.place.exact && !expr.place.in_macro;
        if !is_alone || ids.is_empty() || !ids.iter().all(of_rows) {
            return None;
        }
        let (changed, values) = changed(&kernel.body);
        let mut rows = Self {
            tree,
            kernel,
            loops: Vec::new(),
            stores: Vec::new(),
            ids,
            values,
            changed,
            used_elsewhere: BTreeSet::new(),
            stored_elsewhere: BTreeSet::new(),
        };
        let mut variables: Vec<&Variable> = kernel.parameters.iter().collect();
        rows.statements(body, &mut variables)?;
        rows.find_other_uses(&variables);
        (!rows.loops.is_empty()).then_some(rows)
    }

    /// Finds what is loaded and stored outside the rows of the loops.
    fn find_other_uses(&mut self, variables: &[&'t Variable]) {
        let taken: Vec<_> = self
            .loops
            .iter()
            .flat_map(|it| &it.rows)
            .flat_map(|row| &row.accesses)
            .map(|it| it.element.place.range.clone())
            .collect();
        let is_taken = |expr: &Expr| {
            let at = &expr.place.range;
            taken.iter().any(|it| it.start <= at.start && at.end <= it.end)
        };
        let (mut used, mut stored) = (BTreeSet::new(), BTreeSet::new());
        // A pointer whose memory is not known is a memory object of its own, and no row is in it.
        let memory = |symbol: Symbol| root(symbol, variables).unwrap_or(symbol);
        let pointers = |expr: &Expr, found: &mut BTreeSet<Symbol>| {
            expr.walk(&mut |it| {
                let is_pointer =
                    matches!(&it.kind, ExprKind::Name { .. }) && matches!(it.ty, Type::Pointer { .. });
                if is_pointer && !is_taken(it) {
                    found.extend(it.symbol().map(memory));
                }
            });
        };
        self.kernel.body.walk(&mut |stmt| {
            if let StmtKind::Declare(all) = &stmt.kind {
                let of_numbers = all.iter().filter(|it| !matches!(it.ty, Type::Pointer { .. }));
                of_numbers.filter_map(|it| it.value.as_ref()).for_each(|value| pointers(value, &mut used));
                return;
            }
            for expr in stmt.expressions() {
                pointers(expr, &mut used);
                expr.walk(&mut |it| match &it.kind {
                    ExprKind::Assign { target, .. } if is_memory(target) => pointers(target, &mut stored),
                    ExprKind::Call { name, .. } if name.starts_with("vstore") => pointers(it, &mut stored),
                    _ => {}
                });
            }
        });
        (self.used_elsewhere, self.stored_elsewhere) = (used, stored);
    }

    fn uses_elsewhere(&self, memory: Symbol) -> bool {
        self.used_elsewhere.contains(&memory)
    }

    fn stores_elsewhere(&self, memory: Symbol) -> bool {
        self.stored_elsewhere.contains(&memory)
    }

    /// What a row's statements do; `None` if they cannot be divided.
    fn statements(&mut self, body: &'t [Stmt], variables: &mut Vec<&'t Variable>) -> Option<()> {
        for statement in body {
            match &statement.kind {
                StmtKind::Declare(all) => {
                    let plain = |variable: &&Variable| {
                        !variable.shared && !variable.value.as_ref().is_some_and(Expr::assigns)
                    };
                    if !all.iter().all(|variable| plain(&variable)) {
                        return None;
                    }
                    variables.extend(all);
                }
                StmtKind::If { .. } if is_bounds_test(statement) => {}
                // A row is computed as a whole, or not at all: all work-items of its group agree.
                StmtKind::If { condition, then, otherwise: None }
                    if self.loops.is_empty() && !condition.assigns() && !condition.any(is_memory) =>
                {
                    let StmtKind::Block(inner) = &then.kind else { return None };
                    self.statements(inner, variables)?;
                }
                StmtKind::For { .. } => {
                    let divided = self.divide(statement, variables)?;
                    self.loops.push(divided);
                }
                StmtKind::Expr(Expr { kind: ExprKind::Assign { target, .. }, .. })
                    if is_memory(target) && statement.place.exact =>
                {
                    self.stores.push(statement);
                }
                // Every work-item of the group computes the same.
                StmtKind::Expr(Expr { kind: ExprKind::Assign { target, value, .. }, .. })
                    if target.symbol().is_some() && !value.assigns() => {}
                StmtKind::Empty => {}
                _ => return None,
            }
        }
        Some(())
    }

    /// A loop whose steps do not depend on each other, but for what they gather.
    fn divide(&self, statement: &'t Stmt, variables: &[&'t Variable]) -> Option<Loop<'t>> {
        let StmtKind::For { first: Some(first), condition: Some(condition), step: Some(step), body } =
            &statement.kind
        else {
            return None;
        };
        let StmtKind::Declare(counters) = &first.kind else { return None };
        let [counter] = &counters[..] else { return None };
        let start = counter.value.as_ref()?;
        let bounded = match &condition.bare().kind {
            ExprKind::Binary { operator, left, right } => {
                (operator == "<" || operator == "<=")
                    && left.symbol() == Some(counter.symbol)
                    && !right.assigns()
            }
            _ => false,
        };
        let by_one = matches!(&step.bare().kind, ExprKind::Unary { operator, operand, .. }
            if operator == "++" && operand.symbol() == Some(counter.symbol));
        // A narrow counter wraps where it grows by more than one.
        let is_wide = counter.ty.as_number().is_some_and(|it| it.is_integer() && it.bits() >= 32);
        let places = [&start.place, &step.place];
        if !bounded || !by_one || !is_wide || !places.iter().all(|place| place.exact && !place.in_macro) {
            return None;
        }
        let (mut inner, mut inner_counters) = (Vec::new(), Vec::new());
        body.walk(&mut |stmt| match &stmt.kind {
            StmtKind::Declare(all) => inner.extend(all.iter().map(|variable| variable.symbol)),
            StmtKind::For { first: Some(first), .. } => {
                if let StmtKind::Declare(all) = &first.kind {
                    inner_counters.extend(all.iter().map(|variable| variable.symbol));
                }
            }
            _ => {}
        });
        let tree = self.tree;
        let mut steps = Steps {
            tree,
            counter,
            inner,
            counters: inner_counters,
            gathered: Vec::new(),
            used: Vec::new(),
            loaded: Vec::new(),
            stored: Vec::new(),
        };
        steps.value(start)?;
        steps.value(condition)?;
        steps.statement(body)?;
        // No step looks at what another one stores or gathers.
        let gathers = |symbol: &Symbol| {
            steps.gathered.iter().any(|(gathered, _, at)| gathered == symbol || *at == Some(*symbol))
        };
        if steps.used.iter().any(gathers) {
            return None;
        }
        for (pointer, index) in &steps.stored {
            let memory = root(*pointer, variables)?;
            for used in &steps.used {
                if root(*used, variables)? == memory {
                    return None;
                }
            }
            for (other, at) in &steps.stored {
                let own = other == pointer && (is_same(at, index) || steps.are_apart(at, index));
                if !own && root(*other, variables)? == memory {
                    return None;
                }
            }
            for (other, at) in &steps.loaded {
                let own = other == pointer && is_same(at, index);
                if !own && root(*other, variables)? == memory {
                    return None;
                }
            }
        }
        let mut gathered = Vec::new();
        let known = |symbol: Symbol| {
            let variable = variables.iter().find(|variable| variable.symbol == symbol)?;
            variable.ty.as_number().map(|_| *variable)
        };
        for (symbol, by, position) in steps.gathered {
            let position = position.map_or(Some(None), |at| known(at).map(Some))?;
            gathered.push(Gathered { variable: known(symbol)?, by, position });
        }
        let stored = steps.stored.iter().filter_map(|(pointer, _)| root(*pointer, variables)).collect();
        let finder =
            RowFinder { tree, kernel: self.kernel, counter, values: &self.values, changed: &self.changed };
        let from = fold(start).and_then(|it| usize::try_from(it).ok()).filter(|it| *it < LATEST);
        let end = match &condition.bare().kind {
            ExprKind::Binary { operator, right, .. }
                if operator == "<" && from.is_some() && right.place.exact && !right.place.in_macro =>
            {
                Some(&**right)
            }
            _ => None,
        };
        let from = from.unwrap_or(0);
        let mut rows = if end.is_some() { finder.rows(body) } else { Vec::new() };
        // Elements before the first step are loaded with the others, and stay as they are.
        if from > 0 {
            // They are there where the kernel loads the first one itself.
            let loads_first = |row: &ElementRow<'_>| {
                let values = variables.iter().filter_map(|variable| variable.value.as_ref());
                values.into_iter().any(|value| {
                    value.any(|it| {
                        is_memory(it) && address(tree, it, &self.values).as_ref() == Some(&row.start)
                    })
                })
            };
            if rows.iter().any(ElementRow::stores) || !rows.iter().all(loads_first) {
                rows.clear();
            }
        }
        Some(Loop { statement, first: start, step, counter, body, end, start: from, gathered, stored, rows })
    }

    /// A name that the source does not use.
    fn free(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.tree.source.contains(&name) {
            name.push('_');
        }
        name
    }
}
