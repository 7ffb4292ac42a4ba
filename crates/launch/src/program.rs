//! Programs: kernel source and how to build it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::text::Text;

/// A program: its source and the options it is built with.
///
/// Two programs that compare equal build to the same binary on one device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// File name for messages, e.g. `laplace.cl`; a program of several files has a name of its own.
    pub name: Cow<'static, str>,
    /// The source to build.
    pub source: Source,
    /// `-D` definitions in order: name and value.
    pub defines: Vec<(String, String)>,
    /// Further build options, as named in the OpenCL specification, e.g. `-cl-mad-enable`.
    pub options: Vec<String>,
}

/// The forms of program source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// OpenCL C.
    OpenClC(Text),
    /// A SPIR-V module.
    SpirV(Arc<[u8]>),
}

impl Program {
    /// A program from OpenCL C: one text, or a [`Text`] of several parts. `name` is its name in messages.
    pub fn from_source(name: impl Into<Cow<'static, str>>, text: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            source: Source::OpenClC(text.into()),
            defines: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Adds `-D name=value`.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "callers pass numbers and literals")]
    pub fn define(mut self, name: &str, value: impl ToString) -> Self {
        self.defines.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a build option.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// The complete option string for the compiler.
    pub fn build_options(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.defines {
            let _ = write!(text, "-D {name}={value} ");
        }
        text.push_str(&self.options.join(" "));
        text.trim_end().to_owned()
    }
}
