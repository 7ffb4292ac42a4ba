//! The text of a launch file for a kernel, as a starting point: the kernel's signature, and guesses for the rest.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use toml::Value as Toml;
use tripipe_ir::op::{Op, QueryKind};
use tripipe_ir::{
    ImageAccess, ImageDim, ImageType, Kernel, Parameter, ParameterKind, Scalar, Space, Type, TypeLayout,
};
use tripipe_launch_file::{ElementType, Number, ProgramFile, pointee};

use super::LaunchOptions;

/// Default sizes of a launch and of its work-groups, for 1, 2 and 3 dimensions.
const GLOBAL: [&[usize]; 3] = [&[1024], &[32, 32], &[16, 8, 8]];
const LOCAL: [&[usize]; 3] = [&[64], &[8, 8], &[4, 4, 4]];

/// Extent of an image in a dimension that the launch does not have, and the maximum in a dimension that it has.
const IMAGE_EXTENT: usize = 64;
const IMAGE_EXTENT_MAX: usize = 2048;

/// The least that each device has of constant memory: `CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE` in the OpenCL specification.
const CONSTANT_BYTES: u64 = 64 << 10;

/// Bytes for each work-item behind a pointer whose element type is unknown.
const UNTYPED_BYTES: u64 = 16;

/// The comment for everything that the kernel may write.
const DUMP: &str = "# dump = true  # shows it after the run\n";

/// Maximum bytes of a struct that are written out. Devices must accept 1024 bytes for all arguments together, and none
/// accepts this many.
const STRUCT_MAX: u64 = 1 << 16;

/// Bytes of a struct per line.
const BYTES_A_LINE: usize = 32;

/// Words in the names of integers that indicate a count, the most specific first: which extent of the launch is the
/// guess (`None` is the number 0), parts of names, and whole names.
const NAMES: [(Option<usize>, &[&str], &[&str]); 4] = [
    (Some(1), &["height", "rows"], &["h"]),
    (Some(2), &["depth", "slices"], &["d"]),
    (None, &["off", "start", "begin", "first", "shift", "pad"], &[]),
    (
        Some(0),
        &["width", "cols", "size", "len", "count", "num", "stride", "pitch", "step", "total", "elem", "_ld"],
        &["w", "n", "m", "k", "lda", "ldb", "ldc"],
    ),
];

/// A guessed launch of a kernel.
pub(crate) struct LaunchTemplate<'k> {
    kernel: &'k Kernel,
    global: Vec<usize>,
    /// The extent of the data in each dimension: the number of work-items, unless one work-item processes everything.
    extents: Vec<usize>,
    /// The work-group size, with its reason.
    local: Option<(Vec<usize>, &'static str)>,
    /// Values of number arguments that are given.
    given: &'k [(String, Number)],
    /// How many times as many elements as work-items a buffer has.
    growth: usize,
    /// The bytes that the kernel needs of the buffer of each argument, as far as known; 0 if one element for each work-item
    /// is enough.
    reach: &'k [u64],
}

impl<'k> LaunchTemplate<'k> {
    /// A launch of a kernel as the options say; without a global size, over as many dimensions as the kernel uses.
    ///
    /// # Errors
    /// The kernel requires a work-group size that does not divide the global one, or takes a struct larger than any
    /// device passes; the work-group has more dimensions than the launch.
    pub(crate) fn new(kernel: &'k Kernel, options: &'k LaunchOptions) -> Result<Self> {
        let template = Self::over(kernel, &options.global, &options.arguments)?;
        if options.local.is_empty() {
            return Ok(template);
        }
        template.with_local(&options.local)
    }

