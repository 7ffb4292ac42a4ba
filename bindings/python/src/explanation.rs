//! What an operation does, and why.

use pyo3::prelude::*;
use tripipe::Explanation;

/// A name with a value or a reason.
type Pairs = Vec<(String, String)>;
/// Texts of an explanation, from the operation to its whole text.
type Texts = (String, String, String, String, String, String);
/// The predicted and the measured time.
type Times = (Option<f64>, Option<f64>);

/// What an operation does on its device, why, how long it takes and what bounds it.
#[pyclass(name = "Explanation", module = "tripipe", frozen)]
pub(crate) struct PyExplanation {
    /// The operation and its size.
    #[pyo3(get)]
    operation: String,
    /// The name of the device.
    #[pyo3(get)]
    device: String,
    /// The kernel.
    #[pyo3(get)]
    kernel: String,
    /// The choices, such as tile and work-group: names and values.
    #[pyo3(get)]
    choices: Pairs,
    /// The reason for this kernel.
    #[pyo3(get)]
    why: String,
    /// The basis of the choice; empty if there was none.
    #[pyo3(get)]
    based_on: String,
    /// The predicted time; `None` without a prediction.
    #[pyo3(get)]
    predicted_seconds: Option<f64>,
    /// The shortest time measured so far; `None` before the first run.
    #[pyo3(get)]
    measured_seconds: Option<f64>,
    /// The ceiling that bounds it and the time at this ceiling; `None` if none is known.
    #[pyo3(get)]
    bound: Option<(String, f64)>,
    /// The next best kernels, each with the reason why it was not taken.
    #[pyo3(get)]
    runners_up: Pairs,
    /// For calls on arrays of NumPy: the times of the CPU path and of the device with the copies; `None` before the
    /// first.
    #[pyo3(get)]
    copied: Option<String>,
    /// Why it does not run on the requested device; `None` if it does.
    #[pyo3(get)]
    fallback: Option<String>,
    text: String,
}

impl PyExplanation {
    pub(crate) fn new(explanation: Explanation) -> Self {
        let text = explanation.to_string();
        let choices = explanation.choices.into_iter().map(|chosen| (chosen.what.to_owned(), chosen.value));
        let runners_up = explanation.runners_up.into_iter().map(|other| (other.kernel, other.why_not));
        Self {
            operation: explanation.operation,
            device: explanation.device,
            kernel: explanation.kernel,
            choices: choices.collect(),
            why: explanation.why,
            based_on: explanation.rests_on,
            predicted_seconds: explanation.predicted.map(|predicted| predicted.seconds),
            measured_seconds: explanation.measured_seconds,
            bound: explanation.bound.map(|bound| (bound.ceiling.to_owned(), bound.seconds)),
            runners_up: runners_up.collect(),
            copied: explanation.copied,
            fallback: explanation.fallback,
            text,
        }
    }

    /// The lines of the text as pairs of a heading and its contents.
    fn rows(&self) -> Pairs {
        let lines = self.text.lines().skip(1).filter_map(|line| {
            let (heading, contents) =
                line.trim_start().split_once("  ").or_else(|| line.trim_start().split_once(' '))?;
            Some((heading.to_owned(), contents.trim_start().to_owned()))
        });
        lines.collect()
    }
}

#[pymethods]
impl PyExplanation {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> &str {
        self.text.trim_end()
    }

    /// A table for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let own = slf.get();
        let title = format!("{} on {}", own.operation, own.device);
        slf.py().import("tripipe._notebook")?.call_method1("table_html", (title, own.rows()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        use pyo3::IntoPyObjectExt as _;
        let (py, own) = (slf.py(), slf.get());
        let make = py.import("tripipe._tripipe")?.getattr("_explanation")?;
        let texts: Texts = (
            own.operation.clone(),
            own.device.clone(),
            own.kernel.clone(),
            own.why.clone(),
            own.based_on.clone(),
            own.text.clone(),
        );
        let pairs = (own.choices.clone(), own.runners_up.clone());
        let times: Times = (own.predicted_seconds, own.measured_seconds);
        let rest = (own.bound.clone(), own.copied.clone(), own.fallback.clone());
        (make, (texts, pairs, times, rest)).into_bound_py_any(py)
    }
}

/// The explanation with these properties, for `pickle`.
#[pyfunction]
#[pyo3(name = "_explanation")]
pub(crate) fn unpickled_explanation(
    texts: Texts,
    pairs: (Pairs, Pairs),
    times: Times,
    rest: (Option<(String, f64)>, Option<String>, Option<String>),
) -> PyExplanation {
    let ((choices, runners_up), (predicted_seconds, measured_seconds)) = (pairs, times);
    let (bound, copied, fallback) = rest;
    let (operation, device, kernel, why, based_on, text) = texts;
    PyExplanation {
        operation,
        device,
        kernel,
        choices,
        why,
        based_on,
        predicted_seconds,
        measured_seconds,
        bound,
        runners_up,
        copied,
        fallback,
        text,
    }
}
