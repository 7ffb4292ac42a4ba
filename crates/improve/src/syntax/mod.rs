//! The syntax tree of a kernel's source, with exact places, types and resolved names.
//!
//! Clang makes the tree; this module reads it. What a rewrite changes it says as [`Edits`] of the text, so that the
//! author's names, comments and layout stay where nothing changes.

mod affine;
mod branches;
mod edits;
mod node;
mod places;
pub(crate) mod print;
mod read;
pub(crate) mod text;
mod types;

use std::path::Path;

use tripipe_ir::front::clang::{Build, BuildError, syntax_tree};

pub use affine::{Affine, affine, fold};
pub use edits::{Edits, Overlap};
pub use node::{Expr, ExprKind, Function, NameKind, SourceRange, Stmt, StmtKind, Symbol, Variable};
pub(crate) use print::Printer;
pub use types::{Scalar, Space, Type};

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
    /// A function is compiled in parts: what is rewritten would hold for the branches that are compiled here only.
    #[error(
        "line {line}: `{function}` has a `#{directive}` inside, whose other branch would not be rewritten; put the whole \
        function between `#if` and `#endif`, or write only the branch that is compiled"
    )]
    Conditional {
        /// The function.
        function: String,
        /// `if`, `ifdef` and the like.
        directive: String,
        /// The line of the source, from 1.
        line: usize,
    },
    /// Another function calls the kernel, and would call the rewritten one.
    #[error(
        "`{caller}` calls the kernel `{kernel}`, which would do something else once it is rewritten; give it a function of its own to call"
    )]
    Called {
        /// The kernel.
        kernel: String,
        /// The function that calls it.
        caller: String,
    },
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

    /// Whether a kernel can be rewritten without a change for others, and for other builds.
    ///
    /// # Errors
    /// A function has conditional directives inside, or another one calls the kernel.
    pub fn check(&self, kernel: &str) -> Result<(), SyntaxError> {
        for function in &self.functions {
            let is_other_kernel = function.is_kernel && function.name != kernel;
            let mut inside = branches::directives(&self.source, &function.place.range);
            if let Some((directive, at)) = inside.find(|(word, _)| branches::is_conditional(word))
                && !is_other_kernel
            {
                return Err(SyntaxError::Conditional {
                    function: function.name.clone(),
                    directive: directive.to_owned(),
                    line: self.source[..at.start].matches('\n').count() + 1,
                });
            }
            let mut calls = false;
            function.body.walk_expressions(&mut |expr| {
                calls |= matches!(&expr.kind, ExprKind::Call { name, .. } if name == kernel);
            });
            if calls {
                return Err(SyntaxError::Called { kernel: kernel.to_owned(), caller: function.name.clone() });
            }
        }
        Ok(())
    }

    /// The places, constants and names of all expressions, in order: where these differ, macros mean something else.
    /// Types may differ, such as the width of `size_t`.
    pub fn outline(&self) -> Vec<(usize, String)> {
        let mut all = Vec::new();
        for function in &self.functions {
            function.body.walk_expressions(&mut |expr| {
                let said = match &expr.kind {
                    ExprKind::Integer(value) => value.to_string(),
                    ExprKind::Float(value) => value.to_string(),
                    ExprKind::Name { name, .. } | ExprKind::Call { name, .. } => name.clone(),
                    ExprKind::Binary { operator, .. } | ExprKind::Unary { operator, .. } => operator.clone(),
                    _ => return,
                };
                all.push((expr.place.range.start, said));
            });
        }
        all
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