    /// A launch over `global` work-items, one to three numbers; if empty, over as many dimensions as the kernel uses.
    pub(super) fn over(kernel: &'k Kernel, global: &[usize], given: &'k [(String, Number)]) -> Result<Self> {
        for parameter in &kernel.parameters {
            if let ParameterKind::Struct { object } = parameter.kind
                && kernel.objects[object].bytes() > STRUCT_MAX
            {
                let (name, bytes) = (&parameter.name, kernel.objects[object].bytes());
                bail!(
                    "its argument `{name}` has {bytes} bytes; pass it in a buffer, because at most \
                    {STRUCT_MAX} can be passed by value"
                );
            }
        }
        let fixed = kernel.required_local_size.or(kernel.local_size_hint);
        let fixed = fixed.map(|size| size.map(|size| size as usize));
        // A kernel that never queries an id does the same in every work-item.
        let alone = fixed.is_none() && !operations(kernel).any(|inst| matches!(inst.op, Op::Query(_)));
        let extents: Vec<usize> = if global.is_empty() {
            let dimensions = dimensions(kernel, fixed);
            let groups = fixed.unwrap_or([1; 3]);
            let sizes = GLOBAL[dimensions - 1].iter().zip(groups);
            sizes.map(|(size, group)| size.next_multiple_of(group.max(1))).collect()
        } else {
            global.to_vec()
        };
        let global = if alone && global.is_empty() { vec![1] } else { extents.clone() };
        let dimensions = global.len();
        let divides = |[x, y, z]: [usize; 3]| {
            let sizes = global.iter().copied().chain([1, 1]);
            sizes.zip([x, y, z]).all(|(size, group)| size.is_multiple_of(group))
        };
        let local = match (kernel.required_local_size, fixed) {
            (Some([x, y, z]), Some(required)) if !divides(required) => {
                bail!("it requires work-groups of {x} x {y} x {z}; give --global multiples of that");
            }
            (Some(_), Some(required)) => Some((required[..dimensions].to_vec(), "the kernel requires it")),
            (None, Some(hint)) if divides(hint) => Some((
                hint[..dimensions].to_vec(),
                "the hint of the \
                kernel",
            )),
            _ if has_groups(kernel) => {
                let sizes = global.iter().zip(LOCAL[dimensions - 1]);
                let sizes = sizes.map(|(size, group)| common_divisor(*size, *group)).collect();
                Some((sizes, "a guess: the kernel works in groups, perhaps of a certain size"))
            }
            _ => None,
        };
        Ok(Self { kernel, global, extents, local, given, growth: 1, reach: &[] })
    }

    /// The same in work-groups of `local`; missing numbers are 1.
    ///
    /// # Errors
    /// The work-group has more dimensions than the launch.
    pub(super) fn with_local(self, local: &[usize]) -> Result<Self> {
        if local.len() > self.global.len() {
            bail!("a work-group of {} dimensions in a launch of {}", local.len(), self.global.len());
        }
        let local: Vec<usize> =
            (0..self.global.len()).map(|dimension| local.get(dimension).copied().unwrap_or(1)).collect();
        Ok(Self { local: Some((local, "given")), ..self })
    }

    /// The same with `growth` times as many elements in each buffer.
    pub(super) fn grown(self, growth: usize) -> Self {
        Self { growth, ..self }
    }

    /// The same with buffers of at least `reach` bytes, one number for each argument.
    pub(super) fn reaching(self, reach: &'k [u64]) -> Self {
        Self { reach, ..self }
    }

    /// Whether the kernel reaches so little behind one element for each work-item that it rather should not: at most an
    /// eighth more, as a window does that nothing keeps inside of the image. Not if a given number is the distance of
    /// rows that explains it.
    pub(super) fn is_rim(&self, index: usize, reach: u64) -> bool {
        let Some(ParameterKind::Pointer { pointee, .. }) =
            self.kernel.parameters.get(index).map(|parameter| &parameter.kind)
        else {
            return false;
        };
        let (items, reached) = (all(&self.extents), reach.div_ceil(pointee.bytes().max(1)));
        let columns = self.extents.first().map_or(1, |size| *size as u64);
        let is_pitch = |number: &Number| {
            let pitch = number.to_string().parse::<u64>().unwrap_or(0);
            pitch > columns && pitch.saturating_mul(items / columns.max(1)) >= reached
        };
        reached.saturating_sub(items) <= items / 8 && !self.given.iter().any(|(_, number)| is_pitch(number))
    }

    /// The text of the launch file. `source` and `options` are copied into it unchanged.
    pub(crate) fn text(&self, source: &ProgramFile, options: &str) -> String {
        let mut text = String::from(
            "# A template: sizes, numbers and contents are guesses. Replace them with the values that the \
            kernel is\n# written for. docs/launch-files.md lists all keys.\n",
        );
        let key = if matches!(source, ProgramFile::SpirV { .. }) { "spirv" } else { "source" };
        let _ = writeln!(text, "{key} = {}", quoted(source.path()));
        if !options.trim().is_empty() {
            let _ = writeln!(text, "options = {}", quoted(options.trim()));
        }
        let alone = if self.global == self.extents { "" } else { "  # the kernel uses no id" };
        let _ =
            writeln!(text, "kernel = {}\nglobal = {}{alone}", quoted(&self.kernel.name), sizes(&self.global));
        if let Some((local, why)) = &self.local {
            let _ = writeln!(text, "local = {}  # {why}", sizes(local));
        }
        for (index, parameter) in self.kernel.parameters.iter().enumerate() {
            text.push_str("\n[[argument]]\n");
            if !parameter.name.is_empty() {
                let _ = writeln!(text, "name = {}", quoted(&parameter.name));
            }
            text.push_str(&self.argument(index, parameter));
        }
        text
    }

