//! [`Executor`] over an OpenCL device.

mod error;
mod submitted;

use std::collections::HashMap;
use std::sync::Arc;

use tripipe_cache::{Cache, CacheChoice};
use tripipe_device::Probe;
use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind,
    Program as Request, Submission, Timing,
};

use crate::code::CallError;
use crate::context::Context;
use crate::devices::Device;
use crate::event::Event;
use crate::executor::error::{build_error, call_error, launch_error, memory_error};
use crate::executor::submitted::Submitted;
use crate::kernel::{Arg, Kernel};
use crate::memory::{Contents, Object, Sampler, Shape, Strategy};
use crate::program::Program;
use crate::queue::Queue;

/// How an [`OpenClExecutor`] works.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExecutorOptions {
    /// How contents travel; `None` takes what suits the device.
    pub strategy: Option<Strategy>,
    /// Where built programs are kept from run to run.
    pub cache: CacheChoice,
}

impl ExecutorOptions {
    /// With this way for contents to travel, whatever suits the device.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// With this program cache.
    #[must_use]
    pub fn cache(mut self, cache: CacheChoice) -> Self {
        self.cache = cache;
        self
    }
}

/// Runs launches on an OpenCL device, in order, on one profiling queue of its own context.
///
/// Programs and kernels are built on first use and kept.
pub struct OpenClExecutor {
    device: Device,
    context: Context,
    queue: Queue,
    strategy: Strategy,
    objects: HashMap<MemoryId, Arc<Object>>,
    last_id: u64,
    allocated_bytes: u64,
    programs: HashMap<Arc<Request>, Built>,
    samplers: HashMap<tripipe_launch::Sampler, Arc<Sampler>>,
    cache: Option<Cache>,
}

struct Built {
    program: Program,
    kernels: HashMap<String, Kernel>,
}

impl OpenClExecutor {
    /// An executor on `device`, with a context and a queue of its own.
    ///
    /// # Errors
    /// The driver refuses a context or a queue; the device is gone.
    pub fn new(device: &Device, options: &ExecutorOptions) -> Result<Self, ExecuteError> {
        let failed = |error| call_error(device, 0, error);
        let context = Context::new(device).map_err(failed)?;
        let queue = Queue::with_profiling(&context).map_err(failed)?;
        Ok(Self {
            device: device.clone(),
            context,
            queue,
            strategy: options.strategy.unwrap_or_else(|| Strategy::for_device(device.probe())),
            objects: HashMap::new(),
            last_id: 0,
            allocated_bytes: 0,
            programs: HashMap::new(),
            samplers: HashMap::new(),
            cache: options.cache.cache(),
        })
    }

    /// The device it runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How contents travel between host and device.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    fn object(&self, memory: MemoryId) -> Result<&Arc<Object>, ExecuteError> {
        self.objects.get(&memory).ok_or_else(|| ExecuteError::Memory {
            memory,
            reason: "it is not one of this executor, or was released".to_owned(),
        })
    }

    fn add(&mut self, object: Object) -> MemoryId {
        self.last_id += 1;
        let id = MemoryId(self.last_id);
        self.objects.insert(id, Arc::new(object));
        id
    }

    fn kernel(&mut self, request: &Arc<Request>, entry: &str) -> Result<Kernel, ExecuteError> {
        let built = if let Some(built) = self.programs.get_mut(request) {
            built
        } else {
            let program = match &self.cache {
                Some(cache) => Program::build_cached(&self.context, request, cache),
                None => Program::build(&self.context, request),
            }
            .map_err(|error| build_error(&self.device, self.allocated_bytes, error))?;
            let built = Built { program, kernels: HashMap::new() };
            self.programs.entry(Arc::clone(request)).or_insert(built)
        };
        if let Some(kernel) = built.kernels.get(entry) {
            return Ok(kernel.clone());
        }
        let kernel = built
            .program
            .kernel(entry)
            .map_err(|error| launch_error(&self.device, self.allocated_bytes, error))?;
        built.kernels.insert(entry.to_owned(), kernel.clone());
        Ok(kernel)
    }

    fn sampler(&mut self, description: tripipe_launch::Sampler) -> Result<Arc<Sampler>, ExecuteError> {
        if let Some(sampler) = self.samplers.get(&description) {
            return Ok(Arc::clone(sampler));
        }
        let sampler = Sampler::new(&self.context, &description)
            .map_err(|error| memory_error(&self.device, None, 0, error))?;
        let sampler = Arc::new(sampler);
        self.samplers.insert(description, Arc::clone(&sampler));
        Ok(sampler)
    }

    /// Kernel and arguments of a launch, checked.
    fn resolve(&mut self, launch: &Launch) -> Result<(Kernel, Vec<Held>), ExecuteError> {
        let kernel = self.kernel(&launch.program, &launch.entry)?;
        let mut held = Vec::with_capacity(launch.arguments.len());
        for (index, argument) in launch.arguments.iter().enumerate() {
            held.push(match argument {
                Argument::Memory(memory) => Held::Memory(Arc::clone(self.object(*memory)?)),
                Argument::Value(value) => Held::Value(value.clone()),
                Argument::Local { bytes } => Held::Local(*bytes),
                Argument::Sampler(sampler) => Held::Sampler(self.sampler(*sampler)?),
                Argument::Bytes(bytes) => Held::Bytes(Arc::clone(bytes)),
                Argument::Null => Held::Null,
                other => {
                    return Err(ExecuteError::Argument {
                        entry: launch.entry.clone(),
                        index,
                        name: String::new(),
                        want: "a buffer, image, value, struct, local size, sampler or NULL".to_owned(),
                        found: format!("{other:?}"),
                    });
                }
            });
        }
        let arguments: Vec<Arg<'_>> = held.iter().map(Held::arg).collect();
        kernel
            .check(&arguments, &launch.range)
            .map_err(|error| launch_error(&self.device, self.allocated_bytes, error))?;
        Ok((kernel, held))
    }

    /// Puts the launches into the queue. Nothing is left running behind an error.
    fn enqueue(&mut self, launches: &[Launch]) -> Result<Submitted, ExecuteError> {
        let resolved: Vec<(Kernel, Vec<Held>)> =
            launches.iter().map(|launch| self.resolve(launch)).collect::<Result<_, _>>()?;
        let mut events: Vec<Event> = Vec::with_capacity(launches.len());
        for ((kernel, held), launch) in resolved.iter().zip(launches) {
            let arguments: Vec<Arg<'_>> = held.iter().map(Held::arg).collect();
            match kernel.launch(&self.queue, &arguments, &launch.range) {
                Ok(event) => events.push(event),
                Err(error) => {
                    // Its own failure adds nothing.
                    let _ = self.queue.finish();
                    return Err(launch_error(&self.device, self.allocated_bytes, error));
                }
            }
        }
        if !events.is_empty() {
            self.queue.flush().map_err(|error| self.fail(error))?;
        }
        Ok(Submitted { events, device: self.device.clone(), allocated_bytes: self.allocated_bytes })
    }

    fn fail(&self, error: CallError) -> ExecuteError {
        call_error(&self.device, self.allocated_bytes, error)
    }
}

