//! Every key and its meaning.

use tripipe_launch::{
    Access, Addressing, ChannelOrder, ChannelType, Filter, ImageExtent, NdRange, Sampler, Source,
};
use tripipe_launch_file::{
    BytesFrom, Contents, Dump, Given, Memory, MemoryShape, Number, ProgramFile, Random, Tolerance,
};

use super::{element, parse, with};

fn given(argument: &str) -> Given {
    let text = with(&format!("[[argument]]\n{argument}\n"));
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).arguments.remove(0).given
}

fn memory(argument: &str) -> Memory {
    let Given::Memory(memory) = given(argument) else { panic!("{argument}") };
    memory
}

#[test]
fn the_run() {
    let file = parse(
        "source = 'a/b.cl'\noptions = '-D N=4 -Iinc -cl-mad-enable'\nkernel = 'k'\nglobal = [6, 4]\nlocal = [3, 2]\n\
         offset = [0, 1]\n",
    )
    .unwrap();
    assert_eq!(file.source, ProgramFile::OpenClC { path: "a/b.cl".to_owned() });
    assert_eq!(file.kernel.as_deref(), Some("k"));
    assert_eq!(file.range, NdRange::d2(6, 4).local(3, 2, 1).offset(0, 1, 0));
    assert_eq!(file.arguments, []);
    let program =
        file.program("b.cl".to_owned(), Source::OpenClC("".into()), |folder| format!("there/{folder}"));
    assert_eq!(program.build_options(), "-D N=4 -cl-mad-enable -I there/inc");
    assert_eq!(program.name, "b.cl");

    let file = parse("spirv = 'b.spv'\nglobal = 7\noptions = ''").unwrap();
    assert_eq!(file.source, ProgramFile::SpirV { path: "b.spv".to_owned() });
    assert_eq!((file.kernel, file.range), (None, NdRange::d1(7)));
    let file = parse("spirv = 'b.spv'\nglobal = [7, 8, 9]\nlocal = [1, 1, 3]").unwrap();
    assert_eq!(file.range, NdRange::d3(7, 8, 9).local(1, 1, 3));
}

#[test]
fn arguments_that_are_no_memory() {
    let integer = |numbers: &[i128]| numbers.iter().copied().map(Number::Integer).collect::<Vec<_>>();
    assert_eq!(given("value = -5"), Given::Value { element: None, numbers: integer(&[-5]) });
    assert_eq!(
        given("value = [1, 2, 3, 4]"),
        Given::Value { element: None, numbers: integer(&[1, 2, 3, 4]) }
    );
    let largest = Given::Value { element: Some(element("ulong")), numbers: integer(&[u64::MAX.into()]) };
    assert_eq!(given("value = 0xFFFF_FFFF_FFFF_FFFF\ntype = 'ulong'"), largest);
    let half = Given::Value {
        element: Some(element("half2")),
        numbers: vec![Number::Float(0.5), Number::Integer(1)],
    };
    assert_eq!(given("value = [0.5, 1]\ntype = 'half2'"), half);

    assert_eq!(given("bytes = '00 01\tfF'"), Given::Bytes(BytesFrom::Written([0, 1, 255].into())));
    assert_eq!(
        given("bytes = { file = 'p.bin' }"),
        Given::Bytes(BytesFrom::File { path: "p.bin".to_owned() })
    );
    assert_eq!(given("local = 1024"), Given::Local { bytes: 1024 });
    assert_eq!(given("null = true"), Given::Null);
    let sampler =
        Sampler { normalized: true, addressing: Addressing::MirroredRepeat, filter: Filter::Linear };
    let said = "sampler = { normalized = true, addressing = 'mirrored-repeat', filter = 'linear' }";
    assert_eq!(given(said), Given::Sampler(sampler));
    for (word, addressing) in
        [("none", Addressing::None), ("clamp-to-edge", Addressing::ClampToEdge), ("clamp", Addressing::Clamp)]
    {
        let said = format!("sampler = {{ normalized = false, addressing = '{word}', filter = 'nearest' }}");
        let sampler = Sampler { normalized: false, addressing, filter: Filter::Nearest };
        assert_eq!(given(&said), Given::Sampler(sampler));
    }
}

