//! The cheapest and the dearest way through a kernel, pipe by pipe.
//!
//! A loop costs what one round costs times its trip count, and once more the way to its exit. Each pipe's path is found for
//! itself: the longest in arithmetic may be another one than the longest in loads.

use std::sync::Arc;

use cranelift_entity::SecondaryMap;
use tripipe_ir::flow::{Atom, Cfg, Loops, TripCount};
use tripipe_ir::{Block, Kernel, Value, ValueDef};

use crate::facts::Facts;
use crate::polynomial::Polynomial;

/// A loop and how often it runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoopTrips {
    /// Its first block.
    pub(crate) header: Block,
    /// How deep it is nested, 1 for a loop in no other.
    pub(crate) depth: u32,
    /// How often it goes back to its start, as far as it is known.
    pub(crate) trips: Trips,
}

/// How often a loop goes back to its start.
#[derive(Clone, Debug, PartialEq)]
pub enum Trips {
    /// So often.
    Known(u64),
    /// Not known as a number, but of an argument or another value by name: `factor * name + constant`, where a step
    /// does not divide it rounded up in truth.
    Follows {
        /// The name.
        name: Arc<str>,
        /// How often for one of it.
        factor: f64,
        /// And how often besides.
        constant: f64,
    },
    /// Not known: a letter stands for it.
    Unknown {
        /// The letter, which no argument has as its name.
        letter: Arc<str>,
        /// What it follows from in words, if that is a sum of several.
        follows_from: Option<String>,
    },
}

/// The loops of a kernel with their trip counts, and the ways through it.
pub(crate) struct Paths<'k> {
    cfg: &'k Cfg,
    loops: &'k Loops,
    counts: &'k [Option<TripCount>],
    /// By position in the loops.
    pub(crate) trips: Vec<LoopTrips>,
    /// Whether some flow is no natural loop: its blocks count once.
    pub(crate) irreducible: bool,
}

/// Which way is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Shortest,
    Longest,
}

impl Trips {
    /// As many times as much as a loop goes back to its start.
    fn times(&self, cost: &Polynomial) -> Polynomial {
        match self {
            Self::Known(trips) => cost.times(*trips as f64),
            Self::Follows { name, factor, constant } => {
                cost.times(*factor).times_name(name).plus(&cost.times(*constant))
            }
            Self::Unknown { letter, .. } => cost.times_name(letter),
        }
    }
}

impl<'k> Paths<'k> {
    /// Finds loops and their trip counts; `known` says what an atom is worth in this launch, if it is known.
    pub(crate) fn new(
        facts: &'k Facts<'_>,
        known: impl Fn(Atom) -> Option<i64>,
        name: impl Fn(Atom) -> String,
    ) -> Self {
        let (loops, counts) = (facts.loops(), facts.counts());
        let taken: Vec<&str> =
            facts.kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let mut letters = "nmkjihgfedcba".chars().chain('α'..).map(|letter| letter.to_string());
        let mut letter = || letters.find(|letter| !taken.contains(&letter.as_str())).unwrap_or_default();
        let trips = loops
            .all
            .iter()
            .zip(counts)
            .map(|(each, count)| {
                let trips = match count.as_ref().and_then(|count| count.evaluate(&known)) {
                    Some(trips) => Trips::Known(u64::try_from(trips).unwrap_or(0)),
                    None => match count.as_ref().map(|count| (count, single(count))) {
                        Some((count, Some((atom, factor)))) => Trips::Follows {
                            name: name(atom).into(),
                            factor: factor as f64 / count.step as f64,
                            constant: count.distance.constant as f64 / count.step as f64,
                        },
                        other => Trips::Unknown {
                            letter: letter().into(),
                            follows_from: other.map(|(count, _)| in_words(count, &name)),
                        },
                    },
                };
                LoopTrips { header: each.header, depth: each.depth, trips }
            })
            .collect();
        let irreducible = !loops.irreducible.is_empty();
        Self { cfg: facts.cfg, loops, counts, trips, irreducible }
    }

    /// Whether a block runs once more than its loop goes back: up to the block that decides, a round is begun once more than
    /// it is finished.
    fn begins_once_more(&self, at: usize, block: Block) -> bool {
        let count = self.counts[at].as_ref();
        count.is_none_or(|count| self.cfg.position[block] <= self.cfg.position[count.decides])
    }

    /// How often a block runs each time a loop around it is entered, if that is known.
    pub(crate) fn rounds(&self, at: usize, block: Block) -> Option<u64> {
        match self.trips.get(at)?.trips {
            Trips::Known(trips) => Some(trips + u64::from(self.begins_once_more(at, block))),
            Trips::Follows { .. } | Trips::Unknown { .. } => None,
        }
    }

    /// How often a block runs when the kernel runs once, along a way that enters every loop around it.
    pub(crate) fn weight(&self, block: Block) -> Polynomial {
        let mut weight = Polynomial::constant(1.0);
        let mut at = self.loops.around(block);
        while let Some(index) = at {
            let more = if self.begins_once_more(index, block) { 1.0 } else { 0.0 };
            weight = self.trips[index].trips.times(&weight).plus(&weight.times(more));
            at = self.loops.all[index].outer;
        }
        weight
    }

    /// The loop that a value counts the rounds of, and its count.
    pub(crate) fn counter(&self, value: Value) -> Option<(usize, &TripCount)> {
        let counts = self.counts.iter().enumerate().filter_map(|(at, count)| Some((at, count.as_ref()?)));
        counts.into_iter().find(|(_, count)| count.counter == value)
    }

