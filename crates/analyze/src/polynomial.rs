//! Symbolic costs, with unknown trip counts: `12 + 7 n + 3 n m`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A sum of products of trip counts, each with a factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polynomial {
    /// Factors, keyed by the names that are multiplied; the constant has no names.
    terms: BTreeMap<Vec<Arc<str>>, f64>,
}

impl Polynomial {
    /// A constant.
    pub fn constant(value: f64) -> Self {
        let mut all = Self::default();
        all.add_term(Vec::new(), value);
        all
    }

    /// The value, if it is a constant.
    pub fn as_constant(&self) -> Option<f64> {
        match self.terms.len() {
            0 => Some(0.0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.add(other);
        sum
    }

    /// Adds `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.add_times(other, 1.0);
    }

    /// Adds `factor * other`.
    pub(crate) fn add_times(&mut self, other: &Self, factor: f64) {
        for (names, own) in &other.terms {
            match self.terms.get_mut(names) {
                Some(sum) if *sum + own * factor != 0.0 => *sum += own * factor,
                _ => self.add_term(names.clone(), own * factor),
            }
        }
    }

    /// The product with a factor.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let mut product = Self::default();
        for (names, own) in &self.terms {
            product.add_term(names.clone(), own * factor);
        }
        product
    }

    /// The product with a name.
    #[must_use]
    pub fn times_name(&self, name: &Arc<str>) -> Self {
        let mut product = Self::default();
        for (names, factor) in &self.terms {
            let mut names = names.clone();
            names.push(Arc::clone(name));
            names.sort_unstable();
            product.add_term(names, *factor);
        }
        product
    }

    /// Applies `of` to the factors of `parts`, separately for each kind of term.
    pub(crate) fn by_term(parts: &[Self], of: impl Fn(&[f64]) -> f64) -> Self {
        let kinds: BTreeSet<&Vec<Arc<str>>> = parts.iter().flat_map(|part| part.terms.keys()).collect();
        let mut all = Self::default();
        for names in kinds {
            let factors: Vec<f64> =
                parts.iter().map(|part| part.terms.get(names).copied().unwrap_or(0.0)).collect();
            all.add_term(names.clone(), of(&factors));
        }
        all
    }

    /// Its value when every unknown trip count is `trips`.
    pub fn evaluate(&self, trips: f64) -> f64 {
        // From 0.0: the empty sum is -0.0.
        self.terms.iter().fold(0.0, |sum, (names, factor)| sum + factor * trips.powi(names.len() as i32))
    }

    fn add_term(&mut self, names: Vec<Arc<str>>, factor: f64) {
        let sum = self.terms.get(&names).copied().unwrap_or(0.0) + factor;
        if sum == 0.0 {
            self.terms.remove(&names);
        } else {
            self.terms.insert(names, sum);
        }
    }
}

impl From<f64> for Polynomial {
    fn from(value: f64) -> Self {
        Self::constant(value)
    }
}

impl fmt::Display for Polynomial {
    /// `12 + 7 n + 3 n m`, negative terms last, numbers with up to two decimals; `0` for the empty sum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: f64| {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_by_key(|(names, factor)| (**factor < 0.0, names.len()));
        let mut words = Vec::new();
        for (names, factor) in terms {
            let names = names.join(" ");
            let word = match (names.is_empty(), *factor) {
                (true, _) => number(*factor),
                (false, 1.0) => names,
                (false, _) => format!("{} {names}", number(*factor)),
            };
            words.push(word);
        }
        let text = if words.is_empty() { "0".to_owned() } else { words.join(" + ") };
        f.pad(&text.replace("+ -", "- "))
    }
}

#[cfg(test)]
mod tests {
    use super::Polynomial;

    /// (3 + 2 n) m - 5, computed by hand.
    #[test]
    fn nested_loops_multiply() {
        let (n, m) = ("n".into(), "m".into());
        let inner = Polynomial::constant(2.0).times_name(&n).plus(&Polynomial::constant(3.0));
        let all = inner.times_name(&m).plus(&Polynomial::constant(-5.0));
        assert_eq!(all.to_string(), "3 m + 2 m n - 5");
        assert_eq!(all.evaluate(10.0), -5.0 + 30.0 + 200.0);
        assert_eq!(all.plus(&all.times(-1.0)).as_constant(), Some(0.0));
        assert_eq!(Polynomial::constant(0.5).times(3.0).as_constant(), Some(1.5));
    }
}
