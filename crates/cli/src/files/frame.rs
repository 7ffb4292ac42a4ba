//! Frames from cameras and decoders: raw bytes without a header.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};
use tripipe::Size;
use tripipe::filter::Semiplanar;

use super::input::{self, shown_input};
use super::{memory, picture};

/// The order of the chroma samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChromaOrder {
    /// U before V.
    Nv12,
    /// V before U.
    Nv21,
}

impl ChromaOrder {
    /// The kind of that name; `None` if the name is unknown.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.to_lowercase().as_str() {
            "nv12" => Some(Self::Nv12),
            "nv21" => Some(Self::Nv21),
            _ => None,
        }
    }

    /// The layout of a frame of that kind without padding.
    pub(crate) fn dense(self, size: Size) -> Semiplanar {
        match self {
            Self::Nv12 => Semiplanar::nv12(size),
            Self::Nv21 => Semiplanar::nv21(size),
        }
    }
}

impl fmt::Display for ChromaOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nv12 => "NV12",
            Self::Nv21 => "NV21",
        })
    }
}

/// The layout of a frame in its file: `nv12:1920x1080`, with an optional third number, the bytes from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    pub(crate) kind: ChromaOrder,
    pub(crate) size: Size,
    pitch: Option<usize>,
}

/// The maximum width or height in pixels, the same as for a picture.
const EXTENT_MAX: usize = 1 << 20;

impl FromStr for FrameLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "{what}; want nv12:WIDTHxHEIGHT or nv21:WIDTHxHEIGHT, with :PITCH after it if rows are \
                PITCH bytes apart"
            )
        };
        let mut parts = text.split(':');
        let kind = parts.next().and_then(ChromaOrder::named).ok_or_else(|| wrong("no such layout"))?;
        let size = parts.next().and_then(|size| size.split_once('x'));
        let extent = |text: &str| text.parse().ok().filter(|extent| (1..=EXTENT_MAX).contains(extent));
        let size = size.and_then(|(width, height)| Some(Size::new(extent(width)?, extent(height)?)));
        let size = size.ok_or_else(|| wrong("a frame needs a size"))?;
        let row = size.width + size.width % 2;
        let pitch = match parts.next() {
            None => None,
            Some(text) => {
                let pitch = text.parse().ok().filter(|pitch| (row..=4 * EXTENT_MAX).contains(pitch));
                Some(pitch.ok_or_else(|| wrong(&format!("rows are at least {row} bytes apart")))?)
            }
        };
        if parts.next().is_some() {
            return Err(wrong("there is text after it"));
        }
        Ok(Self { kind, size, pitch })
    }
}

impl FrameLayout {
    /// The layout of luma and chroma.
    pub(crate) fn planes(&self) -> Semiplanar {
        let dense = self.kind.dense(self.size);
        match self.pitch {
            None => dense,
            Some(pitch) => {
                Semiplanar { luma: [0, pitch], chroma: [pitch * self.size.height, pitch], ..dense }
            }
        }
    }

    /// Reads a frame; the path `-` is standard input.
    ///
    /// # Errors
    /// The file does not exist; it has fewer bytes than the frame, or so many more that the extents must be wrong.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let shown = shown_input(path);
        let want = self.planes().bytes();
        let what = format!("a frame of {}", self.size);
        memory::check(&what, want.checked_mul(8).map(|bytes| bytes as u64), "take a smaller one")?;
        let mut bytes = input::open_or_standard(path, "a frame")?.bytes(&shown, picture::DECODED_MAX)?;
        // The last row may be padded or not.
        let rows = self.size.height + self.size.height.div_ceil(2);
        let most = self.pitch.map_or(want, |pitch| want.max(pitch * rows));
        if !(want..=most).contains(&bytes.len()) {
            bail!(
                "{shown} has {} bytes, but {} of {} has {want}; check its size and the bytes from row to row",
                bytes.len(),
                self.kind,
                self.size
            );
        }
        bytes.truncate(want);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_read() {
        let planes = |text: &str| text.parse::<FrameLayout>().map(|layout| layout.planes());
        assert_eq!(planes("nv12:4x2"), Ok(Semiplanar::nv12(Size::new(4, 2))));
        assert_eq!(planes("NV21:5x3"), Ok(Semiplanar::nv21(Size::new(5, 3))));
        let padded = planes("nv12:6x4:16").unwrap();
        assert_eq!((padded.luma, padded.chroma, padded.bytes()), ([0, 16], [64, 16], 64 + 16 + 6));
        for text in [
            "nv12",
            "nv13:4x2",
            "nv12:4",
            "nv12:0x2",
            "nv12:4x2:3",
            "nv12:5x2:5",
            "nv12:4x2:8:1",
            "nv12:-4x2",
        ] {
            assert!(text.parse::<FrameLayout>().is_err(), "{text}");
        }
    }
}
