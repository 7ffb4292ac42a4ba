//! Spaces of parameters: `data/space.toml`. Points are made one after the other, and branches without valid points are
//! left early.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;
use thiserror::Error;

use crate::gemm::Shape;
use crate::table::Basis;
use devices::Devices;
use tripipe_device::document::built_in;

pub(crate) mod devices;

const FILE: &str = include_str!("../../data/space.toml");

static SPACES: LazyLock<Spaces> = LazyLock::new(|| built_in("data/space.toml", read(FILE)));

/// All parameters that a family offers for one problem on one device: the union of products of dimensions, without
/// the points that the family's check refuses.
pub struct Space<'s, P> {
    parts: Vec<&'s SpacePart>,
    check: Box<dyn Fn(&P) -> bool + 's>,
}

/// A product of dimensions.
#[derive(Debug)]
pub(crate) struct SpacePart {
    /// The text of a point, with the names of dimensions in braces.
    text: String,
    /// In the order in which they are filled.
    dimensions: Vec<Dimension>,
    /// Number of leading dimensions that are filled at once.
    together: usize,
}

/// A dimension of a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Its values, as they stand in the text of the parameters. The first one restricts the others least.
    pub values: Vec<String>,
}

/// The size of a space, and the work to find its points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceSize {
    /// Combinations of the values of all dimensions.
    pub combinations: u64,
    /// Points: combinations that the check accepts, each counted once.
    pub points: usize,
    /// Calls of the check that were needed to find them.
    pub checks: u64,
}

impl fmt::Display for SpaceSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { combinations, points, checks } = self;
        write!(f, "{points} of {combinations} combinations are valid, found with {checks} checks")
    }
}

impl<'s, P: Copy + Eq + Hash + FromStr> Space<'s, P> {
    pub(crate) fn new(parts: Vec<&'s SpacePart>, check: impl Fn(&P) -> bool + 's) -> Self {
        Self { parts, check: Box::new(check) }
    }

    /// The dimensions of each product in the union.
    pub fn parts(&self) -> impl Iterator<Item = &[Dimension]> {
        self.parts.iter().map(|part| part.dimensions.as_slice())
    }

    /// Combinations of the values of all dimensions, valid or not.
    pub fn combinations(&self) -> u64 {
        self.parts().map(|part| part.iter().map(|one| one.values.len() as u64).product::<u64>()).sum()
    }

    /// The points, in a fixed order, each once.
    pub fn points(&self) -> Points<'_, 's, P> {
        Points { space: self, part: 0, chosen: Vec::new(), seen: HashSet::new(), checks: 0 }
    }

    /// The size of the space; takes as long as making all points.
    pub fn size(&self) -> SpaceSize {
        let mut all = self.points();
        let points = all.by_ref().count();
        SpaceSize { combinations: self.combinations(), points, checks: all.checks }
    }
}

/// The points of a space.
pub struct Points<'p, 's, P> {
    space: &'p Space<'s, P>,
    part: usize,
    /// The next combination of the part: the value of each dimension. Empty at its start.
    chosen: Vec<usize>,
    /// Points of a part may be points of another.
    seen: HashSet<P>,
    checks: u64,
}

impl<P> Points<'_, '_, P> {
    /// Calls of the check so far.
    pub fn checks(&self) -> u64 {
        self.checks
    }
}

impl<P: Copy + Eq + Hash + FromStr> Iterator for Points<'_, '_, P> {
    type Item = P;

    fn next(&mut self) -> Option<P> {
        loop {
            let part = *self.space.parts.get(self.part)?;
            if let Some(point) = self.next_of(part) {
                if self.seen.insert(point) {
                    return Some(point);
                }
            } else {
                self.part += 1;
                self.chosen.clear();
            }
        }
    }
}

impl<P: Copy + Eq + Hash + FromStr> Points<'_, '_, P> {
    /// The next point of a part. A combination whose dimensions behind the first `depth` have their first values is
    /// checked once for all of them: if it is refused, no completion of it is made.
    fn next_of(&mut self, part: &SpacePart) -> Option<P> {
        let count = part.dimensions.len();
        let mut fresh = part.together.clamp(1, count);
        if self.chosen.is_empty() {
            self.chosen = vec![0; count];
        } else {
            fresh = advance(&mut self.chosen, part, count)?;
        }
        loop {
            self.checks += 1;
            let point = part.point(&self.chosen);
            if let Some(point) = point.filter(|point| (self.space.check)(point)) {
                return Some(point);
            }
            // Dimensions behind `fresh` have their first values, so all completions are refused with this one.
            fresh = advance(&mut self.chosen, part, fresh)?;
        }
    }
}

/// Moves to the next value of the last of the first `depth` dimensions, which carries into those before it; the
/// dimensions behind get their first values. Returns the number of leading dimensions that are decided then: all
/// behind them have their first values. `None` at the end.
fn advance(chosen: &mut [usize], part: &SpacePart, depth: usize) -> Option<usize> {
    let mut at = depth;
    loop {
        at = at.checked_sub(1)?;
        chosen[at] += 1;
        if chosen[at] < part.dimensions[at].values.len() {
            break;
        }
        chosen[at] = 0;
    }
    chosen[at + 1..].fill(0);
    Some((at + 1).max(part.together))
}

