//! Bilinear resizing of bytes: weighted sums of two neighbouring pixels, at any places of a row.
//!
//! A shuffle picks the pixels of eight elements out of 16 bytes at once. Picking them one by one takes as long as
//! everything else together.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::core_arch::x86::Avx2 as Shuffles;
use pulp::{Arch, Simd, WithSimd};
// No such instructions are used on other machines.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
use std::convert::Infallible as Shuffles;

use super::super::rows::{LANES, Rows, Source};
use super::sums::Axis;
use crate::aligned::Aligned;

/// The number of elements that are computed together.
const TOGETHER: usize = 8;

/// The number of bytes that they are picked from.
const WINDOW: usize = 16;

fn shuffles(arch: Arch) -> Option<Shuffles> {
    match arch {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V4(simd) => Some(simd.avx2),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V3(simd) => Some(simd.avx2),
        _ => None,
    }
}

/// The sums along rows of packed pixels.
pub(super) struct Pairs {
    shuffles: Shuffles,
    /// For each [`TOGETHER`] elements: the first byte of the window.
    from: Vec<u32>,
    /// The places in the window of the two bytes of each element, each followed by that of a zero.
    places: Vec<[u8; 4 * TOGETHER]>,
    /// Both weights of each element.
    weights: Vec<[i16; 2 * TOGETHER]>,
    /// The number of elements of a row.
    len: usize,
}

/// A place whose byte is zero.
const ZERO: u8 = 128;

impl Pairs {
    /// `None` if there are not two weights for each pixel, if the pixels that neighbours are picked from are too far
    /// apart, if the row of `row_len` bytes is too short, or if the machine has no such shuffles.
    pub(super) fn new(arch: Arch, axis: &Axis<i16>, channels: usize, row_len: usize) -> Option<Self> {
        let shuffles = shuffles(arch)?;
        let last = row_len.checked_sub(WINDOW)?;
        let len = axis.first.len() * channels;
        if axis.count != 2 {
            return None;
        }
        let mut pairs = Self { shuffles, from: Vec::new(), places: Vec::new(), weights: Vec::new(), len };
        let byte = |element: usize| axis.first[element / channels] * channels + element % channels;
        for begin in (0..len).step_by(TOGETHER) {
            let elements = begin..len.min(begin + TOGETHER);
            let from = elements.clone().map(byte).min()?.min(last);
            let (mut places, mut weights) = ([ZERO; 4 * TOGETHER], [0; 2 * TOGETHER]);
            for (index, element) in elements.enumerate() {
                for tap in 0..2 {
                    let weight = axis.weights[2 * (element / channels) + tap];
                    // Beyond the last pixel there is none.
                    if weight != 0 {
                        let place = byte(element) + tap * channels - from;
                        places[4 * index + 2 * tap] =
                            u8::try_from(place).ok().filter(|place| usize::from(*place) < WINDOW)?;
                        weights[2 * index + tap] = weight;
                    }
                }
            }
            pairs.from.push(u32::try_from(from).ok()?);
            pairs.places.push(places);
            pairs.weights.push(weights);
        }
        Some(pairs)
    }
}

/// The sums of a row.
struct RowSums<'a> {
    pairs: &'a Pairs,
    row: &'a [u8],
    sums: &'a mut [i32],
}

impl WithSimd for RowSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { pairs, row, sums } = self;
        let blocks = pairs.from.iter().zip(&pairs.places).zip(&pairs.weights);
        let (whole, rest) = sums[..pairs.len].as_chunks_mut::<TOGETHER>();
        let count = whole.len();
        for (((from, places), weights), sums) in blocks.zip(whole) {
            *sums = eight_sums(pairs.shuffles, row, *from, places, weights);
        }
        if !rest.is_empty() {
            let (from, places, weights) = (pairs.from[count], &pairs.places[count], &pairs.weights[count]);
            rest.copy_from_slice(&eight_sums(pairs.shuffles, row, from, places, weights)[..rest.len()]);
        }
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[inline(always)]
fn eight_sums(
    avx2: Shuffles,
    row: &[u8],
    from: u32,
    places: &[u8; 4 * TOGETHER],
    weights: &[i16; 2 * TOGETHER],
) -> [i32; TOGETHER] {
    let window = row[from as usize..].first_chunk::<WINDOW>().copied().unwrap_or_default();
    let bytes = avx2._mm256_broadcastsi128_si256(pulp::cast(window));
    let pixels = avx2._mm256_shuffle_epi8(bytes, pulp::cast(*places));
    pulp::cast(avx2._mm256_madd_epi16(pixels, pulp::cast(*weights)))
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn eight_sums(
    none: Shuffles,
    _: &[u8],
    _: u32,
    _: &[u8; 4 * TOGETHER],
    _: &[i16; 2 * TOGETHER],
) -> [i32; TOGETHER] {
    match none {}
}

/// The rows of the result: sums along rows of the source, each once, then down their columns.
pub(super) struct PairRows<'a> {
    input: Source<'a>,
    across: &'a Pairs,
    down: &'a Axis<i16>,
    bits: u32,
    /// A row of the source that cannot be read in place.
    row: Vec<u8>,
    /// The distance between slots.
    stride: usize,
    /// Sums of rows of the source; those of row y are in slot y modulo their number.
    slots: Aligned<i32>,
    /// The next row of the source to read.
    next: usize,
    arch: Arch,
}

impl<'a> PairRows<'a> {
    pub(super) fn new(
        input: Source<'a>,
        across: &'a Pairs,
        down: &'a Axis<i16>,
        bits: u32,
        arch: Arch,
    ) -> Self {
        let stride = across.len.next_multiple_of(LANES);
        Self {
            input,
            across,
            down,
            bits,
            row: Vec::new(),
            stride,
            slots: Aligned::filled(0, down.count * stride),
            next: 0,
            arch,
        }
    }
}

impl Rows<u8> for PairRows<'_> {
    fn part(&mut self, y: isize, at: usize, out: &mut [u8]) {
        let Self { input, across, down, bits, row, stride, slots, next, arch } = self;
        for y in down.unread(y, next) {
            let row = input.part_of_row(y, 0, input.raster.width * input.raster.channels, row);
            arch.dispatch(RowSums {
                pairs: across,
                row,
                sums: &mut slots[y % down.count * *stride..][..*stride],
            });
        }
        let (bits, slot) = (*bits, |y: usize| &slots[y % down.count * *stride..][..*stride]);
        let finish = move |sum: i32| ((sum + (1 << bits >> 1)) >> bits) as u8;
        down.sum(*arch, y, slot, at, out, finish);
    }
}
