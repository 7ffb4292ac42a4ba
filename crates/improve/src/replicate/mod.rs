//! Several outputs of a kernel in one work-item: along one dimension as the lanes of vectors, along another as copies.
//!
//! `get_global_id(d)` becomes `n * get_global_id(d)`, the first of the n outputs. A value that does not depend on it
//! stays as it is; an integer that grows by a constant from output to output stays a scalar, that of the first output;
//! everything else becomes a vector, or has a copy for each output. Work-items of a launch have no order, so that
//! outputs may be computed together wherever work-items do not exchange data, which a kernel without barriers and
//! atomics cannot do.
//!
//! Conditions that differ between outputs are decided in advance ([`assume`]): where they hold for all outputs, these
//! are computed together; elsewhere one by one, by the kernel's own code, which becomes a function.

mod analyze;
mod assume;
mod build;
mod edges;
mod expr;
mod functions;
mod interleave;
mod load;
mod range;
mod shape;
mod stmt;

use std::collections::{BTreeMap, BTreeSet};

use crate::syntax::{Affine, Expr, ExprKind, Function, Symbol, Tree, Type};

pub(crate) use functions::is_elementwise;
use shape::Shape;

/// What is replicated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The dimension along which outputs become lanes, and their number: 2, 4, 8 or 16.
    pub(crate) vector: Option<(usize, usize)>,
    /// The dimension along which outputs are copies, and their number.
    pub(crate) copies: Option<(usize, usize)>,
    /// Whether integers of 32 bits have lanes of 16 where all values fit.
    pub(crate) narrow: bool,
    /// The channels of pixels whose numbers are one row: lanes are neighbouring numbers, not pixels.
    pub(crate) channels: Option<i128>,
    /// Whether groups are placed so that edges need no path of their own.
    pub(crate) edges: bool,
}

impl Plan {
    /// The number of outputs along a dimension.
    fn outputs(&self, dimension: usize) -> usize {
        let along = [self.vector, self.copies].into_iter().flatten().find(|(along, _)| *along == dimension);
        along.map_or(1, |(_, count)| count)
    }

    fn lanes(&self) -> usize {
        self.vector.map_or(1, |(_, lanes)| lanes)
    }

    fn count(&self) -> usize {
        self.copies.map_or(1, |(_, count)| count)
    }
}

/// Why a kernel is not replicated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: `{at}`")]
pub(crate) struct Obstacle {
    /// What stands in the way.
    pub(crate) reason: String,
    /// The text in the source.
    pub(crate) at: String,
}

/// A kernel that computes several outputs in a work-item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replicated {
    /// The whole source.
    pub(crate) source: String,
    /// Dimensions whose number of work-items must be a multiple of their outputs, with that number: the kernel does
    /// not test there which outputs exist.
    pub(crate) unbounded: Vec<(usize, usize)>,
    /// Dimensions in which the kernel tests which outputs exist: `times` times the number of outputs reaches the sum, in
    /// terms of parameters.
    pub(crate) bounded: BTreeMap<usize, (i128, Affine)>,
    /// Whether some outputs are computed by two work-items.
    pub(crate) overlaps: bool,
}

/// Replicates a kernel.
pub(crate) fn replicate(tree: &Tree, kernel: &Function, plan: Plan) -> Result<Replicated, Obstacle> {
    let mut engine = Engine::new(tree, kernel, plan)?;
    engine.build()
}

/// A local variable.
#[derive(Clone, Debug)]
struct Local<'t> {
    name: &'t str,
    ty: Type,
    constant: bool,
    value: Option<&'t Expr>,
    shape: Shape,
    /// Whether each copy has its own.
    copied: bool,
}

/// A sum that is at least 0 for all outputs, in terms of parameters and of the first output's ids.
type Assumption = Affine;

/// The values of a loop's variable: from `least` to `most`, or to the one below `most`.
#[derive(Clone, Copy, Debug)]
struct Turns<'t> {
    least: &'t Expr,
    most: &'t Expr,
    /// 1 where `most` itself is not reached.
    below: i128,
}

/// How groups along the vectors' dimension are placed.
#[derive(Clone, Debug)]
struct Edges {
    /// The first output inside.
    lowest: i128,
    /// The last place of a group, in terms of parameters.
    limit: String,
    /// That the limit is not below the first output.
    room: String,
    /// The variable of the first output that is the group's own.
    first: String,
    /// The variable of the number of outputs that the group was moved by.
    skip: String,
    /// The function that stores the last lanes of a vector, by element type.
    stores: BTreeMap<&'static str, String>,
}

/// The replication of a kernel.
struct Engine<'t> {
    tree: &'t Tree,
    kernel: &'t Function,
    plan: Plan,
    parameters: BTreeSet<Symbol>,
    variables: BTreeMap<Symbol, Local<'t>>,
    /// Variables and parameters that are assigned to after their declaration.
    assigned: BTreeSet<Symbol>,
    turns: BTreeMap<Symbol, Turns<'t>>,
    assumptions: Vec<Assumption>,
    /// All words of the source, which new names must not be.
    words: BTreeSet<String>,
    /// Statements that must precede the one that is written.
    pending: Vec<String>,
    /// The mask of the condition that the statement depends on, with the width of its lanes.
    mask: Option<(String, u8)>,
    ranges: range::Ranges,
    edges: Option<Edges>,
    /// The variable of the loop over channels that is written.
    channel_name: Option<String>,
}

impl Engine<'_> {
    fn refuse<T>(&self, expr: &Expr, reason: &str) -> Result<T, Obstacle> {
        Err(Obstacle { reason: reason.to_owned(), at: self.tree.text(&expr.place).to_owned() })
    }

    /// The dimension of `get_global_id(…)`; `None` for other expressions.
    fn id_dimension(&self, expr: &Expr) -> Result<Option<usize>, Obstacle> {
        match &expr.kind {
            ExprKind::Call { name, arguments, .. } if name == "get_global_id" => {
                let dimension = arguments.first().and_then(crate::syntax::fold);
                match dimension.and_then(|it| usize::try_from(it).ok()) {
                    Some(dimension) => Ok(Some(dimension)),
                    None => self.refuse(expr, "a dimension that is not a constant"),
                }
            }
            _ => Ok(None),
        }
    }

    /// Whether each copy has its own value of an expression.
    fn is_copied(&self, expr: &Expr) -> bool {
        let Some((along, _)) = self.plan.copies else { return false };
        expr.any(|expr| match &expr.kind {
            ExprKind::Name { symbol, .. } => self.variables.get(symbol).is_some_and(|it| it.copied),
            _ => self.id_dimension(expr) == Ok(Some(along)),
        })
    }

    /// The name of a variable in a copy.
    fn name(&self, symbol: Symbol, name: &str, copy: usize) -> String {
        match self.variables.get(&symbol) {
            Some(local) if local.copied && copy > 0 => {
                let mut own = format!("{name}_{copy}");
                // The source may be replicated already.
                while self.words.contains(&own) {
                    own.insert(name.len(), '_');
                }
                own
            }
            _ => name.to_owned(),
        }
    }

    /// A name that the source does not have.
    fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while self.words.contains(&name) {
            number += 1;
            name = format!("{wanted}{number}");
        }
        self.words.insert(name.clone());
        name
    }
}
