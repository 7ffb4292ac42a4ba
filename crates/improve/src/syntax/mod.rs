//! The syntax tree of a kernel's source, with exact places, types and resolved names.
//!
//! Clang makes the tree; this module reads it. What a rewrite changes it says as [`Edits`] of the text, so that the
//! author's names, comments and layout stay where nothing changes.

mod affine;
mod edits;
mod node;
mod places;
mod read;
mod types;

use std::path::Path;

use tripipe_ir::front::clang::{Build, BuildError, syntax_tree};

pub use affine::{Affine, affine, fold};
pub use edits::{Edits, Overlap};
pub use node::{Expr, ExprKind, Function, NameKind, SourceRange, Stmt, StmtKind, Symbol, Variable};
pub use types::{Scalar, Space, Type};

/// The end of the path under which clang sees the source.
const SOURCE_FILE: &str = "/kernel.cl";

/// Objects and arrays in each other that are read at most; a sum of 200 terms has 400.
const DEEPEST: usize = 1000;

/// A source and its syntax tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The source.
    pub source: String,
    /// Its functions, kernels included, in order.
    pub functions: Vec<Function>,
    /// Its variables at file scope.
    pub globals: Vec<Variable>,
}

/// Why a source has no tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxError {
    /// Clang did not compile it, or is missing.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Clang's tree could not be read.
    #[error("clang's syntax tree could not be read: {0}")]
    Json(#[from] serde_json::Error),
    /// The source is nested too deeply.
    #[error("the source is nested too deeply")]
    TooDeep,
}

impl Tree {
    /// Has clang parse a source; `name` is for messages, `folder` is searched for includes in quotes.
    ///
    /// # Errors
    /// No clang, or the source has errors.
    pub fn parse(
        name: &str,
        source: &str,
        folder: Option<&Path>,
        build: &Build,
    ) -> Result<Self, SyntaxError> {
        let json = syntax_tree(name, source, folder, build)?;
        if depth(&json) > DEEPEST {
            return Err(SyntaxError::TooDeep);
        }
        let mut reading = serde_json::Deserializer::from_str(&json);
        reading.disable_recursion_limit();
        let root = serde::Deserialize::deserialize(&mut reading)?;
        let mut reader = read::Reader::new(source);
        reader.unit(&root);
        Ok(Self { source: source.to_owned(), functions: reader.functions, globals: reader.globals })
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.is_kernel && function.name == name)
    }

    /// The function that a symbol means, if the source has its body.
    pub fn function(&self, symbol: Symbol) -> Option<&Function> {
        // A declaration before the definition has a symbol of its own: names are unique in C.
        self.functions.iter().find(|function| function.symbol == symbol)
    }

    /// The text of a place.
    pub fn text(&self, place: &SourceRange) -> &str {
        self.source.get(place.range.clone()).unwrap_or_default()
    }
}

/// The depth of nested objects and arrays of a JSON text.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in json.bytes() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        deepest = deepest.max(depth);
    }
    deepest
}
