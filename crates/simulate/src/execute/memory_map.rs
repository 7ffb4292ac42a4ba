//! The objects of a launch and their numbers.
//!
//! 0 is null; then come the kernel's private and local objects, the program's objects, local memory passed as
//! arguments, and buffers. A buffer that is passed several times has one number.
//! A buffer that sub-groups copy into as constant memory has a second object: the copy that each work-group has
//! of it, as each core has its own constant memory.

use std::collections::HashMap;
use std::sync::Arc;

use cranelift_entity::EntityRef as _;
use tripipe_ir as ir;
use tripipe_ir::{Initial, Kernel, Module, Space, TypeLayout};
use tripipe_launch::MemoryId;

use super::effects::written;
use super::memory::{Home, ObjectInfo, SharedRange, pointer};

/// Sizes and homes of all objects of a launch.
#[derive(Clone, Debug)]
pub(crate) struct MemoryMap {
    pub(crate) objects: Arc<[ObjectInfo]>,
    kernel_objects: u32,
    program_objects: u32,
    /// The kernel's private objects: size, unit of interleaving, initial contents.
    pub(crate) privates: Vec<PrivateShape>,
    /// Sizes of local objects; those passed as arguments come last.
    pub(crate) locals: Vec<usize>,
    /// Buffers in the order of [`super::memory::Memory::globals`], after the program's objects.
    pub(crate) buffers: Vec<MemoryId>,
    /// The buffers that have addresses of the application, sorted by address.
    pub(crate) shared: Arc<[SharedRange]>,
    /// Object number of each argument; 0 for arguments without an object.
    pub(crate) arguments: Vec<u32>,
    /// Numbers of the objects that each work-group has of its own of a buffer, and of the buffer's.
    pub(crate) copies: Vec<[u32; 2]>,
}

/// A private object.
#[derive(Clone, Debug)]
pub(crate) struct PrivateShape {
    pub(crate) bytes: usize,
    pub(crate) unit: usize,
    /// Initial contents for each work-item; empty means zeros.
    pub(crate) initial: Arc<[u8]>,
}

/// A buffer at addresses of the application, which kernels reach through pointers in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedBuffer {
    pub(crate) memory: MemoryId,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

/// The object of an argument.
pub(crate) enum ArgumentObject<'a> {
    /// No object: a value, an image, a null pointer.
    Nothing,
    /// Local memory of this many bytes.
    Local(usize),
    /// A buffer and its size.
    Buffer(MemoryId, usize),
    /// The bytes of a struct.
    Struct(&'a [u8]),
}

