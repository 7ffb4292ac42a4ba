//! Candidates in the order of their distance from guesses.

use std::fmt;

/// The guesses, followed by the candidates in order of their distance from the nearest guess (number of different
/// words in the text form), without duplicates.
pub(crate) fn nearest_first<P: Copy + PartialEq + fmt::Display>(guesses: &[P], candidates: &[P]) -> Vec<P> {
    let words = |parameters: &P| -> Vec<String> {
        parameters.to_string().split_whitespace().map(str::to_owned).collect()
    };
    let guessed: Vec<Vec<String>> = guesses.iter().map(words).collect();
    let distance = |parameters: &P| {
        let own = words(parameters);
        let apart = |a: &[String], b: &[String]| a.iter().filter(|word| !b.contains(word)).count();
        guessed.iter().map(|guess| apart(guess, &own) + apart(&own, guess)).min().unwrap_or(0)
    };
    let mut all: Vec<P> = Vec::new();
    let mut rest: Vec<(usize, P)> = candidates.iter().map(|one| (distance(one), *one)).collect();
    rest.sort_by_key(|(distance, _)| *distance);
    for parameters in guesses.iter().copied().chain(rest.into_iter().map(|(_, one)| one)) {
        if !all.contains(&parameters) {
            all.push(parameters);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_come_first_and_then_their_neighbours() {
        let candidates = ["a b d", "x y z", "a b c", "a y z"];
        assert_eq!(nearest_first(&["a b c"], &candidates), ["a b c", "a b d", "a y z", "x y z"]);
        assert_eq!(nearest_first(&[], &candidates), candidates);
    }
}
