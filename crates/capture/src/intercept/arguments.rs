//! The arguments of a captured enqueue.

use std::collections::HashMap;
use std::path::Path;

use tripipe_launch::{
    Addressing, ChannelOrder, ChannelType, Filter, ImageExtent, ImageShape, MemoryKind, Sampler, Source,
    Value,
};
use tripipe_launch_file::{ElementType, Parameter, ParameterKind, Signature};

use super::enqueue::{Enqueue, bytes, text};
use crate::error::{CaptureError, shown};
use crate::recorded::{Recorded, RecordedArgument, RecordedMemory};

/// Numbers of `cl_mem_object_type`.
const IMAGE1D: u64 = 0x10F4;
const IMAGE1D_BUFFER: u64 = 0x10F6;

impl Enqueue {
    /// The launch, with the contents of its memory. `kernels` are those of the program; `declared` tells what else the
    /// kernel's declaration says about a parameter, by its position.
    ///
    /// # Errors
    /// The kernel is not in the program; an argument is missing, or does not fit its parameter.
    pub fn recorded(
        &self,
        kernels: &[Signature],
        declared: impl Fn(usize) -> Declared,
    ) -> Result<Recorded, CaptureError> {
        let signature =
            kernels.iter().find(|signature| signature.kernel == self.kernel).ok_or_else(|| {
                CaptureError::NoSuchKernel {
                    folder: shown(&self.folder),
                    kernel: self.kernel.clone(),
                    kernels: kernels
                        .iter()
                        .map(|signature| &signature.kernel[..])
                        .collect::<Vec<_>>()
                        .join(", "),
                }
            })?;
        let mut reader = Reader { enqueue: self, handles: HashMap::new() };
        let mut arguments = Vec::new();
        for (index, parameter) in signature.parameters.iter().enumerate() {
            let argument = reader.argument(index, parameter, declared(index))?;
            arguments.push((parameter.name.clone(), argument));
        }
        let of = match self.source {
            Source::SpirV(_) => "a SPIR-V module",
            _ => "OpenCL C",
        };
        Ok(Recorded {
            about: vec![format!(
                "Enqueue {} of an application: kernel `{}`, from {of}. `expect` is what its device computed.",
                self.number, self.kernel
            )],
            source: self.source.clone(),
            options: self.options.clone(),
            kernel: self.kernel.clone(),
            range: self.range,
            arguments,
        })
    }
}

/// What a declaration says about a parameter, besides its [`ParameterKind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The kind of an image, which the layer does not store reliably.
    pub image: Option<ImageKind>,
    /// The type of a value whose name is not one of OpenCL's. Integers count as signed.
    pub value: Option<ElementType>,
    /// The type of the numbers behind a pointer whose type has no name.
    pub pointee: Option<ElementType>,
}

/// The kind of image that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// `image1d_t`
    D1,
    /// `image1d_buffer_t`
    Buffer,
    /// `image1d_array_t`
    D1Array,
    /// `image2d_t`
    D2,
    /// `image2d_array_t`
    D2Array,
    /// `image3d_t`
    D3,
}

struct Reader<'e> {
    enqueue: &'e Enqueue,
    /// The argument in which a handle of memory was passed first, and the bytes that its pointer skips.
    handles: HashMap<Vec<u8>, (usize, u64)>,
}

