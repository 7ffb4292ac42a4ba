//! Numbers from and to Python.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use tripipe::Element as _;

use crate::elements::Stored;
use crate::error;

/// A type of numbers.
pub(crate) trait PythonNumber: Stored {
    /// # Errors
    /// Not a number, or one that the type does not have.
    fn number_of(number: &Bound<'_, PyAny>) -> PyResult<Self>;

    /// # Errors
    /// None in practice.
    fn to_python(py: Python<'_>, number: Self) -> PyResult<Bound<'_, PyAny>>;
}

macro_rules! numbers {
    ($($type:ty as $wide:ty: |$value:ident| $narrow:expr;)*) => {$(
        impl PythonNumber for $type {
            fn number_of(number: &Bound<'_, PyAny>) -> PyResult<Self> {
                let $value: $wide = number.extract().map_err(|failed: PyErr| {
                    let wrong = error::wrong_type("other", format!("{number} is not a value of {}", Self::NAME));
                    wrong.set_cause(number.py(), Some(failed));
                    wrong
                })?;
                Ok($narrow)
            }

            fn to_python(py: Python<'_>, number: Self) -> PyResult<Bound<'_, PyAny>> {
                <$wide>::from(number).into_bound_py_any(py)
            }
        }
    )*};
}

numbers! {
    u8 as u8: |value| value;
    i8 as i8: |value| value;
    u16 as u16: |value| value;
    i16 as i16: |value| value;
    u32 as u32: |value| value;
    i32 as i32: |value| value;
    tripipe::f16 as f64: |value| tripipe::f16::from_f64(value);
    f32 as f64: |value| value as f32;
    f64 as f64: |value| value;
}
