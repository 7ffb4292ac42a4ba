//! How much a launch stores: whether a changed launch still computes as many results.

use tripipe_launch::ExecuteError;
use tripipe_simulate::trace::{Action, GroupTrace, Reach, Tracer};

/// Work-groups that are examined, at most.
const MOST: u64 = 128;

/// Multiples of the golden ratio, modulo 1, are spread evenly and have no period that a row of work-groups could share.
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// The bytes of buffers and images that a launch stores, each counted once for each work-group that stores it: exact
/// for at most [`MOST`] work-groups, else estimated from as many.
pub(crate) fn stored_bytes(tracer: &mut Tracer<'_>) -> Result<f64, ExecuteError> {
    let groups: u64 = tracer.groups().iter().product();
    let count = groups.min(MOST);
    let sample = |index: u64| match groups {
        ..=MOST => index,
        _ => ((index as f64 * GOLDEN).fract() * groups as f64) as u64,
    };
    let mut bytes = 0;
    for index in 0..count {
        bytes += stored_by(&tracer.group(sample(index))?);
    }
    Ok(bytes as f64 * groups as f64 / count.max(1) as f64)
}

/// The bytes that a work-group stores.
fn stored_by(trace: &GroupTrace) -> u64 {
    let mut stored: Vec<(Option<u32>, u64, u64)> = Vec::new();
    for warp in &trace.warps {
        for (_, access) in warp.accesses() {
            let image = match (access.action, access.reach) {
                (Action::Read, _) | (_, Reach::Local | Reach::Private) => continue,
                (_, Reach::Global) => None,
                (_, Reach::Image(image)) => Some(image),
            };
            let addresses = warp.addresses(access);
            stored
                .extend(addresses.iter().map(|address| (image, *address, address + u64::from(access.bytes))));
        }
    }
    // In the order of addresses, what overlaps an earlier store is told from the end of that one alone.
    stored.sort_unstable();
    let (mut total, mut last) = (0, (None, 0));
    for (image, begin, end) in stored {
        let begin = if last.0 == Some(image) { begin.max(last.1) } else { begin };
        total += end.saturating_sub(begin);
        last = (Some(image), end.max(begin));
    }
    total
}
