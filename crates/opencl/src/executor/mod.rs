//! [`Executor`] for an OpenCL device.

mod builder;
mod error;
mod launches;
mod object_access;
mod objects;
mod options;
mod programs;
mod submitted;
mod transfers;

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use opencl_sys::{CL_MAP_READ, CL_MAP_WRITE};
use tripipe_cache::{Cache, CacheChoice};
use tripipe_device::Probe;
use tripipe_launch::{
    Access, Block, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, OverBytes,
    Prepared, Program as Request, Reading, Submission, Timing,
};

use crate::code::CallError;
use crate::context::Context;
use crate::devices::Device;
use crate::event::Event;
pub use crate::executor::builder::{Builder, BuiltProgram};
use crate::executor::error::{build_error, call_error, launch_error, memory_error};
use crate::executor::launches::Ready;
pub use crate::executor::object_access::ObjectAccess;
pub use crate::executor::options::ExecutorOptions;
use crate::executor::options::keeps_builds;
use crate::executor::programs::{Built, Programs};
use crate::executor::submitted::Submitted;
use crate::kernel::Kernel;
use crate::memory::{Contents, External, Footprint, Mapped, MappedMut, Object, Sampler, Shape, Strategy};
use crate::queue::Queue;

/// Runs launches on an OpenCL device, in order, on its own queue.
///
/// The queue profiles unless [`Executor::take_times`] turned that off. (There are two queues; switching between them
/// waits for all queued work.) On an NVIDIA H200 (driver 580), launching an empty kernel and waiting for it takes 18.7
/// us on a queue that profiles and 11.7 us on one that does not, measured with bare driver calls
/// (`benches/launch.rs`).
///
/// Programs and kernels are built on first use and retained.
pub struct OpenClExecutor {
    device: Device,
    context: Context,
    /// The queue in use.
    queue: Queue,
    /// The queue with the opposite profiling setting, once it was needed. It has no unfinished work.
    other_queue: Option<Queue>,
    /// The queue for copying initial contents to new objects, once it was needed: its copies do not wait for queued
    /// work.
    uploads: Option<Queue>,
    takes_times: bool,
    records: bool,
    /// Whether the queue is the application's, so that there is no other.
    is_given: bool,
    /// Pending zero fills that no submission waits for yet.
    fills: Vec<Event>,
    strategy: Strategy,
    objects: HashMap<MemoryId, Arc<Object>>,
    last_id: u64,
    allocated_bytes: u64,
    programs: Programs,
    samplers: HashMap<tripipe_launch::Sampler, Arc<Sampler>>,
    cache: Option<Cache>,
    #[cfg(feature = "nvml")]
    energy: Option<Arc<crate::energy::EnergyCounter>>,
}

impl OpenClExecutor {
    /// An executor on `device`, with its own context and queue.
    ///
    /// # Errors
    /// The driver cannot create a context or a queue; the device is lost.
    pub fn new(device: &Device, options: &ExecutorOptions) -> Result<Self, ExecuteError> {
        let context = Context::new(device).map_err(|error| call_error(device, 0, error))?;
        Self::over(&context, options)
    }

    /// An executor on an existing queue, such as one made by [`Queue::over`]: launches are enqueued there, in order with the
    /// commands of its other users. There are times if the queue profiles.
    pub fn on(queue: &Queue, options: &ExecutorOptions) -> Self {
        Self::with(queue.clone(), true, options)
    }

    /// An executor with its own queue on a shared context, such as one made by [`Context::over`].
    ///
    /// # Errors
    /// The driver cannot create a queue; the device is lost.
    pub fn over(context: &Context, options: &ExecutorOptions) -> Result<Self, ExecuteError> {
        let device = context.device();
        let queue = Queue::with_profiling(context).map_err(|error| call_error(device, 0, error))?;
        Ok(Self::with(queue, false, options))
    }

