//! The capabilities of standard output.

use std::env;
use std::io::{self, IsTerminal, Write};

use tripipe_report::Canvas;

/// Maximum line width that is still easy to read.
const WIDEST: usize = 160;

/// The canvas for standard output: the terminal's width, and colours unless `NO_COLOR` is set; plain in a pipe. It is
/// restricted to ASCII if the locale supports nothing else.
pub(crate) fn canvas() -> Canvas {
    let plain = Canvas { ascii: is_ascii(), ..Canvas::default() };
    if !io::stdout().is_terminal() {
        return plain;
    }
    let width = terminal_size::terminal_size().map_or(plain.width, |(width, _)| usize::from(width.0));
    Canvas { width: width.clamp(60, WIDEST), colour: colours(), folds: true, ..plain }
}

/// Whether pictures can be shown, which needs 24-bit colours.
pub(crate) fn shows_pictures() -> bool {
    let truecolor = env::var("COLORTERM").is_ok_and(|value| value == "truecolor" || value == "24bit");
    truecolor && io::stdout().is_terminal() && colours() && !is_ascii()
}

/// Whether the locale's text is ASCII. The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set decides: it is `C` or
/// `POSIX`, or names a character set other than UTF-8. If none is set, text is UTF-8.
pub(crate) fn is_ascii() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| env::var_os(name).filter(|value| !value.is_empty()));
    locale.into_iter().flatten().next().is_some_and(|locale| requests_ascii(&locale.to_string_lossy()))
}

fn requests_ascii(locale: &str) -> bool {
    let charset = locale.split_once('.').map(|(_, charset)| charset.to_ascii_lowercase().replace('-', ""));
    match charset {
        Some(charset) => charset.split('@').next() != Some("utf8"),
        None => matches!(locale, "C" | "POSIX"),
    }
}

/// Converts text for a reader to what the locale can show.
pub(crate) fn shown(text: String) -> String {
    if is_ascii() { tripipe_report::ascii(&text) } else { text }
}

fn colours() -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Standard output, whose errors say where they occurred.
pub(crate) struct StandardOutput(io::StdoutLock<'static>);

impl StandardOutput {
    pub(crate) fn lock() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| named(&error))
    }
}

fn named(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output cannot be written: {error}"))
}

/// Whether an error means that the reader of the output is gone.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::requests_ascii;

    #[test]
    fn locales() {
        for locale in ["C", "POSIX", "de_DE.ISO-8859-1", "en_US.iso88591@euro"] {
            assert!(requests_ascii(locale), "{locale}");
        }
        for locale in ["C.UTF-8", "en_US.UTF-8", "en_US.utf8", "de_DE", "ca_ES.UTF-8@valencia"] {
            assert!(!requests_ascii(locale), "{locale}");
        }
    }
}
