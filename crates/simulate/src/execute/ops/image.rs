//! Reads, writes and queries of images.

use half::f16;
use tripipe_ir::op::{ImageFact, SamplerBits};
use tripipe_ir::{Scalar, Type};

use crate::execute::code::{Detail, ImageOperands, Inst, Run};
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::State;
use crate::image::{Reader, Sample, Texel, sampler};

/// The access of an instruction with these coordinates and this texel; `None` if there is no such access.
pub(super) fn access(coordinates: Type, texel: Type) -> Option<Detail> {
    Some(Detail::Image(ImageOperands {
        float: coordinates.is_float(),
        coordinates: coordinates.lanes(),
        texel: texel.scalar()?,
        depth: texel.lanes() == 1,
    }))
}

/// A read through a sampler; operands: image, sampler, coordinates. Images have one level.
pub(super) const SAMPLE: Run = |s, i| {
    read(s, i, 2, |s, image, lane, access, coordinates| {
        let bits = SamplerBits::from_bits(s.warp.rows.words(i.args[1])[lane])?;
        let bound = s.images.get(image)?;
        let reader = Reader::new(&bound.image, sampler(bits)).ok()?;
        let mut bytes = s.memory.read(bound.object, bound.offset as i64, bound.image.span_bytes())?;
        Some(if access.float {
            reader.sample(coordinates.map(f32::from_bits), &mut bytes)
        } else {
            reader.sample_at(coordinates.map(u32::cast_signed), &mut bytes)
        })
    })
};

/// A read without a sampler; operands: image, coordinates.
pub(super) const READ: Run = |s, i| {
    read(s, i, 1, |s, image, _, _, coordinates| {
        let bound = s.images.get(image)?;
        let mut bytes = s.memory.read(bound.object, bound.offset as i64, bound.image.span_bytes())?;
        Some(bound.image.read(coordinates.map(u32::cast_signed), &mut bytes))
    })
};

/// The bits of a lane's coordinates; 0 for missing coordinates.
pub(crate) fn coordinates(s: &State<'_>, slot: u32, access: ImageOperands, lane: usize) -> [u32; 3] {
    let row = s.warp.rows.numbers::<u32>(slot);
    std::array::from_fn(
        |index| if index < usize::from(access.coordinates) { row[index * WIDTH + lane] } else { 0 },
    )
}

fn read(
    s: &mut State<'_>,
    i: &Inst,
    operand: usize,
    sample: impl Fn(&mut State<'_>, usize, usize, ImageOperands, [u32; 3]) -> Option<Sample>,
) -> bool {
    let Detail::Image(access) = i.detail else { return true };
    let mut outside = 0u64;
    let mut out = s.warp.rows.take(i.out);
    for lane in lanes(s.mask) {
        let image = s.warp.rows.words(i.args[0])[lane] as usize;
        let at = coordinates(s, i.args[operand], access, lane);
        // A sampler that does not fit the image reads zeros.
        let found = sample(s, image, lane, access, at)
            .unwrap_or(Sample { texel: Texel::Unsigned([0; 4]), outside: true });
        outside |= u64::from(found.outside) << lane;
        let components = if access.depth { 1 } else { 4 };
        if access.texel == Scalar::F16 {
            let halves = found.texel.halves().unwrap_or([f16::ZERO; 4]);
            let row = crate::execute::rows::numbers_mut::<u16>(&mut out);
            for (component, half) in halves.iter().enumerate().take(components) {
                row[component * WIDTH + lane] = half.to_bits();
            }
        } else {
            let row = crate::execute::rows::numbers_mut::<u32>(&mut out);
            for (component, bits) in found.texel.bits().iter().enumerate().take(components) {
                row[component * WIDTH + lane] = *bits;
            }
        }
    }
    s.warp.rows.put(i.out, out);
    if outside != 0 {
        s.observe(|observer, s| observer.outside_image(s, i, outside, false));
    }
    true
}

/// A write; operands: image, coordinates, texel. Writes outside the image have no effect.
pub(super) const WRITE: Run = |s, i| {
    let Detail::Image(access) = i.detail else { return true };
    let mut outside = 0u64;
    for lane in lanes(s.mask) {
        let image = s.warp.rows.words(i.args[0])[lane] as usize;
        let at = coordinates(s, i.args[1], access, lane);
        let Some(bound) = s.images.get(image) else { continue };
        let Some(offset) = bound.image.offset(at.map(u32::cast_signed)) else {
            outside |= 1 << lane;
            continue;
        };
        let component = |index: usize, bytes: u32| {
            let index = if access.depth { 0 } else { index };
            s.warp.rows.bits(i.args[2], index * WIDTH + lane, bytes)
        };
        let texel = if access.texel == Scalar::F16 {
            Texel::from(std::array::from_fn::<_, 4, _>(|index| f16::from_bits(component(index, 2) as u16)))
        } else {
            Texel::from_bits(bound.image.kind(), std::array::from_fn(|index| component(index, 4) as u32))
        };
        // A texel of another kind than the image's is undefined behaviour: nothing is written.
        let Ok(bytes) = bound.image.encode(&texel) else { continue };
        if let Some(to) = s.memory.write(bound.object, (bound.offset + offset) as i64, bytes.len()) {
            to.copy_from_slice(&bytes);
        }
    }
    if outside != 0 {
        s.observe(|observer, s| observer.outside_image(s, i, outside, true));
    }
    true
};

/// Queries of sizes and formats.
pub(super) fn query(fact: ImageFact) -> Run {
    fn ask(s: &mut State<'_>, i: &Inst, fact: ImageFact) -> bool {
        for lane in lanes(s.mask) {
            let image = s.warp.rows.words(i.args[0])[lane] as usize;
            let facts = s.images.get(image).map_or([0; 3], |bound| bound.image.fact(fact));
            for component in 0..usize::from(i.components) {
                let number = facts.get(component).copied().unwrap_or(0);
                s.warp.rows.numbers_mut::<i32>(i.out)[component * WIDTH + lane] = number;
            }
        }
        true
    }
    // A `Run` is a function pointer, which cannot capture the fact.
    match fact {
        ImageFact::Size => |s, i| ask(s, i, ImageFact::Size),
        ImageFact::ChannelType => |s, i| ask(s, i, ImageFact::ChannelType),
        ImageFact::ChannelOrder => |s, i| ask(s, i, ImageFact::ChannelOrder),
        ImageFact::Levels => |s, i| ask(s, i, ImageFact::Levels),
    }
}
