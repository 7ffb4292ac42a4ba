//! How often each value occurs in a picture, as text and JSON.

mod json;
mod text;

pub use json::json;
pub use text::text;

/// Bins of a channel.
pub const BINS: usize = 256;

/// The histograms of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What messages call the picture.
    pub picture: &'a str,
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// Bits of a channel: 8, or 16, of which a bin holds 256 values.
    pub bits: u32,
    /// One for each channel.
    pub channels: &'a [Channel],
    /// Who counted, in one line.
    pub said: &'a str,
}

/// One channel of a picture. Values are bins: of 16 bits the upper 8.
#[derive(Clone, Debug)]
pub struct Channel {
    /// `gray`, `red`, `green`, `blue`, `alpha`.
    pub name: &'static str,
    /// Pixels in each bin.
    pub counts: [u32; BINS],
    /// The smallest bin that has a pixel.
    pub least: usize,
    /// The largest one.
    pub most: usize,
    /// The bin of the pixel in the middle.
    pub median: usize,
    /// The mean of all pixels' bins.
    pub mean: f64,
}
