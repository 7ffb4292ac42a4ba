//! `fuse-launches`: two launches, one after the other, become one.

mod side;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use tripipe_ir::diagnostic::Rule;
use tripipe_launch_file::{Entry, Given, LaunchFile};

use super::effects::is_collective;
use super::text::Names;
use crate::syntax::{Edits, ExprKind, Function, StmtKind, Symbol, Tree, Type, Variable};
use crate::{Proposal, View};
use side::Side;

pub(super) const RULE: Rule = Rule {
    code: "fuse-launches",
    title: "two launches, one after the other, become one",
    what: "
A kernel with the bodies of two: what the first one leaves for the same work-item of the second stays in a register. If nobody
else reads that memory, it is neither written nor needed any more. For launch files with a list of launches.",
    why: "
Each launch costs the host tens of microseconds, and what passes between two launches goes through memory twice.",
    example: "
kernel void scale(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i] * 2;
}
kernel void shift(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i] + 1;
}",
    instead: "
kernel void scale_shift(global const float *in, global float *out_1) {
    size_t i = get_global_id(0);
    float out_2 = in[i] * 2;
    out_1[i] = out_2 + 1;
}",
    exceptions: "
Where the second kernel reads what other work-items of the first one write, such as a filter with neighbours; launches of
different sizes; kernels with barriers, local memory or atomics; launches that repeat. More registers may cost threads. A driver that contracts products and sums across statements may round what
passes in a register once less.",
    source: "
- Qualcomm, *Snapdragon OpenCL Programming and Optimization*, on fusing kernels; the cost of a launch: docs/simulate.md.",
    ..Rule::REWRITE
};

/// Nothing for one launch: [`fuse`] takes two.
pub(super) fn proposals(_: &View<'_>) -> Vec<Proposal> {
    Vec::new()
}

/// Why a kernel is not understood.
const ENDS: &str = "a kernel ends in the middle, or changes an argument";

/// Two launches of kernels of one source, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'p> {
    /// The kernels, and how each is launched.
    pub launches: [(&'p str, &'p LaunchFile); 2],
    /// Arguments of the first and of the second that are the same memory.
    pub shared: &'p [(usize, usize)],
    /// Arguments of the first whose memory nobody needs after the second.
    pub passing: &'p [usize],
}

/// A kernel in place of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// Its name.
    pub kernel: String,
    /// The source with it, which stores all that the two store.
    pub source: String,
    /// Its launch.
    pub launch: LaunchFile,
    /// The arguments of the two kernels, as positions of its own.
    pub calls: [(String, Vec<usize>); 2],
    /// The source without what only passes from the first to the second, and the arguments that it has not.
    pub shorter: Option<(String, Vec<usize>)>,
    /// What must hold, in sentences without a full stop.
    pub conditions: Vec<String>,
}

/// How an argument of the second kernel gets into the fused one.
enum Joins {
    /// It is that argument of the first.
    As(usize),
    /// It is one of its own.
    Own,
}

