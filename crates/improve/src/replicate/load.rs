//! Loads and stores of all outputs.

use crate::syntax::{Expr, ExprKind, Scalar};

use super::expr::is_name;
use super::shape::Shape;
use super::{Engine, Obstacle};
use crate::syntax::text::{ASSIGNMENT, PRIMARY, Text, UNARY};

/// A place in memory.
struct MemoryElement<'e> {
    base: &'e Expr,
    index: Option<&'e Expr>,
}

fn memory_element(expr: &Expr) -> Option<MemoryElement<'_>> {
    match &expr.kind {
        ExprKind::Parentheses(inner) => memory_element(inner),
        ExprKind::Index { base, index } => Some(MemoryElement { base, index: Some(index) }),
        ExprKind::Unary { operator, operand, .. } if operator == "*" => {
            Some(MemoryElement { base: operand, index: None })
        }
        _ => None,
    }
}

impl Engine<'_> {
    /// How an address grows from lane to lane.
    fn stride(&self, place: &MemoryElement<'_>) -> Result<Option<i128>, Obstacle> {
        let base = self.shape(place.base)?.stride();
        let index = place.index.map_or(Ok(Some(0)), |index| self.shape(index).map(Shape::stride))?;
        let stride = base.zip(index).map(|(a, b)| a + b);
        match self.plan.channels {
            // All accesses are to channels in turn.
            Some(channels) if stride == Some(channels) => Ok(Some(1)),
            Some(_) if stride != Some(0) => {
                self.refuse(place.base, "an access that is not to channels in turn")
            }
            _ => Ok(stride),
        }
    }

    /// The address of the first lane.
    fn first_address(&mut self, place: &MemoryElement<'_>, copy: usize) -> Result<Text, Obstacle> {
        let base = self.scalar(place.base, copy)?;
        let index = place.index.map(|index| self.scalar(index, copy)).transpose()?;
        let unsigned = place.index.is_some_and(|index| {
            matches!(index.ty.as_number(), Some(Scalar::Integer { bits: 32, signed: false }))
        });
        Ok(Self::address(&base, index.as_ref(), unsigned))
    }

    /// The element of each lane: `p[i]`.
    fn elements(&mut self, place: &MemoryElement<'_>, copy: usize) -> Result<Vec<String>, Obstacle> {
        // An index that is computed as a vector is computed once.
        let held = match place.index {
            Some(index)
                if self.shape(index)? == Shape::Vector && !is_name(index) && self.is_costly(index) =>
            {
                let value = self.full(index, copy)?;
                let scalar = index.ty.as_number().unwrap_or(Scalar::INT);
                Some(Text::primary(self.hold(scalar, &value, "index")))
            }
            _ => None,
        };
        let mut all = Vec::new();
        for lane in 0..self.plan.lanes() {
            let base = self.lane(place.base, lane, copy)?;
            all.push(match (place.index, &held) {
                (_, Some(held)) => format!("{}[{}]", base.at(PRIMARY), held.lane(lane).text),
                (Some(index), None) => {
                    format!("{}[{}]", base.at(PRIMARY), self.lane(index, lane, copy)?.text)
                }
                (None, None) => format!("*{}", base.at(UNARY)),
            });
        }
        Ok(all)
    }

    /// Whether evaluating an index for each lane repeats more than additions.
    fn is_costly(&self, index: &Expr) -> bool {
        self.reads(index)
            || index.any(|expr| matches!(expr.kind, ExprKind::Call { .. } | ExprKind::Conditional { .. }))
    }

    /// What all lanes load.
    pub(super) fn load(&mut self, expr: &Expr, copy: usize) -> Result<Text, Obstacle> {
        let Some(scalar) = expr.ty.as_number() else {
            return self.refuse(expr, "vectors or structs in memory");
        };
        let Some(place) = memory_element(expr) else { return self.refuse(expr, "an address") };
        let lanes = self.plan.lanes();
        if self.stride(&place)? == Some(1) {
            let address = self.first_address(&place, copy)?;
            return Ok(Text::primary(format!("vload{lanes}(0, {})", address.at(ASSIGNMENT))));
        }
        let elements = self.elements(&place, copy)?;
        Ok(Text::new(format!("({})({})", self.vector_type(scalar), elements.join(", ")), UNARY))
    }

    /// A statement that stores `value` for all lanes.
    pub(super) fn store(
        &mut self,
        target: &Expr,
        operator: Option<&str>,
        computed: Scalar,
        value: &Expr,
        copy: usize,
    ) -> Result<Vec<String>, Obstacle> {
        let Some(scalar) = target.ty.as_number() else {
            return self.refuse(target, "vectors or structs in memory");
        };
        let Some(place) = memory_element(target) else { return self.refuse(target, "an address") };
        let stride = self.stride(&place)?;
        if stride == Some(0) {
            return self.refuse(target, "one place that several work-items store to");
        }
        let lanes = self.plan.lanes();
        let mut full = match operator {
            None => self.full(value, copy)?,
            Some(operator) => {
                let old = self.load(target, copy)?;
                let old = self.converted(&old, scalar, computed);
                let value = self.operand(value, computed, copy)?;
                let new = old.binary(operator, &value);
                self.converted(&new, computed, scalar)
            }
        };
        if stride == Some(1) {
            let address = self.first_address(&place, copy)?;
            if self.edges.is_some() {
                let channel = self.channel_name.clone();
                let own = self.store_own(scalar, &full.at(ASSIGNMENT), &address.at(ASSIGNMENT), channel);
                return own.map(|own| vec![own]).ok_or_else(|| self.refusal("channels from a position on"));
            }
            return Ok(vec![format!(
                "vstore{lanes}({}, 0, {});",
                full.at(ASSIGNMENT),
                address.at(ASSIGNMENT)
            )]);
        }
        if !is_name(value) || operator.is_some() || self.lane_type(value) != Some(scalar) {
            full = Text::primary(self.hold(scalar, &full, "value"));
        }
        let elements = self.elements(&place, copy)?;
        Ok(elements
            .iter()
            .enumerate()
            .map(|(lane, to)| {
                let own =
                    self.edges.as_ref().map(|it| format!("if ({} <= {lane}) ", it.skip)).unwrap_or_default();
                format!("{own}{to} = {};", full.lane(lane).text)
            })
            .collect())
    }
}
