//! The parameters of a kernel that was compiled here.

use tripipe_ir::{Kernel, ParameterKind as IrKind, Scalar as IrScalar, Space, Type};
use tripipe_launch::ScalarType;

use crate::{ElementType, Parameter, ParameterKind, Signature};

impl Signature {
    /// The parameters of a kernel.
    pub fn of(kernel: &Kernel) -> Self {
        let kind = |parameter: &tripipe_ir::Parameter| match parameter.kind {
            IrKind::Pointer { space: Space::Local, .. } => ParameterKind::Local,
            IrKind::Pointer { .. } => ParameterKind::Buffer { element: pointee(&parameter.type_name) },
            IrKind::Struct { object } => ParameterKind::Opaque {
                type_name: parameter.type_name.clone(),
                bytes: kernel.objects.get(object).map(|object| object.bytes() as usize),
            },
            IrKind::Value(Type::Image(_)) => ParameterKind::Image,
            IrKind::Value(Type::Sampler) => ParameterKind::Sampler,
            IrKind::Value(ty) => value(&parameter.type_name, ty),
        };
        let parameters = kernel
            .parameters
            .iter()
            .map(|parameter| Parameter { name: parameter.name.clone(), kind: kind(parameter) })
            .collect();
        Self { kernel: kernel.name.clone(), parameters }
    }
}

/// A value. Integers in a module have no sign, so an integer whose type name is not one of OpenCL's own has only a
/// size.
fn value(type_name: &str, ty: Type) -> ParameterKind {
    let float = match ty.scalar() {
        Some(IrScalar::F16) => Some(ScalarType::F16),
        Some(IrScalar::F32) => Some(ScalarType::F32),
        Some(IrScalar::F64) => Some(ScalarType::F64),
        _ => None,
    };
    let lanes = match ty.lanes() {
        1 => String::new(),
        lanes => lanes.to_string(),
    };
    let float = float.map(|scalar| format!("{}{lanes}", scalar.opencl_name()));
    let named = ElementType::from_opencl_name(type_name);
    match named.or_else(|| ElementType::from_opencl_name(&float?)) {
        Some(element) => ParameterKind::Value(element),
        None => ParameterKind::Opaque {
            type_name: if type_name.is_empty() { ty.to_string() } else { type_name.to_owned() },
            bytes: Some(ty.stored_bytes() as usize),
        },
    }
}

/// The type that a pointer type points to: `float` for `float*`.
pub fn pointee(type_name: &str) -> Option<ElementType> {
    let name = type_name.trim().trim_end_matches('*');
    // Bytes, as in C.
    if name.trim() == "void" {
        return ElementType::from_opencl_name("uchar");
    }
    ElementType::from_opencl_name(name)
}
