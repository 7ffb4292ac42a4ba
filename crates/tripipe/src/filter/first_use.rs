//! Tuning of chains of filters when one is used for the first time over images of a size.

use std::fmt::Write as _;

use tripipe_device::Probe;
use tripipe_kernels::filter::reference::{Expected, Mismatch};
use tripipe_kernels::filter::{
    Border, Chain, ChainChoice, ChannelLayout, Parameters, PixelType, Raster, TimedChain, likely, plan,
};
use tripipe_kernels::{Plan, Role};
use tripipe_launch::ScalarType;

use crate::Context;
use crate::first_use::{MOST, Refusal, Request, SOURCE, TunedWork, noise, tuned};
use crate::operation_cache::key;

/// Rows of a band of the result that is compared with the reference.
const ROWS: usize = 8;

/// The parameters that are the fastest of those measured on this device for a chain over images of this size: measured now,
/// within the budget, if they were not before. `None` if tuning is off, or nothing could be measured.
pub(super) fn choose(
    context: &Context,
    chain: &Chain,
    [from, to]: [&Raster; 2],
    without: &ChainChoice,
) -> Option<ChainChoice> {
    let probe = context.probe()?;
    // Images are measured without gaps between rows.
    let [plain, plain_to] = [from, to].map(without_gaps);
    let request = Request {
        family: "filters",
        key: name(chain, &plain, &plain_to),
        estimated: without.parameters,
        fits: &|one: &Parameters| one.check(chain, from, to, probe).is_ok(),
        candidates: &|| {
            let mut all: Vec<Parameters> = without.runners_up.iter().map(|(other, _)| *other).collect();
            all.extend(likely(chain, &plain, &plain_to, probe, MOST));
            all.retain(|one| one.check(chain, &plain, &plain_to, probe).is_ok());
            all
        },
        work: &|most| Ok(Box::new(FilterWork::new(chain, [&plain, &plain_to], most)?)),
    };
    let found = tuned(context, &request)?;
    Some(ChainChoice {
        parameters: found.parameters,
        why: found.why,
        source: SOURCE.to_owned(),
        estimated_seconds: Some(found.seconds),
        runners_up: found.others,
    })
}

fn without_gaps(raster: &Raster) -> Raster {
    Raster::dense(raster.layout, raster.size(), raster.channels, raster.element)
}

/// The text of a chain over an image. Where it does not say everything, as for windows with weights of the user's, a hash does.
fn name(chain: &Chain, from: &Raster, to: &Raster) -> String {
    let timed = TimedChain { chain: chain.clone(), from: *from };
    let mut name = timed.to_string();
    if name.parse() != Ok(timed) {
        let _ = write!(name, " #{:016x}", key(&format!("{chain:?}")));
    }
    if from.layout != to.layout {
        name += " to the other layout";
    }
    name
}

/// A chain over an image of noise, and what some bands of its result are.
struct FilterWork {
    chain: Chain,
    from: Raster,
    to: Raster,
    source: Vec<u8>,
    result_bytes: usize,
    bands: Vec<(CheckedBand, Expected)>,
}

impl FilterWork {
    /// With images of at most `most` bytes together.
    ///
    /// # Errors
    /// They are larger, or empty; the chain is not for such images.
    fn new(chain: &Chain, [from, to]: [&Raster; 2], most: u64) -> Result<Self, Refusal> {
        let bytes = |raster: &Raster| {
            let elements = raster.elements().map_err(|error| Refusal::not_usable(&error))?;
            Ok::<_, Refusal>(elements * raster.element.bytes())
        };
        let (source_bytes, result_bytes) = (bytes(from)?, bytes(to)?);
        if source_bytes as u64 + result_bytes as u64 > most || result_bytes == 0 {
            return Err(Refusal::NotUsable("the image is too large to try kernels".to_owned()));
        }
        let scalar = match from.element {
            PixelType::F32 => ScalarType::F32,
            PixelType::F16 => ScalarType::F16,
            PixelType::U8 | PixelType::I16 | PixelType::U16 => ScalarType::U8,
        };
        let source = noise(scalar, source_bytes, 0.0, &mut fastrand::Rng::with_seed(1));
        let expected = |band: CheckedBand| {
            let [part, result] = [from, to].map(|raster| with_rows(raster, band.rows.len()));
            let seen = rows_of(from, &source, &band.rows);
            let expected = Expected::new(chain, &part, &seen, &result);
            Ok((band, expected.map_err(|error| Refusal::not_usable(&error))?))
        };
        let bands = bands(chain, from.height).into_iter().map(expected).collect::<Result<_, Refusal>>()?;
        Ok(Self { chain: chain.clone(), from: *from, to: *to, source, result_bytes, bands })
    }
}

impl TunedWork<Parameters> for FilterWork {
    fn inputs(&self) -> Vec<(Role, &[u8])> {
        vec![(Role::Source, &self.source)]
    }

    fn result(&self) -> (Role, usize) {
        (Role::Result, self.result_bytes)
    }

    /// A pixel that is not written differs after the two.
    fn fills(&self) -> &'static [u8] {
        &[0xFF, 0]
    }

    fn plan(&self, parameters: &Parameters, probe: &Probe) -> Result<Plan<'static>, Refusal> {
        plan(&self.chain, &self.from, &self.to, parameters, probe)
            .map_err(|error| Refusal::not_usable(&error))
    }

    fn check(&self, found: &[u8], _: u8) -> Result<(), Refusal> {
        for (band, expected) in &self.bands {
            let seen = rows_of(&self.to, found, &band.rows);
            expected.verify_rows(&seen, band.checked.clone()).map_err(|error| match error {
                Mismatch::Filter(error) => Refusal::not_usable(&error),
                _ => Refusal::Wrong(format!("of the rows from {}: {error}", band.rows[0])),
            })?;
        }
        Ok(())
    }
}

