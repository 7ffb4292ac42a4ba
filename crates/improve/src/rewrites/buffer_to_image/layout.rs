//! The rows of a buffer, and how texels hold them.

use std::collections::BTreeMap;

use tripipe_launch::ChannelType;

use super::reads::{ElementRead, residue, uses};
use super::texel;
use crate::host::elements;
use crate::syntax::{Affine, Expr, ExprKind, Function, Tree, Type};
use crate::{Extent, View};

/// The elements of a texel of four channels.
const CHANNELS: usize = 4;

/// The least number of elements of a row whose length is a constant.
const SHORTEST: i128 = 8;

/// The fewest rows of a buffer: one that has fewer is a row itself, which loops read in parts.
const FEWEST: usize = 8;

/// How an image holds a buffer.
#[derive(Clone, Debug)]
pub(super) struct ImageRows {
    /// The elements of a row.
    pub(super) pitch: Extent,
    /// The elements of a texel: 1 or 4.
    pub(super) per_texel: usize,
    pub(super) channel: ChannelType,
}

/// An element's place: column and row.
pub(super) struct Position {
    pub(super) column: Affine,
    pub(super) row: Affine,
}

impl ImageRows {
    /// The layout of a parameter; `None` if it has no rows, or is used otherwise than to read elements.
    pub(super) fn of(view: &View<'_>, tree: &Tree, kernel: &Function, position: usize) -> Option<Self> {
        let parameter = kernel.parameters.get(position)?;
        let texel = texel(parameter)?;
        let reads = uses(tree, kernel, parameter.symbol)?.reads;
        let pitch = pitches(kernel, &reads).into_iter().find(|pitch| fits(pitch, &reads))?;
        let of_rows = |read: &ElementRead<'_>| position_of(&pitch, &read.sum);
        let is_aligned = |read: &ElementRead<'_>| residue(&of_rows(read).column, &read.aligned).is_some();
        let has_vectors = reads.iter().any(|read| read.lanes > 1);
        let per_texel = match has_vectors {
            _ if texel.whole => (!has_vectors).then_some(1)?,
            true => reads.iter().all(|read| read.lanes == 1 || is_aligned(read)).then_some(CHANNELS)?,
            false if reads.iter().all(is_aligned) => CHANNELS,
            false => 1,
        };
        // What fits the limits of all GPUs.
        let launch = &view.subject.launch;
        let row = pitch.of(launch)?;
        let elements = elements(launch, position)?;
        let limits = view.gpus.iter().map(|gpu| gpu.images.max_2d.value);
        let is_whole = !matches!(pitch, Extent::Constant(row) if !row.is_multiple_of(per_texel));
        let is_small = limits.into_iter().all(|[wide, high]| {
            row.div_ceil(per_texel) <= wide as usize && elements.div_ceil(row) <= high as usize
        });
        (is_small && is_whole && elements / row >= FEWEST).then_some(Self {
            pitch,
            per_texel,
            channel: texel.channel,
        })
    }

    /// The place of an element.
    pub(super) fn position(&self, sum: &Affine) -> Position {
        position_of(&self.pitch, sum)
    }
}

/// Lengths of rows that the indices speak for, the likeliest first.
fn pitches(kernel: &Function, reads: &[ElementRead<'_>]) -> Vec<Extent> {
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut constants: Vec<i128> = Vec::new();
    for read in reads {
        for (term, times) in &read.sum.terms {
            for (position, parameter) in kernel.parameters.iter().enumerate() {
                let is_number = matches!(parameter.ty, Type::Scalar(_));
                if is_number && term.contains(&parameter.name) {
                    *counts.entry((position, parameter.name.as_str())).or_default() += 1;
                }
            }
            if *times >= SHORTEST {
                constants.push(*times);
            }
        }
    }
    let mut arguments: Vec<_> = counts.into_iter().collect();
    arguments.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let arguments = arguments
        .into_iter()
        .map(|((argument, name), _)| Extent::Argument { argument, name: name.to_owned() });
    constants.sort_unstable();
    constants.dedup();
    let constants =
        constants.into_iter().rev().filter_map(|it| usize::try_from(it).ok()).map(Extent::Constant);
    arguments.chain(constants).collect()
}

/// Whether rows of a length have columns that do not depend on it.
fn fits(pitch: &Extent, reads: &[ElementRead<'_>]) -> bool {
    let all = || reads.iter().map(|read| position_of(pitch, &read.sum));
    let mentions = |sum: &Affine| match pitch {
        Extent::Argument { name, .. } => sum.coefficient(name) != Some(0),
        Extent::Constant(_) => false,
    };
    !reads.is_empty()
        && all().all(|it| !mentions(&it.column) && !mentions(&it.row))
        && all().any(|it| it.row.as_constant().is_none())
}

fn position_of(pitch: &Extent, sum: &Affine) -> Position {
    let (mut column, mut row) = (Affine::default(), Affine::default());
    match pitch {
        Extent::Argument { name, .. } => {
            column.constant = sum.constant;
            for (term, times) in &sum.terms {
                match term.iter().position(|factor| factor == name) {
                    Some(at) => {
                        let mut rest = term.clone();
                        rest.remove(at);
                        let rest = if rest.is_empty() {
                            Affine::constant(1)
                        } else {
                            Affine { constant: 0, terms: BTreeMap::from([(rest, 1)]) }
                        };
                        row = row.plus(&rest, *times);
                    }
                    None => drop(column.terms.insert(term.clone(), *times)),
                }
            }
        }
        Extent::Constant(pitch) => {
            let pitch = *pitch as i128;
            for (term, times) in &sum.terms {
                let (of, times) =
                    if times % pitch == 0 { (&mut row, times / pitch) } else { (&mut column, *times) };
                of.terms.insert(term.clone(), times);
            }
            // The nearest row: -1 is a column on the left.
            row.constant = (sum.constant + pitch / 2).div_euclid(pitch);
            column.constant = sum.constant - row.constant * pitch;
        }
    }
    Position { column, row }
}

/// Whether a function that is called knows the length of a row by the same name.
pub(super) fn is_known_in(pitch: &Extent, callee: &Function, arguments: &[Expr]) -> Option<()> {
    let Extent::Argument { name, .. } = pitch else { return Some(()) };
    let position = callee.parameters.iter().position(|it| it.name == *name)?;
    let passed = &arguments.get(position)?.bare().kind;
    matches!(passed, ExprKind::Name { name: own, .. } if own == name).then_some(())
}
