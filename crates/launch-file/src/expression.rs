//! Sizes that depend on others, `global = "round_up(width, 16) / PIXELS"`, and conditions, `where = "WG * TILE <= 256"`.

use std::cell::Cell;

use tripipe_device::document::{Item, Number};

use crate::error::{FileError, FileReason};
use crate::options::BuildOptions;

/// More than practical expressions have of parentheses and definitions in each other.
const DEPTH_MAX: usize = 32;
/// More names than practical expressions contain, those in definitions included.
const NAMES_MAX: u32 = 10_000;

/// What the command line sets, which takes precedence over a launch file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Macro definitions, with their values.
    pub defines: Vec<(String, String)>,
    /// Number arguments by name.
    pub numbers: Vec<(String, Number)>,
}

/// The names that sizes can contain: the macros of the build options, and the arguments that are single whole numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Names {
    all: Vec<(String, String)>,
}

impl Names {
    /// The names of a launch file with these options and numbers; of two definitions of a name, the last one counts.
    pub(crate) fn new(
        options: &BuildOptions,
        numbers: impl IntoIterator<Item = (String, Number)>,
        overrides: &Overrides,
    ) -> Self {
        let numbers = numbers.into_iter().chain(overrides.numbers.iter().cloned());
        let numbers = numbers.map(|(name, number)| (name, number.to_string()));
        let defines = options.defines.iter().chain(&overrides.defines).cloned();
        Self { all: numbers.chain(defines).collect() }
    }

    /// Another value of a macro, until [`Self::pop`].
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        self.all.push((name.to_owned(), value.to_owned()));
    }

    /// Takes the value of the last [`Self::push`] back.
    pub(crate) fn pop(&mut self) {
        self.all.pop();
    }

    /// What a name stands for.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.all.iter().rev().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a condition holds: its value is not 0.
    pub(crate) fn holds(&self, text: &str) -> Result<bool, String> {
        Ok(self.value(text)? != 0)
    }

    /// A whole number of at least `least`: written as such, or as an expression in a string.
    pub(crate) fn whole(&self, item: &Item<'_>, least: usize) -> Result<usize, FileError> {
        let Some(text) = item.as_string() else { return Ok(item.whole(&(least..=usize::MAX))?) };
        let value = self.value(text).and_then(|value| {
            let size = usize::try_from(value).ok().filter(|size| *size >= least);
            size.ok_or_else(|| format!("it is {value}, want from {least} to {}", usize::MAX))
        });
        value.map_err(|reason| FileError {
            file: item.file().to_owned(),
            location: item.location(),
            reason: Box::new(FileReason::Expression { text: text.to_owned(), reason }),
        })
    }

    fn value(&self, text: &str) -> Result<i128, String> {
        self.part(text, 0, &Cell::new(NAMES_MAX))
    }

    /// The value of an expression, or of a name's definition in one; `left` counts the names that it may still contain.
    fn part(&self, text: &str, depth: usize, left: &Cell<u32>) -> Result<i128, String> {
        if depth > DEPTH_MAX {
            return Err("too many definitions or parentheses in each other".to_owned());
        }
        let mut parser = Parser { names: self, left, rest: text.trim_start(), depth, skipping: 0 };
        let value = parser.either()?;
        if parser.rest.is_empty() {
            Ok(value)
        } else {
            Err(format!("`{}` is not expected there", parser.rest))
        }
    }
}

/// A parser by recursive descent.
struct Parser<'n, 't> {
    names: &'n Names,
    left: &'n Cell<u32>,
    rest: &'t str,
    depth: usize,
    /// How many `&&` and `||` around this place have their value already, so that what is wrong here does not matter.
    skipping: usize,
}

type Compare = fn(&i128, &i128) -> bool;

/// Comparisons, those that begin with another one first.
const COMPARISONS: [(&str, Compare); 6] = [
    ("==", i128::eq),
    ("!=", i128::ne),
    ("<=", i128::le),
    (">=", i128::ge),
    ("<", i128::lt),
    (">", i128::gt),
];

/// An operator, and why it may have no result.
type Operator = (&'static str, fn(i128, i128) -> Option<i128>, &'static str);

const TOO_LARGE: &str = "a number of more than 127 bits";
const BY_ZERO: &str = "a division by 0";
const SUMS: [Operator; 2] = [("+", i128::checked_add, TOO_LARGE), ("-", i128::checked_sub, TOO_LARGE)];
const PRODUCTS: [Operator; 3] = [
    ("*", i128::checked_mul, TOO_LARGE),
    ("/", i128::checked_div, BY_ZERO),
    ("%", i128::checked_rem, BY_ZERO),
];

