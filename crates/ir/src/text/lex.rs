//! Words, numbers, strings and punctuation of the text form.

use std::fmt;

/// A piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, a number, an entity: anything without spaces or punctuation.
    Word(&'a str),
    /// A string without its quotes, escapes unresolved.
    Text(&'a str),
    /// One of `( ) [ ] { } , : = *`.
    Sign(char),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

/// The description of an unexpected token.
pub(super) fn describe_token(token: Option<Token<'_>>) -> String {
    token.map_or_else(|| "the end of the line".to_owned(), |token| token.to_string())
}

/// The tokens of a line; `None` if a string is not closed.
pub(super) fn tokens(line: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            let end = closing(&rest[1..])?;
            tokens.push(Token::Text(&rest[1..=end]));
            end + 2
        } else if is_sign(first) {
            tokens.push(Token::Sign(first));
            1
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || c == '"' || is_sign(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            end
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

fn is_sign(c: char) -> bool {
    "()[]{},:=*".contains(c)
}

/// Position of the closing quote.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(position, c)| {
        let end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        end.then_some(position)
    })
}

/// A string with its escapes resolved; `None` for an invalid escape.
pub(super) fn unquoted(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next()? {
            c @ ('"' | '\\') => plain.push(c),
            '{' => {
                let digits: String = rest.by_ref().take_while(|c| *c != '}').collect();
                plain.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            _ => return None,
        }
    }
    Some(plain)
}
