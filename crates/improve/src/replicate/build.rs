//! The replicated kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::syntax::{Affine, Edits, ExprKind, Stmt, StmtKind};

use super::shape::Shape;
use super::{Engine, Obstacle, Replicated};

impl Engine<'_> {
    /// Writes the kernel.
    pub(super) fn build(&mut self) -> Result<Replicated, Obstacle> {
        let kernel = self.kernel;
        let StmtKind::Block(statements) = &kernel.body.kind else {
            return Err(self.refusal("a kernel whose body is in a macro"));
        };
        let head = &self.tree.source[kernel.place.range.start..kernel.body.place.range.start];
        if head.contains("reqd_work_group_size") || !kernel.body.place.exact {
            return Err(self.refusal("a fixed work-group size, or a body in a macro"));
        }
        let copies: Vec<usize> = (0..self.plan.count()).collect();
        let is_first = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Declare(variables) => variables.iter().all(|variable| {
                let shape = self.variables.get(&variable.symbol).map(|it| it.shape);
                shape != Some(Shape::Vector)
                    && variable.value.as_ref().is_some_and(|value| {
                        !self.reads(value) && !value.any(|it| self.decided(it).is_some() || it.assigns())
                    })
            }),
            _ => false,
        };
        let firsts = statements.iter().take_while(|stmt| is_first(stmt)).count();
        let (first, rest) = statements.split_at(firsts);
        let bounded = self.bounded(rest);
        let begin = kernel.body.place.range.start + 1;
        let (mut first_text, first_end) = self.sequence(first, begin, &copies)?;
        let (mut rest_text, rest_end) = self.sequence(rest, first_end, &copies)?;
        if self.plan.edges {
            if rest_text.contains("return")
                || self.plan.vector.is_none_or(|(along, _)| !bounded.contains_key(&along))
            {
                return Err(self.refusal("outputs that leave early, or no test of the size"));
            }
            // Once more, with groups where the assumptions allow them.
            self.place_groups()?;
            first_text = self.sequence(first, begin, &copies)?.0;
            rest_text = self.sequence(rest, first_end, &copies)?.0;
        }
        let Some(tail) = self.tree.source.get(rest_end..kernel.body.place.range.end) else {
            return Err(self.refusal("a body that ends in a macro"));
        };
        let mut edits = Edits::new();
        let replaced = [self.plan.vector, self.plan.copies].into_iter().flatten();
        let dimensions: Vec<(usize, usize)> = replaced.collect();
        let guard = self.guard(&|dimension, times| self.id_sum(first, dimension, times));
        let Some(guard) = guard else {
            return Err(self.refusal("a condition that no group of outputs meets"));
        };
        let body = if let Some(edges) = self.edges.clone() {
            let one = self.single(&mut edits)?;
            let indent = rest.first().or(first.first()).map(|stmt| self.indent(stmt)).unwrap_or_default();
            let rest_text = rest_text.trim_start_matches([' ', '\n', '\r']).replace('\n', "\n    ");
            let rest_text = blank_lines_trimmed(&rest_text);
            self.body_with_edges(&edges, &one, [&first_text, &guard, &rest_text, &indent], first)
        } else if guard.is_empty() {
            format!("{{{first_text}{rest_text}{tail}")
        } else {
            let one = self.single(&mut edits)?;
            let step = "    ";
            let indent = rest.first().or(first.first()).map(|stmt| self.indent(stmt)).unwrap_or_default();
            let rest_text =
                rest_text.trim_start_matches([' ', '\n', '\r']).replace('\n', &format!("\n{step}"));
            let rest_text = blank_lines_trimmed(&rest_text);
            let mut slow = String::new();
            let mut ids: BTreeMap<usize, String> = BTreeMap::new();
            let mut deeper = format!("{indent}{step}");
            let mut ordered = dimensions.clone();
            ordered.sort_unstable();
            for (dimension, count) in ordered.iter().rev() {
                let name = self.fresh(["i", "j", "k"][(*dimension).min(2)]);
                let _ = writeln!(slow, "{deeper}for (int {name} = 0; {name} < {count}; ++{name})");
                deeper.push_str(step);
                let first = self.id_sum(first, *dimension, 1);
                ids.insert(*dimension, format!("{} + {name}", sum_text(&first)));
            }
            let arguments = self.arguments_of_one(ids);
            let _ = writeln!(slow, "{deeper}{one}({arguments});");
            format!(
                "{{{first_text}\n{indent}if ({guard}) {{\n{indent}{step}{rest_text}\n{indent}}} else {{\n{slow}{indent}}}{}",
                if tail.trim_start().starts_with('}') {
                    format!("\n{}", tail.trim_start())
                } else {
                    tail.to_owned()
                }
            )
        };
        let overlap =
            |error: crate::syntax::Overlap| Obstacle { reason: error.to_string(), at: String::new() };
        edits.replace(kernel.body.place.range.clone(), body).map_err(overlap)?;
        let source = edits.apply(&self.tree.source);
        let unbounded = dimensions.into_iter().filter(|(it, _)| !bounded.contains_key(it)).collect();
        Ok(Replicated { source, unbounded, bounded, overlaps: self.edges.is_some() })
    }

    /// The kernel's body where groups are placed by [`super::edges`].
    fn body_with_edges(
        &mut self,
        edges: &super::Edges,
        one: &str,
        [first_text, guard, rest_text, indent]: [&str; 4],
        first: &[Stmt],
    ) -> String {
        let (along, lanes) = self.plan.vector.unwrap_or_default();
        let (name, done) = (self.fresh(["i", "j", "k"][along.min(2)]), self.fresh("done"));
        let super::Edges { lowest, room, first: own, skip, .. } = edges;
        // Loops over single outputs, those along the copies outside.
        let outer = self.plan.copies.filter(|(across, _)| *across != along);
        let copy = outer.map(|(across, _)| self.fresh(["i", "j", "k"][across.min(2)]));
        let singles = |engine: &Self, from: &str, to: &str, position: &str| {
            let mut text = String::new();
            let mut deeper = indent.to_owned();
            let own = if position.is_empty() { name.clone() } else { format!("{position} + {name}") };
            let mut ids = BTreeMap::from([(along, own)]);
            if let (Some((across, count)), Some(copy)) = (outer, &copy) {
                let _ = writeln!(text, "{deeper}for (int {copy} = 0; {copy} < {count}; ++{copy})");
                deeper.push_str("    ");
                ids.insert(across, format!("{} + {copy}", sum_text(&engine.id_sum(first, across, 1))));
            }
            let arguments = engine.arguments_of_one(ids);
            let _ = writeln!(text, "{deeper}for (int {name} = {from}; {name} < {to}; ++{name})");
            let _ = writeln!(text, "{deeper}    {one}({arguments});");
            text
        };
        let start = match lowest {
            0 => String::new(),
            _ => format!(" + {lowest}"),
        };
        let before = if *lowest == 0 {
            String::new()
        } else {
            {
                let loops = singles(self, "0", &lowest.to_string(), "")
                    .replace(&format!("\n{indent}"), &format!("\n{indent}    "));
                format!("{indent}if ({own} == {lowest}) {{\n    {}\n{indent}}}\n", loops.trim_end())
            }
        };
        let moved = sum_text(&self.id_sum(first, along, 1));
        let guard = if guard.is_empty() { String::new() } else { format!(" && {guard}") };
        let after = singles(self, &done, &lanes.to_string(), own);
        format!(
            "{{\n{indent}const int {own} = {lanes} * (int)get_global_id({along}){start};{first_text}\n\
             {indent}const int {skip} = {own} - {};\n{before}{indent}int {done} = 0;\n\
             {indent}if ({skip} < {lanes} && {room}{guard}) {{\n{indent}    {rest_text}\n\
             {indent}    {done} = {lanes} - {skip};\n{indent}}}\n{after}}}",
            if moved.contains(' ') { format!("({moved})") } else { moved }
        )
    }

    pub(super) fn refuse_statement<T>(&self, stmt: &Stmt, reason: &str) -> Result<T, Obstacle> {
        let text = self.tree.text(&stmt.place);
        Err(Obstacle { reason: reason.to_owned(), at: text.lines().next().unwrap_or_default().to_owned() })
    }

    /// The source from one place of a statement to another one behind it.
    pub(super) fn between(&self, stmt: &Stmt, from: usize, to: usize) -> Result<&str, Obstacle> {
        // Several statements of a macro all lie where its name is.
        match self.tree.source.get(from..to) {
            Some(text) => Ok(text),
            None => self.refuse_statement(stmt, "a statement that shares a macro with others"),
        }
    }

    pub(super) fn refusal(&self, reason: &str) -> Obstacle {
        Obstacle { reason: reason.to_owned(), at: self.kernel.name.clone() }
    }

    /// The dimensions in which the kernel does nothing for ids that are too large, and what `times` times the number of
    /// outputs there is at most.
    fn bounded(&self, statements: &[Stmt]) -> BTreeMap<usize, (i128, Affine)> {
        let mut bounded = BTreeMap::new();
        let last = statements.len().saturating_sub(1);
        for (index, stmt) in statements.iter().enumerate() {
            let StmtKind::If { condition, then, otherwise: None } = &stmt.kind else { continue };
            let returns = match &then.kind {
                StmtKind::Return(None) => true,
                StmtKind::Block(inner) => matches!(&inner[..], [Stmt { kind: StmtKind::Return(None), .. }]),
                _ => false,
            };
            let wanted = match returns {
                true => false,
                false if index == last => true,
                false => continue,
            };
            for assumption in self.assume(condition, wanted).unwrap_or_default() {
                for dimension in 0..3 {
                    let id = format!("@{dimension}");
                    let times = -assumption.terms.get(&vec![id.clone()]).copied().unwrap_or(0);
                    let rest = assumption.without(&id);
                    // What depends on more than arguments does not say how many work-items are needed.
                    let is_plain = !rest.terms.keys().flatten().any(|it| it.starts_with(['@', '?', '#']));
                    if times > 0 && is_plain {
                        let span = times * (self.plan.outputs(dimension) as i128 - 1);
                        let sum = rest.plus(&Affine::constant(span + 1), 1);
                        bounded.entry(dimension).or_insert((times, sum));
                    }
                }
            }
            if !returns {
                break;
            }
        }
        bounded
    }

    /// The dimensions whose ids are arguments of the function for one output.
    fn dimensions_of_one(&self) -> Vec<usize> {
        let mut asked = [false; 3];
        self.kernel.body.walk_expressions(&mut |expr| {
            if let Ok(Some(dimension)) = self.id_dimension(expr)
                && let Some(asked) = asked.get_mut(dimension)
            {
                *asked = true;
            }
        });
        (0..3).filter(|dimension| asked[*dimension] || self.plan.outputs(*dimension) > 1).collect()
    }

    /// The arguments of a call of the function for one output; `ids` are those that are not the work-item's own.
    fn arguments_of_one(&self, mut ids: BTreeMap<usize, String>) -> String {
        let parameters = self.kernel.parameters.iter().map(|it| it.name.clone());
        let ids = self
            .dimensions_of_one()
            .into_iter()
            .map(|dimension| ids.remove(&dimension).unwrap_or_else(|| format!("get_global_id({dimension})")));
        parameters.chain(ids).collect::<Vec<_>>().join(", ")
    }

    /// A multiple of the first output's id, as a sum of a variable that is declared first.
    fn id_sum(&self, first: &[Stmt], dimension: usize, times: i128) -> Affine {
        let id = format!("@{dimension}");
        for stmt in first {
            let StmtKind::Declare(variables) = &stmt.kind else { continue };
            for variable in variables.iter().filter(|it| !self.assigned.contains(&it.symbol)) {
                let Some(value) = &variable.value else { continue };
                let sum = self.sum(value);
                let by = sum.coefficient(&id).unwrap_or(0);
                if let Some(more) = sum.without(&id).as_constant()
                    && by != 0
                    && times % by == 0
                {
                    let id = Affine::term(&variable.name).plus(&Affine::constant(more), -1);
                    return Affine::default().plus(&id, times / by);
                }
            }
        }
        let count = self.plan.outputs(dimension);
        let id = match count {
            1 => Affine::term(format!("get_global_id({dimension})")),
            _ if self.edges.is_some() && self.plan.vector.is_some_and(|(along, _)| along == dimension) => {
                Affine::term(self.id(dimension, 0).text)
            }
            count => Affine::term(format!("{count} * get_global_id({dimension})")),
        };
        Affine::default().plus(&id, times)
    }

    /// The kernel's own code as a function of the ids, before the kernel; its name.
    fn single(&mut self, edits: &mut Edits) -> Result<String, Obstacle> {
        let kernel = self.kernel;
        let source = &self.tree.source;
        let name = self.fresh(&format!("{}_one", kernel.name));
        let mut ids: Vec<(usize, String)> = Vec::new();
        for dimension in self.dimensions_of_one() {
            ids.push((dimension, self.fresh(["id_x", "id_y", "id_z"][dimension])));
        }
        let mut inside = Edits::new();
        let mut refused = false;
        kernel.body.walk_expressions(&mut |expr| {
            let ExprKind::Call { .. } = &expr.kind else { return };
            let Ok(Some(dimension)) = self.id_dimension(expr) else { return };
            if let Some((_, name)) = ids.iter().find(|(other, _)| *other == dimension) {
                let is_replaced =
                    expr.place.exact && inside.replace(expr.place.range.clone(), name.clone()).is_ok();
                // Elsewhere the work-item's own id is the same.
                refused |= !is_replaced && self.plan.outputs(dimension) > 1;
            }
        });
        let open = source[kernel.name_range.end..].find('(').map(|at| kernel.name_range.end + at + 1);
        let close = source[..kernel.body.place.range.start].rfind(')');
        let (Some(open), Some(close), false) = (open, close, refused) else {
            return Err(self.refusal("an id in a macro"));
        };
        let parameters = source.get(open..close).unwrap_or_default();
        let more: Vec<String> = ids.iter().map(|(_, name)| format!("const size_t {name}")).collect();
        let Some(gap) = source.get(close + 1..kernel.body.place.range.start) else {
            return Err(self.refusal("parameters in a macro"));
        };
        let body = inside.apply_to(source, kernel.body.place.range.clone());
        let separator = if parameters.trim().is_empty() { "" } else { ", " };
        let function = self.partial_stores()
            + &format!(
                "// One output of `{}`.\nstatic void {name}({parameters}{separator}{}){gap}{body}\n\n",
                kernel.name,
                more.join(", ")
            );
        let at = before_comments(source, kernel.place.range.start);
        edits
            .insert(at, function)
            .map_err(|error| Obstacle { reason: error.to_string(), at: name.clone() })?;
        Ok(name)
    }
}

/// The text of an id.
fn sum_text(sum: &Affine) -> String {
    let name = sum.terms.keys().next().map(|term| term.join(" * ")).unwrap_or_default();
    match sum.constant {
        0 => name,
        1.. => format!("{name} + {}", sum.constant),
        _ => format!("{name} - {}", -sum.constant),
    }
}

/// The start of the comment lines directly before the line at `at`.
fn before_comments(source: &str, at: usize) -> usize {
    let mut start = source[..at].rfind('\n').map_or(0, |line| line + 1);
    if !source[start..at].trim().is_empty() {
        return at;
    }
    while start > 0 {
        let before = source[..start - 1].rfind('\n').map_or(0, |line| line + 1);
        if !source[before..start].trim_start().starts_with("//") {
            break;
        }
        start = before;
    }
    start
}

/// Lines of spaces alone are empty.
fn blank_lines_trimmed(text: &str) -> String {
    let lines: Vec<&str> =
        text.split('\n').map(|line| if line.trim().is_empty() { "" } else { line }).collect();
    lines.join("\n").trim_end().to_owned()
}
