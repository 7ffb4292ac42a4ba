//! Copies in local memory.

use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Type, Variable};

/// A copy in local memory.
pub(super) struct Tile<'t> {
    pub(super) variable: &'t Variable,
    /// The only store.
    pub(super) store: &'t Stmt,
    pub(super) subscripts: Vec<&'t Expr>,
    pub(super) value: &'t Expr,
    /// Where it is read, with the subscripts.
    pub(super) reads: Vec<(&'t Expr, Vec<&'t Expr>)>,
}

impl<'t> Tile<'t> {
    /// The tiles of a kernel; `None` if there are none, or one is no plain copy.
    pub(super) fn all(kernel: &'t Function) -> Option<Vec<Self>> {
        let mut tiles: Vec<(&Variable, usize)> = Vec::new();
        let mut fits = true;
        kernel.body.walk(&mut |stmt| {
            let StmtKind::Declare(variables) = &stmt.kind else { return };
            for variable in variables.iter().filter(|variable| variable.shared) {
                let (mut ty, mut dimensions) = (&variable.ty, 0);
                while let Type::Array(of, _) = ty {
                    (ty, dimensions) = (of, dimensions + 1);
                }
                fits &= dimensions > 0 && ty.scalar().is_some() && variables.iter().all(|it| it.shared);
                tiles.push((variable, dimensions));
            }
        });
        let tiles: Option<Vec<Self>> =
            tiles.into_iter().map(|(variable, dimensions)| Self::of(kernel, variable, dimensions)).collect();
        tiles.filter(|tiles| fits && !tiles.is_empty())
    }

    fn of(kernel: &'t Function, variable: &'t Variable, dimensions: usize) -> Option<Self> {
        let (mut stores, mut reads, mut names) = (Vec::new(), Vec::new(), 0);
        kernel.body.walk(&mut |stmt| {
            if let StmtKind::Expr(Expr {
                kind: ExprKind::Assign { operator: None, target, value, .. }, ..
            }) = &stmt.kind
                && let Some(found) = subscripts(target, variable.symbol)
            {
                stores.push((stmt, &**target, found, &**value));
            }
        });
        let [(store, target, ref at, value)] = stores[..] else { return None };
        kernel.body.walk_expressions(&mut |expr| {
            names +=
                usize::from(matches!(expr.kind, ExprKind::Name { symbol, .. } if symbol == variable.symbol));
            if matches!(expr.kind, ExprKind::Index { .. })
                && !std::ptr::eq(expr, target)
                && let Some(found) = subscripts(expr, variable.symbol)
                && found.len() == dimensions
            {
                reads.push((expr, found));
            }
        });
        let is_later = |read: &&Expr| read.place.range.start > store.full.end;
        let is_plain = at.len() == dimensions
            && names == reads.len() + 1
            && !value.assigns()
            && reads.iter().all(|(read, _)| is_later(read));
        is_plain.then(|| Self { variable, store, subscripts: at.clone(), value, reads })
    }

    /// Whether an expression has an element of it.
    pub(super) fn is_named(&self, expr: &Expr) -> bool {
        expr.any(|it| matches!(it.kind, ExprKind::Name { symbol, .. } if symbol == self.variable.symbol))
    }
}

/// The subscripts of an element of an array.
fn subscripts(expr: &Expr, array: Symbol) -> Option<Vec<&Expr>> {
    let ExprKind::Index { base, index } = &expr.bare().kind else { return None };
    let mut before = match &base.bare().kind {
        ExprKind::Name { symbol, .. } => (*symbol == array).then(Vec::new)?,
        _ => subscripts(base, array)?,
    };
    before.push(index);
    Some(before)
}
