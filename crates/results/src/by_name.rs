//! Values with names.

use indexmap::IndexMap;

/// Values by name, in an order that says something, such as that of the pipes of a GPU.
pub type ByName<T> = IndexMap<String, T>;
