//! `half-precision`: a kernel that computes with `float` computes with `half`.

use tripipe_ir::diagnostic::Rule;

use super::counted::root;
use crate::syntax::{Edits, Expr, ExprKind, Function, NameKind, Scalar, Stmt, StmtKind, Tree, Type};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "half-precision",
    title: "floating point of 16 instead of 32 bits",
    what: "
Variables of type `float` and of its vectors become `half`, with their constants, conversions and built-in functions. Memory
and arguments stay as they are: what is loaded from them is converted, and results are converted back.",
    why: "
GPUs of phones compute two halves where they compute one float, and two halves share a register, so that more threads are
resident. Pixels of 8 bits need no more than the 11 bits of a half.",
    example: "
float4 sum = convert_float4(vload4(0, in)) * 0.25f;
vstore4(convert_uchar4_sat(sum), 0, out);",
    instead: "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
half4 sum = convert_half4(vload4(0, in)) * 0.25h;
vstore4(convert_uchar4_sat(sum), 0, out);",
    exceptions: "
Long sums, numbers over 65,504, positions in images over 2,048, and everything where three decimal digits are not enough. Where
memory has floats, the conversions may cost more than the halves gain. Only with `--allow-rounding`.",
    source: "
- IEEE 754: a half has 11 bits of precision, its largest number is 65,504.
- Arm, *Mali GPU OpenCL optimization* and Qualcomm, *Snapdragon OpenCL Programming and Optimization*: 16-bit arithmetic at twice
  the rate; the rates of each GPU are in docs/devices.md.",
    ..Rule::REWRITE
};

/// The most that a result deviates, relative: a sum of a few products, each of which is rounded by 2^-11. Guessed: what a
/// kernel needs is its author's to say.
const ERROR: f64 = 1e-2;

const FLOAT: Scalar = Scalar::Float { bits: 32 };
const EXTENSION: &str = "cl_khr_fp16";

/// Built-in functions with floats that have no form for halves, or another one that means something else.
const ONLY_FLOAT: [&str; 4] = ["native_", "half_", "vload_half", "vstore_half"];

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    let offered = !view.gpus.is_empty() && view.gpus.iter().all(|gpu| gpu.opencl().has(EXTENSION));
    if !view.allowed.rounding || !offered {
        return Vec::new();
    }
    let Some(source) = halved(tree, kernel) else { return Vec::new() };
    vec![Proposal {
        title: "`half` instead of `float`".to_owned(),
        why: "two halves take the time and the register of one float".to_owned(),
        source,
        relative_error: ERROR,
        ..Proposal::of(RULE.code)
    }]
}

/// The source with halves for the kernel's floats; `None` if it declares none, or something has no form with halves.
fn halved(tree: &Tree, kernel: &Function) -> Option<String> {
    let mut halving = Halving { tree, edits: Edits::new(), declares: false };
    let mut fits = true;
    kernel.body.walk(&mut |stmt| fits = fits && halving.statement(stmt).is_some());
    if !fits || !halving.declares {
        return None;
    }
    let pragma = format!("#pragma OPENCL EXTENSION {EXTENSION} : enable\n");
    let source = halving.edits.apply(&tree.source);
    Some(if source.contains(&pragma) { source } else { pragma + &source })
}

struct Halving<'t> {
    tree: &'t Tree,
    edits: Edits,
    /// Whether a variable changes its type.
    declares: bool,
}

