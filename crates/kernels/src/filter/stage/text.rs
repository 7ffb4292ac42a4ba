//! Stages as text, for command lines, logs and explanations.
//!
//! A stage is a name and its numbers, `gaussian:5:1.2`; a chain is a list of stages separated by commas,
//! `gray,gaussian:5,laplace8`.

use std::fmt;
use std::str::FromStr;

use super::super::{
    Axis, Bilateral, Border, Chain, Color, FilterError, Gradient, Interpolation, Linear, Morphology,
    Neighbourhood, PixelType, Rank, Size, Stage, Taps,
};
use super::weights;

/// A name, its numbers, and what it does.
type Name = (&'static str, &'static str, &'static str);

/// A row of [`SUMS`].
type NamedSum = (&'static str, &'static str, fn() -> Linear);

/// Weighted sums without numbers: the name, what it does, and the filter.
const SUMS: &[NamedSum] = &[
    ("laplace", "sharpen: 9 x the pixel - its 8 neighbours", Linear::laplace_sharpen),
    ("laplace4", "Laplace operator over 4 neighbours", Linear::laplace4),
    ("laplace8", "Laplace operator over 8 neighbours", Linear::laplace8),
    ("sharpen", "sharpen over 4 neighbours", Linear::sharpen),
    ("sobel-x", "Sobel's derivative along x", Linear::sobel_x),
    ("sobel-y", "Sobel's derivative along y", Linear::sobel_y),
    ("scharr-x", "Scharr's derivative along x", Linear::scharr_x),
    ("scharr-y", "Scharr's derivative along y", Linear::scharr_y),
];

/// The other names.
const OTHERS: &[Name] = &[
    ("sobel", "", "length of Sobel's gradient, |dx| + |dy|"),
    ("scharr", "", "length of Scharr's gradient, |dx| + |dy|"),
    ("gaussian", "SIZE[:SIGMA]", "Gaussian blur"),
    ("box", "SIZE", "mean of SIZE x SIZE pixels"),
    ("unsharp", "SIZE[:AMOUNT]", "sharpen by the difference to a Gaussian blur, amount 1 by default"),
    ("weights", "ROWS[:DIVISOR]", "any weights, such as 1 2 1/2 4 2/1 2 1:16"),
    ("median", "SIZE", "median of SIZE x SIZE pixels"),
    ("percentile", "SIZE:PERCENT", "the pixel that so many percent of SIZE x SIZE are below"),
    ("rank", "SIZE:PLACE", "the pixel at a place in the order of SIZE x SIZE, 0 for the smallest"),
    ("erode", "SIZE", "smallest of SIZE x SIZE pixels"),
    ("dilate", "SIZE", "largest of SIZE x SIZE pixels"),
    ("erode-cross", "SIZE", "smallest of the middle row and column"),
    ("dilate-cross", "SIZE", "largest of the middle row and column"),
    ("bilateral", "SIZE:COLOR:SPACE", "blur that keeps edges; sigmas in colour and in pixels"),
    ("gray", "", "RGB to gray"),
    ("gray-bgr", "", "BGR to gray"),
    ("rgb", "", "gray to RGB"),
    ("swap-red-blue", "", "RGB to BGR, and back"),
    ("drop-alpha", "", "RGBA to RGB"),
    ("add-alpha", "", "RGB to RGBA"),
    ("yuv", "", "RGB to YUV, as OpenCV's COLOR_RGB2YUV"),
    ("from-yuv", "", "YUV to RGB"),
    ("ycrcb", "", "RGB to Y Cr Cb (JPEG's), as OpenCV's COLOR_RGB2YCrCb"),
    ("from-ycrcb", "", "Y Cr Cb to RGB"),
    ("threshold", "LEVEL", "255 where a value is above LEVEL, else 0, in bytes"),
    (
        "convert",
        "TYPE[:SCALE[:OFFSET]]",
        "another element type (u8, i16, u16, f16, f32), each x SCALE + OFFSET",
    ),
];

const STAGES: [Name; SUMS.len() + OTHERS.len()] = {
    let mut all = [("", "", ""); SUMS.len() + OTHERS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < SUMS.len() { (SUMS[at].0, "", SUMS[at].1) } else { OTHERS[at - SUMS.len()] };
        at += 1;
    }
    all
};

impl Stage {
    /// The stages that [`Stage::from_str`] accepts: name, numbers, and what each does.
    pub fn names() -> &'static [(&'static str, &'static str, &'static str)] {
        &STAGES
    }
}

impl FromStr for Stage {
    type Err = FilterError;

