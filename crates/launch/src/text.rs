//! OpenCL C text in one or several parts.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// OpenCL C that is compiled as one text and consists of one or several parts.
///
/// Dereferences to the text for the compiler. Each named part in it follows a `#line 1 "NAME"`, so that compilers and
/// debug information name the part and its own line. For compilers that ignore `#line`, [`Self::locate`] finds the part.
/// Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Text {
    whole: Arc<str>,
    /// Empty for a text that was given as one.
    parts: Arc<[Span]>,
}

/// A part's name, and where its text is in the whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Span {
    name: Cow<'static, str>,
    /// The line of the whole that its first line is, 1-based.
    line: usize,
    start: usize,
    end: usize,
}

/// A named part of a [`Text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'t> {
    /// Its file name, e.g. `gemm/tile.cl`.
    pub name: &'t str,
    /// Its text.
    pub text: &'t str,
}

impl Text {
    /// The concatenation of named parts: file name and text. A part ends with a line break, which is added when it is
    /// missing.
    pub fn of_parts<N: Into<Cow<'static, str>>>(parts: impl IntoIterator<Item = (N, &'static str)>) -> Self {
        let (mut whole, mut spans) = (String::new(), Vec::new());
        // The lines so far.
        let mut lines = 0;
        for (name, text) in parts {
            let name = name.into();
            whole.push_str("#line 1 \"");
            for letter in name.chars() {
                if matches!(letter, '\\' | '"') {
                    whole.push('\\');
                }
                whole.push(letter);
            }
            whole.push_str("\"\n");
            let start = whole.len();
            whole.push_str(text);
            if !text.ends_with('\n') {
                whole.push('\n');
            }
            spans.push(Span { name, line: lines + 2, start, end: whole.len() });
            lines += 1 + whole[start..].lines().count();
        }
        Self { whole: whole.into(), parts: spans.into() }
    }

    /// The named parts in order; none for a text that was given as one.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.parts.iter().map(|span| Part { name: &span.name, text: &self.whole[span.start..span.end] })
    }

    /// The part that a line of the whole text belongs to, and the line's number in the part; both 1-based. `None` for a
    /// text that was given as one, and for the lines between the parts.
    pub fn locate(&self, line: usize) -> Option<(Part<'_>, usize)> {
        let (index, span) = self.parts.iter().enumerate().rfind(|(_, span)| span.line <= line)?;
        let part = self.parts().nth(index)?;
        let own = line - span.line + 1;
        (own <= part.text.lines().count()).then_some((part, own))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.whole
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.whole
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Text").field(&self.whole).finish()
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Text {
    fn from(text: T) -> Self {
        Self { whole: Arc::from(text.into()), parts: Arc::new([]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_under_their_names() {
        let text = Text::of_parts([("a.cl", "one\ntwo\n"), ("b\"\\.cl", ""), ("c.cl", "three")]);
        assert_eq!(
            &*text,
            "#line 1 \"a.cl\"\none\ntwo\n#line 1 \"b\\\"\\\\.cl\"\n\n#line 1 \"c.cl\"\nthree\n"
        );
        let names: Vec<&str> = text.parts().map(|part| part.name).collect();
        assert_eq!(names, ["a.cl", "b\"\\.cl", "c.cl"]);
        // Lines of the whole, as a compiler that ignores `#line` counts them.
        let found = |line| text.locate(line).map(|(part, own)| (part.name, own));
        assert_eq!([0, 1, 2, 3, 4].map(found), [None, None, Some(("a.cl", 1)), Some(("a.cl", 2)), None]);
        assert_eq!([7, 8].map(found), [Some(("c.cl", 1)), None]);
    }

    #[test]
    fn a_text_that_is_given_as_one_has_no_parts() {
        let text = Text::from("kernel void f(void) {}");
        assert_eq!((&*text, text.parts().count(), text.locate(1)), ("kernel void f(void) {}", 0, None));
    }
}
