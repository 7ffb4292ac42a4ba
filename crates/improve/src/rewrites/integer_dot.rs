//! `integer-dot`: sums of products of bytes by the instruction for four of them.

use std::fmt::Write as _;

use tripipe_device::Gpu;
use tripipe_ir::diagnostic::Rule;

use super::address::text_without;
use super::batch_loads::Batch;
use super::counted::Counted;
use crate::syntax::{Expr, ExprKind, Function, Scalar, StmtKind, Tree, Type};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "integer-dot",
    title: "sums of products of bytes by the instruction for four of them",
    what: "
A loop that adds products of 8-bit integers takes 4, 8 or 16 steps in one turn: the bytes come in vectors, and four
products are one `arm_dot`, or `dot_4x8packed_ss_int` with cl_khr_integer_dot_product. Offsets of the factors become
sums of their own. Results are the same bits, as long as no sum overflows.",
    why: "
C promotes bytes to 32 bits: each product is a conversion of both factors, a multiplication, and an addition. The
instruction does four of them at once.",
    example: "
for (int k = 0; k < n; k++)
    sum += (a[k] + offset) * b[k];",
    instead: "
for (; k + 3 < n; k += 4) {
    const char4 a_1 = vload4(0, &a[k]);
    const char4 b_1 = vload4(0, &b[k]);
    sum = arm_dot_acc(a_1, b_1, sum);
    sum += (offset) * arm_dot(b_1, (char4)(1));
}",
    exceptions: "
On GPUs whose driver offers no integer dot product, and where the bytes of a factor do not lie side by side.",
    source: "
cl_arm_integer_dot_product_int8, cl_arm_integer_dot_product_accumulate_int8 and cl_khr_integer_dot_product in the
registry of OpenCL.",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    dotted(tree, kernel, view.gpus, &[4, 8, 16])
}

/// What becomes of the kernel if a loop takes one of `times` steps in one turn, as dot products; empty where no loop can.
pub(super) fn dotted(tree: &Tree, kernel: &Function, gpus: &[&Gpu], times: &[usize]) -> Vec<Proposal> {
    let Some(dot) = Dot::of(gpus) else { return Vec::new() };
    let mut loops = Vec::new();
    kernel.body.walk(&mut |stmt| loops.extend(Counted::of(stmt)));
    let batches = loops.iter().filter_map(|counted| Batch::of(tree, kernel, counted));
    batches
        .flat_map(|batch| {
            times.iter().filter_map(move |times| proposal(&batch, dot, *times)).collect::<Vec<_>>()
        })
        .collect()
}

fn proposal(batch: &Batch<'_>, dot: Dot, times: usize) -> Option<Proposal> {
    if batch.counted.turns.is_some_and(|turns| turns < times as i128) {
        return None;
    }
    let sums = Sums::of(batch)?;
    let name = batch.counted.name;
    let step = format!("{name} += {times}");
    let source = batch.written(times, &step, &|vectors, indent| sums.written(dot, vectors, times, indent))?;
    let pragma = dot.pragma().filter(|pragma| !source.contains(pragma));
    let pragma = pragma.map(|name| format!("#pragma OPENCL EXTENSION {name} : enable\n")).unwrap_or_default();
    Some(Proposal {
        title: format!("{times} steps of the loop over `{name}` in one turn, by {}", dot.function()),
        why: "one instruction multiplies and adds four pairs of bytes".to_owned(),
        source: pragma + &source,
        ..Proposal::of(RULE.code)
    })
}

/// The functions that a driver offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dot {
    /// `arm_dot`, and `arm_dot_acc` if `accumulates`.
    Arm { accumulates: bool },
    /// `dot_4x8packed_ss_int` and its kin.
    Packed,
}

impl Dot {
    /// What the drivers of all GPUs offer.
    fn of(gpus: &[&Gpu]) -> Option<Self> {
        let all = |name: &str| !gpus.is_empty() && gpus.iter().all(|gpu| gpu.opencl().has(name));
        if all("cl_arm_integer_dot_product_int8") {
            let accumulates = all("cl_arm_integer_dot_product_accumulate_int8");
            return Some(Self::Arm { accumulates });
        }
        all("__opencl_c_integer_dot_product_input_4x8bit_packed").then_some(Self::Packed)
    }

    fn function(self) -> &'static str {
        match self {
            Self::Arm { .. } => "arm_dot",
            Self::Packed => "dot_4x8packed",
        }
    }

    fn pragma(self) -> Option<&'static str> {
        match self {
            Self::Arm { accumulates: true } => Some("cl_arm_integer_dot_product_accumulate_int8"),
            Self::Arm { accumulates: false } => Some("cl_arm_integer_dot_product_int8"),
            Self::Packed => None,
        }
    }

    /// The sum of the products of two vectors of four, with the sign of each.
    fn call(self, [a, b]: [(&str, bool); 2]) -> String {
        match self {
            Self::Arm { .. } if a.1 == b.1 => format!("arm_dot({}, {})", a.0, b.0),
            Self::Arm { .. } => {
                // The unsigned bytes less 128 are signed.
                let (unsigned, signed) = if a.1 { (b.0, a.0) } else { (a.0, b.0) };
                format!(
                    "(arm_dot(as_char4({unsigned} ^ (uchar4)(0x80)), {signed}) + 128 * arm_dot({signed}, (char4)(1)))"
                )
            }
            Self::Packed => {
                let letter = |signed: bool| if signed { 's' } else { 'u' };
                let result = if a.1 || b.1 { "int" } else { "uint" };
                let (of_a, of_b) = (letter(a.1), letter(b.1));
                format!("dot_4x8packed_{of_a}{of_b}_{result}(as_uint({}), as_uint({}))", a.0, b.0)
            }
        }
    }
}

