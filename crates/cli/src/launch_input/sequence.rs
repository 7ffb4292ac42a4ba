//! Launch files with several launches.

use std::path::Path;

use anyhow::{Result, bail};
use tripipe_ir::Kernel;
use tripipe_ir::front::spirv;
use tripipe_launch::{Executor, Launch};
use tripipe_launch_file::{LaunchSequence, Limits, Loaded, Staged, parse_sequence};

use super::input::LaunchInput;
use super::program::one_kernel;
use super::{Built, Description, LaunchArgument, LaunchOptions};
use crate::files::input::shown_input;
use crate::files::originals;

/// What a launch file or a program describes.
pub(crate) enum Launches {
    /// One launch, or a program.
    One(Box<Description>),
    /// Several launches.
    Several(Box<Sequence>),
}

/// A launch file with several launches.
#[derive(Clone)]
pub(crate) struct Sequence {
    /// The file's name for messages.
    pub(crate) name: String,
    /// The file's text.
    pub(crate) text: String,
    /// The program, and the first launch.
    pub(crate) description: Description,
    /// The launches.
    pub(crate) launches: LaunchSequence,
}

/// The launches of a file, whose memory is on an executor.
pub(crate) struct StagedSequence {
    /// The launches, each with the memory that was made for it.
    pub(crate) launches: Vec<Staged>,
    /// The number of each launch as often as it runs, in order.
    pub(crate) order: Vec<usize>,
}

impl StagedSequence {
    /// All launches, with repetitions.
    pub(crate) fn all(&self) -> Vec<Launch> {
        self.order.iter().map(|index| self.launches[*index].launch.clone()).collect()
    }
}

impl LaunchArgument {
    /// As [`Self::open`], for a launch file that may have several launches.
    ///
    /// # Errors
    /// As [`Description::open`]; an option is one for a single launch.
    pub(crate) fn open_all(&self) -> Result<Launches> {
        Launches::open(&self.path, &self.options)
    }
}

impl Launches {
    /// As [`Description::open`], for files with several launches too.
    ///
    /// # Errors
    /// As [`Description::open`]; an option is one for a single launch.
    fn open(path: &Path, options: &LaunchOptions) -> Result<Self> {
        options.check()?;
        let input = LaunchInput::read(path)?;
        let LaunchInput::Toml(text) = &input else {
            return Description::of_input(input, path, options).map(|one| Self::One(Box::new(one)));
        };
        let more = options.build.options()?;
        let name = shown_input(path);
        let Some(launches) = parse_sequence(text, &name, &options.overrides(&more))? else {
            return Description::of_input(input, path, options).map(|one| Self::One(Box::new(one)));
        };
        let single = [
            ("kernel", options.kernel.is_some()),
            ("global", !options.global.is_empty()),
            ("local", !options.local.is_empty()),
        ];
        if let Some((option, _)) = single.iter().find(|(_, given)| *given) {
            bail!("--{option}: {name} has a list of launches; change it there");
        }
        let Some(first) = launches.launches.first() else { bail!("{name} has no launch") };
        let opened = Description::of_launch_file(first.file.clone());
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let description = Description { folder, options: options.clone(), ..opened }.built_with(more)?;
        for read in [path, &description.path(description.file.source.path())] {
            originals::keep(read)?;
        }
        Ok(Self::Several(Box::new(Sequence { name, text: text.clone(), description, launches })))
    }
}

impl Sequence {
    /// The launches with the contents of their memory, without what is shown and compared afterwards if that is not
    /// `wanted`.
    ///
    /// # Errors
    /// As [`Description::load`]; an argument of the command line is one of no kernel.
    pub(crate) fn load(&self, built: &Built, limits: Limits, wanted: bool) -> Result<Vec<Loaded>> {
        let options = &self.description.options;
        let (mut all, mut known) = (Vec::new(), Vec::new());
        for launch in &self.launches.launches {
            let mut file = launch.file.clone();
            if !wanted {
                file.forget_results();
            }
            let signature = file.signature(&built.kernels)?;
            let names: Vec<&str> =
                signature.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            let kernel = signature.kernel.clone();
            options.adjust(&mut file, &kernel, &names)?;
            known.push((signature.kernel.as_str(), names));
            all.push(self.description.load_file(&file, built, limits)?);
        }
        options.check_names(&known)?;
        Ok(all)
    }

    /// Creates the memory of the launches on an executor.
    ///
    /// # Errors
    /// Any error of the executor.
    pub(crate) fn stage(
        &self,
        loaded: Vec<Loaded>,
        built: &Built,
        executor: &mut dyn Executor,
    ) -> Result<StagedSequence> {
        let launches = self.launches.stage(loaded, executor, &built.program)?;
        Ok(StagedSequence { launches, order: self.launches.order() })
    }

    /// The kernel of each launch.
    ///
    /// # Errors
    /// The program does not have it.
    pub(crate) fn kernels<'l>(&self, loaded: &'l spirv::Loaded) -> Result<Vec<&'l Kernel>> {
        let program = self.description.shown();
        let launches = self.launches.launches.iter();
        launches.map(|launch| one_kernel(loaded, &program, launch.file.kernel.as_deref())).collect()
    }

    /// The name of a memory object in results: that of its launch, and its own.
    pub(crate) fn memory_name(&self, launch: usize, memory: &str) -> String {
        let launch = self.launches.launches.get(launch).map_or("", |launch| launch.name.as_str());
        format!("{launch}.{memory}")
    }
}
