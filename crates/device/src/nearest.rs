//! "Did you mean" suggestions.

/// The candidate most similar to `name`; `None` if none is similar enough to be a typing error.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<String> {
    ranked(name, candidates).into_iter().next()
}

/// The candidates that are similar enough to `name`, the most similar first.
pub(crate) fn ranked<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Vec<String> {
    // Jaro-Winkler favours a common prefix. Below this value, two keys are similar only by chance.
    const ALIKE: f64 = 0.8;
    let mut alike: Vec<(f64, &str)> = candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    alike.into_iter().map(|(_, name)| name.to_owned()).collect()
}
