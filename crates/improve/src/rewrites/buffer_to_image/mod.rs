//! `buffer-to-image`: a buffer that is only read becomes an image.

mod layout;
mod reads;
mod write;

use std::collections::BTreeMap;

use tripipe_ir::diagnostic::Rule;
use tripipe_launch::ChannelType;

use crate::syntax::{Function, Scalar, Space, Type, Variable};
use crate::{Condition, Extent, HostChange, Proposal, View};
use layout::ImageRows;
use write::Converted;

pub(super) const RULE: Rule = Rule {
    code: "buffer-to-image",
    title: "a buffer that is only read becomes an image",
    what: "
A buffer of rows that the kernel only reads becomes a `read_only image2d_t`, of one texel for 4 neighbouring elements where
vectors are loaded, else for one. Loads become `read_imagef`, `read_imageh`, `read_imagei` or `read_imageui` at the column
and the row.",
    why: "
An Adreno reads images through its texture pipe, which has a cache of its own, and leaves the load/store pipe to what stays
in buffers. In a product of matrices, one operand as an image and the other as a buffer use both.",
    example: "
kernel void k(global const float *b, ...)
    const float4 v = vload4(0, &b[i * n + 4 * x]);",
    instead: "
kernel void k(read_only image2d_t b, ...)
    const float4 v = read_imagef(b, (int2)(x, i));",
    exceptions: "
On a Mali, whose texture pipe is slower than its load/store pipe. Indices that run from a row into the next one read
something else from an image: the proof finds them on the sizes that it tries, and the condition says so. A driver aligns
the rows of an image, so that it is copied to, unless the buffer's rows have that pitch.",
    source: "
- Qualcomm, *Snapdragon Mobile Platform OpenCL General Programming and Optimization*: use image objects for what is only
  read.",
    ..Rule::REWRITE
};

/// The most buffers of a kernel that become images together: the read paths of a GPU are two.
const TOGETHER: usize = 2;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    let parameters = kernel.parameters.iter().enumerate();
    let candidates: Vec<usize> =
        parameters.filter(|(_, it)| texel(it).is_some()).map(|(position, _)| position).collect();
    let convert = |position: &usize| {
        let layout = ImageRows::of(view, tree, kernel, *position)?;
        Some((*position, layout))
    };
    let layouts: BTreeMap<usize, ImageRows> = candidates.iter().filter_map(convert).collect();
    let all: Vec<usize> = layouts.keys().copied().collect();
    let alone = all.iter().map(|position| vec![*position]);
    let both = (2..=TOGETHER).contains(&all.len()).then(|| all.clone());
    alone.chain(both).filter_map(|chosen| proposal(view, kernel, &layouts, &chosen)).collect()
}

/// The kernel with some buffers as images.
fn proposal(
    view: &View<'_>,
    kernel: &Function,
    layouts: &BTreeMap<usize, ImageRows>,
    chosen: &[usize],
) -> Option<Proposal> {
    let tree = view.tree?;
    let mut conditions = Vec::new();
    let mut host = Vec::new();
    let mut names = Vec::new();
    let mut converted = Converted::new(tree);
    for position in chosen {
        let (parameter, layout) = (kernel.parameters.get(*position)?, layouts.get(position)?);
        converted.convert(kernel, *position, layout)?;
        if let (Extent::Argument { argument, name }, true) = (&layout.pitch, layout.per_texel > 1) {
            let multiple = Condition::ArgumentMultiple {
                argument: *argument,
                name: name.clone(),
                of: layout.per_texel as u64,
            };
            conditions.push(multiple);
        }
        conditions.push(Condition::Stated(format!(
            "no index of `{}` runs from a row of {} elements into another",
            parameter.name, layout.pitch
        )));
        host.push(HostChange::Image {
            argument: *position,
            name: parameter.name.clone(),
            pitch: layout.pitch.clone(),
            per_texel: layout.per_texel,
            channel: layout.channel,
        });
        names.push(format!("`{}`", parameter.name));
    }
    conditions.dedup();
    let one = names.len() == 1;
    Some(Proposal {
        title: format!("{} as {}", names.join(" and "), if one { "an image" } else { "images" }),
        why: "its loads take the texture pipe and its cache, which leaves the load/store pipe to the others"
            .to_owned(),
        source: converted.source()?,
        conditions,
        host,
        ..Proposal::of(RULE.code)
    })
}

/// What reads a texel, and the channels of an element: of a buffer of numbers, or of vectors of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Texel {
    scalar: Scalar,
    channel: ChannelType,
    function: &'static str,
    /// What the function returns.
    read: Scalar,
    /// Whether the buffer's elements are vectors of 4.
    whole: bool,
}

/// How a parameter's elements are read from an image; `None` if it is no buffer of such elements.
fn texel(parameter: &Variable) -> Option<Texel> {
    let Type::Pointer { to, space: Space::Global | Space::Constant, .. } = &parameter.ty else { return None };
    let (scalar, whole) = match &**to {
        Type::Scalar(scalar) => (*scalar, false),
        Type::Vector(scalar, 4) => (*scalar, true),
        _ => return None,
    };
    let (channel, function, bits) = match scalar {
        Scalar::Float { bits: 32 } => (ChannelType::F32, "read_imagef", None),
        Scalar::Float { bits: 16 } => (ChannelType::F16, "read_imageh", None),
        Scalar::Integer { bits: 8, signed: false } => (ChannelType::U8, "read_imageui", Some(false)),
        Scalar::Integer { bits: 8, signed: true } => (ChannelType::I8, "read_imagei", Some(true)),
        Scalar::Integer { bits: 16, signed: false } => (ChannelType::U16, "read_imageui", Some(false)),
        Scalar::Integer { bits: 16, signed: true } => (ChannelType::I16, "read_imagei", Some(true)),
        _ => return None,
    };
    let read = bits.map_or(scalar, |signed| Scalar::Integer { bits: 32, signed });
    Some(Texel { scalar, channel, function, read, whole })
}
