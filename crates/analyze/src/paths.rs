//! The cheapest and the most expensive path through a kernel, pipe by pipe.
//!
//! A loop costs one iteration times its trip count, plus the path to its exit. Each pipe's path is found separately:
//! the longest in arithmetic may differ from the longest in loads.

use std::sync::Arc;

use cranelift_entity::SecondaryMap;
use tripipe_ir::flow::{Atom, Cfg, Loops, TripCount};
use tripipe_ir::{Block, Kernel, Value, ValueDef};

use crate::facts::Facts;
use crate::names;
use crate::polynomial::Polynomial;

/// A loop and its trip count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoopTrips {
    /// Its first block.
    pub(crate) header: Block,
    /// Nesting depth, 1 for an outermost loop.
    pub(crate) depth: u32,
    /// How many times it goes back to its start, as far as it is known.
    pub(crate) trips: Trips,
}

/// How many times a loop goes back to its start.
#[derive(Clone, Debug, PartialEq)]
pub enum Trips {
    /// This many times.
    Known(u64),
    /// A number of times that differs between work-items.
    Between {
        /// The least.
        least: u64,
        /// The greatest.
        most: u64,
    },
    /// Linear in an argument or another named value: `factor * name + constant`. Where a step does not divide it, the
    /// true count is rounded up.
    Follows {
        /// The name.
        name: Arc<str>,
        /// The count per unit of the value.
        factor: f64,
        /// The constant part of the count.
        constant: f64,
    },
    /// Not known: a symbol stands for it.
    Unknown {
        /// The symbol, which differs from the names of all arguments.
        symbol: Arc<str>,
        /// A description of what the count depends on, if that is a sum of several values.
        follows_from: Option<String>,
    },
}

/// The loops of a kernel with their trip counts, and the paths through it.
pub(crate) struct Paths<'k> {
    facts: &'k Facts<'k>,
    cfg: &'k Cfg,
    loops: &'k Loops,
    counts: &'k [Option<TripCount>],
    /// By position in the loops.
    pub(crate) trips: Vec<LoopTrips>,
    /// Whether some control flow is irreducible: its blocks count once.
    pub(crate) irreducible: bool,
}

/// The path to find.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Shortest,
    Longest,
}

impl Trips {
    /// The cost times the trip count, the greatest or the least.
    fn times(&self, which: Which, cost: &Polynomial) -> Polynomial {
        match self {
            Self::Known(trips) => cost.times(*trips as f64),
            Self::Between { least, .. } if which == Which::Shortest => cost.times(*least as f64),
            Self::Between { most, .. } => cost.times(*most as f64),
            Self::Follows { name, factor, constant } => {
                cost.times(*factor).times_name(name).plus(&cost.times(*constant))
            }
            Self::Unknown { symbol, .. } => cost.times_name(symbol),
        }
    }
}

impl<'k> Paths<'k> {
    /// Finds loops and their trip counts.
    pub(crate) fn new(facts: &'k Facts<'k>) -> Self {
        let kernel = facts.kernel;
        let bounds = |count: &TripCount| count.between(|atom| facts.setup.bounds(kernel, atom));
        let name = |atom| match atom {
            Atom::Value(value) => names::value_name(kernel, value),
            Atom::Query(..) => atom.to_string(),
        };
        // A value without a name cannot be a symbol of a sum.
        let has_name = |atom| match atom {
            Atom::Value(value) => names::source_name(kernel, value).is_some(),
            Atom::Query(..) => true,
        };
        let (loops, counts) = (facts.loops(), facts.counts());
        let taken: Vec<&str> =
            facts.kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let mut symbols = "nmkjihgfedcba".chars().chain('α'..).map(|symbol| symbol.to_string());
        let mut symbol = || symbols.find(|symbol| !taken.contains(&symbol.as_str())).unwrap_or_default();
        let trips = loops
            .all
            .iter()
            .zip(counts)
            .map(|(each, count)| {
                let known = |atom| facts.setup.value(kernel, atom);
                let one = |count: &TripCount| count.evaluate(known).map(|trips| [trips; 2]);
                let trips = count.as_ref().and_then(|count| one(count).or_else(|| bounds(count)));
                let trips = match trips.map(|trips| trips.map(|trips| u64::try_from(trips).unwrap_or(0))) {
                    Some([least, most]) if least == most => Trips::Known(most),
                    Some([least, most]) => Trips::Between { least, most },
                    None => match count.as_ref().map(|count| (count, single(count))) {
                        Some((count, Some((atom, factor)))) if has_name(atom) => Trips::Follows {
                            name: name(atom).into(),
                            factor: factor as f64 / count.step as f64,
                            constant: count.distance.constant as f64 / count.step as f64,
                        },
                        other => Trips::Unknown {
                            symbol: symbol().into(),
                            follows_from: other.map(|(count, _)| in_words(count, name)),
                        },
                    },
                };
                LoopTrips { header: each.header, depth: each.depth, trips }
            })
            .collect();
        let irreducible = !loops.irreducible.is_empty();
        Self { facts, cfg: facts.cfg, loops, counts, trips, irreducible }
    }

