//! "Did you mean": the nearest of some names.

/// The candidate most like `name`; `None` when none is alike enough to be a slip of the pen.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<String> {
    ranked(name, candidates).into_iter().next()
}

/// The candidates alike enough to `name`, the most alike first.
pub(crate) fn ranked<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Vec<String> {
    // Jaro-Winkler favours a common beginning; below this two keys share little more than chance.
    const ALIKE: f64 = 0.8;
    let mut alike: Vec<(f64, &str)> = candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    alike.into_iter().map(|(_, name)| name.to_owned()).collect()
}
