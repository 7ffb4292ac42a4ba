//! `tabulate`: a table of what is computed of a byte.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use tripipe_ir::diagnostic::Rule;
use tripipe_launch_file::Number;

use super::counted::{changed, root};
use super::reaching::{Reaching, assigned};
use super::text::{Names, line_of};
use crate::host::number;
use crate::replicate::is_elementwise;
use crate::syntax::text::Text;
use crate::syntax::{
    Edits, Expr, ExprKind, Function, NameKind, Printer, Scalar, Stmt, StmtKind, Symbol, Tree, Type,
};
use crate::{Condition, Proposal, View, verify};

pub(super) const RULE: Rule = Rule {
    code: "tabulate",
    title: "a table of what is computed of a byte",
    what: "
An expression with `pow`, `exp` and the like that depends on one byte and on constants becomes an element of a `constant` array
of its 256 values. Arguments in it are replaced by their values in the launch.",
    why: "
The precise functions are dozens to hundreds of instructions; a load from a kilobyte that the cache keeps is one. A gamma curve
is the usual case.",
    example: "
float linear = pow(in[i] / 255.0f, 2.2f);
out[i] = (uchar)(linear * 255.0f + 0.5f);",
    instead: "
constant uchar k_table_1[256] = { 0, 0, 0, 0, … };
out[i] = k_table_1[in[i]];",
    exceptions: "
Where the functions are native ones; where loads and stores already bound the kernel. The table has the values of functions
as the simulator computes them: a device's own may differ by the units in the last place that OpenCL allows.",
    source: "
- OpenCL C, table of accuracy: `pow` within 16 units in the last place.
- The gains are the model's, for a kernel of the project (docs/improve.md, Half precision).",
    ..Rule::REWRITE
};

/// What results deviate on a device, relative: the functions that it replaces may be a few units in the last place off.
const ERROR: f64 = 5e-7;

/// The values of a byte.
const SIZE: usize = 256;

/// Numbers of a line of the table.
const A_LINE: usize = 8;

/// The most instructions of a work-item that computes a value of the table.
const STEPS: u64 = 10_000_000;

/// Functions of a number that take many instructions.
const DEAR: [&str; 28] = [
    "pow", "powr", "pown", "rootn", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt",
    "rsqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "erf",
    "hypot", "sinpi",
];

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    // Loads move to where the table is read.
    let is_volatile = tree.source.contains("volatile");
    proposal(view, tree, kernel).filter(|_| !is_volatile).into_iter().collect()
}

fn proposal(view: &View<'_>, tree: &Tree, kernel: &Function) -> Option<Proposal> {
    let formulas = Formulas::of(view, tree, kernel);
    let mut found = Vec::new();
    kernel.body.walk(&mut |stmt| {
        for expr in stmt.expressions() {
            formulas.find(expr, &mut found);
        }
    });
    // What only formulas read is not computed any more, and needs no table.
    let dead = formulas.dead(&found);
    found.retain(|one| !dead.iter().any(|range| is_inside(&one.expr.place.range, range)));
    let (mut edits, mut tables) = (Edits::new(), Vec::<(&Found<'_>, String)>::new());
    let mut fresh = Names::new(tree);
    for one in &found {
        let same = |other: &Found<'_>| other.formula == one.formula && other.scalar == one.scalar;
        let known = tables.iter().find(|(other, _)| same(other)).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = fresh.fresh(&format!("{}_table", kernel.name));
            tables.push((one, name.clone()));
            name
        });
        let byte = if one.signed { format!("(uchar)({})", one.byte) } else { one.byte.clone() };
        edits.replace(one.expr.place.range.clone(), format!("{name}[{byte}]")).ok()?;
    }
    if tables.is_empty() {
        return None;
    }
    for range in dead {
        edits.replace(range, "").ok()?;
    }
    let mut text = String::new();
    for (one, name) in &tables {
        text.push_str(&table(name, one.scalar, &values(view, one)?)?);
    }
    let arguments: BTreeSet<usize> = found.iter().flat_map(|one| one.arguments.iter().copied()).collect();
    Some(Proposal {
        title: match tables.len() {
            1 => format!("a table of {SIZE} numbers for {}", names(&found)),
            count => format!("{count} tables of {SIZE} numbers for {}", names(&found)),
        },
        why: "a byte has few values, and a load is less than the functions".to_owned(),
        source: text + &edits.apply(&tree.source),
        conditions: arguments.iter().map(|at| formulas.is(*at)).collect::<Option<_>>()?,
        relative_error: ERROR,
        ..Proposal::of(RULE.code)
    })
}