    fn with(queue: Queue, is_given: bool, options: &ExecutorOptions) -> Self {
        let context = queue.context().clone();
        let device = context.device();
        Self {
            device: device.clone(),
            is_given,
            takes_times: queue.profiles(),
            records: options.recorded,
            queue,
            other_queue: None,
            uploads: None,
            fills: Vec::new(),
            strategy: options.strategy.unwrap_or_else(|| Strategy::for_device(device.probe())),
            objects: HashMap::new(),
            last_id: 0,
            allocated_bytes: 0,
            programs: Programs::default(),
            samplers: HashMap::new(),
            #[cfg(feature = "nvml")]
            energy: options.energy.clone(),
            cache: options
                .cache
                .cache()
                .filter(|_| options.cache != CacheChoice::Environment || !keeps_builds(device.probe())),
            context,
        }
    }

    /// The device it runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How contents are transferred between host and device.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// A buffer over imported memory, without a copy. [`Executor`] uses it like any other buffer.
    ///
    /// # Errors
    /// [`ExecuteError::NotOffered`] names the extensions that the device lacks; an OpenCL buffer of another context,
    /// or one that does not allow `access`; an object that is not a buffer; the driver or the system fails.
    pub fn import(&mut self, external: External, access: Access) -> Result<MemoryId, ExecuteError> {
        let next = MemoryId(self.last_id + 1);
        let object = Object::import(&self.context, external, access)
            .map_err(|error| memory_error(&self.device, Some(next), 0, error))?;
        Ok(self.add(object))
    }

    /// Access to an object's bytes from the host through [`ObjectAccess`], while this executor keeps working on other objects.
    /// Until the result is dropped, the executor rejects operations that write the object, and those that read it
    /// unless `access` is [`Access::Read`].
    ///
    /// # Errors
    /// Not this executor's object, or the host is already using it.
    pub fn hold(&mut self, memory: MemoryId, access: Access) -> Result<ObjectAccess, ExecuteError> {
        ObjectAccess::new(self, memory, access != Access::Read)
    }

    /// The memory that one of its objects occupies.
    ///
    /// # Errors
    /// `memory` does not belong to this executor.
    pub fn footprint(&self, memory: MemoryId) -> Result<Footprint, ExecuteError> {
        Ok(self.object(memory)?.footprint().clone())
    }

    /// Whether the host can access an object's bytes through the executor. It cannot where the driver allows access only
    /// through the owner of imported memory.
    ///
    /// # Errors
    /// `memory` does not belong to this executor.
    pub fn is_accessible(&self, memory: MemoryId) -> Result<bool, ExecuteError> {
        Ok(self.object(memory)?.is_accessible())
    }

    /// A builder for this executor's programs, for use on other threads.
    pub fn builder(&self) -> Builder {
        Builder { context: self.context.clone(), cache: self.cache.clone() }
    }

    /// Adopts a program that its [`Builder`] has built. If the executor has built the program itself in the meantime,
    /// its own one stays.
    ///
    /// # Errors
    /// It was built for another executor's context.
    pub fn adopt(&mut self, program: BuiltProgram) -> Result<(), ExecuteError> {
        if !program.built.is_of(&self.context) {
            let what = format!("{}, built for another context,", program.request.name);
            return Err(ExecuteError::NotOffered { what, device: self.device.probe().name.clone() });
        }
        self.programs.add(&program.request, program.built);
        Ok(())
    }

    /// Whether a program was built or adopted, so that a launch need not wait for the compiler.
    pub fn has_built(&mut self, program: &Arc<Request>) -> bool {
        self.programs.find(program).is_some()
    }

    /// A kernel; built now if it was not built before.
    fn kernel(&mut self, request: &Arc<Request>, entry: &str) -> Result<Kernel, ExecuteError> {
        let (device, bytes) = (&self.device, self.allocated_bytes);
        let built = if let Some(built) = self.programs.find(request) {
            built
        } else {
            let built = Built::new(&self.context, request, self.cache.as_ref())
                .map_err(|error| build_error(device, bytes, error))?;
            self.programs.add(request, built)
        };
        built.kernel(entry).cloned().map_err(|error| launch_error(device, bytes, error))
    }

