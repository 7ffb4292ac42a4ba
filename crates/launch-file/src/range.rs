//! The number of work-items and the work-group size.

use tripipe_device::document::{Item, Table};
use tripipe_launch::NdRange;

use crate::error::FileError;
use crate::expression::Names;
use crate::tuning::is_drivers_choice;

/// The range of a launch file; `chosen` replaces its work-group size.
pub(crate) fn range(root: &Table<'_>, names: &Names, chosen: Option<Item<'_>>) -> Result<NdRange, FileError> {
    let global = root.must("global")?.extents_by(3, |item| names.whole(&item, 1))?;
    let range = match global[..] {
        [x] => NdRange::d1(x),
        [x, y] => NdRange::d2(x, y),
        _ => NdRange::d3(global[0], global[1], global[2]),
    };
    let local = chosen.or_else(|| root.get("local"));
    let range = match local.map(|item| local_sizes(&item, global.len(), names)).transpose()?.flatten() {
        None => range,
        Some(local) => {
            let at = |dimension| local.get(dimension).copied().unwrap_or(1);
            range.local(at(0), at(1), at(2))
        }
    };
    let Some(item) = root.get("offset") else { return Ok(range) };
    let offset = item.items().map(|item| names.whole(&item, 0)).collect::<Result<Vec<_>, _>>()?;
    as_many(&item, offset.len(), global.len())?;
    let at = |dimension| offset.get(dimension).copied().unwrap_or(0);
    Ok(range.offset(at(0), at(1), at(2)))
}

/// A work-group size in as many numbers as the launch has dimensions; `None` leaves it to the driver.
pub(crate) fn local_sizes(
    item: &Item<'_>,
    dimensions: usize,
    names: &Names,
) -> Result<Option<Vec<usize>>, FileError> {
    if is_drivers_choice(item) {
        return Ok(None);
    }
    let local = item.extents_by(3, |item| names.whole(&item, 1))?;
    as_many(item, local.len(), dimensions)?;
    Ok(Some(local))
}

fn as_many(item: &Item<'_>, found: usize, dimensions: usize) -> Result<(), FileError> {
    if found == dimensions {
        return Ok(());
    }
    Err(item.impossible(format!("as many numbers as `global` has, {dimensions}")).into())
}
