//! The style of text: width and colours.

use anstyle::{AnsiColor, Style};

/// The properties of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Maximum line length in characters; a line with one long word may exceed it.
    pub width: usize,
    /// Whether ANSI colours are supported.
    pub colour: bool,
    /// Whether only ASCII is supported.
    pub ascii: bool,
    /// Whether a table with one row of headings is folded to the width, as on a terminal; in a file its rows stay
    /// whole.
    pub folds: bool,
}

impl Default for Canvas {
    /// 120 characters, no colours, all of Unicode, whole rows: for a pipe or a file.
    fn default() -> Self {
        Self { width: 120, colour: false, ascii: false, folds: false }
    }
}

/// The role of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// A heading.
    Heading,
    /// The best of its kind.
    Best,
    /// An error or failure.
    Bad,
    /// Lines, units, missing values.
    Faint,
}

impl Canvas {
    /// The text in a form that the output supports.
    pub(crate) fn shown(self, text: String) -> String {
        if self.ascii { ascii(&text) } else { text }
    }

    /// `text` in the colour of its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let style = match tone {
            Tone::Plain => Style::new(),
            Tone::Heading => Style::new().bold(),
            Tone::Best => AnsiColor::Green.on_default().bold(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
            Tone::Faint => Style::new().dimmed(),
        };
        if self.colour && tone != Tone::Plain && !text.trim().is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// `text` in ASCII only: lines, bars, symbols and letters become the closest character, one for one so that tables stay
/// aligned; `?` for characters without a close one.
pub fn ascii(text: &str) -> String {
    let near = |character: char| match character {
        '│' | '┃' | '╵' | '╷' => '|',
        '─' | '━' | '–' | '—' | '‐' | '−' => '-',
        '┼' | '├' | '┤' | '┬' | '┴' | '┌' | '┐' | '└' | '┘' | '╭' | '╮' | '╰' | '╯' => {
            '+'
        }
        '█' | '▉' | '▊' | '▋' | '▌' | '▀' | '▄' | '▇' | '▆' | '▅' => '#',
        '▍' | '▎' | '▏' | '▁' | '▂' | '▃' | '…' => '.',
        '×' => 'x',
        'µ' | 'μ' => 'u',
        '≥' | '→' | '›' => '>',
        '≤' | '←' | '‹' => '<',
        '≈' => '~',
        '·' | '•' => '*',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        'α' => 'a',
        'β' => 'b',
        'γ' => 'g',
        other if other.is_ascii() => other,
        _ => '?',
    };
    text.chars().map(near).collect()
}

/// A bar for a share of `width` characters, in eighths; at least one eighth.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// `text` broken at spaces into lines of at most `width` characters; a longer word gets its own line. Never empty.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// `text` wrapped to the canvas, with `first` before its first line and `indent` spaces before the others.
pub fn paragraph(canvas: Canvas, first: &str, indent: usize, text: &str) -> String {
    let mut out = String::new();
    // On a very narrow canvas, lines stay readable and exceed it.
    for (index, line) in wrap(text, canvas.width.saturating_sub(indent).max(30)).iter().enumerate() {
        if index == 0 {
            out.push_str(first);
        } else {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(line);
        // `first` may end with spaces, which an empty line leaves at its end.
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("unbreakable x", 3), ["unbreakable", "x"]);
    }

    #[test]
    fn bars() {
        assert_eq!(bar(1.0, 10), "█".repeat(10));
        assert_eq!(bar(0.0, 10), "▏");
        assert_eq!(bar(0.5 + 1.0 / 80.0, 10), "█████▏");
    }

    #[test]
    fn no_colour_no_escape() {
        assert_eq!(Canvas::default().paint(Tone::Bad, "x"), "x");
        let coloured = Canvas { colour: true, ..Canvas::default() };
        assert!(coloured.paint(Tone::Bad, "x").starts_with('\u{1b}'));
    }

    #[test]
    fn ascii_replaces_characters_and_keeps_the_width() {
        let text = "│ 1.8 µs × 3 ─┼ ███▏ ≥ 4 – größe\n";
        let plain = ascii(text);
        assert_eq!(plain, "| 1.8 us x 3 -+ ###. > 4 - gr??e\n");
        assert_eq!(plain.chars().count(), text.chars().count());
        assert_eq!(Canvas { ascii: true, ..Canvas::default() }.shown(text.to_owned()), plain);
        assert_eq!(Canvas::default().shown(text.to_owned()), text);
    }
}
