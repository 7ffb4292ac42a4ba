//! A launch file as the description of a kernel to tune.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use tripipe_ir::front::clang;
use tripipe_launch::Source;
use tripipe_launch_file::{Limits, TuningPoints, parse_combination, parse_with};
use tripipe_tune::KernelDescription;
use tripipe_tune::kernel::Recorder;

use super::options::absolute;
use super::{Description, disk};

impl Description {
    /// The kernel with all that it refers to, and the combinations of its table `[tune]`. `device` gives a device whose
    /// driver knows the kernel's parameters if there is no clang.
    ///
    /// # Errors
    /// It is not a launch file with `[tune]`; the first combination does not build, or its arguments cannot be loaded.
    pub(crate) fn tuned(
        &self,
        device: impl FnOnce() -> Option<tripipe_opencl::Device>,
    ) -> Result<(KernelDescription, TuningPoints)> {
        let Some(launch) = &self.text else {
            bail!("{}: want a launch file with a table `[tune]` (docs/launch-files.md)", self.shown());
        };
        let name = &self.file.name;
        if !self.file.options.assume.is_empty() || self.file.options.driver.is_some() {
            bail!(
                "{name}: `assume` and `driver` have no effect on devices that run kernels; remove them to tune"
            );
        }
        let overrides = self.options.overrides(&self.more);
        let Some(tuning) = parse_with(launch, name, &overrides)?.tuning else {
            // Its error says where the table is missing.
            parse_combination(launch, name, &overrides, "")?;
            bail!("{name} has no table `[tune]`");
        };
        let points = tuning.points()?;
        let Some(first) = points.texts.first() else {
            bail!("{name}: no combination of the values of `[tune]` satisfies all conditions of `where`");
        };
        let mut file = parse_combination(launch, name, &overrides, first)?;
        file.kernel.clone_from(&self.file.kernel);
        let first = Self { file, ..self.clone() };
        let built = first.build(None).or_else(|error| match device() {
            Some(device) => first.build_for(&device),
            None => Err(error),
        })?;
        let mut disk = disk::Disk { folder: &self.folder };
        let mut recorder = Recorder::new(&mut disk);
        first.file.load(&built.kernels, &mut recorder, Limits::default())?;
        let files = recorder.kept;
        // Checks the arguments of the command line.
        first.load(&built, Limits::default())?;
        let (program, source) = first.source()?;
        let mut includes = Vec::new();
        let mut included = Vec::new();
        if let Source::OpenClC(text) = &source
            && text.contains("#include")
        {
            includes.push(absolute(&clang::folder_of(Path::new(&program)).display().to_string())?);
            let mut folders: Vec<PathBuf> = includes.iter().map(PathBuf::from).collect();
            folders.extend(first.file.options.includes.iter().map(|folder| self.path(folder)));
            folders.extend(self.more.includes.iter().map(PathBuf::from));
            include(text.as_ref(), &folders, &mut HashSet::new(), &mut included);
        }
        for folder in &self.more.includes {
            includes.push(absolute(folder)?);
        }
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let shown = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name);
        let signature = first.file.signature(&built.kernels)?.clone();
        let description = KernelDescription {
            name: shown.to_owned(),
            launch: launch.clone(),
            overrides,
            flags: self.more.flags.clone(),
            signature,
            program,
            source,
            folder: absolute(folder.to_str().ok_or_else(|| anyhow!("{} is not UTF-8", folder.display()))?)?,
            includes,
            included,
            files,
        };
        Ok((description, points))
    }
}

/// Adds the contents of all include files that can be found in the folders, or beside the file that includes them.
fn include(text: &str, folders: &[PathBuf], seen: &mut HashSet<PathBuf>, all: &mut Vec<u8>) {
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix('#').map(str::trim_start) else { continue };
        let Some(quoted) = rest.strip_prefix("include").map(str::trim_start) else { continue };
        let Some(name) = quoted.get(1..).and_then(|rest| rest.split(['"', '>']).next()) else { continue };
        let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        let Some(path) = found.filter(|path| seen.insert(path.clone())) else { continue };
        let Ok(text) = fs::read_to_string(&path) else { continue };
        all.extend(text.as_bytes());
        let mut folders = folders.to_vec();
        folders.extend(path.parent().map(Path::to_owned));
        include(&text, &folders, seen, all);
    }
}
