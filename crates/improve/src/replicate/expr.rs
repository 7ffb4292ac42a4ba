//! Texts of expressions for all outputs.

use crate::syntax::{Expr, ExprKind, Scalar, Type};

use super::functions::{self, FunctionKind};
use super::shape::Shape;
use super::{Engine, Obstacle};
use crate::syntax::text::{
    ADDITIVE, ASSIGNMENT, BITWISE_AND, CONDITIONAL, Level, PRIMARY, Text, UNARY, level_of, written_level,
};

/// A value of all lanes: a vector, or a scalar where all lanes have the same.
pub(super) struct Value {
    pub(super) text: Text,
    pub(super) is_vector: bool,
    /// The type of the lanes.
    pub(super) lane: Scalar,
}

impl Engine<'_> {
    /// Whether the text of an expression is the same in the replicated kernel, for a scalar of the first output.
    pub(super) fn is_unchanged(&self, expr: &Expr, copy: usize) -> bool {
        expr.place.exact
            && !expr.any(|expr| {
                let renamed = copy > 0
                    && matches!(&expr.kind, ExprKind::Name { symbol, .. }
                    if self.variables.get(symbol).is_some_and(|it| it.copied));
                let id =
                    self.id_dimension(expr).is_ok_and(|it| it.is_some_and(|it| self.plan.outputs(it) > 1));
                renamed || id || self.decided(expr).is_some()
            })
    }

    /// The text of a value that is the same in all lanes, or of lane 0 where it grows from lane to lane.
    pub(super) fn scalar(&mut self, expr: &Expr, copy: usize) -> Result<Text, Obstacle> {
        if self.is_unchanged(expr, copy) {
            let level = written_level(expr);
            return Ok(Text::new(self.tree.text(&expr.place), level));
        }
        self.compose(expr, &mut |engine, expr| engine.scalar(expr, copy), copy)
    }

    /// The text of a value in one lane, as a scalar.
    pub(super) fn lane(&mut self, expr: &Expr, lane: usize, copy: usize) -> Result<Text, Obstacle> {
        match self.shape(expr)?.stride() {
            Some(by) => Ok(self.scalar(expr, copy)?.plus(by * lane as i128)),
            None => match &expr.bare().kind {
                ExprKind::Name { symbol, name, .. } if self.shape(expr.bare())? == Shape::Vector => {
                    let name = self.name(*symbol, name, copy);
                    Ok(Text::primary(name).lane(lane))
                }
                _ => self.compose(expr, &mut |engine, expr| engine.lane(expr, lane, copy), copy),
            },
        }
    }

    /// The text of an expression of the texts of its parts.
    fn compose(
        &mut self,
        expr: &Expr,
        part: &mut dyn FnMut(&mut Self, &Expr) -> Result<Text, Obstacle>,
        copy: usize,
    ) -> Result<Text, Obstacle> {
        if let Some((chosen, assumptions)) = self.decided(expr) {
            self.note(assumptions);
            return part(self, chosen);
        }
        Ok(match &expr.kind {
            ExprKind::Integer(value) => integer(*value, &expr.ty),
            ExprKind::Name { symbol, name, .. } => Text::primary(self.name(*symbol, name, copy)),
            ExprKind::Parentheses(inner) => part(self, inner)?,
            ExprKind::Cast { implicit: true, operand, .. } => part(self, operand)?,
            ExprKind::Cast { operand, .. } => {
                Text::new(format!("({}){}", expr.ty, part(self, operand)?.at(UNARY)), UNARY)
            }
            ExprKind::Unary { operator, postfix, operand } => {
                let operand = part(self, operand)?;
                if *postfix {
                    Text::primary(format!("{}{operator}", operand.at(PRIMARY)))
                } else {
                    let inner = operand.at(UNARY);
                    let space = if inner.starts_with(operator.as_str()) { " " } else { "" };
                    Text::new(format!("{operator}{space}{inner}"), UNARY)
                }
            }
            ExprKind::Binary { operator, left, right } => {
                part(self, left)?.binary(operator, &part(self, right)?)
            }
            ExprKind::Assign { operator, target, value, .. } => {
                let (target, value) = (part(self, target)?, part(self, value)?);
                let operator = operator.as_deref().unwrap_or_default();
                Text::new(format!("{} {operator}= {}", target.at(UNARY), value.at(ASSIGNMENT)), ASSIGNMENT)
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let above = Level(CONDITIONAL.0 + 1);
                let condition = part(self, condition)?.at(above);
                let (then, otherwise) = (part(self, then)?, part(self, otherwise)?.at(CONDITIONAL));
                Text::new(format!("{condition} ? {} : {otherwise}", then.text), CONDITIONAL)
            }
            ExprKind::Call { name, arguments, .. } => {
                if let Some(dimension) = self.id_dimension(expr)? {
                    return Ok(self.id(dimension, copy));
                }
                let mut texts = Vec::new();
                for argument in arguments {
                    texts.push(part(self, argument)?.at(ASSIGNMENT));
                }
                Text::primary(format!("{name}({})", texts.join(", ")))
            }
            ExprKind::Index { base, index } => {
                let (base, index) = (part(self, base)?, part(self, index)?);
                Text::primary(format!("{}[{}]", base.at(PRIMARY), index.text))
            }
            ExprKind::Field { base, name, arrow } => {
                let dot = if *arrow { "->" } else { "." };
                Text::primary(format!("{}{dot}{name}", part(self, base)?.at(PRIMARY)))
            }
            ExprKind::Swizzle { base, components } => {
                Text::primary(format!("{}.{components}", part(self, base)?.at(PRIMARY)))
            }
            ExprKind::VectorLiteral(inner) => {
                let mut texts = Vec::new();
                for expr in inner {
                    texts.push(part(self, expr)?.at(ASSIGNMENT));
                }
                Text::new(format!("({})({})", expr.ty, texts.join(", ")), UNARY)
            }
            ExprKind::List(inner) => {
                let mut texts = Vec::new();
                for expr in inner {
                    texts.push(part(self, expr)?.at(ASSIGNMENT));
                }
                Text::primary(format!("{{ {} }}", texts.join(", ")))
            }
            ExprKind::Reinterpret(inner) => {
                Text::primary(format!("as_{}({})", expr.ty, part(self, inner)?.text))
            }
            _ if expr.place.exact => Text::primary(self.tree.text(&expr.place)),
            _ => return self.refuse(expr, "a macro that would have to be written out"),
        })
    }

    /// `get_global_id(dimension)` of the first lane in a copy.
    pub(super) fn id(&self, dimension: usize, copy: usize) -> Text {
        let call = format!("get_global_id({dimension})");
        if let Some(edges) = &self.edges
            && self.plan.vector.is_some_and(|(along, _)| along == dimension)
        {
            return Text::primary(format!("min({}, {})", edges.first, edges.limit));
        }
        match self.plan.outputs(dimension) {
            1 => Text::primary(call),
            count => {
                let first = Text::new(format!("{count} * {call}"), level_of("*"));
                let along = self.plan.copies.is_some_and(|(along, _)| along == dimension);
                first.plus(if along { copy as i128 } else { 0 })
            }
        }
    }

    /// The name of a vector type of all lanes.
    pub(super) fn vector_type(&self, scalar: Scalar) -> String {
        format!("{}{}", scalar.name(), self.plan.lanes())
    }

    /// A value as a vector of its own type.
    pub(super) fn full(&mut self, expr: &Expr, copy: usize) -> Result<Text, Obstacle> {
        match expr.ty.as_number() {
            Some(scalar) => self.full_as(expr, scalar, copy),
            None => self.refuse(expr, "a value that is not a number"),
        }
    }

    /// A value as a vector with lanes of a type.
    pub(super) fn full_as(&mut self, expr: &Expr, wanted: Scalar, copy: usize) -> Result<Text, Obstacle> {
        let value = self.vector(expr, copy)?;
        if value.is_vector {
            return Ok(self.converted(&value.text, value.lane, wanted));
        }
        Ok(Text::new(format!("({})({})", self.vector_type(wanted), value.text.text), UNARY))
    }

    /// A side of an operator whose other side is a vector with lanes of a type.
    pub(super) fn operand(&mut self, expr: &Expr, wanted: Scalar, copy: usize) -> Result<Text, Obstacle> {
        let value = self.vector(expr, copy)?;
        Ok(if value.is_vector {
            self.converted(&value.text, value.lane, wanted)
        } else {
            Self::typed(expr, value.text, wanted)
        })
    }

    /// The lanes' type.
    fn number(&self, expr: &Expr) -> Result<Scalar, Obstacle> {
        match self.lane_type(expr) {
            Some(scalar) => Ok(scalar),
            None => self.refuse(expr, "a vector or struct that would need lanes of its own"),
        }
    }

    /// The text of a value in all lanes.
    pub(super) fn vector(&mut self, expr: &Expr, copy: usize) -> Result<Value, Obstacle> {
        if let Some((chosen, assumptions)) = self.decided(expr) {
            self.note(assumptions);
            return self.vector(chosen, copy);
        }
        let scalar = self.number(expr);
        match self.shape(expr)? {
            Shape::Uniform => {
                let lane = scalar.unwrap_or(Scalar::INT);
                return Ok(Value { text: self.scalar(expr, copy)?, is_vector: false, lane });
            }
            Shape::Strided(_) if self.plan.channels.is_some() => {
                return self.refuse(expr, "a position as a value");
            }
            Shape::Strided(by) => {
                let Some(scalar) = expr.ty.as_number() else {
                    return self.refuse(expr, "a pointer of each output");
                };
                let first = self.scalar(expr, copy)?;
                let steps: Vec<String> =
                    (0..self.plan.lanes()).map(|lane| (by * lane as i128).to_string()).collect();
                let steps = Text::new(format!("({})({})", self.vector_type(scalar), steps.join(", ")), UNARY);
                // A scalar of another type than the lanes' would not be converted.
                let first = Text::new(format!("({}){}", scalar.name(), first.at(UNARY)), UNARY);
                return Ok(Value { text: first.binary("+", &steps), is_vector: true, lane: scalar });
            }
            Shape::Vector => {}
        }
        let scalar = scalar?;
        let vector = |text: Text| Ok(Value { text, is_vector: true, lane: scalar });
        match &expr.kind {
            ExprKind::Name { symbol, name, .. } => vector(Text::primary(self.name(*symbol, name, copy))),
            ExprKind::Parentheses(inner) => self.vector(inner, copy),
            ExprKind::Cast { operand, .. } => {
                let Some(from) = operand.ty.as_number() else {
                    return self.refuse(expr, "a vector in each output");
                };
                if scalar == Scalar::Bool {
                    return self.refuse(expr, "a `bool` of each output");
                }
                if from == Scalar::Bool {
                    let (mask, bits) = self.mask(operand, copy)?;
                    return vector(self.truth(&mask, bits, scalar));
                }
                let inner = self.vector(operand, copy)?;
                if !inner.is_vector {
                    return Ok(Value { text: self.scalar(expr, copy)?, is_vector: false, lane: scalar });
                }
                vector(self.converted(&inner.text, inner.lane, scalar))
            }
            ExprKind::Unary { operator, operand, .. } => match operator.as_str() {
                "!" => {
                    let (mask, bits) = self.mask(expr, copy)?;
                    vector(self.truth(&mask, bits, scalar))
                }
                "-" | "~" => {
                    let operand = self.operand(operand, scalar, copy)?.at(UNARY);
                    let space = if operand.starts_with(operator.as_str()) { " " } else { "" };
                    vector(Text::new(format!("{operator}{space}{operand}"), UNARY))
                }
                "+" => self.vector(operand, copy),
                "*" => self.load(expr, copy).and_then(vector),
                _ => self.refuse(expr, "a value that changes inside an expression"),
            },
            ExprKind::Binary { operator, left, right } => match operator.as_str() {
                "<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||" => {
                    let (mask, bits) = self.mask(expr, copy)?;
                    vector(self.truth(&mask, bits, scalar))
                }
                "<<" | ">>" => {
                    let left = self.full_as(left, scalar, copy)?;
                    let right = self.vector(right, copy)?;
                    let right = if right.is_vector {
                        self.converted(&right.text, right.lane, scalar)
                    } else {
                        right.text
                    };
                    vector(left.binary(operator, &right))
                }
                _ => {
                    let (left, right) =
                        (self.operand(left, scalar, copy)?, self.operand(right, scalar, copy)?);
                    vector(left.binary(operator, &right))
                }
            },
            ExprKind::Conditional { condition, then, otherwise } => {
                if self.shape(condition)? == Shape::Uniform {
                    let then = self.full_as(then, scalar, copy)?;
                    let otherwise = self.full_as(otherwise, scalar, copy)?;
                    let condition = self.scalar(condition, copy)?.at(Level(CONDITIONAL.0 + 1));
                    let text = format!("{condition} ? {} : {}", then.text, otherwise.at(CONDITIONAL));
                    return vector(Text::new(text, CONDITIONAL));
                }
                if self.reads(then) || self.reads(otherwise) {
                    return self.refuse(expr, "a value that some outputs must not read");
                }
                let (mask, bits) = self.mask(condition, copy)?;
                let mask = self.mask_of(&mask, bits, scalar.bits());
                let (then, otherwise) =
                    (self.full_as(then, scalar, copy)?, self.full_as(otherwise, scalar, copy)?);
                let arguments = [&otherwise, &then, &mask].map(|it| it.at(ASSIGNMENT)).join(", ");
                vector(Text::primary(format!("select({arguments})")))
            }
            ExprKind::Call { name, arguments, .. } => self.call(expr, name, arguments, copy).and_then(vector),
            ExprKind::Index { base, index } => {
                if self.private_array(base).is_some() {
                    let base = self.array(base, copy)?;
                    return vector(Text::primary(format!("{base}[{}]", self.array_index(index, copy)?.text)));
                }
                self.load(expr, copy).and_then(vector)
            }
            ExprKind::Reinterpret(inner)
                if inner.ty.as_number().is_some_and(|it| it.bits() == scalar.bits()) =>
            {
                let name = self.vector_type(scalar);
                vector(Text::primary(format!("as_{name}({})", self.full(inner, copy)?.text)))
            }
            _ => self.refuse(expr, "an expression that has no form for vectors"),
        }
    }

    /// A scalar's text with its type: an implicit conversion would not happen beside a vector.
    fn typed(expr: &Expr, text: Text, wanted: Scalar) -> Text {
        let written = expr.bare().ty.as_number();
        // Constants take the lanes' type, where that is as wide or a floating-point one.
        let is_constant = crate::syntax::fold(expr).is_some() && wanted.bits() >= 32;
        if written == Some(wanted) || is_constant {
            return text;
        }
        Text::new(format!("({}){}", wanted.name(), text.at(UNARY)), UNARY)
    }

    fn array(&mut self, base: &Expr, copy: usize) -> Result<String, Obstacle> {
        match &base.bare().kind {
            ExprKind::Name { symbol, name, .. } => Ok(self.name(*symbol, name, copy)),
            ExprKind::Index { base, index } => {
                let base = self.array(base, copy)?;
                Ok(format!("{base}[{}]", self.scalar(index, copy)?.text))
            }
            _ => self.refuse(base, "an array without a name"),
        }
    }

    pub(super) fn converted(&self, text: &Text, from: Scalar, to: Scalar) -> Text {
        if from == to {
            return text.clone();
        }
        Text::primary(format!("convert_{}({})", self.vector_type(to), text.text))
    }

    /// 0 and 1 of a mask, as the scalar comparison has it.
    fn truth(&self, mask: &Text, bits: u8, scalar: Scalar) -> Text {
        let one = Text::new(format!("{} & 1", mask.at(BITWISE_AND)), BITWISE_AND);
        self.converted(&one, Scalar::Integer { bits, signed: true }, scalar)
    }

    /// A mask with lanes of another width.
    pub(super) fn mask_of(&self, mask: &Text, bits: u8, wanted: u8) -> Text {
        let of = |bits| Scalar::Integer { bits, signed: true };
        self.converted(mask, of(bits), of(wanted))
    }

    /// A condition as a mask of all lanes, 0 and -1, with the width of its lanes.
    pub(super) fn mask(&mut self, expr: &Expr, copy: usize) -> Result<(Text, u8), Obstacle> {
        if self.shape(expr)? == Shape::Uniform {
            let above = Level(CONDITIONAL.0 + 1);
            let text = format!(
                "({})({} ? -1 : 0)",
                self.vector_type(Scalar::INT),
                self.scalar(expr, copy)?.at(above)
            );
            return Ok((Text::new(text, UNARY), 32));
        }
        match &expr.kind {
            ExprKind::Parentheses(inner) => self.mask(inner, copy),
            ExprKind::Cast { operand, .. }
                if operand.ty.as_number().is_some_and(Scalar::is_integer) && is_truth(operand) =>
            {
                self.mask(operand, copy)
            }
            ExprKind::Unary { operator, operand, .. } if operator == "!" => {
                let (mask, bits) = self.mask(operand, copy)?;
                Ok((Text::new(format!("!{}", mask.at(UNARY)), UNARY), bits))
            }
            ExprKind::Binary { operator, left, right } => match operator.as_str() {
                "&&" | "||" => {
                    if self.reads(right) {
                        return self.refuse(right, "a value that some outputs must not read");
                    }
                    let ((a, a_bits), (b, b_bits)) = (self.mask(left, copy)?, self.mask(right, copy)?);
                    let bits = a_bits.max(b_bits);
                    let (a, b) = (self.mask_of(&a, a_bits, bits), self.mask_of(&b, b_bits, bits));
                    Ok((a.binary(&operator[..1], &b), bits))
                }
                "<" | "<=" | ">" | ">=" | "==" | "!=" => {
                    let Some(own) = left.ty.as_number() else { return self.refuse(expr, "a comparison") };
                    let short = |expr: &Expr| match self.shape(expr) {
                        Ok(Shape::Vector) => self.lane_type(expr) == Some(Scalar::SHORT),
                        _ => {
                            self.plan.narrow && own.bits() == 32 && own.is_integer() && self.fits_short(expr)
                        }
                    };
                    let lane = if short(left) && short(right) { Scalar::SHORT } else { own };
                    let (left, right) = (self.operand(left, lane, copy)?, self.operand(right, lane, copy)?);
                    Ok((left.binary(operator, &right), lane.bits()))
                }
                _ => self.nonzero(expr, copy),
            },
            _ => self.nonzero(expr, copy),
        }
    }

    fn nonzero(&mut self, expr: &Expr, copy: usize) -> Result<(Text, u8), Obstacle> {
        if expr.ty.as_number() == Some(Scalar::Bool) {
            return self.refuse(expr, "a `bool` of each output");
        }
        let value = self.vector(expr, copy)?;
        let zero = Self::typed(expr, Text::primary("0"), value.lane);
        Ok((value.text.binary("!=", &zero), value.lane.bits()))
    }

    fn call(&mut self, expr: &Expr, name: &str, arguments: &[Expr], copy: usize) -> Result<Text, Obstacle> {
        let scalar = self.number(expr)?;
        if functions::kind(name) == FunctionKind::Elementwise {
            let mut texts = Vec::new();
            let scalars = functions::takes_scalars(name)
                && self.shape(&arguments[0])? != Shape::Uniform
                && arguments[1..].iter().all(|it| self.shape(it) == Ok(Shape::Uniform));
            for (index, argument) in arguments.iter().enumerate() {
                let text = if scalars && index > 0 {
                    let text = self.scalar(argument, copy)?;
                    Self::typed(argument, text, scalar)
                } else if functions::conversion(name).is_some() {
                    self.vector(argument, copy)?.text
                } else if functions::takes_scalars(name) {
                    self.full_as(argument, scalar, copy)?
                } else {
                    self.full(argument, copy)?
                };
                texts.push(text.at(ASSIGNMENT));
            }
            let name = match functions::conversion(name) {
                Some((_, suffix)) => format!("convert_{}{suffix}", self.vector_type(scalar)),
                None => name.to_owned(),
            };
            return Ok(Text::primary(format!("{name}({})", texts.join(", "))));
        }
        // A function of the source is called for each output.
        let mut parts: Vec<Vec<String>> = vec![Vec::new(); self.plan.lanes()];
        for argument in arguments {
            let held = if self.shape(argument)? == Shape::Vector && !is_name(argument) {
                let value = self.full(argument, copy)?;
                Some(self.hold(argument.ty.as_number().unwrap_or(Scalar::INT), &value, "argument"))
            } else {
                None
            };
            for (lane, texts) in parts.iter_mut().enumerate() {
                let text = match &held {
                    Some(name) => Text::primary(name.clone()).lane(lane),
                    None => self.lane(argument, lane, copy)?,
                };
                texts.push(text.at(ASSIGNMENT));
            }
        }
        let calls: Vec<String> = parts.iter().map(|texts| format!("{name}({})", texts.join(", "))).collect();
        Ok(Text::new(format!("({})({})", self.vector_type(scalar), calls.join(", ")), UNARY))
    }

    /// A vector in a variable of its own, which is declared before the statement.
    pub(super) fn hold(&mut self, scalar: Scalar, value: &Text, wanted: &str) -> String {
        let name = self.fresh(wanted);
        self.pending.push(format!("const {} {name} = {};", self.vector_type(scalar), value.at(ASSIGNMENT)));
        name
    }

    /// A sum of a pointer's and an index' texts.
    pub(super) fn address(base: &Text, index: Option<&Text>, unsigned: bool) -> Text {
        match index {
            None => base.clone(),
            Some(index) if index.text == "0" => base.clone(),
            // Unsigned differences must not be added to a pointer of 64 bits part by part.
            Some(index) if unsigned && index.text.contains('-') => {
                Text::new(format!("{} + ({})", base.at(ADDITIVE), index.text), ADDITIVE)
            }
            Some(index) => Text::new(format!("{} + {}", base.at(ADDITIVE), index.at(ADDITIVE)), ADDITIVE),
        }
    }
}

pub(super) fn is_name(expr: &Expr) -> bool {
    matches!(expr.bare().kind, ExprKind::Name { .. }) && expr.bare().ty == expr.ty
}

/// Whether an expression is a comparison or logic, which vectors have as masks.
fn is_truth(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Parentheses(inner) => is_truth(inner),
        ExprKind::Binary { operator, .. } => {
            ["<", "<=", ">", ">=", "==", "!=", "&&", "||"].contains(&operator.as_str())
        }
        ExprKind::Unary { operator, .. } => operator == "!",
        _ => false,
    }
}

fn integer(value: i128, ty: &Type) -> Text {
    let suffix = match ty.as_number() {
        Some(Scalar::Integer { bits: 64, signed: true }) => "L",
        Some(Scalar::Integer { bits: 64, signed: false }) => "UL",
        Some(Scalar::Integer { bits: 32, signed: false }) => "u",
        _ => "",
    };
    Text::new(format!("{value}{suffix}"), if value < 0 { UNARY } else { PRIMARY })
}
