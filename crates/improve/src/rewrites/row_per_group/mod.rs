//! `row-per-group`: the loops of a work-item are divided among the work-items of a work-group.

mod steps;

use std::fmt::Write as _;

use tripipe_ir::diagnostic::Rule;

use super::text::{indentation, is_bounds_test};
use crate::syntax::{Edits, Expr, ExprKind, Function, Scalar, Stmt, StmtKind, Symbol, Tree, Variable};
use crate::{Condition, HostChange, Proposal, View};
use steps::{Steps, is_memory, root};
pub(super) use steps::{is_collective, is_pure, is_same};

pub(super) const RULE: Rule = Rule {
    code: "row-per-group",
    title: "a work-group does what one work-item did",
    what: "
A work-item that walks along a row with loops becomes a work-group: its work-items take the loop's steps in turns, and add
up sums, and find minima and maxima, over local memory.",
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
    exceptions: "
Where rows are short, or where there are enough of them and they lie side by side in memory. Sums of floats are taken in
another order, so that is only done with `--allow-rounding`.",
    source: "
- Arm's and Qualcomm's OpenCL guides: neighbouring work-items should access neighbouring elements. A softmax of 512 rows gains
  4 to 14 by the model of time (docs/improve.md).",
    ..Rule::REWRITE
};

/// Work-items of a work-group that are tried.
const SIZES: [usize; 4] = [32, 64, 128, 256];

/// The most that a sum in another order deviates, relative to the sum of magnitudes: of 2^16 terms in `float`, in `half`.
const FLOAT_ERROR: f64 = 1e-5;
const HALF_ERROR: f64 = 1e-2;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let launch = &view.subject.launch.range;
    if launch.dimensions() != 1 || launch.global_offset() != [0; 3] {
        return Vec::new();
    }
    let Some(tree) = view.tree else { return Vec::new() };
    let Some(kernel) = tree.kernel(&view.subject.kernel) else { return Vec::new() };
    let Some(rows) = Rows::of(tree, kernel) else { return Vec::new() };
    SIZES.iter().filter_map(|size| rows.proposal(*size)).collect()
}

/// How a variable gathers the steps of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gather {
    Sum,
    Least,
    Most,
}

/// A variable that a loop changes.
struct Gathered<'t> {
    variable: &'t Variable,
    by: Gather,
}

