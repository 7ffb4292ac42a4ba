//! Finds the first error in a compiler's log.

use tripipe_launch::Text;

/// The first error that a compiler reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// Name of the part of the source that the line is in; `None` for a source in one piece.
    pub part: Option<Box<str>>,
    /// The line of the source, or of its part, 1-based; `None` if the log gives no line.
    pub line: Option<u32>,
    /// The text of that line, trimmed; empty if the line is not known.
    pub text: String,
    /// The message, on one line, without location and severity.
    pub message: String,
}

impl Complaint {
    /// The location and its text in parentheses, as far as they are known: ` (tile.cl, line 3: `x = y;`)`.
    pub(crate) fn location_text(&self) -> String {
        let Some(line) = self.line else { return String::new() };
        let part = self.part.as_ref().map(|part| format!("{part}, ")).unwrap_or_default();
        format!(" ({part}line {line}: `{}`)", self.text)
    }
}

/// The first error in `log`, a compiler's output for `source`; if there is none, the first line of the log.
///
/// Compilers that honour `#line` name the part of the source and the line in it. For the others, the line counts from
/// the start of the whole source.
///
/// Drivers print one of `<place>:3:12: error: ...` (clang, and with it Mali, Adreno, NVIDIA; PoCL puts
/// `error: ` before it), `"file.cl", line 3: error: ...` (AMD's older compiler, and TI's), and
/// `3:12: error` or `(3) error` without a file.
pub(crate) fn first_complaint(log: &str, source: &Text) -> Complaint {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors = || lines().filter(|line| has_error(line));
    // "2 errors generated" and "error: command failed" have no location; lines with a location are preferred.
    let chosen = errors()
        .find(|line| line_number(line).is_some())
        .or_else(|| errors().next())
        .or_else(|| lines().next());
    let Some(chosen) = chosen else {
        return Complaint { message: "the compiler reports no reason".to_owned(), ..Complaint::default() };
    };
    let message = message(chosen).to_owned();
    let found = line_number(chosen).and_then(|line| {
        let at = line as usize;
        let named = source.parts().find(|part| chosen.contains(part.name)).map(|part| (part, at));
        match named.or_else(|| source.locate(at)) {
            Some((part, own)) => {
                let text = part.text.lines().nth(own.checked_sub(1)?)?;
                Some((Some(part.name.into()), u32::try_from(own).ok()?, text))
            }
            // A line number past the end of the source refers to something else, such as the PTX that NVIDIA's
            // assembler reads.
            None => Some((None, line, source.lines().nth(at.checked_sub(1)?)?)),
        }
    });
    match found {
        Some((part, line, text)) => {
            Complaint { part, line: Some(line), text: text.trim().to_owned(), message }
        }
        None => Complaint { message, ..Complaint::default() },
    }
}

fn has_error(line: &str) -> bool {
    find_ignoring_case(line, "error").is_some()
}