impl MemoryMap {
    pub(crate) fn new(
        module: &Module,
        kernel: &Kernel,
        passed: &[ArgumentObject<'_>],
        reached: &[SharedBuffer],
    ) -> Self {
        let mut objects =
            vec![ObjectInfo { name: "null".into(), space: Space::Generic, home: Home::Null, bytes: 0 }];
        let mut privates = Vec::new();
        let mut locals = Vec::new();
        let named =
            |name: &str, number: String| if name.is_empty() { number.into() } else { Arc::from(name) };
        for (id, object) in &kernel.objects {
            let bytes = object.bytes();
            let home = if object.space == Space::Local {
                locals.push(bytes as usize);
                Home::Local(locals.len() as u32 - 1)
            } else {
                let initial: Arc<[u8]> = match &object.initial {
                    Initial::Bytes { bytes, .. } => Arc::clone(bytes),
                    Initial::Argument(index) => match passed.get(*index as usize) {
                        Some(ArgumentObject::Struct(bytes)) => Arc::from(*bytes),
                        _ => Arc::default(),
                    },
                    Initial::Unwritten | Initial::Zero => Arc::default(),
                };
                privates.push(PrivateShape { bytes: bytes as usize, unit: unit(&object.layout), initial });
                Home::Private(privates.len() as u32 - 1)
            };
            objects.push(ObjectInfo {
                name: named(&object.name, id.to_string()),
                space: object.space,
                home,
                bytes,
            });
        }
        for (index, (id, object)) in module.objects.iter().enumerate() {
            objects.push(ObjectInfo {
                name: named(&object.name, id.to_string()),
                space: object.space,
                home: Home::Global(index as u32),
                bytes: object.bytes(),
            });
        }
        let mut arguments = vec![0; passed.len()];
        let mut buffers: Vec<MemoryId> = Vec::new();
        let mut numbers: HashMap<MemoryId, u32> = HashMap::new();
        let mut copies = Vec::new();
        let loaded = loaded_constants(kernel);
        // The home of the last of `count` buffers.
        let buffer_home = |count: usize| Home::Global((module.objects.len() + count - 1) as u32);
        for (index, each) in passed.iter().enumerate() {
            let name: Arc<str> =
                kernel.parameters.get(index).filter(|parameter| !parameter.name.is_empty()).map_or_else(
                    || format!("argument {index}").into(),
                    |parameter| parameter.name.as_str().into(),
                );
            let mut number = objects.len() as u32;
            let (space, home, bytes) = match each {
                ArgumentObject::Nothing | ArgumentObject::Struct(_) => continue,
                ArgumentObject::Local(bytes) => {
                    locals.push(*bytes);
                    (Space::Local, Home::Local(locals.len() as u32 - 1), *bytes)
                }
                ArgumentObject::Buffer(memory, bytes) if loaded.contains(&index) => {
                    let of = *numbers.entry(*memory).or_insert_with(|| {
                        buffers.push(*memory);
                        let home = buffer_home(buffers.len());
                        let name = Arc::clone(&name);
                        objects.push(ObjectInfo { name, space: Space::Constant, home, bytes: *bytes as u64 });
                        number
                    });
                    number = objects.len() as u32;
                    copies.push([number, of]);
                    locals.push(*bytes);
                    (Space::Constant, Home::Local(locals.len() as u32 - 1), *bytes)
                }
                ArgumentObject::Buffer(memory, bytes) => {
                    // A buffer that is passed twice is one object, so that aliases are seen as such.
                    if let Some(number) = numbers.get(memory) {
                        arguments[index] = *number;
                        continue;
                    }
                    numbers.insert(*memory, number);
                    buffers.push(*memory);
                    let space = match kernel.parameters.get(index).map(|parameter| &parameter.kind) {
                        Some(ir::ParameterKind::Pointer { space, .. }) => *space,
                        _ => Space::Global,
                    };
                    (space, buffer_home(buffers.len()), *bytes)
                }
            };
            arguments[index] = number;
            objects.push(ObjectInfo { name, space, home, bytes: bytes as u64 });
        }
        let mut shared = Vec::with_capacity(reached.len());
        for each in reached {
            let bytes = each.bytes as u64;
            let object = *numbers.entry(each.memory).or_insert_with(|| {
                buffers.push(each.memory);
                let home = buffer_home(buffers.len());
                let name = format!("shared memory at {:#x}", each.address).into();
                objects.push(ObjectInfo { name, space: Space::Global, home, bytes });
                objects.len() as u32 - 1
            });
            shared.push(SharedRange { address: each.address, bytes, object });
        }
        shared.sort_by_key(|range| range.address);
        Self {
            objects: objects.into(),
            shared: shared.into(),
            kernel_objects: kernel.objects.len() as u32,
            program_objects: module.objects.len() as u32,
            privates,
            locals,
            buffers,
            arguments,
            copies,
        }
    }

    /// The address of a byte of a buffer; `None` if the launch does not have the buffer.
    pub(crate) fn address(&self, memory: MemoryId, offset: usize) -> Option<u64> {
        let buffer = self.buffers.iter().position(|buffer| *buffer == memory)?;
        let home = Home::Global(self.program_objects + buffer as u32);
        let object = self.objects.iter().position(|info| info.home == home)?;
        Some(pointer(object as u32, offset as u64))
    }

    /// Whether a kernel may write to the program's object or the buffer at a position of
    /// [`super::memory::Memory::globals`]; `written` is from [`written`].
    pub(crate) fn may_write(&self, written: Option<&[bool]>, index: usize) -> bool {
        let home = Home::Global(index as u32);
        // `written` follows arguments only. Stores to program-scope objects are not in it.
        index < self.program_objects as usize
            || written.is_none_or(|written| {
                let mut arguments = self.arguments.iter().zip(written);
                arguments.any(|(object, written)| *written && self.objects[*object as usize].home == home)
            })
    }

    /// Bytes of local memory that a work-group has.
    pub(crate) fn local_bytes(&self) -> u64 {
        let local = self.objects.iter().filter(|info| info.space == Space::Local);
        local.fold(0, |all, info| all.saturating_add(info.bytes))
    }

    /// Bytes of private objects that a work-item has.
    pub(crate) fn private_bytes(&self) -> u64 {
        self.privates.iter().map(|shape| shape.bytes as u64).fold(0, u64::saturating_add)
    }

    pub(crate) fn kernel_object(object: u32) -> u32 {
        1 + object
    }

    pub(crate) fn program_object(&self, object: u32) -> u32 {
        1 + self.kernel_objects + object
    }

    /// The initial bytes of a program-scope object, with addresses filled in.
    pub(crate) fn initial(&self, object: &ir::ObjectData) -> Vec<u8> {
        match &object.initial {
            Initial::Bytes { bytes, relocations } => {
                let mut bytes = bytes.to_vec();
                for each in &**relocations {
                    let target = pointer(self.program_object(each.object.index() as u32), 0)
                        .wrapping_add_signed(each.addend);
                    if let Some(to) = bytes.get_mut(each.offset as usize..each.offset as usize + 8) {
                        to.copy_from_slice(&target.to_le_bytes());
                    }
                }
                bytes
            }
            _ => vec![0; object.bytes() as usize],
        }
    }
}

/// The arguments that sub-groups copy into as constant memory.
fn loaded_constants(kernel: &Kernel) -> Vec<usize> {
    let constant = |ty: ir::Type| ty == ir::Type::Pointer(Space::Constant);
    let mut insts = kernel.blocks.values().flat_map(|data| &data.insts).map(|inst| &kernel.insts[*inst]);
    if !insts.any(|inst| matches!(inst.op, ir::Op::AsyncCopy { .. }) && constant(kernel.ty(inst.operands[0])))
    {
        return Vec::new();
    }
    let written = written(kernel);
    let parameters = kernel.parameters.iter().enumerate();
    parameters
        .filter(|(_, parameter)| {
            matches!(parameter.kind, ir::ParameterKind::Pointer { space: Space::Constant, .. })
        })
        // Only these copies write to constant memory.
        .filter(|(index, _)| written.as_ref().is_none_or(|written| written[*index]))
        .map(|(index, _)| index)
        .collect()
}

/// The size of the smallest number in an object, which is the unit of interleaving.
fn unit(layout: &TypeLayout) -> usize {
    match layout {
        TypeLayout::Value(ty) => ty.scalar().map_or(8, ir::Scalar::bytes) as usize,
        TypeLayout::Array { element, .. } => unit(element),
        TypeLayout::Struct { fields, .. } => {
            // The smallest number, because a larger one may span units but a smaller one must not share a unit.
            fields.iter().map(|field| unit(&field.layout)).min().unwrap_or(1)
        }
        TypeLayout::Bytes(_) => 1,
    }
}
