//! Calls, which are inlined.

use super::code::{Fallible, Fault, Raw, invalid, unsupported};
use super::rep::Rep;
use super::translator::{BodyTranslator, Frame};
use super::types::Kind;
use crate::{BlockData, Op, Space, Type, Value};

impl BodyTranslator<'_> {
    /// Inlines a call.
    pub(super) fn call(&mut self, raw: Raw<'_>) -> Fallible<()> {
        let (ty, id, callee) = (raw.word(1)?, raw.word(2)?, raw.word(3)?);
        let Some(function) = self.all.functions.get(&callee) else {
            return invalid(format_args!("%{callee} is not a function"));
        };
        if function.blocks.is_empty() {
            let import = self.all.decorations(callee).import.clone();
            let name = import.unwrap_or_else(|| self.all.name(callee).to_owned());
            return self.foreign_call(raw, &name);
        }
        if self.calls.contains(&callee) {
            return unsupported(format_args!("recursion in `{}`", self.all.name(callee)));
        }
        if self.calls.len() >= self.options.limits.depth {
            return Err(Fault::TooLarge("nested calls", self.options.limits.depth));
        }
        let mut arguments = Vec::new();
        for (position, argument) in raw.rest(4).iter().enumerate() {
            let rep = self.rep(*argument)?;
            let by_value = function
                .parameters
                .get(position)
                .filter(|parameter| self.all.decorations(parameter.0).by_value);
            arguments.push(match (by_value, rep) {
                (Some((parameter, ty)), Rep::Value(pointer)) => {
                    Rep::Value(self.copied(pointer, *ty, self.all.name(*parameter))?)
                }
                (_, rep) => rep,
            });
        }
        let behind = self.kernel.blocks.push(BlockData::default());
        let result = match self.all.types.get(function.result)?.kind {
            Kind::Void => None,
            _ => Some(self.fill(ty, |this, ty| this.kernel.add_parameter(behind, ty))?),
        };
        let site = self.location();
        let outer = std::mem::replace(&mut self.frame, Frame { behind: Some(behind), ..Frame::default() });
        let state = (self.line, self.inlined_at, self.current);
        self.inlined_at = site.or(self.inlined_at);
        self.calls.push(callee);
        self.body(function, arguments)?;
        self.calls.pop();
        (self.line, self.inlined_at, self.current) = state;
        self.frame = outer;
        self.block = behind;
        if let Some(result) = result {
            self.frame.values.insert(id, result);
            self.frame.types.insert(id, ty);
        }
        Ok(())
    }

    /// A private copy of a struct that is passed by value.
    fn copied(&mut self, pointer: Value, ty: u32, name: &str) -> Fallible<Value> {
        let pointee = self.all.types.pointee(ty)?;
        let object = self.private_object(pointee, name, None)?;
        let align = self.kernel.objects[object].align;
        let bytes = self.kernel.objects[object].bytes();
        let copy = self.emit(Op::ObjectAddress(object), &[], Type::Pointer(Space::Private))?;
        let count = self.kernel.make_constant(Type::I64, &[bytes]);
        let access = crate::op::AccessAttributes { align, volatile: false, vector_builtin: false };
        self.effect(Op::Copy(access), &[copy, pointer, count])?;
        Ok(copy)
    }
}
