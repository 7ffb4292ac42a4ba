//! `unstage-tile`: what a tile in local memory holds is loaded where it is read.

mod tidy;
mod tile;

use std::cell::Cell;
use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;

use super::address::Values;
use super::counted::changed;
use super::effects::is_collective;
use super::text::dimension;
use crate::syntax::text::{ADDITIVE, Text, UNARY, written_level};
use crate::syntax::{
    Affine, Edits, Expr, ExprKind, Function, Printer, Scalar, Space, Stmt, StmtKind, Symbol, Tree, Type,
    Variable, affine, fold,
};
use crate::{Condition, Proposal, View};
use tile::Tile;

pub(super) const RULE: Rule = Rule {
    code: "unstage-tile",
    title: "what a tile in local memory holds is loaded where it is read",
    what: "
Where a kernel copies a part of a buffer to local memory, each read of the copy becomes a load from the buffer: the index of
the copy's store is taken apart by the work-item's position in its group. The copy, its barriers and what only they need
go.",
    why: "
Local memory of a Mali lies behind the same cache as all other memory, so that a copy costs a store, a load and a wait. And
work-items that do not wait for each other can be merged: blocks of outputs in registers reuse more than a tile does.",
    example: "
tile[row][col] = a[y * k + t * 16 + col];
barrier(CLK_LOCAL_MEM_FENCE);
for (int i = 0; i < 16; i++) sum += tile[row][i] * b[(t * 16 + i) * n + x];
barrier(CLK_LOCAL_MEM_FENCE);",
    instead: "for (int i = 0; i < 16; i++) sum += a[y * k + t * 16 + i] * b[(t * 16 + i) * n + x];",
    exceptions: "
Where the copy is computed, or reused often, and nothing else gains afterwards: the step stays in a result only if it is
faster. Tiles with several stores, and those that work-items change, stay.",
    source: "
- Arm, *Mali GPU OpenCL Developer Guide*: local memory is no faster than other memory there. The figures are of the model of
  time (docs/improve.md).",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    unstaged(view, tree, kernel).into_iter().collect()
}

fn unstaged(view: &View<'_>, tree: &Tree, kernel: &Function) -> Option<Proposal> {
    let tiles = Tile::all(kernel)?;
    let barriers = waits(kernel)?;
    let mut names: Vec<&str> = tiles.iter().map(|tile| tile.variable.name.as_str()).collect();
    names.dedup();
    let title = format!("`{}` loaded where it is read", names.join("`, `"));
    let (changed, values) = changed(&kernel.body);
    let copies = Copies { tree, kernel, tiles, changed, values, failed: Cell::new(false) };
    let mut edits = Edits::new();
    for stmt in barriers {
        edits.replace(stmt.full.clone(), ";").ok()?;
    }
    copies.edit(&mut edits)?;
    let tree = view.parse(edits.apply(&tree.source))?;
    let source = tidy::tidied(&View { tree: Some(&tree), ..*view }).unwrap_or(tree.source);
    Some(Proposal {
        title,
        why: "work-items need no copy and wait for no other, so that several can be merged".to_owned(),
        source,
        conditions: vec![Condition::Stated("the buffers do not overlap".to_owned())],
        ..Proposal::of(RULE.code)
    })
}

/// The barriers of a kernel; `None` where work-items exchange data in other ways, or over other memory.
fn waits(kernel: &Function) -> Option<Vec<&Stmt>> {
    let mut barriers = Vec::new();
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Expr(Expr { kind: ExprKind::Call { name, arguments, .. }, .. }) = &stmt.kind
            && (name == "barrier" || name == "work_group_barrier")
            // CLK_LOCAL_MEM_FENCE.
            && arguments.iter().all(|flags| fold(flags.bare()) == Some(1))
        {
            barriers.push(stmt);
        }
    });
    let mut collective = 0;
    kernel.body.walk_expressions(&mut |expr| {
        if let ExprKind::Call { name, .. } = &expr.kind {
            collective += usize::from(is_collective(name));
        }
    });
    let is_shared = |it: &Variable| matches!(it.ty, Type::Pointer { space: Space::Local, .. });
    (collective == barriers.len() && !kernel.parameters.iter().any(is_shared)).then_some(barriers)
}

