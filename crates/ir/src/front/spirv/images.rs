//! Images and samplers.

use rspirv::spirv::{ImageOperands, Op as RawOp};

use super::code::{Fallible, Raw, invalid, unsupported};
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::{Addressing, ImageFact, Level, SamplerBits};
use crate::{Op, Type, Value};

impl BodyTranslator<'_> {
    /// Translates an image instruction; `false` for any other instruction.
    pub(super) fn images(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        match raw.op {
            RawOp::SampledImage => {
                let (image, sampler) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                self.frame.values.insert(raw.word(2)?, Rep::Sampled(image, sampler));
            }
            RawOp::ImageSampleExplicitLod => {
                let Rep::Sampled(image, sampler) = self.rep(raw.word(3)?)? else {
                    return invalid("a sampled read of a value that is not a sampled image");
                };
                let coordinates = self.value(raw.word(4)?)?;
                let mut operands = vec![image, sampler, coordinates];
                let level = self.level(raw, 5, &mut operands)?;
                let ty = self.result_type(raw)?;
                let value = self.emit(Op::ImageSample(level), &operands, ty)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::ImageRead => {
                let mut operands = vec![self.value(raw.word(3)?)?, self.value(raw.word(4)?)?];
                let level = self.level(raw, 5, &mut operands)? == Level::Lod;
                let ty = self.result_type(raw)?;
                let value = self.emit(Op::ImageRead { level }, &operands, ty)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::ImageWrite => {
                let mut operands =
                    vec![self.value(raw.word(1)?)?, self.value(raw.word(2)?)?, self.value(raw.word(3)?)?];
                let level = self.level(raw, 4, &mut operands)? == Level::Lod;
                self.effect(Op::ImageWrite { level }, &operands)?;
            }
            RawOp::ImageQuerySize | RawOp::ImageQuerySizeLod => self.image_fact(raw, ImageFact::Size)?,
            RawOp::ImageQueryFormat => self.image_fact(raw, ImageFact::ChannelType)?,
            RawOp::ImageQueryOrder => self.image_fact(raw, ImageFact::ChannelOrder)?,
            RawOp::ImageQueryLevels => self.image_fact(raw, ImageFact::Levels)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads image operands from a position on. A constant level 0 is the base level.
    fn level(&mut self, raw: Raw<'_>, position: usize, operands: &mut Vec<Value>) -> Fallible<Level> {
        let Some(mask) = raw.words.get(position) else { return Ok(Level::Base) };
        let flags = ImageOperands::from_bits_truncate(*mask)
            .difference(ImageOperands::SIGN_EXTEND | ImageOperands::ZERO_EXTEND);
        if flags.is_empty() {
            Ok(Level::Base)
        } else if flags == ImageOperands::LOD {
            let level = self.value(raw.word(position + 1)?)?;
            if self.kernel.scalar_constant(level) == Some(0) {
                return Ok(Level::Base);
            }
            operands.push(level);
            Ok(Level::Lod)
        } else if flags == ImageOperands::GRAD {
            operands.push(self.value(raw.word(position + 1)?)?);
            operands.push(self.value(raw.word(position + 2)?)?);
            Ok(Level::Gradient)
        } else {
            unsupported(format_args!("the image operands {flags:?}"))
        }
    }

    fn image_fact(&mut self, raw: Raw<'_>, fact: ImageFact) -> Fallible<()> {
        let image = self.value(raw.word(3)?)?;
        let mut operands = vec![image];
        if let Some(level) = raw.words.get(4) {
            let level = self.value(*level)?;
            if self.kernel.scalar_constant(level) != Some(0) {
                operands.push(level);
            }
        }
        let ty = self.result_type(raw)?;
        let natural = match (fact, ty.scalar()) {
            (ImageFact::Size, Some(_)) => Type::of(crate::Scalar::I32, ty.lanes()),
            _ => Type::I32,
        };
        let value = self.emit(Op::ImageQuery(fact), &operands, natural)?;
        let value = if natural == ty { value } else { self.resized(value, ty)? };
        self.define(raw, Rep::Value(value))
    }
}

/// The sampler for the bits of OpenCL C's `CLK_` constants: bit 0 is normalised, bits 1 to 3 addressing, the rest
/// filter.
pub(super) fn sampler(bits: u64) -> Fallible<SamplerBits> {
    let addressing = match bits >> 1 & 7 {
        0 => Addressing::None,
        1 => Addressing::ClampToEdge,
        2 => Addressing::Clamp,
        3 => Addressing::Repeat,
        4 => Addressing::Mirror,
        mode => return invalid(format_args!("addressing mode {mode}")),
    };
    Ok(SamplerBits { addressing, normalized: bits & 1 == 1, linear: bits >> 5 & 1 == 1 })
}
