//! The syntax tree of OpenCL C, as clang prints it.

use std::ffi::OsString;
use std::path::Path;

use super::components;
use super::dialect::Dialect;
use super::run::run;
use super::{Build, BuildError, Clang, SOURCE, arguments, offered};

/// The syntax tree of a source text in the JSON of clang's `-ast-dump=json`, all declarations of its headers included.
/// Offsets count the text's bytes.
///
/// The tree is that of the [dialect](super#which-opencl-c) in which the text compiles first.
///
/// # Errors
/// No compiler is available, or the source has errors.
pub fn syntax_tree(
    name: &str,
    text: &str,
    folder: Option<&Path>,
    build: &Build,
) -> Result<String, BuildError> {
    let tools = Clang::find_kept(build.cache.as_ref())?;
    let offered = build.offered.as_ref();
    let work = tempfile::tempdir().map_err(|error| BuildError::File { path: std::env::temp_dir(), error })?;
    let write = |file: &str, text: &str| {
        let path = work.path().join(file);
        std::fs::write(&path, text).map_err(|error| BuildError::File { path, error })
    };
    write(SOURCE, &components::renamed(text))?;
    let mut first = None;
    for dialect in Dialect::to_try(&build.options, offered) {
        write("extensions.h", &offered::prelude(offered, dialect.has_header()))?;
        let mut arguments = arguments(&tools, build, folder, dialect);
        arguments.extend(["-include".into(), work.path().join("extensions.h").into()]);
        arguments.extend(["-fsyntax-only", "-Xclang", "-ast-dump=json"].map(OsString::from));
        arguments.push(work.path().join(SOURCE).into());
        match run(&tools.program, &arguments, work.path(), name) {
            Ok(tree) => return Ok(String::from_utf8_lossy(&tree.output).into_owned()),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| BuildError::Compile { name: name.to_owned(), messages: String::new() }))
}
