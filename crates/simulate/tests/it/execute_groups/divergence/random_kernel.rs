//! Random kernels with divergent control flow, as OpenCL C and as the computation of a single work-item.
//!
//! Conditions are combined (`&&`, `||`, `?:`). Variables of several types change in branches, are swapped, and are
//! carried through loops that work-items leave in different iterations, by their condition, `break`, `continue` or
//! `return`. All arithmetic is on unsigned 32-bit integers, so that it is fully defined.

use std::fmt::Write as _;

use fastrand::Rng;

/// Variables of each type per kernel.
const EACH: usize = 3;
/// Elements of a work-item's private table.
const TABLE: usize = 8;
/// Components of the vector.
const LANES: usize = 4;
/// Maximum nesting of loops.
const LOOPS: usize = 2;
/// Multiplier of a `switch` selector: otherwise clang would make it a 3-bit integer, which SPIR-V does not have.
const SPREAD: u32 = 0x4000_0001;
/// Words that a work-item writes: all its variables, its table, its vector, and one more.
pub(crate) const WORDS: usize = 3 * EACH + TABLE + LANES + 1;

/// A 32-bit value.
enum Number {
    Literal(u32),
    Word(usize),
    Byte(usize),
    Lane(usize),
    /// The iteration count of the loop at this depth.
    Turn(usize),
    Entry(Box<Number>),
    Of(char, Box<[Number; 2]>),
    Choice(Box<Truth>, Box<[Number; 2]>),
}

/// A condition.
enum Truth {
    Flag(usize),
    Less(Box<[Number; 2]>),
    Even(Number),
    Not(Box<Truth>),
    Both(Box<[Truth; 2]>),
    Either(Box<[Truth; 2]>),
    Choice(Box<[Truth; 3]>),
}

enum Statement {
    SetWord(usize, Number),
    SetByte(usize, Number),
    SetFlag(usize, Truth),
    SetEntry(Number, Number),
    SetLane(usize, Number),
    /// If true, rotates the components of the vector by one.
    RotateVector(Truth),
    /// Adds to the value that the work-item has written so far.
    Write(Number),
    /// Each variable takes the value of the next one: words, or flags.
    Rotate(bool),
    If(Truth, Body, Body),
    /// Loops while the iteration count is less than the number, at most 7.
    Loop(usize, Number, Body),
    /// Selects by the remainder of a division by 5; 4 matches no case. The flag says whether a case falls through.
    Switch(Number, [(Body, bool); 4]),
    Leave(Truth, Exit),
}

type Body = Vec<Statement>;

/// How execution continues after a statement.
#[derive(Clone, Copy, PartialEq)]
enum Exit {
    Next,
    Break,
    Continue,
    Return,
}

/// A kernel.
pub(crate) struct RandomKernel {
    body: Body,
}

impl RandomKernel {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self { body: Maker { rng, loops: 0, in_switch: false }.body(3) }
    }

    /// `kernel void NAME(global uint *r)`
    pub(crate) fn source(&self, name: &str) -> String {
        let mut text =
            format!("kernel void {name}(global uint *r) {{\n    const uint item = get_global_id(0);\n");
        let mut line = |line: String| writeln!(text, "    {line}").unwrap_or_default();
        line(format!("uchar t[{TABLE}]; for (uint k = 0; k < {TABLE}; ++k) t[k] = item * 31 + k * 17;"));
        for index in 0..EACH {
            line(format!(
                "uint w{index} = item * {}u + {index}; uchar b{index} = item ^ {index}u;",
                5 + index
            ));
            line(format!("bool f{index} = (item >> {index}) & 1;"));
        }
        line("uint4 v = (uint4)(item, 1, 2, 3);".to_owned());
        line(format!("r[item * {WORDS} + {}] = item;", WORDS - 1));
        print(&mut text, &self.body, 1);
        for index in 0..EACH {
            let at = |first: usize| format!("r[item * {WORDS} + {}]", first * EACH + index);
            let _ = writeln!(text, "    {} = w{index}; {} = b{index}; {} = f{index};", at(0), at(1), at(2));
        }
        let (table, vector) = (3 * EACH, 3 * EACH + TABLE);
        let _ =
            writeln!(text, "    for (uint k = 0; k < {TABLE}; ++k) r[item * {WORDS} + {table} + k] = t[k];");
        let _ = writeln!(text, "    vstore4(v, 0, r + item * {WORDS} + {vector});");
        text + "}\n"
    }

    /// Computes what a work-item does to its own words.
    pub(crate) fn run(&self, item: u32, words: &mut [u32]) {
        let mut state = Item {
            words: std::array::from_fn(|index| item * (5 + index as u32) + index as u32),
            bytes: std::array::from_fn(|index| item as u8 ^ index as u8),
            flags: std::array::from_fn(|index| item >> index & 1 == 1),
            turns: [0; LOOPS],
            table: std::array::from_fn(|index| (item * 31 + index as u32 * 17) as u8),
            vector: [item, 1, 2, 3],
            written: item,
        };
        let exit = state.body(&self.body);
        words[WORDS - 1] = state.written;
        if exit != Exit::Return {
            let variables = state.words.into_iter().chain(state.bytes.map(u32::from));
            let all = variables
                .chain(state.flags.map(u32::from))
                .chain(state.table.map(u32::from))
                .chain(state.vector);
            words.iter_mut().zip(all).for_each(|(word, value)| *word = value);
        }
    }
}

