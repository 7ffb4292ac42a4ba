//! Loading: types from the kernel, contents from files, staged on an executor that only stores bytes.

use std::collections::HashMap;
use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, ImageExtent, ImageShape, KernelFacts, Launch, MemoryId,
    MemoryKind, Program, Source, Timing, Value,
};
use tripipe_launch_file::{Limits, Number, ParameterKind, Scalar};

use super::{Shelf, buffer, kernel, load, parse, value, with};

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

fn only(text: &str, kind: ParameterKind) -> (Vec<usize>, Vec<u8>) {
    let mut loaded = load(&with(text), &[kind]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let memory = loaded.memory.remove(0);
    assert_eq!(memory.array.bytes(), memory.initial.as_ref().map(Vec::len), "{text}");
    (memory.array.extents, memory.initial.unwrap())
}

#[test]
fn values_get_the_kernels_types() {
    let argument = |said: &str, kind| {
        load(&with(&format!("[[argument]]\n{said}")), &[kind]).unwrap().arguments.remove(0)
    };
    assert_eq!(argument("value = 5", value("int")), Argument::Value(Value::from(5i32)));
    assert_eq!(argument("value = 5", value("float")), Argument::Value(Value::from(5.0f32)));
    assert_eq!(argument("value = [1, 2, 3]", value("uchar3")), Argument::Value(Value::from([1u8, 2, 3])));
    let opaque = ParameterKind::Opaque { type_name: "real".to_owned(), bytes: Some(8) };
    assert_eq!(
        argument("value = 0.5\ntype = 'double'", opaque.clone()),
        Argument::Value(Value::from(0.5f64))
    );
    assert_eq!(
        argument("value = 5\ntype = 'short'", ParameterKind::Unknown),
        Argument::Value(Value::from(5i16))
    );
    assert_eq!(argument("bytes = '0001020304050607'", opaque), Argument::Bytes((0..8).collect()));
    let struct12 = ParameterKind::Opaque { type_name: "struct s".to_owned(), bytes: Some(12) };
    assert_eq!(argument("bytes = { file = 'a.bin' }", struct12), Argument::Bytes((1..=12).collect()));
    assert_eq!(argument("local = 7", ParameterKind::Local), Argument::Local { bytes: 7 });
    assert_eq!(argument("null = true", buffer("int")), Argument::Null);
}

#[test]
fn contents_out_of_files() {
    let bytes: Vec<u8> = (1..=12).collect();
    let raw = "[[argument]]\nfile = 'a.bin'\n";
    assert_eq!(only(&format!("{raw}buffer = 'short'"), buffer("short")), (vec![6], bytes.clone()));
    assert_eq!(only(&format!("{raw}buffer = 'uchar'\ncount = [3, 4]"), buffer("uchar")), (vec![3, 4], bytes));

    let npy = "[[argument]]\nnpy = 'a.npy'\n";
    let (extents, bytes) = only(&format!("{npy}buffer = 'float'"), buffer("float"));
    assert_eq!((extents, floats(&bytes)), (vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let (extents, bytes) = only(&format!("{npy}buffer = 'float3'"), buffer("float3"));
    assert_eq!((extents, floats(&bytes)), (vec![2], vec![1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0]));
    let (extents, _) = only(&format!("{npy}buffer = 'float2'\ncount = 3"), buffer("float2"));
    assert_eq!(extents, [3]);
}

#[test]
fn images_are_converted_to_the_format_of_the_argument() {
    let picture = "[[argument]]\npicture = 'a.png'\n";
    let loaded = |said: &str, kind| only(&format!("{picture}{said}"), kind);
    assert_eq!(loaded("buffer = 'uchar'", buffer("uchar")), (vec![1, 2, 3], vec![10, 20, 30, 40, 50, 60]));
    assert_eq!(loaded("buffer = 'uchar'\ncount = [1, 2]", buffer("uchar")), (vec![1, 2], vec![10, 40]));
    let rgba = vec![10, 20, 30, 255, 40, 50, 60, 255];
    assert_eq!(loaded("buffer = 'uchar'\ncount = [1, 2, 4]", buffer("uchar")), (vec![1, 2, 4], rgba.clone()));
    assert_eq!(loaded("buffer = 'uchar4'", buffer("uchar4")), (vec![1, 2], rgba.clone()));
    assert_eq!(loaded("buffer = 'uchar'\ncount = 6", buffer("uchar")).0, [6]);
    // Three lanes in the space of four.
    assert_eq!(
        loaded("buffer = 'uchar3'", buffer("uchar3")),
        (vec![1, 2], vec![10, 20, 30, 0, 40, 50, 60, 0])
    );
    let (_, bytes) = loaded("buffer = 'float'\ncount = [1, 2]", buffer("float"));
    assert_eq!(floats(&bytes), [10.0 / 255.0, 40.0 / 255.0]);

    let image = |format: &str| loaded(&format!("image = {{ {format} }}"), ParameterKind::Image);
    assert_eq!(image("order = 'rgba', channel = 'unorm-int8'"), (vec![1, 2], rgba));
    let bgra = vec![30, 20, 10, 255, 60, 50, 40, 255];
    assert_eq!(image("width = 2, height = 1, order = 'bgra', channel = 'unorm-int8'"), (vec![1, 2], bgra));
    assert_eq!(image("order = 'r', channel = 'unsigned-int8'"), (vec![1, 2], vec![10, 40]));
}

#[test]
fn ranges_of_expectations_take_the_size_of_the_buffer() {
    let text = with("[[argument]]\nbuffer = 'float'\nnpy = 'a.npy'\nexpect = { range = { start = 1 } }");
    let loaded = load(&text, &[buffer("float")]).unwrap();
    let (expected, _) = loaded.memory[0].expected.as_ref().unwrap();
    assert_eq!(floats(expected), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn limits_are_checked_before_memory_is_allocated() {
    let limited = |text: &str, kinds: &[ParameterKind], bytes| {
        parse(&with(text)).unwrap().load(&[kernel(kinds)], &mut Shelf::default(), Limits { bytes })
    };
    let two = "[[argument]]\nbuffer = 'uchar'\ncount = 60\nexpect = { fill = 0 }\n[[argument]]\nlocal = 8\n";
    let kinds = [buffer("uchar"), ParameterKind::Local];
    assert!(limited(two, &kinds, 128).is_ok());
    let error = limited(two, &kinds, 127).unwrap_err();
    assert_eq!(
        error.to_string(),
        "k.toml:7:1: the arguments need 128 bytes, over the limit of 127 bytes; make them smaller, or raise \
        the limit"
    );
    // These would need more memory than any machine has, and years of time.
    for huge in ["9223372036854775807", "[4294967296, 1073741824]"] {
        let text = format!("[[argument]]\nbuffer = 'double16'\ncount = {huge}\nrandom = {{}}");
        let error = limited(&text, &[buffer("double16")], 1 << 40).unwrap_err().to_string();
        assert!(error.contains("too many bytes to count"), "{error}");
    }
    let text = "[[argument]]\nimage = { width = 9223372036854775807, order = 'rgba', channel = 'float' }";
    assert!(limited(text, &[ParameterKind::Image], 1 << 40).is_err());
}

/// Stores bytes; a launch adds 1 to every byte of its first argument.
#[derive(Default)]
struct Keeper {
    probe: Probe,
    objects: HashMap<u64, Vec<u8>>,
    images: Vec<(MemoryId, ImageShape, usize)>,
    launches: Vec<Launch>,
}

impl Executor for Keeper {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        _: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            MemoryKind::Image(shape) => shape.bytes(),
            _ => panic!(),
        };
        let id = 100 + self.objects.len() as u64;
        self.objects.insert(id, initial.map_or(vec![0; bytes], <[u8]>::to_vec));
        assert_eq!(self.objects[&id].len(), bytes);
        Ok(MemoryId(id))
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        self.images.push((buffer, *shape, row_pitch_bytes));
        Ok(MemoryId(7))
    }

    fn release(&mut self, _: MemoryId) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn write(&mut self, _: MemoryId, _: usize, _: &[u8]) -> Result<(), ExecuteError> {
        panic!("contents go in when memory is made")
    }

    fn read(&mut self, memory: MemoryId, _: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        into.copy_from_slice(&self.objects[&memory.0]);
        Ok(())
    }

    fn prepare(&mut self, _: &Arc<Program>, _: &str) -> Result<KernelFacts, ExecuteError> {
        Ok(KernelFacts::default())
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.launches = launches.to_vec();
        let Argument::Memory(first) = launches[0].arguments[0] else { panic!() };
        self.objects.get_mut(&first.0).unwrap().iter_mut().for_each(|byte| *byte += 1);
        Ok(vec![Timing::default()])
    }
}

#[test]
fn staged_run_and_compared() {
    let text = with(
        "[[argument]]\nbuffer = 'uchar'\ncount = [2, 2]\nrange = {}\ndump = true\nexpect = { values = [1, 2, 9, 4] }\n\
         [[argument]]\nsame_as = 'a'\n\
         [[argument]]\nimage = { width = 3, over_buffer = true, order = 'r', channel = 'float' }\nfill = 2\n\
         expect = { fill = 2.5, absolute = 0.5 }\n\
         [[argument]]\nvalue = 3\n",
    )
    .replace("buffer = 'uchar'", "name = 'a'\nbuffer = 'uchar'");
    let kinds = [buffer("uchar"), buffer("uchar"), ParameterKind::Image, value("int")];
    let loaded = load(&text, &kinds).unwrap();
    let mut keeper = Keeper::default();
    let program =
        Arc::new(parse(&text).unwrap().program("k.cl".to_owned(), Source::SpirV([].into()), str::to_owned));
    let staged = loaded.stage(&mut keeper, Arc::clone(&program)).unwrap();
    keeper.run(std::slice::from_ref(&staged.launch)).unwrap();

    let launch = &keeper.launches[0];
    assert_eq!((launch.entry.as_str(), &launch.program), ("k", &program));
    let [Argument::Memory(a), Argument::Memory(again), Argument::Memory(image), Argument::Value(number)] =
        &launch.arguments[..]
    else {
        panic!("{launch:?}")
    };
    assert_eq!((a, number), (again, &Value::from(3i32)));
    // The image is over a buffer of its own, which is read afterwards.
    assert_eq!(*image, MemoryId(7));
    let (buffer, shape, pitch) = keeper.images[0];
    assert_eq!((shape.extent, pitch), (ImageExtent::Buffer { width: 3 }, 12));
    assert_eq!(staged.memory[1].id, buffer);

    let names: Vec<&str> = staged.memory.iter().map(|memory| memory.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    let first = staged.memory[0].read(&mut keeper).unwrap();
    assert_eq!(first.bytes, [1, 2, 3, 4]);
    let comparison = first.comparison.unwrap();
    assert_eq!((comparison.numbers, comparison.differing, comparison.largest), (4, 1, 6.0));
    assert_eq!(comparison.first[0].index, [1, 0]);
    assert_eq!(comparison.first[0].found, Scalar::Integer(3));
    assert_eq!(staged.memory[1].read(&mut keeper).unwrap().comparison.unwrap().differing, 0);
    assert!(staged.memory[0].is_wanted());
    assert_eq!(Number::Float(0.5).to_string(), "0.5");
}
