//! Tuning of operations when one of a kind is made for the first time: products of a shape, chains of filters over images of a
//! size.

mod notes;
mod subject;

use std::fmt::{Display, Write as _};
use std::hash::Hash;
use std::str::FromStr;
use std::time::{Duration, Instant};

use tripipe_device::Probe;

use crate::Context;
use crate::explanation::Time;
use notes::Notes;
use subject::Subject;
pub(crate) use subject::{Refusal, TunedWork, noise};

/// The largest number of candidates.
pub(crate) const MOST: usize = 40;
/// Timed runs of a candidate, and of each of the two that are compared at the end.
const RUNS: usize = 5;
const LAST_RUNS: usize = 9;
/// A candidate whose first run takes this many times as long as the fastest is not timed further.
const SLOW: f64 = 2.0;
/// A candidate must take less than this fraction of the time of the choice without tuning to be used instead.
const WORTH: f64 = 0.98;
/// The most bytes of operands, and the fraction of a device's memory that they may take.
const MOST_BYTES: u64 = 512 << 20;
const SHARE: u64 = 8;

/// The source of a choice in explanations.
pub(crate) const SOURCE: &str = "measured by this library on first use";

/// Parameters of a family of kernels. Their text form parses back.
pub(crate) trait KernelParameters: Copy + Eq + Hash + Display + FromStr {}

impl<P: Copy + Eq + Hash + Display + FromStr> KernelParameters for P {}

/// What is to be chosen.
pub(crate) struct Request<'r, P> {
    /// The family, which has notes of its own.
    pub(crate) family: &'static str,
    /// What is measured as one: operations with equal keys share their times. One line, without tabs.
    pub(crate) key: String,
    /// The choice without tuning.
    pub(crate) estimated: P,
    /// Whether the operation can run with these parameters.
    pub(crate) fits: &'r dyn Fn(&P) -> bool,
    /// The candidates besides the choice without tuning, in the order in which they are tried.
    pub(crate) candidates: &'r dyn Fn() -> Vec<P>,
    /// The computation that is measured, with operands of at most this many bytes.
    pub(crate) work: &'r dyn Fn(u64) -> Result<Box<dyn TunedWork<P>>, Refusal>,
}

/// Parameters that were chosen by their times on this device.
pub(crate) struct Tuned<P> {
    pub(crate) parameters: P,
    pub(crate) seconds: f64,
    /// One sentence.
    pub(crate) why: String,
    /// Up to three others, the fastest first, and what is said about them.
    pub(crate) others: Vec<(P, String)>,
}

/// The parameters that are the fastest of those measured on this device: measured now, within the budget, if they were not before.
/// `None` if tuning is off, or nothing could be measured.
///
/// The context's operations of one description are made once, so this is called for new ones only.
pub(crate) fn tuned<P: KernelParameters>(context: &Context, request: &Request<'_, P>) -> Option<Tuned<P>> {
    let core = context.core();
    let (budget, probe, cache) = (core.options().tuning_budget?, core.probe()?, core.cache());
    let Request { family, key, estimated, fits, work, .. } = request;
    let mut notes = Notes::read(cache.as_ref(), family, probe);
    if !notes.is_done(key) {
        core.settle().ok()?;
        core.engine().with_executor(&mut |executor| {
            let began = Instant::now();
            // What is too large to be tried runs with the choice without tuning.
            let Ok(work) = work(most_bytes(executor.probe())) else { return };
            let Ok(mut subject) = Subject::new(executor, work) else { return };
            measure(&mut subject, &mut notes, request, began, budget);
        });
    }
    let mut fit: Vec<(P, f64)> =
        notes.times(key).into_iter().filter(|(parameters, _)| fits(parameters)).collect();
    fit.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let chosen = notes.chosen(key).filter(fits);
    let chosen = chosen.and_then(|chosen| fit.iter().find(|(one, _)| *one == chosen)).or(fit.first());
    let (parameters, seconds) = *chosen?;
    let count = fit.len();
    let plural = if count == 1 { "" } else { "s" };
    let mut why = format!(
        "measured on this device on first use: {}, the fastest of {count} candidate{plural}",
        Time(seconds)
    );
    if let Some((_, other)) = fit.iter().find(|(one, _)| one == estimated)
        && parameters != *estimated
    {
        let _ = write!(why, "; the choice without it, `{estimated}`, takes {}", Time(*other));
    }
    let others = fit.iter().filter(|(one, _)| *one != parameters).take(3);
    let others = others.map(|(one, seconds)| (*one, format!("takes {}", Time(*seconds)))).collect();
    Some(Tuned { parameters, seconds, why, others })
}

/// The most bytes of operands on a device.
fn most_bytes(probe: &Probe) -> u64 {
    match probe.global_memory_bytes {
        0 => MOST_BYTES,
        bytes => MOST_BYTES.min(bytes / SHARE),
    }
}

/// Tries candidates until the budget is spent, and notes their times. The choice without tuning comes first.
fn measure<P: KernelParameters>(
    subject: &mut Subject<'_, P>,
    notes: &mut Notes<'_, P>,
    request: &Request<'_, P>,
    began: Instant,
    budget: Duration,
) {
    let Request { key, estimated, fits, candidates, .. } = request;
    let mut all = vec![*estimated];
    for other in candidates() {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all.retain(|one| fits(one));
    let mut fastest: Option<(P, f64)> = None;
    let mut longest = Duration::ZERO;
    for (index, parameters) in all.into_iter().take(MOST).enumerate() {
        // A candidate that has started is completed; none is started that is not expected to end in time.
        if index > 0 && began.elapsed() + longest >= budget {
            break;
        }
        if notes.is_avoided(&parameters) {
            continue;
        }
        let start = Instant::now();
        let _span = tripipe_trace::span("tuning", || parameters.to_string());
        notes.started(key, &parameters);
        let limit = fastest.map(|(_, seconds)| seconds * SLOW);
        match subject.median(&parameters, RUNS, limit) {
            Ok(seconds) => {
                notes.timed(key, &parameters, seconds);
                if fastest.is_none_or(|(_, best)| seconds < best) {
                    fastest = Some((parameters, seconds));
                }
            }
            Err(refusal) => {
                notes.failed(key, &parameters, &refusal);
                if matches!(refusal, Refusal::Lost(_)) {
                    return;
                }
            }
        }
        longest = longest.max(start.elapsed());
    }
    let Some((fastest, _)) = fastest else { return };
    let mut chosen = fastest;
    if fastest != *estimated
        && let Ok(times) = subject.compared(&[&fastest, estimated], LAST_RUNS)
        && let [of_fastest, of_choice] = times[..]
    {
        notes.timed(key, &fastest, of_fastest);
        notes.timed(key, estimated, of_choice);
        if of_fastest >= WORTH * of_choice {
            chosen = *estimated;
        }
    }
    notes.done(key, &chosen);
}
