//! How values differ between the work-items that one work-item replaces.

use crate::syntax::{Expr, ExprKind, Scalar, Type, fold};

use super::functions::{self, FunctionKind};
use super::{Engine, Obstacle};

/// How a value differs between lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The same in all lanes.
    Uniform,
    /// An integer or pointer that grows by a constant from lane to lane: its scalar is that of lane 0.
    Strided(i128),
    /// A vector.
    Vector,
}

use Shape::{Strided, Uniform, Vector};

impl Shape {
    fn strided(by: i128) -> Self {
        if by == 0 { Uniform } else { Strided(by) }
    }

    /// The growth from lane to lane; `None` for vectors.
    pub(super) fn stride(self) -> Option<i128> {
        match self {
            Uniform => Some(0),
            Strided(by) => Some(by),
            Vector => None,
        }
    }

    /// The shape of a variable that takes values of both.
    pub(super) fn join(self, other: Self) -> Self {
        if self == other { self } else { Vector }
    }

    fn sum(self, other: Self, sign: i128) -> Self {
        match (self.stride(), other.stride()) {
            (Some(a), Some(b)) => Self::strided(a + sign * b),
            _ => Vector,
        }
    }
}

impl Engine<'_> {
    /// The shape of an expression's value.
    pub(super) fn shape(&self, expr: &Expr) -> Result<Shape, Obstacle> {
        if let Some((chosen, _)) = self.decided(expr) {
            return self.shape(chosen);
        }
        let shape = match &expr.kind {
            ExprKind::Integer(_) | ExprKind::Float(_) => Uniform,
            ExprKind::Name { symbol, .. } => self.variables.get(symbol).map_or(Uniform, |it| it.shape),
            ExprKind::Parentheses(inner) => self.shape(inner)?,
            ExprKind::Cast { operand, .. } => match self.shape(operand)? {
                Strided(by) if keeps_strides(&expr.ty) || matches!(expr.ty, Type::Pointer { .. }) => {
                    Strided(by)
                }
                Uniform => Uniform,
                _ => Vector,
            },
            ExprKind::Unary { operator, operand, .. } => {
                let inner = self.shape(operand)?;
                match operator.as_str() {
                    "+" | "++" | "--" => inner,
                    "-" => inner.stride().map_or(Vector, |by| Shape::strided(-by)),
                    "*" | "&" if inner != Uniform => Vector,
                    _ if inner == Uniform => Uniform,
                    _ => Vector,
                }
            }
            ExprKind::Binary { operator, left, right } => {
                let (a, b) = (self.shape(left)?, self.shape(right)?);
                let uniform = a == Uniform && b == Uniform;
                match operator.as_str() {
                    _ if uniform => Uniform,
                    "," => return self.refuse(expr, "a comma"),
                    "+" | "-" if !is_whole(&expr.ty) => Vector,
                    "+" => a.sum(b, 1),
                    "-" => a.sum(b, -1),
                    "*" if is_whole(&expr.ty) => match (a, b, fold(left), fold(right)) {
                        (Strided(by), _, _, Some(times)) | (_, Strided(by), Some(times), _) => {
                            Strided(by * times)
                        }
                        _ => Vector,
                    },
                    "<<" => match (a, fold(right)) {
                        (Strided(by), Some(shift)) if (0..31).contains(&shift) => Strided(by << shift),
                        _ => Vector,
                    },
                    "<" | "<=" | ">" | ">=" | "==" | "!=" if a == b && a != Vector => Uniform,
                    _ => Vector,
                }
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let (a, b) = (self.shape(then)?, self.shape(otherwise)?);
                if self.shape(condition)? == Uniform { a.join(b) } else { Vector }
            }
            ExprKind::Assign { value, .. } => self.shape(value)?,
            ExprKind::Call { name, arguments, .. } => {
                if let Some(dimension) = self.id_dimension(expr)? {
                    return Ok(match self.plan.vector {
                        Some((along, _)) if along == dimension => Strided(1),
                        _ => Uniform,
                    });
                }
                if functions::is_work_item(name) {
                    return self.refuse(expr, &format!("`{name}`"));
                }
                let mut all = Uniform;
                for argument in arguments {
                    if self.shape(argument)? != Uniform {
                        all = Vector;
                    }
                }
                match functions::kind(name) {
                    FunctionKind::Refused => return self.refuse(expr, &format!("`{name}`")),
                    _ => all,
                }
            }
            ExprKind::Index { base, index } => {
                if let Some(array) = self.private_array(base) {
                    let index_shape = self.shape(index)?;
                    if index_shape != Uniform && self.plan.vector.is_some() {
                        return self.refuse(expr, "a private array with a different index in each work-item");
                    }
                    return Ok(array);
                }
                match self.shape(base)?.sum(self.shape(index)?, 1) {
                    Uniform => Uniform,
                    _ => Vector,
                }
            }
            ExprKind::Field { base: inner, .. }
            | ExprKind::Swizzle { base: inner, .. }
            | ExprKind::Reinterpret(inner) => {
                if self.shape(inner)? == Uniform {
                    Uniform
                } else {
                    Vector
                }
            }
            ExprKind::VectorLiteral(inner) | ExprKind::List(inner) => self.all(inner)?,
            ExprKind::Other { inner, kind } => {
                let all = self.all(inner)?;
                if all != Uniform || kind != "UnaryExprOrTypeTraitExpr" && kind != "ImplicitValueInitExpr" {
                    return self.refuse(expr, kind);
                }
                all
            }
        };
        Ok(shape)
    }

    fn all(&self, inner: &[Expr]) -> Result<Shape, Obstacle> {
        let mut all = Uniform;
        for expr in inner {
            if self.shape(expr)? != Uniform {
                all = Vector;
            }
        }
        Ok(all)
    }

    /// The shape of the elements of a private array, if `base` names one.
    pub(super) fn private_array(&self, base: &Expr) -> Option<Shape> {
        match &base.bare().kind {
            ExprKind::Name { symbol, .. } => {
                let variable = self.variables.get(symbol)?;
                matches!(variable.ty, Type::Array(..)).then_some(variable.shape)
            }
            ExprKind::Index { base: inner, .. } => self.private_array(inner),
            _ => None,
        }
    }
}

/// Whether a value that grows from lane to lane does so after conversion to a type: 8 and 16 bits may wrap.
fn keeps_strides(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Integer { bits: 32.., .. }))
}

/// Whether a type is a pointer or an integer of 32 bits or more.
fn is_whole(ty: &Type) -> bool {
    keeps_strides(ty) || matches!(ty, Type::Pointer { .. } | Type::Array(..))
}
