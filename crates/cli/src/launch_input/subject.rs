//! A launch as it is rewritten, and rewritten launches as launch files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};
use tripipe_device::Gpu;
use tripipe_improve::{OpenFiles, Subject, Target};
use tripipe_ir::Kernel;
use tripipe_ir::front::clang;
use tripipe_launch::ImageExtent;
use tripipe_launch_file::{BuildOptions, Files, Given, LaunchFile, Memory, MemoryShape, Number, plain_name};

use super::disk::Disk;
use super::options::{absolute, options_text};
use super::{Description, one_kernel};

/// The files that a launch refers to.
pub(crate) struct LaunchFiles {
    folder: PathBuf,
}

impl LaunchFiles {
    pub(crate) fn of(description: &Description) -> Self {
        Self { folder: description.folder.clone() }
    }
}

impl OpenFiles for LaunchFiles {
    fn open(&self) -> Box<dyn Files + '_> {
        Box::new(Disk { folder: &self.folder })
    }
}

/// Keys of an argument, or of a table in it, that name a file to read.
const PATHS: [&str; 3] = ["file", "npy", "picture"];

impl Description {
    /// The kernel with its launch and all options of the command line, built for `gpu` to find the kernel.
    ///
    /// # Errors
    /// It is not OpenCL C, does not compile, or has no such kernel; an option does not suit it.
    pub(crate) fn subject(&self, gpu: Option<&Gpu>) -> Result<Subject> {
        let (_, loaded) = self.translate(self.offered(gpu)?)?;
        let kernel = one_kernel(&loaded, &self.shown(), self.file.kernel.as_deref())?;
        self.options.check_kernels(&[kernel])?;
        self.subject_of(kernel, self.file.clone())
    }

    /// The same for a kernel of the program and a launch of it.
    ///
    /// # Errors
    /// It is not OpenCL C; an option does not suit it.
    pub(crate) fn subject_of(&self, kernel: &Kernel, mut launch: LaunchFile) -> Result<Subject> {
        let name = self.shown();
        let Some(source) = self.text() else {
            bail!("{name} is SPIR-V, which is not rewritten; name its OpenCL C");
        };
        let names: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        self.options.adjust(&mut launch, &kernel.name, &names)?;
        // Changes of the host are told by name.
        for (entry, name) in launch.arguments.iter_mut().zip(&names) {
            entry.name.get_or_insert_with(|| (*name).to_owned());
        }
        launch.kernel = Some(kernel.name.clone());
        launch.options = self.all_options()?;
        Ok(Subject { name, source, folder: self.folder.clone(), kernel: kernel.name.clone(), launch })
    }

    /// A GPU with what its driver offers to the program.
    ///
    /// # Errors
    /// As [`Self::offered`].
    pub(crate) fn target(&self, gpu: &'static Gpu) -> Result<Target> {
        let offered = self.offered(Some(gpu))?.unwrap_or_else(|| gpu.opencl().clone());
        Ok(Target { gpu, offered })
    }

    /// The options of the launch file and of the command line. Folders of the command line become absolute.
    pub(super) fn all_options(&self) -> Result<BuildOptions> {
        let mut options = self.file.options.clone();
        for (name, value) in &self.more.defines {
            options.defines.retain(|(defined, _)| defined != name);
            options.defines.push((name.clone(), value.clone()));
        }
        for folder in &self.more.includes {
            options.includes.push(absolute(folder)?);
        }
        options.flags.extend(self.more.flags.iter().cloned());
        Ok(options)
    }

    /// The text of a launch file for a rewritten kernel, whose source is written to `place`; the launch file is beside
    /// it. `None` if the launch was not read from TOML.
    ///
    /// # Errors
    /// A path or an option cannot be written in a launch file.
    pub(crate) fn launch_of(&self, subject: &Subject, place: Option<&Path>) -> Result<Option<String>> {
        let Some(text) = &self.text else { return Ok(None) };
        let mut document: DocumentMut = text.parse().with_context(|| self.file.name.clone())?;
        let source = place.and_then(|path| path.file_name()).and_then(|name| name.to_str());
        let source = source.map_or_else(|| subject.launch.source.path().to_owned(), str::to_owned);
        set(&mut document, "source", source.into());
        set(&mut document, "kernel", subject.kernel.as_str().into());
        let is_elsewhere = self.is_elsewhere(place)?;
        self.write_options(&mut document, &subject.launch.options, &subject.source, is_elsewhere)?;
        write_launch(&mut document, &self.file, &subject.launch, !self.options.arguments.is_empty())?;
        if is_elsewhere {
            self.make_arguments_absolute(&mut document)?;
        }
        Ok(Some(document.to_string()))
    }