/// An argument, kept alive for the launch.
enum Held {
    Memory(Arc<Object>),
    Sampler(Arc<Sampler>),
    Value(tripipe_launch::Value),
    Bytes(Arc<[u8]>),
    Local(usize),
    Null,
}

impl Held {
    fn arg(&self) -> Arg<'_> {
        match self {
            Self::Memory(object) => Arg::memory(object),
            Self::Sampler(sampler) => Arg::from(sampler.as_ref()),
            Self::Value(value) => Arg::value(value.clone()),
            Self::Bytes(bytes) => Arg::bytes(bytes),
            Self::Local(bytes) => Arg::local(*bytes),
            Self::Null => Arg::null(),
        }
    }
}

impl Executor for OpenClExecutor {
    fn probe(&self) -> &Probe {
        self.device.probe()
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        let contents = match (initial, self.strategy) {
            (Some(bytes), _) => Contents::Copy(bytes),
            // What is mapped must hold something; what is only copied into may stay undefined.
            (None, Strategy::Map) => Contents::Zero,
            (None, Strategy::Copy) => Contents::Undefined,
        };
        let (bytes, made) = match kind {
            MemoryKind::Buffer { bytes } => {
                (*bytes, Object::buffer(&self.context, *bytes, access, self.strategy, &contents))
            }
            MemoryKind::Image(shape) => {
                (shape.bytes(), Object::image(&self.context, shape, access, self.strategy, &contents))
            }
            other => {
                return Err(ExecuteError::NotOffered {
                    what: format!("a memory object of kind {other:?}"),
                    device: self.device.probe().name.clone(),
                });
            }
        };
        let next = MemoryId(self.last_id + 1);
        let object = made.map_err(|error| memory_error(&self.device, Some(next), bytes as u64, error))?;
        self.allocated_bytes += bytes as u64;
        Ok(self.add(object))
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        let parent = self.object(buffer)?;
        if !matches!(parent.shape(), Shape::Buffer { .. }) {
            return Err(ExecuteError::Memory { memory: buffer, reason: "it is not a buffer".to_owned() });
        }
        let image = Object::image_over(parent, shape, row_pitch_bytes, Access::ReadWrite)
            .map_err(|error| memory_error(&self.device, Some(buffer), 0, error))?;
        Ok(self.add(image))
    }

    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        let bytes = match self.object(memory)? {
            object if object.over_buffer() => 0,
            object => object.shape().bytes() as u64,
        };
        self.objects.remove(&memory);
        self.allocated_bytes = self.allocated_bytes.saturating_sub(bytes);
        Ok(())
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        let object = self.object(memory)?;
        object
            .write(&self.queue, self.strategy, offset, bytes)
            .map_err(|error| memory_error(&self.device, Some(memory), object.shape().bytes() as u64, error))
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        let object = self.object(memory)?;
        object
            .read(&self.queue, self.strategy, offset, into)
            .map_err(|error| memory_error(&self.device, Some(memory), object.shape().bytes() as u64, error))
    }

    fn prepare(&mut self, program: &Arc<Request>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        self.kernel(program, entry).map(|kernel| kernel.facts())
    }

    fn submit(&mut self, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        self.enqueue(launches).map(|submitted| Box::new(submitted) as Box<dyn Submission>)
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.enqueue(launches)?.timings()
    }
}
