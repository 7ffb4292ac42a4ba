//! The meaning of an id: aggregates are trees of values.

use std::sync::Arc;

use super::code::{Fallible, Fault, invalid};
use super::constants::Constant;
use super::translator::BodyTranslator;
use super::types::Kind;
use crate::op::QueryKind;
use crate::{Op, Type, Value};

/// The maximum number of values in an aggregate that is a value; a larger one must be in memory.
const LEAVES: usize = 4096;

/// The meaning of an id.
#[derive(Clone, Debug)]
pub(super) enum Rep {
    /// A single value.
    Value(Value),
    /// An array or a struct.
    Parts(Arc<[Rep]>),
    /// An image with its sampler.
    Sampled(Value, Value),
    /// A built-in variable, or one dimension of it.
    BuiltIn(QueryKind, Option<u8>),
}

impl Rep {
    pub(super) fn flatten(&self, into: &mut Vec<Value>) -> Fallible<()> {
        match self {
            Self::Value(value) => into.push(*value),
            Self::Parts(parts) => parts.iter().try_for_each(|part| part.flatten(into))?,
            Self::Sampled(..) | Self::BuiltIn(..) => {
                return invalid("a sampled image or built-in is not a value");
            }
        }
        Ok(())
    }

    /// Whether both are trees of the same shape.
    pub(super) fn same_shape(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(_), Self::Value(_)) => true,
            (Self::Parts(a), Self::Parts(b)) => {
                a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| a.same_shape(b))
            }
            _ => false,
        }
    }
}

impl BodyTranslator<'_> {
    /// The meaning of an id.
    pub(super) fn rep(&mut self, id: u32) -> Fallible<Rep> {
        if let Some(rep) = self.frame.values.get(&id) {
            return Ok(rep.clone());
        }
        if let Some(variable) = self.all.variables.get(&id) {
            return self.variable(id, variable);
        }
        if self.all.constants.get(id).is_some() {
            let mut leaves = LEAVES;
            return self.constant(id, &mut leaves, self.options.limits.depth);
        }
        invalid(format_args!("%{id} is not defined on the path to here"))
    }

    /// The single value that an id stands for.
    pub(super) fn value(&mut self, id: u32) -> Fallible<Value> {
        match self.rep(id)? {
            Rep::Value(value) => Ok(value),
            _ => invalid(format_args!("%{id} is not a scalar, vector or pointer")),
        }
    }

    /// The types of the values that a type is made of.
    pub(super) fn leaves(&self, ty: u32, into: &mut Vec<Type>) -> Fallible<()> {
        if into.len() > LEAVES {
            return Err(Fault::TooLarge("values in one aggregate", LEAVES));
        }
        match &self.all.types.get(ty)?.kind {
            Kind::Array { element, count } => {
                let before = into.len();
                for _ in 0..*count {
                    self.leaves(*element, into)?;
                    if into.len() == before {
                        return super::code::unsupported("an array of an empty type");
                    }
                }
                Ok(())
            }
            Kind::Struct { members, .. } => members.iter().try_for_each(|member| self.leaves(*member, into)),
            _ => {
                into.push(self.all.types.value(ty)?);
                Ok(())
            }
        }
    }

    /// The tree of a type, built from values in order.
    pub(super) fn unflatten(&self, ty: u32, values: &mut impl Iterator<Item = Value>) -> Fallible<Rep> {
        let mut parts = Vec::new();
        match &self.all.types.get(ty)?.kind {
            Kind::Array { element, count } => {
                for _ in 0..*count {
                    parts.push(self.unflatten(*element, values)?);
                }
            }
            Kind::Struct { members, .. } => {
                for member in members {
                    parts.push(self.unflatten(*member, values)?);
                }
            }
            _ => {
                return match values.next() {
                    Some(value) => Ok(Rep::Value(value)),
                    None => invalid("an aggregate with fewer values than its type"),
                };
            }
        }
        Ok(Rep::Parts(parts.into()))
    }

    /// A tree of a type with every value from `leaf`.
    pub(super) fn fill(&mut self, ty: u32, mut leaf: impl FnMut(&mut Self, Type) -> Value) -> Fallible<Rep> {
        let mut types = Vec::new();
        self.leaves(ty, &mut types)?;
        let values: Vec<Value> = types.into_iter().map(|ty| leaf(self, ty)).collect();
        self.unflatten(ty, &mut values.into_iter())
    }

    fn constant(&mut self, id: u32, leaves: &mut usize, depth: usize) -> Fallible<Rep> {
        let Some(constant) = self.all.constants.get(id) else {
            return invalid(format_args!("%{id} is not a constant"));
        };
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Fault::TooLarge("nested constants", self.options.limits.depth));
        };
        *leaves = leaves.checked_sub(1).ok_or(Fault::TooLarge("values in one aggregate", LEAVES))?;
        match constant {
            Constant::Lanes(ty, bits) => Ok(Rep::Value(self.kernel.make_constant(*ty, bits))),
            Constant::Null(ty) => self.fill(*ty, |this, ty| this.kernel.splat_constant(ty, 0)),
            Constant::Undefined(ty) => {
                let ty = *ty;
                let mut types = Vec::new();
                self.leaves(ty, &mut types)?;
                let mut values = Vec::with_capacity(types.len());
                for ty in types {
                    values.push(self.emit(Op::Undefined, &[], ty)?);
                }
                self.unflatten(ty, &mut values.into_iter())
            }
            Constant::Composite(parts) => {
                let parts: Vec<Rep> =
                    parts.iter().map(|part| self.constant(*part, leaves, depth)).collect::<Fallible<_>>()?;
                Ok(Rep::Parts(parts.into()))
            }
            Constant::Address { space, variable, offset, .. } => {
                let Some(declared) = self.all.variables.get(variable) else {
                    return invalid(format_args!("%{variable} is not a variable"));
                };
                let Rep::Value(base) = self.variable(*variable, declared)? else {
                    return invalid("the address of a built-in");
                };
                let value = self.offset(base, *offset)?;
                self.space_cast(value, *space).map(Rep::Value)
            }
        }
    }
}