    /// Whether a block runs once more than its loop goes back: up to the deciding block, one iteration more begins than
    /// is completed.
    fn begins_once_more(&self, at: usize, block: Block) -> bool {
        let count = self.counts[at].as_ref();
        count.is_none_or(|count| self.cfg.position[block] <= self.cfg.position[count.decides])
    }

    /// How many times a block runs at most each time a loop around it is entered, if that is known.
    pub(crate) fn iterations(&self, at: usize, block: Block) -> Option<u64> {
        match self.trips.get(at)?.trips {
            Trips::Known(trips) | Trips::Between { most: trips, .. } => {
                Some(trips + u64::from(self.begins_once_more(at, block)))
            }
            Trips::Follows { .. } | Trips::Unknown { .. } => None,
        }
    }

    /// How many times a block runs when the kernel runs once, along a path that enters every loop around it.
    pub(crate) fn weight(&self, block: Block) -> Polynomial {
        let mut weight = Polynomial::constant(1.0);
        let mut at = self.loops.around(block);
        while let Some(index) = at {
            let more = if self.begins_once_more(index, block) { 1.0 } else { 0.0 };
            weight = self.trips[index].trips.times(Which::Longest, &weight).plus(&weight.times(more));
            at = self.loops.all[index].outer;
        }
        weight
    }

    /// The loop whose iterations a value counts, and its trip count.
    pub(crate) fn counter(&self, value: Value) -> Option<(usize, &TripCount)> {
        // A counter is a parameter of its loop's header.
        let ValueDef::Parameter(header, _) = self.facts.kernel.values[value].def else { return None };
        let at = self.loops.around(header).filter(|at| self.loops.all[*at].header == header)?;
        let count = self.counts[at].as_ref().filter(|count| count.counter == value)?;
        Some((at, count))
    }

    /// Whether a value is computed inside a loop.
    pub(crate) fn changes(&self, at: usize, value: Value) -> bool {
        self.facts.home(value).is_some_and(|block| self.loops.contains(at, block))
    }

    /// The innermost loop around a block, by position.
    pub(crate) fn around(&self, block: Block) -> Option<usize> {
        self.loops.around(block)
    }

    /// The cheapest or the most expensive paths, where each execution of a block costs `of(block)`.
    pub(crate) fn path_costs<'p>(&'p self, which: Which, of: &'p dyn Fn(Block) -> f64) -> PathCosts<'p, 'k> {
        PathCosts::new(self, which, of)
    }

    /// The loop directly inside a region that starts with a block.
    fn inner_loop(&self, region: Option<usize>, block: Block) -> Option<usize> {
        let mut at = self.loops.around(block)?;
        while self.loops.all[at].outer != region {
            at = self.loops.all[at].outer?;
        }
        (Some(at) != region && self.loops.all[at].header == block).then_some(at)
    }

    /// Whether a block is in a region.
    fn is_in(&self, region: Option<usize>, block: Block) -> bool {
        region.is_none_or(|region| self.loops.contains(region, block))
    }
}