impl Halving<'_> {
    fn statement(&mut self, stmt: &Stmt) -> Option<()> {
        if let StmtKind::Declare(variables) = &stmt.kind
            && let Some(first) = variables.first()
        {
            // Variables of one statement share the words of their type; a pointer to floats is one to memory that stays.
            let are_floats = variables.iter().map(|variable| is_own(&variable.ty) && !variable.shared);
            let are_floats: Vec<bool> = are_floats.collect();
            if are_floats.iter().all(|own| *own) {
                let words = first.place.range.start..first.name_range.start;
                let at = words.start + self.tree.source.get(words)?.find("float")?;
                if !first.place.exact || first.place.in_macro && variables.len() > 1 {
                    return None;
                }
                self.edits.replace(at..at + "float".len(), "half").ok()?;
                self.declares = true;
            } else if are_floats.contains(&true) {
                return None;
            }
        }
        for expr in stmt.expressions() {
            self.expression(expr)?;
        }
        Some(())
    }

    fn expression(&mut self, expr: &Expr) -> Option<()> {
        let source = &self.tree.source;
        let text = self.tree.text(&expr.place);
        let start = expr.place.range.start;
        match &expr.kind {
            ExprKind::Float(_) if expr.ty.scalar() == Some(FLOAT) => {
                if expr.place.in_macro {
                    self.converted(expr)?;
                } else {
                    let digits = text.trim_end_matches(['f', 'F']);
                    let number = expr.place.exact && !text.starts_with("0x") && !text.starts_with("0X");
                    let end = start + digits.len();
                    self.edits.replace(end..expr.place.range.end, "h").ok().filter(|()| number)?;
                }
                return Some(());
            }
            ExprKind::Cast { implicit: true, conversion, operand }
                if conversion == "LValueToRValue" && is_own(&expr.ty) && self.stays(operand) =>
            {
                self.converted(expr)?;
            }
            ExprKind::Cast { implicit: false, .. } | ExprKind::VectorLiteral(_)
                if expr.ty.scalar() == Some(FLOAT) && !matches!(expr.ty, Type::Pointer { .. }) =>
            {
                self.renamed(expr, "float", "half", text.find("float")?)?;
            }
            ExprKind::Call { name, arguments, .. } => {
                let floats = |expr: &Expr| expr.ty.scalar() == Some(FLOAT);
                let concerns = floats(expr) || arguments.iter().any(floats);
                let is_of_source = self.tree.functions.iter().any(|function| function.name == *name);
                let is_pointer = |it: &Expr| matches!(it.ty, Type::Pointer { .. });
                if name.starts_with("convert_float") {
                    self.renamed(expr, "convert_float", "convert_half", 0)?;
                } else if name.starts_with("read_imagef") {
                    // Positions must stay as they are.
                    if arguments.iter().skip(1).any(floats) {
                        return None;
                    }
                    self.renamed(expr, "read_imagef", "read_imageh", 0)?;
                    return Some(());
                } else if name.starts_with("write_imagef") {
                    self.renamed(expr, "write_imagef", "write_imageh", 0)?;
                    return self.expression(arguments.last()?);
                } else if name.starts_with("vload") && floats(expr) {
                    self.converted(expr)?;
                } else if name.starts_with("vstore") && arguments.first().is_some_and(floats) {
                    let (value, rest) = arguments.split_first()?;
                    self.back(value)?;
                    self.expression(value)?;
                    return rest.iter().try_for_each(|rest| self.expression(rest));
                } else if concerns
                    && (is_of_source
                        || arguments.iter().any(is_pointer)
                        || ONLY_FLOAT.iter().any(|prefix| name.starts_with(prefix)))
                {
                    return None;
                }
            }
            ExprKind::Assign { target, value, operator, .. }
                if matches!(target.ty, Type::Vector(FLOAT, _)) && self.stays(target) =>
            {
                if operator.is_some() {
                    return None;
                }
                self.back(value)?;
            }
            // The lanes of a comparison have the width of what is compared.
            ExprKind::Binary { operator, left, .. }
                if matches!(left.ty, Type::Vector(FLOAT, _))
                    && ["<", ">", "<=", ">=", "==", "!="].contains(&operator.as_str()) =>
            {
                return None;
            }
            ExprKind::Unary { operator, operand, .. }
                if operator == "&" && operand.ty.scalar() == Some(FLOAT) && !self.stays(operand) =>
            {
                return None;
            }
            ExprKind::Reinterpret(inner)
                if [&expr.ty, &inner.ty].iter().any(|ty| ty.scalar() == Some(FLOAT)) =>
            {
                return None;
            }
            ExprKind::Other { .. } if source.get(expr.place.range.clone())?.contains("float") => return None,
            _ => {}
        }
        expr.children().into_iter().try_for_each(|child| self.expression(child))
    }

    /// Whether what an expression names keeps its type: memory behind a pointer, a local array, an argument.
    fn stays(&self, target: &Expr) -> bool {
        match &target.bare().kind {
            ExprKind::Name { kind, name, .. } => {
                *kind == NameKind::Parameter || self.tree.globals.iter().any(|global| global.name == *name)
            }
            ExprKind::Swizzle { base, .. } | ExprKind::Field { base, .. } => self.stays(base),
            ExprKind::Index { base, .. } if root(target).is_some() => self.stays(base),
            ExprKind::Index { .. } | ExprKind::Unary { .. } => true,
            _ => false,
        }
    }

    /// Writes the conversion of a number or vector to halves around it.
    fn converted(&mut self, expr: &Expr) -> Option<()> {
        match &expr.ty {
            Type::Vector(_, lanes) => self.around(expr, &format!("convert_half{lanes}(")),
            _ => self.edits.insert(expr.place.range.start, "(half)").ok().filter(|()| expr.place.exact),
        }
    }

    /// Writes the conversion of a vector back to floats around it; numbers convert themselves.
    fn back(&mut self, expr: &Expr) -> Option<()> {
        match &expr.ty {
            Type::Vector(_, lanes) => self.around(expr, &format!("convert_float{lanes}(")),
            _ => Some(()),
        }
    }

    fn around(&mut self, expr: &Expr, call: &str) -> Option<()> {
        if !expr.place.exact {
            return None;
        }
        self.edits.insert(expr.place.range.start, call).ok()?;
        self.edits.insert(expr.place.range.end, ")").ok()
    }

    /// Replaces a word of an expression that starts so many bytes after it.
    fn renamed(&mut self, expr: &Expr, word: &str, by: &str, after: usize) -> Option<()> {
        let at = expr.place.range.start + after;
        let is_there = !expr.place.in_macro && self.tree.source.get(at..)?.starts_with(word);
        self.edits.replace(at..at + word.len(), by).ok().filter(|()| is_there)
    }
}

/// Whether a variable's type becomes one of halves: a number, a vector, or an array of them.
fn is_own(ty: &Type) -> bool {
    match ty {
        Type::Scalar(scalar) | Type::Vector(scalar, _) => *scalar == FLOAT,
        Type::Array(of, _) => is_own(of),
        _ => false,
    }
}
