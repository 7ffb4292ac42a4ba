//! Weights as files store them, and quantisation.

use half::f16;
use thiserror::Error;

use super::format::{BLOCK, WeightFormat};
use crate::gemm::Extents;

/// Why weights cannot be stored in a format.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum WeightsError {
    /// A number of bytes or weights that does not match the extents.
    #[error("{what} of {outputs} outputs with {inputs} inputs: {found} were given, expected {want}")]
    Length {
        /// What was given.
        what: &'static str,
        /// The number of outputs.
        outputs: usize,
        /// The number of inputs of each output.
        inputs: usize,
        /// The expected number.
        want: usize,
        /// The number found.
        found: usize,
    },
    /// More weights than can be addressed.
    #[error("weights of {outputs} outputs with {inputs} inputs exceed the address range")]
    TooLarge {
        /// The number of outputs.
        outputs: usize,
        /// The number of inputs of each output.
        inputs: usize,
    },
    /// Stored blocks need whole blocks.
    #[error(
        "{format} stores blocks of 32 inputs, and {inputs} is not a multiple of 32: pad the weights of each output \
        with zeros"
    )]
    Blocks {
        /// The format.
        format: WeightFormat,
        /// The number of inputs.
        inputs: usize,
    },
    /// A weight that integers cannot represent.
    #[error(
        "weight {input} of output {output} is {value}: {format} has no infinity and no NaN, f16 has both"
    )]
    NotFinite {
        /// The format.
        format: WeightFormat,
        /// The output.
        output: usize,
        /// The input.
        input: usize,
        /// The weight.
        value: f32,
    },
    /// A weight so large that its scale exceeds half precision.
    #[error("weight {input} of output {output} is {value}: {format} stores at most {most} in magnitude")]
    Scale {
        /// The format.
        format: WeightFormat,
        /// The output.
        output: usize,
        /// The input.
        input: usize,
        /// The weight.
        value: f32,
        /// The largest magnitude.
        most: f32,
    },
    /// Bytes with a scale for each output have their scales elsewhere.
    #[error("i8 has its scales beside the weights: give both")]
    NoScales,
}

/// The weights of a layer as files store them: output by output.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredWeights {
    format: WeightFormat,
    outputs: usize,
    inputs: usize,
    bytes: Vec<u8>,
    /// One for each output with `i8`, otherwise empty.
    scales: Vec<f32>,
}

/// The number of bytes of all outputs.
fn stored_bytes(format: WeightFormat, extents: Extents) -> Result<usize, WeightsError> {
    let Extents { rows: outputs, columns: inputs } = extents;
    let padded = inputs.checked_next_multiple_of(BLOCK);
    let bytes = padded.and_then(|_| format.row_bytes(inputs).checked_mul(outputs));
    bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or(WeightsError::TooLarge { outputs, inputs })
}

impl StoredWeights {
    /// Weights that are stored in `f16`, `q8_0` or `q4_0` already: a row for each output, a column for each input.
    ///
    /// # Errors
    /// A number of bytes that does not match; inputs that are not whole blocks; `i8`, whose scales are elsewhere.
    pub fn from_stored(format: WeightFormat, bytes: Vec<u8>, extents: Extents) -> Result<Self, WeightsError> {
        let Extents { rows: outputs, columns: inputs } = extents;
        if format == WeightFormat::I8 {
            return Err(WeightsError::NoScales);
        }
        if format != WeightFormat::F16 && !inputs.is_multiple_of(BLOCK) {
            return Err(WeightsError::Blocks { format, inputs });
        }
        let want = stored_bytes(format, extents)?;
        let found = bytes.len();
        if want != found {
            return Err(WeightsError::Length { what: "stored bytes", outputs, inputs, want, found });
        }
        Ok(Self { format, outputs, inputs, bytes, scales: Vec::new() })
    }

    /// Weights of which [`Self::bytes`] and [`Self::scales`] gave all there is.
    ///
    /// # Errors
    /// A number of bytes or scales that does not match.
    pub fn from_parts(
        format: WeightFormat,
        bytes: Vec<u8>,
        scales: Vec<f32>,
        extents: Extents,
    ) -> Result<Self, WeightsError> {
        let Extents { rows: outputs, columns: inputs } = extents;
        let of_scales = if format == WeightFormat::I8 { outputs } else { 0 };
        for (what, want, found) in [
            ("stored bytes", stored_bytes(format, extents)?, bytes.len()),
            ("scales", of_scales, scales.len()),
        ] {
            if want != found {
                return Err(WeightsError::Length { what, outputs, inputs, want, found });
            }
        }
        Ok(Self { format, outputs, inputs, bytes, scales })
    }

    /// Signed bytes, a row for each output and a column for each input, with the scale of each output.
    ///
    /// # Errors
    /// A number of weights or scales that does not match.
    pub fn from_bytes(weights: Vec<i8>, scales: Vec<f32>, extents: Extents) -> Result<Self, WeightsError> {
        let Extents { rows: outputs, columns: inputs } = extents;
        let want = stored_bytes(WeightFormat::I8, extents)?;
        let wrong = |what, want, found| Err(WeightsError::Length { what, outputs, inputs, want, found });
        if weights.len() != want {
            return wrong("weights", want, weights.len());
        }
        if scales.len() != outputs {
            return wrong("scales", outputs, scales.len());
        }
        let bytes = bytemuck::allocation::cast_vec(weights);
        Ok(Self { format: WeightFormat::I8, outputs, inputs, bytes, scales })
    }

