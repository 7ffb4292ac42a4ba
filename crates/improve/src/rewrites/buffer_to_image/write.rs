//! The source in which buffers are images.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::layout::{ImageRows, is_known_in};
use super::reads::{ElementRead, residue, uses};
use super::{Texel, texel};
use crate::rewrites::text::Names;
use crate::syntax::{Affine, Edits, Function, Symbol, Tree};

/// Functions that call each other at most: a kernel, and what computes one output.
const DEEPEST: usize = 4;

/// A source of which some buffers are images.
pub(super) struct Converted<'t> {
    tree: &'t Tree,
    names: Names,
    edits: Edits,
    /// Functions before all others, for elements whose channel depends on the work-item.
    helpers: String,
    /// Parameters that are images.
    done: BTreeSet<Symbol>,
    /// Where the first function starts that has images.
    start: usize,
}

/// How the elements of one buffer are read.
struct ImageReader<'l> {
    image: &'l str,
    layout: &'l ImageRows,
    texel: Texel,
}

impl<'t> Converted<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            names: Names::new(tree),
            edits: Edits::new(),
            helpers: String::new(),
            done: BTreeSet::new(),
            start: usize::MAX,
        }
    }

    /// Makes a parameter an image; `None` where that is not possible.
    pub(super) fn convert(
        &mut self,
        function: &'t Function,
        position: usize,
        layout: &ImageRows,
    ) -> Option<()> {
        let mut helper = None;
        self.function(function, position, layout, &mut helper, 0)
    }

    fn function(
        &mut self,
        function: &'t Function,
        position: usize,
        layout: &ImageRows,
        helper: &mut Option<String>,
        depth: usize,
    ) -> Option<()> {
        let parameter = function.parameters.get(position)?;
        if depth > DEEPEST || !parameter.place.exact || parameter.place.in_macro {
            return None;
        }
        if !self.done.insert(parameter.symbol) {
            return Some(());
        }
        self.start = self.start.min(before(&self.tree.source, function.place.range.start));
        let reader = ImageReader { image: &parameter.name, layout, texel: texel(parameter)? };
        let declared = format!("read_only image2d_t {}", parameter.name);
        self.edits.replace(parameter.place.range.clone(), declared).ok()?;
        let found = uses(self.tree, function, parameter.symbol)?;
        for stmt in found.pointers {
            let mut range = stmt.full.clone();
            let rest = &self.tree.source[range.end..];
            // Its line goes, too.
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let line = rest[blanks..].strip_prefix('\n').map_or(0, |it| 1 + it.len() - it.trim_start().len());
            range.end += if line > 0 { blanks + line } else { 0 };
            self.edits.replace(range, "").ok()?;
        }
        for read in &found.reads {
            let text = match reader.text(read) {
                Some(text) => text,
                None if read.lanes == 1 => {
                    let name = if let Some(name) = helper {
                        name.clone()
                    } else {
                        let name = self.names.exactly(&format!("{}_at", parameter.name));
                        self.helpers.push_str(&reader.helper(&name));
                        helper.insert(name).clone()
                    };
                    let at = layout.position(&read.sum);
                    let [column, row] = [&at.column, &at.row].map(|it| sum_text(&named(it, read)));
                    format!("{name}({}, {column}, {row})", parameter.name)
                }
                None => return None,
            };
            self.edits.replace(read.expr.place.range.clone(), text).ok()?;
        }
        for (symbol, position, arguments) in found.calls {
            let callee = self.tree.function(symbol)?;
            is_known_in(&layout.pitch, callee, arguments)?;
            self.function(callee, position, layout, helper, depth + 1)?;
        }
        Some(())
    }

    /// The whole source; `None` where what changes overlaps.
    pub(super) fn source(mut self) -> Option<String> {
        if !self.helpers.is_empty() {
            self.edits.insert(self.start, std::mem::take(&mut self.helpers)).ok()?;
        }
        Some(self.edits.apply(&self.tree.source))
    }
}

