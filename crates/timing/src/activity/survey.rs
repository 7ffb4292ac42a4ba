//! What the work-groups of a launch do, from a few of them.

use tripipe_launch::ExecuteError;
use tripipe_simulate::trace::Tracer;

use super::Recorded;
use crate::engine::Engine;
use crate::play::Mapping;
use crate::program::Program;

/// Work-groups that are examined, at most.
const MOST: u64 = 256;

/// Counts of work-groups of all parts of a launch. `engine` records, and plays nothing.
///
/// # Errors
/// A work-group cannot run.
pub(crate) fn survey(
    tracer: &mut Tracer<'_>,
    program: &Program,
    mapping: &Mapping,
    mut engine: Engine<'_>,
) -> Result<Option<Recorded>, ExecuteError> {
    let groups: u64 = tracer.groups().iter().product();
    let count = groups.min(MOST);
    for index in 0..count {
        // Evenly distributed, and in no step with the rows of the launch: multiples of the golden ratio.
        let share = (index as f64 + 0.5) * 0.618_033_988_749_894_9;
        let group = if groups <= MOST { index } else { (share.fract() * groups as f64) as u64 };
        // The product may round up to `groups`.
        let trace = tracer.group(group.min(groups - 1))?;
        for play in mapping.plays(program, &trace) {
            engine.survey(play);
        }
    }
    Ok(engine.recorded())
}
