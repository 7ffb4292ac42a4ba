//! Products of a matrix and a vector. They take as long as the matrix takes to be read, once, as it lies.

use pulp::Arch;

use super::element::Arithmetic;
use super::operand::Matrix;
use crate::cpu::Threads;
use crate::cpu::bands::share_out;
use crate::cpu::wide::Wide;

/// Elements of the matrix that a thread takes at a time.
const BAND: usize = 1 << 18;

/// `A b` for a matrix of m x k, neither of them 0, and a vector of k; nothing where neither rows nor columns of A are contiguous.
pub(super) fn product<T: Arithmetic>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    threads: Threads,
) -> Option<Vec<T::Sum>> {
    let Matrix { rows: m, columns: k, .. } = a;
    let (data, stride, down) = a.lines()?;
    let elements: Vec<T> = (0..k).map(|l| b.at(l, 0)).collect();
    let mut vector = vec![T::Work::default(); k];
    T::widen(&elements, &mut vector);
    let mut sums = vec![T::Sum::from(0); m];
    let arch = Arch::new();
    let band = |first: usize, sums: &mut [T::Sum]| {
        arch.dispatch(Wide(
            #[inline(always)]
            || {
                if down {
                    for (l, factor) in vector.iter().enumerate() {
                        T::add_scaled(sums, *factor, &data[l * stride + first..][..sums.len()]);
                    }
                } else {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum = T::dot(&data[(first + i) * stride..][..k], &vector);
                    }
                }
            },
        ));
    };
    if threads == Threads::One || m.saturating_mul(k) <= BAND {
        band(0, &mut sums);
    } else {
        // Columns are cut into as few parts as there are threads: every part of each lies somewhere else.
        let rows = if down { m.div_ceil(rayon::current_num_threads()) } else { (BAND / k).max(1) };
        share_out(sums.chunks_mut(rows).enumerate(), |(index, sums)| band(index * rows, sums));
    }
    Some(sums)
}
