//! Runs steps on a picture or a frame, on a device.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use half::f16;
use image::{ColorType, DynamicImage};
use tripipe::filter::{Border, Chain, Color, PixelType, Raster, Semiplanar, Stage};
use tripipe::{Arithmetic, Context, Device, Error, Explanation, Image, Pixel, Size, Vector};
use tripipe_launch::{CpuLoad, CpuTime};

use super::alpha::{apart, together};
use super::steps::{Resize, Rotate, Step, Steps, check_constant};
use crate::commands::{context, failed, load_line};
use crate::files::frame::ChromaOrder;
use crate::files::memory;
use crate::files::picture::{self, Picture, is_deep};

/// The input of the steps.
pub(crate) enum FilterInput {
    Picture(Picture),
    /// A frame and its layout.
    Frame(Vec<u8>, Semiplanar),
}

/// The output of the steps.
pub(super) enum FilterOutput {
    Picture(OnDevice),
    /// A frame without padding.
    Frame(Vec<u8>),
}

/// A picture that the steps made, still on the device.
pub(super) struct OnDevice {
    pixels: DevicePixels,
    pub(super) color: ColorType,
    icc_profile: Option<Vec<u8>>,
}

/// The result of the steps, and how it was made.
pub(crate) struct Filtered {
    pub(super) made: FilterOutput,
    pub(super) done: Done,
}

/// How a result was made.
pub(super) struct Done {
    context: Context,
    /// Wall time of the first run, including start-up and copies.
    total_seconds: f64,
    /// How busy the host's CPU was in the further runs of an explanation.
    cpu_load: Option<CpuLoad>,
}

impl Done {
    /// A line for an explanation: how busy the host's CPU was. Empty on a virtual GPU, where it was the simulator's.
    pub(super) fn load(&self) -> String {
        self.cpu_load.map_or_else(String::new, |load| load_line(load, EXPLAINED_RUNS - 1))
    }

    /// Adds the time until the host could access the result.
    pub(super) fn add_seconds(&mut self, seconds: f64) {
        self.total_seconds += seconds;
    }

    /// An explanation of each operation, in the order in which they ran; with `ceilings`, compared with the device's measured ceilings.
    pub(super) fn explain(&self, ceilings: bool) -> Vec<Explanation> {
        if ceilings {
            // Without ceilings, the explanations contain less, and say so.
            let _ = self.context.measure_ceilings(Arithmetic::I16);
        }
        let mut all = self.context.explain();
        all.sort_by_key(|one| one.id);
        all
    }