/// The functions that tables replace.
fn names(found: &[Found<'_>]) -> String {
    let all: BTreeSet<&str> = found.iter().flat_map(|one| one.functions.iter().copied()).collect();
    let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
    all.join(", ")
}

/// An expression that a table can replace.
struct Found<'t> {
    expr: &'t Expr,
    /// The type of its values.
    scalar: Scalar,
    /// The byte that it depends on, as text.
    byte: String,
    signed: bool,
    /// The same with the byte's name in place of the byte, and with what variables stand for.
    formula: String,
    functions: BTreeSet<&'static str>,
    /// Positions of arguments in it.
    arguments: BTreeSet<usize>,
    /// Variables that it stands for.
    through: BTreeSet<Symbol>,
}

/// What a formula was found to need.
#[derive(Default)]
struct Needs {
    bytes: BTreeSet<(String, bool)>,
    functions: BTreeSet<&'static str>,
    arguments: BTreeSet<usize>,
    through: BTreeSet<Symbol>,
    impossible: bool,
}

/// The name of the byte in formulas.
const BYTE: &str = "tripipe_byte";

/// Finds formulas in a kernel.
struct Formulas<'t> {
    view: &'t View<'t>,
    tree: &'t Tree,
    kernel: &'t Function,
    changed: BTreeSet<Symbol>,
    reaching: Reaching<'t>,
}

impl<'t> Formulas<'t> {
    fn of(view: &'t View<'t>, tree: &'t Tree, kernel: &'t Function) -> Self {
        let (mut all, _) = changed(&kernel.body);
        // A loop's counter is the same from the start of a turn to its end, unless the body changes it.
        kernel.body.walk(&mut |stmt| {
            if let StmtKind::For { step: Some(step), body, first: Some(_), .. } = &stmt.kind {
                let (inside, _) = changed(body);
                step.walk(&mut |it| {
                    if let Some(symbol) = it.symbol().filter(|symbol| !inside.contains(symbol)) {
                        all.remove(&symbol);
                    }
                });
            }
        });
        Self { view, tree, kernel, changed: all, reaching: Reaching::of(&kernel.body) }
    }

    /// The largest formulas in an expression.
    fn find(&self, expr: &'t Expr, found: &mut Vec<Found<'t>>) {
        match self.formula(expr) {
            Some(one) => found.push(one),
            None => expr.children().into_iter().for_each(|child| self.find(child, found)),
        }
    }