    fn submitted(&mut self, events: Vec<Event>) -> Submitted {
        let (device, allocated_bytes) = (self.device.clone(), self.allocated_bytes);
        let timed = self.queue.profiles();
        let before = std::mem::take(&mut self.fills);
        Submitted { events, before, timed, over: Arc::default(), device, allocated_bytes }
    }

    fn fail(&self, error: CallError) -> ExecuteError {
        call_error(&self.device, self.allocated_bytes, error)
    }
}

impl Executor for OpenClExecutor {
    fn probe(&self) -> &Probe {
        self.device.probe()
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    #[cfg(feature = "nvml")]
    fn counted_joules(&self) -> Option<f64> {
        self.energy.as_ref()?.joules().ok()
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        self.make(
            kind,
            access,
            match (initial, self.strategy) {
                (Some(bytes), _) => Contents::Copy(bytes),
                // Mapped memory must be defined; memory that is only copied into may stay undefined.
                (None, Strategy::Map) => Contents::Zero,
                (None, Strategy::Copy) => Contents::Undefined,
            },
        )
    }

    fn allocate_zeros(&mut self, kind: &MemoryKind, access: Access) -> Result<MemoryId, ExecuteError> {
        self.make(kind, access, Contents::Zero)
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
            object if object.borrows() => 0,
            object => object.shape().bytes() as u64,
        };
        self.objects.remove(&memory);
        self.allocated_bytes = self.allocated_bytes.saturating_sub(bytes);
        Ok(())
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        let object = self.writable(memory)?;
        object
            .write(&self.queue, self.strategy, offset, bytes)
            .map_err(|error| memory_error(&self.device, Some(memory), object.shape().bytes() as u64, error))
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        let object = self.readable(memory)?;
        object.read(&self.queue, self.strategy, offset, into).map_err(|error| {
            memory_error(&self.device, Some(memory), object.shape().bytes() as u64, error)
        })?;
        self.look_at_fills()
    }

    fn enqueue_write(
        &mut self,
        memory: MemoryId,
        offset: usize,
        from: Block,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        self.put_write(memory, offset, from)
    }

    fn enqueue_read(
        &mut self,
        memory: MemoryId,
        offset: usize,
        into: Block,
    ) -> Result<Box<dyn Reading>, ExecuteError> {
        self.put_read(memory, offset, into)
    }