    /// # Errors
    /// An unknown name; numbers that are malformed, too many, too few, or invalid.
    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parts = text.trim().split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<&str> = parts.collect();
        let Some((_, takes, _)) = STAGES.iter().find(|(known, ..)| *known == name) else {
            let names: Vec<&str> = STAGES.iter().map(|(name, ..)| *name).collect();
            return Err(FilterError::UnknownStage { name: name.to_owned(), names: names.join(", ") });
        };
        let wrong = || FilterError::StageNumbers {
            text: text.to_owned(),
            want: if takes.is_empty() { name.to_owned() } else { format!("{name}:{takes}") },
        };
        let size =
            |place: usize| numbers.get(place).and_then(|text| text.parse::<usize>().ok()).ok_or_else(wrong);
        let real = |place: usize| match numbers.get(place) {
            None => Ok(None),
            Some(text) => text.parse::<f32>().map(Some).map_err(|_| wrong()),
        };
        let most = match takes.matches(':').count() {
            _ if takes.is_empty() => 0,
            colons => colons + 1,
        };
        if numbers.len() > most {
            return Err(wrong());
        }
        let square = || size(0).map(Size::square);
        let linear = |linear: Linear| Ok(Self::Linear(linear));
        if let Some((.., sum)) = SUMS.iter().find(|(known, ..)| *known == name) {
            return linear(sum());
        }
        match name {
            "sobel" => Ok(Self::Gradient(Gradient::Sobel)),
            "scharr" => Ok(Self::Gradient(Gradient::Scharr)),
            "gaussian" => linear(Linear::gaussian(size(0)?, real(1)?)?),
            "box" => linear(Linear::mean(square()?)?),
            "unsharp" => linear(Linear::unsharp(size(0)?, None, real(1)?.unwrap_or(1.0))?),
            "weights" => {
                let rows = numbers.first().ok_or_else(wrong)?;
                linear(weights::parse(rows, numbers.get(1).copied()).ok_or_else(wrong)??)
            }
            "median" => Self::ranked(size(0)?, size(0)?.saturating_mul(size(0)?) / 2),
            "percentile" => {
                let percent = real(1)?.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(wrong)?;
                let pixels = size(0)?.saturating_mul(size(0)?);
                // As SciPy's: rounded down, and the largest for 100.
                let rank = (pixels as f64 * f64::from(percent) / 100.0) as usize;
                Self::ranked(size(0)?, rank.min(pixels.saturating_sub(1)))
            }
            "rank" => Self::ranked(size(0)?, size(1)?),
            "threshold" => Self::threshold(real(0)?.ok_or_else(wrong)?),
            "erode" => Ok(Self::Morphology(Morphology::Erode(Neighbourhood::Rectangle(square()?)))),
            "dilate" => Ok(Self::Morphology(Morphology::Dilate(Neighbourhood::Rectangle(square()?)))),
            "erode-cross" => Ok(Self::Morphology(Morphology::Erode(Neighbourhood::Cross(square()?)))),
            "dilate-cross" => Ok(Self::Morphology(Morphology::Dilate(Neighbourhood::Cross(square()?)))),
            "bilateral" => Ok(Self::Bilateral(Bilateral {
                size: size(0)?,
                sigma_color: real(1)?.ok_or_else(wrong)?,
                sigma_space: real(2)?.ok_or_else(wrong)?,
            })),
            "gray" => Ok(Self::Color(Color::RgbToGray)),
            "gray-bgr" => Ok(Self::Color(Color::BgrToGray)),
            "rgb" => Ok(Self::Color(Color::GrayToRgb)),
            "swap-red-blue" => Ok(Self::Color(Color::SwapRedBlue)),
            "drop-alpha" => Ok(Self::Color(Color::DropAlpha)),
            "add-alpha" => Ok(Self::Color(Color::AddAlpha)),
            "yuv" => Ok(Self::Color(Color::RgbToYuv)),
            "from-yuv" => Ok(Self::Color(Color::YuvToRgb)),
            "ycrcb" => Ok(Self::Color(Color::RgbToYcrcb)),
            "from-ycrcb" => Ok(Self::Color(Color::YcrcbToRgb)),
            _ => {
                let to = numbers.first().and_then(|text| element(text)).ok_or_else(wrong)?;
                let (scale, offset) = (real(1)?.unwrap_or(1.0), real(2)?.unwrap_or(0.0));
                Ok(Self::Convert { to, scale, offset })
            }
        }
    }
}

fn element(text: &str) -> Option<PixelType> {
    PixelType::ALL.into_iter().find(|element| element.to_string() == text)
}

/// The Rust name: `u8`.
impl fmt::Display for PixelType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::F16 => "f16",
            Self::F32 => "f32",
        })
    }
}