/// The kernel that does what two do.
///
/// # Errors
/// Why that is not known to be the same, as the end of a sentence.
pub fn fuse(tree: &Tree, pair: &Pair<'_>) -> Result<Fused, &'static str> {
    let [(first, before), (second, after)] = pair.launches;
    let has_attribute = ["work_group_size", "sub_group_size"].iter().any(|it| tree.source.contains(it));
    match () {
        () if first == second => return Err("they are launches of one kernel"),
        () if before.range != after.range => return Err("they have other sizes"),
        () if has_attribute => return Err("the source has attributes of work-groups"),
        () => {}
    }
    let side = |kernel: &str| tree.kernel(kernel).and_then(|kernel| Side::of(tree, kernel)).ok_or(ENDS);
    let sides = [side(first)?, side(second)?];
    let [a, b] = &sides;
    for (side, launch) in [(a, before), (b, after)] {
        let is_plain = |entry: &Entry| matches!(entry.given, Given::Memory(_) | Given::Value { .. });
        if is_collecting(tree, side.kernel) {
            return Err("a kernel waits, or has memory that work-items share");
        }
        if side.kernel.parameters.len() != launch.arguments.len() || !launch.arguments.iter().all(is_plain) {
            return Err("an argument is neither memory nor a number");
        }
    }
    let (joins, conditions) = joined(pair, &sides).ok_or("their memory has other types")?;
    let mut names = Names::new(tree);
    let mut named: BTreeMap<Symbol, String> = BTreeMap::new();
    let mut taken: Vec<String> = a.kernel.parameters.iter().map(|it| it.name.clone()).collect();
    for (parameter, join) in b.kernel.parameters.iter().zip(&joins) {
        let name = match join {
            Joins::As(position) => a.kernel.parameters[*position].name.clone(),
            Joins::Own if taken.contains(&parameter.name) => names.fresh(&parameter.name),
            Joins::Own => parameter.name.clone(),
        };
        taken.push(name.clone());
        named.insert(parameter.symbol, name);
    }
    let rename = |symbol: Symbol| named.get(&symbol).cloned();
    // What ends in the first kernel would have ended in the second, too, and have done nothing before.
    let ends = |guard: &String| b.guards_as(&rename).contains(guard);
    if !a.guards.iter().all(ends) || !a.guards.is_empty() && b.acts_early {
        return Err("the first ends for work-items for which the second does not, or does something before");
    }
    let mut passed: Vec<Passed> = Vec::new();
    for (at, other) in pair.shared {
        let parameters = [&a.kernel.parameters[*at], &b.kernel.parameters[*other]];
        if parameters.iter().all(|it| matches!(it.ty, Type::Pointer { constant: true, .. })) {
            continue;
        }
        let [Some(own), Some(its)] = [a.accesses(tree, parameters[0]), b.accesses(tree, parameters[1])]
        else {
            return Err("memory that both use is not accessed element by element");
        };
        if !own.stores() && !its.stores() {
            continue;
        }
        let element = own.element(&|_| None).filter(|own| covers(own, before));
        if element.is_none() || its.element(&rename) != element {
            return Err("the second may read what another work-item of the first has written");
        }
        if let Some(stored) = Side::passes(&own, &its, b, &rename) {
            let is_dropped = pair.passing.contains(at) && own.is_only(&stored) && !its.stores();
            let name = names.fresh(&a.kernel.parameters[*at].name);
            passed.push(Passed { argument: *at, stored, loads: its.loads(), name, is_dropped });
        }
    }
    let kernel = names.exactly(&format!("{first}_{second}"));
    let skipped = merged(&sides, &taken, &mut names, &mut named);
    let writing = Writing {
        tree,
        sides: &sides,
        joins: &joins,
        named: &named,
        skipped: &skipped,
        passed: &passed,
        pair,
    };
    let source = writing.source(&kernel, false).ok_or("a macro hides what would change")?;
    let dropped: Vec<usize> = passed.iter().filter(|it| it.is_dropped).map(|it| it.argument).collect();
    let shorter = if dropped.is_empty() { None } else { writing.source(&kernel, true) };
    let mut launch = LaunchFile { kernel: Some(kernel.clone()), ..before.clone() };
    let mut positions = Vec::new();
    for (index, join) in joins.iter().enumerate() {
        match join {
            Joins::As(position) => positions.push(*position),
            Joins::Own => {
                positions.push(launch.arguments.len());
                let entry = after.arguments[index].clone();
                launch
                    .arguments
                    .push(Entry { name: Some(taken[a.kernel.parameters.len() + index].clone()), ..entry });
            }
        }
    }
    for (entry, parameter) in launch.arguments.iter_mut().zip(&a.kernel.parameters) {
        entry.name = Some(parameter.name.clone());
    }
    for (at, _) in pair.shared {
        if let Some(Given::Memory(memory)) = launch.arguments.get_mut(*at).map(|entry| &mut entry.given) {
            memory.access = tripipe_launch::Access::ReadWrite;
        }
    }
    let all = (0..a.kernel.parameters.len()).collect();
    let calls = [(first.to_owned(), all), (second.to_owned(), positions)];
    Ok(Fused { kernel, source, launch, calls, shorter: shorter.map(|it| (it, dropped)), conditions })
}

/// Whether a kernel waits, or has memory that work-items share.
fn is_collecting(tree: &Tree, kernel: &Function) -> bool {
    let mut found = kernel
        .parameters
        .iter()
        .any(|parameter| matches!(&parameter.ty, Type::Pointer { space: crate::syntax::Space::Local, .. }));
    let bodies = std::iter::once(kernel).chain(tree.functions.iter().filter(|function| !function.is_kernel));
    for body in bodies {
        body.body.walk_expressions(&mut |expr| {
            found |= matches!(&expr.kind, ExprKind::Call { name, .. } if is_collective(name));
        });
        body.body.walk(&mut |stmt| {
            found |= matches!(&stmt.kind, StmtKind::Declare(all) if all.iter().any(|it| it.shared));
        });
    }
    found
}

/// Which arguments of the second kernel are those of the first, and what must hold for that.
fn joined(pair: &Pair<'_>, [a, b]: &[Side<'_>; 2]) -> Option<(Vec<Joins>, Vec<String>)> {
    let [(first, before), (second, after)] = pair.launches;
    let (mut joins, mut conditions) = (Vec::new(), Vec::new());
    for (index, (parameter, entry)) in b.kernel.parameters.iter().zip(&after.arguments).enumerate() {
        if let Some((own, _)) = pair.shared.iter().find(|(_, other)| *other == index) {
            let (it, other) = (&a.kernel.parameters.get(*own)?.ty, &parameter.ty);
            if pointee(it)? != pointee(other)? {
                return None;
            }
            joins.push(Joins::As(*own));
            continue;
        }
        let same = |(own, entry_of): &(usize, &Entry)| {
            let of_first = &a.kernel.parameters[*own];
            of_first.ty == parameter.ty && entry_of.given == entry.given
        };
        let is_value = matches!(entry.given, Given::Value { .. });
        let all: Vec<(usize, &Entry)> =
            before.arguments.iter().enumerate().filter(|it| is_value && same(it)).collect();
        let by_name = all.iter().find(|(own, _)| a.kernel.parameters[*own].name == parameter.name);
        let Some((own, _)) = by_name.or(all.first()) else {
            joins.push(Joins::Own);
            continue;
        };
        let name = &a.kernel.parameters[*own].name;
        conditions.push(if *name == parameter.name {
            format!("`{name}` has one value in both launches")
        } else {
            format!("`{name}` of `{first}` and `{}` of `{second}` have one value", parameter.name)
        });
        joins.push(Joins::As(*own));
    }
    Some((joins, conditions))
}

