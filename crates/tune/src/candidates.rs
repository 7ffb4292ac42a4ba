//! All candidates of a problem on a device, with the numbers that a strategy knows about them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::hash::Hash;
use std::str::FromStr;

use tripipe_device::Probe;
use tripipe_kernels::gemm::cost::DeviceFigures;
use tripipe_kernels::gemm::{self, Parameters, ProductExtents};
use tripipe_kernels::{Space, SpaceSize, filter, quantised};

use crate::Problem;

/// One set of parameters that can be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its text.
    pub parameters: String,
    /// Numbers derived from the parameters; the same number of them for every candidate of a problem.
    pub features: Vec<f64>,
    /// The predicted time. Its unit is the predictor's: only comparisons count.
    pub predicted: Option<f64>,
}

/// The candidates of a problem on a device.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// All of them; those that the library would choose without tuning come first.
    pub all: Vec<Candidate>,
    /// How many candidates at the start are the library's choice and its runners-up.
    pub guesses: usize,
    /// The size of the space.
    pub size: SpaceSize,
    /// The names of the features.
    pub features: Vec<String>,
    /// Why there is no candidate, if there is none and the reason is known.
    pub why_none: Option<String>,
}

/// Predicts the time of parameters, given as text. `None` if it cannot.
pub type Predict<'p> = dyn Fn(&str) -> Option<f64> + 'p;

impl Candidates {
    /// The space of the problem's family, with the library's own choice first. Without `predict`, products are predicted
    /// by the cost of their shape, others by the bytes and operations that the library counts.
    pub fn of(problem: &Problem, probe: &Probe, predict: Option<&Predict<'_>>) -> Self {
        Self::collect(problem, probe, predict, None)
    }

    /// As [`Self::of`], but only these of the space, e.g. those of a recording.
    pub fn among(texts: &[String], problem: &Problem, probe: &Probe, predict: Option<&Predict<'_>>) -> Self {
        Self::collect(problem, probe, predict, Some(texts))
    }

    fn collect(
        problem: &Problem,
        probe: &Probe,
        predict: Option<&Predict<'_>>,
        only: Option<&[String]>,
    ) -> Self {
        match problem {
            Problem::Kernel(kernel) => {
                let points = kernel.points();
                let all = match only {
                    Some(texts) => texts.to_vec(),
                    None => kernel.candidates(probe),
                };
                let guesses = usize::from(points.starts_with_own && all.first() == points.texts.first());
                let size =
                    SpaceSize { combinations: points.combinations, points: all.len(), checks: points.checks };
                let why_none = all.is_empty().then(|| {
                    let limit = probe.max_work_group_size;
                    format!("their work-groups exceed the device's limit of {limit} work-items")
                });
                Self { why_none, ..Self::new((all, guesses, size), predict, |_| Vec::new()) }
            }
            Problem::Gemm(product) => {
                let gemm = product.gemm();
                let choice = gemm::default_parameters(&gemm, probe);
                let mut guesses = vec![choice.parameters];
                guesses.extend(choice.runners_up.into_iter().map(|(other, _)| other));
                guesses.retain(|guess| guess.check(&gemm, probe).is_ok());
                let points = points(guesses, || gemm::space(&gemm, probe), only);
                let derived = |parameters: &Parameters| tiles(parameters, product.size);
                let figures = DeviceFigures::of(probe);
                let work = |text: &str| {
                    let parameters = text.parse().ok()?;
                    Some(gemm::cost::cost(&gemm, &parameters, probe, &figures).ok()?.seconds)
                };
                let simple = Parameters::Tile(gemm::Tile::new(1, 4));
                let why_none = simple.check(&gemm, probe).err().map(|unfit| unfit.to_string());
                Self { why_none, ..Self::new(points, Some(predict.unwrap_or(&work)), derived) }
            }
            Problem::Filter(problem) => {
                let (chain, from, to) = (problem.chain(), problem.from(), problem.to());
                let choice = filter::default_parameters(chain, from, probe);
                let mut guesses = vec![choice.parameters];
                guesses.extend(choice.runners_up.into_iter().map(|(other, _)| other));
                guesses.retain(|guess| guess.check(chain, from, to, probe).is_ok());
                let points = points(guesses, || filter::space(chain, from, to, probe), only);
                let work = |text: &str| {
                    let parameters = text.parse().ok()?;
                    filter::work(chain, from, to, &parameters, probe)
                };
                let derived = |one: &filter::Parameters| {
                    let items = (to.row_elements() as f64 / one.lanes as f64).ceil()
                        * (to.height as f64 / one.rows as f64).ceil();
                    vec![("items", items.max(1.0).log2())]
                };
                Self::new(points, Some(predict.unwrap_or(&work)), derived)
            }
            Problem::Quantised(product) => {
                let guess = quantised::choose(product, None, probe).parameters;
                let guesses = Some(guess).filter(|guess| guess.check(product, probe).is_ok());
                let points = points(guesses.into_iter().collect(), || quantised::space(product, probe), only);
                let work = |text: &str| quantised::work(product, &text.parse().ok()?, probe);
                let derived = |one: &quantised::Parameters| {
                    let items = product.n.div_ceil(one.outputs) * product.m.div_ceil(one.vectors) * one.parts;
                    vec![("items", (items.max(1) as f64).log2())]
                };
                Self::new(points, Some(predict.unwrap_or(&work)), derived)
            }
        }
    }