/// Makes pieces of a kernel; their size decreases with depth.
struct Maker<'r> {
    rng: &'r mut Rng,
    /// Number of enclosing loops.
    loops: usize,
    /// Whether `break` would leave a `switch`.
    in_switch: bool,
}

impl Maker<'_> {
    fn body(&mut self, depth: u32) -> Body {
        (0..self.rng.usize(1..4) + depth as usize / 2).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Statement {
        let which = self.rng.usize(..EACH);
        match self.rng.u32(..if depth == 0 { 11 } else { 20 }) {
            0 | 1 => Statement::SetWord(which, self.number(2)),
            2 => Statement::SetByte(which, self.number(2)),
            3 | 4 => Statement::SetFlag(which, self.truth(2)),
            5 => Statement::SetEntry(self.number(1), self.number(2)),
            6 => Statement::Rotate(self.rng.bool()),
            7 => Statement::Write(self.number(2)),
            8 => Statement::SetLane(self.rng.usize(..LANES), self.number(2)),
            9 => Statement::RotateVector(self.truth(2)),
            10 => {
                let exit = match self.rng.u32(..5) {
                    0 => Exit::Return,
                    1 | 2 if self.loops > 0 => Exit::Continue,
                    _ if self.loops > 0 && !self.in_switch => Exit::Break,
                    _ => return Statement::Write(self.number(2)),
                };
                Statement::Leave(self.truth(2), exit)
            }
            11..15 => {
                let otherwise = if self.rng.bool() { self.body(depth - 1) } else { Body::new() };
                Statement::If(self.truth(2), self.body(depth - 1), otherwise)
            }
            15..19 if self.loops < LOOPS => {
                let bound = self.number(1);
                let outside = std::mem::replace(&mut self.in_switch, false);
                self.loops += 1;
                let body = self.body(depth - 1);
                self.loops -= 1;
                self.in_switch = outside;
                Statement::Loop(self.loops, bound, body)
            }
            _ => {
                let outside = std::mem::replace(&mut self.in_switch, true);
                let cases = std::array::from_fn(|_| (self.body(depth - 1), self.rng.bool()));
                self.in_switch = outside;
                Statement::Switch(self.number(1), cases)
            }
        }
    }

    fn number(&mut self, depth: u32) -> Number {
        let which = self.rng.usize(..EACH);
        match self.rng.u32(..if depth == 0 { 6 } else { 12 }) {
            0 => Number::Literal(self.rng.u32(..20)),
            1 if self.rng.bool() => Number::Lane(self.rng.usize(..LANES)),
            1 => Number::Byte(which),
            2 | 3 if self.loops > 0 => Number::Turn(self.rng.usize(..self.loops)),
            2..6 => Number::Word(which),
            6 | 7 => Number::Entry(Box::new(self.number(depth - 1))),
            8 | 9 => {
                let operator = ['+', '-', '*', '^'][self.rng.usize(..4)];
                Number::Of(operator, Box::new([self.number(depth - 1), self.number(depth - 1)]))
            }
            _ => {
                let choices = [self.number(depth - 1), self.number(depth - 1)];
                Number::Choice(Box::new(self.truth(depth - 1)), Box::new(choices))
            }
        }
    }

    fn truth(&mut self, depth: u32) -> Truth {
        match self.rng.u32(..if depth == 0 { 4 } else { 10 }) {
            0 => Truth::Flag(self.rng.usize(..EACH)),
            1 | 2 => Truth::Less(Box::new([self.number(1), self.number(1)])),
            3 => Truth::Even(self.number(1)),
            4 => Truth::Not(Box::new(self.truth(depth - 1))),
            5 | 6 => Truth::Both(Box::new([self.truth(depth - 1), self.truth(depth - 1)])),
            7 | 8 => Truth::Either(Box::new([self.truth(depth - 1), self.truth(depth - 1)])),
            _ => Truth::Choice(Box::new(std::array::from_fn(|_| self.truth(depth - 1)))),
        }
    }
}

