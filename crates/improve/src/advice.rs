//! Advice of lints, priced by following it: its rewrites are applied, and the changed kernels priced.

use rayon::prelude::*;
use tripipe_analyze::{ASSUMED_TRIPS, Advice, Analysis, Applied, Basis, Gain, Setup, analyze, lints};
use tripipe_timing::{VirtualGpu, VirtualOptions};

use crate::{ALL, Allowed, HostChange, OpenFiles, Pricing, Proposal, Rewrite, Subject, Target, View};

/// Variants of a rewrite that are priced: of most rewrites all.
const VARIANTS: usize = 4;

/// Steps of warps that are played to choose among variants; the chosen one is predicted as the launch is.
const STEPS: u64 = 60_000;

/// How many times as fast a kernel that rounds results differently must be to be advised instead of one that does not: a
/// choice, not a measurement.
const ROUNDING: f64 = 1.5;

/// How changed kernels are priced.
#[derive(Clone, Copy, Debug)]
pub enum Costs {
    /// As cycles of the longest path of all work-items: the launch is not known.
    Static,
    /// As time of the launch.
    Predicted {
        /// Seconds of the original.
        seconds: f64,
        /// The most instructions that a work-group may run.
        limit_steps: u64,
    },
}

/// Codes and messages of what lints find in a kernel.
type LintMessages = Vec<(&'static str, String)>;

/// A changed kernel, and what it costs.
struct AppliedRewrite {
    proposal: Proposal,
    subject: Subject,
    /// What it costs: time, or cycles of all work-items. Of time, an estimate.
    cost: f64,
    /// What lints find in it; `None` if its launch has changed, so that they say something else.
    found: Option<LintMessages>,
}

/// The rewrites that do what a rule advises.
pub fn rewrites(rule: &tripipe_ir::diagnostic::Rule) -> Vec<Rewrite> {
    let codes = lints::rewrites(rule).iter();
    codes.filter_map(|code| ALL.iter().copied().find(|rewrite| rewrite.rule.code == *code)).collect()
}

/// What following a rule's advice may change.
pub fn allowed(rule: &tripipe_ir::diagnostic::Rule) -> Allowed {
    Allowed { rounding: lints::rounds(rule) }
}

/// Sets the gain of all advice that rewrites follow, and sorts it. The rewrites are not verified. `setup` is what is
/// known of the launch; that of `subject` may be guessed.
pub fn price(
    analysis: &mut Analysis,
    subject: &Subject,
    target: &Target,
    files: &dyn OpenFiles,
    setup: &Setup,
    costs: Costs,
) {
    let mut tried: Vec<Rewrite> = Vec::new();
    for advice in analysis.advice.iter().filter(|advice| advice.is_for_rewrites()) {
        for rewrite in rewrites(advice.rule) {
            if !tried.iter().any(|known| known.rule.code == rewrite.rule.code) {
                tried.push(rewrite);
            }
        }
    }
    if tried.is_empty() {
        return;
    }
    let tree = subject.tree(Some(target.offered.clone())).ok();
    let gpus = [target.gpu];
    let view = View { subject, tree: tree.as_ref(), gpus: &gpus, allowed: Allowed { rounding: true } };
    let holds = |proposal: &Proposal| {
        proposal.conditions.iter().all(|condition| condition.holds(&subject.launch) != Some(false))
    };
    let proposals: Vec<Proposal> = tried
        .par_iter()
        .flat_map_iter(|rewrite| some_of((rewrite.proposals)(&view).into_iter().filter(holds).collect()))
        .collect();
    let pricer = Pricer { target, setup, pricing: pricing(target, files, costs, Some(STEPS)) };
    let candidates = pricer.candidates(subject, proposals);
    let waiting: Vec<&mut Advice> =
        analysis.advice.iter_mut().filter(|advice| advice.is_for_rewrites()).collect();
    let best: Vec<Option<usize>> = waiting.iter().map(|advice| best(advice, &candidates)).collect();
    // The original beside those that were chosen.
    let mut chosen: Vec<usize> = best.iter().copied().flatten().collect();
    chosen.sort_unstable();
    chosen.dedup();
    let last = Pricer { pricing: pricing(target, files, costs, None), ..pricer };
    let before = match costs {
        Costs::Static => last.cost(subject, false).0,
        Costs::Predicted { seconds, .. } => Some(seconds),
    };
    let after: Vec<Option<f64>> = chosen
        .par_iter()
        .map(|at| match costs {
            Costs::Static => Some(candidates[*at].cost),
            Costs::Predicted { .. } => last.cost(&candidates[*at].subject, false).0,
        })
        .collect();
    for (advice, best) in waiting.into_iter().zip(best) {
        let cost = chosen.iter().zip(&after).find(|(at, _)| Some(**at) == best).and_then(|(_, cost)| *cost);
        match (best, before.filter(|before| *before > 0.0).zip(cost)) {
            (Some(at), Some((before, after))) => {
                let host = host_instructions(&candidates[at].proposal.host, subject);
                follow(advice, &candidates[at].proposal, host, costs, [before, after]);
            }
            _ => advice.gain.get_or_insert_default().basis = Basis::Inapplicable,
        }
    }
    lints::sort(&mut analysis.advice);
}

fn pricing<'f>(
    target: &'f Target,
    files: &'f dyn OpenFiles,
    costs: Costs,
    steps: Option<u64>,
) -> Option<Pricing<'f>> {
    let Costs::Predicted { limit_steps, .. } = costs else { return None };
    Some(Pricing::new(std::slice::from_ref(target), files, steps, limit_steps))
}

