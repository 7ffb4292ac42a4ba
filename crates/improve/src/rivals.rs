//! Kernels that may be faster than the one the search ends with: its prices are rough, and order near ones wrongly.

use std::time::Instant;

use rayon::prelude::*;

use crate::price::score;
use crate::search::{Candidate, RIVALS, Search, State, all_prices};
use crate::{Price, Progress, Refused, Subject};

/// How much slower than the best by the search's prices a kernel may be that is priced again.
const NEAR: f64 = 1.5;

/// How much less time a kernel must take to replace the best, which is proved and may have fewer conditions.
const FASTER: f64 = 0.99;

/// A kernel that may be the fastest.
enum Rival {
    /// One of the proved kernels.
    State(usize),
    /// One that is not proved yet.
    Candidate(usize),
}

impl Search<'_> {
    /// The index of the fastest kernel by the prices of results, among the best and those near it, of which the launches
    /// of the original are some. `best` itself where there is no time to know.
    pub(crate) fn fastest(
        &self,
        states: &mut Vec<State>,
        best: usize,
        candidates: &[Candidate],
        refused: &mut Vec<Refused>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> usize {
        let limit = states[best].score * NEAR;
        let own = states.iter().enumerate().filter(|(index, state)| *index != best && state.score <= limit);
        let others = candidates.iter().enumerate().filter(|(_, candidate)| candidate.score <= limit);
        let mut rivals: Vec<(f64, bool, Rival)> = own
            .map(|(index, state)| {
                let is_launch = state.subject.source == states[0].subject.source;
                (state.score, is_launch, Rival::State(index))
            })
            .chain(others.map(|(index, it)| {
                let is_launch = it.subject.source == states[0].subject.source;
                (it.score, is_launch, Rival::Candidate(index))
            }))
            .collect();
        rivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The best launch of the original is always among them: it needs no other kernel.
        let fits = |count: &usize| {
            Instant::now() + self.time_of_prices(states[best].steps.len() + 1 + count) < self.last
        };
        let Some(count) = (1..=RIVALS.min(rivals.len())).rev().find(fits) else { return best };
        let launch = rivals.iter().position(|(_, is_launch, _)| *is_launch).filter(|at| *at >= count);
        let launch = launch.map(|at| rivals.remove(at));
        rivals.truncate(count - usize::from(launch.is_some()));
        rivals.extend(launch);
        let subject = |rival: &Rival| match rival {
            Rival::State(index) => &states[*index].subject,
            Rival::Candidate(index) => &candidates[*index].subject,
        };
        let subjects: Vec<&Subject> = [&states[0].subject, &states[best].subject]
            .into_iter()
            .chain(rivals.iter().map(|(_, _, rival)| subject(rival)))
            .collect();
        let priced: Vec<Option<Vec<Price>>> = subjects
            .par_iter()
            .map(|subject| all_prices(self.whole.price(subject), self.targets).ok())
            .collect();
        let [Some(first), Some(leader), others @ ..] = &priced[..] else { return best };
        let mut faster: Vec<(f64, Rival)> = others
            .iter()
            .zip(rivals)
            .filter_map(|(prices, (_, _, rival))| Some((score(prices.as_ref()?, first), rival)))
            .filter(|(own, _)| *own < score(leader, first) * FASTER)
            .collect();
        faster.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, rival) in faster {
            let index = match rival {
                Rival::State(index) => return index,
                Rival::Candidate(index) => index,
            };
            let candidate = candidates[index].clone();
            let (code, title) = (candidate.proposal.code, candidate.proposal.title.clone());
            progress(Progress::Proving { title: &title });
            let depth = states[candidate.parent].steps.len();
            match self.prove(&states[candidate.parent], candidate) {
                Ok(state) => {
                    states.push(state);
                    return states.len() - 1;
                }
                Err(example) => refused.push(Refused { code, title, depth, reason: example.into() }),
            }
        }
        best
    }
}
