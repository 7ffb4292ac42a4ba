//! What is done to a kernel before the search, and what is taken back after it.

use crate::search::{Candidate, Search, State, all_prices, worst};
use crate::{Progress, Refusal, Refused, Rewrite, Subject, View};

/// How much slower a form may be that others understand better.
const SLACK: f64 = 1.5;

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
        for rewrite in self.rewrites.iter().filter(|rewrite| rewrite.prepares()) {
            let parent = states.len() - 1;
            if let Some(reason) = self.prepared(*rewrite, states, parent, progress) {
                refused.push(reason);
            }
        }
    }

    fn prepared(
        &self,
        rewrite: &dyn Rewrite,
        states: &mut Vec<State>,
        parent: usize,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Option<Refused> {
        let before = &states[parent];
        let proposal = self.viewed(&before.subject, |view| rewrite.proposals(view).into_iter().next())?;
        let (code, title, depth) = (proposal.code, proposal.title.clone(), before.steps.len());
        let refuse = |reason| Some(Refused { code, title: title.clone(), depth, reason });
        let subject = proposal.subject(&before.subject);
        let score = match all_prices(self.quick.price(&subject), self.targets) {
            Ok(prices) => worst(&prices, &self.first),
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
}
