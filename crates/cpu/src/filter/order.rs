//! Ranks of windows of any size.

use pulp::Arch;
use tripipe_kernels::filter::{Neighbourhood, PixelType, Rank, Size};

use super::number::Number;
use super::rank::WithNan;
use super::rows::{Input, Kernel, Rows};

/// The pixels at a place in the order of their windows.
pub(super) fn ranked<T: Number>(input: Input<'_, T>, rank: Rank, arch: Arch) -> Box<dyn Rows<T> + '_> {
    let (size, step) = (Size::square(rank.size), input.shape.channels);
    if T::ELEMENT == PixelType::U8 {
        return input.windows(size, Counted { rank, step, counts: [0; 256] });
    }
    let neighbourhood = Neighbourhood::Rectangle(size);
    let kernel = Selected { rank, step, seen: Vec::new() };
    input.windows(size, WithNan { kernel, arch, neighbourhood, step })
}

/// Bytes: a histogram of the window, which moves along the row (T. Huang, G. Yang, G. Tang, "A fast two-dimensional
/// median filtering algorithm", 1979).
struct Counted {
    rank: Rank,
    step: usize,
    counts: [u16; 256],
}

impl<T: Number> Kernel<T, T> for Counted {
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [T]]) {
        let Self { rank: Rank { size, rank }, step, counts } = self;
        let byte = |value: T| value.to_float() as usize;
        for (rows, out) in rows.windows(*size).zip(outs) {
            for channel in 0..*step {
                counts.fill(0);
                // The value found last, and the number of pixels of the window that are below it.
                let (mut level, mut below) = (0, 0);
                let count =
                    |column: usize, counts: &mut [u16; 256], level: usize, below: &mut usize, adds: bool| {
                        for row in rows {
                            let value = byte(row[channel + column * *step]);
                            counts[value] = if adds { counts[value] + 1 } else { counts[value] - 1 };
                            if value < level {
                                *below = if adds { *below + 1 } else { *below - 1 };
                            }
                        }
                    };
                for column in 0..*size - 1 {
                    count(column, counts, level, &mut below, true);
                }
                for (x, out) in out[channel..].iter_mut().step_by(*step).enumerate() {
                    count(x + *size - 1, counts, level, &mut below, true);
                    while below > *rank {
                        level -= 1;
                        below -= usize::from(counts[level]);
                    }
                    while below + usize::from(counts[level]) <= *rank {
                        below += usize::from(counts[level]);
                        level += 1;
                    }
                    *out = T::from_integer(level as i32);
                    count(x, counts, level, &mut below, false);
                }
            }
        }
    }
}

/// Other types: the window is partly sorted.
struct Selected<T> {
    rank: Rank,
    step: usize,
    seen: Vec<T>,
}

impl<T: Number> Kernel<T, T> for Selected<T> {
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [T]]) {
        let Self { rank: Rank { size, rank }, step, seen } = self;
        for (rows, out) in rows.windows(*size).zip(outs) {
            for (at, out) in out.iter_mut().enumerate() {
                seen.clear();
                for row in rows {
                    seen.extend(row[at..].iter().step_by(*step).take(*size));
                }
                // Windows with NaN are marked afterwards.
                let order = |a: &T, b: &T| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal);
                *out = *seen.select_nth_unstable_by(*rank, order).1;
            }
        }
    }
}