/// A few variants, from the first to the last.
fn some_of(mut all: Vec<Proposal>) -> Vec<Proposal> {
    let last = all.len().saturating_sub(1);
    let chosen: Vec<usize> = (0..VARIANTS).map(|at| at * last / (VARIANTS - 1)).collect();
    let mut position = 0..;
    all.retain(|_| position.next().is_some_and(|position| chosen.contains(&position)));
    all
}

/// The cheapest kernel that follows advice.
fn best(advice: &Advice, candidates: &[AppliedRewrite]) -> Option<usize> {
    let follows = |candidate: &AppliedRewrite| {
        // A kernel in which the lint still finds the same has another fault mended.
        let remains = candidate.found.as_ref().is_some_and(|found| {
            found.iter().any(|(code, message)| *code == advice.rule.code && *message == advice.message)
        });
        advice.rewrites().contains(&candidate.proposal.code) && !remains
    };
    let all = candidates.iter().enumerate().filter(|(_, candidate)| follows(candidate));
    // What keeps the bits of results comes first, unless it costs much more.
    let worth = |candidate: &AppliedRewrite| {
        if candidate.proposal.rounds() { ROUNDING * candidate.cost } else { candidate.cost }
    };
    all.min_by(|a, b| worth(a.1).total_cmp(&worth(b.1))).map(|(at, _)| at)
}

/// Sets the gain of advice that a rewrite follows: the costs before and after it.
fn follow(
    advice: &mut Advice,
    proposal: &Proposal,
    host: Vec<String>,
    costs: Costs,
    [before, after]: [f64; 2],
) {
    if advice.fix.is_empty() {
        advice.fix = host.iter().map(|change| sentence(change)).collect::<Vec<_>>().join(" ");
    }
    let Proposal { code, mut title, source, .. } = proposal.clone();
    if proposal.rounds() {
        title.push_str(", with results that are rounded differently (`tripipe improve --allow-rounding`)");
    }
    let applied = Applied { code, title, source, host };
    advice.gain = Some(match costs {
        Costs::Static => Gain::of_rewrite(applied, Some(1.0 - after / before), None),
        Costs::Predicted { .. } => Gain::of_rewrite(applied, None, Some([before, after])),
    });
}

/// What the host's code must change, with the command's option where there is one.
fn host_instructions(changes: &[HostChange], subject: &Subject) -> Vec<String> {
    let dimensions = subject.launch.range.dimensions();
    let one = |change: &HostChange| match change {
        HostChange::Local(sides) => {
            let sides: Vec<String> = sides[..dimensions].iter().map(usize::to_string).collect();
            format!("{change} (`--local {}`)", sides.join(","))
        }
        _ => change.to_string(),
    };
    changes.iter().map(one).collect()
}

/// With a capital letter and a full stop.
fn sentence(said: &str) -> String {
    let mut letters = said.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

struct Pricer<'a> {
    target: &'a Target,
    setup: &'a Setup,
    /// For predicted times; `None` for cycles.
    pricing: Option<Pricing<'a>>,
}

impl Pricer<'_> {
    /// The proposals that have a price.
    fn candidates(&self, original: &Subject, proposals: Vec<Proposal>) -> Vec<AppliedRewrite> {
        let priced = proposals.into_par_iter().filter_map(|proposal| {
            let subject = proposal.subject(original);
            let (cost, found) = self.cost(&subject, proposal.host.is_empty());
            Some(AppliedRewrite { proposal, subject, cost: cost?, found })
        });
        priced.collect()
    }

    /// The cost of a kernel, and what lints find in it if that is wanted.
    fn cost(&self, subject: &Subject, looks: bool) -> (Option<f64>, Option<LintMessages>) {
        let analysis = if looks || self.pricing.is_none() { self.analysis(subject) } else { None };
        let cost = match &self.pricing {
            None => analysis.as_ref().map(|analysis| {
                let sizes = subject.launch.range.global_size();
                let items: f64 = sizes.iter().map(|extent| *extent as f64).product();
                let columns = analysis.longest.columns.iter();
                items * columns.map(|column| column.evaluate(ASSUMED_TRIPS)).fold(0.0, f64::max)
            }),
            Some(pricing) => {
                pricing.price(subject).into_iter().next().and_then(Result::ok).map(|price| price.seconds)
            }
        };
        let found = analysis.filter(|_| looks).map(|analysis| {
            analysis.advice.into_iter().map(|advice| (advice.rule.code, advice.message)).collect()
        });
        (cost, found)
    }

    /// The analysis of a kernel; `None` if it does not compile.
    fn analysis(&self, subject: &Subject) -> Option<Analysis> {
        let offered = Some(self.target.offered.clone());
        let mut device =
            VirtualGpu::new(self.target.gpu, VirtualOptions { offered, ..VirtualOptions::default() });
        let range = subject.launch.range;
        let sizes = |sizes: [usize; 3]| sizes.map(|size| size as u64);
        let setup = Setup {
            global: self.setup.global.map(|_| sizes(range.global_size())),
            local: self.setup.local.and(range.local_size()).map(sizes),
            ..self.setup.clone()
        };
        let kernel = device.kernel(&subject.program(), &subject.kernel).ok()?;
        Some(analyze(kernel, self.target.gpu, &setup))
    }
}
