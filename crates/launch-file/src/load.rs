//! Loading of a launch file's arguments with their contents.

use std::sync::Arc;

use crate::compare::Tolerance;
use crate::contents::with_padding;
use crate::element::{ArrayShape, ElementType};
use crate::error::{FileError, FileReason};
use crate::picture::{self, Pixels};
use crate::resolve::{PARAMETER_MAX, ParameterKind, Passed, Signature};
use crate::{BytesFrom, Contents, Dump, LaunchFile, Memory, MemoryShape};
use tripipe_launch::{
    Access, Argument, ChannelOrder, ImageExtent, ImageShape, MemoryKind, NdRange, ScalarType,
};

/// Reads the files that a launch file names. Paths are as given in the launch file, relative to that file.
///
/// An error is one sentence that names the file and how to fix the problem. No result may have more than `at_most`
/// bytes: a larger file is an error, detected before it is read.
pub trait Files {
    /// All bytes of a file.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    fn bytes(&mut self, path: &str, at_most: u64) -> Result<Vec<u8>, String>;

    /// A `.npy` file.
    ///
    /// # Errors
    /// It cannot be read, is not an array of plain numbers, or is too large.
    fn array(&mut self, path: &str, at_most: u64) -> Result<Array, String>;

    /// A picture with 1, 2, 3 or 4 channels (gray, gray and alpha, RGB, RGBA), converted to `channels` channels if
    /// that is given.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    fn picture(&mut self, path: &str, channels: Option<usize>, at_most: u64) -> Result<Pixels, String>;
}

/// The files of a launch file that names none: each is missing.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn bytes(&mut self, path: &str, _: u64) -> Result<Vec<u8>, String> {
        Err(format!("no file {path}"))
    }

    fn array(&mut self, path: &str, _: u64) -> Result<Array, String> {
        Err(format!("no file {path}"))
    }

    fn picture(&mut self, path: &str, _: Option<usize>, _: u64) -> Result<Pixels, String> {
        Err(format!("no file {path}"))
    }
}

/// The numbers of a `.npy` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its extents; none for a single number.
    pub extents: Vec<usize>,
    /// The type of its numbers.
    pub scalar: ScalarType,
    /// The numbers in host order, the last extent varying fastest.
    pub bytes: Vec<u8>,
}

/// Limits on the resources of a launch file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Total bytes of all buffers and images, of their expected contents, and of local memory.
    pub bytes: u64,
}

impl Default for Limits {
    /// 4 GiB.
    fn default() -> Self {
        Self { bytes: 4 << 30 }
    }
}

/// A launch file with all contents, ready for any executor.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The kernel's name.
    pub kernel: String,
    /// Number of work-items, and the work-group size.
    pub range: NdRange,
    /// The arguments; memory objects by their index in `memory`.
    pub arguments: Vec<Argument<usize>>,
    /// The memory objects.
    pub memory: Vec<LoadedMemory>,
}

/// A memory object to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedMemory {
    /// The argument it is for, from 0.
    pub argument: usize,
    /// That argument's name.
    pub name: String,
    /// Buffer or image. An image over a buffer ([`ImageExtent::Buffer`]) gets its own buffer.
    pub kind: MemoryKind,
    /// The shape of its numbers.
    pub array: ArrayShape,
    /// The channels of an image.
    pub order: Option<ChannelOrder>,
    /// The access of kernels to it.
    pub access: Access,
    /// Its initial contents; `None` if it is unwritten.
    pub initial: Option<Vec<u8>>,
    /// How it is output after the run.
    pub dump: Option<Dump>,
    /// Its expected contents after the run, and the tolerance.
    pub expected: Option<(Vec<u8>, Tolerance)>,
}

impl LaunchFile {
    /// The arguments in the form that the kernel takes, with the contents of all memory. `kernels` lists all kernels
    /// of the program.
    ///
    /// # Errors
    /// [`FileError`] at the argument: no such kernel, an argument whose number, name, kind or type differs from the
    /// kernel's, a file that cannot be read or has the wrong contents, or more bytes than `limits` allow (detected
    /// before they are allocated).
    pub fn load(
        &self,
        kernels: &[Signature],
        files: &mut dyn Files,
        limits: Limits,
    ) -> Result<Loaded, FileError> {
        let signature = self.signature(kernels)?;
        let mut loader = Loader { files, limit: limits.bytes, used: 0 };
        let mut memory = Vec::new();
        // The memory object of each argument.
        let mut objects = Vec::new();
        let mut arguments = Vec::new();
        for (index, passed) in self.resolve(signature)?.into_iter().enumerate() {
            let at = |reason| self.error(self.arguments[index].location, reason);
            objects.push(None);
            arguments.push(match passed {
                Passed::Memory(described) => {
                    let name = self.name_of(index, &signature.parameters[index]);
                    memory.push(loader.memory(&described, index, name).map_err(at)?);
                    objects[index] = Some(memory.len() - 1);
                    Argument::Memory(memory.len() - 1)
                }
                Passed::SameAs(earlier) => {
                    Argument::Memory(objects.get(earlier).copied().flatten().ok_or_else(|| {
                        let found = format!("argument {earlier}");
                        at(FileReason::SameAs { found, reason: "is neither a buffer nor an image" })
                    })?)
                }
                Passed::Value(value) => Argument::Value(value),
                Passed::Bytes(bytes) => {
                    let parameter = &signature.parameters[index];
                    let name = self.name_of(index, parameter);
                    Argument::Bytes(loader.bytes(&bytes, &parameter.kind, name).map_err(at)?)
                }
                Passed::Local(bytes) => {
                    loader.take(Some(bytes)).map_err(at)?;
                    Argument::Local { bytes }
                }
                Passed::Sampler(sampler) => Argument::Sampler(sampler),
                Passed::Null => Argument::Null,
            });
        }
        Ok(Loaded { kernel: signature.kernel.clone(), range: self.range, arguments, memory })
    }
}