impl SpacePart {
    fn point<P: FromStr>(&self, chosen: &[usize]) -> Option<P> {
        let mut text = self.text.clone();
        for (dimension, value) in self.dimensions.iter().zip(chosen) {
            text = text.replace(&format!("{{{}}}", dimension.name), &dimension.values[*value]);
        }
        text.parse().ok()
    }
}

/// What an estimate is multiplied by for each faster point of the same kind, minus 1.
const CROWD: f64 = 0.3;

/// Points in the order in which they are worth a try, given those points with the kind and the estimated time of each. Points of
/// one kind have nearly the same estimate, and so the same error: each of them counts as slower than the one before it.
/// Points with equal estimates keep their order.
pub fn spread<T, K: Eq + Hash>(points: impl IntoIterator<Item = (T, K, f64)>) -> Vec<T> {
    let mut points: Vec<(T, K, f64)> = points.into_iter().collect();
    points.sort_by(|(.., a), (.., b)| a.total_cmp(b));
    let mut seen: HashMap<K, f64> = HashMap::new();
    let mut ranked: Vec<(T, f64)> = points
        .into_iter()
        .map(|(point, kind, estimate)| {
            let before = seen.entry(kind).or_insert(0.0);
            let rank = estimate * (1.0 + CROWD * *before);
            *before += 1.0;
            (point, rank)
        })
        .collect();
    ranked.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    ranked.into_iter().map(|(point, _)| point).collect()
}

/// A family's sets of parameters.
struct Spaces {
    parts: PartLimits,
    gemm: Vec<(Devices, Vec<Shape>, SpacePart)>,
    filter: Vec<(Devices, SpacePart)>,
    quantised: Vec<(Devices, SpacePart)>,
}

/// When K is divided into parts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartLimits {
    /// Smallest number of steps along K of a part.
    pub(crate) steps_min: Figure,
    /// Largest number of work-items over all parts.
    pub(crate) items_max: Figure,
}

/// A number with its basis.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(from = "SourcedFigure")]
pub(crate) struct Figure(pub(crate) usize);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourcedFigure {
    value: usize,
    /// Required in the file, for its readers.
    #[serde(rename = "basis")]
    _basis: Basis,
    /// Required in the file, for its readers.
    #[serde(rename = "source")]
    _source: String,
}

impl From<SourcedFigure> for Figure {
    fn from(figure: SourcedFigure) -> Self {
        Self(figure.value)
    }
}

/// When K is divided into parts.
pub(crate) fn part_limits() -> PartLimits {
    SPACES.parts
}

/// The parts for products of a class of shapes.
pub(crate) fn of_products(shape: Shape, includes: impl Fn(Devices) -> bool) -> Vec<&'static SpacePart> {
    let fits = |(on, shapes, _): &&(Devices, Vec<Shape>, SpacePart)| includes(*on) && shapes.contains(&shape);
    SPACES.gemm.iter().filter(fits).map(|(.., part)| part).collect()
}

/// The parts for chains of filters.
pub(crate) fn of_filters(includes: impl Fn(Devices) -> bool) -> Vec<&'static SpacePart> {
    SPACES.filter.iter().filter(|(on, _)| includes(*on)).map(|(_, part)| part).collect()
}

/// The parts for products with quantised weights.
pub(crate) fn of_quantised(includes: impl Fn(Devices) -> bool) -> Vec<&'static SpacePart> {
    SPACES.quantised.iter().filter(|(on, _)| includes(*on)).map(|(_, part)| part).collect()
}

/// The texts of all combinations for products of a class of shapes, for tests.
#[cfg(test)]
pub(crate) fn texts_of(shape: Shape, probe: &tripipe_device::Probe) -> Vec<String> {
    of_products(shape, |devices| devices.includes(probe)).into_iter().flat_map(SpacePart::texts).collect()
}

/// The texts of all combinations for filters, for tests.
#[cfg(test)]
pub(crate) fn texts_of_filters(probe: &tripipe_device::Probe) -> Vec<String> {
    of_filters(|devices| devices.includes(probe)).into_iter().flat_map(SpacePart::texts).collect()
}

