//! Parsing of launch files.

use crate::compare::Tolerance;
use crate::contents::{Contents, Random};
use crate::element::{ArrayShape, ElementType, append, is_float};
use crate::error::{FileError, FileReason, error_at};
use crate::expression::{Names, Overrides};
use crate::given::{bytes, element, same_as, sampler, value};
use crate::options::BuildOptions;
use crate::sequence::Uses;
use crate::tuning::Chosen;
use crate::{Dump, Entry, Expect, Given, LaunchFile, Memory, MemoryShape, ProgramFile};
use crate::{range, tuning};
use tripipe_device::document::{Document, Item, Number, ReadReason, Table};
use tripipe_launch::{Access, ChannelOrder, ChannelType, ImageExtent, ImageShape};

/// More than any device supports: `CL_DEVICE_MAX_PARAMETER_SIZE` is some thousand bytes.
const ARGUMENTS_MAX: usize = 1024;
/// More than practical arrays have.
const DIMENSIONS_MAX: usize = 8;
/// File name extensions of pictures.
const PICTURES: [&str; 11] = ["png", "jpg", "jpeg", "ppm", "pgm", "pnm", "pam", "bmp", "tif", "tiff", "webp"];

const ROOT_KEYS: [&str; 11] = [
    "source", "spirv", "options", "assume", "driver", "kernel", "global", "local", "offset", "argument",
    "tune",
];
const CONTENT_KEYS: [&str; 7] = ["fill", "range", "random", "values", "file", "npy", "picture"];
/// The keys that determine an argument's kind.
const KINDS: [&str; 9] = ["buffer", "image", "value", "bytes", "local", "sampler", "null", "same_as", "use"];

/// Parses a launch file in the format of `docs/launch-files.md`. `name` is the file's name in messages. No other file
/// is read, and memory use is proportional to the text.
///
/// # Errors
/// [`FileError`] with line and column: not TOML, an unknown or missing key, a value of the wrong type, numbers that do
/// not fit their type or their array.
pub fn parse(text: &str, name: &str) -> Result<LaunchFile, FileError> {
    parse_with(text, name, &Overrides::default())
}

/// The same for sizes that depend on macros and arguments that the command line sets. The options and arguments of the
/// result are those of the file.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(text: &str, name: &str, overrides: &Overrides) -> Result<LaunchFile, FileError> {
    single(text, name, overrides, None)
}

/// The same with a combination of the values of its table `[tune]`, as text ([`crate::TuningPoints`]).
///
/// # Errors
/// As [`parse`]; the file has no such combination, or sizes are not possible with it.
pub fn parse_combination(
    text: &str,
    name: &str,
    overrides: &Overrides,
    combination: &str,
) -> Result<LaunchFile, FileError> {
    single(text, name, overrides, Some(combination))
}

fn single(
    text: &str,
    name: &str,
    overrides: &Overrides,
    combination: Option<&str>,
) -> Result<LaunchFile, FileError> {
    let document = Document::parse(text, name)?;
    let root = document.root("a launch file");
    if let Some(item) = root.get("launch") {
        return Err(error_at(&item, FileReason::Several { launches: item.items().count() }));
    }
    root.check_keys(&ROOT_KEYS)?;
    launch(&root, &root, name, overrides, combination, &mut Uses::default())
}

