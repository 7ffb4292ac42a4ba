//! A kernel that is rewritten.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tripipe_device::OpenCl;
use tripipe_ir::front::clang;
use tripipe_launch::{Program, Source};
use tripipe_launch_file::LaunchFile;

use crate::syntax::{SyntaxError, Tree};

/// A kernel's source and a launch of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The source's name, for messages.
    pub name: String,
    /// The source: OpenCL C.
    pub source: String,
    /// The folder that is searched for includes in quotes, and that the launch file's paths are relative to.
    pub folder: PathBuf,
    /// The kernel.
    pub kernel: String,
    /// The launch: build options, range and arguments.
    pub launch: LaunchFile,
}

impl Subject {
    /// The syntax tree of the source, as the driver of a device that offers `offered` parses it.
    ///
    /// # Errors
    /// As [`Tree::parse`] and [`Tree::check`].
    pub fn tree(&self, offered: Option<OpenCl>) -> Result<Tree, SyntaxError> {
        let tree = self.parsed(offered)?;
        tree.check(&self.kernel)?;
        Ok(tree)
    }

    /// The source with only the branches of conditionals inside functions that are compiled; `None` if there are none,
    /// or if that is not known.
    pub(crate) fn with_compiled_branches(&self, offered: Option<&OpenCl>) -> Option<String> {
        let mut subject = self.clone();
        let tree = loop {
            let tree = subject.parsed(offered.cloned()).ok()?;
            let Some(source) = tree.with_compiled_branches(&self.kernel) else { break tree };
            subject.source = source;
        };
        (subject.source != self.source && tree.check(&self.kernel).is_ok()).then_some(subject.source)
    }

    fn parsed(&self, offered: Option<OpenCl>) -> Result<Tree, SyntaxError> {
        let program = self.program();
        let defines = program.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
        let options = defines.chain(program.options.iter().cloned()).collect();
        let build = clang::Build { options, offered, ..clang::Build::default() };
        Tree::parse(&self.name, &self.source, Some(&self.folder), &build)
    }

    /// The program to build.
    pub fn program(&self) -> Arc<Program> {
        let source = Source::OpenClC(self.source.clone().into());
        let inside = |folder: &Path| folder.display().to_string();
        let mut program =
            self.launch.program(self.name.clone(), source, |folder| inside(&self.folder.join(folder)));
        // Includes in quotes are beside the source.
        if self.source.contains("#include") {
            let path = self.folder.join(self.launch.source.path());
            program.options.extend(["-I".to_owned(), inside(clang::folder_of(&path))]);
        }
        Arc::new(program)
    }
}
