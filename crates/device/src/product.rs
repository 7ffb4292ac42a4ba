//! Parses device names: product, cores, revision.

use std::fmt;

use crate::family::Vendor;
use crate::generation;
use crate::gpu::Gpu;

/// A product, as named by the device. It need not have a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GpuProduct {
    /// A Mali or Immortalis: `Mali-G610` is the series G and the number 610.
    Mali {
        /// `T` (Midgard) or `G`.
        series: char,
        /// Product number.
        number: u32,
        /// Letters after the number, e.g. `AE`, or a variant with its dash, `-Pro`; usually empty.
        suffix: String,
    },
    /// An Adreno with a number: `Adreno 642L` is 642 and `L`.
    Adreno {
        /// Product number, three digits.
        number: u32,
        /// Letters after the number; usually empty.
        suffix: String,
    },
    /// An Adreno of a named series: `Adreno X1-85` is the series X1 and the number 85.
    AdrenoSeries {
        /// Name of the series.
        series: String,
        /// Number in the series.
        number: u32,
    },
}

impl GpuProduct {
    /// The designer of the product.
    pub fn vendor(&self) -> Vendor {
        match self {
            Self::Mali { .. } => Vendor::Arm,
            Self::Adreno { .. } | Self::AdrenoSeries { .. } => Vendor::Qualcomm,
        }
    }

    /// The product without the letters after its number.
    pub(crate) fn without_suffix(&self) -> Self {
        let mut plain = self.clone();
        match &mut plain {
            Self::Mali { suffix, .. } | Self::Adreno { suffix, .. } => suffix.clear(),
            Self::AdrenoSeries { .. } => {}
        }
        plain
    }

    /// Whether `gpu` is the model of exactly this product.
    pub(crate) fn names(&self, gpu: &Gpu) -> bool {
        NameParts::read(gpu.name()).product.as_ref() == Some(self)
    }

    /// The product that a person typed: like [`NameParts::read`], but the brand may be missing and no unknown words
    /// may surround the product.
    pub(crate) fn parse_loose(name: &str) -> Option<Self> {
        let mut words = words(name);
        // "G 610" with a space is accepted.
        if let Some(at) = words.iter().position(|word| word == "g" || word == "t")
            && at + 1 < words.len()
        {
            let number = words.remove(at + 1);
            words[at].push_str(&number);
        }
        words.retain(|word| !BRANDS.contains(&word.as_str()) && word != "tm");
        // "a640" is short for "Adreno 640".
        if let Some(number) = words.first_mut()
            && let Some(rest) = number.strip_prefix('a').filter(|rest| adreno_number(rest).is_some())
        {
            *number = rest.to_owned();
        }
        let (product, used) = mali(&words)
            .or_else(|| adreno(&words))
            .or_else(|| words.first().and_then(|word| codename(word)).map(|found| (found, 1)))?;
        let rest = words.get(used..).unwrap_or_default();
        // The G1-Ultra is the G1 itself.
        let is_g1 = matches!(&product, Self::Mali { series: 'G', number: 1, suffix } if suffix.is_empty());
        let known =
            |word: &String| cores(word).is_some() || revision(word).is_some() || is_g1 && word == "ultra";
        rest.iter().all(known).then_some(product)
    }
}

impl fmt::Display for GpuProduct {
    /// The name as the vendor writes it: `Mali-G610`, `Adreno 642L`, `Adreno X1-85`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mali { series, number, suffix } => write!(f, "Mali-{series}{number}{suffix}"),
            Self::Adreno { number, suffix } => write!(f, "Adreno {number}{suffix}"),
            Self::AdrenoSeries { series, number } => write!(f, "Adreno {series}-{number}"),
        }
    }
}

/// Revision of the hardware: `r1p2` is major 1, minor 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision {
    /// The number after `r`.
    pub major: u32,
    /// The number after `p`.
    pub minor: u32,
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}p{}", self.major, self.minor)
    }
}

/// The parts of a device name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameParts {
    /// The vendor of the brand in the name.
    pub(crate) brand: Option<Vendor>,
    pub(crate) product: Option<GpuProduct>,
    /// From `MC6` or `MP4`.
    pub(crate) cores: Option<u32>,
    pub(crate) revision: Option<Revision>,
    /// The driver's internal name for the product, if the name contains it.
    pub(crate) codename: Option<String>,
}

const BRANDS: [&str; 3] = ["mali", "immortalis", "adreno"];