/// A launch of the program that `program` describes; `root` has the rest.
pub(crate) fn launch(
    program: &Table<'_>,
    root: &Table<'_>,
    name: &str,
    overrides: &Overrides,
    combination: Option<&str>,
    uses: &mut Uses<'_>,
) -> Result<LaunchFile, FileError> {
    let file = program.one_of(&["source", "spirv"])?;
    let path = file.string()?.to_owned();
    let source =
        if file.key() == "spirv" { ProgramFile::SpirV { path } } else { ProgramFile::OpenClC { path } };
    let mut options = match program.get("options") {
        Some(item) => {
            BuildOptions::parse(item.string_or_empty()?).map_err(|reason| error_at(&item, reason))?
        }
        None => BuildOptions::default(),
    };
    if let Some(item) = program.get("assume") {
        let names = item.list().ok_or_else(|| item.wrong_type("a list of names"))?;
        options.assume = names.map(|name| name.string().map(str::to_owned)).collect::<Result<_, _>>()?;
    }
    options.driver = program.get("driver").map(|item| item.string().map(str::to_owned)).transpose()?;
    let kernel = root.get("kernel");
    let numbers = numbers(root);
    let names = |options: &BuildOptions| Names::new(options, numbers.iter().cloned(), overrides);
    let Chosen { table, mut tuning, local } =
        tuning::chosen(root, combination, &mut options, overrides, names)?;
    let names = names(&options);
    let range = range::range(root, &names, local)?;
    if let (Some(tuning), Some(table)) = (&mut tuning, &table) {
        let own = range.local_size().map(|local| local[..range.dimensions()].to_vec());
        tuning.set_own_local(table, own.as_deref(), |item| {
            range::local_sizes(item, range.dimensions(), &names)
        })?;
    }
    let mut file = LaunchFile {
        name: name.to_owned(),
        source,
        options,
        kernel_location: kernel.as_ref().map_or_else(|| root.location(), Item::location),
        kernel: kernel.map(|item| item.string().map(str::to_owned)).transpose()?,
        range,
        arguments: Vec::new(),
        tuning,
    };
    for (index, item) in root.get("argument").iter().flat_map(Item::items).enumerate() {
        if index == ARGUMENTS_MAX {
            return Err(item.impossible(format!("at most {ARGUMENTS_MAX} arguments")).into());
        }
        let entry = argument(&item, index, &file.arguments, &names, uses)?;
        file.arguments.push(entry);
    }
    if let Some(table) = &table {
        let memory = file.arguments.iter().filter(|entry| matches!(entry.given, Given::Memory(_)));
        let known: Vec<&str> = memory.filter_map(|entry| entry.name.as_deref()).collect();
        tuning::check_compared(table, &known)?;
    }
    Ok(file)
}

/// The arguments that are single numbers, by name. What is wrong with others is reported where they are read.
fn numbers(root: &Table<'_>) -> Vec<(String, Number)> {
    let arguments = root.get("argument");
    let arguments = arguments.iter().flat_map(Item::items).take(ARGUMENTS_MAX);
    let number = |item: Item<'_>| {
        let table = item.as_table("an argument")?;
        Some((table.get("name")?.as_string()?.to_owned(), table.get("value")?.number().ok()?))
    };
    arguments.filter_map(number).collect()
}

fn argument(
    item: &Item<'_>,
    index: usize,
    before: &[Entry],
    names: &Names,
    uses: &mut Uses<'_>,
) -> Result<Entry, FileError> {
    let table = item.table(format!("argument {index}"))?;
    // A typing error in the key that determines the kind must be reported as such, not as a missing key.
    let all: Vec<&str> =
        [&["name"][..], &KINDS, &["count"], &CONTENT_KEYS, &["access", "dump", "expect", "type"]].concat();
    table.check_keys(&all)?;
    let kind = table.one_of(&KINDS)?;
    let of_its_kind: Vec<&'static str> = match kind.key() {
        "buffer" => [&["name", "buffer", "count"][..], &CONTENT_KEYS, &["access", "dump", "expect"]].concat(),
        "image" => [&["name", "image"][..], &CONTENT_KEYS, &["access", "dump", "expect"]].concat(),
        "value" => vec!["name", "value", "type"],
        key => ["name"].into_iter().chain(KINDS.into_iter().filter(|kind| *kind == key)).collect(),
    };
    let table = item.table(format!("argument {index} (`{}`)", kind.key()))?;
    table.check_keys(&of_its_kind)?;

    let given = match kind.key() {
        "buffer" => Given::Memory(buffer(&table, &kind, names)?),
        "image" => Given::Memory(image(&table, &kind, names)?),
        "value" => value(&table, &kind)?,
        "bytes" => Given::Bytes(bytes(&kind)?),
        "local" => Given::Local { bytes: names.whole(&kind, 1)? },
        "sampler" => Given::Sampler(sampler(&kind.table("`sampler`".to_owned())?)?),
        "null" => {
            kind.only_true()?;
            Given::Null
        }
        "use" => Given::Memory(uses.memory(&kind, index)?),
        _ => Given::SameAs { index: same_as(&kind, before)? },
    };
    let name = table.get("name").map(|name| name.string().map(str::to_owned)).transpose()?;
    Ok(Entry { name, location: table.location(), given })
}

