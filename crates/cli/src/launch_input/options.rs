//! The options of a launch, the same for every command that takes a kernel.

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use tripipe_device::nearest::nearest;
use tripipe_ir::{Kernel, ParameterKind};
use tripipe_launch::NdRange;
use tripipe_launch_file::{BuildOptions, Given, LaunchFile, Number, Overrides};

/// Build options for OpenCL C on the command line.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct BuildArgument {
    /// Macro definition; may be repeated.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Folder to search for include files, besides the source's own; may be repeated.
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<String>,
    /// Build options, as for clBuildProgram.
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    options: String,
    /// Builds as if the GPU offered these extensions, features or versions of OpenCL C, which its driver does not, such
    /// as `cl_khr_subgroup_shuffle` or CL3.0.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', num_args = 1)]
    assume: Vec<String>,
    /// Version of the GPU's driver, such as r32p1 or E031.41, or what clinfo prints as one, which decides what it offers
    /// [default: the newest known]. `check` also warns of this driver's known defects, takes opencl:N for the driver of a
    /// live device, and needs no GPU.
    #[arg(long, value_name = "VERSION")]
    driver: Option<String>,
}

impl BuildArgument {
    /// The options; those of `-D` and `-I` come last.
    pub(crate) fn options(&self) -> Result<BuildOptions> {
        let mut options =
            BuildOptions::parse(&self.options).map_err(|reason| anyhow!("--options: {reason}"))?;
        for define in &self.define {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            if name.is_empty() {
                bail!("-D {define}: want -D NAME or -D NAME=VALUE");
            }
            options.defines.push((name.to_owned(), value.to_owned()));
        }
        options.includes.extend(self.include.iter().cloned());
        options.assume.clone_from(&self.assume);
        options.driver.clone_from(&self.driver);
        Ok(options)
    }
}

/// Build options as a launch file has them. If it lies `elsewhere` than the working folder, folders are made absolute.
///
/// # Errors
/// A definition or a folder contains a space.
pub(crate) fn options_text(options: &BuildOptions, elsewhere: bool) -> Result<String> {
    let mut words: Vec<String> = Vec::new();
    for (name, value) in &options.defines {
        words.push(if value == "1" { format!("-D {name}") } else { format!("-D {name}={value}") });
    }
    for folder in &options.includes {
        let folder = if elsewhere { absolute(folder)? } else { folder.clone() };
        words.push(format!("-I {folder}"));
    }
    if let Some(spaced) = words.iter().find(|word| word[3..].contains(' ')) {
        bail!("`{spaced}` contains a space, which options in a launch file cannot contain");
    }
    words.extend(options.flags.iter().cloned());
    Ok(words.join(" "))
}

/// The absolute path of a file or a folder.
pub(super) fn absolute(path: &str) -> Result<String> {
    let absolute =
        std::path::absolute(path).with_context(|| format!("{path}: the working folder is not known"))?;
    Ok(absolute.display().to_string())
}

/// Options of a launch. They take precedence over a launch file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LaunchOptions {
    /// Kernel [default: the one that the launch file names, else the only one; analyze and simulate take all].
    #[arg(short, long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Value of a number argument, such as width=1024 or factor=0.5; may be repeated.
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument)]
    pub(crate) arguments: Vec<(String, Number)>,
    /// Global work size: work-items in each dimension [default: the launch file's].
    #[arg(long, value_name = "N[,N[,N]]", value_delimiter = ',', num_args = 1)]
    pub(crate) global: Vec<usize>,
    /// Work-group size: work-items in each dimension [default: the launch file's, else the driver's choice].
    #[arg(long, value_name = "N[,N[,N]]", value_delimiter = ',', num_args = 1)]
    pub(crate) local: Vec<usize>,
    #[command(flatten)]
    pub(crate) build: BuildArgument,
}

/// A number argument of the command line.
fn argument(text: &str) -> Result<(String, Number), String> {
    let (name, value) = text.split_once('=').ok_or("want NAME=VALUE, such as width=1024")?;
    let value = value.trim();
    let number = match value.parse::<i128>() {
        Ok(integer) => Number::Integer(integer),
        Err(_) => Number::Float(value.parse().map_err(|_| format!("`{value}` is not a number"))?),
    };
    Ok((name.trim().to_owned(), number))
}

impl LaunchOptions {
    /// Checks what does not depend on the kernel.
    ///
    /// # Errors
    /// A size is 0, or there are more than three.
    pub(super) fn check(&self) -> Result<()> {
        for (name, sizes) in [("global", &self.global), ("local", &self.local)] {
            if sizes.contains(&0) {
                bail!("--{name} 0: sizes are numbers of work-items, at least 1");
            }
            if sizes.len() > 3 {
                bail!("--{name}: a launch has 1 to 3 dimensions, not {}", sizes.len());
            }
        }
        Ok(())
    }

    /// The options that are given, by name.
    pub(super) fn given(&self) -> String {
        let BuildArgument { define, include, options, assume, driver } = &self.build;
        let all = [
            ("-k", self.kernel.is_some()),
            ("--arg", !self.arguments.is_empty()),
            ("--global", !self.global.is_empty()),
            ("--local", !self.local.is_empty()),
            ("-D", !define.is_empty()),
            ("-I", !include.is_empty()),
            ("--options", !options.is_empty()),
            ("--assume", !assume.is_empty()),
            ("--driver", driver.is_some()),
        ];
        let given: Vec<&str> = all.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
        given.join(", ")
    }