impl<'t> Parser<'_, 't> {
    /// Takes a token if it is next.
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }

    /// Takes the characters of a number or a name; empty if there are none.
    fn word(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        word
    }

    /// Conditions with `||`; the value of a condition is 0 or 1.
    fn either(&mut self) -> Result<i128, String> {
        let mut value = self.both()?;
        while self.take("||") {
            let other = self.skipping_if(value != 0, Self::both)?;
            value = i128::from(value != 0 || other != 0);
        }
        Ok(value)
    }

    fn both(&mut self) -> Result<i128, String> {
        let mut value = self.comparison()?;
        while self.take("&&") {
            let other = self.skipping_if(value == 0, Self::comparison)?;
            value = i128::from(value != 0 && other != 0);
        }
        Ok(value)
    }

    /// Reads the rest of a condition; as in C, it has no value if the value of the whole is decided.
    fn skipping_if(
        &mut self,
        decided: bool,
        read: impl FnOnce(&mut Self) -> Result<i128, String>,
    ) -> Result<i128, String> {
        self.skipping += usize::from(decided);
        let value = read(self);
        self.skipping -= usize::from(decided);
        value
    }

    fn comparison(&mut self) -> Result<i128, String> {
        if let Some(same) = self.same_text() {
            return Ok(same.into());
        }
        let value = self.sum()?;
        for (sign, compare) in COMPARISONS {
            if self.take(sign) {
                return Ok(compare(&value, &self.sum()?).into());
            }
        }
        Ok(value)
    }

    /// `NAME == "text"` and `NAME != "text"`, for macros that are no numbers.
    fn same_text(&mut self) -> Option<bool> {
        let before = self.rest;
        let text = self.names.text(self.word());
        let equal = self.take("==");
        if equal || self.take("!=") {
            let quoted = self.rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            if let (Some(text), Some((want, rest))) = (text, quoted) {
                self.rest = rest.trim_start();
                return Some((text == want) == equal);
            }
        }
        self.rest = before;
        None
    }

    /// Operands with operators of one precedence between them.
    fn chain(
        &mut self,
        operators: &[Operator],
        operand: fn(&mut Self) -> Result<i128, String>,
    ) -> Result<i128, String> {
        let mut value = operand(self)?;
        while let Some((_, of, reason)) = operators.iter().find(|(sign, ..)| self.take(sign)) {
            let result = of(value, operand(self)?);
            value = self.known(result, reason)?;
        }
        Ok(value)
    }

    /// A result; what is skipped needs none.
    fn known(&self, value: Option<i128>, reason: &str) -> Result<i128, String> {
        value.or((self.skipping > 0).then_some(0)).ok_or_else(|| reason.to_owned())
    }

    fn sum(&mut self) -> Result<i128, String> {
        self.chain(&SUMS, |parser| parser.chain(&PRODUCTS, Self::operand))
    }

    fn operand(&mut self) -> Result<i128, String> {
        if self.depth > DEPTH_MAX {
            return Err("too many definitions or parentheses in each other".to_owned());
        }
        if self.take("(") {
            return self.nested();
        }
        if self.take("-") {
            return self.deeper(Self::operand).and_then(|value| self.known(value.checked_neg(), TOO_LARGE));
        }
        if self.take("!") {
            return self.deeper(Self::operand).map(|value| i128::from(value == 0));
        }
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
            let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
                Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16),
                None => digits.parse(),
            };
            return value.map_err(|_| format!("`{word}` is not a whole number"));
        }
        if word.is_empty() {
            return Err(match self.rest {
                "" => "it ends too early".to_owned(),
                rest => format!("`{rest}` is not expected there"),
            });
        }
        if self.take("(") {
            return self.function(word);
        }
        let found = self.names.all.iter().rev().find(|(name, _)| name == word);
        let Some((_, text)) = found else {
            return Err(format!(
                "`{word}` is neither a macro of the options (-D) nor a named argument that is a whole number"
            ));
        };
        self.left.set(self.left.get().checked_sub(1).ok_or("too many names")?);
        self.names
            .part(text, self.depth + 1, self.left)
            .map_err(|reason| format!("`{word}` is `{text}`: {reason}"))
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<i128, String>) -> Result<i128, String> {
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// The rest of an expression in parentheses.
    fn nested(&mut self) -> Result<i128, String> {
        let value = self.deeper(Self::either)?;
        if self.take(")") { Ok(value) } else { Err("a `)` is missing".to_owned()) }
    }

    /// The rest of a function of two numbers.
    fn function(&mut self, name: &str) -> Result<i128, String> {
        let a = self.deeper(Self::either)?;
        if !self.take(",") {
            return Err(format!("`{name}` takes two numbers"));
        }
        let b = self.deeper(Self::either)?;
        if !self.take(")") {
            return Err("a `)` is missing".to_owned());
        }
        match name {
            "min" => Ok(a.min(b)),
            "max" => Ok(a.max(b)),
            "div_up" | "round_up" if b <= 0 && self.skipping > 0 => Ok(0),
            "div_up" | "round_up" if b <= 0 => Err(format!("`{name}` by {b}")),
            "div_up" => self.known(a.checked_add(b - 1), TOO_LARGE).map(|all| all.div_euclid(b)),
            "round_up" => self.known(a.checked_add(b - 1), TOO_LARGE).map(|all| all - all.rem_euclid(b)),
            _ => Err(format!("`{name}` is not known; there are min, max, div_up and round_up")),
        }
    }
}