/// The statements of the second kernel that repeat what the first one has done: tests, and variables with the same value.
/// Its other variables get names that are not in the first.
fn merged(
    [a, b]: &[Side<'_>; 2],
    taken: &[String],
    names: &mut Names,
    named: &mut BTreeMap<Symbol, String>,
) -> Vec<Range<usize>> {
    let known: Vec<_> = a.statements().iter().filter_map(|stmt| a.fixed(stmt, &|_| None)).flatten().collect();
    let mut skipped = Vec::new();
    let parameters = named.clone();
    let rename = |symbol: Symbol| parameters.get(&symbol).cloned();
    for stmt in b.statements() {
        if b.repeats(stmt, &a.guards, &rename) {
            skipped.push(stmt.full.clone());
            continue;
        }
        let Some(fixed) = b.fixed(stmt, &rename).filter(|_| stmt.place.exact) else { continue };
        let same = |(variable, value): &(&Variable, String)| {
            let own = known.iter().filter(|(own, text)| own.ty == variable.ty && text == value);
            let by_name = own.clone().find(|(own, _)| own.name == variable.name);
            by_name.or(own.clone().next()).map(|(own, _)| (variable.symbol, own.name.clone()))
        };
        if let Some(same) = fixed.iter().map(same).collect::<Option<Vec<_>>>() {
            named.extend(same);
            skipped.push(stmt.full.clone());
        }
    }
    let declared: Vec<&Variable> = a.variables();
    for variable in b.variables() {
        let is_known = taken.contains(&variable.name) || declared.iter().any(|own| own.name == variable.name);
        if is_known && !named.contains_key(&variable.symbol) {
            named.insert(variable.symbol, names.fresh(&variable.name));
        }
    }
    skipped
}

/// What a pointer points to.
fn pointee(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Pointer { to, .. } => Some(to),
        _ => None,
    }
}

/// Whether an element is another one for each work-item: it depends on the ids of all dimensions.
fn covers(element: &side::OwnElement, launch: &LaunchFile) -> bool {
    let sizes = launch.range.global_size();
    (0..launch.range.dimensions())
        .all(|along| sizes[along] == 1 || element.has(&format!("get_global_id({along})")))
}

