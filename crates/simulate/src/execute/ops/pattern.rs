//! The pattern of the addresses that a warp accesses.

use crate::execute::code::Inst;
use crate::execute::memory::parts;
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::State;

/// The pattern of the active lanes' addresses.
pub(super) enum Pattern {
    /// All equal.
    Same(u64),
    /// Lane `l` at `first + l * step`, for all lanes up to the last active one.
    Steps { first: u64, step: usize, count: usize },
    /// All lanes are active; each group of eight is as in `Steps`. All are in one object, from the lowest address on.
    Eights { lowest: u64, span: usize, step: usize },
    /// In one object, from the lowest address on.
    Near { lowest: u64, span: usize },
    /// In several objects, or far apart.
    Apart,
}

/// Addresses in one object within this distance are looked up at once, even if not all bytes are needed.
const NEAR: u64 = 1 << 20;

pub(super) fn pattern(s: &State<'_>, i: &Inst) -> Pattern {
    let addresses = s.warp.rows.words(i.args[0]);
    if addresses.len() == 1 {
        return Pattern::Same(addresses[0]);
    }
    let Ok(addresses) = <&[u64; WIDTH]>::try_from(addresses) else { return Pattern::Apart };
    if s.mask == u64::MAX {
        return s.arch.dispatch(AllLanes(addresses));
    }
    let count = WIDTH - s.mask.leading_zeros() as usize;
    let first = addresses[0];
    // Only without gaps among the first lanes, because an inactive lane may hold any address.
    if s.mask & s.mask.wrapping_add(1) == 0 {
        let step = if count > 1 { addresses[1].wrapping_sub(first) } else { 0 };
        // With a larger step, reading the bytes between costs more than separate reads.
        let regular = step <= 64
            && addresses[..count]
                .iter()
                .enumerate()
                .all(|(lane, address)| *address == first.wrapping_add(step.wrapping_mul(lane as u64)));
        if regular {
            return Pattern::Steps { first, step: step as usize, count };
        }
    }
    let (low, high) = lanes(s.mask)
        .fold((u64::MAX, 0), |(low, high), lane| (low.min(addresses[lane]), high.max(addresses[lane])));
    near(low, high)
}

/// The lowest address of the active lanes and the distance to the highest, if they are in one object and close
/// together.
pub(super) fn stretch(s: &State<'_>, i: &Inst) -> Option<(u64, usize)> {
    match pattern(s, i) {
        Pattern::Same(address) => Some((address, 0)),
        Pattern::Steps { first, step, count } => Some((first, step * (count - 1))),
        Pattern::Eights { lowest, span, .. } | Pattern::Near { lowest, span } => Some((lowest, span)),
        Pattern::Apart => None,
    }
}

fn near(low: u64, high: u64) -> Pattern {
    // The application's addresses pass as one object here. If they are several, the access as a whole is not inside.
    if parts(low).0 == parts(high).0 && high - low < NEAR {
        Pattern::Near { lowest: low, span: (high - low) as usize }
    } else {
        Pattern::Apart
    }
}

/// The addresses of all 64 lanes.
struct AllLanes<'a>(&'a [u64; WIDTH]);

impl pulp::WithSimd for AllLanes<'_> {
    type Output = Pattern;

    #[allow(clippy::inline_always, reason = "else it is compiled for the baseline")]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Pattern {
        let addresses = self.0;
        let first = addresses[0];
        let step = addresses[1].wrapping_sub(first);
        // Deviation from `step` of the distance from each lane to the next, by position in its group of eight; the
        // last eight lanes have one position less.
        let differ = |differ: &mut [u64; 8], from: usize| {
            for (place, differ) in differ.iter_mut().enumerate() {
                *differ |= addresses[from + place + 1].wrapping_sub(addresses[from + place]) ^ step;
            }
        };
        let mut places = [0; 8];
        for from in (0..WIDTH - 8).step_by(8) {
            differ(&mut places, from);
        }
        let [ref within @ .., between] = places;
        let mut last = [0; 8];
        differ(&mut last, WIDTH - 9);
        let [_, last @ ..] = last;
        let apart = within.iter().zip(last).fold(0, |apart, (within, last)| apart | within | last);
        let irregular = apart | between;
        if irregular == 0 && step <= 64 {
            return if step == 0 {
                Pattern::Same(first)
            } else {
                Pattern::Steps { first, step: step as usize, count: WIDTH }
            };
        }
        let mut low = u64::MAX;
        let mut high = 0;
        for address in addresses {
            low = low.min(*address);
            high = high.max(*address);
        }
        match near(low, high) {
            Pattern::Near { lowest, span } if apart == 0 && step <= 64 => {
                Pattern::Eights { lowest, span, step: step as usize }
            }
            other => other,
        }
    }
}
