//! Devices and contexts.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use tripipe::Threads;
use tripipe::{Context, Device};
use tripipe_device::DeviceKind;

use crate::array::PyArray;
use crate::error;
use crate::explanation::PyExplanation;
use crate::host::{HostArray, type_name};

/// A device of this machine, or a virtual GPU.
#[pyclass(name = "Device", module = "tripipe", frozen)]
pub(crate) struct PyDevice {
    device: Device,
}

#[pymethods]
impl PyDevice {
    /// The name for display.
    #[getter]
    fn name(&self) -> String {
        self.device.name()
    }

    /// The name that `Context` takes: `cpu`, `opencl:0`, `virtual:mali-g77`.
    #[getter]
    fn choice(&self) -> String {
        self.device.choice().to_string()
    }

    /// `cpu`, `gpu`, `accelerator`, `other` or `virtual`. OpenCL devices that are CPUs, such as PoCL's, are `cpu` too.
    #[getter]
    fn kind(&self) -> &'static str {
        if matches!(self.device, Device::Virtual(_)) {
            return "virtual";
        }
        match self.device.probe().map(|probe| probe.kind) {
            None | Some(DeviceKind::Cpu) => "cpu",
            Some(DeviceKind::Gpu) => "gpu",
            Some(DeviceKind::Accelerator) => "accelerator",
            _ => "other",
        }
    }

    /// The model of the GPU that it matches; `None` if there is none.
    #[getter]
    fn model(&self) -> Option<&'static str> {
        self.device.identification()?.model.map(tripipe_device::Gpu::name)
    }

    /// The version of the driver; `None` for the CPU path.
    #[getter]
    fn driver(&self) -> Option<String> {
        self.device.probe().map(|probe| probe.driver.clone())
    }

    /// The size of its memory; `None` for the CPU path, or if it is not known.
    #[getter]
    fn memory_bytes(&self) -> Option<u64> {
        self.device.probe().map(|probe| probe.global_memory_bytes).filter(|bytes| *bytes > 0)
    }

    /// A device is the one of this name where it is unpickled.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let make = slf.py().import("tripipe._tripipe")?.getattr("_device")?;
        Ok((make, (slf.get().choice(),)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().choice() == self.choice())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.choice().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<tripipe.Device {}: {}>", self.device.choice(), self.device.name())
    }
}

/// The device with a name, for `pickle`.
#[pyfunction]
#[pyo3(name = "_device")]
pub(crate) fn unpickled_device(py: Python<'_>, choice: &str) -> PyResult<PyDevice> {
    Ok(PyDevice { device: named(py, "device", choice)? })
}

/// The devices of this machine, the CPU path first. With `virtual`, the GPUs that can be simulated follow.
#[pyfunction]
#[pyo3(signature = (*, r#virtual = false))]
pub(crate) fn devices(py: Python<'_>, r#virtual: bool) -> Vec<PyDevice> {
    let mut devices = py.detach(Device::list).devices;
    if r#virtual {
        devices.extend(tripipe::VirtualDevice::all().into_iter().map(Device::Virtual));
    }
    devices.into_iter().map(|device| PyDevice { device }).collect()
}

/// A device with its queue. Arrays live in a context.
#[pyclass(name = "Context", module = "tripipe", frozen)]
pub(crate) struct PyContext {
    context: Context,
    choice: String,
    is_host: bool,
    cpu_when_faster: bool,
}

impl PyContext {
    fn build(device: &Device, options: Options) -> Result<Self, tripipe::Error> {
        let builder = Context::builder()
            .cpu_when_faster(options.cpu_when_faster)
            .longest_build(if options.background_builds { Duration::ZERO } else { Duration::MAX })
            .predictions(options.predictions)
            .threads(options.threads);
        let context = builder.build(device)?;
        let is_host = matches!(device, Device::Cpu);
        let cpu_when_faster = options.cpu_when_faster;
        Ok(Self { context, choice: device.choice().to_string(), is_host, cpu_when_faster })
    }

    /// The library's context.
    pub(crate) fn inner(&self) -> &Context {
        &self.context
    }

    /// Checks that this process is not a child, by `fork`, of the one that made it.
    ///
    /// # Errors
    /// It is.
    fn usable(&self) -> PyResult<()> {
        self.context.check_process().map_err(|failed| error::of(&failed))
    }

    /// Whether it is the CPU path, whose memory is the host's.
    pub(crate) fn is_host(&self) -> bool {
        self.is_host
    }

    /// Whether the CPU path may do what it does faster than the device.
    pub(crate) fn cpu_when_faster(&self) -> bool {
        self.cpu_when_faster
    }
}

#[derive(Clone, Copy)]
struct Options {
    cpu_when_faster: bool,
    background_builds: bool,
    predictions: bool,
    threads: Threads,
}

