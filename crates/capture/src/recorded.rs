//! A recorded launch, and its launch file.

use std::fmt::Write as _;

use tripipe_launch::{
    Addressing, Filter, ImageExtent, ImageShape, MemoryKind, NdRange, Sampler, Source, Value,
};
use tripipe_launch_file::{self as launch_file, ArrayShape, ElementType, FileError, Scalar, quoted};

/// A launch that ran on a device, with the memory before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Lines for the reader of the launch file, e.g. where it was captured.
    pub about: Vec<String>,
    /// The program.
    pub source: Source,
    /// Its build options.
    pub options: String,
    /// The kernel's name.
    pub kernel: String,
    /// Number of work-items, and the work-group size.
    pub range: NdRange,
    /// The arguments in order, each with its name; empty if unknown.
    pub arguments: Vec<(String, RecordedArgument)>,
}

/// An argument of a recorded launch.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedArgument {
    /// A buffer or an image.
    Memory(RecordedMemory),
    /// A scalar or vector by value.
    Value(Value),
    /// A struct by value.
    Bytes(Vec<u8>),
    /// Local memory of this many bytes.
    Local(usize),
    /// A sampler.
    Sampler(Sampler),
    /// `NULL` instead of a buffer.
    Null,
    /// The memory object of an earlier argument.
    SameAs(usize),
}

/// A buffer or an image before and after a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMemory {
    /// Its kind; a buffer's bytes are a multiple of the element's.
    pub kind: MemoryKind,
    /// The type of its numbers.
    pub element: ElementType,
    /// Its bytes before the launch; `None` if it was never written.
    pub before: Option<Vec<u8>>,
    /// Its bytes after the launch on the device; `None` if they are not known.
    pub after: Option<Vec<u8>>,
}

impl RecordedMemory {
    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        match &self.kind {
            MemoryKind::Image(shape) => shape.bytes(),
            MemoryKind::Buffer { bytes } => *bytes,
            _ => 0,
        }
    }

    /// The shape of its numbers.
    pub fn array(&self) -> ArrayShape {
        match &self.kind {
            MemoryKind::Image(shape) => ArrayShape::of_image(shape),
            _ => ArrayShape {
                element: self.element,
                extents: vec![self.bytes() / self.element.bytes().max(1)],
            },
        }
    }
}

/// Most bytes of a buffer whose numbers are written in the launch file itself.
const INLINE_BYTES: usize = 256;

impl Recorded {
    /// The launch file and the files that it refers to, by name; the launch file is the first.
    ///
    /// # Errors
    /// A launch file cannot describe it, e.g. an image that is not valid.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>, FileError> {
        self.files_named("launch.toml", "after")
    }

    /// The same for a launch file of another name; `after` is in the names of the files of expectations.
    ///
    /// # Errors
    /// As [`Self::files`].
    pub fn files_named(&self, launch: &str, after: &str) -> Result<Vec<(String, Vec<u8>)>, FileError> {
        let mut text = String::new();
        let mut files = Vec::new();
        for line in &self.about {
            let _ = writeln!(text, "# {line}");
        }
        let (key, name, bytes) = match &self.source {
            Source::SpirV(module) => ("spirv", "kernel.spv", module.to_vec()),
            Source::OpenClC(source) => ("source", "kernel.cl", source.to_string().into_bytes()),
            _ => ("source", "kernel.cl", Vec::new()),
        };
        let _ = writeln!(text, "{key} = {}", quoted(name));
        files.push((name.to_owned(), bytes));
        if !self.options.trim().is_empty() {
            let _ = writeln!(text, "options = {}", quoted(self.options.trim()));
        }
        let _ = writeln!(text, "kernel = {}", quoted(&self.kernel));
        let dimensions = self.range.dimensions();
        let sizes = |sizes: [usize; 3]| list(sizes[..dimensions].iter());
        let _ = writeln!(text, "global = {}", sizes(self.range.global_size()));
        if let Some(local) = self.range.local_size() {
            let _ = writeln!(text, "local = {}", sizes(local));
        }
        if self.range.global_offset() != [0; 3] {
            let _ = writeln!(text, "offset = {}", sizes(self.range.global_offset()));
        }
        for (index, (name, argument)) in self.arguments.iter().enumerate() {
            text.push_str("\n[[argument]]\n");
            if !name.is_empty() {
                let _ = writeln!(text, "name = {}", quoted(name));
            }
            write_argument(argument, index, after, &mut text, &mut files);
        }
        launch_file::parse(&text, launch)?;
        files.insert(0, (launch.to_owned(), text.into_bytes()));
        Ok(files)
    }
}

