//! `image-or-buffer`: one of two paths to memory is idle while the other one bounds.

use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::flow::linear::Base;
use tripipe_ir::op::{AccessAttributes, Level};
use tripipe_ir::{Inst, Kernel, Op, Scalar, Space, Type, Value, ValueDef};

use super::context::{Advice, Context};
use super::gapped_access;
use crate::Column;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "image-or-buffer",
    severity: Severity::Note,
    title: "one path to memory is idle while the other one bounds the kernel",
    what: "
A buffer that the kernel only reads, in whole texels of four elements and more than once, where loads and stores bound
the kernel and the texture pipe has slack; and the reverse, an image read at integer coordinates where the texture
pipe bounds the kernel.",
    why: "
Images and buffers use two pipes with two caches. A pipe that waits for the other does no work. On Adreno, loads from
buffers also bypass the first-level cache, which images use.",
    example: "float4 a = a_buffer[row * k + p], b = b_buffer[p * n + column];",
    instead: "float4 a = read_imagef(a_image, (int2)(p, row)), b = b_buffer[p * n + column];",
    exceptions: "
Data that is read once is best left in its buffer. An image has size limits and is created by another call, and texels
of more than 32 bits take two clocks on Mali.",
    source: "
- A published matrix product on a Mali-G77: one operand in an image and one in a buffer are 10 % faster than both in buffers. Compute
  Library's tables for Mali-G52 to G78. Qualcomm's OpenCL guide: images for data that is read again.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if context.is_bound_by(Column::LoadStore) {
        best(context, found, buffers(context), true);
    } else if context.is_bound_by(Column::Texture) && context.gpu.memory.l1_bytes.value > 0 {
        best(context, found, images(context), false);
    }
}

/// Reports the candidate with the largest gain, if any gains enough.
fn best(context: &Context<'_>, found: &mut Vec<Advice>, candidates: Vec<(Value, Vec<Inst>)>, to_image: bool) {
    let gains = candidates.into_iter().filter_map(|(value, reads)| {
        let gain = context.gain_by(|kernel| reads.iter().for_each(|inst| other_path(kernel, *inst)))?;
        gain.is_worth_it().then_some((gain, value, reads))
    });
    let Some((gain, value, reads)) = gains.max_by(|a, b| a.0.share().total_cmp(&b.0.share())) else { return };
    let name = crate::names::value_name(context.kernel, value);
    let (busy, idle, other) =
        if to_image { ("load/store", "texture", "an image") } else { ("texture", "load/store", "a buffer") };
    found.push(Advice {
        rule: &RULE,
        location: context.kernel.insts[reads[0]].location,
        message: format!(
            "`{name}` is read by the {busy} pipe, which bounds the kernel, at {}, while the {idle} pipe has \
            slack",
            counted(reads.len(), "location"),
        ),
        fix: format!("Pass `{name}` as {other}."),
        gain: Some(gain),
    });
}

/// Replaces a load by an image read, with coordinates that cost no more than the index did; and the reverse.
fn other_path(kernel: &mut Kernel, inst: Inst) {
    if !matches!(kernel.insts[inst].op, Op::Load(_)) {
        let data = &mut kernel.insts[inst];
        data.op = Op::Load(AccessAttributes { align: 16, volatile: false, vector_builtin: false });
        data.operands.truncate(1);
        return;
    }
    let maker = |value: Value, is: fn(&Op) -> bool| {
        kernel.defining(value).map(|inst| &kernel.insts[inst]).filter(|made| is(&made.op))
    };
    // A coordinate is the index before it was widened for the address.
    let pointer = kernel.insts[inst].operands[0];
    let address = maker(pointer, |op| matches!(op, Op::Address(_)));
    let index = address.and_then(|address| address.operands.get(1).copied());
    let narrow = index
        .map(|index| maker(index, |op| matches!(op, Op::Convert(_))).map_or(index, |made| made.operands[0]));
    let data = &mut kernel.insts[inst];
    data.op = Op::ImageRead { level: false };
    if let Some(coordinate) = narrow {
        data.operands[0] = coordinate;
    }
}

/// Buffers that are only read, in whole texels and more than once, and their loads.
fn buffers(context: &Context<'_>) -> Vec<(Value, Vec<Inst>)> {
    let (kernel, memory) = (context.kernel, context.facts.memory());
    let runs = gapped_access::runs(context);
    let mut all = Vec::new();
    for pointer in &kernel.blocks[Kernel::ENTRY].parameters {
        let own = || memory.iter().filter(|fact| fact.base == Base::Value(*pointer));
        let global = matches!(kernel.ty(*pointer), Type::Pointer(Space::Global | Space::Constant));
        let texels = own().all(|fact| {
            let ty = kernel.insts[fact.inst].result.map(|result| kernel.ty(result));
            let whole = |bytes: i64| bytes % i64::from(fact.bytes) == 0;
            // Where neighbours are far apart, the texture pipe stalls as well.
            let near = context.access(fact.inst).is_some_and(|access| access.is_coalesced(context.gpu));
            !fact.writes
                && near
                && matches!(
                    ty,
                    Some(Type::Vector(Scalar::F32 | Scalar::F16 | Scalar::I32 | Scalar::I16 | Scalar::I8, 4))
                )
                && whole(fact.offset.constant)
                && fact.offset.terms.values().all(|factor| whole(*factor))
        });
        let again = own().any(|fact| {
            let in_loop = context.facts.loops().around(fact.block).is_some();
            in_loop || runs.iter().any(|run| run.bytes > run.stride && run.contains(fact.inst))
        });
        if global && texels && again {
            all.push((*pointer, own().map(|fact| fact.inst).collect()));
        }
    }
    all
}

/// Images that are only read at integer coordinates, and their reads.
fn images(context: &Context<'_>) -> Vec<(Value, Vec<Inst>)> {
    let kernel = context.kernel;
    let mut all: Vec<(Value, Vec<Inst>)> = Vec::new();
    let mut others: Vec<Value> = Vec::new();
    for (_, inst) in context.instructions() {
        let data = &kernel.insts[inst];
        let Some(image) =
            data.operands.first().copied().filter(|value| matches!(kernel.ty(*value), Type::Image(_)))
        else {
            continue;
        };
        let whole = match data.op {
            Op::ImageRead { level } => !level && is_side_by_side(context, data.operands[1]),
            Op::ImageSample(Level::Base) => is_side_by_side(context, data.operands[2]),
            Op::ImageQuery(_) => continue,
            _ => false,
        };
        let is_parameter =
            matches!(kernel.values[image].def, ValueDef::Parameter(block, _) if block == Kernel::ENTRY);
        if !whole || !is_parameter {
            others.push(image);
        } else if let Some(entry) = all.iter_mut().find(|entry| entry.0 == image) {
            entry.1.push(inst);
        } else {
            all.push((image, vec![inst]));
        }
    }
    all.retain(|entry| !others.contains(&entry.0));
    all
}

/// Whether neighbours in dimension 0 read the same texel, or the next one of a row.
fn is_side_by_side(context: &Context<'_>, coordinates: Value) -> bool {
    let kernel = context.kernel;
    let slope = |value: &Value| context.facts.divergence().variation(*value).coefficient(0);
    let Some(data) = kernel.defining(coordinates).map(|inst| &kernel.insts[inst]) else { return false };
    let (Op::Construct, [x, rest @ ..]) = (data.op, &data.operands[..]) else { return false };
    kernel.ty(coordinates).is_int()
        && matches!(slope(x), Some(0 | 1))
        && rest.iter().all(|value| slope(value) == Some(0))
}
