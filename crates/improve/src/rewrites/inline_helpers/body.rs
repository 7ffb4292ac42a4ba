//! What a call of a function does, as statements and a value of the caller.

use std::collections::{BTreeMap, BTreeSet};

use super::super::text::indentation;
use super::facts::{captures, convert, find_moving, loads, only, only_assigned, only_return, stores, uses};
use super::{Pass, is_value};
use crate::syntax::print::ALONE;
use crate::syntax::text::{CONDITIONAL, Level, Text};
use crate::syntax::{Expr, ExprKind, Function, Printer, Scalar, Stmt, StmtKind, Symbol, Type, Variable};

/// The longest text that stands for a name which is used several times.
const LONGEST: usize = 400;

/// The longest text that stands for a name which is used once: longer ones are constants with the name.
const SHORT: usize = 48;

/// The largest function that is written out, in bytes.
const LARGEST: usize = 3000;

/// A call that is written out.
pub(super) struct Inlined {
    /// Statements before the caller's.
    pub(super) lines: Vec<String>,
    /// The value; `None` for `void`.
    pub(super) value: Option<Text>,
}

/// How statements end.
enum BodyEnd {
    /// With a value.
    With(Text),
    /// Without one.
    Plain,
}

/// A function's body while it is written out.
pub(super) struct Body<'p, 't> {
    pass: &'p mut Pass<'t>,
    function: &'t Function,
    /// The type of its value; `None` for `void`.
    ty: Option<Type>,
    strict: bool,
    /// Whether nothing may stand before the statement.
    lazy: bool,
    /// Whether it changes memory, or variables of the caller.
    stores: bool,
    indent: String,
    lines: Vec<String>,
    /// Variables that change in other ways than by assignments one after the other.
    moving: BTreeSet<Symbol>,
    values: BTreeMap<Symbol, Text>,
}