impl Reader<'_> {
    fn argument(
        &mut self,
        index: usize,
        parameter: &Parameter,
        declared: Declared,
    ) -> Result<RecordedArgument, CaptureError> {
        let wrong = |reason: String| CaptureError::Argument {
            folder: shown(&self.enqueue.folder),
            index,
            name: if parameter.name.is_empty() {
                parameter.kind.to_string()
            } else {
                format!("`{}`", parameter.name)
            },
            reason,
        };
        let value_file = self.enqueue.at(&format!("Argument{index}.bin"));
        let local_file = self.enqueue.at(&format!("Local{index}.txt"));
        let value = if value_file.is_file() { Some(bytes(&value_file)?) } else { None };
        let missing = || {
            wrong(format!(
                "was not captured: Argument{index}.bin is missing; was the whole folder copied? The layer stores \
                 only arguments that are set while it is loaded"
            ))
        };
        match &parameter.kind {
            ParameterKind::Local => {
                if !local_file.is_file() {
                    return Err(wrong(format!(
                        "was not captured: Local{index}.txt is missing; was the whole folder copied?"
                    )));
                }
                let size = text(&local_file)?;
                let size = size.trim().parse().ok().filter(|size| *size > 0).ok_or_else(|| {
                    CaptureError::malformed(&local_file, format!("`{}`", size.trim()), "a number of bytes")
                })?;
                Ok(RecordedArgument::Local(size))
            }
            ParameterKind::Sampler => {
                let file = self.enqueue.at(&format!("Sampler{index}.txt"));
                if !file.is_file() {
                    return Err(wrong(format!("was not captured: Sampler{index}.txt is missing")));
                }
                Ok(RecordedArgument::Sampler(sampler(&file)?))
            }
            ParameterKind::Value(element) => {
                let value = value.ok_or_else(missing)?;
                let found = value.len();
                Value::from_bytes(element.scalar(), element.lanes(), value)
                    .map(RecordedArgument::Value)
                    .ok_or_else(|| {
                        wrong(format!(
                            "is a `{element}` of {} bytes, but Argument{index}.bin has {found}; capture it again",
                            element.bytes()
                        ))
                    })
            }
            ParameterKind::Opaque { bytes: want, type_name } => {
                let value = value.ok_or_else(missing)?;
                if let Some(want) = want.filter(|want| *want != value.len()) {
                    return Err(wrong(format!(
                        "is a `{type_name}` of {want} bytes, but Argument{index}.bin has {}: the application's \
                         struct and the kernel's differ, or the capture is not of this kernel",
                        value.len()
                    )));
                }
                let typed = declared
                    .value
                    .and_then(|element| Value::from_bytes(element.scalar(), element.lanes(), value.clone()));
                Ok(typed.map_or(RecordedArgument::Bytes(value), RecordedArgument::Value))
            }
            ParameterKind::Buffer { element } => {
                // `clSetKernelArg` takes NULL itself, or a pointer to a null handle.
                let is_null = match &value {
                    Some(value) => value.iter().all(|byte| *byte == 0),
                    None => local_file.is_file(),
                };
                if is_null {
                    return Ok(RecordedArgument::Null);
                }
                let handle = value.ok_or_else(missing)?;
                self.buffer(index, handle, element.or(declared.pointee), &wrong)
            }
            ParameterKind::Image => {
                let handle = value.ok_or_else(missing)?;
                self.image(index, handle, declared.image, &wrong)
            }
            _ => Err(wrong("has a type that cannot be imported".to_owned())),
        }
    }

    /// The first argument with the same handle.
    fn shared(&mut self, index: usize, handle: Vec<u8>, offset: u64) -> Result<Option<usize>, u64> {
        match self.handles.get(&handle) {
            Some((earlier, same)) if *same == offset => Ok(Some(*earlier)),
            Some((_, other)) => Err(*other),
            None => {
                self.handles.insert(handle, (index, offset));
                Ok(None)
            }
        }
    }

    /// Memory before and after, without the first `skipped` bytes.
    fn memory(
        &self,
        index: usize,
        skipped: u64,
        image_bytes: Option<usize>,
        wrong: &dyn Fn(String) -> CaptureError,
    ) -> Result<(Vec<u8>, Option<Vec<u8>>), CaptureError> {
        let before = self.enqueue.before.get(&index).ok_or_else(|| {
            wrong(
                "is memory whose contents were not captured: the folder Pre has no file for it; the layer stores \
                 only memory that is created while CaptureReplay is set, and that it can map"
                    .to_owned(),
            )
        })?;
        let rest = |path: &Path| -> Result<Vec<u8>, CaptureError> {
            let all = bytes(path)?;
            match all.get(skipped as usize..) {
                Some(rest) if !rest.is_empty() => Ok(rest.to_vec()),
                _ => {
                    let found = format!("{} bytes", all.len());
                    Err(CaptureError::malformed(path, found, format!("more than {skipped} bytes")))
                }
            }
        };
        let first = rest(before)?;
        if let Some(want) = image_bytes.filter(|want| *want != first.len()) {
            return Err(wrong(format!(
                "is an image of {want} bytes, but its file in Pre has {}; capture it again",
                first.len()
            )));
        }
        let second = match self.enqueue.after.get(&index) {
            None => None,
            Some(path) => {
                let second = rest(path)?;
                if second.len() != first.len() {
                    let (found, want) = (format!("{} bytes", second.len()), format!("{} bytes", first.len()));
                    return Err(CaptureError::malformed(
                        path,
                        found,
                        format!("{want}, as before the enqueue"),
                    ));
                }
                Some(second)
            }
        };
        Ok((first, second))
    }

    fn buffer(
        &mut self,
        index: usize,
        handle: Vec<u8>,
        element: Option<ElementType>,
        wrong: &dyn Fn(String) -> CaptureError,
    ) -> Result<RecordedArgument, CaptureError> {
        let offset_file = self.enqueue.at(&format!("SVM_Arg_Offset_{index}.txt"));
        let skipped = if offset_file.is_file() {
            let found = text(&offset_file)?;
            found.trim().parse().map_err(|_| {
                CaptureError::malformed(&offset_file, format!("`{}`", found.trim()), "a number of bytes")
            })?
        } else {
            0
        };
        match self.shared(index, handle, skipped) {
            Ok(None) => {}
            Ok(Some(earlier)) => return Ok(RecordedArgument::SameAs(earlier)),
            Err(other) => {
                return Err(wrong(format!(
                    "points {skipped} bytes into memory that an earlier argument points {other} bytes into; a \
                     launch file can pass memory twice only from the same byte on"
                )));
            }
        }
        let (before, after) = self.memory(index, skipped, None, wrong)?;
        let fits = |element: &ElementType| before.len().is_multiple_of(element.bytes());
        // A buffer need not be a whole number of the pointer's elements.
        let element = element
            .filter(fits)
            .or_else(|| element.map(|element| ElementType::scalar_of(element.scalar())).filter(fits))
            .unwrap_or(ElementType::scalar_of(tripipe_launch::ScalarType::U8));
        let kind = MemoryKind::Buffer { bytes: before.len() };
        Ok(RecordedArgument::Memory(RecordedMemory { kind, element, before: Some(before), after }))
    }

    fn image(
        &mut self,
        index: usize,
        handle: Vec<u8>,
        kind: Option<ImageKind>,
        wrong: &dyn Fn(String) -> CaptureError,
    ) -> Result<RecordedArgument, CaptureError> {
        match self.shared(index, handle, 0) {
            Ok(None) => {}
            Ok(Some(earlier)) => return Ok(RecordedArgument::SameAs(earlier)),
            Err(_) => return Err(wrong("is an image, and its handle was a buffer's before".to_owned())),
        }
        let file = self.enqueue.at(&format!("Image_MetaData_{index}.txt"));
        if !file.is_file() {
            return Err(wrong(format!(
                "is an image that was not captured: Image_MetaData_{index}.txt is missing; the layer stores only \
                 images that are created while CaptureReplay is set"
            )));
        }
        let shape = image_shape(&file, kind)?;
        shape.check().map_err(|error| CaptureError::malformed(&file, error.to_string(), "a valid image"))?;
        let (before, after) = self.memory(index, 0, Some(shape.bytes()), wrong)?;
        let element = ElementType::of_image(&shape);
        let kind = MemoryKind::Image(shape);
        Ok(RecordedArgument::Memory(RecordedMemory { kind, element, before: Some(before), after }))
    }
}

