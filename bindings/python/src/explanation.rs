//! What an operation does, and why.

use pyo3::prelude::*;
use tripipe::Explanation;

/// What an operation does on its device, why, how long it takes and what bounds it.
#[pyclass(name = "Explanation", module = "tripipe", frozen)]
pub(crate) struct PyExplanation {
    explanation: Explanation,
}

impl PyExplanation {
    pub(crate) fn new(explanation: Explanation) -> Self {
        Self { explanation }
    }

    /// The lines of the text as pairs of a heading and its contents.
    fn rows(&self) -> Vec<(String, String)> {
        let text = self.explanation.to_string();
        let lines = text.lines().skip(1).filter_map(|line| {
            let (heading, contents) =
                line.trim_start().split_once("  ").or_else(|| line.trim_start().split_once(' '))?;
            Some((heading.to_owned(), contents.trim_start().to_owned()))
        });
        lines.collect()
    }
}

#[pymethods]
impl PyExplanation {
    /// The operation and its size.
    #[getter]
    fn operation(&self) -> &str {
        &self.explanation.operation
    }

    /// The name of the device.
    #[getter]
    fn device(&self) -> &str {
        &self.explanation.device
    }

    /// The kernel.
    #[getter]
    fn kernel(&self) -> &str {
        &self.explanation.kernel
    }

    /// The choices, such as tile and work-group: names and values.
    #[getter]
    fn choices(&self) -> Vec<(&'static str, String)> {
        self.explanation.choices.iter().map(|chosen| (chosen.what, chosen.value.clone())).collect()
    }

    /// The reason for this kernel.
    #[getter]
    fn why(&self) -> &str {
        &self.explanation.why
    }

    /// The basis of the choice; empty if there was none.
    #[getter]
    fn based_on(&self) -> &str {
        &self.explanation.rests_on
    }

    /// The predicted time; `None` without a prediction.
    #[getter]
    fn predicted_seconds(&self) -> Option<f64> {
        self.explanation.predicted.as_ref().map(|predicted| predicted.seconds)
    }

    /// The shortest time measured so far; `None` before the first run.
    #[getter]
    fn measured_seconds(&self) -> Option<f64> {
        self.explanation.measured_seconds
    }

    /// The ceiling that bounds it and the time at this ceiling; `None` if none is known.
    #[getter]
    fn bound(&self) -> Option<(&'static str, f64)> {
        self.explanation.bound.as_ref().map(|bound| (bound.ceiling, bound.seconds))
    }

    /// The next best kernels, each with the reason why it was not taken.
    #[getter]
    fn runners_up(&self) -> Vec<(String, String)> {
        let others = self.explanation.runners_up.iter();
        others.map(|other| (other.kernel.clone(), other.why_not.clone())).collect()
    }

    /// For calls on arrays of NumPy: the times of the CPU path and of the device with the copies; `None` before the
    /// first.
    #[getter]
    fn copied(&self) -> Option<&str> {
        self.explanation.copied.as_deref()
    }

    /// Why it does not run on the requested device; `None` if it does.
    #[getter]
    fn fallback(&self) -> Option<&str> {
        self.explanation.fallback.as_deref()
    }

    fn __str__(&self) -> String {
        self.explanation.to_string()
    }

    fn __repr__(&self) -> String {
        self.explanation.to_string().trim_end().to_owned()
    }

    /// A table for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let own = slf.get();
        let title = format!("{} on {}", own.explanation.operation, own.explanation.device);
        slf.py().import("tripipe._notebook")?.call_method1("table_html", (title, own.rows()))
    }
}
