//! Sizes that depend on others: `global = "round_up(width, 16) / PIXELS"`.

use std::cell::Cell;

use tripipe_device::document::{Item, Number};

use crate::error::{FileError, FileReason};
use crate::options::BuildOptions;

/// More than practical expressions have of parentheses and definitions in each other.
const DEPTH_MAX: usize = 32;
/// More names than practical expressions contain, those in definitions included.
const NAMES_MAX: u32 = 10_000;

/// What the command line sets, which takes precedence over a launch file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Macro definitions, with their values.
    pub defines: Vec<(String, String)>,
    /// Number arguments by name.
    pub numbers: Vec<(String, Number)>,
}

/// The names that sizes can contain: the macros of the build options, and the arguments that are single whole numbers.
pub(crate) struct Names {
    all: Vec<(String, String)>,
    /// How many more names the current expression may contain.
    left: Cell<u32>,
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
        Self { all: numbers.chain(defines).collect(), left: Cell::new(NAMES_MAX) }
    }

    /// A whole number of at least `least`: written as such, or as an expression in a string.
    pub(crate) fn whole(&self, item: &Item<'_>, least: usize) -> Result<usize, FileError> {
        let Some(text) = item.as_string() else { return Ok(item.whole(&(least..=usize::MAX))?) };
        self.left.set(NAMES_MAX);
        let value = self.value(text, 0).and_then(|value| {
            let size = usize::try_from(value).ok().filter(|size| *size >= least);
            size.ok_or_else(|| format!("it is {value}, want from {least} to {}", usize::MAX))
        });
        value.map_err(|reason| FileError {
            file: item.file().to_owned(),
            location: item.location(),
            reason: Box::new(FileReason::Expression { text: text.to_owned(), reason }),
        })
    }

    fn value(&self, text: &str, depth: usize) -> Result<i128, String> {
        if depth > DEPTH_MAX {
            return Err("too many definitions or parentheses in each other".to_owned());
        }
        let mut parser = Parser { names: self, rest: text.trim_start(), depth };
        let value = parser.sum()?;
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
    rest: &'t str,
    depth: usize,
}

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

    fn sum(&mut self) -> Result<i128, String> {
        let mut value = self.product()?;
        loop {
            value = if self.take("+") {
                checked(value.checked_add(self.product()?))?
            } else if self.take("-") {
                checked(value.checked_sub(self.product()?))?
            } else {
                return Ok(value);
            };
        }
    }

    fn product(&mut self) -> Result<i128, String> {
        let mut value = self.operand()?;
        loop {
            value = if self.take("*") {
                checked(value.checked_mul(self.operand()?))?
            } else if self.take("/") {
                divided(value.checked_div(self.operand()?))?
            } else if self.take("%") {
                divided(value.checked_rem(self.operand()?))?
            } else {
                return Ok(value);
            };
        }
    }

    fn operand(&mut self) -> Result<i128, String> {
        if self.depth > DEPTH_MAX {
            return Err("too many definitions or parentheses in each other".to_owned());
        }
        if self.take("(") {
            return self.nested();
        }
        if self.take("-") {
            self.depth += 1;
            let value = self.operand()?;
            self.depth -= 1;
            return checked(value.checked_neg());
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
        self.names.left.set(self.names.left.get().checked_sub(1).ok_or("too many names")?);
        self.names.value(text, self.depth + 1).map_err(|reason| format!("`{word}` is `{text}`: {reason}"))
    }

    /// The rest of a sum in parentheses.
    fn nested(&mut self) -> Result<i128, String> {
        self.depth += 1;
        let value = self.sum()?;
        self.depth -= 1;
        if self.take(")") { Ok(value) } else { Err("a `)` is missing".to_owned()) }
    }

    /// The rest of a function of two numbers.
    fn function(&mut self, name: &str) -> Result<i128, String> {
        self.depth += 1;
        let a = self.sum()?;
        if !self.take(",") {
            return Err(format!("`{name}` takes two numbers"));
        }
        let b = self.sum()?;
        self.depth -= 1;
        if !self.take(")") {
            return Err("a `)` is missing".to_owned());
        }
        match name {
            "min" => Ok(a.min(b)),
            "max" => Ok(a.max(b)),
            "div_up" | "round_up" if b <= 0 => Err(format!("`{name}` by {b}")),
            "div_up" => checked(a.checked_add(b - 1)).map(|all| all.div_euclid(b)),
            "round_up" => checked(a.checked_add(b - 1)).map(|all| all - all.rem_euclid(b)),
            _ => Err(format!("`{name}` is not known; there are min, max, div_up and round_up")),
        }
    }
}

fn checked(value: Option<i128>) -> Result<i128, String> {
    value.ok_or_else(|| "a number of more than 127 bits".to_owned())
}

fn divided(value: Option<i128>) -> Result<i128, String> {
    value.ok_or_else(|| "a division by 0".to_owned())
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
        Names::new(&options, numbers, &overrides).value(text, 0)
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
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
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
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let doubled: Vec<String> = (0..30).map(|level| format!("-D D{level}=D{0}+D{0}", level + 1)).collect();
        let options = BuildOptions::parse(&format!("{} -D D30=1", doubled.join(" "))).unwrap();
        let names = Names::new(&options, [], &Overrides::default());
        assert_eq!(names.value("D28", 0), Ok(4));
        names.left.set(NAMES_MAX);
        assert!(names.value("D0", 0).unwrap_err().ends_with("too many names"));
        assert!(value(&"(".repeat(100_000)).is_err());
        assert!(value(&"-".repeat(100_000)).is_err());
    }
}