/// The names in an expression, without those of functions and what is quoted.
pub(crate) fn names_in(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = Vec::new();
    // What stands at odd places is between quotes.
    for mut rest in text.split('"').step_by(2) {
        while let Some(start) = rest.find(is_part) {
            let word = &rest[start..];
            let (word, after) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
            rest = after;
            if !word.starts_with(|c: char| c.is_ascii_digit()) && !after.trim_start().starts_with('(') {
                names.push(word);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i128, String> {
        let options =
            BuildOptions::parse("-D WG=64 -D PIXELS=(WG/16) -D T=float -D A=B -D B=A -D WG=128").unwrap();
        let numbers = [("width".to_owned(), Number::Integer(1000)), ("f".to_owned(), Number::Float(0.5))];
        let overrides =
            Overrides { defines: Vec::new(), numbers: vec![("height".to_owned(), Number::Integer(480))] };
        Names::new(&options, numbers, &overrides).value(text)
    }

    #[test]
    fn arithmetic_is_that_of_c() {
        for (text, want) in [
            ("65536 / 64 * 256", 262_144),
            ("1024*WG", 131_072),
            ("width - 2 * (PIXELS + 1)", 982),
            ("-7 / 2 + 7 % 4", 0),
            (" 0x10 + 2u ", 18),
            ("round_up(width, 16) / div_up(width, 999)", 504),
            ("min(width, height) + max(1, -(3))", 481),
            ("WG > 64 && width % 3 == 1", 1),
            ("WG < 64 || !(width >= 1000) || 1 != 1", 0),
            ("1 + 2 == 3 && 3 <= 3 && 2 > 1", 1),
            ("!0 + !5 + (WG == 128) * 4", 5),
            ("T == \"float\" && T != \"float4\"", 1),
            ("WG == 128 || 7 / (WG - 128) == 1", 1),
            ("0 && 1 / 0 == 1 || max(2, 0 && 5 % 0)", 1),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn names_are_found_outside_of_functions_and_quotes() {
        let found = names_in("WG2*x_1 <= max(TILE, 0x10) && TYPE != \"a b\" || !w");
        assert_eq!(found, ["WG2", "x_1", "TILE", "TYPE", "w"]);
    }

    #[test]
    fn what_is_not_an_expression_says_why() {
        for (text, words) in [
            ("", "ends too early"),
            ("WG *", "ends too early"),
            ("WG 2", "`2` is not expected"),
            ("(WG", "`)` is missing"),
            ("depth", "`depth` is neither a macro"),
            ("T", "`T` is `float`"),
            ("f", "`0.5`"),
            ("A", "in each other"),
            ("1 / (WG - 128)", "division by 0"),
            ("round_up(WG, 0)", "by 0"),
            ("pow(2, 3)", "there are min, max"),
            ("min(2)", "two numbers"),
            ("99999999999999999999 * 99999999999999999999", "127 bits"),
            ("12ab", "`12ab`"),
            ("WG &&", "ends too early"),
            ("0 && depth", "`depth` is neither a macro"),
            ("WG & 3", "`& 3` is not expected"),
            ("1 < 2 < 3", "`< 3` is not expected"),
            ("T == \"float", "`T` is `float`"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let doubled: Vec<String> = (0..30).map(|level| format!("-D D{level}=D{0}+D{0}", level + 1)).collect();
        let options = BuildOptions::parse(&format!("{} -D D30=1", doubled.join(" "))).unwrap();
        let names = Names::new(&options, [], &Overrides::default());
        assert_eq!(names.value("D28"), Ok(4));
        assert!(names.value("D0").unwrap_err().ends_with("too many names"));
        assert!(value(&"(".repeat(100_000)).is_err());
        assert!(value(&"-".repeat(100_000)).is_err());
    }
}
