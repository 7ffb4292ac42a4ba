//! `batch-loads`: several steps of a loop in one turn, whose neighbouring elements one vector load takes.

use std::fmt::Write as _;
use std::ops::Range;

use tripipe_ir::diagnostic::Rule;

use super::address::{Address, Values, acts, certain_loads, is_volatile, text_without};
use super::counted::Counted;
use super::text::{Names, indentation};
use crate::syntax::{Edits, Expr, ExprKind, Function, Scalar, StmtKind, Tree, Type};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "batch-loads",
    title: "several steps of a loop with one vector load",
    what: "
An innermost loop that reads neighbouring elements in turn does 2, 4, 8 or 16 steps in one turn. Their elements come
from one `vloadN`, and the steps follow each other as before: results are the same bits. A second loop does the steps
that are left over.",
    why: "
A load of 16 bytes takes the load/store pipe hardly longer than one of 4, and a turn of the loop is paid once for all
steps. In a product of matrices, the rows of A are read that way: a block of 4 x 4 outputs takes 8 loads of 4 elements
for 64 products, where single steps take 20 loads.",
    example: "
for (int k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * m + x];",
    instead: "
int k = 0;
for (; k + 1 < n; k += 2) {
    const float2 a_1 = vload2(0, &a[row * n + k]);
    sum += a_1.s0 * b[k * m + x];
    sum += a_1.s1 * b[(k + 1) * m + x];
}
for (; k < n; k++)
    sum += a[row * n + k] * b[k * m + x];",
    exceptions: "
Loops that store to memory, wait or leave early stay as they are, and so do elements that are not read in every step.
The vectors take registers: past the limit of a GPU they halve its threads, or spill.",
    source: "
Arm, *Mali GPU OpenCL Developer Guide* (vectorized loads); Qualcomm, *Snapdragon OpenCL Programming Guide* (vectorized
load/store, loop unrolling).",
    ..Rule::REWRITE
};

/// The most bytes of a vector: those that GPUs of phones load at once.
const WIDEST: usize = 16;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    batched(tree, kernel, &[2, 4, 8, 16])
}

/// What becomes of the kernel if a loop takes one of `times` steps in one turn; empty where no loop can.
pub(super) fn batched(tree: &Tree, kernel: &Function, times: &[usize]) -> Vec<Proposal> {
    let mut loops = Vec::new();
    kernel.body.walk(&mut |stmt| loops.extend(Counted::of(stmt)));
    let all = loops.iter().filter_map(|counted| Batch::of(tree, kernel, counted));
    all.flat_map(|batch| batch.proposals(times)).collect()
}

/// The most rows of memory that a loop reads along its steps.
pub(super) fn most_rows(tree: &Tree, kernel: &Function) -> usize {
    let mut loops = Vec::new();
    kernel.body.walk(&mut |stmt| loops.extend(Counted::of(stmt)));
    let batches = loops.iter().filter_map(|counted| Batch::of(tree, kernel, counted));
    batches.map(|batch| batch.rows.len()).max().unwrap_or(0)
}

/// The loads of a loop that are taken together.
pub(super) struct Batch<'t> {
    pub(super) tree: &'t Tree,
    pub(super) counted: &'t Counted<'t>,
    /// Loads of one element each, and where they stand in the source: the same element may be loaded several times.
    rows: Vec<RowOfLoads<'t>>,
    /// Places of the loop's variable outside these loads; `None` if one is inside a macro.
    counters: Option<Vec<Range<usize>>>,
}

struct RowOfLoads<'t> {
    address: Address,
    scalar: Scalar,
    loads: Vec<&'t Expr>,
}

