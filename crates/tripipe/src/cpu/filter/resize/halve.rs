//! Images of bytes at half their width: every second pixel, and means of 2 x 2 pixels.

use pulp::{Arch, Simd, WithSimd};

use super::super::rows::{Rows, Source};

/// The number of pixels of the result that are computed together.
const PIXELS: usize = 32;

/// The pixels of `out` are those of `row` at twice their place.
pub(super) fn every_second<const C: usize>(arch: Arch, row: &[u8], out: &mut [u8]) {
    arch.dispatch(Halve::<C, 1> { rows: [row], out });
}

/// The pixels of `out` are the means of two in each row, half rounded up.
fn means<const C: usize>(arch: Arch, rows: [&[u8]; 2], out: &mut [u8]) {
    arch.dispatch(Halve::<C, 2> { rows, out });
}

/// The rows of a result of half the width and height whose pixels are means of four.
pub(super) struct HalvedRows<'a, const C: usize> {
    input: Source<'a>,
    /// Two rows of the source that cannot be read in place.
    rows: [Vec<u8>; 2],
    arch: Arch,
}

impl<'a, const C: usize> HalvedRows<'a, C> {
    pub(super) fn new(input: Source<'a>, arch: Arch) -> Self {
        let row = vec![0; input.raster.width * C];
        Self { input, rows: [row.clone(), row], arch }
    }
}

impl<const C: usize> Rows<u8> for HalvedRows<'_, C> {
    fn part(&mut self, y: isize, at: usize, out: &mut [u8]) {
        let Self { input, rows: [first, second], arch } = self;
        let y = 2 * y as usize;
        let rows = [input.whole_row(y, first), input.whole_row(y + 1, second)];
        means::<C>(*arch, rows.map(|row| &row[2 * at..][..2 * out.len()]), out);
    }
}

/// `R` rows are read: one of which every second pixel is taken, or two for means.
struct Halve<'a, const C: usize, const R: usize> {
    rows: [&'a [u8]; R],
    out: &'a mut [u8],
}

impl<const C: usize, const R: usize> WithSimd for Halve<'_, C, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, out } = self;
        match C {
            1 => run::<C, R, { PIXELS }, { 2 * PIXELS }>(rows, out),
            2 => run::<C, R, { 2 * PIXELS }, { 4 * PIXELS }>(rows, out),
            3 => run::<C, R, { 3 * PIXELS }, { 6 * PIXELS }>(rows, out),
            _ => run::<C, R, { 4 * PIXELS }, { 8 * PIXELS }>(rows, out),
        }
    }
}

/// `LEN` elements of the result at a time, of twice as many (`FROM`) of each row.
#[inline(always)]
fn run<const C: usize, const R: usize, const LEN: usize, const FROM: usize>(
    rows: [&[u8]; R],
    out: &mut [u8],
) {
    let (blocks, rest) = out.as_chunks_mut::<LEN>();
    let lines = rows.map(|row| row.as_chunks::<FROM>().0);
    let done = blocks.len();
    for (index, out) in blocks.iter_mut().enumerate() {
        block::<C, R, LEN, FROM>(lines.map(|line| &line[index]), out);
    }
    if !rest.is_empty() {
        let mut padded = [[0; FROM]; R];
        for (padded, row) in padded.iter_mut().zip(rows) {
            padded[..2 * rest.len()].copy_from_slice(&row[done * FROM..][..2 * rest.len()]);
        }
        let mut block_out = [0; LEN];
        block::<C, R, LEN, FROM>(padded.each_ref(), &mut block_out);
        rest.copy_from_slice(&block_out[..rest.len()]);
    }
}

#[inline(always)]
fn block<const C: usize, const R: usize, const LEN: usize, const FROM: usize>(
    rows: [&[u8; FROM]; R],
    out: &mut [u8; LEN],
) {
    if C == 1 {
        // A pair of pixels is one number of 16 bits: no element changes its place.
        for i in 0..LEN {
            let pairs = rows.map(|row| u16::from_le_bytes([row[2 * i], row[2 * i + 1]]));
            out[i] = if R == 1 {
                pairs[0] as u8
            } else {
                let sum = pairs.into_iter().map(|pair| (pair & 255) + (pair >> 8)).sum::<u16>();
                ((sum + 2) >> 2) as u8
            };
        }
        return;
    }
    let mut means = [0u8; FROM];
    let all = if R == 1 {
        rows[0]
    } else {
        for i in 0..FROM - C {
            let sum = rows.map(|row| u16::from(row[i]) + u16::from(row[i + C])).into_iter().sum::<u16>();
            means[i] = ((sum + 2) >> 2) as u8;
        }
        &means
    };
    match C {
        2 => {
            for i in 0..LEN / 2 {
                out[2 * i] = all[4 * i];
                out[2 * i + 1] = all[4 * i + 1];
            }
        }
        3 => {
            // Four bytes at a time; the next pixel overwrites the fourth.
            for i in 0..LEN / 3 - 1 {
                out[3 * i..3 * i + 4].copy_from_slice(&all[6 * i..6 * i + 4]);
            }
            out[LEN - 3..].copy_from_slice(&all[FROM - 6..FROM - 3]);
        }
        _ => {
            for i in 0..LEN / 4 {
                out[4 * i..4 * i + 4].copy_from_slice(&all[8 * i..8 * i + 4]);
            }
        }
    }
}
