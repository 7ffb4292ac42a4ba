//! Contexts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use opencl_sys::cl_context_info;
use tripipe_launch::locks::lock;

use super::device::Device;
use super::engine::Engine;
use super::failure::{Failure, Outcome};
use super::handle::{ApiObject, Handle, api_object, register};
use super::info::{self, Answer};
use super::settings::Settings;
use super::storage::Storage;
use super::worker::Worker;

/// Reports an error of the context to the application.
pub type Report = Box<dyn Fn(&str) + Send + Sync>;

/// A callback of the application that is called once.
pub type Callback = Box<dyn FnOnce() + Send>;

/// A context.
pub struct Context {
    handle: Handle,
    devices: Vec<Arc<Device>>,
    properties: Vec<isize>,
    report: Option<Report>,
    /// Its virtual GPUs.
    pub engine: Arc<Engine>,
    /// Its thread.
    pub worker: Arc<Worker>,
    /// Its shared virtual memory, by address.
    pub svm: Mutex<BTreeMap<usize, Arc<Storage>>>,
    destructors: Mutex<Vec<Callback>>,
}

api_object!(Context, cl::CL_INVALID_CONTEXT, "context");

impl Context {
    /// A context for devices; a device that is named twice counts once. `properties` are those that the application
    /// passed, with the 0 at their end, or empty.
    pub fn new(devices: Vec<Arc<Device>>, properties: Vec<isize>, report: Option<Report>) -> Arc<Self> {
        let mut distinct: Vec<Arc<Device>> = Vec::new();
        for device in devices {
            if distinct.iter().all(|other| other.index != device.index) {
                distinct.push(device);
            }
        }
        let context = Self {
            handle: Handle::default(),
            engine: Arc::new(Engine::new(&distinct)),
            devices: distinct,
            properties,
            report,
            worker: Arc::default(),
            svm: Mutex::default(),
            destructors: Mutex::default(),
        };
        register(context, 1)
    }

    /// Its devices.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// Fails unless a device is one of the context's.
    ///
    /// # Errors
    /// It is not.
    pub fn check_device(&self, device: &Device) -> Outcome<()> {
        if self.devices.iter().any(|own| own.index == device.index) {
            return Ok(());
        }
        let name = device.gpu.name();
        Err(Failure::new(cl::CL_INVALID_DEVICE, format!("{name} is not a device of the context")))
    }

    /// Tells the application why a call or a command failed.
    pub fn report(&self, failure: &Failure) {
        Settings::current().print(&failure.to_string());
        if let Some(report) = &self.report {
            report(&failure.to_string());
        }
    }

    /// The largest buffer that one of its devices may have.
    pub fn largest_buffer(&self) -> u64 {
        self.devices.iter().map(|device| device.largest_buffer()).max().unwrap_or(0)
    }

    /// Adds a function that is called when the context is gone; the last added is called first.
    pub fn at_end(&self, callback: Callback) {
        lock(&self.destructors).push(callback);
    }

    /// Answers `clGetContextInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_context_info) -> Outcome<Answer> {
        Ok(match query {
            cl::CL_CONTEXT_REFERENCE_COUNT => info::number(self.handle.references()),
            cl::CL_CONTEXT_NUM_DEVICES => info::number(self.devices.len() as u32),
            cl::CL_CONTEXT_DEVICES => {
                info::pointers(self.devices.iter().map(|device| device.handle().pointer()))
            }
            cl::CL_CONTEXT_PROPERTIES => info::list(&self.properties),
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of contexts"),
                ));
            }
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.worker.stop();
        let destructors = std::mem::take(&mut *lock(&self.destructors));
        for destructor in destructors.into_iter().rev() {
            destructor();
        }
    }
}