fn image_shape(path: &Path, kind: Option<ImageKind>) -> Result<ImageShape, CaptureError> {
    let text = text(path)?;
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [width, height, depth, _texel, _row, _slice, channel, order, object] = numbers[..] else {
        let found = format!("{} numbers", numbers.len());
        return Err(CaptureError::malformed(path, found, "9 numbers"));
    };
    let (width, height, slices) = (width as usize, height as usize, depth as usize);
    let number = |number: u64| format!("{number:#x}");
    let order = ChannelOrder::ALL
        .into_iter()
        .find(|known| u64::from(known.opencl_number()) == order)
        .ok_or_else(|| CaptureError::malformed(path, number(order), "a channel order of OpenCL 3.0"))?;
    let channel = ChannelType::ALL
        .into_iter()
        .find(|known| u64::from(known.opencl_number()) == channel)
        .ok_or_else(|| CaptureError::malformed(path, number(channel), "a channel type of OpenCL 3.0"))?;
    // Without the kernel's declaration: the layer reports 1D images as 2D images of one row.
    let kind = kind.unwrap_or(match object {
        IMAGE1D => ImageKind::D1,
        IMAGE1D_BUFFER => ImageKind::Buffer,
        0x10F2 => ImageKind::D3,
        0x10F3 => ImageKind::D2Array,
        0x10F5 => ImageKind::D1Array,
        _ => ImageKind::D2,
    });
    let extent = match kind {
        ImageKind::D1 => ImageExtent::D1 { width },
        ImageKind::Buffer => ImageExtent::Buffer { width },
        ImageKind::D1Array => ImageExtent::D1Array { width, layers: slices.max(height) },
        ImageKind::D2 => ImageExtent::D2 { width, height },
        ImageKind::D2Array => ImageExtent::D2Array { width, height, layers: slices },
        ImageKind::D3 => ImageExtent::D3 { width, height, depth: slices },
    };
    Ok(ImageShape { extent, order, channel })
}

