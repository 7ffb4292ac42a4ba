//! Conditions of `#if`: integer expressions over macros.

/// The value of an expression; `None` when it depends on the compiler.
pub(super) type ConditionValue = Option<i64>;

/// The depth to which macros and parentheses nest at most.
const DEPTH_MAX: usize = 64;

/// Evaluates a condition. `defined` says whether a macro is defined, `None` for one of the compiler's own; `lookup`
/// gives the text of a macro, `Some(None)` for one with parameters. As in C, other names are 0.
///
/// # Errors
/// What is wrong, in a few words.
pub(super) fn evaluate<'m>(
    condition: &str,
    defined: &dyn Fn(&str) -> Option<bool>,
    lookup: &dyn Fn(&str) -> Option<&'m Option<String>>,
) -> Result<ConditionValue, String> {
    Evaluation { defined, lookup, depth: 0 }.text(condition)
}

struct Evaluation<'e, 'm> {
    defined: &'e dyn Fn(&str) -> Option<bool>,
    lookup: &'e dyn Fn(&str) -> Option<&'m Option<String>>,
    depth: usize,
}

/// Binary operators by precedence, from the weakest.
const OPERATORS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Evaluation<'_, '_> {
    fn text(&self, text: &str) -> Result<ConditionValue, String> {
        if self.depth > DEPTH_MAX {
            return Err("macros that nest too deeply".to_owned());
        }
        let tokens = tokens(text)?;
        let mut rest = &tokens[..];
        let value = self.ternary(&mut rest)?;
        match rest.first() {
            None => Ok(value),
            Some(token) => Err(format!("an unexpected `{token}`")),
        }
    }

    fn ternary(&self, rest: &mut &[&str]) -> Result<ConditionValue, String> {
        let condition = self.binary(rest, 0)?;
        if !take(rest, "?") {
            return Ok(condition);
        }
        let yes = self.deeper()?.ternary(rest)?;
        if !take(rest, ":") {
            return Err("a `?` without `:`".to_owned());
        }
        let no = self.deeper()?.ternary(rest)?;
        Ok(condition.and_then(|condition| if condition != 0 { yes } else { no }))
    }

    fn binary(&self, rest: &mut &[&str], level: usize) -> Result<ConditionValue, String> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary(rest) };
        let mut left = self.binary(rest, level + 1)?;
        while let Some(operator) = rest.first().copied().filter(|token| operators.contains(token)) {
            *rest = &rest[1..];
            let right = self.binary(rest, level + 1)?;
            left = apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn unary(&self, rest: &mut &[&str]) -> Result<ConditionValue, String> {
        let Some((token, after)) = rest.split_first() else {
            return Err("an incomplete expression".to_owned());
        };
        *rest = after;
        match *token {
            "!" => Ok(self.deeper()?.unary(rest)?.map(|value| i64::from(value == 0))),
            "-" => Ok(self.deeper()?.unary(rest)?.map(i64::wrapping_neg)),
            "+" => self.deeper()?.unary(rest),
            "~" => Ok(self.deeper()?.unary(rest)?.map(|value| !value)),
            "(" => {
                let value = self.deeper()?.ternary(rest)?;
                if take(rest, ")") { Ok(value) } else { Err("a missing `)`".to_owned()) }
            }
            "defined" => {
                let open = take(rest, "(");
                let Some((name, after)) = rest.split_first() else {
                    return Err("`defined` without a name".to_owned());
                };
                *rest = after;
                if open && !take(rest, ")") {
                    return Err("a missing `)`".to_owned());
                }
                Ok((self.defined)(name).map(i64::from))
            }
            token if token.starts_with(|c: char| c.is_ascii_digit()) => number(token).map(Some),
            token if token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                match (self.lookup)(token) {
                    Some(Some(text)) => self.deeper()?.text(text),
                    Some(None) => Err(format!("`{token}`, a macro with parameters,")),
                    None if (self.defined)(token).is_none() => Ok(None),
                    None => Ok(Some(0)),
                }
            }
            token => Err(format!("an unexpected `{token}`")),
        }
    }

    fn deeper(&self) -> Result<Self, String> {
        if self.depth > DEPTH_MAX {
            return Err("an expression that nests too deeply".to_owned());
        }
        Ok(Self { depth: self.depth + 1, ..*self })
    }
}

