//! Tuning of products when a shape is used for the first time.

mod notes;
mod subject;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tripipe_device::Probe;
use tripipe_kernels::Basis;
use tripipe_kernels::gemm::cost::DeviceFigures;
use tripipe_kernels::gemm::{self as kernels, Choice, Elements, Gemm, Parameters, TimedShape};

use crate::Context;
use crate::explanation::Time;
use notes::Notes;
use subject::{Refusal, Subject};

/// The largest number of candidates of a shape.
const MOST: usize = 40;
/// Timed runs of a candidate, and of the two that are compared at the end.
const RUNS: usize = 5;
const LAST_RUNS: usize = 9;
/// A candidate whose first run takes this many times as long as the fastest is not timed further.
const SLOW: f64 = 2.0;
/// A candidate must take less than this fraction of the time of the estimate's choice to be used instead.
const WORTH: f64 = 0.98;

/// A choice that was measured on first use.
#[derive(Clone, Debug)]
pub(super) struct MeasuredChoice {
    pub(super) choice: Choice,
    /// Seconds of the product with these parameters, without epilogue and gaps between rows.
    pub(super) seconds: f64,
}

/// The parameters that are the fastest of those measured on this device for products of this shape: measured now, within
/// the budget, if they were not before. `None` if tuning is off, nothing could be measured, or the product has other
/// limits than its shape.
///
/// The context's operations of one description are made once, so this is called for new ones only.
pub(super) fn choose(
    context: &Context,
    gemm: &Gemm,
    estimated: &Choice,
    figures: &DeviceFigures,
) -> Option<MeasuredChoice> {
    let core = context.core();
    let (budget, probe, cache) = (core.tuning_budget()?, core.probe()?, core.cache());
    let key = ShapeKey::of(gemm);
    let mut notes = Notes::read(cache.as_ref(), probe);
    if !notes.is_done(&key) {
        let plain = key.shape.gemm(key.elements);
        core.settle();
        core.engine().with_executor(&mut |executor| {
            // A product that is too large to be tried is computed with the estimate's choice.
            let Ok(mut subject) = Subject::new(executor, &plain) else { return };
            let wanted = Wanted { gemm, plain: &plain, probe, estimated, figures };
            measure(&mut subject, &mut notes, &key, budget, &wanted);
            subject.release();
        });
    }
    let times = notes.times(&key);
    let fits = |parameters: &Parameters| parameters.check(gemm, probe).is_ok();
    let mut fit: Vec<(Parameters, f64)> =
        times.into_iter().filter(|(parameters, _)| fits(parameters)).collect();
    fit.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let chosen = notes.chosen(&key).filter(fits);
    let chosen = chosen.and_then(|chosen| fit.iter().find(|(one, _)| *one == chosen)).or(fit.first());
    let (parameters, seconds) = *chosen?;
    let count = fit.len();
    let plural = if count == 1 { "" } else { "s" };
    let mut why = format!(
        "measured on this device on first use: {}, the fastest of {count} candidate{plural}",
        Time(seconds)
    );
    if let Some((_, other)) = fit.iter().find(|(one, _)| *one == estimated.parameters)
        && parameters != estimated.parameters
    {
        let _ = write!(why, "; the choice without it, `{}`, takes {}", estimated.parameters, Time(*other));
    }
    let others = fit.iter().filter(|(one, _)| *one != parameters).take(3);
    let choice = Choice {
        parameters,
        why,
        source: "measured by this library on first use".to_owned(),
        basis: Basis::Measured,
        measured: None,
        estimated_seconds: Some(seconds),
        runners_up: others.map(|(one, seconds)| (*one, format!("takes {}", Time(*seconds)))).collect(),
    };
    Some(MeasuredChoice { choice, seconds })
}

/// What a shape is measured for.
struct Wanted<'w> {
    /// The product that is used.
    gemm: &'w Gemm,
    /// The product that is measured.
    plain: &'w Gemm,
    probe: &'w Probe,
    estimated: &'w Choice,
    figures: &'w DeviceFigures,
}

/// Products that are measured as one: of these elements and this shape.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ShapeKey {
    elements: Elements,
    shape: TimedShape,
}

impl ShapeKey {
    fn of(gemm: &Gemm) -> Self {
        let elements = match gemm.elements {
            Elements::I8ToI8(_) => Elements::I8ToI32,
            elements => elements,
        };
        Self { elements, shape: TimedShape::of(gemm) }
    }
}

/// Tries candidates until the budget is spent, and notes their times. The estimate's choice comes first.
fn measure(
    subject: &mut Subject<'_>,
    notes: &mut Notes<'_>,
    key: &ShapeKey,
    budget: Duration,
    wanted: &Wanted<'_>,
) {
    let began = Instant::now();
    let Wanted { gemm, plain, probe, estimated, figures } = *wanted;
    let mut all = vec![estimated.parameters];
    all.extend(estimated.runners_up.iter().map(|(other, _)| *other));
    for other in kernels::likely(plain, probe, figures, MOST) {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all.retain(|one| one.check(gemm, probe).is_ok() && one.check(plain, probe).is_ok());
    let mut fastest: Option<(Parameters, f64)> = None;
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
        match subject.verified(&parameters).and_then(|mut ready| ready.median(RUNS, limit)) {
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
    if fastest != estimated.parameters
        && let Ok([of_fastest, of_choice]) = subject.compared([&fastest, &estimated.parameters], LAST_RUNS)
    {
        notes.timed(key, &fastest, of_fastest);
        notes.timed(key, &estimated.parameters, of_choice);
        if of_fastest >= WORTH * of_choice {
            chosen = estimated.parameters;
        }
    }
    notes.done(key, &chosen);
}
