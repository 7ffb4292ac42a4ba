//! Binds the arguments of a launch to the parameters of its kernel.

use tripipe_ir::op::{Addressing, SamplerBits};
use tripipe_ir::{Kernel, ParameterKind, Space, Type};
use tripipe_launch::{Argument, ExecuteError, Filter, Launch, MemoryKind, Sampler};

use super::memory::Objects;
use crate::execute::code::component_bytes;
use crate::execute::memory_map::ArgumentObject;
use crate::image::Image;

/// Arguments in the form in which a kernel receives them.
pub(super) struct Bound<'a> {
    /// The memory of each argument.
    pub(super) passed: Vec<ArgumentObject<'a>>,
    /// The bits of each component of each argument; none for pointers to objects, which the layout numbers.
    pub(super) values: Vec<Vec<u64>>,
    /// The images, with the indices of their arguments.
    pub(super) images: Vec<(usize, Image)>,
    /// Where the bytes of each argument begin in its memory.
    pub(super) offsets: Vec<u64>,
}

/// Binds the arguments of a launch to the parameters of its kernel.
pub(super) fn bind<'a>(
    objects: &Objects,
    kernel: &Kernel,
    launch: &'a Launch,
) -> Result<Bound<'a>, ExecuteError> {
    if kernel.parameters.len() != launch.arguments.len() {
        return Err(ExecuteError::ArgumentCount {
            entry: launch.entry.clone(),
            want: kernel.parameters.len(),
            found: launch.arguments.len(),
        });
    }
    let mut bound = Bound { passed: Vec::new(), values: Vec::new(), images: Vec::new(), offsets: Vec::new() };
    for (index, (parameter, argument)) in kernel.parameters.iter().zip(&launch.arguments).enumerate() {
        let wrong = |want: String, found: String| ExecuteError::Argument {
            entry: launch.entry.clone(),
            index,
            name: parameter.name.clone(),
            want,
            found,
        };
        let mut offset = 0;
        let (passed, value) = match (&parameter.kind, argument) {
            (ParameterKind::Pointer { space: Space::Local, .. }, Argument::Local { bytes }) => {
                (ArgumentObject::Local(*bytes), Vec::new())
            }
            (
                ParameterKind::Pointer { space: Space::Global | Space::Constant, .. },
                Argument::Memory(memory),
            ) => {
                let object = objects.object(*memory)?;
                if matches!(object.kind, MemoryKind::Image(_)) {
                    return Err(wrong("a buffer".into(), "an image".into()));
                }
                offset = object.offset as u64;
                let (storage, bytes) = objects.bytes_of(*memory)?;
                (ArgumentObject::Buffer(storage, bytes), Vec::new())
            }
            (ParameterKind::Pointer { space: Space::Global | Space::Constant, .. }, Argument::Null) => {
                (ArgumentObject::Nothing, vec![0])
            }
            (ParameterKind::Value(Type::Image(ty)), Argument::Memory(memory)) => {
                let object = objects.object(*memory)?;
                let MemoryKind::Image(shape) = &object.kind else {
                    return Err(wrong("an image".into(), "a buffer".into()));
                };
                offset = object.offset as u64;
                let (storage, bytes) = objects.bytes_of(*memory)?;
                let slice = object.row_pitch_bytes.saturating_mul(shape.extent.height());
                let image = Image::new(shape, object.row_pitch_bytes, slice)
                    .map_err(|error| wrong("an image".into(), error.to_string()))?;
                if !image.fits(*ty) {
                    return Err(wrong(
                        ty.to_string(),
                        format!("{} of {}", shape.opencl_type(), shape.extent),
                    ));
                }
                let image = if storage == *memory { image } else { image.over_buffer() };
                bound.images.push((index, image));
                (ArgumentObject::Buffer(storage, bytes), vec![bound.images.len() as u64 - 1])
            }
            (ParameterKind::Value(Type::Sampler), Argument::Sampler(sampler)) => {
                (ArgumentObject::Nothing, vec![sampler_bits(*sampler)])
            }
            (ParameterKind::Struct { object }, Argument::Bytes(bytes)) => {
                let want = kernel.objects[*object].bytes();
                if bytes.len() as u64 != want {
                    return Err(wrong(format!("{want} bytes"), format!("{} bytes", bytes.len())));
                }
                (ArgumentObject::Struct(bytes), vec![0])
            }
            (ParameterKind::Value(ty), Argument::Value(value)) if ty.scalar().is_some() => {
                let want = ty.stored_bytes() as usize;
                if value.bytes().len() != want || value.lanes() != usize::from(ty.lanes()) {
                    return Err(wrong(
                        format!("{} ({want} bytes)", parameter.type_name),
                        format!("{} ({} bytes)", value.opencl_name(), value.bytes().len()),
                    ));
                }
                let size = component_bytes(*ty) as usize;
                let components = value.bytes().chunks_exact(size).take(usize::from(ty.lanes()));
                let bits = components.map(|bytes| {
                    let mut bits = [0; 8];
                    bits[..size].copy_from_slice(bytes);
                    u64::from_le_bytes(bits)
                });
                (ArgumentObject::Nothing, bits.collect())
            }
            (kind, argument) => return Err(wrong(kind_name(kind), argument.to_string())),
        };
        bound.passed.push(passed);
        bound.values.push(value);
        bound.offsets.push(offset);
    }
    Ok(bound)
}

fn kind_name(kind: &ParameterKind) -> String {
    match kind {
        ParameterKind::Value(Type::Image(_)) => "an image".into(),
        ParameterKind::Value(Type::Sampler) => "a sampler".into(),
        ParameterKind::Value(ty) => format!("a value ({ty})"),
        ParameterKind::Pointer { space: Space::Local, .. } => "local memory".into(),
        ParameterKind::Pointer { .. } => "a buffer".into(),
        ParameterKind::Struct { .. } => "a struct by value".into(),
    }
}

fn sampler_bits(sampler: Sampler) -> u64 {
    let addressing = match sampler.addressing {
        tripipe_launch::Addressing::None => Addressing::None,
        tripipe_launch::Addressing::ClampToEdge => Addressing::ClampToEdge,
        tripipe_launch::Addressing::Clamp => Addressing::Clamp,
        tripipe_launch::Addressing::Repeat => Addressing::Repeat,
        tripipe_launch::Addressing::MirroredRepeat => Addressing::Mirror,
    };
    let linear = sampler.filter == Filter::Linear;
    SamplerBits { addressing, normalized: sampler.normalized, linear }.bits()
}