    fn formula(&self, expr: &'t Expr) -> Option<Found<'t>> {
        let is_stored = |scalar: &Scalar| *scalar != Scalar::Bool && scalar.bits() <= 32;
        let scalar = expr.ty.as_number().filter(is_stored)?;
        if !expr.place.exact || matches!(expr.kind, ExprKind::Assign { .. }) {
            return None;
        }
        let needs = RefCell::new(Needs::default());
        let text = self.text(expr, &needs)?;
        let Needs { bytes, functions, arguments, through, impossible } = needs.into_inner();
        let mut bytes = bytes.into_iter();
        let (Some((byte, signed)), None) = (bytes.next(), bytes.next()) else { return None };
        let formula = format!("({}){text}", scalar.name());
        (!impossible && !functions.is_empty()).then_some(Found {
            expr,
            scalar,
            byte,
            signed,
            formula,
            functions,
            arguments,
            through,
        })
    }

    /// The text of a formula, as an operand.
    fn text(&self, expr: &Expr, needs: &RefCell<Needs>) -> Option<String> {
        let replaced = |expr: &Expr| self.replaced(expr, needs);
        let printer = Printer { tree: self.tree, replaced: &replaced, renamed: &|_| None };
        Some(format!("({})", printer.expression(expr)?.text))
    }

    /// What an expression of a formula becomes; notes what is needed.
    fn replaced(&self, expr: &Expr, needs: &RefCell<Needs>) -> Option<Text> {
        if let (Some(Scalar::Integer { bits: 8, signed }), false) = (expr.ty.as_number(), is_constant(expr))
            && !matches!(expr.kind, ExprKind::Cast { implicit: false, .. } | ExprKind::Call { .. })
        {
            self.byte(expr, signed, needs);
            return Some(Text::primary(BYTE));
        }
        let impossible = || needs.borrow_mut().impossible = true;
        match &expr.kind {
            ExprKind::Name { symbol, kind: NameKind::Variable, .. } => {
                needs.borrow_mut().through.insert(*symbol);
                let text = self.reaching.value(expr).and_then(|value| self.value(expr, value, needs));
                if text.is_none() {
                    impossible();
                }
                return text.map(Text::primary);
            }
            ExprKind::Name { symbol, kind: NameKind::Parameter, .. } => match self.argument(*symbol) {
                Some((at, text)) if !self.changed.contains(symbol) => {
                    needs.borrow_mut().arguments.insert(at);
                    return Some(Text::primary(text));
                }
                _ => impossible(),
            },
            ExprKind::Call { name, .. } => {
                needs.borrow_mut().functions.extend(DEAR.iter().find(|known| *known == name));
                if !is_of_numbers(name) {
                    impossible();
                }
            }
            ExprKind::Integer(_)
            | ExprKind::Float(_)
            | ExprKind::Name { kind: NameKind::Function | NameKind::Constant, .. }
            | ExprKind::Binary { .. }
            | ExprKind::Conditional { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Parentheses(_) => {
                if expr.ty.as_number().is_none() && !matches!(expr.kind, ExprKind::Name { .. }) {
                    impossible();
                }
            }
            ExprKind::Unary { operator, .. } if ["-", "!", "~", "+"].contains(&operator.as_str()) => {}
            _ => impossible(),
        }
        None
    }

    /// The text of a variable's value, which an expression gave it: its initial value, or an assignment.
    fn value(&self, variable: &Expr, value: &Expr, needs: &RefCell<Needs>) -> Option<String> {
        let to = variable.ty.as_number()?.name();
        let ExprKind::Assign { operator, target, value, computed } = &value.kind else {
            return Some(format!("(({to}){})", self.text(value, needs)?));
        };
        let new = self.text(value, needs)?;
        let Some(operator) = operator else { return Some(format!("(({to}){new})")) };
        let computed = computed.as_number()?.name();
        let old = self.text(target, needs)?;
        Some(format!("(({to})(({computed}){old} {operator} ({computed}){new}))"))
    }

    /// Notes the byte that a formula depends on, which must be the same where the table is read.
    fn byte(&self, expr: &Expr, signed: bool, needs: &RefCell<Needs>) {
        let plain = Printer { tree: self.tree, replaced: &|_| None, renamed: &|_| None };
        let text = plain.expression(expr);
        let is_moved = !needs.borrow().through.is_empty();
        let mut stays = !expr.assigns();
        expr.walk(&mut |inner| match &inner.kind {
            ExprKind::Name { symbol, kind: NameKind::Variable | NameKind::Parameter, .. } => {
                let is_pointer = matches!(inner.ty, Type::Pointer { .. });
                stays &= !(self.changed.contains(symbol) || is_pointer && self.is_written(*symbol));
            }
            ExprKind::Call { name, .. } => stays &= name.starts_with("get_"),
            _ => {}
        });
        let mut needs = needs.borrow_mut();
        match text {
            Some(text) if stays || !is_moved && !expr.assigns() => {
                needs.bytes.insert((text.text, signed));
            }
            _ => needs.impossible = true,
        }
    }

    /// Whether the kernel writes to the memory behind a pointer, or passes the pointer on.
    fn is_written(&self, pointer: Symbol) -> bool {
        let mut written = false;
        self.kernel.body.walk_expressions(&mut |expr| match &expr.kind {
            ExprKind::Assign { target, .. } => {
                target.walk(&mut |it| written |= root(target).is_none() && it.symbol() == Some(pointer));
            }
            ExprKind::Call { name, arguments, .. } if !name.starts_with("vload") => {
                let is_it = |argument: &Expr| {
                    matches!(argument.ty, Type::Pointer { .. })
                        && argument.any(|it| it.symbol() == Some(pointer))
                };
                written |= arguments.iter().any(is_it);
            }
            _ => {}
        });
        written
    }

    /// An argument's position and its value in the launch, as text.
    fn argument(&self, symbol: Symbol) -> Option<(usize, String)> {
        let at = self.kernel.parameters.iter().position(|parameter| parameter.symbol == symbol)?;
        let scalar = self.kernel.parameters[at].ty.as_number()?;
        let text = match number(&self.view.subject.launch, at)? {
            Number::Float(value) => format!("{value:?}f"),
            Number::Integer(value) => value.to_string(),
        };
        Some((at, format!("(({})({text}))", scalar.name())))
    }

    /// The condition that an argument has its value.
    fn is(&self, argument: usize) -> Option<Condition> {
        let name = self.kernel.parameters.get(argument)?.name.clone();
        Some(Condition::ArgumentIs { argument, name, value: number(&self.view.subject.launch, argument)? })
    }

    /// The declarations of variables that only formulas read, and assignments to them, with their lines.
    fn dead(&self, found: &[Found<'t>]) -> Vec<Range<usize>> {
        let through: BTreeSet<Symbol> = found.iter().flat_map(|one| one.through.iter().copied()).collect();
        let mut covered: Vec<Range<usize>> = found.iter().map(|one| one.expr.place.range.clone()).collect();
        let mut dead = Vec::new();
        loop {
            let read = self.read_outside(&covered);
            let mut more = Vec::new();
            self.kernel.body.walk(&mut |stmt: &Stmt| {
                let given: Vec<Symbol> = match &stmt.kind {
                    StmtKind::Declare(variables) => {
                        variables.iter().map(|variable| variable.symbol).collect()
                    }
                    _ => assigned(stmt).into_iter().collect(),
                };
                let is_dead = |symbol: &Symbol| through.contains(symbol) && !read.contains(symbol);
                let is_dead = !given.is_empty() && given.iter().all(is_dead);
                if is_dead && stmt.expressions().into_iter().all(is_pure) && !covered.contains(&stmt.full) {
                    more.push(stmt.full.clone());
                }
            });
            if more.is_empty() {
                return dead;
            }
            dead.extend(more.iter().map(|stmt| line_of(&self.tree.source, stmt)));
            covered.extend(more);
        }
    }

    /// The variables that are read outside of some parts.
    fn read_outside(&self, covered: &[Range<usize>]) -> BTreeSet<Symbol> {
        let (mut read, mut targets) = (BTreeSet::new(), BTreeSet::new());
        self.kernel.body.walk(&mut |stmt| {
            if assigned(stmt).is_some()
                && let StmtKind::Expr(expr) = &stmt.kind
                && let ExprKind::Assign { target, .. } = &expr.bare().kind
            {
                targets.insert(target.bare().place.range.start);
            }
        });
        self.kernel.body.walk_expressions(&mut |expr| {
            let range = &expr.place.range;
            let is_covered = covered.iter().any(|whole| is_inside(range, whole));
            if matches!(expr.kind, ExprKind::Name { .. }) && !is_covered && !targets.contains(&range.start) {
                read.extend(expr.symbol());
            }
        });
        read
    }
}

fn is_inside(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether a function computes from numbers alone, and within stated bounds: nobody knows a device's native functions.
fn is_of_numbers(name: &str) -> bool {
    let is_native = ["native_", "half_"].iter().any(|start| name.starts_with(start));
    DEAR.contains(&name) || is_elementwise(name) && !is_native
}

/// Whether an expression does nothing but compute, apart from what it is assigned to.
fn is_pure(expr: &Expr) -> bool {
    !expr.any(|it| matches!(&it.kind, ExprKind::Call { name, .. } if !is_of_numbers(name)))
}

/// Whether an expression is a number.
fn is_constant(expr: &Expr) -> bool {
    matches!(expr.bare().kind, ExprKind::Integer(_) | ExprKind::Float(_))
}

/// The bytes of a formula's values, of the byte 0 to 255, as the simulator computes them.
fn values(view: &View<'_>, found: &Found<'_>) -> Option<Vec<u8>> {
    let (number, kernel) = (found.scalar.name(), "tripipe_table");
    let byte = if found.signed { "char" } else { "uchar" };
    let source = format!(
        "{}\nkernel void {kernel}(global {number} *out)\n{{\n    const {byte} {BYTE} = ({byte})get_global_id(0);\n    \
        out[get_global_id(0)] = {};\n}}\n",
        view.subject.source, found.formula
    );
    verify::computed(view.subject, kernel, source, number, SIZE, STEPS)
}

/// The text of a table; `None` if a value is not finite.
fn table(name: &str, scalar: Scalar, bytes: &[u8]) -> Option<String> {
    let each = usize::from(scalar.bits()) / 8;
    let number = |bytes: &[u8]| -> Option<String> {
        let mut all = [0; 8];
        all[..each].copy_from_slice(bytes);
        let word = u64::from_le_bytes(all);
        match scalar {
            Scalar::Float { bits: 32 } => {
                let value = f32::from_bits(word as u32);
                value.is_finite().then(|| format!("{value:?}f"))
            }
            Scalar::Integer { bits, signed: true } => {
                let unused = 64 - u32::from(bits);
                Some((((word << unused) as i64) >> unused).to_string())
            }
            Scalar::Integer { signed: false, .. } => Some(word.to_string()),
            _ => None,
        }
    };
    let numbers: Vec<String> = bytes.chunks_exact(each).map(number).collect::<Option<_>>()?;
    let lines: Vec<String> =
        numbers.chunks(A_LINE).map(|line| format!("    {},\n", line.join(", "))).collect();
    Some(format!("constant {} {name}[{SIZE}] = {{\n{}}};\n\n", scalar.name(), lines.concat()))
}