    /// The value of an argument, one key per line.
    fn argument(&self, index: usize, parameter: &Parameter) -> String {
        // The type name goes into comments, which end with the line.
        let type_name = parameter.type_name.replace(char::is_control, " ");
        let type_name = type_name.as_str();
        match &parameter.kind {
            ParameterKind::Pointer { space: Space::Local, pointee, .. } => {
                let items = all(self.local.iter().flat_map(|(local, _)| local));
                let bytes = pointee.bytes().max(1).saturating_mul(items);
                let element = type_name.trim_end_matches('*');
                format!("local = {bytes}  # bytes: a `{element}` for each work-item of a group\n")
            }
            ParameterKind::Pointer { space, pointee, read_only, .. } => {
                let mut text = self.buffer(index, type_name, pointee, *space);
                if *read_only || *space == Space::Constant {
                    text.push_str("access = \"read\"\n");
                } else {
                    text.push_str(DUMP);
                }
                text
            }
            ParameterKind::Struct { object } => {
                let bytes = self.kernel.objects[*object].bytes() as usize;
                let zeros: Vec<String> =
                    vec!["00"; bytes].chunks(BYTES_A_LINE).map(|line| line.join(" ")).collect();
                let zeros = zeros.join("\n");
                format!("# `{type_name}`, padding included\nbytes = \"\"\"\n{zeros}\"\"\"\n")
            }
            ParameterKind::Value(Type::Image(image)) => self.image(index, *image),
            ParameterKind::Value(Type::Sampler) => String::from(
                "sampler = { normalized = false, addressing = \"clamp-to-edge\", filter = \"nearest\" }\n",
            ),
            ParameterKind::Value(ty) => self.value(&parameter.name, type_name, *ty),
        }
    }

    /// A buffer with one element for each work-item, or as many as it has grown to, or as the kernel reaches; constant
    /// memory has few.
    fn buffer(&self, index: usize, type_name: &str, layout: &TypeLayout, space: Space) -> String {
        let seed = index + 1;
        let each_bytes = layout.bytes().max(1);
        let most = if space == Space::Constant { CONSTANT_BYTES / each_bytes } else { u64::MAX };
        let wanted = all(&self.extents).saturating_mul(self.growth as u64);
        let reach = self.reach.get(index).copied().unwrap_or(0);
        let items = wanted.max(reach.div_ceil(each_bytes)).min(most);
        let is_far = items > wanted;
        let pointed_at = type_name.trim_end_matches('*').trim();
        let bytes_for = |bytes: u64, each: &str| {
            let count = wanted.min(most).saturating_mul(bytes);
            let (count, why) = match reach {
                reach if reach > count => (reach, "the kernel reaches this far".to_owned()),
                _ => (count, format!("{bytes} bytes for each {each}")),
            };
            format!("buffer = \"uchar\"\ncount = {count}  # {why}\nfill = 0\n")
        };
        if pointed_at == "void" {
            return bytes_for(UNTYPED_BYTES, "work-item");
        }
        let Some(element) = pointee(type_name).or_else(|| uniform(layout)) else {
            return bytes_for(layout.bytes().max(1), &format!("`{pointed_at}`, one per work-item"));
        };
        let numbers = (layout.bytes() / element.bytes() as u64).max(1);
        let is_one = self.global == self.extents && self.growth == 1 && items == wanted;
        let each = match (is_one, is_far) {
            (_, true) => "the kernel reaches this far".to_owned(),
            // True of a launch that is rewritten, too.
            (true, _) => {
                let extents: Vec<String> = self.extents.iter().map(usize::to_string).collect();
                format!("for {} work-items", extents.join(" x "))
            }
            _ => "a guess".to_owned(),
        };
        let (count, comment) = match numbers {
            1 => (items.to_string(), String::new()),
            _ => (format!("[{items}, {numbers}]"), format!(": a `{pointed_at}`")),
        };
        // Indices in a buffer are of work-items, however far the kernel reaches in it.
        let contents = match range(element, layout, items.min(wanted)) {
            None => format!("random = {{ seed = {seed}, low = 0, high = 1 }}"),
            Some(high) => format!("random = {{ seed = {seed}, low = 0, high = {high} }}"),
        };
        format!("buffer = \"{element}\"\ncount = {count}  # {each}{comment}\n{contents}\n")
    }