/// How a path in a region reaches a block.
#[derive(Clone, Copy, Default)]
enum From {
    /// It does not reach it.
    #[default]
    Nowhere,
    /// The block is the region's start.
    Start,
    /// From a block of the region outside of inner loops.
    Block(Block),
    /// Out of an inner loop, from that block of it.
    Loop(usize, Block),
}

/// A path so far: its cost, with [`ASSUMED_TRIPS`] for every unknown trip count, and its last step.
#[derive(Clone, Copy, Default)]
struct Arrival {
    cost: f64,
    from: From,
}

/// The best paths from the start of each region (the kernel, and each loop) to its blocks.
///
/// Every block is visited once, inner loops before the regions around them. During the search costs are numbers;
/// symbolic costs are computed from the paths that were found.
pub(crate) struct PathCosts<'p, 'k> {
    paths: &'p Paths<'k>,
    which: Which,
    of: &'p dyn Fn(Block) -> f64,
    /// For blocks, in the innermost region around each; excludes the block's own cost.
    to_block: SecondaryMap<Block, Arrival>,
    /// For loops as a whole, in the region around each.
    to_loop: Vec<Arrival>,
    /// The cost of all iterations of each loop, as a number.
    iterations: Vec<f64>,
    /// The cost of one iteration of each loop.
    iteration: Vec<Polynomial>,
}

impl<'p, 'k> PathCosts<'p, 'k> {
    fn new(paths: &'p Paths<'k>, which: Which, of: &'p dyn Fn(Block) -> f64) -> Self {
        let count = paths.loops.all.len();
        let mut path_costs = Self {
            paths,
            which,
            of,
            to_block: SecondaryMap::new(),
            to_loop: vec![Arrival::default(); count],
            iterations: vec![0.0; count],
            iteration: vec![Polynomial::default(); count],
        };
        // Inner loops come after those around them.
        for at in (0..count).rev() {
            let each = &paths.loops.all[at];
            path_costs.region(Some(at), each.header, &each.blocks);
            path_costs.iteration[at] = path_costs.to(Some(at), &each.latches);
            path_costs.iterations[at] = match &paths.trips[at].trips {
                Trips::Follows { .. } | Trips::Unknown { .. } if which == Which::Shortest => 0.0,
                trips => trips.times(which, &path_costs.iteration[at]).evaluate(ASSUMED_TRIPS),
            };
        }
        path_costs.region(None, Kernel::ENTRY, &paths.cfg.order);
        path_costs
    }

    /// The cost of the path from the entry to the end of the kernel.
    pub(crate) fn cost(&self) -> Polynomial {
        let cfg = self.paths.cfg;
        let ends: Vec<Block> =
            cfg.order.iter().copied().filter(|block| cfg.successors[*block].is_empty()).collect();
        self.to(None, &ends)
    }

    /// The cost of one iteration of a loop, inner loops with all their iterations.
    pub(crate) fn iteration(&self, at: usize) -> &Polynomial {
        &self.iteration[at]
    }

    /// Finds the paths of a region; `blocks` has all of it in the order of the graph.
    fn region(&mut self, region: Option<usize>, start: Block, blocks: &[Block]) {
        let paths = self.paths;
        self.to_block[start] = Arrival { cost: 0.0, from: From::Start };
        for block in blocks {
            if paths.loops.around(*block) == region {
                let Arrival { cost, from } = self.to_block[*block];
                if matches!(from, From::Nowhere) {
                    continue;
                }
                let cost = cost + (self.of)(*block);
                for next in &paths.cfg.successors[*block] {
                    let back = paths.cfg.position[*next] <= paths.cfg.position[*block];
                    if !back {
                        self.arrive(region, start, *next, Arrival { cost, from: From::Block(*block) });
                    }
                }
            } else if let Some(inner) = paths.inner_loop(region, *block) {
                // The loop as a whole, to each of its exits.
                let Arrival { cost, from } = self.to_loop[inner];
                if matches!(from, From::Nowhere) {
                    continue;
                }
                for (leaving, outside) in &paths.loops.all[inner].exits {
                    let exit = self.cost_to(Some(inner), *leaving).unwrap_or(0.0);
                    let cost = cost + self.iterations[inner] + exit;
                    self.arrive(region, start, *outside, Arrival { cost, from: From::Loop(inner, *leaving) });
                }
            }
        }
    }