fn find_ignoring_case(text: &str, word: &str) -> Option<usize> {
    text.as_bytes().windows(word.len()).position(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

/// The line number in a message, 1-based.
fn line_number(line: &str) -> Option<u32> {
    // `:12:7:`, `:12:7 ` or `:12: `, after a name or at the start. Intel puts the index of the source string first: of
    // three numbers, the second is the line.
    let bytes = line.as_bytes();
    let colons = bytes.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at + 1);
    for start in std::iter::once(0).chain(colons) {
        let numbers: Vec<&str> =
            line[start..].split(':').take_while(|part| !part.is_empty() && is_number(part)).take(3).collect();
        let after = line[start..].get(numbers.iter().map(|number| number.len() + 1).sum()..).unwrap_or("");
        let chosen = match numbers[..] {
            [_, line, _] | [line, _] => Some(line),
            // The column may end with a blank instead of a colon.
            [line] if after.starts_with(|c: char| c == ' ' || c.is_ascii_digit()) => Some(line),
            _ => None,
        };
        if let Some(found) = chosen.and_then(|number| number.parse().ok()).filter(|line| *line > 0) {
            return Some(found);
        }
    }
    let number_after = |word: &str| {
        let at = find_ignoring_case(line, word)? + word.len();
        let digits: String = line[at..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|line| *line > 0)
    };
    number_after("line ").or_else(|| number_after("("))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text after the first `error:`, without a location; the whole line if there is none.
fn message(line: &str) -> &str {
    let Some(at) = find_ignoring_case(line, "error:") else { return line };
    let rest = line[at + "error:".len()..].trim();
    // PoCL: "error: /tmp/file.cl:3:5: message": the location comes after `error:`.
    match line_number(rest) {
        Some(_) if !rest.contains(' ') => line,
        Some(_) => rest.split_once(": ").map_or(rest, |(_, message)| message).trim(),
        None if rest.is_empty() => line,
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "kernel void f(global int *p)\n{\n    p[0] = nothere;\n}\n";

    fn check(log: &str, message: &str) {
        let found = first_complaint(log, &SOURCE.into());
        assert_eq!(found.line, Some(3), "{log}");
        assert_eq!(found.text, "p[0] = nothere;", "{log}");
        assert_eq!(found.message, message, "{log}");
    }

    #[test]
    fn mali_adreno_and_clang() {
        check(
            "<source>:3:12: error: use of undeclared identifier 'nothere'\n    p[0] = nothere;\n           ^\nerror: Compiler frontend failed (error code 59)\n",
            "use of undeclared identifier 'nothere'",
        );
    }

    #[test]
    fn nvidia() {
        check(
            "\n<kernel>:3:12: error: use of undeclared identifier 'nothere'\n",
            "use of undeclared identifier 'nothere'",
        );
    }

    #[test]
    fn pocl() {
        check(
            "1 error generated.\nerror: /home/u/.cache/pocl/kcache/tempfile_AbC.cl:3:12: use of undeclared identifier 'nothere'",
            "use of undeclared identifier 'nothere'",
        );
    }

    #[test]
    fn amd_and_intel() {
        check(
            "\"/tmp/OCL1.cl\", line 3: error: identifier \"nothere\" is undefined",
            "identifier \"nothere\" is undefined",
        );
        check(
            "1:3:12: error: use of undeclared identifier 'nothere'",
            "use of undeclared identifier 'nothere'",
        );
    }

    #[test]
    fn a_warning_before_the_error_does_not_count() {
        check("<source>:1:1: warning: something\n<source>:3:12: error: bad\n", "bad");
    }

    #[test]
    fn logs_without_a_location_and_empty_logs() {
        let found = first_complaint("error: Compiler frontend failed (error code 59)", &SOURCE.into());
        assert_eq!(found.message, "Compiler frontend failed (error code 59)");
        assert_eq!(first_complaint("", &SOURCE.into()).line, None);
        assert!(!first_complaint("", &SOURCE.into()).message.is_empty());
        assert_eq!(
            first_complaint("ptxas fatal: something", &SOURCE.into()).message,
            "ptxas fatal: something"
        );
    }

    #[test]
    fn a_line_the_source_does_not_have_is_not_named() {
        let log = "ptxas application ptx input, line 90; fatal   : Parsing error near '}': syntax error";
        let found = first_complaint(log, &SOURCE.into());
        assert_eq!((found.line, found.text.as_str(), found.message.as_str()), (None, "", log));
    }

    /// With `#line` the log names the part and its own line; without, the line of the whole source: 1 + 2 + 1 + 3 = 7.
    #[test]
    fn a_part_is_named_with_its_own_line() {
        let source = Text::of_parts([("folder/first.cl", "// 1\n// 2\n"), ("second.cl", SOURCE)]);
        let want = Complaint {
            part: Some("second.cl".into()),
            line: Some(3),
            text: "p[0] = nothere;".to_owned(),
            message: "bad".to_owned(),
        };
        for log in [
            "second.cl:3:12: error: bad",
            "error: /tmp/second.cl:3:12: bad",
            "\"second.cl\", line 3: error: bad",
            "<kernel>:7:12: error: bad",
            "1:7:12: error: bad",
        ] {
            assert_eq!(first_complaint(log, &source), want, "{log}");
        }
        let first = first_complaint("folder/first.cl:2:1: error: bad", &source);
        assert_eq!(
            (first.part.as_deref(), first.line, &*first.text),
            (Some("folder/first.cl"), Some(2), "// 2")
        );
    }
}