fn write_argument(
    argument: &RecordedArgument,
    index: usize,
    after_name: &str,
    text: &mut String,
    files: &mut Vec<(String, Vec<u8>)>,
) {
    // Writing to a string cannot fail.
    let _ = match argument {
        RecordedArgument::Memory(memory) => {
            write_memory(memory, index, after_name, text, files);
            Ok(())
        }
        RecordedArgument::Value(value) => {
            let numbers: Vec<String> = value
                .bytes()
                .chunks_exact(value.element().bytes())
                .take(value.lanes())
                .map(|bytes| number(Scalar::from_bytes(value.element(), bytes)))
                .collect();
            let numbers = match &numbers[..] {
                [only] => only.clone(),
                all => format!("[{}]", all.join(", ")),
            };
            writeln!(text, "type = \"{}\"\nvalue = {numbers}", value.opencl_name())
        }
        RecordedArgument::Bytes(bytes) => {
            let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let groups: Vec<String> = pairs.chunks(4).map(|word| word.join(" ")).collect();
            writeln!(text, "bytes = \"{}\"", groups.join("  "))
        }
        RecordedArgument::Local(bytes) => writeln!(text, "local = {bytes}"),
        RecordedArgument::Sampler(Sampler { normalized, addressing, filter }) => writeln!(
            text,
            "sampler = {{ normalized = {normalized}, addressing = \"{}\", filter = \"{}\" }}",
            match addressing {
                Addressing::None => "none",
                Addressing::ClampToEdge => "clamp-to-edge",
                Addressing::Clamp => "clamp",
                Addressing::Repeat => "repeat",
                Addressing::MirroredRepeat => "mirrored-repeat",
            },
            match filter {
                Filter::Nearest => "nearest",
                Filter::Linear => "linear",
            }
        ),
        RecordedArgument::Null => writeln!(text, "null = true"),
        RecordedArgument::SameAs(earlier) => writeln!(text, "same_as = {earlier}"),
    };
}

fn write_memory(
    memory: &RecordedMemory,
    index: usize,
    after_name: &str,
    text: &mut String,
    files: &mut Vec<(String, Vec<u8>)>,
) {
    let array = memory.array();
    let _ = match &memory.kind {
        MemoryKind::Image(shape) => writeln!(text, "image = {}", image(shape)),
        _ => writeln!(text, "buffer = \"{}\"\ncount = {}", memory.element, list(array.extents.iter())),
    };
    let contents = |bytes: &[u8], file: String, files: &mut Vec<(String, Vec<u8>)>| {
        if bytes.len() <= INLINE_BYTES && bytes.len() == array.bytes().unwrap_or(0) {
            let scalar = array.element.scalar();
            let numbers: Vec<Scalar> =
                array.numbers(bytes).map(|bytes| Scalar::from_bytes(scalar, bytes)).collect();
            // The bits of a NaN are lost in text.
            if !numbers.iter().any(|number| number.to_f64().is_nan()) {
                let first = numbers.first().copied();
                let all_same = numbers.len() > 1 && numbers.iter().all(|number| same_bits(*number, first));
                if let (true, Some(first)) = (all_same, first) {
                    return format!("fill = {}", number(first));
                }
                let shown: Vec<String> = numbers.into_iter().map(number).collect();
                return format!("values = [{}]", shown.join(", "));
            }
        }
        let line = format!("file = {}", quoted(&file));
        if !files.iter().any(|(name, _)| *name == file) {
            files.push((file, bytes.to_vec()));
        }
        line
    };
    if let Some(before) = &memory.before {
        let line = contents(before, format!("argument{index}.bin"), files);
        let _ = writeln!(text, "{line}");
    }
    if let Some(after) = &memory.after {
        let unchanged = memory.before.as_ref() == Some(after);
        let file = if unchanged {
            format!("argument{index}.bin")
        } else {
            format!("argument{index}.{after_name}.bin")
        };
        let line = contents(after, file, files);
        let _ = writeln!(text, "expect = {{ {line} }}");
    }
}

fn same_bits(number: Scalar, first: Option<Scalar>) -> bool {
    // Zeros have two signs.
    first == Some(number)
        && first.is_some_and(|first| first.to_f64().is_sign_negative() == number.to_f64().is_sign_negative())
}

/// A number as TOML.
fn number(number: Scalar) -> String {
    let shown = number.to_string();
    match shown.as_str() {
        "NaN" => "nan".to_owned(),
        _ => shown,
    }
}

fn list<'n>(numbers: impl Iterator<Item = &'n usize>) -> String {
    let numbers: Vec<String> = numbers.map(ToString::to_string).collect();
    match &numbers[..] {
        [only] => only.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

fn image(shape: &ImageShape) -> String {
    let extent = match shape.extent {
        ImageExtent::D1 { width } => format!("width = {width}"),
        ImageExtent::Buffer { width } => format!("width = {width}, over_buffer = true"),
        ImageExtent::D1Array { width, layers } => format!("width = {width}, layers = {layers}"),
        ImageExtent::D2 { width, height } => format!("width = {width}, height = {height}"),
        ImageExtent::D2Array { width, height, layers } => {
            format!("width = {width}, height = {height}, layers = {layers}")
        }
        ImageExtent::D3 { width, height, depth } => {
            format!("width = {width}, height = {height}, depth = {depth}")
        }
    };
    let plain = |name: &str| name.strip_prefix("CL_").unwrap_or(name).to_lowercase().replace('_', "-");
    format!(
        "{{ {extent}, order = \"{}\", channel = \"{}\" }}",
        plain(shape.order.opencl_name()),
        plain(shape.channel.opencl_name())
    )
}