fn buffer(table: &Table<'_>, kind: &Item<'_>, names: &Names) -> Result<Memory, FileError> {
    let element = element(kind)?;
    let count = table.get("count");
    let extents = count.map(|count| count.extents_by(DIMENSIONS_MAX, |item| names.whole(&item, 1)));
    let extents = extents.transpose()?;
    let stated = extents.map(|extents| ArrayShape { element, extents });
    let contents = contents(table, element, stated.as_ref())?;
    let extents = match (stated, &contents) {
        (Some(stated), _) => Some(stated.extents),
        (None, Contents::Values(numbers)) => Some(vec![numbers.len() / element.lanes()]),
        (None, Contents::File { .. } | Contents::Npy { .. } | Contents::Picture { .. }) => None,
        (None, _) => {
            return Err(tuning::table_error(
                table,
                FileReason::Unsized { name: table.name().to_owned(), keys: "count" },
            ));
        }
    };
    let array = extents.clone().map(|extents| ArrayShape { element, extents });
    memory(table, MemoryShape::Buffer { element, extents }, element, array.as_ref(), contents)
}

fn image(table: &Table<'_>, kind: &Item<'_>, names: &Names) -> Result<Memory, FileError> {
    let inner = kind.table("`image`".to_owned())?;
    inner.check_keys(&["width", "height", "depth", "layers", "over_buffer", "order", "channel"])?;
    let order =
        inner.must("order")?.word(ChannelOrder::ALL.map(|order| (plain_name(order.opencl_name()), order)))?;
    let channel = inner
        .must("channel")?
        .word(ChannelType::ALL.map(|channel| (plain_name(channel.opencl_name()), channel)))?;
    let extent = |key| inner.get(key).map(|item| names.whole(&item, 1)).transpose();
    let (width, height) = (extent("width")?, extent("height")?);
    // 1 for missing extents, so that an invalid format is reported in any case.
    let (some_width, some_height) = (width.unwrap_or(1), height.unwrap_or(1));
    let over_buffer = inner.get("over_buffer").map(|item| item.only_true()).transpose()?.is_some();
    let extent = match (height, inner.at_most_one_of(&["depth", "layers"])?) {
        (None, None) if over_buffer => ImageExtent::Buffer { width: some_width },
        (None, None) if width.is_some() => ImageExtent::D1 { width: some_width },
        (_, None) => ImageExtent::D2 { width: some_width, height: some_height },
        (_, Some(item)) => {
            let slices = names.whole(&item, 1)?;
            match (item.key(), height) {
                ("layers", None) => ImageExtent::D1Array { width: some_width, layers: slices },
                ("layers", Some(height)) => {
                    ImageExtent::D2Array { width: some_width, height, layers: slices }
                }
                _ => ImageExtent::D3 { width: some_width, height: some_height, depth: slices },
            }
        }
    };
    if over_buffer && !matches!(extent, ImageExtent::Buffer { .. }) {
        let second = if height.is_some() { "height" } else { "depth or layers" };
        let reason = ReadReason::Conflict {
            table: "`image`".to_owned(),
            first: "over_buffer".to_owned(),
            second: second.to_owned(),
        };
        return Err(inner.error(reason).into());
    }
    if matches!(extent, ImageExtent::D3 { .. }) && height.is_none() {
        let reason = ReadReason::MissingKey { table: "a 3D `image`".to_owned(), keys: vec!["height"] };
        return Err(inner.error(reason).into());
    }
    let shape = ImageShape { extent, order, channel };
    shape.check().map_err(|error| error_at(kind, error.into()))?;
    let element = ElementType::of_image(&shape);
    let array = width.map(|_| ArrayShape::of_image(&shape));
    let contents = contents(table, element, array.as_ref())?;
    let from_picture = matches!((&contents, extent), (Contents::Picture { .. }, ImageExtent::D2 { .. }));
    if array.is_none() && (!from_picture || height.is_some()) {
        let name = table.name().to_owned();
        return Err(error_at(kind, FileReason::Unsized { name, keys: "width" }));
    }
    let shape = MemoryShape::Image { extent: width.map(|_| extent), order, channel };
    memory(table, shape, element, array.as_ref(), contents)
}

