//! Oclgrind's `.sim` files.
//!
//! They contain the program, kernel, global size and work-group size, then for each argument a header in angle
//! brackets and the numbers that the header does not generate. The format gives the size of an argument in bytes but
//! not its kind: a [`SizedArgument`] becomes a buffer, a value or local memory depending on the kernel's parameter, as
//! in Oclgrind.
//!
//! Source: the wiki page "Running Kernels in Isolation" of Oclgrind and `src/kernel/Simulation.cpp` of its version
//! 21.10. Differences: paths are relative to the file, a buffer of `size=0` is `NULL` (buffers without bytes do not
//! exist), and in `hex` a signed integer accepts all bit patterns of its type.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

use crate::element::{ArrayShape, ElementType, append, integer_range, is_float};
use crate::error::{FileError, FileReason};
use crate::options::BuildOptions;
use crate::resolve::{PARAMETER_MAX, ParameterKind, Passed, value};
use crate::{BytesFrom, Contents, Dump, Entry, Given, LaunchFile, Memory, MemoryShape, ProgramFile};
use tripipe_device::document::{LineColumn, Number};
use tripipe_device::nearest::nearest;
use tripipe_launch::{Access, NdRange, ScalarType};

/// An argument of a `.sim` file.
#[derive(Clone, Debug, PartialEq)]
pub struct SizedArgument {
    /// Size in bytes; 0 for `null`, and for a buffer of size 0, which is passed as `NULL`.
    pub bytes: usize,
    /// The type of its numbers; `None` selects the kernel's type.
    pub scalar: Option<ScalarType>,
    /// The source of its numbers.
    pub contents: SizedContents,
    /// Whether its numbers are in base 16.
    pub hexadecimal: bool,
    /// The access of kernels to it.
    pub access: Access,
    /// Whether it is output after the run.
    pub dump: bool,
}

/// The source of the numbers of a [`SizedArgument`], still as text, because their type depends on the kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum SizedContents {
    /// `null`: there is no buffer.
    Null,
    /// `noinit`: unwritten.
    Unwritten,
    /// `fill=VALUE`
    Fill(String),
    /// `range=START:INC:END`
    Range([String; 3]),
    /// Listed after the header.
    Words(Vec<String>),
}

/// Parses a `.sim` file. `name` is its name in messages. No other file is read, and memory use is proportional to the
/// text.
///
/// # Errors
/// [`FileError`] with line and column: an unexpected end of the text, an invalid size, an unknown word in a header.
/// [`LaunchFile::load`] checks whether the numbers fit the kernel.
pub fn parse(text: &str, name: &str) -> Result<LaunchFile, FileError> {
    let mut words = Words { name, lines: text.lines(), line: 0, rest: "", column: 1 };
    let (_, path) = words.must("the program's file")?;
    let path = path.to_owned();
    let source = if path.to_lowercase().ends_with(".spv") {
        ProgramFile::SpirV { path }
    } else {
        ProgramFile::OpenClC { path }
    };
    let (kernel_location, kernel) = words.must("the kernel's name")?;
    let [x, y, z] = words.size("the global size")?;
    let local = words.size("the work-group size")?;
    let mut file = LaunchFile {
        name: name.to_owned(),
        source,
        options: BuildOptions::default(),
        kernel: Some(kernel.to_owned()),
        kernel_location,
        range: NdRange::d3(x, y, z).local(local[0], local[1], local[2]),
        arguments: Vec::new(),
        tuning: None,
    };
    while let Some(entry) = argument(&mut words)? {
        file.arguments.push(entry);
    }
    Ok(file)
}

/// The words of a text, without comments.
struct Words<'t> {
    name: &'t str,
    lines: std::str::Lines<'t>,
    /// The line number, from 1; 0 before the first line.
    line: usize,
    /// The rest of the line.
    rest: &'t str,
    /// The column of the rest, from 1.
    column: usize,
}

impl<'t> Words<'t> {
    /// Moves to the next word; `None` at the end of the text.
    fn seek(&mut self) -> Option<()> {
        loop {
            let start = self.rest.trim_start();
            self.advance(self.rest.len() - start.len());
            if !self.rest.is_empty() {
                return Some(());
            }
            let line = self.lines.next()?;
            self.line += 1;
            self.column = 1;
            self.rest = line.split('#').next().unwrap_or_default();
        }
    }