    /// An image of the launch's extents.
    fn image(&self, index: usize, image: ImageType) -> String {
        let extent = |dimension: usize| {
            self.extents.get(dimension).map_or(IMAGE_EXTENT, |size| (*size).min(IMAGE_EXTENT_MAX))
        };
        let mut keys = vec![format!("width = {}", extent(0))];
        let (dimensions, more) = match image.dim {
            ImageDim::D1 => (1, None),
            ImageDim::Buffer => (1, Some("over_buffer = true".to_owned())),
            ImageDim::D2 => (2, None),
            ImageDim::D3 => (3, Some(format!("depth = {}", extent(2)))),
        };
        if dimensions > 1 {
            keys.push(format!("height = {}", extent(1)));
        }
        keys.extend(more);
        if image.array {
            keys.push(format!("layers = {}", extent(dimensions)));
        }
        let texel = self.texel(index);
        let channel = match texel {
            Some(scalar) if scalar.is_int() => "unsigned-int8",
            Some(Scalar::F16) => "half-float",
            _ => "float",
        };
        keys.push(format!("order = \"{}\"", if image.depth { "depth" } else { "rgba" }));
        keys.push(format!("channel = \"{channel}\""));
        let high = if texel.is_some_and(Scalar::is_int) { 255 } else { 1 };
        let random = format!("random = {{ seed = {}, low = 0, high = {high} }}\n", index + 1);
        let image_keys = keys.join(", ");
        match image.access {
            ImageAccess::Read => format!("image = {{ {image_keys} }}\n{random}access = \"read\"\n"),
            ImageAccess::Write => format!("image = {{ {image_keys} }}\naccess = \"write\"\n{DUMP}"),
            ImageAccess::ReadWrite => format!("image = {{ {image_keys} }}\n{random}{DUMP}"),
        }
    }

    /// The texel type that the kernel reads from or writes to the image in argument `index`; `None` if it does
    /// neither.
    fn texel(&self, index: usize) -> Option<Scalar> {
        let kernel = self.kernel;
        let image = *kernel.blocks[Kernel::ENTRY].parameters.get(index)?;
        let mut texels = operations(kernel).filter(|inst| inst.operands.first() == Some(&image));
        texels.find_map(|inst| match inst.op {
            Op::ImageSample(_) | Op::ImageRead { .. } => kernel.ty(inst.result?).scalar(),
            Op::ImageWrite { .. } => kernel.ty(*inst.operands.get(2)?).scalar(),
            _ => None,
        })
    }

    /// A plausible number, the same in every lane.
    fn value(&self, name: &str, type_name: &str, ty: Type) -> String {
        let named = ElementType::from_opencl_name(type_name);
        let Some(element) = named.or_else(|| element(ty)) else {
            return format!("value = 0  # `{type_name}`\n");
        };
        let given = self.given.iter().rev().find(|(known, _)| known == name).map(|(_, number)| number);
        // TOML has lower-case letters in `nan` and `inf`.
        let given = given.map(|number| number.to_string().to_lowercase());
        let why = if given.is_some() { "given" } else { "a guess" };
        let number = match ty.scalar() {
            _ if given.is_some() => given.unwrap_or_default(),
            Some(scalar) if scalar.is_float() => String::from("0.5"),
            scalar => {
                // Signedness is unknown for some types.
                let most = scalar.map_or(u64::MAX, Scalar::mask) >> 1;
                self.count(name).min(most.max(1)).to_string()
            }
        };
        let value = match element.lanes() {
            1 => number,
            lanes => format!("[{}]", vec![number; lanes].join(", ")),
        };
        let element = if named.is_none() { format!("type = \"{element}\"\n") } else { String::new() };
        format!("{element}value = {value}  # `{type_name}`: {why}\n")
    }

    /// An integer by its name: an extent of the launch, 0 for an offset, and 1 for all others.
    fn count(&self, name: &str) -> u64 {
        let name = name.to_lowercase();
        let told = NAMES.iter().find(|(_, parts, whole)| {
            whole.contains(&name.as_str()) || parts.iter().any(|part| name.contains(part))
        });
        match told {
            Some((Some(dimension), ..)) => self.extents.get(*dimension).map_or(1, |size| *size as u64),
            Some((None, ..)) => 0,
            None => 1,
        }
    }
}

