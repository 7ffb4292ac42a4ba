//! `tripipe import`: launch files of what an application ran on its device.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use tripipe_capture::intercept::{self, Declared, Enqueue, ImageKind};
use tripipe_capture::{Recorded, RecordedArgument};
use tripipe_ir::{ImageDim, ImageType, Kernel, Op, ParameterKind, Scalar, Type, Value, ValueDef};
use tripipe_launch::Source;
use tripipe_launch_file::{BuildOptions, ElementType, Signature};

use super::note;
use crate::files::folder;
use crate::finish::Finish;
use crate::launch_input::{BuildArgument, Description, options_text};
use crate::progress::Progress;
use crate::terminal;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe import CLIntercept_Dump/app
  tripipe import CLIntercept_Dump/app --kernel blur -o blur-launches
  tripipe run-kernel launches/Enqueue_0_blur/launch.toml";

/// Make launch files of the enqueues that the OpenCL intercept layer captured from an application.
///
/// What was in memory before an enqueue becomes the inputs of its launch file, and what was there afterwards becomes
/// what the file expects. `tripipe run-kernel`, `check` and `verdict` run the files. docs/capture.md describes
/// step by step how to capture an application on a phone.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Import {
    /// The layer's dump folder, its folder Replay, or the folder `Enqueue_N_KERNEL` of one enqueue.
    #[arg(value_name = "DIR")]
    capture: PathBuf,
    /// New folder for the launch files, one folder for each enqueue.
    #[arg(short, long, value_name = "FOLDER", default_value = "launches")]
    output: PathBuf,
    /// Import only enqueues of this kernel; may be repeated.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Import only the enqueue with this number; may be repeated.
    #[arg(long, value_name = "N")]
    enqueue: Vec<u64>,
    #[command(flatten)]
    build: BuildArgument,
}

impl Import {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        folder::check(&self.output)?;
        let more = self.build.options()?;
        let progress = Progress::compiler("reading the capture");
        let mut files = Vec::new();
        let mut lines = Vec::new();
        for path in intercept::find(&self.capture)? {
            let enqueue = Enqueue::read(&path)?;
            let wanted = (self.kernel.is_empty() || self.kernel.contains(&enqueue.kernel))
                && (self.enqueue.is_empty() || self.enqueue.contains(&enqueue.number));
            if !wanted {
                continue;
            }
            progress.say(&format!("importing enqueue {}, kernel {}", enqueue.number, enqueue.kernel));
            let recorded = recorded(&enqueue, &more)?;
            let own = PathBuf::from(path.file_name().unwrap_or(path.as_os_str()));
            lines.push(line(&self.output.join(&own), &recorded));
            let written = recorded.files().map_err(|error| {
                anyhow!("{} cannot be written as a launch file: {error}", enqueue.folder.display())
            })?;
            files.extend(written.into_iter().map(|(name, bytes)| (own.join(name), bytes)));
        }
        drop(progress);
        if files.is_empty() {
            bail!("{} has no captured enqueue that was asked for", self.capture.display());
        }
        folder::write(&self.output, &files)?;
        for line in lines {
            out.write_all(terminal::shown(line).as_bytes())?;
        }
        Ok(Finish::Clean)
    }
}

fn line(folder: &Path, recorded: &Recorded) -> String {
    let bytes: usize = recorded
        .arguments
        .iter()
        .map(|(_, argument)| match argument {
            RecordedArgument::Memory(memory) => memory.bytes(),
            _ => 0,
        })
        .sum();
    format!(
        "{}: {} of {:?}, {} arguments, {bytes} bytes of memory\n",
        folder.join("launch.toml").display(),
        recorded.kernel,
        recorded.range,
        recorded.arguments.len()
    )
}