    /// Skips `bytes` bytes of the line, which must end at a character boundary, and returns them.
    fn advance(&mut self, bytes: usize) -> &'t str {
        let (passed, rest) = self.rest.split_at(bytes);
        self.column += passed.chars().count();
        self.rest = rest;
        passed
    }

    fn location(&self) -> LineColumn {
        LineColumn { line: self.line.max(1), column: self.column }
    }

    fn error(&self, location: LineColumn, reason: FileReason) -> FileError {
        FileError { file: self.name.to_owned(), location, reason: Box::new(reason) }
    }

    /// The next word, which ends at a space or at a header.
    fn next(&mut self) -> Option<(LineColumn, &'t str)> {
        self.seek()?;
        let end = self.rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(self.rest.len());
        Some((self.location(), self.advance(end)))
    }

    fn must(&mut self, want: &str) -> Result<(LineColumn, &'t str), FileError> {
        let ended = |words: &Self| {
            let found = "the file ends here".to_owned();
            words.error(words.location(), FileReason::Sim { found, want: want.to_owned() })
        };
        match self.next() {
            Some((location, "")) => {
                let found = "an argument's header follows".to_owned();
                Err(self.error(location, FileReason::Sim { found, want: want.to_owned() }))
            }
            Some(found) => Ok(found),
            None => Err(ended(self)),
        }
    }

    /// Three numbers of at least 1.
    fn size(&mut self, what: &str) -> Result<[usize; 3], FileError> {
        let want = format!("{what}: three numbers of at least 1");
        let mut size = [0; 3];
        for extent in &mut size {
            let (location, word) = self.must(&want)?;
            *extent = match word.parse() {
                Ok(0) | Err(_) => {
                    let found = format!("found `{word}`");
                    return Err(self.error(location, FileReason::Sim { found, want }));
                }
                Ok(extent) => extent,
            };
        }
        Ok(size)
    }
}

const FLAGS: [&str; 9] = ["size=", "fill=", "range=", "hex", "dump", "noinit", "null", "ro", "wo"];

/// The next argument: a header, and the numbers up to the next header.
fn argument(words: &mut Words<'_>) -> Result<Option<Entry>, FileError> {
    let Some((location, word)) = words.next() else { return Ok(None) };
    let refused = |words: &Words<'_>, location, found: String, want: &str| {
        words.error(location, FileReason::Sim { found, want: want.to_owned() })
    };
    if !word.is_empty() {
        return Err(refused(words, location, format!("found `{word}`"), "an argument's header, <size=...>"));
    }
    let Some(end) = words.rest.find('>') else {
        return Err(refused(words, location, "the header does not end on its line".to_owned(), "a `>`"));
    };
    let header = words.advance(end + 1);
    let mut sized =
        header_of(&header[1..end]).map_err(|(found, want)| refused(words, location, found, &want))?;
    if let SizedContents::Words(numbers) = &mut sized.contents {
        while words.seek().is_some() && !words.rest.starts_with('<') {
            if let Some((_, number)) = words.next() {
                numbers.push(number.to_owned());
            }
        }
    }
    Ok(Some(Entry { name: None, location, given: Given::Sized(sized) }))
}

/// Parses a header. An error is what was found and what was expected.
fn header_of(header: &str) -> Result<SizedArgument, (String, String)> {
    let wrong = |found: &str, want: &str| (format!("the header has `{found}`"), want.to_owned());
    let mut size = None;
    let mut scalar = None;
    let mut access = None;
    let (mut hexadecimal, mut dump) = (false, false);
    let mut contents = None;
    for word in header.split_whitespace() {
        let (flag, operand) =
            word.split_once('=').map_or((word, None), |(flag, operand)| (flag, Some(operand)));
        let new_contents = match (flag, operand) {
            ("size", Some(operand)) => {
                size = Some(operand.parse().map_err(|_| wrong(word, "size=BYTES, a whole number"))?);
                None
            }
            ("fill", Some(operand)) if !operand.is_empty() => Some(SizedContents::Fill(operand.to_owned())),
            ("range", Some(operand)) => {
                let parts: Vec<String> = operand.split(':').map(str::to_owned).collect();
                let parts = <[String; 3]>::try_from(parts).map_err(|_| wrong(word, "range=START:INC:END"))?;
                Some(SizedContents::Range(parts))
            }
            ("noinit", None) => Some(SizedContents::Unwritten),
            ("null", None) => Some(SizedContents::Null),
            ("hex", None) => {
                hexadecimal = true;
                None
            }
            ("dump", None) => {
                dump = true;
                None
            }
            ("ro" | "wo", None) => {
                let asked = if flag == "ro" { Access::Read } else { Access::Write };
                if access.replace(asked).is_some_and(|before| before != asked) {
                    return Err(wrong(word, "only one of `ro` and `wo`"));
                }
                None
            }
            (name, None) => {
                let element = ElementType::from_opencl_name(name);
                let Some(element) = element.filter(|element| element.lanes() == 1) else {
                    let known = FLAGS.iter().copied();
                    let near = nearest(word, known.clone()).map(|near| format!("`{near}`"));
                    let all = || format!("a type or one of {}", known.collect::<Vec<_>>().join(", "));
                    return Err(wrong(word, &near.unwrap_or_else(all)));
                };
                if scalar.replace(element.scalar()).is_some() {
                    return Err(wrong(word, "only one type"));
                }
                None
            }
            _ => return Err(wrong(word, "size=BYTES, fill=VALUE or range=START:INC:END")),
        };
        if let Some(new) = new_contents
            && contents.replace(new).is_some()
        {
            return Err(wrong(word, "only one of fill, range, noinit and null"));
        }
    }
    let null = contents == Some(SizedContents::Null);
    let bytes = match size {
        Some(_) if null => return Err(wrong("size", "nothing else beside `null`")),
        None if null => 0,
        None => return Err(("the header has no size".to_owned(), "size=BYTES".to_owned())),
        Some(bytes) => bytes,
    };
    let contents = contents.unwrap_or(SizedContents::Words(Vec::new()));
    let access = access.unwrap_or(Access::ReadWrite);
    Ok(SizedArgument { bytes, scalar, contents, hexadecimal, access, dump })
}

