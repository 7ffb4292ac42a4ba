//! Arguments that are not memory of their own: values, structs, samplers, and memory that is passed twice.

use tripipe_device::document::{Item, Table};
use tripipe_launch::{Addressing, Filter, Sampler};

use crate::element::ElementType;
use crate::error::{FileError, FileReason, error_at};
use crate::{BytesFrom, Entry, Given, resolve};

/// Parses the name of a type, or returns an error at its location.
pub(crate) fn element(item: &Item<'_>) -> Result<ElementType, FileError> {
    let found = item.string()?;
    if let Some(element) = ElementType::from_opencl_name(found) {
        return Ok(element);
    }
    // Only for the message, which lists all names.
    Ok(item.word(ElementType::all().map(|element| (element.to_string(), element)))?)
}

pub(crate) fn value(table: &Table<'_>, kind: &Item<'_>) -> Result<Given, FileError> {
    let numbers = kind.numbers()?;
    let Some(item) = table.get("type") else {
        return Ok(Given::Value { element: None, numbers });
    };
    let element = element(&item)?;
    resolve::value(element, &numbers).map_err(|reason| error_at(kind, reason))?;
    Ok(Given::Value { element: Some(element), numbers })
}

pub(crate) fn bytes(item: &Item<'_>) -> Result<BytesFrom, FileError> {
    if item.as_string().is_none() {
        let inner = item.table("`bytes`".to_owned())?;
        inner.check_keys(&["file"])?;
        return Ok(BytesFrom::File { path: inner.must("file")?.string()?.to_owned() });
    }
    let digits: Vec<u32> = item
        .string()?
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|digit| digit.to_digit(16))
        .collect::<Option<_>>()
        .ok_or_else(|| item.impossible("pairs of hexadecimal digits, e.g. \"00 01 ff\""))?;
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return Err(item.impossible("pairs of hexadecimal digits, e.g. \"00 01 ff\"").into());
    }
    Ok(BytesFrom::Written(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()))
}

pub(crate) fn sampler(table: &Table<'_>) -> Result<Sampler, FileError> {
    table.check_keys(&["normalized", "addressing", "filter"])?;
    let normalized = table.must("normalized")?.boolean()?;
    let item = table.must("addressing")?;
    let addressing = item.word([
        ("none".to_owned(), Addressing::None),
        ("clamp-to-edge".to_owned(), Addressing::ClampToEdge),
        ("clamp".to_owned(), Addressing::Clamp),
        ("repeat".to_owned(), Addressing::Repeat),
        ("mirrored-repeat".to_owned(), Addressing::MirroredRepeat),
    ])?;
    if !normalized && matches!(addressing, Addressing::Repeat | Addressing::MirroredRepeat) {
        return Err(item.impossible("none, clamp-to-edge or clamp, unless `normalized` is true").into());
    }
    let filter = table
        .must("filter")?
        .word([("nearest".to_owned(), Filter::Nearest), ("linear".to_owned(), Filter::Linear)])?;
    Ok(Sampler { normalized, addressing, filter })
}

/// The earlier argument that `same_as` refers to by index or by name.
pub(crate) fn same_as(item: &Item<'_>, before: &[Entry]) -> Result<usize, FileError> {
    let (found, index) = if let Some(name) = item.as_string() {
        let index = before.iter().position(|entry| entry.name.as_deref() == Some(name));
        (format!("`{name}`"), index)
    } else {
        let index = item.whole(&(0..=usize::MAX))?;
        (format!("argument {index}"), Some(index).filter(|index| *index < before.len()))
    };
    let refused = |reason| error_at(item, FileReason::SameAs { found, reason });
    match index {
        None => Err(refused("is not an argument before this one")),
        Some(index) if matches!(before[index].given, Given::Memory(_)) => Ok(index),
        Some(_) => Err(refused("is neither a buffer nor an image")),
    }
}
