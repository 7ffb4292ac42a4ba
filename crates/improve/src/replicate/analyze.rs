//! Which variables become vectors, and which are copied.

use std::collections::{BTreeMap, BTreeSet};

use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Type};

use super::functions::{self, FunctionKind as Kind};
use super::shape::Shape;
use super::{Engine, Local, Obstacle, Plan, Turns};

/// Rounds after which shapes are final in any kernel that people write.
const MOST_ROUNDS: usize = 20;

impl<'t> Engine<'t> {
    pub(super) fn new(tree: &'t Tree, kernel: &'t Function, plan: Plan) -> Result<Self, Obstacle> {
        let words = tree.source.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let mut engine = Self {
            tree,
            kernel,
            plan,
            parameters: kernel.parameters.iter().map(|it| it.symbol).collect(),
            variables: BTreeMap::new(),
            assigned: BTreeSet::new(),
            turns: BTreeMap::new(),
            assumptions: Vec::new(),
            words: words.map(str::to_owned).collect(),
            pending: Vec::new(),
            mask: None,
            ranges: super::range::Ranges::default(),
            edges: None,
            channel_name: None,
        };
        engine.collect()?;
        let mut shapes = BTreeMap::new();
        for _ in 0..MOST_ROUNDS {
            let before: Vec<_> = engine.variables.values().map(|it| (it.shape, it.copied)).collect();
            let mut round = Round { shapes, engine: &mut engine };
            round.statement(&kernel.body, false, false)?;
            shapes = round.shapes;
            let after: Vec<_> = engine.variables.values().map(|it| (it.shape, it.copied)).collect();
            if before == after {
                engine.check_channels()?;
                if plan.narrow {
                    engine.find_ranges();
                }
                return Ok(engine);
            }
        }
        Err(Obstacle { reason: "values that depend on each other".to_owned(), at: kernel.name.clone() })
    }

    /// Finds variables, assignments and loops, and what cannot be replicated at all.
    fn collect(&mut self) -> Result<(), Obstacle> {
        let kernel = self.kernel;
        let mut refused: Option<Obstacle> = None;
        let mut refuse = |reason: &str, at: &str| {
            refused.get_or_insert(Obstacle { reason: reason.to_owned(), at: at.to_owned() });
        };
        kernel.body.walk(&mut |stmt| match &stmt.kind {
            StmtKind::Other { kind, .. } => refuse(kind, self.tree.text(&stmt.place)),
            StmtKind::Declare(variables) => {
                for variable in variables {
                    if variable.shared {
                        refuse("a variable that work-items share", &variable.name);
                    }
                    let value = variable.value.as_ref();
                    let local = Local {
                        name: &variable.name,
                        ty: variable.ty.clone(),
                        constant: variable.constant,
                        value,
                        shape: Shape::Uniform,
                        copied: false,
                    };
                    self.variables.insert(variable.symbol, local);
                }
            }
            StmtKind::For { first, condition, step, body } => {
                if let Some((symbol, turns)) =
                    turns(first.as_deref(), condition.as_ref(), step.as_ref(), body)
                {
                    self.turns.insert(symbol, turns);
                }
            }
            _ => {}
        });
        kernel.body.walk_expressions(&mut |expr| match &expr.kind {
            ExprKind::Assign { target, .. } => self.assigned.extend(target.symbol()),
            ExprKind::Unary { operator, operand, .. } => match operator.as_str() {
                "++" | "--" => self.assigned.extend(operand.symbol()),
                "&" => refuse("an address", self.tree.text(&expr.place)),
                _ => {}
            },
            ExprKind::Call { name, .. }
                if functions::kind(name) == Kind::Refused
                    && (!name.starts_with("vstore") || self.plan.vector.is_some()) =>
            {
                refuse("a function whose order matters", name);
            }
            ExprKind::Call { name, .. } if functions::is_work_item(name) && name != "get_global_id" => {
                refuse("the work-group", name);
            }
            ExprKind::Call { name, symbol, .. } if self.asks(*symbol, 0) => {
                refuse("a function that asks for the work-item", name);
            }
            ExprKind::Name { symbol, name, .. } => {
                let is_shared =
                    |ty: &Type| matches!(ty, Type::Pointer { space: crate::syntax::Space::Local, .. });
                if is_shared(&expr.ty)
                    || self.tree.globals.iter().any(|it| it.symbol == *symbol && it.shared && !it.constant)
                {
                    refuse("memory that work-items share", name);
                }
            }
            _ => {}
        });
        refused.map_or(Ok(()), Err)
    }

