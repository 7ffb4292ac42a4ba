use super::*;

/// An executor whose objects are byte vectors; launches are only counted.
#[derive(Default)]
struct Plain {
    probe: Probe,
    objects: Vec<Vec<u8>>,
    launched: usize,
    prepared: usize,
}

impl Plain {
    fn part(&mut self, memory: MemoryId, offset: usize, len: usize) -> Result<&mut [u8], ExecuteError> {
        let object = &mut self.objects[memory.0 as usize];
        let reason = format!("{len} bytes at {offset} of {}", object.len());
        let end = offset.checked_add(len);
        let part = end.and_then(|end| object.get_mut(offset..end));
        part.ok_or(ExecuteError::Memory { memory, reason })
    }
}

impl Executor for Plain {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn allocate(
        &mut self,
        _: &MemoryKind,
        _: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        self.objects.push(initial.unwrap_or_default().to_vec());
        Ok(MemoryId(self.objects.len() as u64 - 1))
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        _: &ImageShape,
        _: usize,
    ) -> Result<MemoryId, ExecuteError> {
        Ok(buffer)
    }

    fn release(&mut self, _: MemoryId) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        self.part(memory, offset, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        into.copy_from_slice(self.part(memory, offset, into.len())?);
        Ok(())
    }

    fn prepare(&mut self, _: &Arc<Program>, _: &str) -> Result<KernelFacts, ExecuteError> {
        self.prepared += 1;
        Ok(KernelFacts::default())
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.launched += launches.len();
        Ok(vec![Timing::default(); launches.len()])
    }
}

fn plain() -> (Plain, MemoryId) {
    let mut executor = Plain::default();
    let kind = MemoryKind::Buffer { bytes: 8 };
    let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[0, 1, 2, 3, 4, 5, 6, 7]));
    (executor, memory.unwrap())
}

#[test]
fn contents_are_copied_when_they_cannot_be_mapped() {
    let (mut executor, memory) = plain();
    let mut seen = Vec::new();
    executor.with_bytes(memory, 2..5, &mut |bytes| seen.push(bytes.to_vec())).unwrap();
    assert_eq!(seen, [[2, 3, 4]]);
    executor.with_bytes_mut(memory, 6..8, &mut |bytes| bytes.reverse()).unwrap();
    assert_eq!(executor.objects[0], [0, 1, 2, 3, 4, 5, 7, 6]);
}

#[test]
fn several_objects_are_reached_at_once() {
    let (mut executor, first) = plain();
    let kind = MemoryKind::Buffer { bytes: 4 };
    let second = executor.allocate(&kind, Access::ReadWrite, Some(&[9, 9, 9, 9])).unwrap();
    let mut add = |inputs: &[&[u8]], output: &mut [u8]| {
        for (i, byte) in output.iter_mut().enumerate() {
            *byte += inputs[0][i] + inputs[1][i];
        }
    };
    executor.with_all_bytes(&[(first, 3), (first, 8)], (second, 3), &mut add).unwrap();
    assert_eq!(executor.objects[1], [9, 11, 13, 9]);
    for (inputs, output) in [([(first, 9)], (second, 4)), ([(first, 8)], (second, 5))] {
        let refused = executor.with_all_bytes(&inputs, output, &mut |_, _| panic!("not reached"));
        assert!(matches!(refused, Err(ExecuteError::Memory { .. })), "{refused:?}");
    }
}

#[test]
fn invalid_ranges_are_rejected_before_memory_is_allocated() {
    let (mut executor, memory) = plain();
    #[allow(clippy::reversed_empty_ranges, reason = "what is refused")]
    for range in [0..9, 9..9, 3..2, 0..usize::MAX, 8..1 << 60] {
        let looked = executor.with_bytes(memory, range.clone(), &mut |_| panic!("not reached"));
        assert!(matches!(looked, Err(ExecuteError::Memory { .. })), "{range:?}: {looked:?}");
        let edited = executor.with_bytes_mut(memory, range.clone(), &mut |_| panic!("not reached"));
        assert!(matches!(edited, Err(ExecuteError::Memory { .. })), "{range:?}: {edited:?}");
    }
    for (from, to, bytes) in [(0, 1, 8), (1, 0, 8), (usize::MAX, 0, 2)] {
        assert!(executor.copy(memory, from, memory, to, bytes).is_err());
    }
    assert_eq!(executor.objects[0], [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_copy_may_overlap_itself() {
    let (mut executor, memory) = plain();
    executor.copy(memory, 0, memory, 2, 5).unwrap().wait().unwrap();
    assert_eq!(executor.objects[0], [0, 1, 0, 1, 2, 3, 4, 7]);
}

#[test]
fn transfers_of_blocks_complete_at_once() {
    let (mut executor, memory) = plain();
    executor.enqueue_write(memory, 6, Block::new(vec![9u8, 8])).unwrap().wait().unwrap();
    let reading = executor.enqueue_read(memory, 4, Block::new(vec![0u16; 2])).unwrap();
    assert!(reading.is_done());
    let found: Vec<u16> = reading.take().unwrap().into_vec().unwrap();
    assert_eq!(found, [u16::from_ne_bytes([4, 5]), u16::from_ne_bytes([9, 8])]);
    assert!(reading.take().is_none());
    assert!(executor.enqueue_read(memory, 7, Block::new(vec![0u16])).is_err());
    assert!(executor.enqueue_write(memory, 8, Block::new(vec![0u8])).is_err());
}

#[test]
fn prepared_launches_run_on_executors_that_only_run() {
    let (mut executor, _) = plain();
    let launch = Launch {
        program: Arc::new(Program::from_source("f.cl", "kernel void f(void) {}")),
        entry: "f".to_owned(),
        arguments: Vec::new(),
        range: crate::NdRange::d1(1),
    };
    let prepared = executor.prepare_launches(&[launch.clone(), launch]).unwrap();
    assert_eq!((executor.prepared, executor.launched), (2, 0));
    assert!(prepared.own::<u32>().is_none());
    let submission = executor.submit_prepared(&prepared).unwrap();
    assert_eq!(executor.launched, 2);
    assert!(submission.is_done());
    let (tell, told) = std::sync::mpsc::channel();
    submission.on_done(Box::new(move || tell.send(()).unwrap()));
    assert_eq!(told.try_recv(), Ok(()));
    assert_eq!(submission.timings().unwrap().len(), 2);
}
