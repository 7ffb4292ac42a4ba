//! Kernels that read and write texels, and their launches.

use std::sync::Arc;

use tripipe_launch::{
    Access, Argument, Executor, ImageExtent as E, ImageShape, Launch, MemoryId, MemoryKind, NdRange, Program,
};
use tripipe_opencl::OpenClExecutor;
use tripipe_simulate::image::TexelKind;

/// Kernels that read and write texels at coordinates, four numbers each.
pub(super) fn program(shape: &ImageShape, kind: TexelKind) -> Arc<Program> {
    let ty = shape.opencl_type();
    let at = match shape.extent {
        E::D1 { .. } | E::Buffer { .. } => "at[i].x",
        E::D1Array { .. } | E::D2 { .. } => "at[i].xy",
        E::D2Array { .. } | E::D3 { .. } => "at[i]",
    };
    let (f, component) = match kind {
        TexelKind::Float => ("f", "float"),
        TexelKind::Signed => ("i", "int"),
        TexelKind::Unsigned => ("ui", "uint"),
    };
    let read = format!(
        "kernel void read(read_only {ty} from, global const int4 *at, global {component}4 *to) {{
             size_t i = get_global_id(0);
             to[i] = read_image{f}(from, {at});
         }}"
    );
    let sample = |entry: &str, coordinate: &str| {
        format!(
            "kernel void {entry}(
                 read_only {ty} from, sampler_t how, global const {coordinate} *at, global {component}4 *to
             ) {{
                 size_t i = get_global_id(0);
                 to[i] = read_image{f}(from, how, {at});
             }}"
        )
    };
    let write = format!(
        "kernel void write(write_only {ty} to, global const int4 *at, global const {component}4 *texels) {{
             size_t i = get_global_id(0);
             write_image{f}(to, {at}, texels[i]);
         }}"
    );
    let kernels = match shape.extent {
        E::Buffer { .. } => vec![read, write],
        // Writing 3D images is an extension.
        E::D3 { .. } => vec![read, sample("sample", "float4"), sample("sample_at", "int4")],
        _ => vec![read, sample("sample", "float4"), sample("sample_at", "int4"), write],
    };
    Arc::new(Program::from_source("texels.cl", kernels.join("\n")))
}

pub(super) fn buffer(executor: &mut OpenClExecutor, bytes: &[u8]) -> MemoryId {
    let kind = MemoryKind::Buffer { bytes: bytes.len() };
    executor.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
}

/// Runs a kernel that reads; returns four numbers for each coordinate.
pub(super) fn read(
    executor: &mut OpenClExecutor,
    program: &Arc<Program>,
    entry: &str,
    mut arguments: Vec<Argument>,
    at: &[u8],
) -> Vec<[u32; 4]> {
    let from = buffer(executor, at);
    let to = buffer(executor, &vec![0; at.len()]);
    arguments.extend([Argument::Memory(from), Argument::Memory(to)]);
    run(executor, program, entry, arguments, at.len() / 16);
    let mut found = vec![0; at.len()];
    executor.read(to, 0, &mut found).unwrap();
    for memory in [from, to] {
        executor.release(memory).unwrap();
    }
    bytemuck::pod_collect_to_vec(&found)
}

pub(super) fn run(
    executor: &mut OpenClExecutor,
    program: &Arc<Program>,
    entry: &str,
    arguments: Vec<Argument>,
    items: usize,
) {
    let (program, range) = (Arc::clone(program), NdRange::d1(items));
    executor.run(&[Launch { program, entry: entry.to_owned(), arguments, range }]).unwrap();
}