impl ImageReader<'_> {
    /// The text of a read; `None` if the channel of its first element is not known.
    fn text(&self, read: &ElementRead<'_>) -> Option<String> {
        let at = self.layout.position(&read.sum);
        let per_texel = self.layout.per_texel;
        let row = sum_text(&named(&at.row, read));
        if per_texel == 1 {
            let all = format!(
                "{}({}, (int2)({}, {row}))",
                self.texel.function,
                self.image,
                sum_text(&named(&at.column, read))
            );
            return Some(if self.texel.whole {
                self.converted(&all, 4)
            } else {
                self.converted(&format!("{all}.x"), 1)
            });
        }
        let first = residue(&at.column, &read.aligned)?;
        let whole = Affine { constant: at.column.constant - first as i128, ..at.column.clone() };
        let texel = |index: usize| {
            let column = quarter(&named(&whole, read), index);
            format!("{}({}, (int2)({column}, {row}))", self.texel.function, self.image)
        };
        let mut parts = Vec::new();
        let (mut at, end) = (first, first + read.lanes);
        while at < end {
            let (index, from) = (at / per_texel, at % per_texel);
            let to = (from + end - at).min(per_texel);
            // Vectors have no three lanes in a literal that GPUs compile well: a pair and one.
            let count = match to - from {
                3 => 2,
                count => count,
            };
            let lanes = &"0123"[from..from + count];
            let text = if count == per_texel { texel(index) } else { format!("{}.s{lanes}", texel(index)) };
            parts.push(self.converted(&text, count));
            at += count;
        }
        Some(match &parts[..] {
            [only] => only.clone(),
            _ => format!("({}{})({})", self.texel.scalar.name(), read.lanes, parts.join(", ")),
        })
    }

    /// Numbers that a function of images returns, as those of the buffer.
    fn converted(&self, text: &str, count: usize) -> String {
        let name = self.texel.scalar.name();
        match count {
            _ if self.texel.read == self.texel.scalar => text.to_owned(),
            1 => format!("({name}){text}"),
            count => format!("convert_{name}{count}({text})"),
        }
    }

    /// A function that reads an element whose channel is not known in advance.
    fn helper(&self, name: &str) -> String {
        let (scalar, read) = (self.texel.scalar.name(), self.texel.read.name());
        let value = "lane < 2 ? (lane == 0 ? all.s0 : all.s1) : (lane == 2 ? all.s2 : all.s3)";
        format!(
            "// The element of a row at a column.\nstatic {scalar} {name}(read_only image2d_t image, int column, int row) {{\n    \
             const {read}4 all = {}(image, (int2)(column >> 2, row));\n    const int lane = column & 3;\n    \
             return {value};\n}}\n\n",
            self.texel.function
        )
    }
}

/// A sum in terms of the variables that the source has for them.
fn named(sum: &Affine, read: &ElementRead<'_>) -> Affine {
    let name = |factor: &String| read.names.get(factor).unwrap_or(factor).clone();
    let terms = sum.terms.iter().map(|(term, times)| (term.iter().map(name).collect(), *times));
    Affine { constant: sum.constant, terms: terms.collect() }
}

/// A quarter of a multiple of 4, and `more`.
fn quarter(sum: &Affine, more: usize) -> String {
    let mut whole = Affine::constant(sum.constant / 4 + more as i128);
    let mut rest = Affine::default();
    for (term, times) in &sum.terms {
        if times % 4 == 0 {
            whole.terms.insert(term.clone(), times / 4);
        } else {
            rest.terms.insert(term.clone(), *times);
        }
    }
    if rest.terms.is_empty() {
        return sum_text(&whole);
    }
    let shifted = match &rest.terms.iter().collect::<Vec<_>>()[..] {
        [(term, 1)] if term.len() == 1 => format!("({} >> 2)", factor(&term[0])),
        _ => format!("(({}) >> 2)", sum_text(&rest)),
    };
    match sum_text(&whole).as_str() {
        "0" => shifted[1..shifted.len() - 1].to_owned(),
        text => format!("{text} + {shifted}").replace("+ -", "- "),
    }
}

/// The text of a sum.
fn sum_text(sum: &Affine) -> String {
    let mut text = String::new();
    for (term, times) in &sum.terms {
        let product: Vec<String> = term.iter().map(|it| factor(it)).collect();
        let product = product.join(" * ");
        let sign = match (*times < 0, text.is_empty()) {
            (true, true) => "-",
            (true, false) => " - ",
            (false, true) => "",
            (false, false) => " + ",
        };
        match times.abs() {
            1 => drop(write!(text, "{sign}{product}")),
            times => drop(write!(text, "{sign}{times} * {product}")),
        }
    }
    match sum.constant {
        constant if text.is_empty() => constant.to_string(),
        0 => text,
        1.. => format!("{text} + {}", sum.constant),
        _ => format!("{text} - {}", -sum.constant),
    }
}

/// A factor of a product: an integer of the width that coordinates have.
fn factor(text: &str) -> String {
    let is_word = text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if is_word {
        text.to_owned()
    } else if text.starts_with("get_") && text.find(')') == Some(text.len() - 1) {
        format!("(int){text}")
    } else {
        format!("({text})")
    }
}

/// The start of the comment lines directly before the line at `at`.
fn before(source: &str, at: usize) -> usize {
    let mut start = source[..at].rfind('\n').map_or(0, |line| line + 1);
    while start > 0 {
        let line = source[..start - 1].rfind('\n').map_or(0, |line| line + 1);
        if !source[line..start].trim_start().starts_with("//") {
            break;
        }
        start = line;
    }
    start
}
