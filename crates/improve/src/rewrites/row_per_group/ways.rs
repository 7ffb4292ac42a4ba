//! How the work-items of a group take the steps of loops: one by one, or as vectors.

use super::Rows;
use super::vectors::ElementRow;
use crate::host::integer;
use crate::rewrites::effects::is_same;
use crate::syntax::{Expr, fold};
use crate::{Condition, Subject};

/// How the work-items of a group take the steps of the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Neighbours take neighbouring steps.
    Single,
    /// A work-item takes several neighbouring steps, whose elements are vectors of so many lanes.
    Vectors(usize),
    /// As vectors, which stay in registers from loop to loop: a work-item has so many of a row.
    Kept { lanes: usize, turns: usize },
}

/// Lanes that are tried.
const LANES: [usize; 3] = [8, 4, 16];

/// The most bytes of a vector: those that GPUs of phones load at once.
const WIDEST: usize = 16;

/// The most bytes of a row that a work-item keeps: half of the registers that most GPUs have without halving threads.
const KEPT: usize = 128;

/// The most vectors of a row that a work-item keeps.
const TURNS: usize = 8;

/// The number of steps of all loops.
pub(super) struct Length<'t> {
    /// Its position and name, if it is an argument.
    argument: Option<(usize, &'t str)>,
    /// Its value in the given launch.
    value: usize,
}

impl<'t> Length<'t> {
    /// The number of steps, if all loops take the same, and it is a constant or an argument that does not change.
    pub(super) fn of(rows: &Rows<'t>, subject: &Subject) -> Option<Self> {
        let (first, others) = rows.loops.split_first()?;
        let end = resolved(first.end?, rows);
        if !others.iter().all(|it| it.end.is_some_and(|it| is_same(resolved(it, rows), end))) {
            return None;
        }
        if let Some(value) = fold(end) {
            return Some(Self { argument: None, value: usize::try_from(value).ok()? });
        }
        let symbol = end.symbol().filter(|symbol| !rows.changed.contains(symbol))?;
        let position = rows.kernel.parameters.iter().position(|it| it.symbol == symbol)?;
        let value = usize::try_from(integer(&subject.launch, position)?).ok()?;
        Some(Self { argument: Some((position, &rows.kernel.parameters[position].name)), value })
    }

    /// What must hold where a work-item keeps `turns` vectors of a row; `None` if it does not.
    pub(super) fn conditions(&self, size: usize, lanes: usize, turns: usize) -> Option<Vec<Condition>> {
        let most = size * lanes * turns;
        if self.value > most || !self.value.is_multiple_of(lanes) {
            return None;
        }
        let Some((argument, name)) = self.argument else { return Some(Vec::new()) };
        let name = name.to_owned();
        Some(vec![
            Condition::ArgumentMultiple { argument, name: name.clone(), of: lanes as u64 },
            Condition::ArgumentAtMost { argument, name, most: most as i128 },
        ])
    }

    /// Whether all vectors of all work-items lie inside a row in every launch.
    pub(super) fn fills(&self, size: usize, lanes: usize, turns: usize) -> bool {
        self.argument.is_none() && self.value == size * lanes * turns
    }
}

/// The value of a variable that is set once, if that is again a variable or a constant.
fn resolved<'t>(expr: &'t Expr, rows: &Rows<'t>) -> &'t Expr {
    let bare = expr.bare();
    let value = bare.symbol().and_then(|symbol| rows.values.get(&symbol));
    value.map_or(bare, |value| resolved(value, rows))
}

/// The ways in which a group of `size` takes the steps, the most promising first.
pub(super) fn ways(rows: &Rows<'_>, length: Option<&Length<'_>>, size: usize) -> Vec<Way> {
    let all = || rows.loops.iter().flat_map(|it| &it.rows);
    let widest = all().map(|row| usize::from(row.scalar.bits()) / 8).max();
    let mut ways = Vec::new();
    for lanes in LANES {
        if widest.is_none_or(|widest| lanes * widest > WIDEST) {
            continue;
        }
        let kept = length.filter(|_| keeps(rows)).and_then(|length| {
            let turns = length.value.div_ceil(size * lanes).max(1);
            let is_kept = turns <= TURNS
                && turns * lanes * widest.unwrap_or(1) <= KEPT
                && length.conditions(size, lanes, turns).is_some();
            is_kept.then_some(Way::Kept { lanes, turns })
        });
        // What is in registers as a whole is not read in turns.
        ways.push(kept.unwrap_or(Way::Vectors(lanes)));
    }
    ways.push(Way::Single);
    ways
}

/// Whether a loop uses what another one has loaded or stored, and finds it as the other left it.
fn keeps(rows: &Rows<'_>) -> bool {
    let all = || rows.loops.iter().flat_map(|it| &it.rows);
    let is_again = |index: usize, row: &ElementRow<'_>| {
        let later = rows.loops[index + 1..].iter().flat_map(|it| &it.rows);
        later.clone().any(|it| it.start == row.start)
    };
    let mut loops = rows.loops.iter().enumerate();
    // What is stored elsewhere in a memory object may be what was loaded.
    let is_alone = |row: &ElementRow<'_>| {
        let memory = row.start.base;
        let mut own = all().filter(|other| other.start.base == memory);
        let stores = own.clone().any(ElementRow::stores);
        !rows.stores_elsewhere(memory)
            && (!stores || !rows.uses_elsewhere(memory) && own.all(|other| other.start == row.start))
    };
    rows.loops.iter().all(|it| !it.rows.is_empty())
        && loops.any(|(index, it)| it.rows.iter().any(|row| is_again(index, row)))
        && all().all(|row| row.is_fixed && is_alone(row))
}
