//! Errors as exceptions of Python.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use tripipe::ErrorKind;

create_exception!(tripipe, Error, PyRuntimeError, "An operation failed.");
create_exception!(tripipe, DeviceError, Error, "There is no such device, or it failed.");
create_exception!(
    tripipe,
    UnsupportedError,
    Error,
    "The device, or this combination of types, does not support the operation."
);

/// The exception of an error that concerns the argument `name`.
pub(crate) fn of_argument(name: &str, error: &tripipe::Error) -> PyErr {
    exception(error.kind(), format!("{name}: {error}"))
}

/// The exception of an error that concerns no single argument.
pub(crate) fn of(error: &tripipe::Error) -> PyErr {
    exception(error.kind(), error.to_string())
}

fn exception(kind: ErrorKind, message: String) -> PyErr {
    match kind {
        ErrorKind::DeviceName
        | ErrorKind::Shape
        | ErrorKind::Description
        | ErrorKind::Aliased
        | ErrorKind::OtherContext => PyValueError::new_err(message),
        ErrorKind::Overflow => PyOverflowError::new_err(message),
        ErrorKind::OutOfMemory => PyMemoryError::new_err(message),
        ErrorKind::Unsupported => UnsupportedError::new_err(message),
        ErrorKind::NoOpenCl | ErrorKind::NoSuchDevice | ErrorKind::Device | ErrorKind::Dependency => {
            DeviceError::new_err(message)
        }
        _ => Error::new_err(message),
    }
}

/// The value of the argument `name`; `want` says what it should be.
///
/// # Errors
/// Another type; a number that is negative or too large.
pub(crate) fn extracted<'py, T: FromPyObjectOwned<'py>>(
    name: &str,
    object: &Bound<'py, PyAny>,
    want: &str,
) -> PyResult<T> {
    object.extract::<T>().map_err(|failed| {
        let failed: PyErr = failed.into();
        let message =
            format!("{}: want {want}", object.repr().map(|text| text.to_string()).unwrap_or_default());
        let is_number = failed.is_instance_of::<PyOverflowError>(object.py());
        if is_number { value(name, message) } else { wrong_type(name, message) }
    })
}

/// A `ValueError` about the argument `name`.
pub(crate) fn value(name: &str, message: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{name}: {message}"))
}

/// A `TypeError` about the argument `name`.
pub(crate) fn wrong_type(name: &str, message: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(format!("{name}: {message}"))
}