/// Rows of an image, some of whose results do not depend on any other row.
struct CheckedBand {
    rows: Vec<usize>,
    /// Which of them.
    checked: std::ops::Range<usize>,
}

/// Bands at the top, in the middle and at the bottom of an image; all of it if it has few rows.
fn bands(chain: &Chain, height: usize) -> Vec<CheckedBand> {
    let reach: usize = chain.stages.iter().map(|stage| stage.window().height / 2).sum();
    if height <= 3 * (ROWS + 2 * reach) {
        return vec![CheckedBand { rows: (0..height).collect(), checked: 0..height }];
    }
    let band = |first: usize| {
        // Rows that reach over an edge see the other end of the image.
        let (before, after) = if chain.border == Border::Wrap {
            (reach, reach)
        } else {
            (reach.min(first), reach.min(height - ROWS - first))
        };
        let begin = first + height - before;
        let rows = (begin..begin + before + ROWS + after).map(|row| row % height).collect();
        CheckedBand { rows, checked: before..before + ROWS }
    };
    [0, (height - ROWS) / 2, height - ROWS].map(band).into()
}

fn with_rows(raster: &Raster, height: usize) -> Raster {
    without_gaps(&Raster { height, ..*raster })
}

/// These rows of an image without gaps.
fn rows_of(raster: &Raster, bytes: &[u8], rows: &[usize]) -> Vec<u8> {
    let (planes, samples) = match raster.layout {
        ChannelLayout::Packed => (1, raster.channels),
        ChannelLayout::Planar => (raster.channels, 1),
    };
    let row_bytes = raster.width * samples * raster.element.bytes();
    let mut found = Vec::with_capacity(planes * rows.len() * row_bytes);
    for plane in 0..planes {
        for row in rows {
            let at = (plane * raster.height + row) * row_bytes;
            found.extend_from_slice(&bytes[at..at + row_bytes]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use tripipe_kernels::filter::reference::apply;

    use super::*;
    use crate::Size;

    fn whole(chain: &Chain, from: &Raster, to: &Raster, source: &[u8]) -> Vec<u8> {
        let mut result = vec![0; to.elements().unwrap() * to.element.bytes()];
        apply(chain, from, source, to, &mut result).unwrap();
        result
    }

    /// The bands of a result are those of the whole image's, with every border, and an error in a checked row is found.
    #[test]
    fn bands_are_parts_of_the_whole() {
        for border in [Border::Reflect101, Border::Wrap, Border::Constant(7.0), Border::None] {
            for (text, channels, planar, element) in [
                ("gaussian:5,laplace", 3, false, PixelType::U8),
                ("gray,median:3", 3, true, PixelType::U8),
                ("box:3", 1, false, PixelType::F32),
            ] {
                let chain = Chain::parse(text, border).unwrap();
                for height in [3, 64] {
                    let from = if planar { Raster::planar } else { Raster::packed }(
                        Size::new(9, height),
                        channels,
                        element,
                    );
                    let to = without_gaps(&chain.apply_to(&from).unwrap());
                    let work = FilterWork::new(&chain, [&from, &to], 1 << 20).unwrap();
                    assert_eq!(work.bands.len(), if height == 3 { 1 } else { 3 });
                    let right = whole(&chain, &from, &to, &work.source);
                    assert!(work.check(&right, 0).is_ok(), "{text} {border:?} {height}");
                    let row = right.len() / height / if planar { to.channels } else { 1 };
                    let of_rows = [0, height / 2, height - 1].map(|at| at * row + to.element.bytes() - 1);
                    for at in of_rows.into_iter().chain([right.len() - 1]) {
                        let mut wrong = right.clone();
                        wrong[at] ^= 0x40;
                        let found = work.check(&wrong, 0);
                        assert!(matches!(found, Err(Refusal::Wrong(_))), "{text} {border:?} {height}: {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_and_empty_images_are_not_tried() {
        let chain = Chain::parse("laplace", Border::Reflect101).unwrap();
        for size in [Size::square(64), Size::new(0, 5)] {
            let from = Raster::packed(size, 3, PixelType::U8);
            assert!(matches!(FilterWork::new(&chain, [&from, &from], 4000), Err(Refusal::NotUsable(_))));
        }
    }

    #[test]
    fn different_windows_have_different_names() {
        use tripipe_kernels::filter::{Linear, Stage};
        let from = Raster::packed(Size::new(64, 48), 1, PixelType::F32);
        let of = |weights: &[f32]| {
            let linear = Linear::full_real(Size::new(3, 1), weights.to_vec()).unwrap();
            name(&Chain::one(Stage::Linear(linear), Border::Reflect101), &from, &from)
        };
        assert_ne!(of(&[1.0, 2.0, 3.0]), of(&[1.0, 2.0, 4.0]));
        assert_eq!(of(&[1.0, 2.0, 3.0]), of(&[1.0, 2.0, 3.0]));
        let laplace = Chain::parse("laplace", Border::Wrap).unwrap();
        assert_eq!(name(&laplace, &from, &from), "laplace 64x48x1 f32 border=wrap");
    }
}