fn print(text: &mut String, body: &Body, depth: usize) {
    let indent = "    ".repeat(depth);
    for statement in body {
        let _ = match statement {
            Statement::SetWord(index, number) => writeln!(text, "{indent}w{index} = {};", number.source()),
            Statement::SetByte(index, number) => writeln!(text, "{indent}b{index} = {};", number.source()),
            Statement::SetFlag(index, truth) => writeln!(text, "{indent}f{index} = {};", truth.source()),
            Statement::SetEntry(index, number) => {
                writeln!(text, "{indent}t[({}) & {}] = {};", index.source(), TABLE - 1, number.source())
            }
            Statement::SetLane(lane, number) => {
                writeln!(text, "{indent}v.s{lane} = {};", number.source())
            }
            Statement::RotateVector(truth) => writeln!(text, "{indent}v = {} ? v.yzwx : v;", truth.source()),
            Statement::Write(number) => {
                writeln!(text, "{indent}r[item * {WORDS} + {}] += {};", WORDS - 1, number.source())
            }
            Statement::Rotate(words) => {
                let (ty, name) = if *words { ("uint", 'w') } else { ("bool", 'f') };
                let _ = write!(text, "{indent}{{ {ty} first = {name}0;");
                for index in 1..EACH {
                    let _ = write!(text, " {name}{} = {name}{index};", index - 1);
                }
                writeln!(text, " {name}{} = first; }}", EACH - 1)
            }
            Statement::If(truth, then, otherwise) => {
                let _ = writeln!(text, "{indent}if ({}) {{", truth.source());
                print(text, then, depth + 1);
                if !otherwise.is_empty() {
                    let _ = writeln!(text, "{indent}}} else {{");
                    print(text, otherwise, depth + 1);
                }
                writeln!(text, "{indent}}}")
            }
            Statement::Loop(level, bound, body) => {
                let turn = format!("i{level}");
                let bound = bound.source();
                let _ =
                    writeln!(text, "{indent}for (uint {turn} = 0; {turn} < (({bound}) & 7); ++{turn}) {{");
                print(text, body, depth + 1);
                writeln!(text, "{indent}}}")
            }
            Statement::Switch(number, cases) => {
                let _ = writeln!(text, "{indent}switch (({}) % 5 * {SPREAD}u) {{", number.source());
                for (label, (body, falls)) in cases.iter().enumerate() {
                    let _ = writeln!(text, "{indent}case {}u:", SPREAD.wrapping_mul(label as u32));
                    print(text, body, depth + 1);
                    if !falls {
                        let _ = writeln!(text, "{indent}    break;");
                    }
                }
                writeln!(text, "{indent}}}")
            }
            Statement::Leave(truth, exit) => {
                let exit = match exit {
                    Exit::Break => "break",
                    Exit::Continue => "continue",
                    Exit::Return | Exit::Next => "return",
                };
                writeln!(text, "{indent}if ({}) {exit};", truth.source())
            }
        };
    }
}

impl Number {
    fn source(&self) -> String {
        match self {
            Self::Literal(number) => format!("{number}u"),
            Self::Word(index) => format!("w{index}"),
            Self::Byte(index) => format!("(uint)b{index}"),
            Self::Lane(lane) => format!("v.s{lane}"),
            Self::Turn(level) => format!("i{level}"),
            Self::Entry(index) => format!("(uint)t[({}) & {}]", index.source(), TABLE - 1),
            Self::Of(operator, of) => format!("({} {operator} {})", of[0].source(), of[1].source()),
            Self::Choice(truth, choices) => {
                format!("({} ? {} : {})", truth.source(), choices[0].source(), choices[1].source())
            }
        }
    }
}

