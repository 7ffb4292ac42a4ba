//! Results with the files they are from.

/// A result and the file that it comes from.
pub(super) struct Named<'a, T> {
    pub(super) file: &'a str,
    pub(super) content: &'a T,
}

impl<T> Clone for Named<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Named<'_, T> {}

/// Groups of results with the same key, in the order of their first ones.
pub(super) fn by<'a, T, K: PartialEq>(
    all: &[Named<'a, T>],
    key: impl Fn(&'a T) -> K,
) -> Vec<Vec<Named<'a, T>>> {
    let mut groups: Vec<(K, Vec<Named<'a, T>>)> = Vec::new();
    for named in all {
        let own = key(named.content);
        match groups.iter_mut().find(|(key, _)| *key == own) {
            Some((_, group)) => group.push(*named),
            None => groups.push((own, vec![*named])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// A label for each result: its own, with the file if another result has the same.
pub(super) fn labels<'a, T>(all: &[Named<'a, T>], label: impl Fn(&'a T) -> String) -> Vec<String> {
    let own: Vec<String> = all.iter().map(|named| label(named.content)).collect();
    own.iter()
        .zip(all)
        .map(|(label, named)| {
            let same = own.iter().filter(|other| *other == label).count();
            if same > 1 { format!("{label} ({})", named.file) } else { label.clone() }
        })
        .collect()
}

/// Results of the same subject in several files: the first with each of the others.
pub(super) fn pairs<'a, T, K: PartialEq>(
    all: &[Named<'a, T>],
    key: impl Fn(&'a T) -> K,
) -> Vec<(Named<'a, T>, Named<'a, T>)> {
    let groups = by(all, key).into_iter();
    groups
        .flat_map(|group| {
            let first = group[0];
            group.into_iter().skip(1).map(move |later| (first, later))
        })
        .collect()
}
