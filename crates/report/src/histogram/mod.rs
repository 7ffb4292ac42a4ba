//! The frequency of each value in a picture, as text and JSON.

mod json;
mod text;

pub use json::json;
pub use text::text;

/// Bins of a channel.
pub const BINS: usize = 256;

/// The histograms of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The picture's name in messages.
    pub picture: &'a str,
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// Bits of a channel: 8, or 16, where a bin contains 256 values.
    pub bits: u32,
    /// One for each channel.
    pub channels: &'a [Channel],
    /// The device that counted, in one line.
    pub said: &'a str,
}

/// One channel of a picture. Values are bins: for 16 bits the upper 8.
#[derive(Clone, Debug)]
pub struct Channel {
    /// `gray`, `red`, `green`, `blue`, `alpha`.
    pub name: &'static str,
    /// Pixels in each bin.
    pub counts: [u32; BINS],
    /// The smallest nonempty bin.
    pub least: usize,
    /// The largest nonempty bin.
    pub most: usize,
    /// The median bin.
    pub median: usize,
    /// The mean bin of all pixels.
    pub mean: f64,
}