    /// Puts more candidates at the start, to be tried first. Features that the others do not have are not added.
    pub fn add_guesses(&mut self, texts: &[String]) {
        for text in texts.iter().rev() {
            let known = self.all.iter().position(|one| one.parameters == *text);
            if known.is_none_or(|index| index >= self.guesses) {
                self.guesses += 1;
            }
            let candidate = if let Some(index) = known {
                self.all.remove(index)
            } else {
                let numbers = numbers(text);
                let features = self.features.iter().map(|name| numbers.get(name).copied().unwrap_or(0.0));
                Candidate { parameters: text.clone(), features: features.collect(), predicted: None }
            };
            self.all.insert(0, candidate);
        }
    }

    /// Puts these behind the first guess, to be tried next, e.g. the fastest of a similar problem. They push the last guesses
    /// back to the other candidates. Texts that are not among the candidates are ignored.
    pub fn prefer(&mut self, texts: &[String]) {
        let mut next = self.guesses.min(1);
        for text in texts {
            let known = self.all.iter().position(|one| one.parameters == *text);
            if let Some(index) = known.filter(|index| *index >= next) {
                let candidate = self.all.remove(index);
                self.all.insert(next, candidate);
                next += 1;
            }
        }
        self.guesses = self.guesses.max(next);
    }

    /// The predictions, by parameters.
    pub fn estimates(&self) -> HashMap<&str, f64> {
        self.all.iter().filter_map(|one| Some((one.parameters.as_str(), one.predicted?))).collect()
    }

    /// `derived` are numbers in addition to those of the text.
    fn new<P: Display>(
        (all, guesses, size): (Vec<P>, usize, SpaceSize),
        predict: Option<&Predict<'_>>,
        derived: impl Fn(&P) -> Vec<(&'static str, f64)>,
    ) -> Self {
        let named: Vec<(String, BTreeMap<String, f64>)> = all
            .iter()
            .map(|parameters| {
                let text = parameters.to_string();
                let mut numbers = numbers(&text);
                numbers.extend(derived(parameters).into_iter().map(|(name, value)| (name.to_owned(), value)));
                (text, numbers)
            })
            .collect();
        let names: BTreeSet<&String> = named.iter().flat_map(|(_, numbers)| numbers.keys()).collect();
        let features: Vec<String> = names.into_iter().cloned().collect();
        let all = named
            .into_iter()
            .map(|(parameters, numbers)| Candidate {
                features: features.iter().map(|name| numbers.get(name).copied().unwrap_or(0.0)).collect(),
                predicted: predict.and_then(|predict| predict(&parameters)).filter(|one| *one > 0.0),
                parameters,
            })
            .collect();
        Self { all, guesses, size, features, why_none: None }
    }

    /// Candidates given as text, all of equal rank: for recorded spaces, and for candidates that a user lists.
    pub fn listed(texts: &[String], predict: Option<&Predict<'_>>) -> Self {
        let points = texts.len();
        let size = SpaceSize { combinations: points as u64, points, checks: 0 };
        Self::new((texts.iter().collect(), 0, size), predict, |_| Vec::new())
    }
}

/// The guesses, their number, and the points of the space, each once; only those in `only`, if it is given.
fn points<'s, P: Copy + Eq + Hash + FromStr>(
    mut guesses: Vec<P>,
    space: impl FnOnce() -> Space<'s, P>,
    only: Option<&[String]>,
) -> (Vec<P>, usize, SpaceSize) {
    let (found, size): (Vec<P>, _) = if let Some(texts) = only {
        let found: Vec<P> = texts.iter().filter_map(|text| text.parse().ok()).collect();
        guesses.retain(|guess| found.contains(guess));
        let (combinations, points) = (texts.len() as u64, found.len());
        (found, SpaceSize { combinations, points, checks: 0 })
    } else {
        let space = space();
        let mut points = space.points();
        let found: Vec<P> = points.by_ref().collect();
        let size =
            SpaceSize { combinations: space.combinations(), points: found.len(), checks: points.checks() };
        (found, size)
    };
    let count = guesses.len();
    let mut all = guesses;
    let mut seen: HashSet<P> = all.iter().copied().collect();
    all.extend(found.into_iter().filter(|point| seen.insert(*point)));
    (all, count, size)
}

