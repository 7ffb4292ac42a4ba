//! Launch files with several launches that were rewritten.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};
use tripipe_device::Gpu;
use tripipe_improve::{Fused, HostChange, Subject};
use tripipe_launch::Access;
use tripipe_launch_file::{Given, parse_sequence};

use super::subject::{set, write_launch};
use super::{Sequence, one_kernel};

/// The `[[launch]]` of a document.
fn launches(document: &mut DocumentMut) -> Result<&mut ArrayOfTables> {
    let Some(Item::ArrayOfTables(launches)) = document.get_mut("launch") else {
        bail!("`launch` is not a list of tables; write each launch as [[launch]]");
    };
    Ok(launches)
}

/// The `[[launch.argument]]` of a launch.
fn arguments(launch: &mut Table) -> Result<&mut ArrayOfTables> {
    let Some(Item::ArrayOfTables(arguments)) = launch.get_mut("argument") else {
        bail!("`argument` is not a list of tables; write each argument as [[launch.argument]]");
    };
    Ok(arguments)
}

impl Sequence {
    /// Each launch alone, in the form in which it is rewritten.
    ///
    /// # Errors
    /// As [`super::Description::subject`].
    pub(crate) fn subjects(&self, gpu: Option<&Gpu>) -> Result<Vec<Subject>> {
        let description = &self.description;
        let (_, loaded) = description.translate(description.offered(gpu)?)?;
        let name = description.shown();
        let files = (0..self.launches.launches.len()).filter_map(|launch| self.launches.alone(launch));
        files
            .map(|file| {
                let kernel = one_kernel(&loaded, &name, file.kernel.as_deref())?;
                description.subject_of(kernel, file)
            })
            .collect()
    }

    /// The same with another text and another source.
    fn rewritten(&self, text: String, source: String) -> Result<Self> {
        let overrides = self.description.options.overrides(&self.description.more);
        let launches = parse_sequence(&text, &self.name, &overrides)?;
        let launches = launches.with_context(|| format!("{} has no launch", self.name))?;
        Ok(Self {
            text,
            launches,
            description: self.description.clone().with_program(source),
            ..self.clone()
        })
    }

    /// The same with one launch in place of two, of which the first is launch number `at`, and without the arguments
    /// `dropped` of it.
    ///
    /// # Errors
    /// The file does not have lists of tables.
    pub(crate) fn fused(&self, at: usize, fused: &Fused, source: String, dropped: &[usize]) -> Result<Self> {
        let mut document: DocumentMut = self.text.parse().with_context(|| self.name.clone())?;
        let [_, (_, positions)] = &fused.calls;
        let all = launches(&mut document)?;
        let (Some(mut first), Some(mut second)) = (all.get(at).cloned(), all.get(at + 1).cloned()) else {
            bail!("{} has fewer launches", self.name);
        };
        set(&mut first, "name", fused.kernel.as_str().into());
        set(&mut first, "kernel", fused.kernel.as_str().into());
        let own = arguments(&mut first)?;
        let mut tables: Vec<Table> = own.iter().cloned().collect();
        let count = tables.len();
        for (position, table) in positions.iter().zip(arguments(&mut second)?.iter()) {
            if *position >= count {
                tables.push(table.clone());
            }
        }
        *own = ArrayOfTables::new();
        for (index, (mut table, entry)) in tables.into_iter().zip(&fused.launch.arguments).enumerate() {
            if let Some(name) = &entry.name {
                set(&mut table, "name", name.as_str().into());
            }
            if matches!(&entry.given, Given::Memory(memory) if memory.access == Access::ReadWrite) {
                table.remove("access");
            }
            if !dropped.contains(&index) {
                own.push(table);
            }
        }
        for later in at + 2..self.launches.launches.len() {
            let Some(table) = all.get_mut(later) else { break };
            for (index, argument) in arguments(table)?.iter_mut().enumerate() {
                let position = match self.launches.owner(later, index) {
                    (launch, of) if launch == at => Some(of),
                    (launch, of) if launch == at + 1 => positions.get(of).copied(),
                    _ => None,
                };
                let entry = position.and_then(|position| fused.launch.arguments.get(position));
                if let (Some(name), true) =
                    (entry.and_then(|it| it.name.as_ref()), argument.contains_key("use"))
                {
                    set(argument, "use", format!("{}.{name}", fused.kernel).into());
                }
            }
        }
        if let Some(place) = all.get_mut(at) {
            *place = first;
        }
        all.remove(at + 1);
        self.rewritten(document.to_string(), source)
    }

    /// The same with a kernel that is launched otherwise.
    ///
    /// # Errors
    /// A size is too large for the file.
    pub(crate) fn relaunched(&self, kernel: &str, host: &[HostChange], source: String) -> Result<Self> {
        let mut document: DocumentMut = self.text.parse().with_context(|| self.name.clone())?;
        let all = launches(&mut document)?;
        for (table, launch) in all.iter_mut().zip(&self.launches.launches) {
            if launch.file.kernel.as_deref() == Some(kernel) && !host.is_empty() {
                write_launch(table, &launch.file, &HostChange::apply_all(host, &launch.file), false)?;
            }
        }
        let mut sequence = self.rewritten(document.to_string(), source)?;
        for change in host {
            if let HostChange::Standard(version) = change {
                let flags = &mut sequence.description.more.flags;
                flags.retain(|flag| !flag.starts_with("-cl-std="));
                flags.push(format!("-cl-std={version}"));
            }
        }
        Ok(sequence)
    }

    /// The text of the launch file for a source that is written to `place`, with the options of the command line.
    ///
    /// # Errors
    /// A path or an option cannot be written in a launch file.
    pub(crate) fn text_for(&self, source: &str, place: Option<&Path>) -> Result<String> {
        let description = &self.description;
        let mut document: DocumentMut = self.text.parse().with_context(|| self.name.clone())?;
        if let Some(name) = place.and_then(|path| path.file_name()).and_then(|name| name.to_str()) {
            set(&mut document, "source", name.into());
        }
        let elsewhere = description.is_elsewhere(place)?;
        let mut options = description.all_options()?;
        let standards = options.flags.iter().filter(|flag| flag.starts_with("-cl-std=")).count();
        let mut seen = 0;
        // The last one counts.
        options.flags.retain(|flag| {
            seen += usize::from(flag.starts_with("-cl-std="));
            !flag.starts_with("-cl-std=") || seen == standards
        });
        description.write_options(&mut document, &options, source, elsewhere)?;
        if elsewhere {
            for launch in launches(&mut document)?.iter_mut() {
                description.make_arguments_absolute(launch)?;
            }
        }
        Ok(document.to_string())
    }
}