    /// Device, kernels and times in one line; for several operations, one line each.
    pub(super) fn summary(&self) -> String {
        match &self.explain(false)[..] {
            [] => "there was nothing to do".to_owned(),
            [one] => super::summary_line(one, self.total_seconds),
            several => {
                let lines =
                    several.iter().map(|one| format!("{}: {}", one.operation, super::kernel_and_time(one)));
                let total = format!(
                    "{}: {} in all, with start-up and copies",
                    self.context.name(),
                    tripipe_report::time(self.total_seconds)
                );
                lines.chain([total]).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Filtered {
    /// A copy of the picture; device, kernels and times as [`Done::summary`].
    ///
    /// # Errors
    /// The result is a frame; the device is gone.
    pub(crate) fn into_picture(mut self) -> Result<(Picture, String)> {
        let begun = Instant::now();
        let FilterOutput::Picture(OnDevice { pixels, icc_profile, .. }) = self.made else {
            bail!("the result is a frame, not a picture")
        };
        let Some(picture) = pixels.to_picture()? else {
            bail!("there are no pictures of {}", pixels.color.raster().element)
        };
        self.done.add_seconds(begun.elapsed().as_secs_f64());
        Ok((Picture::with_profile(picture, icc_profile), self.done.summary()))
    }
}

/// What the steps should produce.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedResult {
    /// A frame instead of a picture.
    pub(crate) frame: Option<ChromaOrder>,
    /// Whether the CPU path may run the operations that it runs faster.
    pub(crate) falls_back: bool,
    /// Whether times are explained: the steps then run several times, because the first run is not representative.
    pub(crate) explained: bool,
}

/// The number of runs for explained times.
const EXPLAINED_RUNS: usize = 5;

/// Runs the steps on the source; `name` is its name in messages.
///
/// # Errors
/// The steps do not support such a picture, or produce pixels that a picture cannot have; the device cannot hold it,
/// or failed.
pub(crate) fn filter(
    device: &Device,
    wanted: WantedResult,
    steps: &Steps,
    source: FilterInput,
    name: &str,
) -> Result<Filtered> {
    let start = Instant::now();
    let failed = |error: Error| failed(&format!("{name} could not be filtered"), device, &error);
    let context = context(device, wanted.falls_back, wanted.explained).map_err(failed)?;
    let (loaded, icc_profile) = load(&context, source).map_err(failed)?;
    // Unless it is used again, the source is freed as soon as the first step has read it.
    let again = wanted.explained.then(|| loaded.clone());
    let pixels = run(&context, steps, loaded, failed)?;
    let made = if let Some(kind) = wanted.frame {
        FilterOutput::Frame(to_frame(&pixels, &context, kind, failed)?)
    } else {
        let color = pixels.color_type()?;
        FilterOutput::Picture(OnDevice { pixels, color, icc_profile })
    };
    let total_seconds = start.elapsed().as_secs_f64();
    let is_virtual = matches!(device, Device::Virtual(_));
    let mut cpu = CpuTime::default();
    if let Some(again) = again {
        for _ in 1..EXPLAINED_RUNS {
            cpu.measure(|| run(&context, steps, again.clone(), failed))?;
        }
    }
    Ok(Filtered { made, done: Done { context, total_seconds, cpu_load: cpu.load().filter(|_| !is_virtual) } })
}

/// Runs the steps on the source. An error of any of its operations is returned.
fn run(
    context: &Context,
    steps: &Steps,
    loaded: Loaded,
    failed: impl Fn(Error) -> anyhow::Error + Copy,
) -> Result<DevicePixels> {
    let mut pixels = match loaded {
        Loaded::Pixels(pixels) => pixels,
        Loaded::Frame(frame, layout) => {
            let color = DeviceImage::U8(Image::from_frame(&frame, &layout, 3).map_err(failed)?);
            DevicePixels { color: Rc::new(color), alpha: None }
        }
    };
    for step in &steps.0 {
        pixels = match step {
            Step::Chain(chain) => {
                check_constant(chain, pixels.color.raster())?;
                pixels.through(chain).map_err(failed)?
            }
            Step::Resize(resize) => {
                let from = pixels.color.raster();
                check_room(resize.size(from.size()), from)?;
                pixels.each(|image| image.resized(resize)).map_err(failed)?
            }
            Step::Rotate(rotate) => {
                let from = pixels.color.raster();
                check_room(rotate.size(from.size())?, from)?;
                pixels.each(|image| image.rotated(*rotate)).map_err(failed)?
            }
            Step::DropAlpha => pixels.without_alpha().map_err(failed)?,
        };
    }
    context.finish().map_err(failed)?;
    Ok(pixels)
}

fn check_room(Size { width, height }: Size, from: &Raster) -> Result<()> {
    let bytes = [height, from.channels, from.element.bytes()];
    let bytes = bytes.into_iter().try_fold(width, usize::checked_mul).map(|bytes| bytes as u64);
    // As much as can be read again.
    ensure!(
        bytes.is_some_and(|bytes| bytes <= picture::DECODED_MAX),
        "a picture of {width}x{height} has more than 2 GiB; choose smaller extents"
    );
    // The result on the device and on the host, and its file.
    let bytes = bytes.and_then(|bytes| bytes.checked_mul(3));
    memory::check(&format!("a picture of {width}x{height}"), bytes, "choose smaller extents")
}

/// A source on the device.
#[derive(Clone)]
enum Loaded {
    Pixels(DevicePixels),
    Frame(Rc<Vector<u8>>, Semiplanar),
}

/// Moves a source to the device; also its colour profile.
fn load(context: &Context, source: FilterInput) -> Result<(Loaded, Option<Vec<u8>>), Error> {
    match source {
        FilterInput::Picture(picture) => {
            let (pixels, icc_profile) = picture.into_parts();
            let pixels = match apart(&pixels) {
                Some([gray, alpha]) => {
                    drop(pixels);
                    let [color, alpha] =
                        [gray, alpha].map(|plane| DeviceImage::of(context, plane).map(Rc::new));
                    DevicePixels { color: color?, alpha: Some(alpha?) }
                }
                None => DevicePixels { color: Rc::new(DeviceImage::of(context, pixels)?), alpha: None },
            };
            Ok((Loaded::Pixels(pixels), icc_profile))
        }
        FilterInput::Frame(bytes, layout) => {
            Ok((Loaded::Frame(Rc::new(Vector::from_vec(context, bytes)?), layout), None))
        }
    }
}

/// An image of any type.
enum DeviceImage {
    U8(Image<u8>),
    I16(Image<i16>),
    U16(Image<u16>),
    F16(Image<f16>),
    F32(Image<f32>),
}

/// An image on the device. Clones share its memory.
#[derive(Clone)]
struct DevicePixels {
    /// Gray, RGB, or RGBA.
    color: Rc<DeviceImage>,
    /// The alpha of gray, which has no image of two channels.
    alpha: Option<Rc<DeviceImage>>,
}

impl DeviceImage {
    fn of(context: &Context, pixels: DynamicImage) -> Result<Self, Error> {
        Ok(if is_deep(pixels.color()) {
            Self::U16(Image::from_owned_picture(context, pixels)?)
        } else {
            Self::U8(Image::from_owned_picture(context, pixels)?)
        })
    }

    /// The image as a picture; `None` if there are no pictures of this type.
    fn to_picture(&self) -> Result<Option<DynamicImage>, Error> {
        match self {
            Self::U8(image) => image.to_picture().map(Some),
            Self::U16(image) => image.to_picture().map(Some),
            Self::I16(_) | Self::F16(_) | Self::F32(_) => Ok(None),
        }
    }

    fn raster(&self) -> &Raster {
        match self {
            Self::U8(image) => image.raster(),
            Self::I16(image) => image.raster(),
            Self::U16(image) => image.raster(),
            Self::F16(image) => image.raster(),
            Self::F32(image) => image.raster(),
        }
    }

    fn through(&self, chain: &Chain) -> Result<Self, Error> {
        fn filtered<T: Pixel>(image: &Image<T>, chain: &Chain) -> Result<DeviceImage, Error> {
            Ok(match chain.apply_to(image.raster())?.element {
                PixelType::U8 => DeviceImage::U8(image.filtered(chain)?),
                PixelType::I16 => DeviceImage::I16(image.filtered(chain)?),
                PixelType::U16 => DeviceImage::U16(image.filtered(chain)?),
                PixelType::F16 => DeviceImage::F16(image.filtered(chain)?),
                PixelType::F32 => DeviceImage::F32(image.filtered(chain)?),
            })
        }
        match self {
            Self::U8(image) => filtered(image, chain),
            Self::I16(image) => filtered(image, chain),
            Self::U16(image) => filtered(image, chain),
            Self::F16(image) => filtered(image, chain),
            Self::F32(image) => filtered(image, chain),
        }
    }

    fn resized(&self, resize: &Resize) -> Result<Self, Error> {
        let from = self.raster().size();
        let to = resize.size(from);
        let how = resize.how(from, to);
        Ok(match self {
            Self::U8(image) => Self::U8(image.resized(to, how)?),
            Self::I16(image) => Self::I16(image.resized(to, how)?),
            Self::U16(image) => Self::U16(image.resized(to, how)?),
            Self::F16(image) => Self::F16(image.resized(to, how)?),
            Self::F32(image) => Self::F32(image.resized(to, how)?),
        })
    }

    fn rotated(&self, Rotate { degrees, how }: Rotate) -> Result<Self, Error> {
        let outside = Border::Constant(0.0);
        Ok(match self {
            Self::U8(image) => Self::U8(image.rotated(degrees, true, how, outside)?),
            Self::I16(image) => Self::I16(image.rotated(degrees, true, how, outside)?),
            Self::U16(image) => Self::U16(image.rotated(degrees, true, how, outside)?),
            Self::F16(image) => Self::F16(image.rotated(degrees, true, how, outside)?),
            Self::F32(image) => Self::F32(image.rotated(degrees, true, how, outside)?),
        })
    }
}

fn one(stage: Stage) -> Chain {
    Chain::one(stage, Border::Replicate)
}

impl DevicePixels {
    /// Applies filters. Separate alpha goes through the conversions among them, and is otherwise unchanged.
    fn through(&self, chain: &Chain) -> Result<Self, Error> {
        let converts: Vec<Stage> =
            chain.stages.iter().filter(|stage| matches!(stage, Stage::Convert { .. })).cloned().collect();
        let alpha = match &self.alpha {
            Some(alpha) if !converts.is_empty() => {
                Some(Rc::new(alpha.through(&chain.with_stages(converts))?))
            }
            alpha => alpha.clone(),
        };
        Ok(Self { color: Rc::new(self.color.through(chain)?), alpha })
    }

    /// The same of colours and separate alpha.
    fn each(&self, made: impl Fn(&DeviceImage) -> Result<DeviceImage, Error>) -> Result<Self, Error> {
        let alpha = self.alpha.as_ref().map(|alpha| made(alpha).map(Rc::new)).transpose()?;
        Ok(Self { color: Rc::new(made(&self.color)?), alpha })
    }

    fn without_alpha(&self) -> Result<Self, Error> {
        match self.alpha {
            Some(_) => Ok(Self { color: Rc::clone(&self.color), alpha: None }),
            None => self.through(&one(Stage::Color(Color::DropAlpha))),
        }
    }

    /// The channels of the picture.
    ///
    /// # Errors
    /// There are no pictures of this type.
    fn color_type(&self) -> Result<ColorType> {
        let Raster { channels, element, .. } = *self.color.raster();
        let channels = channels + usize::from(self.alpha.is_some());
        Ok(match (element, channels) {
            (PixelType::U8, 1) => ColorType::L8,
            (PixelType::U8, 2) => ColorType::La8,
            (PixelType::U8, 3) => ColorType::Rgb8,
            (PixelType::U8, _) => ColorType::Rgba8,
            (PixelType::U16, 1) => ColorType::L16,
            (PixelType::U16, 2) => ColorType::La16,
            (PixelType::U16, 3) => ColorType::Rgb16,
            (PixelType::U16, _) => ColorType::Rgba16,
            _ => bail!(
                "the filters make pixels of {element}, but pictures have 8 or 16 bits: end with \
                convert:u8[:SCALE[:OFFSET]] or convert:u16[:SCALE[:OFFSET]]"
            ),
        })
    }

    /// A copy as a picture; `None` if there are no pictures of this type.
    fn to_picture(&self) -> Result<Option<DynamicImage>, Error> {
        let Some(color) = self.color.to_picture()? else { return Ok(None) };
        let alpha = self.alpha.as_ref().map(|alpha| alpha.to_picture()).transpose()?.flatten();
        Ok(Some(alpha.and_then(|alpha| together(&color, &alpha)).unwrap_or(color)))
    }
}

impl OnDevice {
    /// Width and height.
    pub(super) fn size(&self) -> [u32; 2] {
        let Raster { width, height, .. } = *self.pixels.color.raster();
        [width, height].map(|extent| extent as u32)
    }

    /// Calls `look` with the pixels, where they are if the host can access them, and with the colour profile.
    ///
    /// # Errors
    /// The device is gone; no room for a copy.
    pub(super) fn with<R>(
        &self,
        look: impl FnOnce(picture::Pixels<'_>, Option<&Vec<u8>>) -> R,
    ) -> Result<R, Error> {
        let profile = self.icc_profile.as_ref();
        let look =
            |bytes: &[u8]| look(picture::Pixels { bytes, color: self.color, size: self.size() }, profile);
        match &*self.pixels.color {
            DeviceImage::U8(image) if self.is_dense(image) => image.map(look),
            DeviceImage::U16(image) if self.is_dense(image) => {
                image.map(|pixels| look(bytemuck::cast_slice(pixels)))
            }
            _ => {
                let picture = self.pixels.to_picture()?;
                Ok(look(picture.as_ref().map_or(&[], DynamicImage::as_bytes)))
            }
        }
    }

    /// Whether the bytes of the image are those of the picture.
    fn is_dense<T: Pixel>(&self, image: &Image<T>) -> bool {
        let dense = Raster::packed(image.size(), image.channels(), T::PIXEL);
        self.pixels.alpha.is_none() && *image.raster() == dense
    }
}

/// A frame without padding.
fn to_frame(
    pixels: &DevicePixels,
    context: &Context,
    kind: ChromaOrder,
    failed: impl Fn(Error) -> anyhow::Error + Copy,
) -> Result<Vec<u8>> {
    let color = &*pixels.color;
    if pixels.alpha.is_some() || color.raster().channels == 4 {
        bail!("{kind} has no alpha channel; end the filters with drop-alpha");
    }
    let colored;
    let rgb = if color.raster().channels == 1 {
        colored = color.through(&one(Stage::Color(Color::GrayToRgb))).map_err(failed)?;
        &colored
    } else {
        color
    };
    let DeviceImage::U8(rgb) = rgb else {
        bail!(
            "{kind} has 8 bits per channel, but the filters make pixels of {}: end with \
            convert:u8[:SCALE[:OFFSET]]",
            rgb.raster().element
        )
    };
    let layout = kind.dense(rgb.size());
    let mut frame = Vector::zeros(context, layout.bytes()).map_err(failed)?;
    rgb.to_frame(&mut frame, &layout).and_then(tripipe::Event::wait).map_err(failed)?;
    frame.into_vec().map_err(failed)
}

/// The channels of a picture in words: `RGB`, `gray + alpha of 16 bits`.
pub(super) fn channels(color: ColorType) -> Cow<'static, str> {
    let name = match color.channel_count() {
        1 => "gray",
        2 => "gray + alpha",
        3 => "RGB",
        _ => "RGBA",
    };
    if is_deep(color) { format!("{name} of 16 bits").into() } else { name.into() }
}
