//! The files that a launch file refers to.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use image::DynamicImage;
use tripipe_launch_file::{Array, Files, Pixels};

use crate::files::originals;
use crate::files::output::plain;
use crate::files::{npy, picture};

/// Reads files relative to the launch file's folder.
pub(super) struct Disk<'d> {
    pub(super) folder: &'d Path,
}

impl Files for Disk<'_> {
    fn bytes(&mut self, path: &str, at_most: u64) -> Result<Vec<u8>, String> {
        bytes(&self.folder.join(path), at_most).map_err(|error| format!("{error:#}"))
    }

    fn array(&mut self, path: &str, at_most: u64) -> Result<Array, String> {
        let path = self.folder.join(path);
        let array = originals::keep(&path).and_then(|()| npy::read_array(&path, at_most));
        array.map_err(|error| format!("{error:#}"))
    }

    fn picture(&mut self, path: &str, channels: Option<usize>, at_most: u64) -> Result<Pixels, String> {
        let path = self.folder.join(path);
        let picture = originals::keep(&path).and_then(|()| picture::read_at_most(&path, at_most));
        let found = picture.map_err(|error| format!("{error:#}"))?.pixels;
        let pixels = match channels.unwrap_or(usize::from(found.color().channel_count())) {
            1 => DynamicImage::ImageLuma8(found.into_luma8()),
            2 => DynamicImage::ImageLumaA8(found.into_luma_alpha8()),
            3 => DynamicImage::ImageRgb8(found.into_rgb8()),
            _ => DynamicImage::ImageRgba8(found.into_rgba8()),
        };
        Ok(Pixels {
            width: pixels.width() as usize,
            height: pixels.height() as usize,
            channels: usize::from(pixels.color().channel_count()),
            bytes: pixels.into_bytes(),
        })
    }
}

/// The contents of a file of at most `at_most` bytes.
pub(super) fn bytes(path: &Path, at_most: u64) -> Result<Vec<u8>> {
    originals::keep(path)?;
    let shown = path.display();
    let failed = |error: std::io::Error| anyhow!("{shown} cannot be read: {}; check the path", plain(&error));
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        bail!("{shown} is a folder; name a file in it");
    }
    if metadata.len() > at_most {
        bail!("{shown} has {} bytes instead of {at_most}", metadata.len());
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    // The length of a device or a pipe is unknown.
    file.by_ref().take(at_most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > at_most {
        bail!("{shown} has more than {at_most} bytes, the expected size");
    }
    Ok(bytes)
}