fn take(rest: &mut &[&str], token: &str) -> bool {
    let is = rest.first() == Some(&token);
    if is {
        *rest = &rest[1..];
    }
    is
}

/// An operation. `0 && x` is 0 and `1 || x` is 1, whatever x depends on.
fn apply(operator: &str, left: ConditionValue, right: ConditionValue) -> Result<ConditionValue, String> {
    match operator {
        "&&" if left == Some(0) || right == Some(0) => return Ok(Some(0)),
        "||" if [left, right].into_iter().flatten().any(|value| value != 0) => return Ok(Some(1)),
        _ => {}
    }
    let (Some(a), Some(b)) = (left, right) else { return Ok(None) };
    let shift = |b: i64| u32::try_from(b).ok().filter(|b| *b < 64).ok_or("a shift by too many bits");
    let value = match operator {
        "||" => i64::from(a != 0 || b != 0),
        "&&" => i64::from(a != 0 && b != 0),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => i64::from(a == b),
        "!=" => i64::from(a != b),
        "<=" => i64::from(a <= b),
        ">=" => i64::from(a >= b),
        "<" => i64::from(a < b),
        ">" => i64::from(a > b),
        "<<" => a.wrapping_shl(shift(b)?),
        ">>" => a.wrapping_shr(shift(b)?),
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if b != 0 => a.wrapping_div(b),
        "%" if b != 0 => a.wrapping_rem(b),
        _ => return Err("a division by 0".to_owned()),
    };
    Ok(Some(value))
}

fn number(token: &str) -> Result<i64, String> {
    let digits = token.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    i64::from_str_radix(digits, radix).map_err(|_| format!("`{token}`, which is not a whole number,"))
}

fn tokens(text: &str) -> Result<Vec<&str>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c: char| !is_word(c) && c != '.').unwrap_or(rest.len())
        } else if let Some(two) = rest.get(..2).filter(|two| OPERATORS.concat().contains(two)) {
            two.len()
        } else if "!~+-*/%<>&|^()?:".contains(first) {
            1
        } else {
            return Err(format!("an unexpected `{first}`"));
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<ConditionValue, String> {
        let four = Some("(TWO * 2)".to_owned());
        let two = Some("2".to_owned());
        let again = Some("AGAIN".to_owned());
        let with_parameters = None;
        let lookup = |name: &str| match name {
            "FOUR" => Some(&four),
            "TWO" => Some(&two),
            "AGAIN" => Some(&again),
            "F" => Some(&with_parameters),
            _ => None,
        };
        let defined = |name: &str| (!name.starts_with("__")).then(|| ["FOUR", "TWO", "F"].contains(&name));
        evaluate(text, &defined, &lookup)
    }

    /// By hand, as C defines them.
    #[test]
    fn expressions_have_the_values_of_c() {
        for (text, want) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3 - -1", 10),
            ("FOUR == 4 && TWO != 3", 1),
            ("7 / TWO % 2 << 3", 8),
            ("1 || 0 && 0", 1),
            ("!defined(FOUR) + defined NOTHERE", 0),
            ("FOUR > 3 ? 10 : 20", 10),
            ("0x1F & ~1", 30),
            ("010 ^ 1u", 9),
            ("-7 / 2", -3),
            ("UNKNOWN", 0),
            ("5 - 3 - 1", 1),
            ("2 < 3 == 1", 1),
        ] {
            assert_eq!(of(text), Ok(Some(want)), "{text}");
        }
    }

    #[test]
    fn the_compilers_macros_are_not_known() {
        assert_eq!(of("defined(__x)"), Ok(None));
        assert_eq!(of("__x + 1"), Ok(None));
        assert_eq!(of("0 && defined(__x)"), Ok(Some(0)));
        assert_eq!(of("__x || TWO"), Ok(Some(1)));
        assert_eq!(of("1 && !__x"), Ok(None));
    }

    #[test]
    fn invalid_expressions_are_rejected() {
        let nested = "(".repeat(100_000);
        for text in [
            "",
            "1 +",
            "(1",
            "1 2",
            "1 / 0",
            "1 % (2 - 2)",
            "F(1)",
            "AGAIN",
            "1 ? 2",
            "\"a\"",
            "1.5",
            "defined",
            "1 << 64",
            &nested,
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