    fn arrive(&mut self, region: Option<usize>, start: Block, to: Block, new: Arrival) {
        if to == start || !self.paths.is_in(region, to) {
            return;
        }
        let known = match self.paths.inner_loop(region, to) {
            Some(inner) => &mut self.to_loop[inner],
            None => &mut self.to_block[to],
        };
        if matches!(known.from, From::Nowhere) || is_better(self.which, new.cost, known.cost) {
            *known = new;
        }
    }

    /// The loop directly inside a region that a block is in.
    fn child(&self, region: Option<usize>, block: Block) -> Option<usize> {
        let mut at = self.paths.loops.around(block).filter(|at| Some(*at) != region)?;
        while self.paths.loops.all[at].outer != region {
            at = self.paths.loops.all[at].outer?;
        }
        Some(at)
    }

    /// The cost from a region's start to a block, both included, as a number; `None` if no path leads there.
    fn cost_to(&self, region: Option<usize>, block: Block) -> Option<f64> {
        let reached = |arrival: &Arrival| !matches!(arrival.from, From::Nowhere);
        match self.child(region, block) {
            None => {
                let arrival = Some(self.to_block[block]).filter(reached)?;
                Some(arrival.cost + (self.of)(block))
            }
            Some(inner) => {
                let arrival = Some(self.to_loop[inner]).filter(reached)?;
                let exit = self.cost_to(Some(inner), block).unwrap_or(0.0);
                Some(arrival.cost + self.iterations[inner] + exit)
            }
        }
    }

    /// The cost from a region's start to the best of several blocks.
    fn to(&self, region: Option<usize>, ends: &[Block]) -> Polynomial {
        let mut best: Option<(f64, Block)> = None;
        for end in ends {
            if let Some(cost) = self.cost_to(region, *end)
                && best.is_none_or(|(known, _)| is_better(self.which, cost, known))
            {
                best = Some((cost, *end));
            }
        }
        best.map_or_else(Polynomial::default, |(_, end)| self.along(region, end))
    }

    /// The cost of the path that was found from a region's start to a block, both included.
    fn along(&self, region: Option<usize>, end: Block) -> Polynomial {
        // Backwards: blocks, and loops with the block that each is left from.
        let mut steps: Vec<From> = Vec::new();
        let mut step = match self.child(region, end) {
            None => From::Block(end),
            Some(inner) => From::Loop(inner, end),
        };
        loop {
            let before = match step {
                From::Block(block) => self.to_block[block].from,
                From::Loop(inner, _) => self.to_loop[inner].from,
                From::Start | From::Nowhere => break,
            };
            steps.push(step);
            step = before;
        }
        let mut cost = Polynomial::default();
        for step in steps.into_iter().rev() {
            match step {
                From::Block(block) => cost.add(&Polynomial::constant((self.of)(block))),
                From::Loop(inner, leaving) => {
                    let trips = &self.paths.trips[inner].trips;
                    let open = matches!(trips, Trips::Follows { .. } | Trips::Unknown { .. });
                    if !(open && self.which == Which::Shortest) {
                        cost.add(&trips.times(self.which, &self.iteration[inner]));
                    }
                    cost.add(&self.along(Some(inner), leaving));
                }
                From::Start | From::Nowhere => {}
            }
        }
        cost
    }
}

/// Every unknown trip count is taken as this to decide which pipe bounds and which path is the longest.
pub const ASSUMED_TRIPS: f64 = 16.0;

fn is_better(which: Which, new: f64, known: f64) -> bool {
    if which == Which::Shortest { new < known } else { new > known }
}

/// The one value that a trip count depends on, and its factor; `None` if there are several, or the loop counts down
/// from one.
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