/// The launch of an enqueue; `more` are build options of the command line.
fn recorded(enqueue: &Enqueue, more: &BuildOptions) -> Result<Recorded> {
    let path = enqueue.program.display().to_string();
    let (program, is_spirv) = match &enqueue.source {
        Source::SpirV(module) => (module.to_vec(), true),
        Source::OpenClC(text) => (text.to_string().into_bytes(), false),
        _ => bail!("{path} is neither OpenCL C nor SPIR-V"),
    };
    let options_file = enqueue.folder.join("buildOptions.txt");
    let mut options = BuildOptions::parse(&enqueue.options)
        .map_err(|reason| anyhow!("{}: {reason}; edit the file", options_file.display()))?;
    let mut left_out = Vec::new();
    options.flags.retain(|flag| {
        let known = is_of_opencl(flag);
        if !known {
            left_out.push(flag.clone());
        }
        known
    });
    for flag in &left_out {
        note(&format!("{}: `{flag}` is an option of the driver alone; left out", options_file.display()));
    }
    let mut merged = options.clone();
    if !is_spirv {
        merged.defines.extend(more.defines.iter().cloned());
        merged.includes.extend(more.includes.iter().cloned());
        merged.flags.extend(more.flags.iter().cloned());
    }
    let description = Description::of_read(path.clone(), program, is_spirv);
    let description = if is_spirv { description } else { description.built_with(merged.clone())? };
    let (_, loaded) = description
        .translate(None)
        .with_context(|| format!("{path} (folders of include files are given with -I)"))?;
    if let Some(refused) = loaded.refused.iter().find(|refused| refused.kernel == enqueue.kernel) {
        bail!("{path}: kernel `{}`: {}", refused.kernel, refused.error);
    }
    let kernels: Vec<_> = loaded.module.kernels.iter().map(Signature::of).collect();
    let kernel = loaded.module.kernel(&enqueue.kernel);
    let mut recorded = enqueue
        .recorded(&kernels, |index| kernel.map_or(Declared::default(), |kernel| declared(kernel, index)))?;
    recorded.options = options_text(&merged, true)?;
    Ok(recorded)
}

/// Whether a build option is one of OpenCL's, or of the compiler here.
fn is_of_opencl(flag: &str) -> bool {
    flag.starts_with("-cl-") || ["-w", "-Werror", "-g", "-x", "spir"].contains(&flag)
}

fn declared(kernel: &Kernel, index: usize) -> Declared {
    let none = Declared::default();
    match kernel.parameters.get(index).map(|parameter| &parameter.kind) {
        Some(ParameterKind::Value(Type::Image(image))) => {
            Declared { image: Some(image_kind(*image)), ..none }
        }
        Some(ParameterKind::Value(ty)) => Declared { value: element(*ty), ..none },
        Some(ParameterKind::Pointer { .. }) => Declared { pointee: pointee(kernel, index), ..none },
        _ => none,
    }
}

fn image_kind(image: ImageType) -> ImageKind {
    match (image.dim, image.array) {
        (ImageDim::D1, false) => ImageKind::D1,
        (ImageDim::D1, true) => ImageKind::D1Array,
        (ImageDim::Buffer, _) => ImageKind::Buffer,
        (ImageDim::D2, false) => ImageKind::D2,
        (ImageDim::D2, true) => ImageKind::D2Array,
        (ImageDim::D3, _) => ImageKind::D3,
    }
}

/// The type of the first access through a pointer parameter.
fn pointee(kernel: &Kernel, index: usize) -> Option<ElementType> {
    let parameter = *kernel.blocks[Kernel::ENTRY].parameters.get(index)?;
    let comes_from = |mut pointer: Value| loop {
        if pointer == parameter {
            return true;
        }
        let ValueDef::Result(inst) = kernel.values[pointer].def else { return false };
        let inst = &kernel.insts[inst];
        match (inst.op, inst.operands.first()) {
            (Op::Address(_) | Op::Bitcast | Op::SpaceCast { .. }, Some(base)) => pointer = *base,
            _ => return false,
        }
    };
    kernel.insts.values().find_map(|inst| {
        let accessed = match inst.op {
            Op::Load(_) => inst.result?,
            Op::Store(_) => *inst.operands.get(1)?,
            _ => return None,
        };
        if comes_from(*inst.operands.first()?) { element(kernel.ty(accessed)) } else { None }
    })
}

/// The type of a value, as OpenCL C names it.
fn element(ty: Type) -> Option<ElementType> {
    let name = match ty.scalar()? {
        Scalar::I8 => "char",
        Scalar::I16 => "short",
        Scalar::I32 => "int",
        Scalar::I64 => "long",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
        Scalar::Bool => return None,
    };
    let lanes = if ty.lanes() == 1 { String::new() } else { ty.lanes().to_string() };
    ElementType::from_opencl_name(&format!("{name}{lanes}"))
}
