//! `tripipe kernel`: the source that a choice of the library compiles to.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use tripipe_device::{Gpu, Probe};
use tripipe_ir::front::live;
use tripipe_kernels::filter::{self, Border, ChannelLayout, PixelType, Raster, Size};
use tripipe_kernels::gemm::{self, Accumulate, Elements, Gemm, OperandState, ProductExtents};
use tripipe_kernels::{Plan, source};
use tripipe_launch::{Program, Source};

use super::{did_you_mean, filter::parse_chain};
use crate::finish::Finish;
use crate::launch_input::{DEFAULT_GPU, gpu};
use crate::terminal;

/// Shown after the long help.
const EXAMPLES: &str = "Examples:
  tripipe kernel
  tripipe kernel gemm -m 1024 -n 1024 -k 1024 -g adreno-650
  tripipe kernel gaussian:5 --type u8 -g mali-t604
  tripipe kernel gray,median:5 --parameters \"8x4 loads=shared sums=narrow fuse=pixels\"
  tripipe kernel gemm/tile -D ROWS=8 -D VECTORS=2";

/// Print the OpenCL C that a matrix product or a filter compiles to on a GPU, with its comments.
///
/// The library's kernels are written for many types, sizes and GPUs. This prints the code of one choice: what the library
/// would choose for the GPU, or what --parameters and -D say. Branches that are not compiled are left out, and the output
/// compiles by itself. Nothing runs, so neither the GPU nor OpenCL is needed.
///
/// Without NAME the kernels are listed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Kernel {
    /// gemm (a matrix product), a filter or several with commas between (as in `tripipe filter`), or a program of the list.
    name: Option<String>,
    /// The GPU to choose for, e.g. mali-g77 or "Adreno 650".
    #[arg(short, long, value_name = "GPU", default_value = DEFAULT_GPU, value_parser = gpu)]
    gpu: &'static Gpu,
    /// Type of the elements: f32, f16 or i8 for gemm, u8, i16, u16, f16 or f32 for filters [default: f32, u8].
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<ElementType>,
    /// Rows of the product.
    #[arg(short, value_name = "ROWS", default_value_t = 1024)]
    m: usize,
    /// Columns of the product.
    #[arg(short, value_name = "COLUMNS", default_value_t = 1024)]
    n: usize,
    /// Columns of the left operand and rows of the right one.
    #[arg(short, value_name = "LENGTH", default_value_t = 1024)]
    k: usize,
    /// The left operand is stored transposed.
    #[arg(long)]
    transpose_a: bool,
    /// The right operand is stored transposed.
    #[arg(long)]
    transpose_b: bool,
    /// Width and height of the image.
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1920x1080", value_parser = extents)]
    size: Size,
    /// Channels of a pixel.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=4))]
    channels: u8,
    /// The channels are planes, not side by side.
    #[arg(long)]
    planar: bool,
    /// What windows see outside the image: none, constant[:VALUE], replicate, reflect, reflect101, wrap.
    #[arg(long, default_value_t = Border::Reflect101)]
    border: Border,
    /// Parameters instead of those that the library chooses, as `--explain` prints them.
    #[arg(long, value_name = "TEXT")]
    parameters: Option<String>,
    /// Which program to print, when several run [default: the first that computes, not one that packs].
    #[arg(long, value_name = "N")]
    program: Option<usize>,
    /// A macro of the program; may be given several times.
    #[arg(short = 'D', value_name = "KEY=VALUE", value_parser = define)]
    define: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ElementType {
    U8,
    I8,
    I16,
    U16,
    F16,
    F32,
}

fn extents(text: &str) -> Result<Size, String> {
    let both = text.split_once('x').and_then(|(x, y)| Some(Size::new(x.parse().ok()?, y.parse().ok()?)));
    both.filter(|both| both.width > 0 && both.height > 0)
        .ok_or_else(|| "want two numbers, as in 1920x1080".to_owned())
}