/// A loop at the top of the kernel.
struct Loop<'t> {
    statement: &'t Stmt,
    /// The first value and the step `i++` of its counter.
    first: &'t Expr,
    step: &'t Expr,
    counter: &'t str,
    gathered: Vec<Gathered<'t>>,
    stores: bool,
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
        let mut rows = Self { tree, kernel, loops: Vec::new(), stores: Vec::new(), ids };
        let mut variables: Vec<&Variable> = kernel.parameters.iter().collect();
        rows.statements(body, &mut variables)?;
        (!rows.loops.is_empty()).then_some(rows)
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
        let places = [&start.place, &step.place];
        if !bounded || !by_one || !places.iter().all(|place| place.exact && !place.in_macro) {
            return None;
        }
        let mut inner = Vec::new();
        body.walk(&mut |stmt| {
            if let StmtKind::Declare(all) = &stmt.kind {
                inner.extend(all.iter().map(|variable| variable.symbol));
            }
        });
        let tree = self.tree;
        let mut steps = Steps {
            tree,
            counter,
            inner,
            gathered: Vec::new(),
            used: Vec::new(),
            loaded: Vec::new(),
            stored: Vec::new(),
        };
        steps.value(start)?;
        steps.value(condition)?;
        steps.statement(body)?;
        // No step looks at what another one stores or gathers.
        let gathers = |symbol: &Symbol| steps.gathered.iter().any(|(gathered, _)| gathered == symbol);
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
            for (other, at) in &steps.loaded {
                let own = other == pointer && is_same(at, index);
                if !own && root(*other, variables)? == memory {
                    return None;
                }
            }
        }
        let mut gathered = Vec::new();
        for (symbol, by) in steps.gathered {
            let variable = variables.iter().find(|variable| variable.symbol == symbol)?;
            variable.ty.as_number()?;
            gathered.push(Gathered { variable, by });
        }
        Some(Loop {
            statement,
            first: start,
            step,
            counter: &counter.name,
            gathered,
            stores: !steps.stored.is_empty(),
        })
    }

    fn proposal(&self, size: usize) -> Option<Proposal> {
        let source = &self.tree.source;
        let lane = self.free("lane");
        let mut edits = Edits::new();
        let StmtKind::Block(body) = &self.kernel.body.kind else { return None };
        let top = body.first()?;
        let indent = indentation(source, top.full.start);
        let mut head = format!("const int {lane} = get_local_id(0);\n{indent}");
        let mut scratches: Vec<(Scalar, String)> = Vec::new();
        for gathered in self.loops.iter().flat_map(|divided| &divided.gathered) {
            let scalar = gathered.variable.ty.as_number()?;
            if !scratches.iter().any(|(known, _)| *known == scalar) {
                let name = self.free(&format!("partial_{}", scalar.name()));
                let _ = write!(head, "local {} {name}[{size}];\n{indent}", scalar.name());
                scratches.push((scalar, name));
            }
        }
        edits.insert(top.full.start, head).ok()?;
        for id in &self.ids {
            edits.replace(id.place.range.clone(), "get_group_id(0)").ok()?;
        }
        for store in &self.stores {
            edits.insert(store.full.start, format!("if ({lane} == 0) ")).ok()?;
        }
        let mut error: f64 = 0.0;
        for (index, divided) in self.loops.iter().enumerate() {
            let indent = indentation(source, divided.statement.full.start);
            let first = self.tree.text(&divided.first.place);
            let first = if first == "0" { lane.clone() } else { format!("{first} + {lane}") };
            edits.replace(divided.first.place.range.clone(), first).ok()?;
            edits.replace(divided.step.place.range.clone(), format!("{} += {size}", divided.counter)).ok()?;
            let (mut before, mut after) = (String::new(), String::new());
            for Gathered { variable, by } in &divided.gathered {
                let scalar = variable.ty.as_number()?;
                let scratch = &scratches.iter().find(|(known, _)| *known == scalar)?.1;
                let name = &variable.name;
                let gather = match by {
                    Gather::Sum => format!("{scratch}[{lane}] += {scratch}[{lane} + step]"),
                    Gather::Least | Gather::Most => {
                        let test = if *by == Gather::Most { '>' } else { '<' };
                        format!(
                            "{scratch}[{lane}] = {scratch}[{lane} + step] {test} {scratch}[{lane}] ? {scratch}[{lane} + \
                            step] : {scratch}[{lane}]"
                        )
                    }
                };
                if *by == Gather::Sum {
                    let _ = write!(before, "{name} = {lane} == 0 ? {name} : 0;\n{indent}");
                    if let Scalar::Float { bits } = scalar {
                        error = error.max(if bits == 16 { HALF_ERROR } else { FLOAT_ERROR });
                    }
                }
                let _ = write!(
                    after,
                    "\n{indent}{scratch}[{lane}] = {name};\n{indent}barrier(CLK_LOCAL_MEM_FENCE);\n{indent}for (int step = {}; \
                    step > 0; step /= 2) {{\n{indent}    if ({lane} < step)\n{indent}        {gather};\n{indent}    \
                    barrier(CLK_LOCAL_MEM_FENCE);\n{indent}}}\n{indent}{name} = {scratch}[0];\n{indent}\
                    barrier(CLK_LOCAL_MEM_FENCE);",
                    size / 2
                );
            }
            // What was stored may be loaded by another work-item later.
            if divided.stores && index + 1 < self.loops.len() {
                let _ = write!(after, "\n{indent}barrier(CLK_GLOBAL_MEM_FENCE);");
            }
            edits.insert(divided.statement.full.start, before).ok()?;
            edits.insert(divided.statement.full.end, after).ok()?;
        }
        let count = self.loops.len();
        let loops = if count == 1 { "its loop".to_owned() } else { format!("its {count} loops") };
        Some(Proposal {
            code: RULE.code,
            title: format!("a work-group of {size} does what a work-item did"),
            why: format!("neighbours take the steps of {loops} in turns and load neighbouring elements"),
            source: edits.apply(source),
            conditions: vec![Condition::Stated("the buffers do not overlap".to_owned())],
            host: vec![HostChange::Multiply { dimension: 0, by: size }, HostChange::Local([size, 1, 1])],
            relative_error: error,
        })
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
