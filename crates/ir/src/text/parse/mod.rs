//! Parsing.

mod kernel;
mod line;

use super::lex::{Token, tokens};
use crate::Module;
use kernel::Building;
use line::Line;

/// The text is not a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line, 1-based.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Parses the text form. The result need not be well-formed: see [`crate::verify`].
///
/// # Errors
/// The first line that cannot be parsed.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut module = Module::default();
    let mut kernel: Option<Building> = None;
    for (index, line) in text.lines().enumerate() {
        let error = |message: String| ParseError { line: index + 1, message };
        let Some(tokens) = tokens(line) else { return Err(error("a string is not closed".into())) };
        let mut line = Line { tokens: &tokens };
        if tokens.is_empty() {
            continue;
        }
        if index == 0 {
            if line.tokens != [Token::Word("tripipe-ir"), Token::Word("1")] {
                return Err(error("the first line is `tripipe-ir 1`".into()));
            }
            continue;
        }
        match &mut kernel {
            None => outside(&mut module, &mut kernel, &mut line).map_err(error)?,
            Some(building) => {
                if line.tokens == [Token::Sign('}')] {
                    let done = kernel.take().map(Building::finish).transpose().map_err(error)?;
                    module.kernels.extend(done);
                    continue;
                }
                building.line(&mut line).map_err(error)?;
            }
        }
        if kernel.is_some() || line.tokens.is_empty() {
            line.end().map_err(error)?;
        }
    }
    match kernel {
        Some(_) => Err(ParseError { line: text.lines().count(), message: "the kernel is not closed".into() }),
        None => Ok(module),
    }
}

type Parsed<T> = Result<T, String>;

fn outside(module: &mut Module, kernel: &mut Option<Building>, line: &mut Line<'_, '_>) -> Parsed<()> {
    match line.word()? {
        "kernel" => {
            let mut new = Building::default();
            new.kernel.name = line.text()?;
            line.sign('{')?;
            *kernel = Some(new);
            Ok(())
        }
        "object" => {
            let expected = module.objects.next_key();
            line.entity("@", expected)?;
            module.objects.push(line.object()?);
            line.end()
        }
        word => {
            let expected = module.files.next_key();
            if word != expected.to_string() {
                return Err(format!("`{word}` is not understood"));
            }
            module.files.push(line.text()?.into());
            line.end()
        }
    }
}
