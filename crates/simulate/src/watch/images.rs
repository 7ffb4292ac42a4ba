//! Accesses outside an image.

use tripipe_ir::diagnostic::AccessedMemory;
use tripipe_ir::{Op, Space};

use super::findings::Occurrence;
use super::rules;
use super::state::Watch;
use crate::execute::code::{Detail, Inst};
use crate::execute::ops::image::coordinates;
use crate::execute::state::State;

/// Records that lanes accessed texels outside an image.
pub(super) fn outside(watch: &mut Watch, s: &State<'_>, i: &Inst, lanes: u64, write: bool) {
    let Detail::Image(access) = i.detail else { return };
    let lane = lanes.trailing_zeros() as usize;
    let image = s.warp.rows.words(i.args[0])[lane] as usize;
    let Some(bound) = s.images.get(image) else { return };
    let operand = if matches!(s.kernel.insts[i.origin].op, Op::ImageSample(_)) { 2 } else { 1 };
    let at = coordinates(s, i.args[operand], access, lane);
    let memory = AccessedMemory {
        object: s.memory.object(bound.object).map_or_else(String::new, |info| info.name.to_string()),
        space: Space::Global,
        object_bytes: bound.image.span_bytes() as u64,
        offset: 0,
        bytes: bound.image.texel_bytes() as u64,
    };
    let extent = bound.image.shape().extent;
    let used = &at[..usize::from(access.coordinates).min(bound.image.coordinates())];
    let shown: Vec<String> =
        used.iter()
            .map(|bits| {
                if access.float { f32::from_bits(*bits).to_string() } else { bits.cast_signed().to_string() }
            })
            .collect();
    let shown = shown.join(", ");
    let rule = if write { &rules::IMAGE_WRITE_OUTSIDE } else { &rules::IMAGE_READ_OUTSIDE };
    watch.note(rule, i, u64::from(lanes.count_ones()), || {
        let object = &memory.object;
        let (message, fix) = if write {
            (
                format!("writes texel ({shown}) of `{object}`, which has {extent}"),
                "Exclude work-items whose texel is not in the image.",
            )
        } else {
            (
                format!("reads texel ({shown}) of `{object}`, which has {extent}, with undefined behaviour outside of it"),
                "Read through a sampler with CLK_ADDRESS_CLAMP_TO_EDGE or CLK_ADDRESS_CLAMP, or keep the coordinates \
                    inside.",
            )
        };
        Occurrence::new(&s.group, s.item(lane), message, fix).of(Some(memory))
    });
}