/// The name that parses back to the stage where it has one, otherwise a description: `separable 9x9`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear(linear) => {
                if let Some(name) = linear_name(linear) {
                    return f.write_str(&name);
                }
                let kind = if linear.real_factors(Axis::Across).is_some() { "separable" } else { "window" };
                write!(f, "{kind} {}", linear.size())
            }
            Self::Gradient(Gradient::Sobel) => f.write_str("sobel"),
            Self::Gradient(Gradient::Scharr) => f.write_str("scharr"),
            Self::Median { size } => write!(f, "median:{size}"),
            Self::Rank(Rank { size, rank }) if *rank == size * size / 2 => write!(f, "median:{size}"),
            Self::Rank(Rank { size, rank }) => write!(f, "rank:{size}:{rank}"),
            Self::Morphology(morphology) => {
                let name = match morphology {
                    Morphology::Erode(_) => "erode",
                    Morphology::Dilate(_) => "dilate",
                };
                let cross = match morphology.neighbourhood() {
                    Neighbourhood::Rectangle(_) => "",
                    Neighbourhood::Cross(_) => "-cross",
                };
                match morphology.neighbourhood().size() {
                    Size { width, height } if width == height => write!(f, "{name}{cross}:{width}"),
                    size => write!(f, "{name}{cross} {size}"),
                }
            }
            Self::Bilateral(Bilateral { size, sigma_color, sigma_space }) => {
                write!(f, "bilateral:{size}:{sigma_color}:{sigma_space}")
            }
            Self::Convert { scale, offset, .. } if Self::threshold(-offset / scale).as_ref() == Ok(self) => {
                // A level of -0 is one of 0.
                write!(f, "threshold:{}", 0.0 - offset / scale)
            }
            Self::Convert { to, scale, offset } => write!(f, "convert:{to}:{scale}:{offset}"),
            Self::Color(color) => write!(f, "{color}"),
        }
    }
}

/// The name of the stage for this conversion.
impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RgbToGray => "gray",
            Self::BgrToGray => "gray-bgr",
            Self::GrayToRgb => "rgb",
            Self::SwapRedBlue => "swap-red-blue",
            Self::DropAlpha => "drop-alpha",
            Self::AddAlpha => "add-alpha",
            Self::RgbToYuv => "yuv",
            Self::YuvToRgb => "from-yuv",
            Self::RgbToYcrcb => "ycrcb",
            Self::YcrcbToRgb => "from-ycrcb",
        })
    }
}

/// `nearest`, `linear`, `area`, `cubic` or `lanczos4`.
impl fmt::Display for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nearest => "nearest",
            Self::Bilinear => "linear",
            Self::Area => "area",
            Self::Cubic => "cubic",
            Self::Lanczos4 => "lanczos4",
        })
    }
}

impl FromStr for Interpolation {
    type Err = FilterError;

    /// # Errors
    /// An unknown name.
    fn from_str(text: &str) -> Result<Self, FilterError> {
        match text {
            "nearest" => Ok(Self::Nearest),
            "linear" | "bilinear" => Ok(Self::Bilinear),
            "area" => Ok(Self::Area),
            "cubic" => Ok(Self::Cubic),
            "lanczos4" => Ok(Self::Lanczos4),
            _ => Err(FilterError::UnknownInterpolation { name: text.to_owned() }),
        }
    }
}

/// The name of a linear filter; `None` when it has none.
fn linear_name(linear: &Linear) -> Option<String> {
    if let Some((name, ..)) = SUMS.iter().find(|(.., sum)| sum() == *linear) {
        return Some((*name).to_owned());
    }
    let Size { width, height } = linear.size();
    if let Some(text) = weights::text(linear) {
        return Some(text);
    }
    if width != height {
        return None;
    }
    match linear.taps() {
        Taps::Separable { across, .. } if across.iter().all(|weight| *weight == 1) => {
            (Linear::mean(Size::square(width)).as_ref() == Ok(linear)).then(|| format!("box:{width}"))
        }
        Taps::Separable { .. } => {
            (Linear::gaussian(width, None).as_ref() == Ok(linear)).then(|| format!("gaussian:{width}"))
        }
        _ => None,
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, stage) in self.stages.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{stage}")?;
        }
        Ok(())
    }
}

impl Chain {
    /// Parses stages separated by commas, e.g. `gray,gaussian:5,laplace8`.
    ///
    /// # Errors
    /// As [`Stage::from_str`]; no stage.
    pub fn parse(text: &str, border: Border) -> Result<Self, FilterError> {
        if text.trim().is_empty() {
            return Err(FilterError::NoStage);
        }
        let stages = text.split(',').map(Stage::from_str).collect::<Result<_, _>>()?;
        Ok(Self { stages, border, keep_alpha: false })
    }
}

impl FromStr for Border {
    type Err = FilterError;