/// OpenCL's name without `CL_`, in lower case, with hyphens: `CL_UNORM_INT8` is `unorm-int8`.
pub fn plain_name(name: &str) -> String {
    name.strip_prefix("CL_").unwrap_or(name).to_lowercase().replace('_', "-")
}

/// The parts that buffers and images have in common.
fn memory(
    table: &Table<'_>,
    shape: MemoryShape,
    element: ElementType,
    array: Option<&ArrayShape>,
    contents: Contents,
) -> Result<Memory, FileError> {
    let access = match table.get("access") {
        None => Access::ReadWrite,
        Some(item) => item.word([
            ("read".to_owned(), Access::Read),
            ("write".to_owned(), Access::Write),
            ("read-write".to_owned(), Access::ReadWrite),
        ])?,
    };
    let dump = table.get("dump").map(|item| dump(&item)).transpose()?.flatten();
    let expect = table.get("expect").map(|item| expect(&item, element, array)).transpose()?;
    Ok(Memory { shape, contents, access, dump, expect })
}

/// The contents given by one of the keys of `table`, checked as far as possible without other files.
fn contents(
    table: &Table<'_>,
    element: ElementType,
    array: Option<&ArrayShape>,
) -> Result<Contents, FileError> {
    let Some(item) = table.at_most_one_of(&CONTENT_KEYS)? else {
        return Ok(Contents::Unwritten);
    };
    let path = || item.string().map(str::to_owned);
    let contents = match item.key() {
        "fill" => {
            let numbers = item.numbers()?;
            if numbers.len() != 1 && numbers.len() != element.lanes() {
                let want = format!("the lanes of one `{element}`, {}", element.lanes());
                return Err(error_at(&item, FileReason::Numbers { found: numbers.len(), want }));
            }
            Contents::Fill(numbers)
        }
        "values" => {
            let numbers = item.numbers()?;
            let (found, lanes) = (numbers.len(), element.lanes());
            let (fits, want) = match array {
                Some(array) => {
                    let want = array.elements().and_then(|elements| elements.checked_mul(lanes));
                    let said = want.map_or("too many to count".to_owned(), |want| want.to_string());
                    (want == Some(found), format!("{array}, which take {said}"))
                }
                None => (
                    found > 0 && found.is_multiple_of(lanes),
                    format!("one or more `{element}` of {lanes} each"),
                ),
            };
            if !fits {
                return Err(error_at(&item, FileReason::Numbers { found, want }));
            }
            Contents::Values(numbers)
        }
        "range" => range_of_numbers(&item, element)?,
        "random" => random(&item, element)?,
        "file" => Contents::File { path: path()? },
        "npy" => Contents::Npy { path: path()? },
        _ => Contents::Picture { path: path()? },
    };
    check_fit(&contents, element)
        .map_err(|number| error_at(&item, FileReason::Misfit { number, element }))?;
    Ok(contents)
}

