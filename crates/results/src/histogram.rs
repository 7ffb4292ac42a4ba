//! `tripipe histogram`: how often each value is in a picture.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The histograms of a picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Histogram {
    /// The picture's name.
    pub picture: String,
    /// Its width in pixels.
    pub width: usize,
    /// Its height in pixels.
    pub height: usize,
    /// Bits of a channel.
    pub bits: u32,
    /// Values of a bin.
    pub bin_width: u32,
    /// The channels.
    pub channels: Vec<ChannelHistogram>,
}

/// The histogram of a channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ChannelHistogram {
    /// `gray`, `red`, `green`, `blue` or `alpha`.
    pub name: String,
    /// The lowest bin that has pixels.
    pub min: usize,
    /// The highest bin that has pixels.
    pub max: usize,
    /// The median bin.
    pub median: usize,
    /// The mean bin.
    pub mean: f64,
    /// Pixels in each bin.
    pub counts: Vec<u32>,
}