#[test]
fn memory_passed_twice() {
    let first = "[[argument]]\nlocal = 4\n[[argument]]\nname = 'x'\nbuffer = 'int'\ncount = 2\n";
    for same in ["1", "'x'"] {
        let file = parse(&with(&format!("{first}[[argument]]\nsame_as = {same}"))).unwrap();
        assert_eq!(file.arguments[2].given, Given::SameAs { index: 1 });
        assert_eq!(file.arguments[1].name.as_deref(), Some("x"));
        assert_eq!((file.arguments[1].location.line, file.arguments[2].location.line), (5, 9));
    }
}

#[test]
fn buffers() {
    let plain = memory("buffer = 'float4'\ncount = 3");
    let shape = |name, extents: &[usize]| MemoryShape::Buffer {
        element: element(name),
        extents: Some(extents.to_vec()),
    };
    assert_eq!(
        plain,
        Memory {
            shape: shape("float4", &[3]),
            contents: Contents::Unwritten,
            access: Access::ReadWrite,
            dump: None,
            expect: None,
        }
    );
    assert_eq!(memory("buffer = 'int'\ncount = [2, 3]").shape, shape("int", &[2, 3]));
    // Six numbers are three elements of two lanes.
    assert_eq!(memory("buffer = 'int2'\nvalues = [[1, 2], [3, 4], [5, 6]]").shape, shape("int2", &[3]));
    let open = MemoryShape::Buffer { element: element("uchar"), extents: None };
    assert_eq!(memory("buffer = 'uchar'\nfile = 'a.bin'").shape, open);
    for (word, access) in
        [("read", Access::Read), ("write", Access::Write), ("read-write", Access::ReadWrite)]
    {
        assert_eq!(memory(&format!("buffer = 'int'\ncount = 1\naccess = '{word}'")).access, access);
    }
}

#[test]
fn contents() {
    let of = |said: &str| memory(&format!("buffer = 'float2'\ncount = 2\n{said}")).contents;
    let (one, half) = (Number::Integer(1), Number::Float(0.5));
    assert_eq!(of("fill = 1"), Contents::Fill(vec![one]));
    assert_eq!(of("fill = [1, 0.5]"), Contents::Fill(vec![one, half]));
    assert_eq!(of("range = {}"), Contents::Range { start: Number::Integer(0), step: one });
    assert_eq!(
        of("range = { start = 0.5, step = -1 }"),
        Contents::Range { start: half, step: Number::Integer(-1) }
    );
    assert_eq!(of("random = {}"), Contents::Random(Random { seed: 1, low: None, high: None }));
    let random = Random { seed: u64::MAX, low: Some(half), high: Some(one) };
    assert_eq!(of("random = { seed = 18446744073709551615, low = 0.5, high = 1 }"), Contents::Random(random));
    assert_eq!(of("values = [[1, 0.5], [1, 1]]"), Contents::Values(vec![one, half, one, one]));
    let Contents::Values(numbers) = of("values = [inf, -inf, nan, 1e10]") else { panic!() };
    assert_eq!(numbers[..2], [Number::Float(f64::INFINITY), Number::Float(f64::NEG_INFINITY)]);
    let path = || "a.x".to_owned();
    assert_eq!(of("file = 'a.x'"), Contents::File { path: path() });
    assert_eq!(of("npy = 'a.x'"), Contents::Npy { path: path() });
    assert_eq!(of("picture = 'a.x'"), Contents::Picture { path: path() });
}