/// The numbers in a text of parameters: logarithms of numbers, 1 for words.
fn numbers(text: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let log = |text: &str| text.parse::<f64>().ok().filter(|value| *value > 0.0).map(f64::log2);
    for word in text.split_whitespace() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, value),
            None if word.starts_with(|first: char| first.is_ascii_digit()) => ("tile", word),
            None => (word, ""),
        };
        match value.split_once('x').and_then(|(x, y)| Some([log(x)?, log(y)?])) {
            Some([x, y]) => {
                found.insert(format!("{name}-x"), x);
                found.insert(format!("{name}-y"), y);
                found.insert(format!("{name}-area"), x + y);
            }
            None => match log(value) {
                // A missing word is a default, mostly 1, whose logarithm is 0.
                Some(number) => {
                    found.insert(name.to_owned(), number);
                }
                None => {
                    found.insert(word.to_owned(), 1.0);
                }
            },
        }
    }
    found
}

/// Work-items and work-groups, and the share of the tiles that lies outside the product.
fn tiles(parameters: &Parameters, ProductExtents { m, n, .. }: ProductExtents) -> Vec<(&'static str, f64)> {
    let ([rows, columns], group, parts) = match parameters {
        Parameters::Tile(tile) => ([tile.rows, tile.columns], tile.group.unwrap_or([8, 8]), tile.parts),
        Parameters::Local(local) => ([local.rows, local.columns], local.group, local.parts),
        Parameters::Vector(vector) => ([1, vector.outputs], [vector.group, 1], 1),
    };
    let (down, across) = (m.div_ceil(rows.max(1)), n.div_ceil(columns.max(1)));
    let items = (down * across * parts) as f64;
    let groups = (across.div_ceil(group[0].max(1)) * down.div_ceil(group[1].max(1)) * parts) as f64;
    let covered = (down * rows * across * columns) as f64;
    vec![
        ("items", items.max(1.0).log2()),
        ("groups", groups.max(1.0).log2()),
        ("outside", (covered / (m * n).max(1) as f64).max(1.0).log2()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_text_are_logarithms_and_words() {
        let found = numbers("tile 4x8 unroll=2 b=packed/1 rolled group=16x1");
        let want = [
            ("b=packed/1", 1.0),
            ("group-area", 4.0),
            ("group-x", 4.0),
            ("group-y", 0.0),
            ("rolled", 1.0),
            ("tile", 1.0),
            ("tile-area", 5.0),
            ("tile-x", 2.0),
            ("tile-y", 3.0),
            ("unroll", 1.0),
        ];
        assert_eq!(found, want.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn guesses_of_the_user_come_first() {
        let texts: Vec<String> = (0..4).map(|index| format!("tile {index}x1")).collect();
        let mut candidates = Candidates { guesses: 1, ..Candidates::listed(&texts, None) };
        candidates.add_guesses(&["tile 2x1", "tile 9x9", "tile 0x1"].map(str::to_owned));
        let order: Vec<&str> = candidates.all.iter().map(|one| one.parameters.as_str()).collect();
        assert_eq!(order, ["tile 2x1", "tile 9x9", "tile 0x1", "tile 1x1", "tile 3x1"]);
        assert_eq!(candidates.guesses, 3);
    }

    #[test]
    fn the_fastest_of_another_problem_follow_the_first_guess() {
        let texts: Vec<String> = (0..4).map(|index| format!("tile {index}x1")).collect();
        let mut candidates = Candidates { guesses: 2, ..Candidates::listed(&texts, None) };
        candidates.prefer(&["tile 3x1", "tile 9x9", "tile 0x1", "tile 2x1"].map(str::to_owned));
        let order: Vec<&str> = candidates.all.iter().map(|one| one.parameters.as_str()).collect();
        assert_eq!(order, ["tile 0x1", "tile 3x1", "tile 2x1", "tile 1x1"]);
        assert_eq!(candidates.guesses, 3);
        let mut none = Candidates::listed(&texts, None);
        none.prefer(&["tile 2x1".to_owned()]);
        assert_eq!((none.all[0].parameters.as_str(), none.guesses), ("tile 2x1", 1));
    }

    #[test]
    fn an_empty_space_has_a_reason() {
        let problem: Problem = "gemm f16 64x64x64".parse().unwrap();
        let candidates = Candidates::of(&problem, &Probe::default(), None);
        assert!(candidates.all.is_empty());
        assert!(candidates.why_none.is_some_and(|why| why.contains("cl_khr_fp16")));
    }

    #[test]
    fn candidates_start_with_the_choice_of_the_library() {
        for text in ["gemm f32 196x512x4608", "filter laplace 64x48x3 u8"] {
            let problem: Problem = text.parse().unwrap();
            let probe = Probe { name: "Mali-G610".to_owned(), ..Probe::default() };
            let candidates = Candidates::of(&problem, &probe, None);
            assert!(candidates.guesses > 0 && candidates.size.points > 500, "{text}: {}", candidates.size);
            let distinct: HashSet<&str> = candidates.all.iter().map(|one| one.parameters.as_str()).collect();
            assert_eq!(distinct.len(), candidates.all.len());
            assert!(candidates.all.iter().all(|one| one.features.len() == candidates.features.len()));
            assert!(candidates.all.iter().all(|one| one.predicted.is_some()));
        }
    }
}
