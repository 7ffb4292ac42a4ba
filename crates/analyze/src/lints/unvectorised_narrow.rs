//! `unvectorised-narrow`: narrow arithmetic that leaves lanes of its registers empty.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::{Inst, Op, Scalar};
use tripipe_machine::{Model, Pipe};

use super::context::{Advice, Context, Share};
use super::retype::chains;
use crate::ASSUMED_TRIPS;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "unvectorised-narrow",
    severity: Severity::Warning,
    title: "narrow arithmetic that leaves lanes of its registers empty",
    what: "
Arithmetic on 8 or 16 bits, or on `int` values that fit in `short`, on fewer elements at a time than a register holds.",
    why: "
A register of Bifrost and Valhall holds two lanes of 16 bits or four of 8, one of Midgard eight or sixteen, and an
instruction computes all of them or one at the same cost. Adreno computes lane by lane: there it is not reported.",
    example: "
half x = in[i];
out[i] = x * gain + offset;",
    instead: "
half4 x = vload4(i, in);  // a quarter of the work-items
vstore4(x * gain + offset, i, out);",
    exceptions: "
Where elements take different paths, so that vector lanes compute unused results; where fewer work-items leave cores
idle.",
    source: "- Arm OpenCL guides: vectorise narrow types. Mesa's instruction sets for the lanes. docs/model.md.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let register_bits = Model::of(context.gpu).layout.register_bits;
    if register_bits == 0 {
        return;
    }
    let kernel = context.kernel;
    // C promotes scalars to 32 bits where 16 would suffice.
    let mut promoted: EntitySet<Inst> = EntitySet::new();
    for chain in chains(context, Scalar::I32, 16, &EntitySet::new()) {
        if chain.is_widened(kernel) {
            let scalars = chain.values.iter().filter(|value| kernel.ty(*value).lanes() == 1);
            promoted.extend(scalars.filter_map(|value| kernel.defining(value)));
        }
    }
    // The lanes that an operation fills, and the lanes of its registers.
    let lanes = |share: &Share| {
        let memory = matches!(share.pipe, Pipe::LoadStore | Pipe::Texture);
        let data = &kernel.insts[share.inst];
        let scalar = data.result.and_then(|result| kernel.ty(result).scalar());
        let is_narrow = matches!(data.op, Op::Binary(_) | Op::Unary(_) | Op::Builtin(_))
            && matches!(scalar, Some(Scalar::I8 | Scalar::I16 | Scalar::F16))
            && share.bits <= 16
            && share.room > 1;
        let room = if promoted.contains(share.inst) && share.bits == 32 {
            register_bits / 16
        } else if is_narrow {
            share.room
        } else {
            return None;
        };
        (!memory && share.lanes < room).then_some((share.lanes, room))
    };
    // Where other work bounds the kernel, the lanes may stay empty.
    let bounds = context
        .gain(|share| lanes(share).map_or(1.0, |(lanes, room)| f64::from(lanes) / f64::from(room)))
        .is_some_and(|gain| gain.is_worth_it());
    if !bounds {
        return;
    }
    let (mut filled, mut there, mut costliest) = (0, 0, None);
    let mut narrow: EntitySet<Inst> = EntitySet::new();
    for share in context.shares {
        let Some((lanes, room)) = lanes(share) else { continue };
        (filled, there) = (filled + lanes, there + room);
        narrow.insert(share.inst);
        let clocks = (context.weight)(share.block).evaluate(ASSUMED_TRIPS) * share.clocks;
        if costliest.is_none_or(|(most, _)| clocks > most) && kernel.insts[share.inst].location.is_some() {
            costliest = Some((clocks, share.inst));
        }
    }
    let (count, wide) = (narrow.iter().count(), there.checked_div(filled).unwrap_or(1));
    found.push(Advice {
        rule: &RULE,
        location: costliest.and_then(|(_, inst)| kernel.insts[inst].location),
        message: format!(
            "{} on narrow types filling {filled} of {there} lanes",
            counted(count, "instruction")
        ),
        fix: format!("Compute on vectors, with up to {wide} times the elements per work-item."),
        gain: None,
    });
}