impl<'t> Batch<'t> {
    /// The loop's loads of neighbouring elements in turn; `None` if there are none, or the loop does more than to
    /// compute.
    pub(super) fn of(tree: &'t Tree, kernel: &Function, counted: &'t Counted<'t>) -> Option<Self> {
        let heads = [&counted.first.place, &counted.condition.place, &counted.step.place];
        let bodies = counted.statements().iter().map(|stmt| &stmt.place);
        if !heads.into_iter().chain(bodies).all(|place| place.exact) || acts(tree, counted.body) {
            return None;
        }
        let mut rows: Vec<RowOfLoads<'t>> = Vec::new();
        for stmt in counted.statements() {
            // The condition of a branch is evaluated in every step.
            if !matches!(stmt.kind, StmtKind::Declare(_) | StmtKind::Expr(_) | StmtKind::If { .. }) {
                continue;
            }
            for expr in stmt.expressions() {
                certain_loads(tree, expr, &counted.values, &mut |load, address| {
                    let Type::Scalar(scalar) = load.ty else { return };
                    let is_one = address.sum.coefficient(counted.name) == Some(1);
                    if !is_one || counted.depends(load) || !load.place.exact || scalar == Scalar::Bool {
                        return;
                    }
                    match rows.iter_mut().find(|row| row.address == address && row.scalar == scalar) {
                        Some(row) => row.loads.push(load),
                        None => rows.push(RowOfLoads { address, scalar, loads: vec![load] }),
                    }
                });
            }
        }
        let is_volatile = |row: &RowOfLoads<'_>| is_volatile(tree, kernel, row.address.base);
        if rows.is_empty() || rows.iter().any(is_volatile) {
            return None;
        }
        let loads: Vec<Range<usize>> =
            rows.iter().flat_map(|row| &row.loads).map(|load| load.place.range.clone()).collect();
        let counters = counted.counters(&loads);
        Some(Self { tree, counted, rows, counters })
    }

    fn proposals(&self, times: &[usize]) -> Vec<Proposal> {
        let widest = self.rows.iter().map(|row| usize::from(row.scalar.bits()) / 8).max().unwrap_or(1);
        // Two elements of a byte or two are not worth a loop of their own.
        let fits = |times: &usize| times * widest <= WIDEST && (times * widest >= 8 || *times >= 4);
        let few = |times: &usize| self.counted.turns.is_none_or(|turns| turns >= *times as i128);
        times.iter().filter(|times| fits(times) && few(times)).filter_map(|it| self.batched(*it)).collect()
    }

    fn batched(&self, times: usize) -> Option<Proposal> {
        let name = self.counted.name;
        let step = match self.counters {
            Some(_) => format!("{name} += {times}"),
            None => format!("++{name}"),
        };
        let source = self.written(times, &step, &|vectors, indent| {
            let turns = (0..times).map(|turn| self.copy(&self.turn(turn, vectors)?, turn, times, indent));
            turns.collect()
        })?;
        let mut from: Vec<String> = self.rows.iter().map(|row| format!("`{}`", row.address.name)).collect();
        from.sort();
        from.dedup();
        Some(Proposal {
            title: format!(
                "{times} steps of the loop over `{name}` in one turn, with vectors of {}",
                from.join(", ")
            ),
            why: format!("one load takes the elements of {times} steps, and a turn is paid once for them"),
            source,
            ..Proposal::of(RULE.code)
        })
    }

    /// The types of the elements of each row.
    pub(super) fn scalars(&self) -> impl Iterator<Item = Scalar> {
        self.rows.iter().map(|row| row.scalar)
    }

    /// The type of a row's elements.
    pub(super) fn scalar(&self, row: usize) -> Scalar {
        self.rows[row].scalar
    }

    /// The row that an expression loads an element of.
    pub(super) fn row_of(&self, expr: &Expr) -> Option<usize> {
        self.rows.iter().position(|row| row.loads.iter().any(|load| std::ptr::eq(*load, expr)))
    }