#[test]
fn dumps_and_expectations_are_parsed() {
    let dump = |said: &str| memory(&format!("buffer = 'float'\ncount = 4\ndump = {said}")).dump;
    assert_eq!(dump("false"), None);
    assert_eq!(dump("true"), Some(Dump::Text { hexadecimal: false }));
    assert_eq!(dump("'hex'"), Some(Dump::Text { hexadecimal: true }));
    assert_eq!(dump("'a.bin'"), Some(Dump::Raw { path: "a.bin".to_owned() }));
    assert_eq!(dump("'b/a.NPY'"), Some(Dump::Npy { path: "b/a.NPY".to_owned() }));
    assert_eq!(dump("'a.jpeg'"), Some(Dump::Picture { path: "a.jpeg".to_owned() }));

    let expect =
        |said: &str| memory(&format!("buffer = 'float'\ncount = 4\nexpect = {said}")).expect.unwrap();
    let near = expect("{ fill = 2, absolute = 1e-3, relative = 0.5, ulp = 4 }");
    assert_eq!(near.contents, Contents::Fill(vec![Number::Integer(2)]));
    assert_eq!(near.tolerance, Tolerance { absolute: 1e-3, relative: 0.5, ulp: 4 });
    assert_eq!(expect("{ npy = 'want.npy' }").tolerance, Tolerance::default());
}

#[test]
fn images() {
    let of = |said: &str| {
        let memory = memory(&format!("image = {{ {said} }}"));
        let MemoryShape::Image { extent, order, channel } = memory.shape else { panic!("{said}") };
        (extent.unwrap(), order, channel)
    };
    let format = "order = 'rgba', channel = 'float'";
    let (width, height, layers, depth) = (5, 4, 3, 2);
    for (said, extent) in [
        ("width = 5", ImageExtent::D1 { width }),
        ("width = 5, over_buffer = true", ImageExtent::Buffer { width }),
        ("width = 5, layers = 3", ImageExtent::D1Array { width, layers }),
        ("width = 5, height = 4", ImageExtent::D2 { width, height }),
        ("width = 5, height = 4, layers = 3", ImageExtent::D2Array { width, height, layers }),
        ("width = 5, height = 4, depth = 2", ImageExtent::D3 { width, height, depth }),
    ] {
        assert_eq!(of(&format!("{said}, {format}")), (extent, ChannelOrder::Rgba, ChannelType::F32));
    }
    let line = ImageExtent::D1 { width };
    for (order, channel, want) in [
        ("r", "unorm-int8", (ChannelOrder::R, ChannelType::UnormU8)),
        ("rg", "half-float", (ChannelOrder::Rg, ChannelType::F16)),
        ("bgra", "snorm-int8", (ChannelOrder::Bgra, ChannelType::SnormI8)),
        ("rgb", "unorm-short-565", (ChannelOrder::Rgb, ChannelType::Unorm565)),
        ("rgba", "unorm-int-101010-2", (ChannelOrder::Rgba, ChannelType::Unorm1010102)),
        ("srgba", "unorm-int8", (ChannelOrder::Srgba, ChannelType::UnormU8)),
        ("intensity", "unorm-int16", (ChannelOrder::Intensity, ChannelType::UnormU16)),
        ("rgba", "unsigned-int32", (ChannelOrder::Rgba, ChannelType::U32)),
    ] {
        let said = format!("width = 5, order = '{order}', channel = '{channel}'");
        assert_eq!(of(&said), (line, want.0, want.1));
    }
    let open =
        memory("image = { order = 'rgba', channel = 'unorm-int8' }\npicture = 'cat.png'\naccess = 'read'");
    assert!(matches!(open.shape, MemoryShape::Image { extent: None, .. }));
    // A texel of four channels.
    let filled =
        memory(&format!("image = {{ width = 2, {format} }}\nvalues = [1, 2, 3, 4, 5, 6, 7, 8]\ndump = true"));
    assert!(matches!(filled.contents, Contents::Values(numbers) if numbers.len() == 8));
}