    /// # Errors
    /// An unknown name; a constant that is not a number.
    fn from_str(text: &str) -> Result<Self, FilterError> {
        match text.split_once(':') {
            Some(("constant", value)) => {
                let value =
                    value.parse().map_err(|_| FilterError::UnknownBorder { name: text.to_owned() })?;
                Ok(Self::Constant(value))
            }
            None => match text {
                "none" => Ok(Self::None),
                "constant" => Ok(Self::Constant(0.0)),
                "replicate" => Ok(Self::Replicate),
                "reflect" => Ok(Self::Reflect),
                "reflect101" => Ok(Self::Reflect101),
                "wrap" => Ok(Self::Wrap),
                _ => Err(FilterError::UnknownBorder { name: text.to_owned() }),
            },
            Some(_) => Err(FilterError::UnknownBorder { name: text.to_owned() }),
        }
    }
}

impl fmt::Display for Border {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Constant(value) => write!(f, "constant:{value}"),
            Self::Replicate => f.write_str("replicate"),
            Self::Reflect => f.write_str("reflect"),
            Self::Reflect101 => f.write_str("reflect101"),
            Self::Wrap => f.write_str("wrap"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the names alone, so that one that is not read, or not printed, fails here.
    #[test]
    fn every_name_reads_back_as_it_prints() {
        for (name, takes, _) in Stage::names() {
            let numbers = match *takes {
                "" => "",
                "TYPE[:SCALE[:OFFSET]]" => ":f32:2:0.5",
                "SIZE:COLOR:SPACE" => ":5:20:1.5",
                "SIZE:PERCENT" => ":7:25",
                "SIZE:PLACE" => ":7:4",
                "ROWS[:DIVISOR]" => ":1 2 3/-4 5 6/7 8 9:11",
                _ => ":3",
            };
            let text = format!("{name}{numbers}");
            let stage: Stage = text.parse().unwrap();
            // Weights and ranks say less than these names.
            if !["unsharp", "percentile"].contains(name) {
                assert_eq!(stage.to_string(), text);
            }
        }
    }

    #[test]
    fn chains_read_back_as_they_print() {
        let texts = [
            "laplace",
            "laplace4,laplace8,sharpen",
            "sobel,scharr",
            "sobel-x",
            "scharr-y",
            "gaussian:3",
            "gaussian:7",
            "box:5",
            "median:3,median:5",
            "median:7,rank:5:3",
            "threshold:0,threshold:-2.5,threshold:300",
            "weights:0.5 0.25 -1.5,weights:1/2/1:4",
            "erode:3,dilate-cross:5",
            "bilateral:5:20:1.5",
            "gray,rgb,swap-red-blue",
            "add-alpha,drop-alpha,yuv,from-yuv",
            "convert:f32:2:0.5",
        ];
        for text in texts {
            let chain = Chain::parse(text, Border::Wrap).unwrap();
            assert_eq!(chain.to_string(), text);
        }
        let blur = "gaussian:9:1.5".parse::<Stage>().unwrap();
        assert_eq!(blur, Stage::Linear(Linear::gaussian(9, Some(1.5)).unwrap()));
        assert_eq!(blur.to_string(), "separable 9x9");
        for border in [Border::None, Border::Constant(2.5), Border::Reflect, Border::Reflect101] {
            assert_eq!(border.to_string().parse::<Border>(), Ok(border));
        }
    }

    #[test]
    fn invalid_chains_are_rejected_by_name() {
        for (text, says) in [
            ("", "at least one stage"),
            ("blurr:5", "`blurr`"),
            ("gaussian", "gaussian:SIZE[:SIGMA]"),
            ("gaussian:x", "gaussian:SIZE[:SIGMA]"),
            ("gaussian:4", "4x4"),
            ("gaussian:5:1:2", "gaussian:SIZE[:SIGMA]"),
            ("laplace:3", "`laplace:3`"),
            ("convert:u9", "convert:TYPE"),
            ("bilateral:5:1", "bilateral:SIZE:COLOR:SPACE"),
            ("weights:1 2/3", "weights:ROWS[:DIVISOR]"),
            ("weights:1 x 2", "weights:ROWS[:DIVISOR]"),
            ("weights:1 2", "2x1"),
            ("weights:1 2 1:0", "divisor"),
            ("percentile:3:101", "percentile:SIZE:PERCENT"),
            ("rank:3:9", "rank 9"),
            ("median:4", "4x4"),
            ("threshold:nan", "finite"),
            ("gaussian:5:-1", "above 0"),
        ] {
            let error = Chain::parse(text, Border::None).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!("mirror".parse::<Border>().unwrap_err().to_string().contains("reflect101"));
    }
}