/// What counts the elements of a tile along one of its dimensions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// The work-item's position in a dimension of its group.
    Lane(usize),
    /// The variable of a loop.
    Counter(Symbol),
}

/// What an expression asks for, casts and variables that are set once aside.
fn asked(expr: &Expr, values: &Values<'_>) -> Option<(String, usize)> {
    match &expr.kind {
        ExprKind::Parentheses(inner) => asked(inner, values),
        ExprKind::Cast { operand, .. }
            if expr.ty.as_number().is_some_and(|it| it.is_integer() && it.bits() >= 32) =>
        {
            asked(operand, values)
        }
        ExprKind::Name { symbol, .. } => asked(values.get(symbol)?, values),
        _ => dimension(expr).map(|(name, along, _)| (name.to_owned(), along)),
    }
}

/// How far a read's element lies from the one that the work-item itself stored.
enum Shift {
    None,
    By(Text),
    /// The element is counted from the first of the tile.
    To(Text),
}

/// The copies of a kernel.
struct Copies<'t> {
    tree: &'t Tree,
    kernel: &'t Function,
    tiles: Vec<Tile<'t>>,
    changed: BTreeSet<Symbol>,
    values: Values<'t>,
    /// Whether something could not be written.
    failed: Cell<bool>,
}

/// A read of a tile.
struct Read<'r> {
    at: usize,
    slots: Vec<(Slot, Shift)>,
    /// Loops' variables that are added to a work-item's position.
    zero: &'r [Symbol],
}

