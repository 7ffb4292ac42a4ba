//! The components `sg` to `sv`, the upper half of a vector of 32, which clang does not name.
//!
//! They are renamed to names of the same length, so that columns stay correct: `.sg` becomes `.$g`, which
//! `extensions.h` turns into `.hi.s0`. A macro `sg` would not work: it is a plausible name for a variable, and kernels
//! use both.

/// The extension with vectors of 32, by which a text that uses them is recognised.
pub(super) const EXTENSION: &str = "cl_qcom_extra_vector_types";

/// The text with those components renamed, except in comments and strings. A text that does not name the extension is
/// returned unchanged.
pub(super) fn renamed(text: &str) -> String {
    if !text.contains(EXTENSION) {
        return text.to_owned();
    }
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, component) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), false),
            '"' | '\'' => (quoted(rest, first), false),
            '.' => {
                let gap = rest[1..].len() - rest[1..].trim_start().len();
                (1 + gap, is_component(&rest[1 + gap..]))
            }
            _ => (first.len_utf8(), false),
        };
        let (token, behind) = rest.split_at(length);
        renamed.push_str(token);
        rest = behind;
        if component {
            renamed.push('$');
            rest = &rest[1..];
        }
    }
    renamed
}

/// Bytes of a string or character literal; one that is not closed ends at the end of its line.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '\n' if !escaped => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a text starts with the name of one of these components.
fn is_component(text: &str) -> bool {
    let mut letters = text.chars();
    let named =
        letters.next() == Some('s') && letters.next().is_some_and(|letter| matches!(letter, 'g'..='v'));
    named && !letters.next().is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::{EXTENSION, renamed};

    #[test]
    fn components_alone_are_renamed() {
        for (text, wanted) in [
            ("v.sg = w.sv + sv;", "v.$g = w.$v + sv;"),
            ("v.\n  sg", "v.\n  $g"),
            ("v.hi.sf + v.s0 + v.sw + v.sgh + v.start", "v.hi.sf + v.s0 + v.sw + v.sgh + v.start"),
            ("a // it's .sg\n.sh /* .sh ' */ .si", "a // it's .sg\n.$h /* .sh ' */ .$i"),
            (r#"printf("\".sg"), '"', v.sk"#, r#"printf("\".sg"), '"', v.$k"#),
            ("é.sl \"never closed .sg\n.sm", "é.$l \"never closed .sg\n.$m"),
            ("ends with .", "ends with ."),
            ("ends with .s", "ends with .s"),
            ("/* not closed .sg", "/* not closed .sg"),
        ] {
            let named = format!("// {EXTENSION}\n{text}");
            assert_eq!(renamed(&named), format!("// {EXTENSION}\n{wanted}"));
            assert_eq!(renamed(text), text, "without the extension");
        }
    }
}
