//! The kernel of a work-group that does what a work-item did.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::super::address::Address;
use super::super::text::{Names, indentation};
use super::steps::Gather;
use super::vectors::{ElementRow, Writer};
use super::ways::{Length, Way};
use super::{Gathered, Loop, RULE, Rows};
use crate::syntax::{Edits, Scalar, StmtKind};
use crate::{Condition, HostChange, Proposal};

/// The most that a sum in another order deviates, relative to the sum of magnitudes: of 2^16 terms in `float`, in `half`.
const FLOAT_ERROR: f64 = 1e-5;
const HALF_ERROR: f64 = 1e-2;

/// The most that a sum in another order deviates; `None` for integers.
fn error_of(scalar: Scalar) -> Option<f64> {
    match scalar {
        Scalar::Float { bits: 16 } => Some(HALF_ERROR),
        Scalar::Float { .. } => Some(FLOAT_ERROR),
        _ => None,
    }
}

/// A row's vectors that stay in registers.
struct KeptRow {
    start: Address,
    /// A vector, or an array of one for each turn.
    name: String,
}

/// What is written of the loops so far.
struct GroupText {
    size: usize,
    lane: String,
    names: Names,
    /// Declarations at the top of the kernel.
    head: String,
    kept: Vec<KeptRow>,
}

impl<'t> Rows<'t> {
    /// The kernel for work-groups of a size; `None` where a macro stands in the way.
    pub(super) fn proposal(&self, size: usize, way: Way, length: Option<&Length<'t>>) -> Option<Proposal> {
        let source = &self.tree.source;
        let lane = self.free("lane");
        let mut edits = Edits::new();
        let StmtKind::Block(body) = &self.kernel.body.kind else { return None };
        let top = body.first()?;
        let at_top = indentation(source, top.full.start);
        let head = format!("const int {lane} = get_local_id(0);\n{at_top}");
        let mut group =
            GroupText { size, lane: lane.clone(), names: Names::new(self.tree), head, kept: Vec::new() };
        group.names.exactly(&lane);
        let scratches = self.scratches(&mut group, at_top)?;
        for store in &self.stores {
            edits.insert(store.full.start, format!("if ({lane} == 0) ")).ok()?;
        }
        let mut error: f64 = 0.0;
        let mut whole: Vec<Range<usize>> = Vec::new();
        for (index, divided) in self.loops.iter().enumerate() {
            let indent = indentation(source, divided.statement.full.start);
            let text = match way {
                _ if divided.rows.is_empty() => None,
                Way::Single => None,
                Way::Vectors(lanes) => self.vectors(divided, lanes, indent, &mut group),
                // What one loop keeps another one relies on.
                Way::Kept { lanes, turns } => {
                    let fills = length.is_some_and(|it| it.fills(size, lanes, turns));
                    Some(self.turns(index, [lanes, turns], fills, [indent, at_top], &mut group)?)
                }
            };
            if let Some(mut text) = text {
                // A pragma stands on a line of its own.
                let line = source[..divided.statement.full.start].trim_end_matches([' ', '\t']);
                let sums = divided.gathered.iter().any(|it| it.by == Gather::Sum);
                if text.starts_with('#') && !line.ends_with('\n') && !sums {
                    text.insert(0, '\n');
                }
                edits.replace(divided.statement.full.clone(), text).ok()?;
                whole.push(divided.statement.full.clone());
            } else {
                let first = self.tree.text(&divided.first.place);
                let first = if first == "0" { lane.clone() } else { format!("{first} + {lane}") };
                edits.replace(divided.first.place.range.clone(), first).ok()?;
                let step = format!("{} += {size}", divided.counter.name);
                edits.replace(divided.step.place.range.clone(), step).ok()?;
            }
            let (before, mut after) = self.gather(index, size, &lane, &scratches)?;
            let sums = divided.gathered.iter().filter(|it| it.by == Gather::Sum);
            error = sums.filter_map(|it| error_of(it.variable.ty.as_number()?)).fold(error, f64::max);
            // What was stored may be loaded by another work-item later; what is kept is not.
            let is_kept = matches!(way, Way::Kept { .. });
            if !divided.stored.is_empty() && index + 1 < self.loops.len() && !is_kept {
                let _ = write!(after, "\n{indent}barrier(CLK_GLOBAL_MEM_FENCE);");
            }
            edits.insert(divided.statement.full.start, before).ok()?;
            edits.insert(divided.statement.full.end, after).ok()?;
        }
        for (at, new) in self.replaced() {
            if !whole.iter().any(|it| it.start <= at.start && at.end <= it.end) {
                edits.replace(at, new).ok()?;
            }
        }
        edits.insert(top.full.start, group.head).ok()?;
        let count = self.loops.len();
        let loops = if count == 1 { "its loop".to_owned() } else { format!("its {count} loops") };
        let (mut conditions, more, why) = match way {
            Way::Single => (Vec::new(), String::new(), ""),
            Way::Vectors(lanes) => (
                Vec::new(),
                format!(", with vectors of {lanes}"),
                ", and one load or store takes the elements of several steps",
            ),
            Way::Kept { lanes, turns } => (
                length?.conditions(size, lanes, turns)?,
                format!(", with vectors of {lanes} that stay in registers"),
                ", and each element is loaded and stored once",
            ),
        };
        conditions.insert(0, Condition::BuffersApart);
        Some(Proposal {
            code: RULE.code,
            title: format!("a work-group of {size} does what a work-item did{more}"),
            why: format!("neighbours take the steps of {loops} in turns and load neighbouring elements{why}"),
            source: edits.apply(source),
            conditions,
            host: vec![HostChange::Multiply { dimension: 0, by: size }, HostChange::Local([size, 1, 1])],
            relative_error: error,
        })
    }