    /// Whether a function of the source, or one that it calls, asks for what differs between outputs.
    fn asks(&self, symbol: Symbol, depth: usize) -> bool {
        let Some(function) = self.tree.function(symbol).filter(|_| depth < MOST_ROUNDS) else { return false };
        let mut asks = false;
        function.body.walk_expressions(&mut |expr| match &expr.kind {
            ExprKind::Call { name, .. } if name == "get_global_id" => {
                let dimension = self.id_dimension(expr);
                asks |= !matches!(dimension, Ok(Some(dimension)) if self.plan.outputs(dimension) == 1);
            }
            ExprKind::Call { name, .. } if functions::is_work_item(name) => asks = true,
            ExprKind::Call { symbol, .. } => asks |= self.asks(*symbol, depth + 1),
            _ => {}
        });
        asks
    }

    /// The side of an `if` that is taken for all outputs together, and the assumptions of that.
    pub(super) fn decided_if(
        &self,
        condition: &Expr,
        then: &Stmt,
        otherwise: Option<&Stmt>,
    ) -> Option<(bool, Vec<super::Assumption>)> {
        if !self.differs(condition)
            || self.shape(condition) == Ok(Shape::Uniform) && !self.is_copied(condition)
        {
            return None;
        }
        let first = match otherwise {
            None => !ends(then),
            Some(otherwise) => then.full.len() >= otherwise.full.len(),
        };
        let sides = if otherwise.is_some() { vec![first, !first] } else { vec![first] };
        sides.into_iter().find_map(|side| Some((side, self.assume(condition, side)?)))
    }
}

/// Whether a statement always leaves the kernel or the turn of a loop.
fn ends(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Continue | StmtKind::Break => true,
        StmtKind::Block(inner) => inner.last().is_some_and(ends),
        _ => false,
    }
}

/// The variable of a loop that counts, and its values.
fn turns<'t>(
    first: Option<&'t Stmt>,
    condition: Option<&'t Expr>,
    step: Option<&'t Expr>,
    body: &Stmt,
) -> Option<(Symbol, Turns<'t>)> {
    let (symbol, start) = match &first?.kind {
        StmtKind::Declare(variables) if variables.len() == 1 => {
            (variables[0].symbol, variables[0].value.as_ref()?)
        }
        StmtKind::Expr(Expr { kind: ExprKind::Assign { operator: None, target, value, .. }, .. }) => {
            (target.symbol()?, &**value)
        }
        _ => return None,
    };
    let ExprKind::Binary { operator, left, right } = &condition?.bare().kind else { return None };
    if left.symbol() != Some(symbol) {
        return None;
    }
    let up = match &step?.bare().kind {
        ExprKind::Unary { operator, operand, .. } if operand.symbol() == Some(symbol) => operator == "++",
        ExprKind::Assign { operator: Some(operator), target, value, .. }
            if target.symbol() == Some(symbol) && crate::syntax::fold(value).is_some_and(|by| by > 0) =>
        {
            match operator.as_str() {
                "+" => true,
                "-" => false,
                _ => return None,
            }
        }
        _ => return None,
    };
    let mut changed = false;
    body.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Assign { target, .. } => changed |= target.symbol() == Some(symbol),
        ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
            changed |= operand.symbol() == Some(symbol);
        }
        _ => {}
    });
    let turns = match (operator.as_str(), up) {
        _ if changed => return None,
        ("<" | "!=", true) => Turns { least: start, most: right, below: 1 },
        ("<=", true) => Turns { least: start, most: right, below: 0 },
        (">=", false) => Turns { least: right, most: start, below: 0 },
        _ => return None,
    };
    Some((symbol, turns))
}

/// One pass over the kernel that finds the shapes of variables from those of the pass before.
struct Round<'e, 't> {
    /// The shapes of all values that were assigned so far.
    shapes: BTreeMap<Symbol, Shape>,
    engine: &'e mut Engine<'t>,
}

