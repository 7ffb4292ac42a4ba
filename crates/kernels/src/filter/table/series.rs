//! Raw measurements: times of chains over several images with several parameters on one device.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::filter::{Border, Chain, ChannelLayout, FilterError, Parameters, PixelType, Raster, Size};
use crate::table::{TimeOf, TimeSeries, TimedSubject};

/// Times of filters on one device. In a file: by parameters, a line for each chain and image, e.g.
/// `laplace 640x480x3 u8 812.0 us`.
pub type ChainSeries = TimeSeries<TimedChain>;

/// The time of a chain with certain parameters.
pub type ChainTime = TimeOf<TimedChain>;

/// A chain over an image without gaps. The text form is the chain, the image and its elements, then the words that
/// differ from their defaults: `gray,gaussian:5 1920x1080x3 u8 border=wrap keep-alpha planar`.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedChain {
    /// The chain. A stage without a name has no text form that parses back.
    pub chain: Chain,
    /// The image that it is applied to.
    pub from: Raster,
}

impl TimedSubject for TimedChain {
    type Parameters = Parameters;

    const IS_PREDICTED: bool = true;
}

/// Text that is not a chain over an image.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TimedChainError {
    /// A word that cannot be parsed.
    #[error("`{word}`: want {want}")]
    Word {
        /// The word; empty when it is missing.
        word: String,
        /// What is expected.
        want: &'static str,
    },
    /// A chain that is not valid, or not for such an image.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

impl fmt::Display for TimedChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Raster { width, height, channels, element, layout, .. } = self.from;
        write!(f, "{} {width}x{height}x{channels} {element}", self.chain)?;
        if self.chain.border != Border::default() {
            write!(f, " border={}", self.chain.border)?;
        }
        if self.chain.keep_alpha {
            f.write_str(" keep-alpha")?;
        }
        if layout == ChannelLayout::Planar { f.write_str(" planar") } else { Ok(()) }
    }
}

impl FromStr for TimedChain {
    type Err = TimedChainError;

    /// # Errors
    /// A word that is missing, unknown or malformed; a chain that does not accept the image.
    fn from_str(text: &str) -> Result<Self, TimedChainError> {
        let wrong = |word: &str, want| TimedChainError::Word { word: word.to_owned(), want };
        let mut words = text.split_whitespace();
        let mut chain = Chain::parse(words.next().unwrap_or_default(), Border::default())?;
        let word = words.next().unwrap_or_default();
        let extents = word.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>();
        let &[width, height, channels] = extents.as_deref().unwrap_or_default() else {
            return Err(wrong(word, "an image as in 1920x1080x3 (width, height, channels)"));
        };
        let word = words.next().unwrap_or_default();
        let element = PixelType::ALL.into_iter().find(|element| element.to_string() == word);
        let element = element.ok_or_else(|| wrong(word, "u8, i16, u16, f16 or f32"))?;
        let mut planar = false;
        for word in words {
            match word.split_once('=') {
                Some(("border", value)) => chain.border = value.parse()?,
                None if word == "keep-alpha" => chain.keep_alpha = true,
                None if word == "planar" => planar = true,
                _ => return Err(wrong(word, "border=, keep-alpha or planar")),
            }
        }
        let raster = if planar { Raster::planar } else { Raster::packed };
        let from = raster(Size::new(width, height), channels, element);
        from.elements()?;
        chain.apply_to(&from)?.elements()?;
        Ok(Self { chain, from })
    }
}
