//! What is done to a kernel before the search, and what is taken back after it.

use std::time::Instant;

use crate::price::score;
use crate::search::{Candidate, Search, State, all_prices};
use crate::{HostChange, Progress, Proposal, Refusal, Refused, Rewrite, Subject, View};

/// How much slower a form may be that others understand better: a product without its tile takes five times as long before
/// its outputs are merged.
const SLACK: f64 = 6.0;

/// A step that leaves a larger share of the time contributes nothing by itself.
const IDLE: f64 = 0.995;

impl Search<'_> {
    /// Calls `act` with what rewrites see of a kernel.
    pub(crate) fn viewed<T>(&self, subject: &Subject, act: impl FnOnce(&View<'_>) -> T) -> T {
        let gpus: Vec<_> = self.targets.iter().map(|target| target.gpu).collect();
        let tree = subject.tree(self.targets.first().map(|target| target.offered.clone())).ok();
        act(&View { subject, tree: tree.as_ref(), gpus: &gpus, allowed: self.options.allowed })
    }

    /// Appends the forms of the original that rewrites understand better: each is made of the one before.
    pub(crate) fn prepare(
        &self,
        states: &mut Vec<State>,
        refused: &mut Vec<Refused>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) {
        for rewrite in self.rewrites.iter().filter(|rewrite| rewrite.prepares) {
            let parent = states.len() - 1;
            if let Some(reason) = self.prepared(rewrite, states, parent, progress) {
                refused.push(reason);
            }
        }
    }

    fn prepared(
        &self,
        rewrite: &Rewrite,
        states: &mut Vec<State>,
        parent: usize,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Option<Refused> {
        let before = &states[parent];
        let proposal = self.viewed(&before.subject, |view| (rewrite.proposals)(view).into_iter().next())?;
        let (code, title, depth) = (proposal.code, proposal.title.clone(), before.steps.len());
        let refuse = |reason| Some(Refused { code, title: title.clone(), depth, reason });
        let subject = proposal.subject(&before.subject);
        let score = match all_prices(self.quick.price(&subject), self.targets) {
            Ok(prices) => score(&prices, &self.first),
            Err((gpu, error)) => return refuse(Refusal::Price { gpu, error }),
        };
        if score > before.score * SLACK {
            return refuse(Refusal::Slower { ratio: score / before.score });
        }
        progress(Progress::Proving { title: &title });
        match self.prove(before, Candidate { parent, proposal, subject, score }) {
            Ok(state) => states.push(state),
            Err(example) => return refuse(example.into()),
        }
        None
    }

    /// The kernel without steps that contribute nothing to it, as far as there is time.
    pub(crate) fn without_idle_steps(&self, original: &Subject, mut best: State) -> State {
        for index in (0..best.steps.len()).rev() {
            let before = index.checked_sub(1).map_or(1.0, |before| best.steps[before].score);
            let is_over = Instant::now() + self.time_of_prices(best.steps.len()) >= self.last;
            let Some(next) = best.steps.get(index + 1) else { continue };
            // The last one is left out where it gains nothing; of two launches of one kernel, the second one counts.
            let is_replaced = next.proposal.code == best.steps[index].proposal.code
                && next.subject.source == best.steps[index].subject.source
                && best.steps[index].proposal.host.iter().all(|it| matches!(it, HostChange::Local(_)));
            if is_over || best.steps[index].score < before * IDLE && !is_replaced {
                continue;
            }
            if let Some(state) = self.without(original, &best, index) {
                best = state;
            }
        }
        best
    }

    /// The kernel with all steps but one, if that is as fast.
    fn without(&self, original: &Subject, best: &State, index: usize) -> Option<State> {
        let mut subject = index.checked_sub(1).map_or(original, |before| &best.steps[before].subject).clone();
        let mut again = Vec::new();
        for step in &best.steps[index + 1..] {
            let Proposal { code, title, .. } = &step.proposal;
            let rewrite = self.rewrites.iter().find(|rewrite| rewrite.rule.code == *code)?;
            let all = self.viewed(&subject, |view| (rewrite.proposals)(view));
            let same = all.into_iter().find(|it| without_numbers(&it.title) == without_numbers(title))?;
            subject = same.subject(&subject);
            again.push((same, subject.clone()));
        }
        let prices = all_prices(self.quick.price(&subject), self.targets).ok()?;
        let score = score(&prices, &self.first);
        if score > best.score * (2.0 - IDLE) {
            return None;
        }
        let mut state = best.before(original, index);
        for (proposal, subject) in again {
            let parent = state.parent.unwrap_or_default();
            state = self.prove(&state, Candidate { parent, proposal, subject, score }).ok()?;
        }
        Some(state)
    }
}

impl State {
    /// The kernel before a step.
    fn before(&self, original: &Subject, index: usize) -> Self {
        let last = index.checked_sub(1).map(|before| &self.steps[before]);
        let (host, conditions) = last.map_or((0, 0), |step| (step.host, step.conditions));
        Self {
            parent: self.parent,
            subject: last.map_or(original, |step| &step.subject).clone(),
            steps: self.steps[..index].to_vec(),
            conditions: self.conditions[..conditions].to_vec(),
            host: self.host[..host].to_vec(),
            relative_error: last.map_or(0.0, |step| step.relative_error),
            score: last.map_or(1.0, |step| step.score),
        }
    }
}

/// A title without the numbers of lines, which steps before change.
fn without_numbers(title: &str) -> String {
    let words = title.split(' ').scan(false, |is_line, word| {
        let shown = if *is_line { "" } else { word };
        *is_line = word == "line";
        Some(shown)
    });
    words.collect::<Vec<_>>().join(" ")
}
