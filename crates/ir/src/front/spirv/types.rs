//! Types of a module: their values, and their layouts in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rspirv::spirv::{Op, StorageClass};

use super::code::{Fallible, Raw, invalid, unsupported};
use crate::{Field, ImageAccess, ImageDim, ImageType, Scalar, Space, Type, TypeLayout};

/// A type of the module.
#[derive(Clone, Debug)]
pub(super) struct TypeInfo {
    pub(super) kind: Kind,
    /// The layout in memory; `None` for types that cannot be in memory.
    pub(super) layout: Option<TypeLayout>,
    /// Natural alignment in bytes.
    pub(super) align: u32,
    depth: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Void,
    Value(Type),
    /// A pointer: its address space and pointee type.
    Pointer(Space, u32),
    Array {
        element: u32,
        count: u64,
    },
    Struct {
        members: Vec<u32>,
        offsets: Vec<u64>,
    },
    Function,
    SampledImage,
    /// The variable of a built-in.
    Input,
    Other(String),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void => f.write_str("void"),
            Self::Value(ty) => write!(f, "{ty}"),
            Self::Pointer(..) => f.write_str("a pointer"),
            Self::Array { count, .. } => write!(f, "an array of {count} elements"),
            Self::Struct { .. } => f.write_str("a struct"),
            Self::Function => f.write_str("a function"),
            Self::SampledImage => f.write_str("an image with its sampler"),
            Self::Input => f.write_str("a built-in variable"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

#[derive(Default)]
pub(super) struct Types(HashMap<u32, TypeInfo>);

impl Types {
    pub(super) fn get(&self, id: u32) -> Fallible<&TypeInfo> {
        match self.0.get(&id) {
            Some(info) => Ok(info),
            None => invalid(format_args!("%{id} is not a type")),
        }
    }

    /// The type of a value, for types that are one value.
    pub(super) fn value(&self, id: u32) -> Fallible<Type> {
        match &self.get(id)?.kind {
            Kind::Value(ty) => Ok(*ty),
            Kind::Pointer(space, _) => Ok(Type::Pointer(*space)),
            Kind::Other(name) => unsupported(name),
            other => invalid(format_args!("%{id} is {other}, not a scalar, vector or pointer")),
        }
    }

    /// The pointee type of a pointer type.
    pub(super) fn pointee(&self, id: u32) -> Fallible<u32> {
        match &self.get(id)?.kind {
            Kind::Pointer(_, pointee) => Ok(*pointee),
            _ => invalid(format_args!("%{id} is not a pointer type")),
        }
    }

    pub(super) fn layout(&self, id: u32) -> Fallible<&TypeLayout> {
        let info = self.get(id)?;
        match (&info.layout, &info.kind) {
            (Some(layout), _) => Ok(layout),
            (None, Kind::Other(name)) => unsupported(name),
            (None, kind) => unsupported(format_args!("{kind} in memory")),
        }
    }

    pub(super) fn is_declaration(op: Op) -> bool {
        format!("{op:?}").starts_with("Type")
    }

    /// Reads a type declaration. `count` returns the value of an array's length; `packed` says whether a struct is
    /// packed.
    pub(super) fn declare(
        &mut self,
        raw: Raw<'_>,
        depth_limit: usize,
        count: impl Fn(u32) -> Option<u64>,
        packed: bool,
    ) -> Fallible<()> {
        let id = raw.word(1)?;
        let info = self.read(raw, depth_limit, count, packed)?;
        match self.0.insert(id, info).map(|before| before.kind) {
            None => Ok(()),
            // A pointer in a struct that contains a pointer to itself was declared ahead.
            Some(Kind::Pointer(_, NOT_YET)) if raw.op == Op::TypePointer => Ok(()),
            Some(_) => invalid(format_args!("%{id} is declared twice")),
        }
    }

    fn read(
        &self,
        raw: Raw<'_>,
        depth_limit: usize,
        count: impl Fn(u32) -> Option<u64>,
        packed: bool,
    ) -> Fallible<TypeInfo> {
        let plain = |kind| Ok(TypeInfo { kind, layout: None, align: 1, depth: 0 });
        let value = |ty: Type| {
            let layout = Some(TypeLayout::Value(ty));
            Ok(TypeInfo { kind: Kind::Value(ty), layout, align: ty.stored_bytes(), depth: 0 })
        };
        let too_deep = || unsupported(format_args!("a type nested more than {depth_limit} deep"));
        match raw.op {
            Op::TypeVoid => plain(Kind::Void),
            Op::TypeBool => value(Type::BOOL),
            Op::TypeInt => match Scalar::int(raw.word(2)?) {
                Some(scalar) => value(Type::Scalar(scalar)),
                None => unsupported(format_args!("an integer of {} bits", raw.word(2)?)),
            },
            Op::TypeFloat => match Scalar::float(raw.word(2)?) {
                Some(scalar) if raw.words.len() == 3 => value(Type::Scalar(scalar)),
                _ => unsupported(format_args!("a float of {} bits of that encoding", raw.word(2)?)),
            },
            Op::TypeVector => {
                let lanes = raw.word(3)?;
                match (&self.get(raw.word(2)?)?.kind, u8::try_from(lanes)) {
                    (Kind::Value(Type::Scalar(scalar)), Ok(lanes)) if Type::LANES.contains(&lanes) => {
                        value(Type::Vector(*scalar, lanes))
                    }
                    (kind, _) => unsupported(format_args!("a vector of {lanes} lanes of {kind}")),
                }
            }
            Op::TypePointer | Op::TypeForwardPointer => {
                let class = raw.word(2)?;
                let pointee = if raw.op == Op::TypePointer { raw.word(3)? } else { NOT_YET };
                let space = match StorageClass::from_u32(class) {
                    Some(StorageClass::Function | StorageClass::Private) => Space::Private,
                    Some(StorageClass::Workgroup) => Space::Local,
                    Some(StorageClass::CrossWorkgroup) => Space::Global,
                    Some(StorageClass::UniformConstant) => Space::Constant,
                    Some(StorageClass::Generic) => Space::Generic,
                    Some(StorageClass::Input) => return plain(Kind::Input),
                    Some(class) => return plain(Kind::Other(format!("storage class {class:?}"))),
                    None => return invalid(format_args!("storage class {class} is unknown")),
                };
                let ty = Type::Pointer(space);
                let layout = Some(TypeLayout::Value(ty));
                Ok(TypeInfo { kind: Kind::Pointer(space, pointee), layout, align: 8, depth: 0 })
            }
            Op::TypeArray => {
                let element = raw.word(2)?;
                let Some(count) = count(raw.word(3)?) else {
                    return invalid(format_args!("%{} is not an array length", raw.word(3)?));
                };
                let inner = self.get(element)?;
                let depth = inner.depth + 1;
                if depth > depth_limit {
                    return too_deep();
                }
                let layout = inner.layout.as_ref().map(|layout| TypeLayout::Array {
                    stride: layout.bytes(),
                    element: Arc::new(layout.clone()),
                    count,
                });
                if layout.as_ref().is_some_and(|layout| matches!(layout, TypeLayout::Array { stride: 0, .. }))
                {
                    return unsupported("an array of elements without size");
                }
                if layout.as_ref().is_some_and(|layout| layout.bytes() > u64::from(u32::MAX)) {
                    return unsupported("an array of more than 4 GiB");
                }
                Ok(TypeInfo { kind: Kind::Array { element, count }, layout, align: inner.align, depth })
            }
            Op::TypeStruct => self.structure(raw.rest(2), packed, depth_limit),
            Op::TypeFunction => plain(Kind::Function),
            Op::TypeImage => image(raw),
            Op::TypeSampler => value(Type::Sampler),
            Op::TypeSampledImage => plain(Kind::SampledImage),
            Op::TypeEvent => value(Type::Event),
            Op::TypeOpaque => plain(Kind::Other(format!("opaque type `{}`", raw.string(2).0))),
            other => plain(Kind::Other(format!("Op{other:?}"))),
        }
    }

    fn structure(&self, members: &[u32], packed: bool, depth_limit: usize) -> Fallible<TypeInfo> {
        let mut fields = Vec::with_capacity(members.len());
        let mut offsets = Vec::with_capacity(members.len());
        let (mut end, mut align, mut depth, mut complete) = (0_u64, 1, 0, true);
        for member in members {
            let info = self.get(*member)?;
            depth = depth.max(info.depth + 1);
            let Some(layout) = &info.layout else {
                complete = false;
                continue;
            };
            let member_align = if packed { 1 } else { info.align };
            align = align.max(member_align);
            let offset = end.next_multiple_of(u64::from(member_align));
            end = offset + layout.bytes();
            offsets.push(offset);
            fields.push(Field { offset, layout: layout.clone() });
        }
        let bytes = end.next_multiple_of(u64::from(align));
        if depth > depth_limit {
            return unsupported(format_args!("a type nested more than {depth_limit} deep"));
        }
        if bytes > u64::from(u32::MAX) {
            return unsupported("a struct of more than 4 GiB");
        }
        let layout = complete.then_some(TypeLayout::Struct { fields: fields.into(), bytes });
        let kind = Kind::Struct { members: members.to_vec(), offsets };
        Ok(TypeInfo { kind, layout, align, depth })
    }
}

/// The pointee of a pointer type that is declared ahead: no id is 0.
const NOT_YET: u32 = 0;

fn image(raw: Raw<'_>) -> Fallible<TypeInfo> {
    use rspirv::spirv::{AccessQualifier, Dim};
    let other = |name: String| Ok(TypeInfo { kind: Kind::Other(name), layout: None, align: 1, depth: 0 });
    let dim = match Dim::from_u32(raw.word(3)?) {
        Some(Dim::Dim1D) => ImageDim::D1,
        Some(Dim::DimBuffer) => ImageDim::Buffer,
        Some(Dim::Dim2D) => ImageDim::D2,
        Some(Dim::Dim3D) => ImageDim::D3,
        dim => return other(format!("an image of dimensions {dim:?}")),
    };
    if raw.word(6)? != 0 {
        return other("a multisampled image".into());
    }
    let access = match raw.words.get(9).and_then(|word| AccessQualifier::from_u32(*word)) {
        Some(AccessQualifier::WriteOnly) => ImageAccess::Write,
        Some(AccessQualifier::ReadWrite) => ImageAccess::ReadWrite,
        _ => ImageAccess::Read,
    };
    let ty = ImageType { dim, array: raw.word(5)? == 1, depth: raw.word(4)? == 1, access };
    let ty = Type::Image(ty);
    Ok(TypeInfo { kind: Kind::Value(ty), layout: Some(TypeLayout::Value(ty)), align: 8, depth: 0 })
}