impl<'t> Copies<'t> {
    fn edit(&self, edits: &mut Edits) -> Option<()> {
        let mut stored: BTreeSet<Symbol> = BTreeSet::new();
        self.kernel.body.walk_expressions(&mut |expr| {
            if let ExprKind::Assign { target, .. } = &expr.kind {
                target.walk(&mut |it| {
                    if let (ExprKind::Name { symbol, .. }, Type::Pointer { .. }) = (&it.kind, &it.ty) {
                        stored.insert(*symbol);
                    }
                });
            }
        });
        let loads_stored = |tile: &Tile<'_>| {
            tile.value.any(|it| matches!(it.kind, ExprKind::Name { symbol, .. } if stored.contains(&symbol)))
        };
        // A tile of what is in another tile.
        let is_nested = |tile: &Tile<'_>| self.tiles.iter().any(|it| it.is_named(tile.value));
        if self.tiles.iter().any(|tile| loads_stored(tile) || is_nested(tile) || !tile.store.place.exact) {
            return None;
        }
        for tile in &self.tiles {
            edits.replace(tile.store.full.clone(), ";").ok()?;
        }
        let replaced = |expr: &Expr| {
            let read = self.tiles.iter().find_map(|tile| {
                let (_, at) = tile.reads.iter().find(|(read, _)| std::ptr::eq(*read, expr))?;
                Some((tile, at))
            });
            let (tile, at) = read?;
            let text = self.read(tile, expr, at);
            if text.is_none() {
                self.failed.set(true);
            }
            text
        };
        let printer = Printer { tree: self.tree, replaced: &replaced, renamed: &|_| None };
        let mut fits = true;
        self.kernel.body.walk(&mut |stmt| {
            if self.tiles.iter().any(|tile| std::ptr::eq(tile.store, stmt)) {
                return;
            }
            for expr in stmt.expressions() {
                if self.tiles.iter().any(|tile| tile.is_named(expr)) {
                    fits &= printer.edit_expression(expr, edits).is_some();
                }
            }
        });
        (fits && !self.failed.get()).then_some(())
    }

    /// What an element of a tile was copied from.
    fn read(&self, tile: &Tile<'t>, read: &Expr, at: &[&Expr]) -> Option<Text> {
        if at.iter().any(|index| self.tiles.iter().any(|tile| tile.is_named(index))) {
            return None;
        }
        let mut zero = Vec::new();
        let mut slots = Vec::new();
        for (stored, index) in tile.subscripts.iter().zip(at) {
            let (slot, first) = self.slot(stored, tile.store.full.start, &mut zero)?;
            slots.push((slot, self.shift(slot, first, index)?));
        }
        let read = Read { at: read.place.range.start, slots, zero: &zero };
        let value = tile.value.bare();
        let text = self.write(value, &read)?;
        let element = element(&tile.variable.ty);
        if value.ty == *element {
            return Some(text);
        }
        (value.ty.as_number().is_some() && element.as_number().is_some())
            .then(|| Text::new(format!("({element}){}", text.at(UNARY)), UNARY))
    }

    /// What counts the elements along a dimension, and the number of the first; `at` is where they are stored.
    fn slot(&self, stored: &Expr, at: usize, zero: &mut Vec<Symbol>) -> Option<(Slot, i128)> {
        let mut sum = self.sum(stored);
        let first = std::mem::take(&mut sum.constant);
        let counters = self.counters(at);
        let counter = |term: &String| counters.iter().find(|it| it.name == *term).map(|it| it.symbol);
        let lane =
            |term: &String| term.strip_prefix("get_local_id(")?.strip_suffix(')')?.parse::<usize>().ok();
        let mut slot = None;
        for (term, times) in &sum.terms {
            let ([term], 1) = (&term[..], times) else { return None };
            match (lane(term), counter(term), slot) {
                (Some(along), _, None) => slot = Some(Slot::Lane(along)),
                (Some(along), _, Some(Slot::Counter(symbol))) => {
                    zero.push(symbol);
                    slot = Some(Slot::Lane(along));
                }
                (None, Some(symbol), None) => slot = Some(Slot::Counter(symbol)),
                (None, Some(symbol), Some(Slot::Lane(_))) => zero.push(symbol),
                _ => return None,
            }
        }
        Some((slot?, first))
    }

    fn shift(&self, slot: Slot, first: i128, index: &Expr) -> Option<Shift> {
        let own = |text: &Expr| Text::new(self.tree.text(&text.place), written_level(text));
        if !index.place.exact {
            return None;
        }
        let whole = || Some(Shift::To(own(index.bare()).plus(-first)));
        let Slot::Lane(along) = slot else { return whole() };
        let lane = Affine::term(format!("get_local_id({along})"));
        let by = self.sum(index).plus(&lane, -1).plus(&Affine::constant(first), -1);
        if by.as_constant() == Some(0) {
            return Some(Shift::None);
        }
        if let Some(constant) = by.as_constant() {
            return Some(Shift::By(Text::primary("0").plus(constant)));
        }
        let is_lane = |expr: &Expr| asked(expr, &self.values) == Some(("get_local_id".to_owned(), along));
        match &index.bare().kind {
            ExprKind::Binary { operator, left, right } if operator == "+" && is_lane(left) => {
                Some(Shift::By(own(right.bare()).plus(-first)))
            }
            ExprKind::Binary { operator, left, right } if operator == "+" && is_lane(right) => {
                Some(Shift::By(own(left.bare()).plus(-first)))
            }
            _ => whole(),
        }
    }

    /// An index in terms of positions in the group.
    fn sum(&self, expr: &Expr) -> Affine {
        let known = |expr: &Expr| match asked(expr, &self.values) {
            Some((name, along)) if name == "get_local_id" => {
                Some(Affine::term(format!("get_local_id({along})")))
            }
            _ => None,
        };
        affine(expr, &|it| self.tree.text(&it.place).to_owned(), &known)
    }

    /// The variables of loops around a place.
    fn counters(&self, at: usize) -> Vec<&'t Variable> {
        let mut counters = Vec::new();
        self.kernel.body.walk(&mut |stmt| {
            if let StmtKind::For { first: Some(first), .. } = &stmt.kind
                && stmt.full.contains(&at)
                && let StmtKind::Declare(variables) = &first.kind
            {
                counters.extend(variables);
            }
        });
        counters
    }

    /// A copied value for a read.
    fn write(&self, expr: &Expr, read: &Read<'_>) -> Option<Text> {
        let replaced = |it: &Expr| self.replaced(it, read);
        Printer { tree: self.tree, replaced: &replaced, renamed: &|_| None }.expression(expr)
    }

    fn replaced(&self, expr: &Expr, read: &Read<'_>) -> Option<Text> {
        let shift =
            |wanted: Slot| read.slots.iter().find(|(slot, _)| *slot == wanted).map(|(_, shift)| shift);
        match &expr.kind {
            ExprKind::Binary { operator, left, right }
                if operator == "+" && right.symbol().is_some_and(|it| read.zero.contains(&it)) =>
            {
                self.write(left, read)
            }
            ExprKind::Call { .. } => {
                let (name, along, _) = dimension(expr)?;
                self.position(name, along, shift(Slot::Lane(along))?, &expr.ty, self.tree.text(&expr.place))
            }
            ExprKind::Name { symbol, name, .. } => {
                if read.zero.contains(symbol) {
                    return Some(Text::primary("0"));
                }
                if let Some(Shift::To(text) | Shift::By(text)) = shift(Slot::Counter(*symbol)) {
                    return Some(text.clone());
                }
                let Some(value) = self.values.get(symbol) else {
                    if !self.is_kept(*symbol, read.at) {
                        self.failed.set(true);
                    }
                    return None;
                };
                if let Some((asked, along)) = asked(value, &self.values)
                    && let Some(shift) = shift(Slot::Lane(along))
                    && (asked == "get_local_id" || asked == "get_global_id")
                {
                    return self.position(&asked, along, shift, &expr.ty, name);
                }
                if !self.depends(value, read) && self.is_visible(*symbol, read.at) {
                    return None;
                }
                let text = self.write(value, read)?;
                let from = &value.bare().ty;
                let is_same = *from == expr.ty || matches!(value.bare().kind, ExprKind::Integer(_));
                Some(if is_same {
                    text
                } else {
                    Text::new(format!("({}){}", expr.ty, text.at(UNARY)), UNARY)
                })
            }
            _ => None,
        }
    }

    /// A work-item's position as the read shifts it.
    fn position(&self, asked: &str, along: usize, shift: &Shift, ty: &Type, text: &str) -> Option<Text> {
        let lane = match ty {
            Type::Scalar(Scalar::Integer { bits: 64, .. }) => format!("get_local_id({along})"),
            ty => format!("({ty})get_local_id({along})"),
        };
        match (asked, shift) {
            (_, Shift::None) => None,
            ("get_global_id" | "get_local_id", Shift::By(by)) => Some(Text::primary(text).binary("+", by)),
            ("get_local_id", Shift::To(to)) => Some(to.clone()),
            ("get_global_id", Shift::To(to)) => {
                Some(Text::new(format!("{text} - {lane} + {}", to.at(ADDITIVE)), ADDITIVE))
            }
            _ => {
                self.failed.set(true);
                None
            }
        }
    }

    /// Whether a value differs between the work-item that stored it and the one that reads it.
    fn depends(&self, expr: &Expr, read: &Read<'_>) -> bool {
        expr.any(|it| match &it.kind {
            ExprKind::Call { .. } => dimension(it).is_some_and(|(name, along, _)| {
                (name == "get_local_id" || name == "get_global_id")
                    && read
                        .slots
                        .iter()
                        .any(|(slot, shift)| *slot == Slot::Lane(along) && !matches!(shift, Shift::None))
            }),
            ExprKind::Name { symbol, .. } => {
                read.zero.contains(symbol)
                    || read.slots.iter().any(|(slot, _)| *slot == Slot::Counter(*symbol))
                    || self.values.get(symbol).is_some_and(|value| self.depends(value, read))
            }
            _ => false,
        })
    }

    /// Whether a variable without a value of its own is the same where it is read: a parameter, or the variable of a
    /// loop around both.
    fn is_kept(&self, symbol: Symbol, at: usize) -> bool {
        let is_counter = || self.counters(at).iter().any(|it| it.symbol == symbol);
        !self.changed.contains(&symbol) || is_counter()
    }

    /// Whether a variable of the kernel is declared around a place.
    fn is_visible(&self, symbol: Symbol, at: usize) -> bool {
        let mut declared = false;
        let mut visible = false;
        self.kernel.body.walk(&mut |stmt| {
            let declares = |inner: &Stmt| {
                matches!(&inner.kind, StmtKind::Declare(all) if all.iter().any(|it| it.symbol == symbol))
            };
            let inside = match &stmt.kind {
                StmtKind::Block(inner) => inner.iter().any(declares),
                StmtKind::For { first: Some(first), .. } => declares(first),
                _ => false,
            };
            declared |= inside;
            visible |= inside && stmt.full.contains(&at);
        });
        visible || !declared
    }
}

/// The elements of an array of arrays.
fn element(ty: &Type) -> &Type {
    match ty {
        Type::Array(of, _) => element(of),
        other => other,
    }
}