impl NameParts {
    /// Parses `text`, a device name or a version string. A product must follow a brand (or be written as freedreno's
    /// `FD640`), so that other numbers are not taken for products.
    pub(crate) fn read(text: &str) -> Self {
        let words = words(text);
        let mut parts = Self {
            cores: words.iter().find_map(|word| cores(word)),
            revision: words.iter().find_map(|word| revision(word)),
            ..Self::default()
        };
        for (at, word) in words.iter().enumerate() {
            let behind = words.get(at + 1..).unwrap_or_default();
            match word.as_str() {
                "mali" | "immortalis" => {
                    parts.brand = Some(Vendor::Arm);
                    // "Mali-G715-Immortalis", "Mali-Immortalis-G715": the name may contain two brands.
                    let behind = behind.strip_prefix(&["immortalis".to_owned()]).unwrap_or(behind);
                    parts.product = mali(behind).map(|(product, _)| product);
                    if parts.product.is_none()
                        && let Some(word) = behind.first()
                        && let Some(product) = codename(word)
                    {
                        parts.codename = Some(word.to_uppercase());
                        parts.product = Some(product);
                    }
                }
                "adreno" => {
                    parts.brand = Some(Vendor::Qualcomm);
                    let trademark = usize::from(behind.first().is_some_and(|word| word == "tm"));
                    parts.product = behind.get(trademark..).and_then(adreno).map(|(product, _)| product);
                }
                _ => {
                    let freedreno = word.strip_prefix("fd").and_then(adreno_number);
                    if freedreno.is_some() {
                        parts.brand = Some(Vendor::Qualcomm);
                        parts.product = freedreno;
                    }
                }
            }
            if parts.product.is_some() {
                break;
            }
        }
        parts
    }
}

/// The words of a name in lower case, with a brand prefix split off as a separate word.
fn words(text: &str) -> Vec<String> {
    let text = text.to_ascii_lowercase();
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let brand = BRANDS.iter().find(|brand| word.starts_with(**brand));
        let rest = brand.map_or(word, |brand| {
            words.push((*brand).to_owned());
            &word[brand.len()..]
        });
        if !rest.is_empty() {
            words.push(rest.to_owned());
        }
    }
    words
}

/// Splits a word into a number and a suffix of letters; the number must have `digits` digits.
fn number_and_suffix(word: &str, digits: std::ops::RangeInclusive<usize>) -> Option<(u32, String)> {
    let letters = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let (number, suffix) = word.split_at(letters);
    let plausible = digits.contains(&number.len())
        && suffix.len() <= 2
        && suffix.chars().all(|c| c.is_ascii_alphabetic());
    plausible.then(|| Some((number.parse().ok()?, suffix.to_ascii_uppercase())))?
}

/// Parses `g610`, `t860`, or `g1` and `pro`, at the start of `words`; also returns the number of words used.
fn mali(words: &[String]) -> Option<(GpuProduct, usize)> {
    let word = words.first()?;
    let series = word.chars().next().filter(|c| ['t', 'g'].contains(c))?;
    let (number, suffix) = number_and_suffix(&word[1..], 1..=4)?;
    let series = series.to_ascii_uppercase();
    let variant = words.get(1).and_then(|word| generation::variant(&format!("{series}{number}"), word));
    match variant.filter(|_| suffix.is_empty()) {
        Some(variant) => Some((GpuProduct::Mali { series, number, suffix: variant.to_owned() }, 2)),
        None => Some((GpuProduct::Mali { series, number, suffix }, 1)),
    }
}

/// Parses `642l`, or `x1` and `85`, at the start of `words`; also returns the number of words used.
fn adreno(words: &[String]) -> Option<(GpuProduct, usize)> {
    let word = words.first()?;
    if let Some(product) = adreno_number(word) {
        return Some((product, 1));
    }
    let in_series = word.strip_prefix('x')?;
    if in_series.is_empty() || !in_series.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let number = words.get(1)?.parse().ok()?;
    let series = word.to_ascii_uppercase();
    Some((GpuProduct::AdrenoSeries { series, number }, 2))
}

fn adreno_number(word: &str) -> Option<GpuProduct> {
    let (number, suffix) = number_and_suffix(word, 3..=3)?;
    Some(GpuProduct::Adreno { number, suffix })
}

/// The Mali product of a code name such as `lodx`.
fn codename(word: &str) -> Option<GpuProduct> {
    let product = generation::product_of_codename(word)?;
    mali(&[product.to_ascii_lowercase()]).map(|(product, _)| product)
}

/// Cores from `mc6` or `mp4`, at least 1.
fn cores(word: &str) -> Option<u32> {
    let number = word.strip_prefix("mc").or_else(|| word.strip_prefix("mp"))?;
    number.parse().ok().filter(|cores| *cores > 0)
}

/// Revision from `r1p2`.
fn revision(word: &str) -> Option<Revision> {
    let (major, minor) = word.strip_prefix('r')?.split_once('p')?;
    Some(Revision { major: major.parse().ok()?, minor: minor.parse().ok()? })
}
