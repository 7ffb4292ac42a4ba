//! The folder of a captured enqueue.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tripipe_launch::{NdRange, Source};

use crate::error::{CaptureError, shown};

/// A captured enqueue, without the contents of its memory.
#[derive(Clone, Debug)]
pub struct Enqueue {
    /// Its folder.
    pub folder: PathBuf,
    /// Its number among the application's enqueues.
    pub number: u64,
    /// The kernel's name.
    pub kernel: String,
    /// The program.
    pub source: Source,
    /// The file that the program was read from.
    pub program: PathBuf,
    /// Its build options.
    pub options: String,
    /// Number of work-items, and the work-group size if the application chose one.
    pub range: NdRange,
    /// Files of memory before and after, by argument.
    pub(super) before: BTreeMap<usize, PathBuf>,
    pub(super) after: BTreeMap<usize, PathBuf>,
}

/// The captured enqueues in a folder, in the order in which they were enqueued. The folder is the layer's dump folder,
/// its folder `Replay`, or that of an enqueue.
///
/// # Errors
/// It cannot be read, or has none.
pub fn find(folder: &Path) -> Result<Vec<PathBuf>, CaptureError> {
    if is_enqueue(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let replay = folder.join("Replay");
    let folder_of_all = if replay.is_dir() { replay } else { folder.to_owned() };
    let mut found: Vec<(u64, PathBuf)> = entries(&folder_of_all)?
        .into_iter()
        .filter(|path| is_enqueue(path))
        .map(|path| (number_of(&path).unwrap_or(u64::MAX), path))
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(CaptureError::None { folder: shown(folder) });
    }
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn is_enqueue(folder: &Path) -> bool {
    folder.join("worksizes.txt").is_file() || (number_of(folder).is_some() && folder.join("Pre").is_dir())
}

/// The number in `Enqueue_12_scale`.
fn number_of(folder: &Path) -> Option<u64> {
    let name = folder.file_name()?.to_str()?.strip_prefix("Enqueue_")?;
    name.split('_').next()?.parse().ok()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, CaptureError> {
    let failed = |error| CaptureError::read(folder, error, "check the path and its permissions");
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// A file of the capture.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, CaptureError> {
    fs::read(path).map_err(|error| {
        CaptureError::read(path, error, "was the whole folder copied? Else capture the enqueue again")
    })
}

/// A text of the capture.
pub(super) fn text(path: &Path) -> Result<String, CaptureError> {
    String::from_utf8(bytes(path)?)
        .map_err(|_| CaptureError::malformed(path, "bytes that are not UTF-8", "text"))
}

impl Enqueue {
    /// Reads the folder of an enqueue, but not the contents of its memory.
    ///
    /// # Errors
    /// A file is missing, cannot be read, or does not have the layer's format.
    pub fn read(folder: &Path) -> Result<Self, CaptureError> {
        let at = |name: &str| folder.join(name);
        let range = range(&at("worksizes.txt"))?;
        let number_file = at("enqueueNumber.txt");
        let number = text(&number_file)?;
        let number = number.trim().parse().map_err(|_| {
            CaptureError::malformed(&number_file, format!("`{}`", number.trim()), "the number of the enqueue")
        })?;
        let name_file = at("kernelName.txt");
        let kernel = text(&name_file)?.trim().to_owned();
        if kernel.is_empty() {
            return Err(CaptureError::malformed(&name_file, "nothing", "the kernel's name"));
        }
        let (program, source) = program(folder)?;
        // The layer leaves a line of its own if the driver does not return the options.
        let options = text(&at("buildOptions.txt"))?.trim().trim_end_matches('\0').trim().to_owned();
        Ok(Self {
            folder: folder.to_owned(),
            number,
            kernel,
            source,
            program,
            options,
            range,
            before: memory(&at("Pre"))?,
            after: memory(&at("Post"))?,
        })
    }

    /// A file of the folder.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The program; source before SPIR-V, because its findings have lines.
fn program(folder: &Path) -> Result<(PathBuf, Source), CaptureError> {
    let path = folder.join("kernel.cl");
    if path.is_file() {
        let text = text(&path)?;
        // Drivers return the source with its terminating zero.
        let text = text.trim_end_matches('\0');
        if text.contains('\0') {
            return Err(CaptureError::malformed(&path, "a zero within the text", "OpenCL C"));
        }
        if !text.trim().is_empty() {
            return Ok((path, Source::OpenClC(text.to_owned().into())));
        }
    }
    let path = folder.join("kernel.spv");
    if path.is_file() {
        let module = bytes(&path)?;
        if module.len() < 20 || !module.len().is_multiple_of(4) {
            return Err(CaptureError::malformed(&path, format!("{} bytes", module.len()), "a SPIR-V module"));
        }
        return Ok((path, Source::SpirV(module.into())));
    }
    Err(CaptureError::OnlyBinary { folder: shown(folder) })
}

fn range(path: &Path) -> Result<NdRange, CaptureError> {
    let text = text(path)?;
    let malformed = |found: String, want: &str| CaptureError::malformed(path, found, want);
    let mut lines = text.lines();
    let mut sizes = |what: &str| {
        let line = lines.next().unwrap_or_default();
        line.split_whitespace()
            .map(str::parse)
            .collect::<Result<Vec<usize>, _>>()
            .map_err(|_| malformed(format!("`{line}`"), what))
    };
    let global = sizes("the global size, numbers of work-items")?;
    let local = sizes("the local size, numbers of work-items")?;
    let offset = sizes("the global offset")?;
    if !(1..=3).contains(&global.len()) || global.contains(&0) {
        return Err(malformed(format!("the global size {global:?}"), "1 to 3 numbers of at least 1"));
    }
    for (what, numbers) in [("local size", &local), ("offset", &offset)] {
        if numbers.len() != global.len() {
            let want = format!("{} numbers, as the global size has", global.len());
            return Err(CaptureError::malformed(path, format!("the {what} {numbers:?}"), want));
        }
    }
    let mut range = match global[..] {
        [x] => NdRange::d1(x),
        [x, y] => NdRange::d2(x, y),
        _ => NdRange::d3(global[0], global[1], global[2]),
    };
    let at = |sizes: &[usize], dimension: usize, absent| sizes.get(dimension).copied().unwrap_or(absent);
    if local.iter().all(|size| *size > 0) {
        range = range.local(at(&local, 0, 1), at(&local, 1, 1), at(&local, 2, 1));
    } else if local.iter().any(|size| *size > 0) {
        return Err(malformed(format!("the local size {local:?}"), "all zero, for NULL, or none"));
    }
    Ok(range.offset(at(&offset, 0, 0), at(&offset, 1, 0), at(&offset, 2, 0)))
}

/// The files of memory in `Pre` or `Post`, by argument. The layer makes no folder for a kernel without memory.
fn memory(folder: &Path) -> Result<BTreeMap<usize, PathBuf>, CaptureError> {
    let mut found = BTreeMap::new();
    if !folder.exists() {
        return Ok(found);
    }
    for path in entries(folder)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A kernel's name may itself contain `_Arg_`.
        let argument = name.rsplit_once("_Arg_").and_then(|(_, rest)| rest.split('_').next());
        let Some(argument) = argument.and_then(|number| number.parse().ok()) else { continue };
        found.insert(argument, path);
    }
    Ok(found)
}
