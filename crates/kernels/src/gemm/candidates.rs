//! The parameters worth trying: `data/candidates.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::Probe;

use super::description::Gemm;
use super::parameters::{Parameters, ParametersError};
use super::shape::Shape;
use super::table::{Basis, default_parameters};
use crate::nearest::nearest_first;
use crate::space::devices::Devices;

const FILE: &str = include_str!("../../data/candidates.toml");

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
static SETS: LazyLock<Vec<Set>> =
    LazyLock::new(|| read(FILE).unwrap_or_else(|error| panic!("data/candidates.toml: {error}")));

/// The parameters for `gemm` on a device that are worth a sweep: some tens to a few hundred, all of which pass
/// [`Parameters::check`], without duplicates. Empty when the device lacks support for the element types.
///
/// The kind of the device and the shape of the product decide which kernels are included. Tiles, memory and
/// work-groups are those of published tunings, and their neighbours.
pub fn candidates(gemm: &Gemm, probe: &Probe) -> Vec<Parameters> {
    let shape = Shape::of(gemm);
    let sets = SETS.iter().filter(|set| set.shapes.contains(&shape) && set.on.includes(probe));
    let all = sets.flat_map(|set| set.parameters.iter().copied());
    all.filter(|parameters| parameters.check(gemm, probe).is_ok()).collect()
}

/// The candidates in the order in which a sweep should try them: the table's choice and its runners-up, then the rest
/// in order of similarity to these.
pub fn best_guess_first(gemm: &Gemm, candidates: &[Parameters], probe: &Probe) -> Vec<Parameters> {
    let choice = default_parameters(gemm, probe);
    let guesses =
        std::iter::once(choice.parameters).chain(choice.runners_up.into_iter().map(|(other, _)| other));
    let guesses: Vec<Parameters> = guesses.filter(|guess| guess.check(gemm, probe).is_ok()).collect();
    nearest_first(&guesses, candidates)
}

/// Parameters for some devices and shapes.
struct Set {
    on: Devices,
    shapes: Vec<Shape>,
    parameters: Vec<Parameters>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CandidatesFile {
    candidates: Vec<CandidatesEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CandidatesEntry {
    on: Devices,
    shapes: Vec<Shape>,
    parameters: Vec<String>,
    /// Required in the file, for its readers.
    #[serde(rename = "basis")]
    _basis: Basis,
    /// Required in the file, for its readers.
    #[serde(rename = "source")]
    _source: String,
}

/// Why the file of candidates is not valid.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    CandidatesFile(#[from] toml::de::Error),
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    #[error("\"{0}\" has braces without partners, or inside others")]
    Braces(String),
}

fn read(text: &str) -> Result<Vec<Set>, ReadError> {
    let file: CandidatesFile = toml::from_str(text)?;
    let set = |CandidatesEntry { on, shapes, parameters, .. }: CandidatesEntry| {
        let mut all = Vec::new();
        for pattern in &parameters {
            let texts = alternatives(pattern).ok_or_else(|| ReadError::Braces(pattern.clone()))?;
            for text in texts {
                all.push(text.parse()?);
            }
        }
        Ok(Set { on, shapes, parameters: all })
    };
    file.candidates.into_iter().map(set).collect()
}

/// The texts that a pattern stands for: one for each choice of an alternative in each pair of braces, the last pair
/// varying fastest. `None` if braces are nested or without partners.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return (!pattern.contains('}')).then(|| vec![pattern.to_owned()]);
    };
    let (choices, rest) = rest.split_once('}')?;
    if before.contains('}') || choices.contains('{') {
        return None;
    }
    let rests = alternatives(rest)?;
    let choice = |choice: &str| {
        let text = |rest: &String| format!("{before}{choice}{rest}");
        rests.iter().map(text).collect::<Vec<_>>()
    };
    Some(choices.split(',').flat_map(choice).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_each_of_their_alternatives() {
        let texts = |pattern| alternatives(pattern).unwrap_or_default();
        assert_eq!(texts("tile 4x4"), ["tile 4x4"]);
        assert_eq!(texts("a{1,2}b{x,}"), ["a1bx", "a1b", "a2bx", "a2b"]);
        for wrong in ["a{1,2", "a1}", "a{1,{2}}", "}{"] {
            assert_eq!(alternatives(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_file_reads_and_every_set_is_for_some_shape() {
        let sets = read(FILE).unwrap();
        for shape in Shape::ALL {
            assert!(sets.iter().any(|set| set.shapes.contains(&shape)), "{shape}");
        }
        for set in sets {
            assert!(!set.shapes.is_empty() && !set.parameters.is_empty());
        }
    }

    #[test]
    fn a_faulty_file_is_refused() {
        let refused = |parameters: &str| {
            let text = format!(
                "[[candidates]]\non = \"cpu\"\nshapes = [\"small\"]\nparameters = [\"{parameters}\"]\n\
                 basis = \"guessed\"\nsource = \"none\"\n"
            );
            read(&text).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refused("tile {4,8}x4"), "");
        assert!(refused("tile {4,8x4").contains("braces without partners"));
        assert!(refused("tile {4,eight}x4").contains("eightx4"));
        assert!(read(&FILE.replace("basis", "bases")).is_err());
    }
}