impl Round<'_, '_> {
    fn statement(&mut self, stmt: &Stmt, masked: bool, copied: bool) -> Result<(), Obstacle> {
        match &stmt.kind {
            StmtKind::Declare(variables) => {
                for variable in variables {
                    let shape = match &variable.value {
                        Some(value) => self.engine.shape(value)?,
                        None => continue,
                    };
                    let own = variable.value.as_ref().is_some_and(|value| self.engine.is_copied(value));
                    self.set(variable.symbol, shape, masked, copied || own);
                }
            }
            StmtKind::If { condition, then, otherwise } => {
                let decided = self.engine.decided_if(condition, then, otherwise.as_deref());
                let (mut masked, mut copied) = (masked, copied);
                if let Some((side, _)) = decided {
                    // What is not done for all outputs together is not looked at.
                    if side {
                        self.statement(then, masked, copied)?;
                    } else if let Some(otherwise) = otherwise {
                        self.statement(otherwise, masked, copied)?;
                    }
                    return Ok(());
                }
                masked |= self.engine.shape(condition)? != Shape::Uniform;
                copied |= self.engine.is_copied(condition);
                for side in [Some(then), otherwise.as_ref()].into_iter().flatten() {
                    self.statement(side, masked, copied)?;
                }
                return Ok(());
            }
            StmtKind::For { first, condition, step, body } => {
                let header = first.as_deref().map(|it| it.expressions()).unwrap_or_default();
                let own =
                    header.iter().copied().chain(condition).chain(step).any(|it| self.engine.is_copied(it));
                let copied = copied || own;
                if let Some(first) = first {
                    self.statement(first, masked, copied)?;
                }
                for expr in condition.iter().chain(step) {
                    self.expression(expr, masked, copied)?;
                }
                return self.statement(body, masked, copied);
            }
            StmtKind::While { condition, body, .. } => {
                let copied = copied || self.engine.is_copied(condition);
                self.expression(condition, masked, copied)?;
                return self.statement(body, masked, copied);
            }
            _ => {}
        }
        for expr in stmt.expressions() {
            self.expression(expr, masked, copied)?;
        }
        for child in stmt.children() {
            self.statement(child, masked, copied)?;
        }
        Ok(())
    }

    /// Assignments in an expression.
    fn expression(&mut self, expr: &Expr, masked: bool, copied: bool) -> Result<(), Obstacle> {
        match &expr.kind {
            ExprKind::Assign { operator, target, value, .. } => {
                let mut shape = self.engine.shape(value)?;
                let own = self.engine.is_copied(value);
                if let Some(symbol) = root(target) {
                    if operator.is_some() {
                        if shape == Shape::Uniform && !masked {
                            // `p += pitch` keeps the differences between lanes.
                            self.copy(symbol, copied || own);
                            return self.expression(value, masked, copied);
                        }
                        shape = Shape::Vector;
                    }
                    self.set(symbol, shape, masked, copied || own);
                }
                self.expression(value, masked, copied)
            }
            ExprKind::Unary { operator, operand, .. } if operator == "++" || operator == "--" => {
                if let Some(symbol) = root(operand) {
                    if masked {
                        self.set(symbol, Shape::Vector, masked, copied);
                    }
                    self.copy(symbol, copied);
                }
                Ok(())
            }
            _ => expr.children().into_iter().try_for_each(|child| self.expression(child, masked, copied)),
        }
    }

    fn copy(&mut self, symbol: Symbol, copied: bool) {
        if let Some(local) = self.engine.variables.get_mut(&symbol) {
            local.copied |= copied && self.engine.plan.copies.is_some();
        }
    }

    fn set(&mut self, symbol: Symbol, shape: Shape, masked: bool, copied: bool) {
        self.copy(symbol, copied);
        let Some(local) = self.engine.variables.get_mut(&symbol) else { return };
        let mut shape = if masked { Shape::Vector } else { shape };
        if matches!(local.ty, Type::Array(..)) && shape != Shape::Uniform {
            shape = Shape::Vector;
        }
        let joined = match self.shapes.get(&symbol) {
            Some(other) => other.join(shape),
            None => shape,
        };
        self.shapes.insert(symbol, joined);
        local.shape = joined;
    }
}

/// The variable that an assignment's target is part of, memory aside.
fn root(target: &Expr) -> Option<Symbol> {
    match &target.bare().kind {
        ExprKind::Name { symbol, .. } => Some(*symbol),
        ExprKind::Index { base, .. }
        | ExprKind::Field { base, arrow: false, .. }
        | ExprKind::Swizzle { base, .. } => {
            let base_root = root(base)?;
            let is_memory = matches!(base.bare().ty, Type::Pointer { .. });
            (!is_memory).then_some(base_root)
        }
        _ => None,
    }
}
