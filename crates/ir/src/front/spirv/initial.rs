//! Initial contents of objects in program scope.

use super::code::{Fallible, Fault, invalid, unsupported};
use super::constants::Constant;
use super::translator::BodyTranslator;
use crate::{Initial, ProgramObject, Relocation, Scalar, Type, TypeLayout};

/// Initial contents while they are written.
struct Image {
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
    visits: usize,
}

impl BodyTranslator<'_> {
    /// The initial contents of a program-scope object.
    pub(super) fn initial(&mut self, object: ProgramObject, initializer: u32) -> Fallible<Initial> {
        match self.all.constants.get(initializer) {
            Some(Constant::Null(_)) => return Ok(Initial::Zero),
            Some(Constant::Undefined(_)) => return Ok(Initial::Unwritten),
            _ => {}
        }
        let layout = self.module.objects[object].layout.clone();
        let limit = self.options.limits.initial_bytes;
        let size = usize::try_from(layout.bytes()).unwrap_or(usize::MAX);
        if size > limit {
            return Err(Fault::TooLarge("bytes in one constant", limit));
        }
        let mut image =
            Image { bytes: vec![0; size], relocations: Vec::new(), visits: size.saturating_mul(4) + 1024 };
        self.write(&mut image, initializer, &layout, 0)?;
        image.relocations.sort_by_key(|relocation| relocation.offset);
        Ok(Initial::Bytes { bytes: image.bytes.into(), relocations: image.relocations.into() })
    }

    fn write(&mut self, image: &mut Image, id: u32, layout: &TypeLayout, at: u64) -> Fallible<()> {
        image.visits = match image.visits.checked_sub(1) {
            Some(visits) => visits,
            None => return unsupported("a constant with that many parts"),
        };
        let Some(constant) = self.all.constants.get(id) else {
            let Some(variable) = self.all.variables.get(&id) else {
                return invalid(format_args!("%{id} is not a constant"));
            };
            let object = self.program_object(id, variable)?;
            image.relocations.push(Relocation { offset: at, object, addend: 0 });
            return Ok(());
        };
        match (constant, layout) {
            (Constant::Null(_) | Constant::Undefined(_), _) => Ok(()),
            (Constant::Lanes(ty, bits), TypeLayout::Value(own)) if ty == own => {
                let bytes = ty.scalar().map_or(0, Scalar::bytes) as usize;
                for (lane, bits) in bits.iter().enumerate() {
                    let start = at as usize + lane * bytes;
                    if let Some(target) = image.bytes.get_mut(start..start + bytes) {
                        target.copy_from_slice(&bits.to_le_bytes()[..bytes]);
                    }
                }
                Ok(())
            }
            (Constant::Address { variable, offset, .. }, TypeLayout::Value(Type::Pointer(_))) => {
                let Some(declared) = self.all.variables.get(variable) else {
                    return invalid(format_args!("%{variable} is not a variable"));
                };
                let object = self.program_object(*variable, declared)?;
                image.relocations.push(Relocation { offset: at, object, addend: *offset });
                Ok(())
            }
            (Constant::Composite(parts), TypeLayout::Array { element, count, stride })
                if parts.len() as u64 == *count =>
            {
                for (part, index) in parts.iter().zip(0..) {
                    self.write(image, *part, element, at + index * stride)?;
                }
                Ok(())
            }
            (Constant::Composite(parts), TypeLayout::Struct { fields, .. })
                if parts.len() == fields.len() =>
            {
                for (part, field) in parts.iter().zip(&**fields) {
                    self.write(image, *part, &field.layout, at + field.offset)?;
                }
                Ok(())
            }
            _ => invalid(format_args!("the shape of %{id} differs from the variable that it initialises")),
        }
    }
}
