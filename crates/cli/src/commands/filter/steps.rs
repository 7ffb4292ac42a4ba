//! The steps of the command line: filters, and steps that change a picture's extents.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use tripipe::Size;
use tripipe::filter::{AffineMap, Border, Chain, Color, FilterError, Interpolation, Raster, Stage};

use crate::commands::did_you_mean;

/// Steps besides the library's filters: name, numbers, description.
const OTHERS: [(&str, &str, &str); 3] = [
    ("resize", "WIDTHxHEIGHT[:HOW]", "a size; HOW: nearest, linear, area, cubic, lanczos4; 640x will do"),
    ("rotate", "DEGREES[:HOW]", "turned anticlockwise, 0 around it; HOW: nearest, linear (default), cubic"),
    ("copy", "", "the unchanged picture, to write it in another format"),
];

/// A sequence of steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Steps(pub(super) Vec<Step>);

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// A sequence of filters.
    Chain(Chain),
    /// A change of extents.
    Resize(Resize),
    /// A rotation.
    Rotate(Rotate),
    /// Removes alpha.
    DropAlpha,
}

/// A change of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resize {
    /// Width and height; an extent that is omitted keeps the aspect ratio.
    size: [Option<usize>; 2],
    how: Option<Interpolation>,
}

/// A rotation about the centre, so that all of the picture is in the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rotate {
    pub(super) degrees: f64,
    pub(super) how: Interpolation,
}

impl Rotate {
    fn parse(text: &str, numbers: &str) -> Result<Self> {
        let wrong =
            || anyhow::anyhow!("`{text}`: want rotate:DEGREES[:nearest|linear|cubic], such as rotate:-7.5");
        let (degrees, how) = numbers.split_once(':').unwrap_or((numbers, "linear"));
        let how: Interpolation = how.parse().map_err(|_| wrong())?;
        let is_offered =
            matches!(how, Interpolation::Nearest | Interpolation::Bilinear | Interpolation::Cubic);
        match degrees.parse::<f64>() {
            Ok(degrees) if degrees.is_finite() && is_offered => Ok(Self { degrees, how }),
            _ => Err(wrong()),
        }
    }

    /// The extents of the result.
    ///
    /// # Errors
    /// None of an angle that was parsed.
    pub(super) fn size(&self, from: Size) -> Result<Size, FilterError> {
        Ok(AffineMap::rotation(self.degrees, from, true)?.1)
    }
}

/// The maximum width or height in pixels.
const EXTENT_MAX: usize = 1 << 20;

impl Resize {
    fn parse(text: &str, numbers: &str) -> Result<Self> {
        let wrong = || {
            anyhow::anyhow!(
                "`{text}`: want resize:WIDTHxHEIGHT[:nearest|linear|area|cubic|lanczos4], each extent 1 to {EXTENT_MAX}"
            )
        };
        let (size, how) = match numbers.split_once(':') {
            Some((size, how)) => (size, Some(how.parse().map_err(|_| wrong())?)),
            None => (numbers, None),
        };
        let (width, height) = size.split_once('x').ok_or_else(wrong)?;
        let extent = |text: &str| match text {
            "" => Ok(None),
            text => match text.parse() {
                Ok(extent) if (1..=EXTENT_MAX).contains(&extent) => Ok(Some(extent)),
                _ => Err(wrong()),
            },
        };
        let size = [extent(width)?, extent(height)?];
        if size == [None; 2] { Err(wrong()) } else { Ok(Self { size, how }) }
    }

    /// The extents of the result.
    pub(super) fn size(&self, from: Size) -> Size {
        let follow = |of: usize, from: usize, to: usize| {
            ((of as f64 * to as f64 / from as f64).round() as usize).clamp(1, EXTENT_MAX)
        };
        let Size { width, height } = from;
        match self.size {
            [Some(to_width), Some(to_height)] => Size::new(to_width, to_height),
            [Some(to_width), None] => Size::new(to_width, follow(height, width, to_width)),
            [None, Some(to_height)] => Size::new(follow(width, height, to_height), to_height),
            [None, None] => from,
        }
    }

    /// The interpolation: the requested one; by default, area if the image shrinks and bilinear if a side grows.
    pub(super) fn how(&self, from: Size, to: Size) -> Interpolation {
        let shrinks = to.width <= from.width && to.height <= from.height;
        self.how.unwrap_or(if shrinks { Interpolation::Area } else { Interpolation::Bilinear })
    }
}

/// The names of all steps, for the help text.
pub(super) fn names() -> String {
    let mut text = "Filters:\n".to_owned();
    for (name, numbers, about) in Stage::names().iter().chain(&OTHERS) {
        let colon = if numbers.is_empty() { "" } else { ":" };
        let _ = writeln!(text, "  {:<28} {about}", format!("{name}{colon}{numbers}"));
    }
    text
}

/// Parses a sequence of filters without other steps.
///
/// # Errors
/// An unknown filter, or numbers that it does not take.
pub(crate) fn parse_chain(text: &str, border: Border) -> Result<Chain> {
    // In an image with four channels, the fourth is always alpha.
    let mut chain = Chain::new(Vec::new(), border).keep_alpha(true);
    for stage in text.split(',') {
        chain.stages.push(parse_stage(stage)?);
    }
    Ok(chain)
}

