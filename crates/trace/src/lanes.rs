//! Rows of slices: in a row, two slices are apart, or one is inside the other.

use crate::Slice;

/// A slice of a row, as the events of its start and end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Edge<'s> {
    /// It starts.
    Begin(&'s Slice),
    /// The innermost open slice ends.
    End,
}

/// The end of a slice; one past the end of time ends there.
pub(crate) fn end(slice: &Slice) -> u64 {
    slice.start_ns.saturating_add(slice.duration_ns)
}

/// Divides slices into as few rows as a greedy choice needs, each in order of time, outer slices first.
pub(crate) fn lanes(slices: &[Slice]) -> Vec<Vec<&Slice>> {
    let mut sorted: Vec<&Slice> = slices.iter().collect();
    sorted.sort_by_key(|slice| (slice.start_ns, std::cmp::Reverse(end(slice))));
    // Each with the ends of its open slices, the innermost last.
    let mut rows: Vec<(Vec<u64>, Vec<&Slice>)> = Vec::new();
    for slice in sorted {
        let fits = |open: &mut Vec<u64>| {
            while open.last().is_some_and(|end| *end <= slice.start_ns) {
                open.pop();
            }
            open.last().is_none_or(|outer| end(slice) <= *outer)
        };
        let row = rows.iter_mut().position(|(open, _)| fits(open));
        let row = row.unwrap_or_else(|| {
            rows.push(Default::default());
            rows.len() - 1
        });
        rows[row].0.push(end(slice));
        rows[row].1.push(slice);
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The starts and ends of a row, in order of time.
pub(crate) fn edges<'s>(row: &[&'s Slice]) -> Vec<(u64, Edge<'s>)> {
    let mut edges = Vec::with_capacity(2 * row.len());
    let mut open: Vec<u64> = Vec::new();
    for slice in row {
        while let Some(end) = open.pop_if(|end| *end <= slice.start_ns) {
            edges.push((end, Edge::End));
        }
        edges.push((slice.start_ns, Edge::Begin(slice)));
        open.push(end(slice));
    }
    edges.extend(open.into_iter().rev().map(|end| (end, Edge::End)));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slice((start_ns, duration_ns): (u64, u64)) -> Slice {
        Slice { start_ns, duration_ns, ..Slice::default() }
    }

    #[test]
    fn slices_that_nest_or_follow_share_a_row() {
        let slices = [(0, 10), (2, 3), (5, 5), (10, 4), (10, 0)].map(slice);
        assert_eq!(lanes(&slices).len(), 1);
        assert_eq!(lanes(&[(0, 10), (5, 10)].map(slice)).len(), 2);
    }

    proptest! {
        #[test]
        fn each_row_nests_and_no_slice_is_lost(slices in prop::collection::vec((0u64..50, 0u64..20), 0..40)) {
            let slices: Vec<Slice> = slices.into_iter().map(slice).collect();
            let rows = lanes(&slices);
            prop_assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), slices.len());
            for row in rows {
                for (index, one) in row.iter().enumerate() {
                    for other in &row[index + 1..] {
                        let apart = end(one) <= other.start_ns;
                        let inside = one.start_ns <= other.start_ns && end(other) <= end(one);
                        prop_assert!(apart || inside);
                    }
                }
                let (mut depth, mut last) = (0i64, 0);
                for (time, edge) in edges(&row) {
                    prop_assert!(time >= last);
                    last = time;
                    depth += if edge == Edge::End { -1 } else { 1 };
                    prop_assert!(depth >= 0);
                }
                prop_assert_eq!(depth, 0);
            }
        }
    }
}
