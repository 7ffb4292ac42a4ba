//! How much a launch loads and stores: whether a changed launch still computes as many results.

use tripipe_launch::ExecuteError;
use tripipe_simulate::trace::{Action, GroupTrace, Reach, Tracer};

/// Work-groups that are examined, at most.
const MOST: u64 = 128;

/// Multiples of the golden ratio, modulo 1, are spread evenly and have no period that a row of work-groups could share.
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// Bytes of buffers and images, each counted once for each work-group that accesses it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DistinctBytes {
    /// Bytes that are loaded, or read and changed at once.
    pub loaded: f64,
    /// Bytes that are stored.
    pub stored: f64,
}

/// The bytes of a launch: exact for at most [`MOST`] work-groups, else estimated from as many.
pub(crate) fn distinct_bytes(tracer: &mut Tracer<'_>) -> Result<DistinctBytes, ExecuteError> {
    let groups: u64 = tracer.groups().iter().product();
    let count = groups.min(MOST);
    let sample = |index: u64| match groups {
        ..=MOST => index,
        _ => ((index as f64 * GOLDEN).fract() * groups as f64) as u64,
    };
    let scale = groups as f64 / count.max(1) as f64;
    let mut all = DistinctBytes::default();
    for index in 0..count {
        let trace = tracer.group(sample(index))?;
        all.loaded += scale * bytes_of(&trace, |action| action == Action::Read) as f64;
        all.stored += scale * bytes_of(&trace, |action| action != Action::Read) as f64;
    }
    Ok(all)
}

/// The bytes that some accesses of a work-group have, each counted once.
fn bytes_of(trace: &GroupTrace, is_counted: impl Fn(Action) -> bool) -> u64 {
    let mut all: Vec<(Option<u32>, u64, u64)> = Vec::new();
    for warp in &trace.warps {
        for (_, access) in warp.accesses() {
            let image = match access.reach {
                Reach::Local | Reach::Private => continue,
                Reach::Global => None,
                Reach::Image(image) => Some(image),
            };
            if !is_counted(access.action) {
                continue;
            }
            let addresses = warp.addresses(access);
            all.extend(addresses.iter().map(|address| (image, *address, address + u64::from(access.bytes))));
        }
    }
    // In the order of addresses, what overlaps an earlier access is told from the end of that one alone.
    all.sort_unstable();
    let (mut total, mut last) = (0, (None, 0));
    for (image, begin, end) in all {
        let begin = if last.0 == Some(image) { begin.max(last.1) } else { begin };
        total += end.saturating_sub(begin);
        last = (Some(image), end.max(begin));
    }
    total
}
