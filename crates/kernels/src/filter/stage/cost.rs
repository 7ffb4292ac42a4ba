//! What a stage costs in a pass over vectors of elements.

use super::Stage;
use crate::filter::family::{CONVERT_OPERATIONS, GRAY_OPERATIONS};

impl Stage {
    /// Multiply-adds or comparisons per element: those along a row of the input, in which the window has `weights` other than
    /// zero, and those per result in addition.
    pub(in crate::filter) fn operations(&self, weights: usize) -> [f64; 2] {
        let height = self.window().height;
        let [across, down] = match self {
            Self::Gradient(_) => [weights + 1, 2 * height + 3],
            // Comparators of the known sorting networks take two operations.
            Self::Median { size: 3 } => [0, 38],
            Self::Median { .. } => [0, 198],
            _ => [weights, height + 2],
        };
        [across as f64, down as f64]
    }

    /// Operations per element that a pass loads, when it applies the stage while loading.
    pub(in crate::filter) fn operations_while_loading(&self) -> f64 {
        if matches!(self, Self::Color(_)) { GRAY_OPERATIONS } else { CONVERT_OPERATIONS }
    }

    /// Bytes of registers of a lane for `rows` results: its unfinished sums, and `row` bytes for the `columns` loaded elements
    /// of a row, each of `element` bytes.
    pub(in crate::filter) fn lane_register_bytes(
        &self,
        rows: usize,
        [columns, element]: [usize; 2],
        row: usize,
    ) -> usize {
        match self {
            // The rows of the window, and what the network orders.
            Self::Median { size } => (self.window().height * columns + size * size / 2 + 2) * element,
            Self::Gradient(_) => (2 * rows + 2) * element + row,
            _ => (rows + 1) * element + row,
        }
    }
}