impl<'p, 't> Body<'p, 't> {
    /// A call as statements and a value: with nothing before the statement if it is `lazy`, with a value of the
    /// function's type if it is `strict`; `alone` if it is all that the statement does.
    pub(super) fn inline(
        pass: &'p mut Pass<'t>,
        call: &'t Expr,
        function: &'t Function,
        (lazy, strict, alone): (bool, bool, bool),
        indent: &str,
    ) -> Option<Inlined> {
        let ExprKind::Call { arguments, .. } = &call.kind else { return None };
        let StmtKind::Block(statements) = &function.body.kind else { return None };
        let text = pass.tree.text(&function.place);
        let inside = text.get(text.find('{')?..)?;
        let is_plain = !["volatile", "constant ", "static "].iter().any(|word| inside.contains(word));
        if !is_plain
            || text.len() > LARGEST
            || !call.place.exact
            || call.place.in_macro
            || arguments.len() != function.parameters.len()
            || captures(pass, function)
        {
            return None;
        }
        let stores = stores(function);
        if stores && (lazy || !alone) {
            return None;
        }
        let all: Vec<&Stmt> = statements.iter().collect();
        let mut moving = BTreeSet::new();
        find_moving(&all, &mut moving);
        let ty = Some(call.ty.clone()).filter(|ty| *ty != Type::Void);
        let mut body = Self {
            pass,
            function,
            ty,
            strict,
            lazy,
            stores,
            indent: indent.to_owned(),
            lines: Vec::new(),
            moving,
            values: BTreeMap::new(),
        };
        let is_address =
            |it: &Expr| matches!(&it.bare().kind, ExprKind::Unary { operator, .. } if operator == "&");
        let by_address = arguments.iter().any(is_address);
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            body.argument(parameter, argument, by_address, &all)?;
        }
        let value = match body.run(&all)? {
            BodyEnd::With(value) => Some(value),
            BodyEnd::Plain => None,
        };
        (value.is_some() == body.ty.is_some()).then_some(Inlined { lines: body.lines, value })
    }

    fn argument(
        &mut self,
        parameter: &'t Variable,
        argument: &'t Expr,
        by_address: bool,
        rest: &[&'t Stmt],
    ) -> Option<()> {
        let tree = self.pass.tree;
        let plain = Printer { tree, replaced: &|_| None, renamed: &|_| None };
        let text = plain.expression(argument)?;
        if argument.assigns() {
            return None;
        }
        if self.moving.contains(&parameter.symbol) {
            return self.variable(parameter, Some(text.at(ALONE)));
        }
        if matches!(parameter.ty, Type::Pointer { .. }) {
            let simple = match &argument.bare().kind {
                ExprKind::Name { .. } => true,
                ExprKind::Unary { operator, operand, .. } => operator == "&" && operand.symbol().is_some(),
                _ => false,
            };
            if simple || uses(rest, parameter.symbol) <= 1 && !self.stores {
                self.values.insert(parameter.symbol, text);
                return Some(());
            }
            return self.variable(parameter, Some(text.at(ALONE)));
        }
        let is_number = matches!(argument.bare().kind, ExprKind::Integer(_) | ExprKind::Float(_));
        let count = if by_address && !is_number { usize::MAX } else { uses(rest, parameter.symbol) };
        self.bind(parameter, (text, &argument.bare().ty), argument, count)
    }

    /// Gives a variable that is not assigned to while the value is used a value.
    fn bind(
        &mut self,
        variable: &'t Variable,
        (text, ty): (Text, &Type),
        value: &Expr,
        uses: usize,
    ) -> Option<()> {
        let own = &variable.ty;
        let is_name = text.text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let is_number = matches!(value.bare().kind, ExprKind::Integer(_) | ExprKind::Float(_));
        let is_simple = (is_name || is_number) && uses != usize::MAX || uses == 0;
        let moves = value.any(|it| it.symbol().is_some_and(|it| self.moving.contains(&it)));
        let is_fixed = !(moves || self.stores && loads(value));
        let converted = convert(text.clone(), ty, own);
        if is_fixed && (is_simple || uses <= 1 && text.text.len() <= SHORT)
            || self.lazy && is_fixed && text.text.len() <= LONGEST
        {
            self.values.insert(variable.symbol, converted?);
            return Some(());
        }
        if self.lazy || !is_value(own) {
            return None;
        }
        let words = |text: &str, all: &[String]| {
            text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .any(|word| all.iter().any(|it| it == word))
        };
        let key = (own.to_string(), text.at(ALONE));
        if let Some(name) = self.pass.existing_constant(&key).cloned() {
            self.values.insert(variable.symbol, Text::primary(name));
            return Some(());
        }
        let name = self.pass.names.exactly(&variable.name);
        self.lines.push(format!("const {own} {name} = {};", key.1));
        self.values.insert(variable.symbol, Text::primary(name.clone()));
        if is_fixed
            && !text.text.contains(['[', '*'])
            && !words(&key.1, &self.pass.moving)
            && let Some(scope) = self.pass.scopes.last_mut()
        {
            scope.insert(key, name);
        }
        Some(())
    }

    /// Declares a variable that changes.
    fn variable(&mut self, variable: &Variable, value: Option<String>) -> Option<()> {
        let is_known = is_value(&variable.ty) || matches!(variable.ty, Type::Pointer { .. });
        if self.lazy || !is_known {
            return None;
        }
        let name = self.pass.names.exactly(&variable.name);
        let gap = if matches!(variable.ty, Type::Pointer { .. }) { "" } else { " " };
        let value = value.map(|value| format!(" = {value}")).unwrap_or_default();
        self.lines.push(format!("{}{gap}{name}{value};", variable.ty));
        self.values.insert(variable.symbol, Text::primary(name));
        Some(())
    }

    /// Writes out statements, up to a `return`; its value, if there is one.
    fn run(&mut self, statements: &[&'t Stmt]) -> Option<BodyEnd> {
        for (index, stmt) in statements.iter().enumerate() {
            let rest = &statements[index + 1..];
            match &stmt.kind {
                StmtKind::Empty => {}
                StmtKind::Block(inner) => {
                    let all: Vec<&Stmt> = inner.iter().chain(rest.iter().copied()).collect();
                    return self.run(&all);
                }
                StmtKind::Declare(variables) if variables.iter().all(|it| is_value(&it.ty) && !it.shared) => {
                    for variable in variables {
                        match &variable.value {
                            _ if self.moving.contains(&variable.symbol) => {
                                let value = match &variable.value {
                                    Some(value) => Some(self.text(value)?.at(ALONE)),
                                    None => None,
                                };
                                self.variable(variable, value)?;
                            }
                            Some(value) if !value.assigns() => {
                                let text = self.text(value)?;
                                let ty = &value.bare().ty;
                                let later: Vec<&Stmt> = statements[index..].to_vec();
                                self.bind(variable, (text, ty), value, uses(&later, variable.symbol))?;
                            }
                            Some(_) => return None,
                            None => {}
                        }
                    }
                }
                StmtKind::Expr(expr) => match self.assigned(expr) {
                    Some((variable, text, ty, value)) => {
                        self.bind(variable, (text, &ty), value, uses(rest, variable.symbol))?;
                    }
                    None => self.copy(stmt)?,
                },
                StmtKind::Return(None) => return Some(BodyEnd::Plain),
                StmtKind::Return(Some(value)) => return Some(BodyEnd::With(self.returned(value)?)),
                StmtKind::If { condition, then, otherwise } => {
                    if condition.assigns() {
                        return None;
                    }
                    let other = otherwise.as_deref();
                    if let Some(StmtKind::Return(value)) = only_return(then).map(|it| &it.kind) {
                        let all: Vec<&Stmt> = other.into_iter().chain(rest.iter().copied()).collect();
                        return self.early(condition, value.as_ref(), &all);
                    }
                    if let Some(symbol) = only_assigned(then, other).filter(|it| !self.moving.contains(it)) {
                        self.choose(symbol, condition, (then, other), rest)?;
                    } else {
                        self.copy(stmt)?;
                    }
                }
                StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::Declare(_) => self.copy(stmt)?,
                _ => return None,
            }
        }
        Some(BodyEnd::Plain)
    }

    /// `if (condition) return value;`, and what follows.
    fn early(&mut self, condition: &'t Expr, value: Option<&'t Expr>, rest: &[&'t Stmt]) -> Option<BodyEnd> {
        let condition = self.text(condition)?;
        let Some(value) = value else {
            if self.lazy {
                return None;
            }
            self.lines.push(format!("if (!({})) {{", condition.text));
            let first = self.lines.len();
            self.pass.scopes.push(BTreeMap::new());
            let ended = self.run(rest);
            self.pass.scopes.pop();
            self.indented(first);
            return matches!(ended?, BodyEnd::Plain).then_some(BodyEnd::Plain);
        };
        let value = self.returned(value)?;
        let (lines, values) = (self.lines.len(), self.values.clone());
        let was = std::mem::replace(&mut self.lazy, true);
        let tail = self.run(rest);
        self.lazy = was;
        if let Some(BodyEnd::With(tail)) = tail {
            let [a, b] = [value.at(CONDITIONAL), tail.at(CONDITIONAL)];
            let condition = condition.at(Level(CONDITIONAL.0 + 1));
            return Some(BodyEnd::With(Text::new(format!("{condition} ? {a} : {b}"), CONDITIONAL)));
        }
        if was {
            return None;
        }
        // The rest needs statements of its own.
        self.lines.truncate(lines);
        self.values = values;
        let ty = self.ty.clone().filter(is_value)?;
        let name = self.pass.names.fresh(&self.function.name);
        self.lines.push(format!("{ty} {name};"));
        self.lines.push(format!("if ({}) {name} = {};", condition.text, value.at(ALONE)));
        self.lines.push("else {".to_owned());
        let first = self.lines.len();
        self.pass.scopes.push(BTreeMap::new());
        let tail = self.run(rest);
        self.pass.scopes.pop();
        let BodyEnd::With(tail) = tail? else { return None };
        self.lines.push(format!("{name} = {};", tail.at(ALONE)));
        self.indented(first);
        Some(BodyEnd::With(Text::primary(name)))
    }

    /// Indents the lines from `first` on, and closes their block.
    fn indented(&mut self, first: usize) {
        for line in &mut self.lines[first..] {
            *line = format!("    {}", line.replace('\n', "\n    "));
        }
        self.lines.push("}".to_owned());
    }

    /// `if (condition) x = a; else x = b;` as a value of `x`.
    fn choose(
        &mut self,
        symbol: Symbol,
        condition: &'t Expr,
        (then, otherwise): (&'t Stmt, Option<&'t Stmt>),
        rest: &[&'t Stmt],
    ) -> Option<()> {
        let variable = self.declared(symbol)?;
        let test = self.text(condition)?.at(Level(CONDITIONAL.0 + 1));
        let [a, b] = [Some(then), otherwise].map(|branch| match branch.and_then(only) {
            Some(stmt) => {
                let StmtKind::Expr(expr) = &stmt.kind else { return None };
                let (_, text, ty, _) = self.assigned(expr)?;
                convert(text, &ty, &variable.ty)
            }
            None => self.values.get(&symbol).cloned(),
        });
        let text = format!("{test} ? {} : {}", a?.at(CONDITIONAL), b?.at(CONDITIONAL));
        let text = Text::new(text, CONDITIONAL);
        self.bind(variable, (text, &variable.ty), condition, uses(rest, symbol))
    }

    /// The variable that an assignment gives a new value, and that.
    fn assigned(&self, expr: &'t Expr) -> Option<(&'t Variable, Text, Type, &'t Expr)> {
        let ExprKind::Assign { operator, computed, target, value } = &expr.bare().kind else { return None };
        let symbol = target.symbol().filter(|it| !self.moving.contains(it) && !value.assigns())?;
        let variable = self.declared(symbol)?;
        let text = self.text(value)?;
        Some(match operator {
            None => (variable, text, value.bare().ty.clone(), value),
            Some(operator) => {
                (variable, self.values.get(&symbol)?.binary(operator, &text), computed.clone(), value)
            }
        })
    }

    /// The parameter or variable of the function.
    fn declared(&self, symbol: Symbol) -> Option<&'t Variable> {
        let mut found = self.function.parameters.iter().find(|it| it.symbol == symbol);
        self.function.body.walk(&mut |stmt| {
            if let StmtKind::Declare(variables) = &stmt.kind {
                found = found.or(variables.iter().find(|it| it.symbol == symbol));
            }
        });
        found.filter(|it| is_value(&it.ty))
    }

    /// The text of a value that is returned.
    fn returned(&self, value: &Expr) -> Option<Text> {
        if value.assigns() {
            return None;
        }
        let (from, to) = (&value.bare().ty, self.ty.as_ref()?);
        let is_narrow = |ty: &Type| ty.as_number().is_some_and(|it| it.is_integer() && it.bits() < 32);
        let text = self.text(value)?;
        if !self.strict && *to == Type::Scalar(Scalar::INT) && is_narrow(from) {
            return Some(text);
        }
        convert(text, from, to)
    }

    /// A statement as it is, with the caller's names.
    fn copy(&mut self, stmt: &'t Stmt) -> Option<()> {
        let mut leaves = false;
        let mut renamed: BTreeMap<Symbol, String> = BTreeMap::new();
        stmt.walk(&mut |inner| {
            leaves |= matches!(inner.kind, StmtKind::Return(_) | StmtKind::Other { .. });
            if let StmtKind::Declare(variables) = &inner.kind {
                for variable in variables {
                    leaves |= variable.shared || !variable.place.exact;
                    renamed.insert(variable.symbol, self.pass.names.exactly(&variable.name));
                }
            }
        });
        if leaves || self.lazy {
            return None;
        }
        for (symbol, name) in &renamed {
            self.values.insert(*symbol, Text::primary(name.clone()));
        }
        let tree = self.pass.tree;
        let replaced = |expr: &Expr| self.replacement(expr);
        let renamed = |variable: &Variable| renamed.get(&variable.symbol).cloned();
        let text = Printer { tree, replaced: &replaced, renamed: &renamed }.statement(stmt)?;
        let old = format!("\n{}", indentation(&tree.source, stmt.full.start));
        self.lines.push(text.replace(&old, &format!("\n{}", self.indent)));
        Some(())
    }

    fn text(&self, expr: &Expr) -> Option<Text> {
        let replaced = |expr: &Expr| self.replacement(expr);
        Printer { tree: self.pass.tree, replaced: &replaced, renamed: &|_| None }.expression(expr)
    }

    /// What a name of the function is for the caller; `*p` of `&x` is `x`.
    fn replacement(&self, expr: &Expr) -> Option<Text> {
        match &expr.kind {
            ExprKind::Name { symbol, .. } => self.values.get(symbol).cloned(),
            ExprKind::Unary { operator, operand, .. } if operator == "*" => {
                let own = self.values.get(&operand.symbol()?)?;
                Some(Text::primary(own.text.strip_prefix('&')?))
            }
            _ => None,
        }
    }
}