fn parse_stage(text: &str) -> Result<Stage> {
    match text.parse() {
        Ok(stage) => Ok(stage),
        Err(FilterError::UnknownStage { name, .. }) => {
            let names: Vec<&str> = Stage::names().iter().chain(&OTHERS).map(|(name, ..)| *name).collect();
            match did_you_mean(&name, &names) {
                _ if names.contains(&name.as_str()) => {
                    bail!("`{name}` cannot be used here")
                }
                Some(near) => bail!(
                    "there is no filter `{name}`; did you mean {near}? (`tripipe filter --help` lists them)"
                ),
                None if name.is_empty() => bail!("a filter is missing before or after a comma"),
                None if Path::new(&name).is_file() => {
                    bail!("there is no filter `{name}`, but a file: the filters come first, then the picture")
                }
                None => bail!("there is no filter `{name}`; there are {}", names.join(", ")),
            }
        }
        Err(error) => Err(error.into()),
    }
}

impl Steps {
    /// Parses steps separated by commas.
    ///
    /// # Errors
    /// An unknown step, or numbers that it does not take; no step.
    pub(super) fn parse(text: &str, border: Border) -> Result<Self> {
        if text.trim().is_empty() {
            bail!("the list of filters is empty; name one, or use `copy` to write the picture unchanged");
        }
        let mut steps = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (name, numbers) = part.split_once(':').unwrap_or((part, ""));
            match name {
                "copy" if numbers.is_empty() => {}
                "copy" => bail!("`{part}`: want copy"),
                "resize" => steps.push(Step::Resize(Resize::parse(part, numbers)?)),
                "rotate" => steps.push(Step::Rotate(Rotate::parse(part, numbers)?)),
                _ => match (parse_stage(part)?, steps.last_mut()) {
                    (Stage::Color(Color::DropAlpha), _) => steps.push(Step::DropAlpha),
                    (stage, Some(Step::Chain(chain))) => chain.stages.push(stage),
                    (stage, _) => {
                        steps.push(Step::Chain(Chain::new(vec![stage], border).keep_alpha(true)));
                    }
                },
            }
        }
        Ok(Self(steps))
    }

    /// Steps that consist of one chain of filters.
    pub(crate) fn of(chain: Chain) -> Self {
        Self(vec![Step::Chain(chain.keep_alpha(true))])
    }
}

/// Checks that the border's constant is representable in every integer image that a window reads.
///
/// # Errors
/// It is not representable, or a stage does not support such an image.
pub(super) fn check_constant(chain: &Chain, from: &Raster) -> Result<()> {
    let Border::Constant(value) = chain.border else { return Ok(()) };
    let mut raster = *from;
    for stage in &chain.stages {
        if stage.window() != Size::square(1)
            && let Some([low, high]) = raster.element.range()
            && !(f64::from(low)..=f64::from(high)).contains(&f64::from(value))
        {
            bail!(
                "--border constant:{value}: pixels of {} hold {low} to {high}; choose a value in that range, or begin with \
                 convert:f32",
                raster.element
            );
        }
        raster = stage.apply_to(&raster)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<Step> {
        Steps::parse(text, Border::Replicate).unwrap().0
    }

    #[test]
    fn filters_in_a_row_are_one_chain() {
        let found = steps("gray,gaussian:5,resize:640x480:area,laplace");
        assert_eq!(found.len(), 3);
        assert!(matches!(&found[0], Step::Chain(chain) if chain.stages.len() == 2));
        let resize = Resize { size: [Some(640), Some(480)], how: Some(Interpolation::Area) };
        assert_eq!(found[1], Step::Resize(resize));
        assert!(steps("copy").is_empty());
        assert_eq!(steps("drop-alpha"), [Step::DropAlpha]);
    }

    #[test]
    fn an_extent_that_is_left_out_follows_the_other() {
        let size = |text: &str, from| match &steps(text)[..] {
            [Step::Resize(resize)] => resize.size(from),
            other => panic!("{other:?}"),
        };
        assert_eq!(size("resize:640x", Size::new(1920, 1080)), Size::new(640, 360));
        assert_eq!(size("resize:x100", Size::new(3, 200)), Size::new(2, 100));
        assert_eq!(size("resize:x1", Size::new(1, 200)), Size::square(1));
    }

    #[test]
    fn unknown_steps_are_rejected_with_a_suggestion() {
        for (text, says) in [
            ("lapalce", "did you mean laplace"),
            ("guassian:5", "did you mean gaussian"),
            ("resise:4x4", "did you mean resize"),
            ("zzz", "there are laplace"),
            ("resize", "resize:WIDTHxHEIGHT"),
            ("resize:0x4", "resize:WIDTHxHEIGHT"),
            ("resize:4", "resize:WIDTHxHEIGHT"),
            ("resize:x", "resize:WIDTHxHEIGHT"),
            ("resize:4x4:best", "nearest|linear|area|cubic"),
            ("rotate", "rotate:DEGREES"),
            ("rotate:nan", "rotate:DEGREES"),
            ("rotate:9:area", "nearest|linear|cubic"),
            ("copy:1", "want copy"),
            ("", "copy"),
            ("laplace,,laplace", "a filter is missing"),
            ("laplace,", "a filter is missing"),
            ("Cargo.toml", "the filters come first"),
        ] {
            let error = Steps::parse(text, Border::None).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