#[pymethods]
impl PyContext {
    #[new]
    #[pyo3(signature = (
        device = None, *, cpu_when_faster = true, background_builds = None, predictions = true, threads = None
    ))]
    fn new(
        py: Python<'_>,
        device: Option<&Bound<'_, PyAny>>,
        cpu_when_faster: bool,
        background_builds: Option<bool>,
        predictions: bool,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let device = match device {
            None => named(py, "device", "auto")?,
            Some(device) => match device.cast::<PyDevice>() {
                Ok(device) => device.get().device.clone(),
                Err(_) => named(py, "device", &name_of("device", device)?)?,
            },
        };
        let want = "a number from 1, or None for one of each core";
        let threads = match threads.map(|threads| error::extracted("threads", threads, want)).transpose()? {
            None => Threads::All,
            Some(number) => match NonZeroUsize::new(number) {
                Some(most) => Threads::AtMost(most),
                None => return Err(error::value("threads", format!("0: want {want}"))),
            },
        };
        let background_builds = background_builds.unwrap_or(cpu_when_faster);
        let options = Options { cpu_when_faster, background_builds, predictions, threads };
        py.detach(|| Self::build(&device, options)).map_err(|failed| error::of_argument("device", &failed))
    }

    /// The device's name for display.
    #[getter]
    fn name(&self) -> &str {
        self.context.name()
    }

    /// The name of the device, as `Context` takes it.
    #[getter]
    pub(crate) fn device(&self) -> &str {
        &self.choice
    }

    /// Copies an array of the host to the device.
    fn array(slf: &Bound<'_, Self>, array: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let host = HostArray::of("array", array)?;
        PyArray::upload(slf, host)
    }

    /// Waits until all queued operations have ended.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let context = self.context.clone();
        crate::wait::run(py, true, move || context.finish())
    }

    /// What the operations of this context do, and why: the last 1024 of each kind.
    fn explain(&self, py: Python<'_>) -> Vec<PyExplanation> {
        py.detach(|| self.context.explain()).into_iter().map(PyExplanation::new).collect()
    }

    /// The kernels that the driver is compiling now, on any thread, each with the seconds since it began.
    #[getter]
    fn compilations(&self) -> Vec<(String, f64)> {
        let all = self.context.compilations().into_iter();
        all.map(|one| (one.kernels, one.elapsed.as_secs_f64())).collect()
    }

    fn __repr__(&self) -> String {
        format!("<tripipe.Context {}: {}>", self.choice, self.context.name())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let shared = slf.py().import("tripipe._tripipe")?.getattr("_shared_context")?;
        Ok((shared, (slf.get().choice.clone(),)))
    }
}

/// The context that functions use for the device `name`: one a process.
#[pyfunction]
#[pyo3(name = "_shared_context")]
pub(crate) fn shared_context(py: Python<'_>, name: &str) -> PyResult<Py<PyContext>> {
    static SHARED: Mutex<Option<HashMap<String, Py<PyContext>>>> = Mutex::new(None);
    let lock = || SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let name = name.to_ascii_lowercase();
    // The lock is not held while Python code or a driver runs.
    if let Some(known) =
        lock().as_ref().and_then(|contexts| contexts.get(&name)).map(|known| known.clone_ref(py))
    {
        known.get().usable()?;
        return Ok(known);
    }
    let device = named(py, "context", &name)?;
    let choice = device.choice().to_string();
    let options =
        Options { cpu_when_faster: true, background_builds: true, predictions: true, threads: Threads::All };
    let built = py
        .detach(|| PyContext::build(&device, options))
        .map_err(|failed| error::of_argument("context", &failed))?;
    let built = Py::new(py, built)?;
    let mut contexts = lock();
    let contexts = contexts.get_or_insert_default();
    // `auto` and `cpu` may be one device, and another thread may have been faster.
    let context = contexts.entry(choice).or_insert(built).clone_ref(py);
    Ok(contexts.entry(name).or_insert(context).clone_ref(py))
}

/// The context of an argument: a context, the name of a device, or `None` for the best device.
///
/// # Errors
/// Another type; no such device.
pub(crate) fn resolve<'py>(
    py: Python<'py>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyContext>> {
    static BEST: PyOnceLock<Py<PyContext>> = PyOnceLock::new();
    let Some(context) = context else {
        let best = BEST.get_or_try_init(py, || shared_context(py, "auto"))?;
        best.get().usable()?;
        return Ok(best.bind(py).clone());
    };
    match context.cast::<PyContext>() {
        Ok(context) => {
            context.get().usable()?;
            Ok(context.clone())
        }
        Err(_) => Ok(shared_context(py, &name_of("context", context)?)?.into_bound(py)),
    }
}

/// The context for work on arrays of the host that takes no longer than copying them: the CPU path, where that may be
/// used.
#[pyfunction]
#[pyo3(name = "_context_of_host", signature = (context = None))]
pub(crate) fn context_of_host<'py>(
    py: Python<'py>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyContext>> {
    let context = resolve(py, context)?;
    let stays = context.get().is_host || !context.get().cpu_when_faster;
    if stays { Ok(context) } else { Ok(shared_context(py, "cpu")?.into_bound(py)) }
}

fn name_of(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<String> {
    match object.cast::<PyString>() {
        Ok(name) => name.extract(),
        Err(_) => Err(error::wrong_type(
            argument,
            format!("{} is not a context, a device or the name of one", type_name(object)),
        )),
    }
}

fn named(py: Python<'_>, argument: &str, name: &str) -> PyResult<Device> {
    py.detach(|| Device::named(name)).map_err(|failed| error::of_argument(argument, &failed))
}