/// A product of loaded bytes and of what is the same in all steps.
#[derive(Clone, Debug, Default, PartialEq)]
struct LaneProduct {
    negative: bool,
    /// The rows that the bytes are from: none, one or two.
    lanes: Vec<usize>,
    /// The texts of the other factors.
    factors: Vec<String>,
}

/// The sums of a loop's body.
struct Sums<'t> {
    batch: &'t Batch<'t>,
    /// Each sum's text, and what a step adds to it.
    all: Vec<(String, Vec<LaneProduct>)>,
}

impl<'t> Sums<'t> {
    /// The sums, if the body does nothing else.
    fn of(batch: &'t Batch<'t>) -> Option<Self> {
        let mut sums = Self { batch, all: Vec::new() };
        let is_byte = |row: &Scalar| matches!(row, Scalar::Integer { bits: 8, .. });
        if !batch.scalars().all(|scalar| is_byte(&scalar)) {
            return None;
        }
        for stmt in batch.counted.statements() {
            match &stmt.kind {
                StmtKind::Declare(variables) => {
                    for variable in variables {
                        let value = variable.value.as_ref()?;
                        // A narrower variable would cut the value. Pointers are a part of addresses.
                        let is_pointer = matches!(variable.ty, Type::Pointer { .. });
                        if !is_pointer && !keeps(value, &variable.ty) {
                            return None;
                        }
                    }
                }
                StmtKind::Expr(expr) => sums.add(expr)?,
                _ => return None,
            }
        }
        sums.all.iter().any(|(_, terms)| terms.iter().any(|it| it.lanes.len() == 2)).then_some(sums)
    }

