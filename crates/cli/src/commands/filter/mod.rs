//! `tripipe filter`: applies a chain of filters to a picture.

mod alpha;
mod steps;
mod work;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use tripipe::Explanation;
use tripipe::filter::Border;
use tripipe_report::time;

pub(crate) use self::steps::{Steps, parse_chain};
pub(crate) use self::work::{FilterInput, WantedResult, filter};
use self::work::{FilterOutput, Filtered, channels};
use super::{DeviceArgument, failed, note, say_on};
use crate::files::frame::{ChromaOrder, FrameLayout};
use crate::files::input::{self, shown_input};
use crate::files::output::{Output, OutputPath, shown_output};
use crate::files::picture::{self, PictureFormat};
use crate::finish::Finish;
use crate::progress::Progress;
use crate::terminal;
use crate::trace::TraceArgument;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe filter laplace photo.jpg sharp.png
  tripipe filter gray,gaussian:5,laplace8 photo.jpg edges.png --device opencl --explain
  tripipe filter resize:640x photo.jpg small.png
  tripipe filter copy frame.nv12 frame.png --from nv12:1920x1080
  curl -s https://example.org/photo.jpg | tripipe filter gray - - --to jpeg > gray.jpg";

/// Apply filters to a picture.
///
/// Each colour channel is filtered separately; alpha is not filtered, and is resized with the picture. Pictures are
/// PNG, JPEG, PPM, PGM, PAM, BMP, TIFF or WebP with 8 or 16 bits per channel (gray, gray + alpha, RGB, RGBA), up to 2
/// GiB when decoded. The input format is detected from the contents; the output format follows from the file name or
/// --to. 16 bits stay 16 bits (PNG, TIFF, PPM, PGM, PAM); convert:u8:0.00389105 reduces them to 8. For an animation or
/// a file with several pages, only the first picture is read, and a note says so. Gray + alpha becomes RGBA if the
/// output format does not support it (BMP, TIFF). A small picture is filtered on the CPU path if that is faster,
/// unless --device names a device.
///
/// Raw camera frames have no header: --from nv12:1920x1080 reads one, and an output that ends in .nv12 or .nv21, or
/// --to nv12, writes one (BT.601, limited range). The path - is standard input or standard output; standard output is
/// a PNG unless --to gives another format.
#[derive(Args)]
#[command(after_long_help = format!("{EXAMPLES}\n\n{}", steps::names()))]
pub(crate) struct Filter {
    /// Filters, separated by commas, e.g. `laplace` or `gray,gaussian:5,sobel`; all names are listed below.
    filters: String,
    /// Picture to read; - for standard input.
    input: PathBuf,
    #[command(flatten)]
    output: OutputPath,
    /// Pixels outside the picture: none (the border is copied from the input), constant[:VALUE], replicate, reflect,
    /// reflect101, wrap.
    #[arg(long, default_value_t = Border::Reflect101)]
    border: Border,
    /// The input is a raw frame: nv12:WIDTHxHEIGHT or nv21:WIDTHxHEIGHT, with :PITCH for rows that many bytes apart.
    #[arg(long, value_name = "LAYOUT")]
    from: Option<FrameLayout>,
    /// Output format, independent of the file name: png, jpeg, ppm, pgm, pam, bmp, tiff, webp, nv12, nv21.
    #[arg(long, value_name = "FORMAT", value_parser = encoding)]
    to: Option<Encoding>,
    /// Reports what was chosen, why, what bounds it, and the alternatives.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    device: DeviceArgument,
    #[command(flatten)]
    pub(crate) trace: TraceArgument,
}

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Picture(PictureFormat),
    Frame(ChromaOrder),
}

impl Encoding {
    fn named(name: &str) -> Option<Self> {
        PictureFormat::named(name).map(Self::Picture).or_else(|| ChromaOrder::named(name).map(Self::Frame))
    }

    /// The format that an output's name implies; PNG for standard output.
    fn of(path: &Path) -> Result<Self> {
        if input::is_standard(path) {
            return Ok(Self::Picture(PictureFormat::Png));
        }
        match path.extension().and_then(|ending| ChromaOrder::named(&ending.to_string_lossy())) {
            Some(kind) => Ok(Self::Frame(kind)),
            None => PictureFormat::of(path).map(Self::Picture),
        }
    }

    fn frame(self) -> Option<ChromaOrder> {
        match self {
            Self::Picture(_) => None,
            Self::Frame(kind) => Some(kind),
        }
    }
}

fn encoding(name: &str) -> Result<Encoding, String> {
    Encoding::named(name)
        .ok_or_else(|| "want png, jpeg, ppm, pgm, pam, bmp, tiff, webp, nv12 or nv21".to_owned())
}