    /// What has another text in the group's kernel, loops aside.
    fn replaced(&self) -> Vec<(Range<usize>, String)> {
        self.ids.iter().map(|id| (id.place.range.clone(), "get_group_id(0)".to_owned())).collect()
    }

    /// A loop whose steps are taken as vectors, and a second one for those that are left over.
    fn vectors(
        &self,
        divided: &Loop<'_>,
        lanes: usize,
        indent: &str,
        group: &mut GroupText,
    ) -> Option<String> {
        let (lane, size, counter) = (&group.lane, group.size, &divided.counter.name);
        let end = self.tree.text(&divided.end?.place);
        let ty = &divided.counter.ty;
        let inner = format!("{indent}    ");
        let mut text = format!(
            "for ({ty} {counter} = {lanes} * {lane}; {counter} + {} < {end}; {counter} += {}) {{\n",
            lanes - 1,
            lanes * size
        );
        let mut after = String::new();
        let names: Vec<String> = divided.rows.iter().map(|row| group.names.fresh(&row.start.name)).collect();
        let inside = self.inside(divided);
        let writer = self.writer(divided, &names, lanes, &inside);
        for (row, name) in divided.rows.iter().zip(&names) {
            let (vector, place) = (row.vector(lanes)?, writer.place(row)?);
            let constant = if row.stores() { "" } else { "const " };
            let value =
                if row.loads_first() { format!(" = vload{lanes}(0, {place})") } else { String::new() };
            let _ = writeln!(text, "{inner}{constant}{vector} {name}{value};");
            if row.stores() {
                let _ = writeln!(after, "{inner}vstore{lanes}({name}, 0, {place});");
            }
        }
        text.push_str(&writer.steps(&inner)?);
        let lane = &group.lane;
        let left = if end.chars().all(|it| it.is_alphanumeric() || it == '_') {
            end.to_owned()
        } else {
            format!("({end})")
        };
        let whole = format!("{left} / {lanes} * {lanes}");
        let whole = match divided.start {
            0 => whole,
            start => format!("({left} < {lanes} ? {start} : {whole})"),
        };
        let _ = write!(
            text,
            "{after}{indent}}}\n{indent}for ({ty} {counter} = {whole} + {lane}; {counter} < {end}; {counter} += {size})"
        );
        let mut rest = Edits::new();
        for (at, new) in &inside {
            rest.replace(at.clone(), new.clone()).ok()?;
        }
        let gap = if matches!(divided.body.kind, StmtKind::Block(_)) {
            " ".to_owned()
        } else {
            format!("\n{inner}")
        };
        Some(text + &gap + &rest.apply_to(&self.tree.source, divided.body.full.clone()))
    }