/// Returns the first explicitly given number that the element's type cannot represent.
fn check_fit(contents: &Contents, element: ElementType) -> Result<(), Number> {
    let mut bytes = Vec::new();
    for number in contents.written() {
        bytes.clear();
        if !append(number, element.scalar(), &mut bytes) {
            return Err(number);
        }
    }
    Ok(())
}

fn range_of_numbers(item: &Item<'_>, element: ElementType) -> Result<Contents, FileError> {
    let inner = item.table("`range`".to_owned())?;
    inner.check_keys(&["start", "step"])?;
    let number = |key, default| match inner.get(key) {
        None => Ok(Number::Integer(default)),
        Some(item) => match item.number()? {
            Number::Float(number) if !number.is_finite() => Err(item.impossible("a finite number")),
            Number::Float(_) if !is_float(element.scalar()) => {
                Err(item.impossible(format!("a whole number, for `{element}`")))
            }
            number => Ok(number),
        },
    };
    Ok(Contents::Range { start: number("start", 0)?, step: number("step", 1)? })
}

fn random(item: &Item<'_>, element: ElementType) -> Result<Contents, FileError> {
    let inner = item.table("`random`".to_owned())?;
    inner.check_keys(&["seed", "low", "high"])?;
    let seed = inner.get("seed").map(|item| item.whole(&(0..=u64::MAX))).transpose()?.unwrap_or(1);
    let bound = |key| match inner.get(key) {
        None => Ok(None),
        Some(item) => match item.number()? {
            Number::Float(number) if !number.is_finite() => Err(item.impossible("a finite number")),
            number => Ok(Some(number)),
        },
    };
    let random = Random { seed, low: bound("low")?, high: bound("high")? };
    let order = random.is_ordered(element.scalar());
    if !order {
        return Err(item
            .impossible("from `low` to `high`, with `low` <= `high` and a finite difference")
            .into());
    }
    Ok(Contents::Random(random))
}

fn dump(item: &Item<'_>) -> Result<Option<Dump>, FileError> {
    let Some(word) = item.as_string() else {
        return Ok(item.boolean()?.then_some(Dump::Text { hexadecimal: false }));
    };
    if word == "hex" {
        return Ok(Some(Dump::Text { hexadecimal: true }));
    }
    let path = item.string()?.to_owned();
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "bin" => Ok(Some(Dump::Raw { path })),
        "npy" => Ok(Some(Dump::Npy { path })),
        picture if PICTURES.contains(&picture) => Ok(Some(Dump::Picture { path })),
        _ => {
            let pictures = PICTURES.join(", .");
            let want = format!(
                "true, \"hex\", or a path that ends in .bin, .npy or a picture's ending (.{pictures})"
            );
            Err(item.impossible(want).into())
        }
    }
}

fn expect(item: &Item<'_>, element: ElementType, array: Option<&ArrayShape>) -> Result<Expect, FileError> {
    let inner = item.table("`expect`".to_owned())?;
    inner.check_keys(&[&CONTENT_KEYS[..], &["absolute", "relative", "ulp"]].concat())?;
    inner.one_of(&CONTENT_KEYS)?;
    let contents = contents(&inner, element, array)?;
    let size = |key| inner.get(key).map_or(Ok(0.0), |item| item.not_negative());
    let (absolute, relative) = (size("absolute")?, size("relative")?);
    let ulp = match inner.get("ulp") {
        Some(item) if !is_float(element.scalar()) => {
            return Err(item.impossible(format!("left out: `{element}` is not a float")).into());
        }
        Some(item) => item.whole(&(0..=u64::MAX))?,
        None => 0,
    };
    Ok(Expect { contents, tolerance: Tolerance { absolute, relative, ulp } })
}