    fn tree(&self) -> &'t Tree {
        self.batch.tree
    }

    /// `sum += value`, `sum -= value`, `sum = sum + value`.
    fn add(&mut self, expr: &'t Expr) -> Option<()> {
        let ExprKind::Assign { operator, target, value, .. } = &expr.bare().kind else { return None };
        let symbol = target.symbol()?;
        let is_sum = matches!(target.ty.as_number(), Some(Scalar::Integer { bits: 32, .. }));
        if !is_sum || self.batch.counted.values.contains_key(&symbol) || !target.place.exact {
            return None;
        }
        if let (None, ExprKind::Call { name, arguments, .. }) = (operator, &value.bare().kind)
            && let ("mad24", [left, right, sum]) = (name.as_str(), &arguments[..])
            && sum.symbol() == Some(symbol)
        {
            let terms = self.short_product(left, right)?;
            self.all.push((self.tree().text(&target.place).to_owned(), terms));
            return Some(());
        }
        let (negative, added) = match operator.as_deref() {
            Some("+") => (false, &**value),
            Some("-") => (true, &**value),
            None => match &value.bare().kind {
                ExprKind::Binary { operator, left, right } if operator == "+" || operator == "-" => {
                    if left.symbol() == Some(symbol) {
                        (operator == "-", &**right)
                    } else if operator == "+" && right.symbol() == Some(symbol) {
                        (false, &**left)
                    } else {
                        return None;
                    }
                }
                _ => return None,
            },
            Some(_) => return None,
        };
        let terms = signed(self.terms(added)?, negative);
        self.all.push((self.tree().text(&target.place).to_owned(), terms));
        Some(())
    }

    /// An expression as a sum of products, modulo 2^32; `None` where it is something else.
    fn terms(&self, expr: &'t Expr) -> Option<Vec<LaneProduct>> {
        if let Some(row) = self.batch.row_of(expr) {
            return Some(vec![LaneProduct { lanes: vec![row], ..LaneProduct::default() }]);
        }
        match &expr.kind {
            ExprKind::Parentheses(inner) => self.terms(inner),
            ExprKind::Cast { operand, .. } if keeps(operand, &expr.ty) => self.terms(operand),
            ExprKind::Name { symbol, .. } if self.batch.counted.values.contains_key(symbol) => {
                self.terms(self.batch.counted.values.get(symbol)?)
            }
            ExprKind::Call { name, arguments, .. } if is_wide(expr) => match &arguments[..] {
                [value] if name.starts_with("convert_") && keeps(value, &expr.ty) => self.terms(value),
                [left, right] if name == "mul24" => self.short_product(left, right),
                _ => self.fixed(expr),
            },
            ExprKind::Unary { operator, operand, .. } if operator == "-" && is_wide(expr) => {
                self.terms(operand).map(|terms| signed(terms, true))
            }
            ExprKind::Binary { operator, left, right } if is_wide(expr) => {
                if !self.batch.counted.changes(expr) {
                    return self.fixed(expr);
                }
                let (left, right) = (self.terms(left)?, self.terms(right)?);
                match operator.as_str() {
                    "+" => Some([left, right].concat()),
                    "-" => Some([left, signed(right, true)].concat()),
                    "*" => product(&left, &right),
                    _ => None,
                }
            }
            _ => self.fixed(expr),
        }
    }

    /// The product of two factors of which 24 bits count: bytes.
    fn short_product(&self, left: &'t Expr, right: &'t Expr) -> Option<Vec<LaneProduct>> {
        let (left, right) = (self.terms(left)?, self.terms(right)?);
        let is_byte = |terms: &[LaneProduct]| {
            let [term] = terms else { return false };
            term.factors.is_empty() && term.lanes.len() == 1
        };
        (is_byte(&left) && is_byte(&right)).then(|| product(&left, &right))?
    }

    fn fixed(&self, expr: &Expr) -> Option<Vec<LaneProduct>> {
        let is_integer = expr.ty.as_number().is_some_and(Scalar::is_integer);
        let text = text_without(self.tree(), expr, &self.batch.counted.values)?;
        let factors = vec![format!("({text})")];
        (is_integer && !self.batch.counted.changes(expr))
            .then(|| vec![LaneProduct { factors, ..LaneProduct::default() }])
    }

    /// The statements of a turn of `times` steps.
    fn written(&self, dot: Dot, vectors: &[String], times: usize, indent: &str) -> Option<String> {
        let mut text = String::new();
        for (sum, terms) in &self.all {
            for term in terms {
                let sign = if term.negative { '-' } else { '+' };
                if term.lanes.is_empty() {
                    let _ = writeln!(text, "{indent}{sum} {sign}= {times} * {};", term.factors.join(" * "));
                    continue;
                }
                for quad in 0..times / 4 {
                    let call = self.product(dot, vectors, &term.lanes, (times > 4).then_some(quad))?;
                    let is_plain = term.factors.is_empty() && !term.negative;
                    let whole = call.strip_prefix("arm_dot(").and_then(|call| call.strip_suffix(')'));
                    if let (Dot::Arm { accumulates: true }, true, Some(inner)) = (dot, is_plain, whole) {
                        let _ = writeln!(text, "{indent}{sum} = arm_dot_acc({inner}, {sum});");
                        continue;
                    }
                    let factors: Vec<&str> =
                        term.factors.iter().map(String::as_str).chain([call.as_str()]).collect();
                    let _ = writeln!(text, "{indent}{sum} {sign}= {};", factors.join(" * "));
                }
            }
        }
        Some(text)
    }

    /// The sum of four products of bytes; of one row alone, their sum.
    fn product(&self, dot: Dot, vectors: &[String], lanes: &[usize], quad: Option<usize>) -> Option<String> {
        let part = |row: usize| {
            let lanes = quad.map(|quad| [".s0123", ".s4567", ".s89ab", ".scdef"][quad]).unwrap_or_default();
            format!("{}{lanes}", vectors[row])
        };
        let signed = |row: usize| self.batch.scalar(row).range().is_some_and(|(least, _)| least < 0);
        let first = *lanes.first()?;
        let (second, is_signed) = match lanes.get(1) {
            Some(second) => (part(*second), signed(*second)),
            None => (format!("({}4)(1)", self.batch.scalar(first).name()), signed(first)),
        };
        Some(dot.call([(&part(first), signed(first)), (&second, is_signed)]))
    }
}

fn is_wide(expr: &Expr) -> bool {
    matches!(expr.ty.as_number(), Some(Scalar::Integer { bits: 32.., .. }))
}

/// The terms, with other signs if `negative`.
fn signed(mut terms: Vec<LaneProduct>, negative: bool) -> Vec<LaneProduct> {
    for term in &mut terms {
        term.negative ^= negative;
    }
    terms
}

/// The product of two sums; `None` if it has three bytes in a product.
fn product(left: &[LaneProduct], right: &[LaneProduct]) -> Option<Vec<LaneProduct>> {
    let mut all = Vec::new();
    for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))) {
        let lanes = [a.lanes.as_slice(), &b.lanes].concat();
        let factors = [a.factors.as_slice(), &b.factors].concat();
        all.push(LaneProduct { negative: a.negative != b.negative, lanes, factors });
    }
    all.iter().all(|term| term.lanes.len() <= 2).then_some(all)
}

/// Whether a conversion keeps an integer, modulo 2^32.
fn keeps(value: &Expr, to: &Type) -> bool {
    let (Some(from), Some(to)) = (value.ty.as_number(), to.as_number()) else { return false };
    match (from.range(), to) {
        (_, Scalar::Integer { bits: 32.., .. }) => from.is_integer(),
        (Some((least, most)), to) => {
            to.range().is_some_and(|(lowest, highest)| lowest <= least && most <= highest)
        }
        _ => false,
    }
}
