//! Parameters of filters as text.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Fuse, Loads, Parameters, Sums};

/// Text that cannot be parsed as filter parameters.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}`: {word}: {reason}")]
#[non_exhaustive]
pub struct ParametersError {
    /// The whole text.
    pub text: String,
    /// The word that is wrong.
    pub word: String,
    /// What is wrong, and the accepted values.
    pub reason: String,
}

/// A choice with a name for each of its values.
trait Named: Copy + PartialEq + 'static {
    const NAMES: &'static [(Self, &'static str)];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(value, _)| *value == self).map_or("", |(_, name)| name)
    }

    fn of(word: &str) -> Result<Self, String> {
        let known = Self::NAMES.iter().find(|(_, name)| *name == word);
        known.map(|(value, _)| *value).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(_, name)| *name).collect();
            format!("want {}", names.join(", "))
        })
    }
}

impl Named for Loads {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Direct, "direct"),
        (Self::Shared, "shared"),
        (Self::Aligned, "aligned"),
        (Self::Image, "image"),
    ];
}

impl Named for Sums {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Wide, "wide"), (Self::Narrow, "narrow"), (Self::Paired, "paired")];
}

impl Named for Fuse {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Nothing, "nothing"), (Self::Pixels, "pixels"), (Self::Windows, "windows")];
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lanes, rows, loads, sums, work_group, fuse } = *self;
        write!(f, "{lanes}x{rows} loads={} sums={} fuse={}", loads.name(), sums.name(), fuse.name())?;
        match work_group {
            Some([x, y]) => write!(f, " group={x}x{y}"),
            None => Ok(()),
        }
    }
}

/// Lanes and rows first, then the others by name: `16x8 loads=aligned sums=paired fuse=pixels group=64x2`. Without
/// `group`, the driver chooses the work-group.
///
/// # Errors
/// A word that is unknown, missing, or repeated.
impl FromStr for Parameters {
    type Err = ParametersError;

    fn from_str(text: &str) -> Result<Self, ParametersError> {
        let wrong = |word: &str, reason: String| ParametersError {
            text: text.to_owned(),
            word: word.to_owned(),
            reason,
        };
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let [lanes, rows] = extents(first).map_err(|reason| wrong(first, reason))?;
        let (mut loads, mut sums, mut fuse, mut work_group) = (None, None, None, None);
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let twice = match name {
                "loads" => loads.replace(Loads::of(value).map_err(|reason| wrong(word, reason))?).is_some(),
                "sums" => sums.replace(Sums::of(value).map_err(|reason| wrong(word, reason))?).is_some(),
                "fuse" => fuse.replace(Fuse::of(value).map_err(|reason| wrong(word, reason))?).is_some(),
                "group" => {
                    work_group.replace(extents(value).map_err(|reason| wrong(word, reason))?).is_some()
                }
                _ => return Err(wrong(word, "want loads=, sums=, fuse= or group=".to_owned())),
            };
            if twice {
                return Err(wrong(word, "given twice".to_owned()));
            }
        }
        let missing = |name: &'static str| move || wrong(name, "is missing".to_owned());
        Ok(Self {
            lanes,
            rows,
            loads: loads.ok_or_else(missing("loads="))?,
            sums: sums.ok_or_else(missing("sums="))?,
            work_group,
            fuse: fuse.ok_or_else(missing("fuse="))?,
        })
    }
}

fn extents(text: &str) -> Result<[usize; 2], String> {
    let both = text.split_once('x').and_then(|(x, y)| Some([x.parse().ok()?, y.parse().ok()?]));
    both.ok_or_else(|| "want two numbers, as in 16x8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_read_back_as_they_print() {
        for text in [
            "16x8 loads=aligned sums=paired fuse=pixels group=64x2",
            "4x1 loads=direct sums=wide fuse=nothing",
            "8x2 loads=shared sums=narrow fuse=windows group=1x1",
            "8x2 loads=image sums=narrow fuse=pixels",
        ] {
            assert_eq!(
                text.parse::<Parameters>().map(|parameters| parameters.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn errors_name_the_parameter() {
        for (text, word, reason) in [
            ("", "", "two numbers"),
            ("16 loads=shared", "16", "two numbers"),
            ("16x8 loads=red", "loads=red", "direct, shared, aligned, image"),
            ("16x8 colour=red", "colour=red", "loads=, sums=, fuse= or group="),
            ("16x8 sums=wide sums=wide", "sums=wide", "twice"),
            ("16x8 loads=shared sums=wide", "fuse=", "missing"),
            ("16x8 loads=shared sums=wide fuse=pixels group=64", "group=64", "two numbers"),
        ] {
            let error = text.parse::<Parameters>().err();
            assert!(
                error.as_ref().is_some_and(|error| error.word == word && error.reason.contains(reason)),
                "{text}: {error:?}"
            );
        }
    }
}