    /// Whether a value is made anew in a loop.
    pub(crate) fn changes(&self, kernel: &Kernel, at: usize, value: Value) -> bool {
        match kernel.values[value].def {
            ValueDef::Constant(_) => false,
            ValueDef::Parameter(block, _) => self.loops.contains(at, block),
            ValueDef::Result(inst) => {
                let blocks = &self.loops.all[at].blocks;
                blocks.iter().any(|block| kernel.blocks[*block].insts.contains(&inst))
            }
        }
    }

    /// The innermost loop around a block, by position.
    pub(crate) fn around(&self, block: Block) -> Option<usize> {
        self.loops.around(block)
    }

    /// What one round of a loop costs by the longest way, inner loops with all their rounds.
    pub(crate) fn round(&self, at: usize, of: &dyn Fn(Block) -> f64) -> Polynomial {
        let each = &self.loops.all[at];
        self.region(Some(at), each.header, &each.latches, Which::Longest, of).unwrap_or_default()
    }

    /// What the way costs from the entry to the end of the kernel.
    pub(crate) fn cost(&self, which: Which, of: &dyn Fn(Block) -> f64) -> Polynomial {
        let ends: Vec<Block> =
            self.cfg.order.iter().copied().filter(|block| self.cfg.successors[*block].is_empty()).collect();
        self.region(None, Kernel::ENTRY, &ends, which, of).unwrap_or_default()
    }

    /// The cost from a region's first block to the best of some blocks of it, both included; inner loops count whole.
    fn region(
        &self,
        region: Option<usize>,
        from: Block,
        to: &[Block],
        which: Which,
        of: &dyn Fn(Block) -> f64,
    ) -> Option<Polynomial> {
        let mut reached: SecondaryMap<Block, Option<Polynomial>> = SecondaryMap::new();
        reached[from] = Some(Polynomial::default());
        let mut best: Option<Polynomial> = None;
        for block in &self.cfg.order {
            if region.is_some_and(|region| !self.loops.contains(region, *block)) {
                continue;
            }
            let Some(before) = reached[*block].clone() else { continue };
            let inner = self.inner_loop(region, *block);
            let mut arrive = |to: Block, cost: &Polynomial| {
                let better = reached[to].as_ref().is_none_or(|known| is_better(which, cost, known));
                if better {
                    reached[to] = Some(cost.clone());
                }
            };
            if let Some(inner) = inner {
                // The loop as a whole, to each way out of it.
                let each = &self.loops.all[inner];
                let round =
                    self.region(Some(inner), each.header, &each.latches, which, of).unwrap_or_default();
                let rounds = match &self.trips[inner].trips {
                    Trips::Follows { .. } | Trips::Unknown { .. } if which == Which::Shortest => {
                        Polynomial::default()
                    }
                    trips => trips.times(&round),
                };
                for (leaving, outside) in &each.exits {
                    let way =
                        self.region(Some(inner), each.header, &[*leaving], which, of).unwrap_or_default();
                    arrive(*outside, &before.plus(&rounds).plus(&way));
                }
                if to.iter().any(|block| self.loops.contains(inner, *block)) {
                    let ends: Vec<Block> =
                        to.iter().copied().filter(|block| self.loops.contains(inner, *block)).collect();
                    let way = self.region(Some(inner), each.header, &ends, which, of).unwrap_or_default();
                    let whole = before.plus(&rounds).plus(&way);
                    if best.as_ref().is_none_or(|known| is_better(which, &whole, known)) {
                        best = Some(whole);
                    }
                }
                continue;
            }
            let here = before.plus(&Polynomial::constant(of(*block)));
            if to.contains(block) && best.as_ref().is_none_or(|known| is_better(which, &here, known)) {
                best = Some(here.clone());
            }
            for next in &self.cfg.successors[*block] {
                let back = self.cfg.position[*next] <= self.cfg.position[*block];
                if !back {
                    arrive(*next, &here);
                }
            }
        }
        best
    }

    /// The loop directly inside a region that starts with a block.
    fn inner_loop(&self, region: Option<usize>, block: Block) -> Option<usize> {
        let mut at = self.loops.around(block)?;
        while self.loops.all[at].outer != region {
            at = self.loops.all[at].outer?;
        }
        (Some(at) != region && self.loops.all[at].header == block).then_some(at)
    }
}

/// What bounds, and which way is the longest, is decided as if every trip count that is not known were this.
pub const ASSUMED_TRIPS: f64 = 16.0;

fn is_better(which: Which, new: &Polynomial, known: &Polynomial) -> bool {
    let (new, known) = (new.evaluate(ASSUMED_TRIPS), known.evaluate(ASSUMED_TRIPS));
    if which == Which::Shortest { new < known } else { new > known }
}

/// The one value that a trip count follows from, and its factor; `None` if there are several, or it counts down from one.
fn single(count: &TripCount) -> Option<(Atom, i64)> {
    let mut terms = count.distance.terms.iter();
    match (terms.next(), terms.next()) {
        (Some((atom, factor)), None) if *factor > 0 => Some((*atom, *factor)),
        _ => None,
    }
}

fn in_words(count: &TripCount, name: impl Fn(Atom) -> String) -> String {
    let mut words = Vec::new();
    for (atom, factor) in &count.distance.terms {
        words.push(match factor {
            1 => name(*atom),
            -1 => format!("-{}", name(*atom)),
            factor => format!("{factor} {}", name(*atom)),
        });
    }
    if count.distance.constant != 0 || words.is_empty() {
        words.push(count.distance.constant.to_string());
    }
    let distance = words.join(" + ").replace("+ -", "- ");
    if count.step == 1 { distance } else { format!("({distance}) / {}", count.step) }
}