impl Filter {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let steps = Steps::parse(&self.filters, self.border)?;
        let to = self.to.map_or_else(|| Encoding::of(self.output.path()), Ok)?;
        let device = self.device.resolve()?;
        let output = Output::open_or_standard(self.output.path())?;
        let name = shown_input(&self.input);
        let progress = Progress::spinner(format!("reading {name}"));
        let source = self.source()?;
        say_on(&progress, "filtering", &device);
        let wanted =
            WantedResult { frame: to.frame(), falls_back: self.device.falls_back(), explained: self.explain };
        let (what, size) = described(&source);
        let Filtered { made, mut done } = filter(&device, wanted, &steps, source, &name)?;
        drop(progress);
        let mut out = output.report_destination(out, self.explain);
        let made = match (made, to) {
            (FilterOutput::Picture(result), Encoding::Picture(format)) => {
                let (color, extents) = (result.color, result.size());
                format.check(self.output.path(), color, extents)?;
                let begun = Instant::now();
                let written = result.with(|pixels, profile| {
                    done.add_seconds(begun.elapsed().as_secs_f64());
                    output.write(|sink| picture::write_pixels(sink, format, pixels, profile))
                });
                written
                    .map_err(|error| failed(&format!("{name} could not be filtered"), &device, &error))??;
                let now = channels(color);
                if now == what && extents == size {
                    String::new()
                } else {
                    format!(" {}x{} {now}", extents[0], extents[1])
                }
            }
            (FilterOutput::Frame(bytes), Encoding::Frame(kind)) => {
                output.write(|sink| Ok(sink.write_all(&bytes)?))?;
                format!(" {kind}")
            }
            _ => bail!("{} cannot store the result of the filters", shown_output(self.output.path())),
        };
        let said = if self.explain {
            let each: Vec<String> = done.explain(true).iter().map(ToString::to_string).collect();
            each.join("\n") + &done.load()
        } else {
            format!("{}\n", done.summary())
        };
        let said = terminal::shown(said);
        let [width, height] = size;
        writeln!(out, "{name} {width}x{height} {what} -> {}{made}", shown_output(self.output.path()))?;
        write!(out, "{said}")?;
        Ok(Finish::Clean)
    }

    fn source(&self) -> Result<FilterInput> {
        if let Some(layout) = &self.from {
            return Ok(FilterInput::Frame(layout.read(&self.input)?, layout.planes()));
        }
        if let Some(kind) =
            self.input.extension().and_then(|ending| ChromaOrder::named(&ending.to_string_lossy()))
        {
            bail!(
                "{} is a raw frame by its name, which does not give its size; add --from {}:WIDTHxHEIGHT",
                shown_input(&self.input),
                kind.to_string().to_lowercase()
            );
        }
        let picture = picture::read(&self.input)?;
        if let Some(left_out) = picture.left_out {
            note(&format!("{} is {left_out}; only its first picture is read", shown_input(&self.input)));
        }
        Ok(FilterInput::Picture(picture))
    }
}

/// A description of a source, and its extents.
fn described(source: &FilterInput) -> (String, [u32; 2]) {
    match source {
        FilterInput::Picture(picture) => {
            let pixels = &picture.pixels;
            (channels(pixels.color()).into_owned(), [pixels.width(), pixels.height()])
        }
        FilterInput::Frame(_, layout) => {
            let kind = if layout.v_first { ChromaOrder::Nv21 } else { ChromaOrder::Nv12 };
            (kind.to_string(), [layout.size.width as u32, layout.size.height as u32])
        }
    }
}

/// Device, kernel and times in one line.
pub(super) fn summary_line(explanation: &Explanation, total_seconds: f64) -> String {
    let Explanation { device, why, fallback, .. } = explanation;
    let instead = fallback.as_ref().map(|reason| format!("; the CPU path, as {reason}")).unwrap_or_default();
    let took = time_text(explanation);
    terminal::shown(format!(
        "{device}: {} ({why}) {took}, {} {}{instead}",
        explanation.kernel,
        time(total_seconds),
        if explanation.is_virtual { "here to compute the result" } else { "with start-up and copies" },
    ))
}

/// Kernel and time of one of several operations.
fn kernel_and_time(explanation: &Explanation) -> String {
    let Explanation { kernel, fallback, .. } = explanation;
    let instead = fallback.as_ref().map(|reason| format!("; the CPU path, as {reason}")).unwrap_or_default();
    format!("{kernel} {}{instead}", time_text(explanation))
}

fn time_text(explanation: &Explanation) -> String {
    match (explanation.measured_seconds, &explanation.predicted) {
        (Some(seconds), _) => format!("took {}", time(seconds)),
        (None, Some(predicted)) if explanation.is_virtual => {
            format!("is predicted to take {}", time(predicted.seconds))
        }
        _ => "ran".to_owned(),
    }
}