/// The number of dimensions that the kernel uses, 1 to 3.
fn dimensions(kernel: &Kernel, local: Option<[usize; 3]>) -> usize {
    let asked = operations(kernel).filter_map(|inst| match inst.op {
        Op::Query(query) if query.kind.has_dimension() => Some(usize::from(query.dimension) + 1),
        _ => None,
    });
    let grouped = local.and_then(|size| size.iter().rposition(|size| *size > 1)).map(|last| last + 1);
    asked.chain(grouped).max().unwrap_or(1)
}

/// Whether the kernel's behaviour depends on its work-groups.
fn has_groups(kernel: &Kernel) -> bool {
    let local =
        |parameter: &Parameter| matches!(parameter.kind, ParameterKind::Pointer { space: Space::Local, .. });
    kernel.parameters.iter().any(local)
        || kernel.objects.values().any(|object| object.space == Space::Local)
        || operations(kernel).any(|inst| match inst.op {
            Op::Barrier { .. } | Op::AsyncCopy { .. } | Op::Group(_) => true,
            Op::Query(query) => !matches!(
                query.kind,
                QueryKind::GlobalId
                    | QueryKind::GlobalSize
                    | QueryKind::GlobalOffset
                    | QueryKind::GlobalLinearId
                    | QueryKind::WorkDim
            ),
            _ => false,
        })
}

fn operations(kernel: &Kernel) -> impl Iterator<Item = &tripipe_ir::Instruction> {
    kernel.blocks.values().flat_map(|block| &block.insts).map(|inst| &kernel.insts[*inst])
}

/// The product of the sizes; the maximum if it overflows.
fn all<'s>(sizes: impl IntoIterator<Item = &'s usize>) -> u64 {
    sizes.into_iter().fold(1, |all: u64, size| all.saturating_mul(*size as u64))
}

/// The element type of a layout that consists of one number type without gaps; `None` for other layouts, and for those
/// too large to examine.
fn uniform(layout: &TypeLayout) -> Option<ElementType> {
    if let TypeLayout::Value(ty) = layout {
        return element(*ty);
    }
    if layout.bytes() > STRUCT_MAX {
        return None;
    }
    let (mut one, mut bytes) = (None, 0);
    let same = layout.leaves(0, &mut |_, ty| {
        bytes += u64::from(ty.bytes());
        matches!(ty, Type::Scalar(_) | Type::Vector(..)) && *one.get_or_insert(ty.scalar()) == ty.scalar()
    });
    let scalar = one??;
    (same && bytes == layout.bytes() && bytes > 1).then(|| element(Type::Scalar(scalar)))?
}

/// The element type of a number or vector whose type name is unknown; integers are unsigned.
fn element(ty: Type) -> Option<ElementType> {
    let scalar = match ty.scalar()? {
        Scalar::Bool | Scalar::I8 => "uchar",
        Scalar::I16 => "ushort",
        Scalar::I32 => "uint",
        Scalar::I64 => "ulong",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    };
    let lanes = Some(ty.lanes()).filter(|lanes| *lanes > 1).map(|lanes| lanes.to_string());
    ElementType::from_opencl_name(&format!("{scalar}{}", lanes.unwrap_or_default()))
}

/// The largest number to put into a buffer; `None` for floats. Integers may be indices, so they stay below `items`.
fn range(element: ElementType, layout: &TypeLayout, items: u64) -> Option<u64> {
    let most = match element.scalar().opencl_name() {
        "half" | "float" | "double" => return None,
        "char" => i8::MAX as u64,
        "uchar" => u8::MAX.into(),
        "short" => i16::MAX as u64,
        "ushort" => u16::MAX.into(),
        "int" => i32::MAX as u64,
        "uint" => u32::MAX.into(),
        // TOML has no larger integers.
        _ => i64::MAX as u64,
    };
    let is_bool = matches!(layout, TypeLayout::Value(ty) if ty.is_bool());
    let most = if is_bool { 1 } else { most };
    Some(items.saturating_sub(1).min(most))
}

/// The greatest common divisor, by Euclid's algorithm.
fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Sizes in TOML: `1024`, `[640, 480]`.
fn sizes(sizes: &[usize]) -> String {
    match sizes {
        [one] => one.to_string(),
        _ => format!("[{}]", sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A string in TOML syntax.
fn quoted(text: &str) -> String {
    Toml::from(text).to_string()
}