/// A number that passes from the first kernel to the second.
struct Passed {
    /// The argument of the first kernel.
    argument: usize,
    stored: side::Stored,
    /// Where the second kernel loads it.
    loads: Vec<Range<usize>>,
    /// The variable that it is in.
    name: String,
    /// Whether the memory is needed no more.
    is_dropped: bool,
}

/// A statement's lines, if nothing else is on them; else the statement.
fn whole_lines(text: &str, at: &Range<usize>) -> Range<usize> {
    let start = text[..at.start].rfind('\n').map_or(0, |line| line + 1);
    let end = text[at.end..].find('\n').map_or(text.len(), |line| at.end + line + 1);
    let is_alone = text[start..at.start].trim().is_empty() && text[at.end..end].trim().is_empty();
    if is_alone { start..end } else { at.clone() }
}

struct Writing<'w> {
    tree: &'w Tree,
    sides: &'w [Side<'w>; 2],
    joins: &'w [Joins],
    named: &'w BTreeMap<Symbol, String>,
    /// The statements of the second kernel that are left out.
    skipped: &'w [Range<usize>],
    passed: &'w [Passed],
    pair: &'w Pair<'w>,
}

impl Writing<'_> {
    /// The source with the fused kernel after both.
    fn source(&self, kernel: &str, shorter: bool) -> Option<String> {
        let [a, b] = self.sides;
        let text = &self.tree.source;
        let mut parameters = Vec::new();
        for (index, parameter) in a.kernel.parameters.iter().enumerate() {
            if shorter && self.passed.iter().any(|it| it.is_dropped && it.argument == index) {
                continue;
            }
            let mut own = a.parameter(self.tree, index, &parameter.name)?;
            let is_written = self.pair.shared.iter().filter(|(at, _)| *at == index).any(|(_, other)| {
                matches!(b.kernel.parameters[*other].ty, Type::Pointer { constant: false, .. })
            });
            if is_written {
                own = own.split(' ').filter(|word| *word != "const").collect::<Vec<_>>().join(" ");
            }
            parameters.push(own);
        }
        for (index, (parameter, join)) in b.kernel.parameters.iter().zip(self.joins).enumerate() {
            if matches!(join, Joins::Own) {
                parameters.push(b.parameter(self.tree, index, &self.named[&parameter.symbol])?);
            }
        }
        let (mut edits, mut declared) = (Edits::new(), String::new());
        for passed in self.passed {
            let ty = pointee(&a.kernel.parameters[passed.argument].ty)?;
            let target = &passed.stored.target;
            let is_own = a
                .statements()
                .iter()
                .any(|stmt| matches!(stmt.kind, StmtKind::Expr(_)) && stmt.full.start == target.start);
            if shorter && passed.is_dropped && is_own {
                edits.replace(target.clone(), format!("{ty} {}", passed.name)).ok()?;
            } else {
                let _ = writeln!(declared, "    {ty} {};", passed.name);
                if shorter && passed.is_dropped {
                    edits.replace(target.clone(), passed.name.clone()).ok()?;
                } else {
                    edits.insert(passed.stored.value, format!("{} = ", passed.name)).ok()?;
                }
            }
            for load in &passed.loads {
                edits.replace(load.clone(), passed.name.clone()).ok()?;
            }
        }
        for skipped in self.skipped {
            edits.replace(whole_lines(text, skipped), "").ok()?;
        }
        b.rename(self.named, &mut edits)?;
        let body = |side: &Side<'_>| {
            let Range { start, end } = side.kernel.body.place.range.clone();
            let body = edits.apply_to(text, start + 1..end.saturating_sub(1));
            let body = body.trim_start_matches([' ', '\t', '\r']).trim_start_matches('\n').trim_end();
            // A body on the line of its brace.
            let indent = if body.starts_with([' ', '\t']) { "" } else { "    " };
            format!("{indent}{body}\n")
        };
        let written = format!(
            "\n\nkernel void {kernel}({}) {{\n{declared}{}{}}}",
            parameters.join(", "),
            body(a),
            body(b)
        );
        let at = a.kernel.place.range.end.max(b.kernel.place.range.end);
        Some(format!("{}{written}{}", text.get(..at)?, text.get(at..)?))
    }
}