struct Loader<'f> {
    files: &'f mut dyn Files,
    limit: u64,
    used: u64,
}

impl Loader<'_> {
    /// Counts bytes that are about to be allocated.
    fn take(&mut self, bytes: Option<usize>) -> Result<(), FileReason> {
        let used = bytes.and_then(|bytes| self.used.checked_add(bytes as u64));
        match used {
            Some(used) if used <= self.limit => self.used = used,
            bytes => return Err(FileReason::TooLarge { bytes, limit: self.limit }),
        }
        Ok(())
    }

    fn left(&self) -> u64 {
        self.limit - self.used
    }

    /// The bytes of a struct.
    fn bytes(
        &mut self,
        from: &BytesFrom,
        kind: &ParameterKind,
        name: String,
    ) -> Result<Arc<[u8]>, FileReason> {
        let path = match from {
            BytesFrom::Written(bytes) => return Ok(Arc::clone(bytes)),
            BytesFrom::File { path } => path,
        };
        let bytes = self.files.bytes(path, PARAMETER_MAX as u64);
        let bytes = bytes.map_err(|message| FileReason::Other { message })?;
        match kind {
            ParameterKind::Opaque { bytes: Some(want), .. } if *want != bytes.len() => {
                Err(FileReason::Holds {
                    path: path.clone(),
                    found: format!("{} bytes", bytes.len()),
                    name,
                    want: kind.to_string(),
                    hint: String::new(),
                })
            }
            _ => Ok(bytes.into()),
        }
    }

    fn memory(
        &mut self,
        described: &Memory,
        argument: usize,
        name: String,
    ) -> Result<LoadedMemory, FileReason> {
        let (order, element, extents) = match &described.shape {
            MemoryShape::Buffer { element, extents } => (None, *element, extents.clone()),
            MemoryShape::Image { extent, order, channel } => {
                let some = extent.unwrap_or(ImageExtent::D2 { width: 1, height: 1 });
                let array =
                    ArrayShape::of_image(&ImageShape { extent: some, order: *order, channel: *channel });
                (Some(*order), array.element, extent.map(|_| array.extents))
            }
        };
        let (array, initial) = self.contents(&described.contents, element, extents, order, &name)?;
        let kind = match &described.shape {
            MemoryShape::Buffer { .. } => MemoryKind::Buffer { bytes: array.bytes().unwrap_or(0) },
            MemoryShape::Image { extent, order, channel } => {
                let extent = match (extent, &array.extents[..]) {
                    (Some(extent), _) => *extent,
                    (None, [height, width]) => ImageExtent::D2 { width: *width, height: *height },
                    (None, _) => {
                        return Err(FileReason::Unsized { name: format!("`{name}`"), keys: "width" });
                    }
                };
                MemoryKind::Image(ImageShape { extent, order: *order, channel: *channel })
            }
        };
        let expected = match &described.expect {
            None => None,
            Some(expect) => {
                let extents = Some(array.extents.clone());
                let (_, bytes) = self.contents(&expect.contents, element, extents, order, &name)?;
                bytes.map(|bytes| (bytes, expect.tolerance))
            }
        };
        let (access, dump) = (described.access, described.dump.clone());
        if let Some(Dump::Picture { path }) = &dump
            && picture::extents(&array).is_none()
        {
            return Err(FileReason::NoPicture { path: path.clone(), name, array });
        }
        Ok(LoadedMemory { argument, name, kind, array, order, access, initial, dump, expected })
    }

    /// The shape of an array and its contents.
    fn contents(
        &mut self,
        contents: &Contents,
        element: ElementType,
        extents: Option<Vec<usize>>,
        order: Option<ChannelOrder>,
        name: &str,
    ) -> Result<(ArrayShape, Option<Vec<u8>>), FileReason> {
        let unsized_array = || FileReason::Unsized { name: format!("`{name}`"), keys: "count" };
        let holds = |path: &str, found: String, want: String, hint: &str| FileReason::Holds {
            path: path.to_owned(),
            found,
            name: name.to_owned(),
            want,
            hint: hint.to_owned(),
        };
        let stated = extents.map(|extents| ArrayShape { element, extents });
        if let Some(array) = &stated {
            self.take(array.bytes())?;
        }
        let failed = |message| FileReason::Other { message };
        let stated_bytes = stated.as_ref().and_then(ArrayShape::bytes).map(|bytes| bytes as u64);
        match contents {
            Contents::File { path } => {
                let bytes = self.files.bytes(path, stated_bytes.unwrap_or(self.left())).map_err(failed)?;
                let array = if let Some(array) = stated {
                    array
                } else {
                    self.take(Some(bytes.len()))?;
                    ArrayShape { element, extents: vec![bytes.len() / element.bytes()] }
                };
                if bytes.is_empty() || array.bytes() != Some(bytes.len()) {
                    let want = format!("{array} ({} bytes)", array.bytes().unwrap_or(0));
                    return Err(holds(path, format!("{} bytes", bytes.len()), want, ""));
                }
                Ok((array, Some(bytes)))
            }
            Contents::Npy { path } => {
                let at_most = self.left() + stated_bytes.unwrap_or(0);
                let found = self.files.array(path, at_most).map_err(failed)?;
                let shown = ArrayShape {
                    element: ElementType::scalar_of(found.scalar),
                    extents: if found.extents.is_empty() { vec![1] } else { found.extents.clone() },
                };
                let want = || stated.as_ref().map_or_else(|| format!("`{element}`"), ToString::to_string);
                if found.scalar != element.scalar() {
                    let hint = format!("; save it as a.astype('{}')", numpy_name(element.scalar()));
                    return Err(holds(path, shown.to_string(), want(), &hint));
                }
                let numbers = shown.elements().unwrap_or(0);
                let mut own = shown.extents.clone();
                let lanes_fit = element.lanes() == 1 || own.pop() == Some(element.lanes());
                let array = match stated.clone() {
                    Some(array) => array,
                    None if lanes_fit => {
                        // A single vector.
                        let extents = if own.is_empty() { vec![1] } else { own };
                        let array = ArrayShape { element, extents };
                        self.take(array.bytes())?;
                        array
                    }
                    None => {
                        let hint = format!("; its last dimension must be the {} lanes", element.lanes());
                        return Err(holds(path, shown.to_string(), want(), &hint));
                    }
                };
                let wanted = array.elements().and_then(|elements| elements.checked_mul(element.lanes()));
                if numbers == 0 || wanted != Some(numbers) {
                    return Err(holds(path, shown.to_string(), array.to_string(), ""));
                }
                let bytes = with_padding(&array, found.bytes);
                Ok((array, Some(bytes)))
            }
            Contents::Picture { path } => {
                let wanted = stated.as_ref().map(|array| &array.extents[..]);
                let channels = picture::channels_for(element, wanted, order).map_err(|hint| {
                    holds(path, "a picture".to_owned(), format!("`{element}`"), &format!("; {hint}"))
                })?;
                let at_most = self.left() + stated_bytes.unwrap_or(0);
                let pixels = self.files.picture(path, channels, at_most).map_err(failed)?;
                let (width, height) = (pixels.width, pixels.height);
                let found = format!("{width}x{height} pixels of {} channels", pixels.channels);
                let array = if let Some(array) = stated {
                    array
                } else {
                    let mut extents = vec![height, width];
                    if element.lanes() == 1 && pixels.channels > 1 {
                        extents.push(pixels.channels);
                    }
                    let array = ArrayShape { element, extents };
                    self.take(array.bytes())?;
                    array
                };
                let right = match &array.extents[..] {
                    [rows, columns] | [rows, columns, _] => (*rows, *columns) == (height, width),
                    _ => true,
                };
                let numbers = array.elements().and_then(|elements| elements.checked_mul(element.lanes()));
                if !right || numbers != Some(pixels.bytes.len()) {
                    return Err(holds(path, found, array.to_string(), ""));
                }
                let numbers = picture::numbers(element.scalar(), order, pixels.bytes);
                let bytes = with_padding(&array, numbers);
                Ok((array, Some(bytes)))
            }
            generated => {
                let array = stated.ok_or_else(unsized_array)?;
                let bytes = generated
                    .generate(&array)
                    .map_err(|misfit| FileReason::Misfit { number: misfit.number, element })?;
                Ok((array, bytes))
            }
        }
    }
}

fn numpy_name(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::I8 => "int8",
        ScalarType::U8 => "uint8",
        ScalarType::I16 => "int16",
        ScalarType::U16 => "uint16",
        ScalarType::I32 => "int32",
        ScalarType::U32 => "uint32",
        ScalarType::I64 => "int64",
        ScalarType::U64 => "uint64",
        ScalarType::F16 => "float16",
        ScalarType::F32 => "float32",
        ScalarType::F64 => "float64",
    }
}
