//! Files that memory objects are written to after a run.

use anyhow::{Result, anyhow};
use image::{DynamicImage, GrayAlphaImage, GrayImage, RgbImage, RgbaImage};
use tripipe_launch_file::{Dump, Pixels, Staged, StagedMemory};

use super::Description;
use crate::files::output::Output;
use crate::files::picture::{Picture, PictureFormat};
use crate::files::{npy, picture};

/// The outputs of a launch, opened before it runs, so that a wrong path is reported first.
pub(crate) struct Dumps(Vec<Option<Output>>);

impl Dumps {
    /// Opens a file for every memory object that is written to one.
    ///
    /// # Errors
    /// A folder does not exist or is not writable; a picture format cannot hold the picture.
    pub(crate) fn open(description: &Description, staged: &Staged) -> Result<Self> {
        let open = |memory: &StagedMemory| {
            let Some(path) = memory.dump.as_ref().and_then(Dump::path) else { return Ok(None) };
            let path = description.path(path);
            if let Some(Dump::Picture { .. }) = memory.dump {
                let empty = vec![0; memory.array.bytes().unwrap_or(0)];
                let picture = shown(memory, &empty)?;
                PictureFormat::of(&path)?.check(
                    &path,
                    picture.color(),
                    [picture.width(), picture.height()],
                )?;
            }
            Output::open(&path).map(Some)
        };
        staged.memory.iter().map(open).collect::<Result<_>>().map(Self)
    }

    /// Writes `bytes`, the contents of memory object `index`, if it is written to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(
        &mut self,
        description: &Description,
        index: usize,
        memory: &StagedMemory,
        bytes: &[u8],
    ) -> Result<()> {
        let Some(output) = self.0.get_mut(index).and_then(Option::take) else { return Ok(()) };
        match &memory.dump {
            Some(Dump::Npy { .. }) => output.write(|sink| {
                let array = &memory.array;
                npy::write_array(sink, &array.number_extents(), array.element.scalar(), &array.dense(bytes))
            }),
            Some(Dump::Picture { path }) => {
                let format = PictureFormat::of(&description.path(path))?;
                let picture = Picture::new(shown(memory, bytes)?);
                output.write(|sink| picture::write(sink, format, &picture))
            }
            _ => output.write(|sink| Ok(sink.write_all(bytes)?)),
        }
    }
}

fn shown(memory: &StagedMemory, bytes: &[u8]) -> Result<DynamicImage> {
    let no_picture =
        || anyhow!("`{}` cannot be written as a picture: {}; choose .npy", memory.name, memory.array);
    let pixels = Pixels::from_array(&memory.array, memory.order, bytes).ok_or_else(no_picture)?;
    let too_large = |_| anyhow!("`{}` is too large for a picture: {}", memory.name, memory.array);
    let width = u32::try_from(pixels.width).map_err(too_large)?;
    let height = u32::try_from(pixels.height).map_err(too_large)?;
    let bytes = pixels.bytes;
    match pixels.channels {
        1 => GrayImage::from_raw(width, height, bytes).map(DynamicImage::ImageLuma8),
        2 => GrayAlphaImage::from_raw(width, height, bytes).map(DynamicImage::ImageLumaA8),
        3 => RgbImage::from_raw(width, height, bytes).map(DynamicImage::ImageRgb8),
        _ => RgbaImage::from_raw(width, height, bytes).map(DynamicImage::ImageRgba8),
    }
    .ok_or_else(no_picture)
}
