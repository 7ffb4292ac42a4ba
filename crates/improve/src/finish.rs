//! The result of a search: proofs on the given launch, and prices with the usual number of steps.

use std::time::Instant;

use rayon::prelude::*;

use crate::SearchError;
use crate::price::score;
use crate::search::{Applied, Search, State, all_prices};
use crate::{Improvement, Proposal, Refusal, Refused, Step, Subject};

impl Search<'_> {
    /// The result, with proofs on the given launch and with the prices that `simulate` has, as far as there is time for
    /// them.
    pub(crate) fn finish(
        &self,
        original: &Subject,
        best: State,
        mut refused: Vec<Refused>,
        out_of_time: bool,
    ) -> Result<Improvement, SearchError> {
        let mut best = self.without_idle_steps(original, best);
        self.prove_given(&mut best, &mut refused);
        let fits = Instant::now() + self.time_of_prices(best.steps.len()) < self.last;
        let pricing = if fits { &self.whole } else { &self.quick };
        let price = |subject: &Subject| {
            all_prices(pricing.price(subject), self.targets)
                .map_err(|(gpu, error)| SearchError::Price { gpu, error })
        };
        let subjects: Vec<&Subject> =
            std::iter::once(original).chain(best.steps.iter().map(|step| &step.subject)).collect();
        let priced: Result<Vec<_>, _> = subjects.par_iter().map(|subject| price(subject)).collect();
        let mut priced = priced?;
        let prices = priced.remove(0);
        // The last steps may gain nothing: the fewest steps that are about as fast as the fastest.
        let ratios: Vec<f64> = priced.iter().map(|own| score(own, &prices)).collect();
        let least = ratios.iter().copied().fold(1.0, f64::min);
        let is_near = |ratio: &f64| *ratio < least * self.options.gain;
        let gains = least * self.options.gain <= 1.0;
        let count = ratios.iter().position(is_near).filter(|_| gains).map_or(0, |last| last + 1);
        best.steps.truncate(count);
        priced.truncate(count);
        let last = best.steps.last();
        let (host, conditions) = last.map_or((0, 0), |step| (step.host, step.conditions));
        best.host.truncate(host);
        best.conditions.truncate(conditions);
        let steps = best.steps.into_iter().zip(priced).map(|(step, prices)| {
            let Applied {
                proposal: Proposal { code, title, why, .. },
                subject,
                verified,
                relative_error,
                ..
            } = step;
            Step { code, title, why, subject, prices, verified, relative_error }
        });
        Ok(Improvement {
            original: original.clone(),
            prices,
            steps: steps.collect(),
            conditions: best.conditions,
            host: best.host,
            refused,
            tried: self.quick.count(),
            out_of_time,
            is_rough: !fits,
        })
    }

    /// Proves the steps on the given launch, and removes those that are wrong there; none if there is no time.
    fn prove_given(&self, best: &mut State, refused: &mut Vec<Refused>) {
        if Instant::now() + self.time_of_proofs(best.steps.len()) >= self.last {
            return;
        }
        let prove = |step: &Applied| {
            let (host, conditions) = (&best.host[..step.host], &best.conditions[..step.conditions]);
            self.verifier.verify_given(&step.subject, host, conditions, step.relative_error)
        };
        let given: Vec<_> = best.steps.par_iter().map(prove).collect();
        for (depth, verified) in given.into_iter().enumerate() {
            match verified {
                Ok(verified) => best.steps[depth].verified.add(&verified),
                Err(example) => {
                    // What was made of it is not proved either.
                    for Applied { proposal, .. } in best.steps.drain(depth..).take(1) {
                        let Proposal { code, title, .. } = proposal;
                        refused.push(Refused { code, title, depth, reason: Refusal::Proof(example.clone()) });
                    }
                    break;
                }
            }
        }
    }
}