fn define(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("want KEY=VALUE, as in ROWS=8")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) || !key.chars().all(is_name) {
        return Err(format!("`{key}` is not the name of a macro"));
    }
    if value.chars().any(char::is_control) {
        return Err(format!("the value of {key} is not on one line"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// The macros that choose what a program compiles to, in alphabetical order: those that it is built with, and those
/// that its text defines if they are not.
fn macros(text: &str, definitions: &[(String, String)]) -> Vec<String> {
    let mut names: Vec<String> = definitions.iter().map(|(name, _)| name.clone()).collect();
    let mut default = false;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("#ifndef"), Some(name)) => {
                default = true;
                names.push(name.to_owned());
            }
            (Some("#ifdef"), Some(name)) => names.push(name.to_owned()),
            (Some("#define"), Some(name)) if default && !name.contains('(') => {
                names.push(name.to_owned());
            }
            (Some("#endif"), _) => default = false,
            _ => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

/// A program to print, and what is said above it.
struct Chosen {
    program: Program,
    /// Lines without the comment signs.
    says: Vec<String>,
}

impl Kernel {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let Some(name) = &self.name else {
            write!(out, "{}", terminal::shown(list()))?;
            return Ok(Finish::Clean);
        };
        let chosen = if let Some(sources) = source::all().find(|sources| sources.name == name) {
            if self.parameters.is_some() || self.program.is_some() {
                bail!("{name} is one program: choose with -D, not --parameters or --program");
            }
            Chosen { program: sources.program(), says: vec![format!("{}: {}.", sources.name, sources.about)] }
        } else {
            self.choose(name)?
        };
        let Chosen { mut program, mut says } = chosen;
        let Source::OpenClC(text) = &program.source else { bail!("{name} is SPIR-V, which has no source") };
        let text = text.clone();
        let known = macros(&text, &program.defines);
        for (key, value) in &self.define {
            if !known.contains(key) {
                let names: Vec<String> = known.iter().map(|name| name.to_lowercase()).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                match did_you_mean(key, &names).map(str::to_uppercase) {
                    Some(near) => bail!("{} has no macro {key}; did you mean {near}?", program.name),
                    None if known.is_empty() => bail!("{} has no macro {key}; it has none", program.name),
                    None => bail!("{} has no macro {key}; it has {}", program.name, known.join(", ")),
                }
            }
            program.defines.retain(|(defined, _)| defined != key);
            program.defines.push((key.clone(), value.clone()));
        }
        let text = live(text.parts().map(|part| (part.name, part.text)), &program.defines)?;
        if !program.options.is_empty() {
            says.push(format!("Build options: {}", program.options.join(" ")));
        }
        for line in says {
            writeln!(out, "// {}", terminal::shown(line))?;
        }
        write!(out, "\n{}", terminal::shown(text))?;
        Ok(Finish::Clean)
    }

    /// The program for a description on the GPU.
    fn choose(&self, name: &str) -> Result<Chosen> {
        let gpu = self.gpu;
        let probe = gpu.expected_probe();
        let (plan, says) =
            if name == "gemm" { self.gemm(gpu, &probe)? } else { self.filter(name, gpu, &probe)? };
        let mut programs: Vec<(Program, String)> = Vec::new();
        for launch in plan.preparation().iter().chain(plan.launches()) {
            if programs.iter().all(|(program, _)| *program != *launch.program) {
                programs.push((Program::clone(&launch.program), launch.entry.clone()));
            }
        }
        if programs.is_empty() {
            bail!("{name}: nothing to compute, so no program");
        }
        let default = programs.iter().position(|(program, _)| program.name != "gemm/packing").unwrap_or(0);
        let at = match self.program {
            None => default,
            Some(number) => number.checked_sub(1).filter(|at| *at < programs.len()).ok_or_else(|| {
                anyhow!("--program {number}: {} programs run, 1 to {}", programs.len(), programs.len())
            })?,
        };
        let mut lines = says;
        for (index, (program, entry)) in programs.iter().enumerate() {
            let here = if index == at { ", below" } else { "" };
            lines.push(format!("Program {}: {}, kernel {entry}{here}.", index + 1, program.name));
        }
        let (program, _) = programs.swap_remove(at);
        Ok(Chosen { program, says: lines })
    }

    fn gemm(&self, gpu: &Gpu, probe: &Probe) -> Result<(Plan<'static>, Vec<String>)> {
        let (elements, type_name) = match self.element.unwrap_or(ElementType::F32) {
            ElementType::F32 => (Elements::F32, "float"),
            ElementType::F16 => (Elements::F16(Accumulate::F32), "half, summed in float"),
            ElementType::I8 => (Elements::I8ToI32, "char, summed in int"),
            other => bail!("--type {}: a product is of f32, f16 or i8", name_of(other)),
        };
        let Self { m, n, k, .. } = *self;
        let mut description = Gemm::new(elements, ProductExtents { m, n, k });
        if self.transpose_a {
            description.a = gemm::Layout::row_major(m).transposed();
        }
        if self.transpose_b {
            description.b = gemm::Layout::row_major(k).transposed();
        }
        description.check()?;
        let (parameters, why) = if let Some(text) = &self.parameters {
            (text.parse::<gemm::Parameters>()?, "as requested".to_owned())
        } else {
            let choice = gemm::default_parameters(&description, probe);
            (choice.parameters, choice.why)
        };
        let plan = gemm::plan(&description, &parameters, probe, [OperandState::Changing; 2])?;
        let says = vec![
            format!("A matrix product of {type_name}, {m} x {k} times {k} x {n}, for the {}.", gpu.name()),
            format!("Parameters: {parameters} ({why})."),
        ];
        Ok((plan, says))
    }

    fn filter(&self, name: &str, gpu: &Gpu, probe: &Probe) -> Result<(Plan<'static>, Vec<String>)> {
        let element = match self.element.unwrap_or(ElementType::U8) {
            ElementType::U8 => PixelType::U8,
            ElementType::I16 => PixelType::I16,
            ElementType::U16 => PixelType::U16,
            ElementType::F16 => PixelType::F16,
            ElementType::F32 => PixelType::F32,
            ElementType::I8 => bail!("--type i8: images are of u8, i16, u16, f16 or f32"),
        };
        let chain = parse_chain(name, self.border).map_err(|error| {
            let programs: Vec<&str> = source::all().map(|sources| sources.name).collect();
            match did_you_mean(name, &programs).filter(|_| name.contains('/')) {
                Some(near) => anyhow!("there is no program `{name}`; did you mean {near}?"),
                None if name.contains('/') => {
                    anyhow!("there is no program `{name}` (`tripipe kernel` lists them)")
                }
                None if error.to_string().starts_with("there is no filter") => {
                    anyhow!("{error}; a kernel is also gemm, or a program that `tripipe kernel` lists")
                }
                None => error,
            }
        })?;
        let channels = usize::from(self.channels);
        let raster = if self.planar { Raster::planar } else { Raster::packed };
        let from = raster(self.size, channels, element);
        let to = chain.apply_to(&from)?;
        let (parameters, why) = if let Some(text) = &self.parameters {
            (text.parse::<filter::Parameters>()?, "as requested".to_owned())
        } else {
            let choice = filter::default_parameters(&chain, &from, probe);
            (choice.parameters, choice.why)
        };
        let plan = filter::plan(&chain, &from, &to, &parameters, probe)?;
        let layout = if from.layout == ChannelLayout::Planar { "planar" } else { "packed" };
        let says = vec![
            format!(
                "{chain} over {} pixels of {channels} {layout} channels, {element}, border {}, for the {}.",
                self.size,
                self.border,
                gpu.name()
            ),
            format!("Parameters: {parameters} ({why})."),
        ];
        Ok((plan, says))
    }
}

/// The name on the command line.
fn name_of(element: ElementType) -> String {
    element.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// What can be printed.
fn list() -> String {
    let mut text = "What the library chooses, for `tripipe kernel NAME -g GPU`:\n".to_owned();
    let _ = writeln!(text, "  {:<34} a matrix product", "gemm");
    let _ = writeln!(
        text,
        "  {:<34} a filter, or several with commas between",
        "laplace, gaussian:5, median:3, ..."
    );
    text.push_str("\nPrograms with their defaults, for `tripipe kernel NAME -D KEY=VALUE`:\n");
    for sources in source::all() {
        let _ = writeln!(text, "  {:<34} {}", sources.name, sources.about);
    }
    text
}