    /// A loop whose turns are the vectors of a row that a work-item has.
    fn turns(
        &self,
        index: usize,
        [lanes, turns]: [usize; 2],
        fills: bool,
        [indent, top]: [&str; 2],
        group: &mut GroupText,
    ) -> Option<String> {
        let divided = &self.loops[index];
        let later: Vec<&ElementRow<'_>> = self.loops[index + 1..].iter().flat_map(|it| &it.rows).collect();
        let inside = self.inside(divided);
        let mut is_new: BTreeSet<usize> = BTreeSet::new();
        for (number, row) in divided.rows.iter().enumerate() {
            if group.kept.iter().any(|it| it.start == row.start) {
                continue;
            }
            is_new.insert(number);
            if later.iter().any(|it| it.start == row.start) {
                let name = group.names.fresh(&row.start.name);
                let count = if turns == 1 { String::new() } else { format!("[{turns}]") };
                let _ = write!(group.head, "{} {name}{count};\n{top}", row.vector(lanes)?);
                group.kept.push(KeptRow { start: row.start.clone(), name });
            }
        }
        let turn = if turns == 1 { String::new() } else { group.names.fresh("turn") };
        let (inner, deeper) = (format!("{indent}    "), format!("{indent}        "));
        let (mut before, mut after) = (String::new(), String::new());
        let at = if fills { &inner } else { &deeper };
        let mut names = Vec::new();
        for row in &divided.rows {
            names.push(match group.kept.iter().find(|it| it.start == row.start) {
                Some(kept) if turns == 1 => kept.name.clone(),
                Some(kept) => format!("{}[{turn}]", kept.name),
                None => group.names.fresh(&row.start.name),
            });
        }
        let writer = self.writer(divided, &names, lanes, &inside);
        for (number, (row, name)) in divided.rows.iter().zip(&names).enumerate() {
            let place = writer.place(row)?;
            let is_kept = group.kept.iter().any(|it| it.start == row.start);
            let value =
                if row.loads_first() { format!(" = vload{lanes}(0, {place})") } else { String::new() };
            if !is_kept {
                let constant = if row.stores() { "" } else { "const " };
                let _ = writeln!(before, "{at}{constant}{} {name}{value};", row.vector(lanes)?);
            } else if is_new.contains(&number) && row.loads_first() {
                let _ = writeln!(before, "{at}{name}{value};");
            }
            let is_stored_again = later.iter().any(|it| it.start == row.start && it.stores());
            if row.stores() && !is_stored_again {
                let _ = writeln!(after, "{at}vstore{lanes}({name}, 0, {place});");
            }
        }
        let (ty, counter, lane) = (&divided.counter.ty, &divided.counter.name, &group.lane);
        let steps = writer.steps(at)?;
        let head = if turns == 1 {
            format!("{{\n{inner}const {ty} {counter} = {lanes} * {lane};\n")
        } else {
            format!(
                "#pragma unroll\n{indent}for (int {turn} = 0; {turn} < {turns}; ++{turn}) {{\n{inner}const {ty} {counter} = \
                 {lanes} * {lane} + {} * {turn};\n",
                lanes * group.size
            )
        };
        if fills {
            return Some(format!("{head}{before}{steps}{after}{indent}}}"));
        }
        let end = self.tree.text(&divided.end?.place);
        Some(format!("{head}{inner}if ({counter} < {end}) {{\n{before}{steps}{after}{inner}}}\n{indent}}}"))
    }

    /// Names of local memory for what a loop gathers: one for each variable of a type.
    fn scratches(&self, group: &mut GroupText, indent: &str) -> Option<Vec<Vec<String>>> {
        let mut all: Vec<(Scalar, String)> = Vec::new();
        let mut of_loops = Vec::new();
        for divided in &self.loops {
            let mut own: Vec<String> = Vec::new();
            for variable in
                divided.gathered.iter().flat_map(|it| std::iter::once(it.variable).chain(it.position))
            {
                let scalar = variable.ty.as_number()?;
                let known = all.iter().find(|(of, name)| *of == scalar && !own.contains(name));
                if let Some((_, name)) = known {
                    own.push(name.clone());
                    continue;
                }
                let wanted = match all.iter().filter(|(of, _)| *of == scalar).count() {
                    0 => format!("partial_{}", scalar.name()),
                    others => format!("partial_{}_{}", scalar.name(), others + 1),
                };
                let name = self.free(&wanted);
                group.names.exactly(&name);
                let _ = write!(group.head, "local {} {name}[{}];\n{indent}", scalar.name(), group.size);
                all.push((scalar, name.clone()));
                own.push(name);
            }
            of_loops.push(own);
        }
        Some(of_loops)
    }