/// A sampler from its properties: `CL_SAMPLER_FILTER_MODE = CL_FILTER_NEAREST, ...`. Properties that are not set have
/// OpenCL's defaults.
fn sampler(path: &Path) -> Result<Sampler, CaptureError> {
    let text = text(path)?;
    let mut sampler = Sampler { normalized: true, addressing: Addressing::Clamp, filter: Filter::Nearest };
    for property in text.trim().split(',').map(str::trim).filter(|property| !property.is_empty()) {
        let malformed = |want: &str| CaptureError::malformed(path, format!("`{property}`"), want);
        let (name, value) =
            property.split_once(" = ").ok_or_else(|| malformed("properties of a sampler, NAME = VALUE"))?;
        match name.trim() {
            "CL_SAMPLER_NORMALIZED_COORDS" => {
                sampler.normalized = match value.trim() {
                    "CL_TRUE" => true,
                    "CL_FALSE" => false,
                    _ => return Err(malformed("CL_TRUE or CL_FALSE")),
                };
            }
            "CL_SAMPLER_ADDRESSING_MODE" => {
                sampler.addressing = match value.trim() {
                    "CL_ADDRESS_NONE" => Addressing::None,
                    "CL_ADDRESS_CLAMP_TO_EDGE" => Addressing::ClampToEdge,
                    "CL_ADDRESS_CLAMP" => Addressing::Clamp,
                    "CL_ADDRESS_REPEAT" => Addressing::Repeat,
                    "CL_ADDRESS_MIRRORED_REPEAT" => Addressing::MirroredRepeat,
                    _ => return Err(malformed("an addressing mode of OpenCL")),
                };
            }
            "CL_SAMPLER_FILTER_MODE" => {
                sampler.filter = match value.trim() {
                    "CL_FILTER_NEAREST" => Filter::Nearest,
                    "CL_FILTER_LINEAR" => Filter::Linear,
                    _ => return Err(malformed("a filter mode of OpenCL")),
                };
            }
            // Levels of detail, which OpenCL C without mipmaps does not use.
            _ => {}
        }
    }
    Ok(sampler)
}
