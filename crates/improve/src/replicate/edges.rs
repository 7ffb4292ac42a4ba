//! Edges of rows without a path of their own.
//!
//! Outputs next to an edge need another code than those inside, and the last group of a row is seldom full. One by one
//! they would hold up a whole warp. So groups start at the first output inside; the outputs before it belong to the
//! first work-item too. The last group is moved inwards, so that it is full, and stores only its own outputs: those
//! that it moved over were computed by its neighbour.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::syntax::{Affine, Expr, ExprKind, Scalar, Symbol, Type};

use super::assume::inequality;
use super::{Edges, Engine, Obstacle};
use crate::syntax::text::Text;

impl Engine<'_> {
    /// Finds how groups are placed, from the assumptions of the path for all outputs; what remains of these.
    pub(super) fn place_groups(&mut self) -> Result<(), Obstacle> {
        let Some((along, lanes)) = self.plan.vector else { return Err(self.refusal("no vectors")) };
        self.check_overlap()?;
        let id = vec![format!("@{along}")];
        let mut lowest = 0;
        let mut limit: Option<Affine> = None;
        let assumptions = std::mem::take(&mut self.assumptions);
        for assumption in &assumptions {
            let times = assumption.terms.get(&id).copied().unwrap_or(0);
            let rest = assumption.without(&id[0]);
            match times {
                0 => {}
                1 if rest.terms.is_empty() => lowest = lowest.max(-rest.constant),
                -1 if limit.is_none() && !rest.terms.keys().flatten().any(|term| term.starts_with('@')) => {
                    limit = Some(rest);
                }
                _ => return Err(self.refusal("edges that depend on more than a size")),
            }
        }
        let Some(limit) = limit.filter(|_| (0..=lanes as i128).contains(&lowest)) else {
            return Err(self.refusal("no edges"));
        };
        let mut limit_text: Option<Text> = None;
        for (term, times) in &limit.terms {
            let is_int = |name: &str| {
                self.kernel.parameters.iter().any(|it| it.name == name && it.ty == Type::Scalar(Scalar::INT))
            };
            let factor = |name: &String| if is_int(name) { name.clone() } else { format!("(int){name}") };
            let product = term.iter().map(factor).collect::<Vec<_>>().join(" * ");
            let product = match times {
                1 => Text::new(product, crate::syntax::text::level_of("*")),
                times => Text::new(format!("{times} * {product}"), crate::syntax::text::level_of("*")),
            };
            limit_text = Some(match limit_text {
                None => product,
                Some(sum) => sum.binary("+", &product),
            });
        }
        let Some(limit_text) = limit_text else { return Err(self.refusal("no edges")) };
        let (first, skip) = (self.fresh("first"), self.fresh("skip"));
        self.edges = Some(Edges {
            lowest,
            limit: limit_text.plus(limit.constant).text,
            room: inequality(&limit.plus(&Affine::constant(lowest), -1)),
            first,
            skip,
            stores: BTreeMap::new(),
        });
        Ok(())
    }

    /// Whether an assumption is one that the placement of groups keeps.
    pub(super) fn is_kept_by_edges(&self, assumption: &Affine) -> bool {
        let Some((along, _)) = self.plan.vector else { return false };
        self.edges.is_some() && assumption.terms.contains_key(&vec![format!("@{along}")])
    }

    /// Outputs that are computed twice must not read what was stored.
    fn check_overlap(&self) -> Result<(), Obstacle> {
        let (mut stored, mut loaded): (Vec<Option<Symbol>>, Vec<Option<Symbol>>) = (Vec::new(), Vec::new());
        let mut targets: Vec<*const Expr> = Vec::new();
        let base_of = |expr: &Expr| match &expr.bare().kind {
            ExprKind::Index { base, .. } if self.private_array(base).is_none() => Some(base.symbol()),
            ExprKind::Unary { operator, operand, .. } if operator == "*" => Some(operand.symbol()),
            _ => None,
        };
        self.kernel.body.walk_expressions(&mut |expr| {
            if let ExprKind::Assign { target, operator, .. } = &expr.kind
                && let Some(base) = base_of(target)
            {
                stored.push(base);
                targets.push(std::ptr::from_ref(target.bare()));
                if operator.is_some() {
                    loaded.push(base);
                }
            } else if !targets.contains(&std::ptr::from_ref(expr))
                && matches!(expr.kind, ExprKind::Index { .. } | ExprKind::Unary { .. })
                && let Some(base) = base_of(expr)
            {
                loaded.push(base);
            }
        });
        let is_parameter = |it: &Option<Symbol>| {
            it.is_some_and(|it| self.parameters.contains(&it) && !self.assigned.contains(&it))
        };
        if stored.iter().any(|it| !is_parameter(it))
            || loaded.iter().any(|it| stored.contains(it) || it.is_none())
        {
            return Err(self.refusal("a buffer that is loaded and stored"));
        }
        // A pointer variable may point into a buffer that is stored to.
        let is_pointer =
            |it: &&Symbol| self.variables.get(it).is_some_and(|it| matches!(it.ty, Type::Pointer { .. }));
        if loaded.iter().flatten().any(|it| is_pointer(&it)) {
            Err(self.refusal("a pointer to a buffer"))
        } else {
            Ok(())
        }
    }

    /// A call that stores the lanes of a vector that are the group's own.
    pub(super) fn store_own(
        &mut self,
        scalar: Scalar,
        value: &str,
        to: &str,
        channel: Option<String>,
    ) -> Option<String> {
        let lanes = self.plan.lanes();
        let wanted = format!("store_last_{}", self.vector_type(scalar));
        let known = self.edges.as_ref()?.stores.get(scalar.name()).cloned();
        let name = if let Some(name) = known {
            name
        } else {
            let name = self.fresh(&wanted);
            self.edges.as_mut()?.stores.insert(scalar.name(), name.clone());
            name
        };
        let skip = &self.edges.as_ref()?.skip;
        let count = match (self.plan.channels, channel) {
            (None, _) => format!("{lanes} - {skip}"),
            (Some(channels), Some(channel)) => format!("{lanes} - {channels} * {skip} + {channel}"),
            (Some(_), None) => return None,
        };
        Some(format!("{name}({value}, {count}, {to});"))
    }

    /// The functions that store parts of vectors.
    pub(super) fn partial_stores(&self) -> String {
        let Some(edges) = &self.edges else { return String::new() };
        let lanes = self.plan.lanes();
        let mut text = String::new();
        for (scalar, name) in &edges.stores {
            let _ = write!(
                text,
                "// Stores the last `count` lanes of a vector to where they would be in memory.\n\
                 static void {name}({scalar}{lanes} value, int count, __global {scalar} *to)\n{{\n    \
                 if (count >= {lanes}) {{\n        vstore{lanes}(value, 0, to);\n        return;\n    }}\n    \
                 if (count <= 0)\n        return;\n    to += {lanes};\n"
            );
            let mut from = "value".to_owned();
            let mut half = lanes / 2;
            while half > 1 {
                let _ = write!(
                    text,
                    "    if (count & {half}) {{\n        to -= {half};\n        vstore{half}({from}.hi, 0, to);\n    }}\n    \
                     const {scalar}{half} last{half} = count & {half} ? {from}.lo : {from}.hi;\n"
                );
                from = format!("last{half}");
                half /= 2;
            }
            let _ = write!(text, "    if (count & 1)\n        to[-1] = {from}.hi;\n}}\n\n");
        }
        text
    }
}
