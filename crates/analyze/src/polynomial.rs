//! Costs with trip counts in them that nobody knows yet: `12 + 7 n + 3 n m`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A sum of products of trip counts, each with a factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polynomial {
    /// Factors by the loops whose trip counts are multiplied, each loop by its name's letter; the constant by none.
    terms: BTreeMap<Vec<char>, f64>,
}

impl Polynomial {
    /// A number.
    pub fn constant(value: f64) -> Self {
        let mut all = Self::default();
        all.add_term(Vec::new(), value);
        all
    }

    /// The number, if there is nothing else.
    pub fn as_constant(&self) -> Option<f64> {
        match self.terms.len() {
            0 => Some(0.0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (letters, factor) in &other.terms {
            sum.add_term(letters.clone(), *factor);
        }
        sum
    }

    /// So many times as much.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let mut product = Self::default();
        for (letters, own) in &self.terms {
            product.add_term(letters.clone(), own * factor);
        }
        product
    }

    /// As many times as much as a loop runs.
    #[must_use]
    pub fn times_trips(&self, letter: char) -> Self {
        let mut product = Self::default();
        for (letters, factor) in &self.terms {
            let mut letters = letters.clone();
            letters.push(letter);
            letters.sort_unstable();
            product.add_term(letters, *factor);
        }
        product
    }

    /// What `of` makes of the factors of `parts`, one kind of term after the other.
    pub(crate) fn by_term(parts: &[Self], of: impl Fn(&[f64]) -> f64) -> Self {
        let kinds: BTreeSet<&Vec<char>> = parts.iter().flat_map(|part| part.terms.keys()).collect();
        let mut all = Self::default();
        for letters in kinds {
            let factors: Vec<f64> =
                parts.iter().map(|part| part.terms.get(letters).copied().unwrap_or(0.0)).collect();
            all.add_term(letters.clone(), of(&factors));
        }
        all
    }

    /// Its value when every trip count that is not known is `trips`.
    pub fn evaluate(&self, trips: f64) -> f64 {
        self.terms.iter().map(|(letters, factor)| factor * trips.powi(letters.len() as i32)).sum()
    }

    /// The letters in it, in order.
    pub fn letters(&self) -> Vec<char> {
        let mut letters: Vec<char> = self.terms.keys().flatten().copied().collect();
        letters.sort_unstable();
        letters.dedup();
        letters
    }

    fn add_term(&mut self, letters: Vec<char>, factor: f64) {
        if factor != 0.0 {
            *self.terms.entry(letters).or_insert(0.0) += factor;
        }
    }
}

impl fmt::Display for Polynomial {
    /// `12 + 7 n + 3 n m`, numbers with up to two decimals; `0` for nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: f64| {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_by_key(|(letters, _)| letters.len());
        let mut words = Vec::new();
        for (letters, factor) in terms {
            let mut word = number(*factor);
            for letter in letters {
                word.push(' ');
                word.push(*letter);
            }
            words.push(word);
        }
        f.pad(if words.is_empty() { "0".to_owned() } else { words.join(" + ") }.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Polynomial;

    /// (3 + 2 n) m + 5 by hand.
    #[test]
    fn nested_loops_multiply() {
        let inner = Polynomial::constant(2.0).times_trips('n').plus(&Polynomial::constant(3.0));
        let all = inner.times_trips('m').plus(&Polynomial::constant(5.0));
        assert_eq!(all.to_string(), "5 + 3 m + 2 m n");
        assert_eq!(all.evaluate(10.0), 5.0 + 30.0 + 200.0);
        assert_eq!(all.letters(), ['m', 'n']);
        assert_eq!(Polynomial::constant(0.5).times(3.0).as_constant(), Some(1.5));
    }
}