    /// The source with `times` steps in a turn, which ends with `step`: `turn` writes them, with the names of the rows'
    /// vectors and at an indentation.
    pub(super) fn written(
        &self,
        times: usize,
        step: &str,
        turn: &dyn Fn(&[String], &str) -> Option<String>,
    ) -> Option<String> {
        let (tree, counted) = (self.tree, self.counted);
        let source = &tree.source;
        let mut names = Names::new(tree);
        let outer = indentation(source, counted.stmt.full.start).to_owned();
        let divides = counted.turns.is_some_and(|turns| turns % times as i128 == 0);
        // A block of its own holds both loops, and the variable that they use.
        let is_own = !divides;
        let indent = if is_own { format!("{outer}    ") } else { outer.clone() };
        let first = source.get(counted.first.full.clone())?.trim_end_matches(';');
        let mut text = if is_own { format!("{{\n{indent}") } else { String::new() };
        if divides {
            let _ = writeln!(text, "for ({first}; {}; {step}) {{", tree.text(&counted.condition.place));
        } else {
            let _ = writeln!(text, "{first};\n{indent}for (; {}; {step}) {{", self.condition(times)?);
        }
        let mut vectors = Vec::new();
        for row in &self.rows {
            let vector = names.fresh(&row.address.name);
            let ty = Type::Vector(row.scalar, u8::try_from(times).ok()?);
            let from = element_address(tree, row.loads.first()?, &counted.values)?;
            let _ = writeln!(text, "{indent}    const {ty} {vector} = vload{times}(0, {from});");
            vectors.push(vector);
        }
        text.push_str(&turn(&vectors, &format!("{indent}    "))?);
        let _ = write!(text, "{indent}}}");
        if !divides {
            let (condition, step) = (&counted.condition.place, &counted.step.place);
            let body = source.get(counted.body.full.clone())?;
            let _ = write!(text, "\n{indent}for (; {}; {})", tree.text(condition), tree.text(step));
            let is_block = matches!(counted.body.kind, StmtKind::Block(_));
            let gap = if is_block { " ".to_owned() } else { format!("\n{indent}    ") };
            let body = if is_own { body.replace('\n', "\n    ") } else { body.to_owned() };
            let _ = write!(text, "{gap}{body}");
        }
        if is_own {
            let _ = write!(text, "\n{outer}}}");
        }
        let mut edits = Edits::new();
        edits.replace(counted.stmt.full.clone(), text).ok()?;
        Some(edits.apply(source))
    }

    /// Whether the last of `times` steps is one of the loop's.
    fn condition(&self, times: usize) -> Option<String> {
        let ExprKind::Binary { operator, right, .. } = &self.counted.condition.bare().kind else {
            return None;
        };
        let end = right.place.exact.then(|| self.tree.text(&right.place))?;
        Some(format!("{} + {} {operator} {end}", self.counted.name, times - 1))
    }

    /// The changes of the body in a turn.
    fn turn(&self, turn: usize, vectors: &[String]) -> Option<Edits> {
        let mut edits = Edits::new();
        for (row, vector) in self.rows.iter().zip(vectors) {
            for load in &row.loads {
                let lane = "0123456789abcdef".get(turn..=turn)?;
                edits.replace(load.place.range.clone(), format!("{vector}.s{lane}")).ok()?;
            }
        }
        for at in self.counters.iter().flatten().filter(|_| turn > 0) {
            edits.replace(at.clone(), format!("({} + {turn})", self.counted.name)).ok()?;
        }
        Some(edits)
    }

    /// The body with changes.
    fn copy(&self, edits: &Edits, turn: usize, times: usize, indent: &str) -> Option<String> {
        let statements = self.counted.statements();
        let source = &self.tree.source;
        let declares = statements.iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare(_)));
        let mut text = String::new();
        let inner = if declares { format!("{indent}    ") } else { indent.to_owned() };
        if declares {
            let _ = writeln!(text, "{indent}{{");
        }
        for stmt in statements {
            let _ = writeln!(text, "{inner}{}", edits.apply_to(source, stmt.full.clone()));
        }
        if declares {
            let _ = writeln!(text, "{indent}}}");
        }
        if self.counters.is_none() && turn + 1 < times {
            let _ = writeln!(text, "{indent}++{};", self.counted.name);
        }
        Some(text)
    }
}

/// The text of a loaded element's address, before the loop's body.
fn element_address(tree: &Tree, load: &Expr, values: &Values<'_>) -> Option<String> {
    match &load.kind {
        ExprKind::Unary { operand, .. } if operand.place.exact && !load.place.in_macro => {
            text_without(tree, operand, values)
        }
        _ => Some(format!("&{}", text_without(tree, load, values)?)),
    }
}
