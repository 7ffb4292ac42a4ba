//! Expressions of counters: sums, products, `min` and `max` of names and numbers.

use std::fmt;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Name(String),
    /// An operator: `+`, `-`, `*`, `/`.
    Binary(char, Box<[Self; 2]>),
    Most(Vec<Self>),
    Least(Vec<Self>),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// Not an expression.
    #[error("`{text}`: expected {expected} at character {at}")]
    Syntax {
        /// The text.
        text: String,
        /// What should have been there.
        expected: &'static str,
        /// Position from 1.
        at: usize,
    },
    /// A name without a value.
    #[error("{name} has no value")]
    Unknown {
        /// The name.
        name: String,
    },
    /// A division by zero.
    #[error("{divisor} is 0")]
    Zero {
        /// What is zero.
        divisor: String,
    },
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, name: &str, all: &[Self]| {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            write!(f, "{name}({})", all.join(", "))
        };
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
            // Always in parentheses, so that nothing depends on precedence.
            Self::Binary(operator, sides) => write!(f, "({} {operator} {})", sides[0], sides[1]),
            Self::Most(all) => list(f, "max", all),
            Self::Least(all) => list(f, "min", all),
        }
    }
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// [`ExpressionError::Syntax`].
    pub(crate) fn read(text: &str) -> Result<Self, ExpressionError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let expression = reader.sum()?;
        if reader.next().is_some() { Err(reader.expected("an operator or the end")) } else { Ok(expression) }
    }

    /// Its value; `value` returns that of a name.
    ///
    /// # Errors
    /// [`ExpressionError::Unknown`], [`ExpressionError::Zero`], and those of `value`.
    pub(crate) fn value(
        &self,
        value: &mut dyn FnMut(&str) -> Result<f64, ExpressionError>,
    ) -> Result<f64, ExpressionError> {
        let mut best = |all: &[Self], pick: fn(f64, f64) -> f64| {
            let mut values = all.iter().map(|each| each.value(value));
            // `read` accepts no empty list.
            let first = values.next().unwrap_or(Ok(0.0))?;
            values.try_fold(first, |best, each| Ok(pick(best, each?)))
        };
        match self {
            Self::Number(number) => Ok(*number),
            Self::Most(all) => best(all, f64::max),
            Self::Least(all) => best(all, f64::min),
            Self::Name(name) => value(name),
            Self::Binary(operator, sides) => {
                let (left, right) = (sides[0].value(value)?, sides[1].value(value)?);
                match operator {
                    '+' => Ok(left + right),
                    '-' => Ok(left - right),
                    '*' => Ok(left * right),
                    // An infinite counter would look like a value.
                    _ if right == 0.0 => Err(ExpressionError::Zero { divisor: sides[1].to_string() }),
                    _ => Ok(left / right),
                }
            }
        }
    }
}

/// Nested parentheses, at most.
const DEPTH: usize = 32;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    /// The next character that is not a space.
    fn next(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let found = self.next() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expected(&self, expected: &'static str) -> ExpressionError {
        ExpressionError::Syntax { text: self.text.to_owned(), expected, at: self.at + 1 }
    }

    fn sum(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.product()?;
        while let Some(operator @ ('+' | '-')) = self.next() {
            // Operators are ASCII: one byte.
            self.at += 1;
            left = Expression::Binary(operator, Box::new([left, self.product()?]));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.factor()?;
        while let Some(operator @ ('*' | '/')) = self.next() {
            self.at += 1;
            left = Expression::Binary(operator, Box::new([left, self.factor()?]));
        }
        Ok(left)
    }

    /// What is in parentheses, behind the first one.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        // Each level is a call of this function, and a file must not exhaust the stack.
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.expected("fewer parentheses"));
        }
        let inner = read(self)?;
        self.depth -= 1;
        if self.takes(')') { Ok(inner) } else { Err(self.expected("`)`")) }
    }

    fn factor(&mut self) -> Result<Expression, ExpressionError> {
        if self.takes('(') {
            return self.nested(Self::sum);
        }
        let first = self.next().ok_or_else(|| self.expected("a name or a number"))?;
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        // Numbers and names consist of the same characters, so the first one decides.
        if first.is_ascii_digit() {
            let number = word.parse().map_err(|_| self.expected("a number"))?;
            self.at += length;
            return Ok(Expression::Number(number));
        }
        if length == 0 {
            return Err(self.expected("a name or a number"));
        }
        self.at += length;
        // Without a parenthesis, `max` and `min` are names like any other.
        if matches!(word, "max" | "min") && self.takes('(') {
            let all = self.nested(|inner| {
                let mut all = vec![inner.sum()?];
                while inner.takes(',') {
                    all.push(inner.sum()?);
                }
                Ok(all)
            })?;
            return Ok(if word == "max" { Expression::Most(all) } else { Expression::Least(all) });
        }
        Ok(Expression::Name(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Expression, ExpressionError};

    fn value(text: &str) -> Result<f64, ExpressionError> {
        Expression::read(text)?.value(&mut |name| match name {
            "a" => Ok(6.0),
            "b" => Ok(0.0),
            _ => Err(ExpressionError::Unknown { name: name.to_owned() }),
        })
    }

    #[test]
    fn values_are_those_of_arithmetic() {
        for (text, want) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("12 / a / 2", 1.0),
            ("max(a, 7, 2) + min(a, 7)", 13.0),
            ("max((a * 4) - b, 1)", 24.0),
            ("0.5*a", 3.0),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn errors_name_the_cause() {
        assert_eq!(value("a / b").unwrap_err().to_string(), "b is 0");
        assert_eq!(value("a + c").unwrap_err().to_string(), "c has no value");
        for text in ["", "a +", "(a", "a b", "1.2.3", "max(a", "a $ b", "é"] {
            assert!(matches!(value(text), Err(ExpressionError::Syntax { .. })), "{text}");
        }
        for open in ["(", "max(", "min(1, "] {
            assert!(value(&open.repeat(100_000)).is_err(), "{open}");
        }
    }
}