    fn with_bytes(
        &mut self,
        memory: MemoryId,
        range: Range<usize>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ExecuteError> {
        let object = self.readable(memory)?;
        let fail = |error| memory_error(&self.device, Some(memory), 0, error);
        let mapping = object.in_place(&self.queue, self.strategy, CL_MAP_READ, &range).map_err(fail)?;
        if let Some(mapping) = mapping.map(Mapped) {
            look(&mapping);
            return mapping.unmap().map_err(fail);
        }
        look(&self.copy_of(memory, range.start, range.len())?);
        Ok(())
    }

    fn with_bytes_mut(
        &mut self,
        memory: MemoryId,
        range: Range<usize>,
        edit: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), ExecuteError> {
        let object = self.writable(memory)?;
        let fail = |error| memory_error(&self.device, Some(memory), 0, error);
        let flags = CL_MAP_READ | CL_MAP_WRITE;
        let mapping = object.in_place(&self.queue, self.strategy, flags, &range).map_err(fail)?;
        if let Some(mut mapping) = mapping.map(MappedMut) {
            edit(&mut mapping);
            return mapping.unmap().map_err(fail);
        }
        let mut bytes = self.copy_of(memory, range.start, range.len())?;
        edit(&mut bytes);
        object.write(&self.queue, self.strategy, range.start, &bytes).map_err(fail)
    }

    fn with_all_bytes(
        &mut self,
        inputs: &[(MemoryId, usize)],
        (output, output_bytes): (MemoryId, usize),
        work: &mut OverBytes<'_>,
    ) -> Result<(), ExecuteError> {
        let device = &self.device;
        let fail = |memory| move |error| memory_error(device, Some(memory), 0, error);
        let (mut mapped, mut copied) = (Vec::new(), Vec::new());
        let written = self.object(output)?.footprint();
        for &(memory, bytes) in inputs {
            let object = self.readable(memory)?;
            // An input that overlaps the output is read as it was before the write.
            let mapping = if object.footprint().overlaps(written) {
                None
            } else {
                let mapping = object.in_place(&self.queue, self.strategy, CL_MAP_READ, &(0..bytes));
                mapping.map_err(fail(memory))?.map(Mapped)
            };
            if mapping.is_none() {
                copied.push(self.copy_of(memory, 0, bytes)?);
            }
            mapped.push((memory, mapping));
        }
        let mut copies = copied.iter();
        let bytes: Vec<&[u8]> = mapped
            .iter()
            .filter_map(|(_, mapping)| match mapping {
                Some(mapping) => Some(&**mapping),
                None => copies.next().map(Vec::as_slice),
            })
            .collect();
        let object = self.writable(output)?;
        let flags = CL_MAP_READ | CL_MAP_WRITE;
        let mapping = object.in_place(&self.queue, self.strategy, flags, &(0..output_bytes));
        if let Some(mut mapping) = mapping.map_err(fail(output))?.map(MappedMut) {
            work(&bytes, &mut mapping);
            mapping.unmap().map_err(fail(output))?;
        } else {
            let mut result = self.copy_of(output, 0, output_bytes)?;
            work(&bytes, &mut result);
            object.write(&self.queue, self.strategy, 0, &result).map_err(fail(output))?;
        }
        for (memory, mapping) in mapped {
            mapping.map_or(Ok(()), Mapped::unmap).map_err(fail(memory))?;
        }
        Ok(())
    }

    fn copy(
        &mut self,
        from: MemoryId,
        from_offset: usize,
        to: MemoryId,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        let (source, target) = (self.readable(from)?, self.writable(to)?);
        let device = &self.device;
        let fail = |memory| move |error| memory_error(device, Some(memory), bytes as u64, error);
        // This check makes the error name the object that is too small.
        source.check_range(from_offset, bytes).map_err(fail(from))?;
        let copied = source.copy_to(&self.queue, from_offset, target, to_offset, bytes).map_err(fail(to))?;
        if copied.is_some() {
            self.queue.flush().map_err(|error| self.fail(error))?;
        } else {
            let through = self.copy_of(from, from_offset, bytes)?;
            target.write(&self.queue, self.strategy, to_offset, &through).map_err(fail(to))?;
        }
        Ok(Box::new(self.submitted(copied.into_iter().collect())))
    }

    fn prepare(&mut self, program: &Arc<Request>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        self.kernel(program, entry).map(|kernel| kernel.facts())
    }

    fn submit(&mut self, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        self.enqueue(launches, self.takes_times).map(|submitted| Box::new(submitted) as Box<dyn Submission>)
    }

    fn take_times(&mut self, take: bool) {
        self.takes_times = take && (!self.is_given || self.queue.profiles());
    }

    fn prepare_launches(&mut self, launches: &[Launch]) -> Result<Prepared, ExecuteError> {
        Ok(Prepared::with(launches, self.ready(launches)?))
    }

    fn submit_prepared(&mut self, prepared: &Prepared) -> Result<Box<dyn Submission>, ExecuteError> {
        match prepared.own::<Ready>() {
            Some(ready) if ready.context.is(&self.context) => {
                self.enqueue_ready(ready).map(|submitted| Box::new(submitted) as Box<dyn Submission>)
            }
            // Their memory ids belong to the other executor; the same ids here are other objects.
            _ => Err(ExecuteError::NotOffered {
                what: "running launches that another executor prepared".to_owned(),
                device: self.device.probe().name.clone(),
            }),
        }
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.enqueue(launches, true)?.timings()
    }
}
