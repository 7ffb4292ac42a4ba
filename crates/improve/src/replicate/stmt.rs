//! Texts of statements for all outputs.

use crate::syntax::{Expr, ExprKind, Scalar, Stmt, StmtKind, Type, Variable};

use super::shape::Shape;
use super::{Engine, Obstacle};
use crate::syntax::text::{ASSIGNMENT, BITWISE_AND, Text, UNARY};

impl Engine<'_> {
    /// The spaces before a statement's line.
    pub(super) fn indent(&self, stmt: &Stmt) -> String {
        let before = &self.tree.source[..stmt.full.start];
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        line.chars().take_while(|letter| letter.is_whitespace()).collect()
    }

    /// Whether a statement differs in the replicated kernel.
    fn changes(&self, stmt: &Stmt) -> bool {
        let mut changes = false;
        stmt.walk(&mut |stmt| {
            if let StmtKind::Declare(variables) = &stmt.kind {
                let is_changed = |it: &Variable| {
                    self.variables.get(&it.symbol).is_none_or(|it| it.shape == Shape::Vector || it.copied)
                };
                changes |= variables.iter().any(is_changed);
            }
            for expr in stmt.expressions() {
                changes = changes
                    || !self.is_unchanged(expr, 0)
                    || self.is_copied(expr)
                    || expr.any(|expr| self.shape(expr).is_ok_and(|shape| shape == Shape::Vector));
            }
        });
        changes || self.mask.is_some()
    }

    /// The statements that a statement becomes, each in the source's indentation.
    pub(super) fn statement(&mut self, stmt: &Stmt, copies: &[usize]) -> Result<Vec<String>, Obstacle> {
        if !self.changes(stmt) {
            if copies.len() < self.plan.count() && leaves(stmt, false) {
                return self.refuse_statement(stmt, "a jump that only some outputs take");
            }
            return Ok(vec![self.tree.source[stmt.full.clone()].to_owned()]);
        }
        let mut pieces = match &stmt.kind {
            StmtKind::Block(inner) => vec![self.block(stmt, inner, copies)?],
            StmtKind::Declare(variables) => self.declare(stmt, variables, copies)?,
            StmtKind::Expr(expr) => self.effect(expr, copies)?,
            StmtKind::If { condition, then, otherwise } => {
                self.branch(stmt, condition, then, otherwise.as_deref(), copies)?
            }
            StmtKind::For { first, condition, step, body } => {
                let header: Vec<&Expr> = condition.iter().chain(step).collect();
                self.repeat(stmt, first.as_deref(), &header, body, copies)?
            }
            StmtKind::While { condition, body, after: false } => {
                self.repeat(stmt, None, &[condition], body, copies)?
            }
            _ => return self.refuse_statement(stmt, "a statement that differs between outputs"),
        };
        if !self.pending.is_empty() {
            let mut all = std::mem::take(&mut self.pending);
            all.append(&mut pieces);
            pieces = all;
        }
        Ok(pieces)
    }

    /// A block with the text between its statements.
    fn block(&mut self, block: &Stmt, inner: &[Stmt], copies: &[usize]) -> Result<String, Obstacle> {
        let (text, end) = self.sequence(inner, block.place.range.start + 1, copies)?;
        Ok(format!("{{{text}{}", self.between(block, end, block.place.range.end)?))
    }

    /// Statements with the text before each of them, the first of which starts at `from`; and where they end.
    pub(super) fn sequence(
        &mut self,
        inner: &[Stmt],
        from: usize,
        copies: &[usize],
    ) -> Result<(String, usize), Obstacle> {
        let mut text = String::new();
        let mut end = from;
        for stmt in inner {
            let gap = self.between(stmt, end, stmt.full.start)?.to_owned();
            let pieces = self.statement(stmt, copies)?;
            if pieces.is_empty() {
                // A comment behind the statement before stays.
                text.push_str(gap.split('\n').next().unwrap_or_default().trim_end());
            } else {
                text.push_str(&gap);
                text.push_str(&pieces.join(&format!("\n{}", self.indent(stmt))));
            }
            end = stmt.full.end;
        }
        Ok((text, end))
    }

    /// A statement as the body of another: without braces where it is one.
    fn body(
        &mut self,
        header: &str,
        outer: &Stmt,
        body: &Stmt,
        copies: &[usize],
    ) -> Result<String, Obstacle> {
        let pieces = self.statement(body, copies)?;
        if let [one] = &pieces[..] {
            return Ok(format!("{header}{one}"));
        }
        let indent = self.indent(outer);
        let lines: Vec<String> = pieces.iter().map(|piece| format!("{indent}    {piece}\n")).collect();
        Ok(format!("{} {{\n{}{indent}}}", header.trim_end(), lines.concat()))
    }

    pub(super) fn declare(
        &mut self,
        stmt: &Stmt,
        variables: &[Variable],
        copies: &[usize],
    ) -> Result<Vec<String>, Obstacle> {
        let mut pieces = Vec::new();
        for variable in variables {
            let Some(local) = self.variables.get(&variable.symbol).cloned() else { continue };
            let is_bool = local.ty == Type::Scalar(Scalar::Bool);
            if is_bool && local.shape == Shape::Vector {
                // Its uses are decided in advance, or refused.
                continue;
            }
            let first = [copies[0]];
            for copy in if local.copied { copies } else { &first[..] } {
                let name = self.name(variable.symbol, &variable.name, *copy);
                let constant = if local.constant { "const " } else { "" };
                let vector = local.shape == Shape::Vector;
                let element = local.ty.element().unwrap_or(&local.ty).as_number();
                let narrow = self.narrow_variable(variable.symbol);
                let lane = if narrow { Scalar::SHORT } else { element.unwrap_or(Scalar::INT) };
                let declared = match &local.ty {
                    Type::Array(of, length) => match (&**of, vector) {
                        (Type::Scalar(_), true) => format!("{} {name}[{length}]", self.vector_type(lane)),
                        (Type::Scalar(_) | Type::Vector(..), false) => format!("{of} {name}[{length}]"),
                        _ => return self.refuse_statement(stmt, "an array of arrays"),
                    },
                    Type::Scalar(_) if vector => format!("{} {name}", self.vector_type(lane)),
                    _ if vector => return self.refuse_statement(stmt, "a vector or struct of each output"),
                    Type::Pointer { .. } => format!("{}{constant}{name}", local.ty),
                    _ => format!("{} {name}", self.written_type(stmt, variables)),
                };
                let constant = match local.ty {
                    Type::Scalar(_) if !vector => "",
                    Type::Pointer { .. } => "",
                    Type::Vector(..) if declared.starts_with("const") => "",
                    _ => constant,
                };
                let value = match &variable.value {
                    None => String::new(),
                    Some(Expr { kind: ExprKind::List(inner), .. }) if vector => {
                        let mut texts = Vec::new();
                        for expr in inner {
                            texts.push(self.full_as(expr, lane, *copy)?.at(ASSIGNMENT));
                        }
                        format!(" = {{ {} }}", texts.join(", "))
                    }
                    Some(value) if vector => {
                        let value = self.assigned_value(value, lane, *copy)?;
                        format!(" = {}", value.at(ASSIGNMENT))
                    }
                    Some(value) => format!(" = {}", self.scalar(value, *copy)?.at(ASSIGNMENT)),
                };
                pieces.append(&mut self.pending);
                pieces.push(format!("{constant}{declared}{value};"));
            }
        }
        Ok(pieces)
    }

    /// The type of a declaration as it is written.
    fn written_type(&self, stmt: &Stmt, variables: &[Variable]) -> String {
        let first = &variables[0];
        let written =
            self.tree.source.get(stmt.full.start..first.name_range.start).unwrap_or_default().trim();
        if written.is_empty() || written.contains('*') { first.ty.to_string() } else { written.to_owned() }
    }

    /// A statement that is an expression.
    fn effect(&mut self, expr: &Expr, copies: &[usize]) -> Result<Vec<String>, Obstacle> {
        let mut pieces = Vec::new();
        let differs = self.is_copied(expr);
        let first = [copies[0]];
        for copy in if differs { copies } else { &first[..] } {
            let mut statements = self.effect_of_copy(expr, *copy)?;
            pieces.append(&mut self.pending);
            pieces.append(&mut statements);
        }
        Ok(pieces)
    }

    fn effect_of_copy(&mut self, expr: &Expr, copy: usize) -> Result<Vec<String>, Obstacle> {
        let is_vector = expr.any(|expr| self.shape(expr).is_ok_and(|shape| shape == Shape::Vector));
        if !is_vector && self.mask.is_none() {
            return Ok(vec![format!("{};", self.scalar(expr, copy)?.text)]);
        }
        match &expr.kind {
            ExprKind::Parentheses(inner) => self.effect_of_copy(inner, copy),
            ExprKind::Cast { operand, conversion, .. } if conversion == "ToVoid" => {
                self.effect_of_copy(operand, copy)
            }
            ExprKind::Unary { operator, operand, .. } if operator == "++" || operator == "--" => {
                let target = self.target(operand, copy)?;
                let lane = self.lane_type(operand).unwrap_or(Scalar::INT);
                let one = Text::primary(if lane.bits() < 32 {
                    format!("({})1", lane.name())
                } else {
                    "1".to_owned()
                });
                match self.mask.clone() {
                    None => Ok(vec![format!("{} {}= {};", target.text, &operator[..1], one.text)]),
                    Some(_) => self.masked(operand, &target, &target.binary(&operator[..1], &one)),
                }
            }
            ExprKind::Assign { operator, computed, target, value } => {
                let operator = operator.as_deref();
                let is_memory = self.reads(target) && !matches!(target.bare().kind, ExprKind::Name { .. });
                if is_memory {
                    if self.mask.is_some() {
                        return self.refuse(expr, "a store that only some outputs do");
                    }
                    let Some(computed) = computed.as_number() else {
                        return self.refuse(expr, "vectors or structs in memory");
                    };
                    return self.store(target, operator, computed, value, copy);
                }
                if self.mask.is_some() && self.reads(value) {
                    return self.refuse(value, "a value that some outputs must not read");
                }
                if self.shape(target)? != Shape::Vector {
                    return Ok(vec![format!("{};", self.scalar(expr, copy)?.text)]);
                }
                let (Some(scalar), Some(mut computed)) = (self.lane_type(target), computed.as_number())
                else {
                    return self.refuse(expr, "a vector or struct of each output");
                };
                // A result that fits in lanes of 16 bits is computed in them: what is lost above does not reach it.
                let rings = ["+", "-", "*", "&", "|", "^"];
                if target.ty.as_number() == Some(computed) && operator.is_some_and(|it| rings.contains(&it)) {
                    computed = scalar;
                }
                let name = self.target(target, copy)?;
                let text = match operator {
                    None if self.mask.is_none() => self.assigned_value(value, scalar, copy)?,
                    None => self.full_as(value, scalar, copy)?,
                    Some(operator) if scalar == computed && self.mask.is_none() => {
                        let value = self.operand(value, computed, copy)?;
                        return Ok(vec![format!("{} {operator}= {};", name.text, value.at(ASSIGNMENT))]);
                    }
                    Some(operator) => {
                        let old = self.converted(&name, scalar, computed);
                        let new = old.binary(operator, &self.operand(value, computed, copy)?);
                        self.converted(&new, computed, scalar)
                    }
                };
                match self.mask {
                    None => Ok(vec![format!("{} = {};", name.text, text.at(ASSIGNMENT))]),
                    Some(_) => self.masked(target, &name, &text),
                }
            }
            _ => self.refuse(expr, "an expression that has no form for vectors"),
        }
    }

    /// A value that is assigned to a vector: a scalar is the same in all lanes.
    fn assigned_value(&mut self, value: &Expr, lane: Scalar, copy: usize) -> Result<Text, Obstacle> {
        let of = self.vector(value, copy)?;
        Ok(if of.is_vector { self.converted(&of.text, of.lane, lane) } else { of.text })
    }

    /// An assignment where the mask is set.
    fn masked(&mut self, target: &Expr, name: &Text, value: &Text) -> Result<Vec<String>, Obstacle> {
        let Some((mask, bits)) = self.mask.clone() else { return Ok(Vec::new()) };
        let Some(scalar) = self.lane_type(target) else {
            return self.refuse(target, "a vector or struct of each output");
        };
        let mask = self.mask_of(&Text::primary(mask), bits, scalar.bits());
        let arguments = [name, value, &mask].map(|it| it.at(ASSIGNMENT)).join(", ");
        Ok(vec![format!("{} = select({arguments});", name.text)])
    }

    /// The text of a local variable or array element that is assigned to.
    fn target(&mut self, target: &Expr, copy: usize) -> Result<Text, Obstacle> {
        match &target.bare().kind {
            ExprKind::Name { symbol, name, .. } => Ok(Text::primary(self.name(*symbol, name, copy))),
            ExprKind::Index { base, .. } if self.private_array(base).is_some() => {
                let value = self.vector(target, copy)?;
                Ok(value.text)
            }
            _ => self.refuse(target, "a part of a variable"),
        }
    }

    fn branch(
        &mut self,
        stmt: &Stmt,
        condition: &Expr,
        then: &Stmt,
        otherwise: Option<&Stmt>,
        copies: &[usize],
    ) -> Result<Vec<String>, Obstacle> {
        if let Some((side, assumptions)) = self.decided_if(condition, then, otherwise) {
            self.note(assumptions);
            let chosen = if side { Some(then) } else { otherwise };
            return chosen.map_or(Ok(Vec::new()), |chosen| self.unwrapped(stmt, chosen, copies));
        }
        if self.shape(condition)? == Shape::Vector {
            return self.if_converted(stmt, condition, then, otherwise, copies);
        }
        let differs = self.is_copied(condition);
        if differs && (leaves(then, false) || otherwise.is_some_and(|it| leaves(it, false))) {
            return self.refuse_statement(stmt, "a jump that only some outputs take");
        }
        let mut pieces = Vec::new();
        let rounds: Vec<Vec<usize>> =
            if differs { copies.iter().map(|copy| vec![*copy]).collect() } else { vec![copies.to_vec()] };
        for copies in rounds {
            let header = if self.is_unchanged(condition, copies[0]) {
                self.between(stmt, stmt.full.start, then.full.start)?.to_owned()
            } else {
                format!("if ({}) ", self.scalar(condition, copies[0])?.text)
            };
            let mut text = self.body(&header, stmt, then, &copies)?;
            if let Some(otherwise) = otherwise {
                let gap = self.between(stmt, then.full.end, otherwise.full.start)?.to_owned();
                text = self.body(&format!("{text}{gap}"), stmt, otherwise, &copies)?;
            }
            pieces.append(&mut self.pending);
            pieces.push(text);
        }
        Ok(pieces)
    }

    /// The statements of a branch in place of the `if`.
    fn unwrapped(&mut self, outer: &Stmt, chosen: &Stmt, copies: &[usize]) -> Result<Vec<String>, Obstacle> {
        let StmtKind::Block(inner) = &chosen.kind else { return self.statement(chosen, copies) };
        let names = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Declare(variables) => variables.iter().map(|it| it.name.clone()).collect(),
            _ => Vec::new(),
        };
        let is_twice = |name: &String| self.variables.values().filter(|it| it.name == name).count() > 1;
        if inner.iter().flat_map(names).any(|name| is_twice(&name)) {
            return Ok(vec![self.block(chosen, inner, copies)?]);
        }
        let to = self.indent(outer);
        let mut pieces = Vec::new();
        for stmt in inner {
            let from = self.indent(stmt);
            for piece in self.statement(stmt, copies)? {
                pieces.push(piece.replace(&format!("\n{from}"), &format!("\n{to}")));
            }
        }
        Ok(pieces)
    }

    /// Both sides for all lanes, each where its mask is set.
    fn if_converted(
        &mut self,
        stmt: &Stmt,
        condition: &Expr,
        then: &Stmt,
        otherwise: Option<&Stmt>,
        copies: &[usize],
    ) -> Result<Vec<String>, Obstacle> {
        if leaves(stmt, true) || copies.len() > 1 && self.is_copied(condition) {
            return self.refuse_statement(stmt, "a branch whose condition differs between outputs");
        }
        if self.reads(condition) && self.mask.is_some() {
            return self.refuse(condition, "a value that some outputs must not read");
        }
        let (mut mask, bits) = self.mask(condition, copies[0])?;
        let outer = self.mask.take();
        if let Some((outer, outer_bits)) = &outer {
            let both = bits.max(*outer_bits);
            let outer = self.mask_of(&Text::primary(outer.clone()), *outer_bits, both);
            mask = self.mask_of(&mask, bits, both).binary("&", &outer);
        }
        let bits = outer.as_ref().map_or(bits, |(_, outer)| bits.max(*outer));
        let name = self.hold(Scalar::Integer { bits, signed: true }, &mask, "mask");
        let mut pieces = std::mem::take(&mut self.pending);
        self.mask = Some((name.clone(), bits));
        pieces.append(&mut self.unwrapped(stmt, then, copies)?);
        if let Some(otherwise) = otherwise {
            let mut not = Text::new(format!("~{name}"), UNARY);
            if let Some((outer, outer_bits)) = &outer {
                not = not.binary("&", &self.mask_of(&Text::primary(outer.clone()), *outer_bits, bits));
            }
            self.mask = Some((not.at(BITWISE_AND), bits));
            pieces.append(&mut self.unwrapped(stmt, otherwise, copies)?);
        }
        self.mask = outer;
        Ok(pieces)
    }

    /// A loop, once for all outputs where its header is the same for them.
    fn repeat(
        &mut self,
        stmt: &Stmt,
        first: Option<&Stmt>,
        header: &[&Expr],
        body: &Stmt,
        copies: &[usize],
    ) -> Result<Vec<String>, Obstacle> {
        let starts: Vec<&Expr> = first.map(Stmt::expressions).unwrap_or_default();
        for expr in starts.iter().chain(header) {
            if expr.any(|expr| self.shape(expr).is_ok_and(|shape| shape == Shape::Vector)) {
                return self.refuse(expr, "a loop whose turns differ between outputs");
            }
        }
        let differs = starts.iter().chain(header).any(|expr| self.is_copied(expr));
        if differs && leaves(body, false) && !leaves_only_itself(body) {
            return self.refuse_statement(stmt, "a jump that only some outputs take");
        }
        let rounds: Vec<Vec<usize>> =
            if differs { copies.iter().map(|copy| vec![*copy]).collect() } else { vec![copies.to_vec()] };
        let mut pieces = Vec::new();
        for copies in rounds {
            let unchanged = starts.iter().chain(header).all(|expr| self.is_unchanged(expr, copies[0]));
            let declares = first.is_some_and(|first| {
                let StmtKind::Declare(variables) = &first.kind else { return false };
                copies[0] > 0
                    && variables.iter().any(|it| self.variables.get(&it.symbol).is_some_and(|it| it.copied))
            });
            let header_text = if let Some((symbol, _)) = self.channel_loop(stmt) {
                self.channel_header(stmt, symbol, copies[0])?
            } else if unchanged && !declares {
                self.between(stmt, stmt.full.start, body.full.start)?.to_owned()
            } else {
                self.loop_header(stmt, &copies)?
            };
            let outer = self.channel_name.take();
            self.channel_name = match self.channel_loop(stmt) {
                Some((symbol, 0)) => self.variables.get(&symbol).map(|it| it.name.to_owned()),
                _ => outer.clone(),
            };
            let text = self.body(&header_text, stmt, body, &copies)?;
            self.channel_name = outer;
            pieces.append(&mut self.pending);
            pieces.push(text);
        }
        Ok(pieces)
    }

    fn loop_header(&mut self, stmt: &Stmt, copies: &[usize]) -> Result<String, Obstacle> {
        let copy = copies[0];
        match &stmt.kind {
            StmtKind::For { first, condition, step, .. } => {
                let first = match first.as_deref() {
                    Some(first) => match &first.kind {
                        StmtKind::Declare(variables) => self.declare(first, variables, &copies[..1])?,
                        StmtKind::Expr(expr) => vec![format!("{};", self.scalar(expr, copy)?.text)],
                        _ => return self.refuse_statement(stmt, "a loop's first statement"),
                    },
                    None => vec![";".to_owned()],
                };
                let [first] = &first[..] else {
                    return self.refuse_statement(stmt, "a loop with several variables");
                };
                let condition = condition.as_ref().map(|it| self.scalar(it, copy)).transpose()?;
                let step = step.as_ref().map(|it| self.scalar(it, copy)).transpose()?;
                let text = |it: Option<Text>| it.map(|it| format!(" {}", it.text)).unwrap_or_default();
                Ok(format!("for ({first}{};{}) ", text(condition), text(step)))
            }
            StmtKind::While { condition, .. } => {
                Ok(format!("while ({}) ", self.scalar(condition, copy)?.text))
            }
            _ => self.refuse_statement(stmt, "a loop"),
        }
    }
}

/// Whether a statement may leave the kernel or a loop around it; `any` counts loops and stores inside, too.
fn leaves(stmt: &Stmt, any: bool) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::For { body, .. } | StmtKind::While { body, .. } => {
            any || leaves(body, any) && !leaves_only_itself(body)
        }
        _ => stmt.children().into_iter().any(|child| leaves(child, any)),
    }
}

/// Whether the jumps of a loop's body stay in the loop.
fn leaves_only_itself(body: &Stmt) -> bool {
    let mut returns = false;
    body.walk(&mut |stmt| returns |= matches!(stmt.kind, StmtKind::Return(_)));
    !returns
}