    /// What the sizes of a launch file depend on, with `more` build options.
    pub(super) fn overrides(&self, more: &BuildOptions) -> Overrides {
        Overrides { defines: more.defines.clone(), numbers: self.arguments.clone() }
    }

    /// The range of a launch file with the sizes of the command line; `None` if neither has a global size.
    ///
    /// # Errors
    /// The work-group has more dimensions than the launch.
    pub(super) fn range(&self, described: Option<NdRange>) -> Result<Option<NdRange>> {
        let base = if self.global.is_empty() {
            let Some(range) = described else { return Ok(None) };
            range
        } else {
            let range = match self.global[..] {
                [x] => NdRange::d1(x),
                [x, y] => NdRange::d2(x, y),
                _ => NdRange::d3(self.global[0], self.global[1], self.global[2]),
            };
            let local = described.and_then(|described| described.local_size());
            let [x, y, z] = described.map_or([0; 3], |described| described.global_offset());
            let range = range.offset(x, y, z);
            local.map_or(range, |[x, y, z]| range.local(x, y, z))
        };
        if self.local.is_empty() { Ok(Some(base)) } else { with_local(base, &self.local).map(Some) }
    }

    /// Sets the numbers that the command line gives in the launch file of a kernel with parameters of these names. One
    /// that the kernel does not have is left out.
    ///
    /// # Errors
    /// An argument is not a number.
    pub(super) fn adjust(&self, file: &mut LaunchFile, kernel: &str, parameters: &[&str]) -> Result<()> {
        for (name, number) in &self.arguments {
            let named = |position: usize| file.arguments[position].name.as_deref() == Some(name);
            let position = parameters.iter().position(|parameter| parameter == name);
            let position = position.or_else(|| (0..file.arguments.len()).find(|position| named(*position)));
            let Some(entry) = position.and_then(|position| file.arguments.get_mut(position)) else {
                continue;
            };
            let Given::Value { numbers, .. } = &mut entry.given else {
                bail!("--arg {name}: argument `{name}` of kernel `{kernel}` is not a number");
            };
            numbers.fill(*number);
        }
        Ok(())
    }

    /// Checks that every argument that the command line gives is among those of the kernels: the kernels, and the
    /// names of their parameters.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn check_names(&self, kernels: &[(&str, Vec<&str>)]) -> Result<()> {
        let names = || kernels.iter().flat_map(|(_, names)| names).copied().filter(|name| !name.is_empty());
        let Some((missing, _)) = self.arguments.iter().find(|(name, _)| names().all(|known| known != name))
        else {
            return Ok(());
        };
        let whose = match kernels {
            [(kernel, _)] => format!("kernel `{kernel}` has no such argument"),
            _ => "no kernel has such an argument".to_owned(),
        };
        let near = nearest(missing, names());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        bail!("--arg {missing}: {whose}; it has {}{near}", names().collect::<Vec<_>>().join(", "));
    }

    /// Checks that the options suit kernels: every argument is a number of one of them, and the work-group size is the
    /// one that they require.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn check_kernels(&self, kernels: &[&Kernel]) -> Result<()> {
        for kernel in kernels {
            let Some(required) = kernel.required_local_size else { continue };
            let at = |dimension: usize| self.local.get(dimension).copied().unwrap_or(1);
            if !self.local.is_empty() && [at(0), at(1), at(2)] != required.map(|size| size as usize) {
                let shown = |sizes: &[String]| sizes.join(",");
                bail!(
                    "--local {}: kernel `{}` requires work-groups of {} (reqd_work_group_size)",
                    shown(&self.local.iter().map(ToString::to_string).collect::<Vec<_>>()),
                    kernel.name,
                    shown(&required.map(|size| size.to_string()))
                );
            }
        }
        let named = |kernel: &&'_ Kernel| {
            (kernel.name.clone(), kernel.parameters.iter().map(|parameter| parameter.name.clone()).collect())
        };
        let all: Vec<(String, Vec<String>)> = kernels.iter().map(named).collect();
        let all: Vec<(&str, Vec<&str>)> = all
            .iter()
            .map(|(kernel, names)| (kernel.as_str(), names.iter().map(String::as_str).collect()))
            .collect();
        self.check_names(&all)?;
        for (name, number) in &self.arguments {
            for kernel in kernels {
                let Some(parameter) = kernel.parameters.iter().find(|parameter| parameter.name == *name)
                else {
                    continue;
                };
                let scalar = match parameter.kind {
                    ParameterKind::Value(ty) => ty.scalar(),
                    _ => None,
                };
                let Some(scalar) = scalar else { bail!("--arg {name}: argument `{name}` is not a number") };
                if let (false, Number::Float(value)) = (scalar.is_float(), number) {
                    bail!("--arg {name}={value}: argument `{name}` is an integer");
                }
            }
        }
        Ok(())
    }
}

/// A range in work-groups of a given size.
pub(super) fn with_local(range: NdRange, local: &[usize]) -> Result<NdRange> {
    if local.len() > range.dimensions() {
        bail!("a work-group of {} dimensions in a launch of {}", local.len(), range.dimensions());
    }
    let at = |dimension: usize| local.get(dimension).copied().unwrap_or(1);
    Ok(range.local(at(0), at(1), at(2)))
}