#[cfg(test)]
impl SpacePart {
    /// Every value instead of every name, one dimension after the other.
    fn texts(&self) -> Vec<String> {
        self.dimensions.iter().fold(vec![self.text.clone()], |texts, Dimension { name, values }| {
            let name = format!("{{{name}}}");
            texts.iter().flat_map(|text| values.iter().map(|value| text.replace(&name, value))).collect()
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpaceFile {
    parts: PartLimits,
    gemm: Vec<SpaceEntry>,
    filter: Vec<SpaceEntry>,
    quantised: Vec<SpaceEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpaceEntry {
    on: Devices,
    #[serde(default)]
    shapes: Vec<Shape>,
    text: String,
    #[serde(default)]
    together: Vec<String>,
    dimensions: BTreeMap<String, Vec<String>>,
    /// Required in the file, for its readers.
    #[serde(rename = "basis")]
    _basis: Basis,
    /// Required in the file, for its readers.
    #[serde(rename = "source")]
    _source: String,
}

/// Why the file is not valid.
#[derive(Debug, Error)]
enum SpaceError {
    #[error(transparent)]
    File(#[from] toml::de::Error),
    #[error("\"{text}\": {reason}")]
    Text { text: String, reason: &'static str },
}

fn read(text: &str) -> Result<Spaces, SpaceError> {
    let file: SpaceFile = toml::from_str(text)?;
    let gemm = file.gemm.into_iter().map(|entry| Ok((entry.on, entry.shapes.clone(), part(entry)?)));
    let filter = file.filter.into_iter().map(|entry| Ok((entry.on, part(entry)?)));
    let quantised = file.quantised.into_iter().map(|entry| Ok((entry.on, part(entry)?)));
    Ok(Spaces {
        parts: file.parts,
        gemm: gemm.collect::<Result<_, SpaceError>>()?,
        filter: filter.collect::<Result<_, SpaceError>>()?,
        quantised: quantised.collect::<Result<_, SpaceError>>()?,
    })
}

fn part(entry: SpaceEntry) -> Result<SpacePart, SpaceError> {
    let SpaceEntry { text, together, mut dimensions, .. } = entry;
    let wrong = |reason| SpaceError::Text { text: text.clone(), reason };
    let mut ordered = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(|| wrong("a brace without a partner"))?;
        let values = dimensions.remove(name).ok_or_else(|| wrong("a dimension without values"))?;
        if values.is_empty() {
            return Err(wrong("a dimension without values"));
        }
        ordered.push(Dimension { name: name.to_owned(), values });
        rest = after;
    }
    if !dimensions.is_empty() {
        return Err(wrong("a dimension that the text does not contain"));
    }
    if together.iter().any(|name| !ordered.iter().any(|dimension| dimension.name == *name)) {
        return Err(wrong("an unknown dimension in `together`"));
    }
    // Stable: the others keep the order of the text.
    ordered.sort_by_key(|dimension| !together.contains(&dimension.name));
    Ok(SpacePart { dimensions: ordered, together: together.len(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three digits.
    type Digits = u32;

    fn digits(together: &[&str]) -> SpacePart {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let dimensions =
            [("a", values(&["1", "2", "3"])), ("b", values(&["1", "2"])), ("c", values(&["1", "5"]))];
        part(SpaceEntry {
            on: Devices::Any,
            shapes: Vec::new(),
            text: "{a}{b}{c}".to_owned(),
            together: together.iter().map(|name| (*name).to_owned()).collect(),
            dimensions: dimensions.into_iter().map(|(name, values)| (name.to_owned(), values)).collect(),
            _basis: Basis::Guessed,
            _source: "a test".to_owned(),
        })
        .unwrap()
    }

    #[test]
    fn a_refused_branch_costs_one_check() {
        let part = digits(&[]);
        let space: Space<'_, Digits> = Space::new(vec![&part], |point| !(200..300).contains(point));
        let mut points = space.points();
        let all: Vec<Digits> = points.by_ref().collect();
        assert_eq!(all, [111, 115, 121, 125, 311, 315, 321, 325]);
        assert_eq!(points.checks(), 9);
        let size = SpaceSize { combinations: 12, points: 8, checks: 9 };
        assert_eq!(space.size(), size);
        assert_eq!(size.to_string(), "8 of 12 combinations are valid, found with 9 checks");
    }

    #[test]
    fn dimensions_that_are_filled_together_are_not_pruned_one_by_one() {
        // Valid only if the first digit is less than the third: 2 and 3 need the third to be 5.
        let valid = |point: &Digits| point / 100 < point % 10 || point / 100 == 1;
        let part = digits(&["a", "c"]);
        let space: Space<'_, Digits> = Space::new(vec![&part], valid);
        let mut all: Vec<Digits> = space.points().collect();
        all.sort_unstable();
        assert_eq!(all, [111, 115, 121, 125, 215, 225, 315, 325]);
    }

    #[test]
    fn points_of_two_parts_are_made_once() {
        let (one, other) = (digits(&[]), digits(&["c"]));
        let space: Space<'_, Digits> = Space::new(vec![&one, &other], |_| true);
        assert_eq!(space.points().count(), 12);
        assert_eq!(space.combinations(), 24);
        let none: Space<'_, Digits> = Space::new(vec![&one], |_| false);
        assert_eq!(none.points().next(), None);
    }

    #[test]
    fn malformed_files_are_refused() {
        assert!(read(FILE).is_ok());
        let refused = |from: &str, to: &str| {
            assert!(FILE.contains(from), "{from}");
            read(&FILE.replace(from, to)).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refused("vector {outputs}x", "vector {outputs x").contains("without values"));
        assert!(refused("{sub-groups}\"", "\"").contains("the text does not contain"));
        assert!(refused("[\"tile\", \"dot\"]", "[\"tile\", \"dots\"]").contains("unknown dimension"));
        assert!(refused("dot = [\"khr\", \"arm\"]", "dot = []").contains("without values"));
        assert!(refused("basis = \"published\"", "").contains("basis"));
    }
}