    /// Writes the options into a launch file; relative to a file `elsewhere`, folders are absolute.
    pub(super) fn write_options(
        &self,
        document: &mut Table,
        options: &BuildOptions,
        source: &str,
        elsewhere: bool,
    ) -> Result<()> {
        let mut options = options.clone();
        if elsewhere {
            for folder in &mut options.includes {
                *folder = absolute(&self.path(folder).display().to_string())?;
            }
            if source.contains("#include") {
                let own = self.path(self.file.source.path());
                options.includes.push(absolute(&clang::folder_of(&own).display().to_string())?);
            }
        }
        let options = options_text(&options, false)?;
        if !options.is_empty() {
            set(document, "options", options.into());
        }
        Ok(())
    }

    /// Makes the paths of the arguments in a table absolute that are relative to this launch file.
    pub(super) fn make_arguments_absolute(&self, table: &mut Table) -> Result<()> {
        if let Some(Item::ArrayOfTables(arguments)) = table.get_mut("argument") {
            arguments.iter_mut().try_for_each(|argument| self.make_absolute(argument))?;
        }
        Ok(())
    }

    /// Makes the paths in a table absolute that are relative to this launch file.
    fn make_absolute(&self, table: &mut dyn TableLike) -> Result<()> {
        for (key, item) in table.iter_mut() {
            if let Some(inner) = item.as_table_like_mut() {
                self.make_absolute(inner)?;
            } else if PATHS.contains(&key.get())
                && let Some(path) = item.as_str()
            {
                *item = toml_edit::value(absolute(&self.path(path).display().to_string())?);
            }
        }
        Ok(())
    }

    /// Whether a file is in another folder than those of the launch.
    pub(super) fn is_elsewhere(&self, place: Option<&Path>) -> Result<bool> {
        let Some(place) = place else { return Ok(false) };
        let folder = |path: &Path| absolute(&clang::folder_of(path).display().to_string());
        Ok(folder(place)? != folder(&self.folder.join("launch"))?)
    }
}

/// Writes into the table of a launch what has changed in it: sizes, and the shapes of memory; if `numbers`, also those that
/// it passes by value.
pub(super) fn write_launch(
    table: &mut Table,
    before: &LaunchFile,
    after: &LaunchFile,
    numbers: bool,
) -> Result<()> {
    let range = after.range;
    let sizes = |sizes: [usize; 3]| -> Value {
        let sizes = sizes[..range.dimensions()].iter().map(|size| *size as i64);
        Value::Array(sizes.collect::<Array>())
    };
    set(table, "global", sizes(range.global_size()));
    match range.local_size() {
        Some(local) => set(table, "local", sizes(local)),
        None => drop(table.remove("local")),
    }
    let Some(Item::ArrayOfTables(arguments)) = table.get_mut("argument") else { return Ok(()) };
    for (index, (table, entry)) in arguments.iter_mut().zip(&after.arguments).enumerate() {
        match &entry.given {
            Given::Value { numbers: values, .. } if numbers => {
                if let [number] = values[..] {
                    let value: Value = match number {
                        Number::Integer(number) => i64::try_from(number)?.into(),
                        Number::Float(number) => number.into(),
                    };
                    table["value"] = Item::Value(value);
                }
            }
            Given::Memory(Memory { shape: MemoryShape::Buffer { extents: Some(extents), .. }, .. })
                if *extents != extents_of(before, index) =>
            {
                let extents = extents.iter().map(|extent| *extent as i64);
                table["count"] = Item::Value(Value::Array(extents.collect::<Array>()));
            }
            Given::Memory(Memory {
                shape: MemoryShape::Image { extent: Some(ImageExtent::D2 { width, height }), order, channel },
                ..
            }) if table.contains_key("buffer") => {
                let mut image = InlineTable::new();
                image.insert("width", i64::try_from(*width)?.into());
                image.insert("height", i64::try_from(*height)?.into());
                image.insert("order", plain_name(order.opencl_name()).into());
                image.insert("channel", plain_name(channel.opencl_name()).into());
                table.remove("count");
                table.remove("buffer");
                table["image"] = Item::Value(Value::InlineTable(image));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The extents of the buffer that a launch file gives an argument.
fn extents_of(file: &LaunchFile, argument: usize) -> Vec<usize> {
    match file.arguments.get(argument).map(|entry| &entry.given) {
        Some(Given::Memory(Memory { shape: MemoryShape::Buffer { extents: Some(extents), .. }, .. })) => {
            extents.clone()
        }
        _ => Vec::new(),
    }
}

/// Sets a key, whose comment stays.
pub(super) fn set(document: &mut Table, key: &str, value: Value) {
    match document.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => document[key] = Item::Value(value),
    }
}