impl Truth {
    fn source(&self) -> String {
        match self {
            Self::Flag(index) => format!("f{index}"),
            Self::Less(of) => format!("({} < {})", of[0].source(), of[1].source()),
            Self::Even(number) => format!("(({}) % 2 == 0)", number.source()),
            Self::Not(truth) => format!("!{}", truth.source()),
            Self::Both(of) => format!("({} && {})", of[0].source(), of[1].source()),
            Self::Either(of) => format!("({} || {})", of[0].source(), of[1].source()),
            Self::Choice(of) => format!("({} ? {} : {})", of[0].source(), of[1].source(), of[2].source()),
        }
    }
}

/// A work-item that runs alone.
struct Item {
    words: [u32; EACH],
    bytes: [u8; EACH],
    flags: [bool; EACH],
    turns: [u32; LOOPS],
    table: [u8; TABLE],
    vector: [u32; LANES],
    written: u32,
}

impl Item {
    fn body(&mut self, body: &Body) -> Exit {
        body.iter()
            .map(|statement| self.statement(statement))
            .find(|exit| *exit != Exit::Next)
            .unwrap_or(Exit::Next)
    }

    fn statement(&mut self, statement: &Statement) -> Exit {
        match statement {
            Statement::SetWord(index, number) => self.words[*index] = self.number(number),
            Statement::SetByte(index, number) => self.bytes[*index] = self.number(number) as u8,
            Statement::SetFlag(index, truth) => self.flags[*index] = self.truth(truth),
            Statement::SetEntry(index, number) => {
                self.table[self.number(index) as usize % TABLE] = self.number(number) as u8;
            }
            Statement::SetLane(lane, number) => self.vector[*lane] = self.number(number),
            Statement::RotateVector(truth) => {
                let places = usize::from(self.truth(truth));
                self.vector.rotate_left(places);
            }
            Statement::Write(number) => self.written = self.written.wrapping_add(self.number(number)),
            Statement::Rotate(true) => self.words.rotate_left(1),
            Statement::Rotate(false) => self.flags.rotate_left(1),
            Statement::If(truth, then, otherwise) => {
                return if self.truth(truth) { self.body(then) } else { self.body(otherwise) };
            }
            Statement::Loop(level, bound, body) => {
                self.turns[*level] = 0;
                while self.turns[*level] < self.number(bound) & 7 {
                    match self.body(body) {
                        Exit::Return => return Exit::Return,
                        Exit::Break => break,
                        Exit::Next | Exit::Continue => self.turns[*level] += 1,
                    }
                }
            }
            Statement::Switch(number, cases) => {
                let first = self.number(number) as usize % 5;
                for (body, falls) in cases.iter().skip(first) {
                    let exit = self.body(body);
                    if exit != Exit::Next {
                        return exit;
                    }
                    if !falls {
                        break;
                    }
                }
            }
            Statement::Leave(truth, exit) => {
                if self.truth(truth) {
                    return *exit;
                }
            }
        }
        Exit::Next
    }

    fn number(&self, number: &Number) -> u32 {
        match number {
            Number::Literal(number) => *number,
            Number::Word(index) => self.words[*index],
            Number::Byte(index) => self.bytes[*index].into(),
            Number::Lane(lane) => self.vector[*lane],
            Number::Turn(level) => self.turns[*level],
            Number::Entry(index) => self.table[self.number(index) as usize % TABLE].into(),
            Number::Of(operator, of) => {
                let [a, b] = [self.number(&of[0]), self.number(&of[1])];
                match operator {
                    '+' => a.wrapping_add(b),
                    '-' => a.wrapping_sub(b),
                    '*' => a.wrapping_mul(b),
                    _ => a ^ b,
                }
            }
            Number::Choice(truth, choices) => self.number(&choices[usize::from(!self.truth(truth))]),
        }
    }

    fn truth(&self, truth: &Truth) -> bool {
        match truth {
            Truth::Flag(index) => self.flags[*index],
            Truth::Less(of) => self.number(&of[0]) < self.number(&of[1]),
            Truth::Even(number) => self.number(number).is_multiple_of(2),
            Truth::Not(truth) => !self.truth(truth),
            Truth::Both(of) => self.truth(&of[0]) && self.truth(&of[1]),
            Truth::Either(of) => self.truth(&of[0]) || self.truth(&of[1]),
            Truth::Choice(of) => self.truth(&of[if self.truth(&of[0]) { 1 } else { 2 }]),
        }
    }
}