    /// Quantises `weights`: a row for each output, a column for each input.
    ///
    /// `f16` rounds to nearest. With the others, `q8_0` and `i8` map the largest magnitude of a block, or of an output, to
    /// 127 and round to nearest, halves away from 0; `q4_0` maps the weight with the largest magnitude of a block to -8 and
    /// the others to -8..7. This is the quantisation of ggml's reference. Inputs that fill no whole block are followed by
    /// zeros.
    ///
    /// # Errors
    /// A number of weights that does not match; a weight that is not finite, or whose scale exceeds half precision (not
    /// with `f16`, which has infinities and NaN).
    pub fn quantise(format: WeightFormat, weights: &[f32], extents: Extents) -> Result<Self, WeightsError> {
        let Extents { rows: outputs, columns: inputs } = extents;
        let room = stored_bytes(format, extents)?;
        let (found, want) = (weights.len(), extents.elements());
        let want = want.ok_or(WeightsError::TooLarge { outputs, inputs })?;
        if want != found {
            return Err(WeightsError::Length { what: "weights", outputs, inputs, want, found });
        }
        let (mut bytes, mut scales) = (Vec::with_capacity(room), Vec::new());
        if inputs == 0 && format == WeightFormat::I8 {
            scales = vec![0.0; outputs];
        }
        for (output, row) in weights.chunks(inputs.max(1)).enumerate() {
            let unfit = |reason: Unquantisable, first: usize| reason.at(format, output, first);
            match format {
                WeightFormat::F16 => {
                    bytes.extend(row.iter().flat_map(|weight| f16::from_f32(*weight).to_ne_bytes()));
                }
                WeightFormat::I8 => {
                    let (scale, quants) = to_bytes(row).map_err(|reason| unfit(reason, 0))?;
                    scales.push(scale);
                    bytes.extend(quants.map(i8::cast_unsigned));
                }
                WeightFormat::Q8_0 | WeightFormat::Q4_0 => {
                    for (index, weights) in row.chunks(BLOCK).enumerate() {
                        let mut block = [0.0; BLOCK];
                        block[..weights.len()].copy_from_slice(weights);
                        let done = if format == WeightFormat::Q8_0 { q8_0 } else { q4_0 };
                        done(&block, &mut bytes).map_err(|reason| unfit(reason, index * BLOCK))?;
                    }
                }
            }
        }
        Ok(Self { format, outputs, inputs, bytes, scales })
    }

    /// The format.
    pub fn format(&self) -> WeightFormat {
        self.format
    }

    /// A row for each output, a column for each input.
    pub fn extents(&self) -> Extents {
        Extents::new(self.outputs, self.inputs)
    }

    /// The stored bytes, without the scales of `i8`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The scales of `i8`, one for each output; empty for other formats.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// The stored bytes of one output.
    pub(super) fn row(&self, output: usize) -> &[u8] {
        let bytes = self.format.row_bytes(self.inputs);
        &self.bytes[output * bytes..][..bytes]
    }
}

/// Why a block cannot be quantised.
enum Unquantisable {
    NotFinite { index: usize, value: f32 },
    Scale { index: usize, value: f32, most: f32 },
}

impl Unquantisable {
    fn at(self, format: WeightFormat, output: usize, first: usize) -> WeightsError {
        match self {
            Self::NotFinite { index, value } => {
                WeightsError::NotFinite { format, output, input: first + index, value }
            }
            Self::Scale { index, value, most } => {
                WeightsError::Scale { format, output, input: first + index, value, most }
            }
        }
    }
}

/// The first weight with the largest magnitude, and its index.
fn largest(weights: &[f32]) -> Result<(usize, f32), Unquantisable> {
    let mut largest = (0, 0.0f32);
    for (index, &value) in weights.iter().enumerate() {
        if !value.is_finite() {
            return Err(Unquantisable::NotFinite { index, value });
        }
        if value.abs() > largest.1.abs() {
            largest = (index, value);
        }
    }
    Ok(largest)
}

/// One over the scale; 0 for a scale so small that half precision has none like it.
fn inverse(scale: f32) -> f32 {
    let inverse = 1.0 / scale;
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// A scale in half precision.
fn half_scale(scale: f32, levels: f32, (index, value): (usize, f32)) -> Result<f16, Unquantisable> {
    let scale = f16::from_f32(scale);
    if scale.is_finite() {
        return Ok(scale);
    }
    Err(Unquantisable::Scale { index, value, most: levels * f16::MAX.to_f32() })
}

fn to_bytes(weights: &[f32]) -> Result<(f32, impl Iterator<Item = i8> + '_), Unquantisable> {
    let (_, value) = largest(weights)?;
    let scale = value.abs() / 127.0;
    let inverse = inverse(scale);
    // `round` rounds halves away from 0.
    Ok((scale, weights.iter().map(move |weight| (weight * inverse).round() as i8)))
}

fn q8_0(weights: &[f32; BLOCK], bytes: &mut Vec<u8>) -> Result<(), Unquantisable> {
    let (scale, quants) = to_bytes(weights)?;
    bytes.extend(half_scale(scale, 127.0, largest(weights)?)?.to_ne_bytes());
    bytes.extend(quants.map(i8::cast_unsigned));
    Ok(())
}

fn q4_0(weights: &[f32; BLOCK], bytes: &mut Vec<u8>) -> Result<(), Unquantisable> {
    let (index, value) = largest(weights)?;
    let scale = value / -8.0;
    let inverse = inverse(scale);
    bytes.extend(half_scale(scale, 8.0, (index, value))?.to_ne_bytes());
    let number = |weight: f32| (weight * inverse + 8.5).min(15.0) as u8;
    let (lower, upper) = weights.split_at(BLOCK / 2);
    bytes.extend(lower.iter().zip(upper).map(|(lower, upper)| number(*lower) | number(*upper) << 4));
    Ok(())
}
