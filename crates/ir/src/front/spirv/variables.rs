//! Module-scope variables: program-scope objects, local objects, built-ins.

use rspirv::spirv;

use super::code::{Fallible, invalid, unsupported};
use super::declare::Variable;
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::QueryKind;
use crate::{Initial, ObjectData, Op, ProgramObject, Space, Type, Value};

impl BodyTranslator<'_> {
    /// The meaning of a module-scope variable.
    pub(super) fn variable(&mut self, id: u32, variable: &Variable) -> Fallible<Rep> {
        if let Some(number) = self.all.decorations(id).built_in {
            return built_in(number).map(|kind| Rep::BuiltIn(kind, None));
        }
        let ty = self.all.types.value(variable.ty)?;
        if let Type::Pointer(Space::Local) = ty {
            let object = if let Some(object) = self.local_objects.get(&id) {
                *object
            } else {
                let data = self.object_data(id, variable, Space::Local)?;
                let object = self.kernel.objects.push(data);
                self.local_objects.insert(id, object);
                object
            };
            return self.emit(Op::ObjectAddress(object), &[], ty).map(Rep::Value);
        }
        let object = self.program_object(id, variable)?;
        if ty == Type::Pointer(Space::Private) {
            return self.private_copy(object, self.all.types.pointee(variable.ty)?).map(Rep::Value);
        }
        self.emit(Op::ProgramAddress(object), &[], ty).map(Rep::Value)
    }

    /// A private object with the contents of a program-scope one. For the constant parts of an array or struct, clang
    /// uses the address space of pointers without a qualifier, which is private in OpenCL C 1.2.
    fn private_copy(&mut self, object: ProgramObject, pointee: u32) -> Fallible<Value> {
        let data = &self.module.objects[object];
        let (name, align, bytes) = (data.name.clone(), data.align, data.bytes());
        let own = self.private_object(pointee, &name, Some(align))?;
        let to = self.emit(Op::ObjectAddress(own), &[], Type::Pointer(Space::Private))?;
        let from = self.emit(Op::ProgramAddress(object), &[], Type::Pointer(Space::Constant))?;
        let count = self.kernel.make_constant(Type::I64, &[bytes]);
        self.effect(Op::Copy(super::memory::plain(align)), &[to, from, count])?;
        Ok(to)
    }

    /// The program-scope object of a variable.
    pub(super) fn program_object(&mut self, id: u32, variable: &Variable) -> Fallible<ProgramObject> {
        if let Some(object) = self.program_objects.get(&id) {
            return Ok(*object);
        }
        let space = match self.all.types.value(variable.ty)? {
            Type::Pointer(space @ (Space::Constant | Space::Global)) => space,
            Type::Pointer(Space::Private) if variable.initializer.is_some() => Space::Constant,
            ty => return unsupported(format_args!("a program-scope variable of type {ty}")),
        };
        let mut data = self.object_data(id, variable, space)?;
        // The object is registered before its contents are read, because they may contain its address.
        let initial = std::mem::replace(&mut data.initial, Initial::Zero);
        let object = self.module.objects.push(data);
        self.program_objects.insert(id, object);
        self.module.objects[object].initial = match variable.initializer {
            Some(initializer) => self.initial(object, initializer)?,
            None => initial,
        };
        Ok(object)
    }

    fn object_data(&mut self, id: u32, variable: &Variable, space: Space) -> Fallible<ObjectData> {
        let pointee = self.all.types.pointee(variable.ty)?;
        let natural = self.all.types.get(pointee)?.align;
        let align = self.all.decorations(id).align.filter(|align| align.is_power_of_two()).unwrap_or(1);
        let initial = if space == Space::Local { Initial::Unwritten } else { Initial::Zero };
        Ok(ObjectData {
            name: self.all.name(id).to_owned(),
            space,
            align: align.max(natural),
            layout: self.all.types.layout(pointee)?.clone(),
            initial,
        })
    }
}

fn built_in(number: u32) -> Fallible<QueryKind> {
    use spirv::BuiltIn as B;
    Ok(match B::from_u32(number) {
        Some(B::GlobalInvocationId) => QueryKind::GlobalId,
        Some(B::GlobalSize) => QueryKind::GlobalSize,
        Some(B::GlobalOffset) => QueryKind::GlobalOffset,
        Some(B::LocalInvocationId) => QueryKind::LocalId,
        Some(B::WorkgroupSize) => QueryKind::LocalSize,
        Some(B::EnqueuedWorkgroupSize) => QueryKind::EnqueuedLocalSize,
        Some(B::WorkgroupId) => QueryKind::GroupId,
        Some(B::NumWorkgroups) => QueryKind::NumGroups,
        Some(B::WorkDim) => QueryKind::WorkDim,
        Some(B::GlobalLinearId) => QueryKind::GlobalLinearId,
        Some(B::LocalInvocationIndex) => QueryKind::LocalLinearId,
        Some(B::SubgroupSize) => QueryKind::SubGroupSize,
        Some(B::SubgroupMaxSize) => QueryKind::MaxSubGroupSize,
        Some(B::NumSubgroups) => QueryKind::NumSubGroups,
        Some(B::NumEnqueuedSubgroups) => QueryKind::EnqueuedNumSubGroups,
        Some(B::SubgroupId) => QueryKind::SubGroupId,
        Some(B::SubgroupLocalInvocationId) => QueryKind::SubGroupLocalId,
        Some(B::SubgroupEqMask) => QueryKind::SubGroupEqMask,
        Some(B::SubgroupGeMask) => QueryKind::SubGroupGeMask,
        Some(B::SubgroupGtMask) => QueryKind::SubGroupGtMask,
        Some(B::SubgroupLeMask) => QueryKind::SubGroupLeMask,
        Some(B::SubgroupLtMask) => QueryKind::SubGroupLtMask,
        Some(other) => return unsupported(format_args!("the built-in {other:?}")),
        None => return invalid(format_args!("built-in {number} is unknown")),
    })
}