impl SizedArgument {
    /// Converts the argument for the kernel's parameter; `name` is its name in messages.
    pub(crate) fn pass(&self, name: &str, kind: &ParameterKind) -> Result<Passed<'static>, FileReason> {
        let refused =
            |want: &str| FileReason::Sim { found: format!("`{name}` is {kind}"), want: want.to_owned() };
        let native = match kind {
            ParameterKind::Buffer { element } => *element,
            ParameterKind::Value(element) => Some(*element),
            _ => None,
        };
        let is_buffer = matches!(kind, ParameterKind::Buffer { .. });
        if self.dump && !is_buffer {
            return Err(refused("`dump` with a buffer only"));
        }
        match (&self.contents, kind) {
            (SizedContents::Null | SizedContents::Unwritten, _) if !is_buffer => {
                return Err(refused("`null` and `noinit` with a buffer only"));
            }
            (SizedContents::Null, _) => return Ok(Passed::Null),
            _ if self.bytes == 0 && !is_buffer => return Err(refused("at least 1 byte")),
            (SizedContents::Words(words), _) if self.bytes == 0 && !words.is_empty() => {
                return Err(FileReason::Numbers { found: words.len(), want: "0 bytes".to_owned() });
            }
            // OpenCL has no empty buffers. An access to it is still detected.
            _ if self.bytes == 0 => return Ok(Passed::Null),
            (SizedContents::Words(words), ParameterKind::Local) if !words.is_empty() => {
                return Err(refused("no numbers with it"));
            }
            (_, ParameterKind::Local) => return Ok(Passed::Local(self.bytes)),
            (_, ParameterKind::Buffer { .. } | ParameterKind::Value(_) | ParameterKind::Opaque { .. }) => {}
            _ => return Err(refused("a buffer, a value or local memory: take a .toml launch file")),
        }
        let untyped = || FileReason::Untyped { name: name.to_owned() };
        let scalar = match (self.scalar, native) {
            (Some(scalar), _) => scalar,
            (None, Some(native)) => native.scalar(),
            // No numbers are parsed.
            (None, None) if self.contents == SizedContents::Unwritten => ScalarType::U8,
            (None, None) => return Err(untyped()),
        };
        let element = ElementType::scalar_of(scalar);
        if !self.bytes.is_multiple_of(scalar.bytes()) {
            let found = format!("{} bytes", self.bytes);
            return Err(FileReason::Sim { found, want: format!("a multiple of the size of `{element}`") });
        }
        if !is_buffer && self.bytes > PARAMETER_MAX {
            return Err(refused(&format!("at most {PARAMETER_MAX} bytes by value")));
        }
        let count = self.bytes / scalar.bytes();
        let contents = self.numbers(scalar, count)?;
        let by_value = |contents: Contents| match contents {
            Contents::Fill(number) => number.repeat(count),
            Contents::Values(numbers) => numbers,
            Contents::Range { start: Number::Integer(start), step: Number::Integer(step) } => {
                (0..count).map(|index| Number::Integer(start + step * index as i128)).collect()
            }
            Contents::Range { start, step } => {
                (0..count).map(|index| Number::Float(start.to_f64() + step.to_f64() * index as f64)).collect()
            }
            _ => Vec::new(),
        };
        match kind {
            ParameterKind::Buffer { .. } => Ok(Passed::Memory(Box::new(Cow::Owned(Memory {
                shape: MemoryShape::Buffer { element, extents: Some(vec![count]) },
                contents,
                access: self.access,
                dump: self.dump.then_some(Dump::Text { hexadecimal: self.hexadecimal }),
                expect: None,
            })))),
            ParameterKind::Value(native) => {
                if self.bytes != native.bytes() {
                    let found = format!("{} bytes are given for `{name}`", self.bytes);
                    return Err(FileReason::Sim {
                        found,
                        want: format!("{}, for a `{native}`", native.bytes()),
                    });
                }
                let numbers = by_value(contents);
                if scalar == native.scalar() {
                    // The fourth lane of a vector of 3 may be given, and is not passed.
                    return value(*native, &numbers[..native.lanes().min(numbers.len())]).map(Passed::Value);
                }
                reinterpreted(element, numbers, *native).map(Passed::Value)
            }
            _ => {
                let bytes = bytes_of(element, by_value(contents))?;
                Ok(Passed::Bytes(Cow::Owned(BytesFrom::Written(bytes))))
            }
        }
    }

    /// `count` numbers of type `scalar`.
    fn numbers(&self, scalar: ScalarType, count: usize) -> Result<Contents, FileReason> {
        let number = |word: &str| number(word, scalar, self.hexadecimal);
        Ok(match &self.contents {
            SizedContents::Null | SizedContents::Unwritten => Contents::Unwritten,
            SizedContents::Fill(word) => Contents::Fill(vec![number(word)?]),
            SizedContents::Range(words) => {
                let (start, end) = (number(&words[0])?, number(&words[2])?);
                // A negative step is also allowed for unsigned numbers.
                let step_type = if is_float(scalar) { scalar } else { ScalarType::I64 };
                let step = self::number(&words[1], step_type, self.hexadecimal)?;
                let numbers = (end.to_f64() - start.to_f64() + step.to_f64()) / step.to_f64();
                // Decimal fractions are inexact in binary.
                if numbers.is_nan() || (numbers - count as f64).abs() > 1e-3 {
                    let found = format!("range={} makes {numbers} numbers", words.join(":"));
                    return Err(FileReason::Sim { found, want: format!("{count}, to match the size") });
                }
                Contents::Range { start, step }
            }
            SizedContents::Words(words) => {
                if words.len() != count {
                    let element = ElementType::scalar_of(scalar);
                    let want = format!("{} bytes of `{element}`, that is {count}", self.bytes);
                    return Err(FileReason::Numbers { found: words.len(), want });
                }
                Contents::Values(words.iter().map(|word| number(word)).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// Parses a word as a number of the type.
fn number(word: &str, scalar: ScalarType, hexadecimal: bool) -> Result<Number, FileReason> {
    let element = ElementType::scalar_of(scalar);
    let refused = || FileReason::Sim {
        found: format!("found `{word}` instead of a number"),
        want: format!("one of type `{element}`{}", if hexadecimal { " in hexadecimal digits" } else { "" }),
    };
    let number = if is_float(scalar) {
        // Base 16 is only for integers.
        Number::Float(f64::from_str(word).map_err(|_| refused())?)
    } else if hexadecimal {
        let digits = word.trim_start_matches("0x").trim_start_matches("0X");
        let bits = u64::from_str_radix(digits, 16).map_err(|_| refused())?;
        let signed = integer_range(scalar).is_some_and(|range| *range.start() < 0);
        let room = 8 * scalar.bytes() as u32;
        if signed && bits.checked_shr(room).unwrap_or(0) == 0 {
            // The same bits, sign-extended.
            Number::Integer((i128::from(bits) << (128 - room)) >> (128 - room))
        } else {
            Number::Integer(bits.into())
        }
    } else {
        Number::Integer(i128::from_str(word).map_err(|_| refused())?)
    };
    let mut bytes = Vec::new();
    if append(number, scalar, &mut bytes) { Ok(number) } else { Err(FileReason::Misfit { number, element }) }
}

fn bytes_of(element: ElementType, numbers: Vec<Number>) -> Result<Arc<[u8]>, FileReason> {
    let array = ArrayShape { element, extents: vec![numbers.len()] };
    let bytes = Contents::Values(numbers)
        .generate(&array)
        .map_err(|misfit| FileReason::Misfit { number: misfit.number, element })?;
    Ok(bytes.unwrap_or_default().into())
}

/// Reinterprets the bytes of numbers of one type as a value of another.
fn reinterpreted(
    element: ElementType,
    numbers: Vec<Number>,
    native: ElementType,
) -> Result<tripipe_launch::Value, FileReason> {
    let bytes = bytes_of(element, numbers)?;
    tripipe_launch::Value::from_bytes(native.scalar(), native.lanes(), bytes.to_vec()).ok_or_else(|| {
        FileReason::Sim {
            found: format!("{} bytes", bytes.len()),
            want: format!("{}, for a `{native}`", native.bytes()),
        }
    })
}
