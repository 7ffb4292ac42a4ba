//! "Did you mean" suggestions.

/// The candidate most similar to `name`; `None` if none is similar enough to be a typing error.
pub fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    ranked(name, candidates).into_iter().next()
}

/// The candidates that are similar enough to `name`, the most similar first. Equally similar ones are in alphabetical
/// order.
pub fn ranked<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Vec<&'c str> {
    // Jaro-Winkler favours a common prefix. Below this value, two names are similar only by chance.
    const ALIKE: f64 = 0.8;
    let mut alike: Vec<(f64, &str)> = candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    alike.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_get_a_suggestion_and_other_words_do_not() {
        let names = ["laplace", "gaussian", "median", "resize"];
        assert_eq!(nearest("lapalce", names.into_iter()), Some("laplace"));
        assert_eq!(nearest("resise", names.into_iter()), Some("resize"));
        assert_eq!(nearest("gausian", names.into_iter()), Some("gaussian"));
        assert_eq!(nearest("zzz", names.into_iter()), None);
        let codes = ["out-of-bounds-read", "out-of-bounds-write", "data-race"];
        assert_eq!(nearest("out-of-bound-write", codes.into_iter()), Some("out-of-bounds-write"));
        assert_eq!(ranked("ab", ["abd", "abc", "ab", "x"].into_iter()), ["ab", "abc", "abd"]);
    }
}