    /// What is written before and after a loop so that all work-items have what it gathers.
    fn gather(
        &self,
        index: usize,
        size: usize,
        lane: &str,
        scratches: &[Vec<String>],
    ) -> Option<(String, String)> {
        let divided = &self.loops[index];
        let indent = indentation(&self.tree.source, divided.statement.full.start);
        let (mut before, mut gathers) = (String::new(), Vec::new());
        let (mut give, mut take) = (String::new(), String::new());
        let mut own = scratches.get(index)?.iter();
        let stride = self.free("step");
        for Gathered { variable, by, position } in &divided.gathered {
            let (name, scratch) = (&variable.name, own.next()?);
            let _ = write!(give, "\n{indent}{scratch}[{lane}] = {name};");
            let _ = write!(take, "\n{indent}{name} = {scratch}[0];");
            let test = if *by == Gather::Most { '>' } else { '<' };
            let (mine, other) = (format!("{scratch}[{lane}]"), format!("{scratch}[{lane} + {stride}]"));
            match (by, position) {
                (Gather::Sum, _) => {
                    gathers.push(format!("{mine} += {other};"));
                    let _ = write!(before, "{name} = {lane} == 0 ? {name} : 0;\n{indent}");
                }
                (Gather::MostNumber, _) => gathers.push(format!("{mine} = fmax({mine}, {other});")),
                (Gather::LeastNumber, _) => gathers.push(format!("{mine} = fmin({mine}, {other});")),
                (_, None) => gathers.push(format!("{mine} = {other} {test} {mine} ? {other} : {mine};")),
                (_, Some(position)) => {
                    let steps = own.next()?;
                    let _ = write!(give, "\n{indent}{steps}[{lane}] = {};", position.name);
                    let _ = write!(take, "\n{indent}{} = {steps}[0];", position.name);
                    let (my_step, its_step) =
                        (format!("{steps}[{lane}]"), format!("{steps}[{lane} + {stride}]"));
                    gathers.push(format!(
                        "if ({other} {test} {mine} || ({other} == {mine} && {its_step} < {my_step})) {{"
                    ));
                    gathers.push(format!("    {mine} = {other};"));
                    gathers.push(format!("    {my_step} = {its_step};"));
                    gathers.push("}".to_owned());
                }
            }
        }
        let gather = match &gathers[..] {
            [] => return Some((String::new(), String::new())),
            [only] => format!("\n{indent}        {only}\n"),
            all => {
                let lines = all.join(&format!("\n{indent}        "));
                format!(" {{\n{indent}        {lines}\n{indent}    }}\n")
            }
        };
        let wait = "barrier(CLK_LOCAL_MEM_FENCE);";
        // What a later loop gathers goes to the same memory.
        let is_last = self.loops[index + 1..].iter().all(|it| it.gathered.is_empty());
        let end = if is_last { String::new() } else { format!("\n{indent}{wait}") };
        let after = format!(
            "{give}\n{indent}{wait}\n{indent}for (int {stride} = {}; {stride} > 0; {stride} /= 2) {{\n{indent}    if ({lane} < \
             {stride}){gather}{indent}    {wait}\n{indent}}}{take}{end}",
            size / 2
        );
        Some((before, after))
    }

    /// What has another text in a loop's body.
    fn inside(&self, divided: &Loop<'_>) -> Vec<(Range<usize>, String)> {
        let body = &divided.body.full;
        let mut inside = self.replaced();
        inside.retain(|(at, _)| body.start <= at.start && at.end <= body.end);
        inside
    }

    fn writer<'a>(
        &self,
        divided: &'a Loop<'t>,
        names: &'a [String],
        lanes: usize,
        replaced: &'a [(Range<usize>, String)],
    ) -> Writer<'a, 't> {
        let Loop { body, counter, rows, start, .. } = divided;
        Writer { tree: self.tree, body, counter, rows, names, lanes, start: *start, replaced }
    }
}
