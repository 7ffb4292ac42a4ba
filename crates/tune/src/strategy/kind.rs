//! The strategies, by name.

use std::fmt;
use std::str::FromStr;

use super::{Exhaustive, Learned, Predicted, Random, Strategy};
use crate::candidates::Candidates;

/// The strategies, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrategyKind {
    /// `exhaustive`: all candidates, the library's choice first.
    Exhaustive,
    /// `random`: in random order.
    Random,
    /// `predicted`: the fastest by prediction first.
    Predicted,
    /// `learned`: by the expected improvement of a model that is learned from the times so far; it ends when little
    /// improvement is expected.
    #[default]
    Learned,
}

impl StrategyKind {
    /// All strategies.
    pub const ALL: [Self; 4] = [Self::Exhaustive, Self::Random, Self::Predicted, Self::Learned];

    /// A strategy for these candidates. Equal seeds give equal proposals.
    pub fn make<'c>(self, candidates: &'c Candidates, seed: u64) -> Box<dyn Strategy + 'c> {
        match self {
            Self::Exhaustive => Box::new(Exhaustive::new(candidates.all.len())),
            Self::Random => Box::new(Random::new(candidates.all.len(), seed)),
            Self::Predicted => Box::new(Predicted::new(candidates, seed)),
            Self::Learned => Box::new(Learned::new(candidates, seed)),
        }
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhaustive => "exhaustive",
            Self::Random => "random",
            Self::Predicted => "predicted",
            Self::Learned => "learned",
        })
    }
}

impl FromStr for StrategyKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let named = Self::ALL.into_iter().find(|kind| kind.to_string() == text);
        named.ok_or("want exhaustive, random, predicted or learned")
    }
}
