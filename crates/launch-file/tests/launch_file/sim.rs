//! Oclgrind's `.sim` files.

use tripipe_launch::{Access, Argument, NdRange, ScalarType, Value};
use tripipe_launch_file::sim::{SizedArgument, SizedContents};
use tripipe_launch_file::{
    Contents, Dump, FileError, Given, LaunchFile, Limits, Loaded, Number, ParameterKind,
};

use super::{Shelf, buffer, kernel, value};

const HEAD: &str = "k.cl k\n8 1 1\n4 1 1\n";

fn parse(text: &str) -> Result<LaunchFile, FileError> {
    tripipe_launch_file::sim::parse(text, "k.sim")
}

fn load(arguments: &str, kinds: &[ParameterKind]) -> Result<Loaded, FileError> {
    parse(&format!("{HEAD}{arguments}"))?.load(&[kernel(kinds)], &mut Shelf::default(), Limits::default())
}

fn bytes(arguments: &str, kind: ParameterKind) -> Vec<u8> {
    let mut loaded = load(arguments, &[kind]).unwrap_or_else(|error| panic!("{error}\n{arguments}"));
    loaded.memory.remove(0).initial.unwrap()
}

fn le<const N: usize>(numbers: &[[u8; N]]) -> Vec<u8> {
    numbers.concat()
}

/// Files in the forms that Oclgrind's own tests use.
#[test]
fn files_as_oclgrind_has_them() {
    let file = parse(
        "reduce.cl\nreduce\n256 1 1\n32 1 1\n\n# numbers\n<size=4>\n256\n\n<size=1024 range=0:1:255> # in\n\
         <size=4 fill=0 dump>\n<size=128>\n",
    )
    .unwrap();
    assert_eq!(file.source.path(), "reduce.cl");
    assert_eq!(file.kernel.as_deref(), Some("reduce"));
    assert_eq!(file.range, NdRange::d3(256, 1, 1).local(32, 1, 1));
    let locations: Vec<(usize, usize)> =
        file.arguments.iter().map(|entry| (entry.location.line, entry.location.column)).collect();
    assert_eq!(locations, [(7, 1), (10, 1), (11, 1), (12, 1)]);
    let plain = SizedArgument {
        bytes: 4,
        scalar: None,
        contents: SizedContents::Words(vec!["256".to_owned()]),
        hexadecimal: false,
        access: Access::ReadWrite,
        dump: false,
    };
    assert_eq!(file.arguments[0].given, Given::Sized(plain));

    let kinds = [value("uint"), buffer("int"), buffer("int"), ParameterKind::Local];
    let loaded = file.load(
        &[tripipe_launch_file::Signature { kernel: "reduce".to_owned(), ..kernel(&kinds) }],
        &mut Shelf::default(),
        Limits::default(),
    );
    let loaded = loaded.unwrap();
    assert_eq!(loaded.arguments[0], Argument::Value(Value::from(256u32)));
    assert_eq!(loaded.arguments[3], Argument::Local { bytes: 128 });
    let numbers: Vec<u8> = (0..256i32).flat_map(i32::to_ne_bytes).collect();
    assert_eq!(loaded.memory[0].initial.as_ref().unwrap(), &numbers);
    assert_eq!(loaded.memory[1].initial.as_ref().unwrap(), &[0; 4]);
    assert_eq!(loaded.memory[1].dump, Some(Dump::Text { hexadecimal: false }));
}

#[test]
fn every_word_of_a_header() {
    let header = |words: &str| match parse(&format!("{HEAD}<{words}>")).unwrap().arguments.remove(0).given {
        Given::Sized(sized) => sized,
        other => panic!("{other}"),
    };
    assert_eq!(header("size=8 noinit wo").contents, SizedContents::Unwritten);
    assert_eq!(header("size=8 noinit wo").access, Access::Write);
    assert_eq!(header("ro size=8").access, Access::Read);
    let null = header("null");
    assert_eq!((null.bytes, null.contents), (0, SizedContents::Null));
    assert_eq!(header("size=8 fill=-1.5e3 double").contents, SizedContents::Fill("-1.5e3".to_owned()));
    let hex = header("size=8 hex dump ushort range=a:1:d");
    assert!(hex.hexadecimal && hex.dump);
    assert_eq!(hex.scalar, Some(ScalarType::U16));
    assert_eq!(hex.contents, SizedContents::Range(["a", "1", "d"].map(str::to_owned)));
    for (name, scalar) in [
        ("char", ScalarType::I8),
        ("uchar", ScalarType::U8),
        ("short", ScalarType::I16),
        ("int", ScalarType::I32),
        ("uint", ScalarType::U32),
        ("long", ScalarType::I64),
        ("ulong", ScalarType::U64),
        ("float", ScalarType::F32),
    ] {
        assert_eq!(header(&format!("size=8 {name}")).scalar, Some(scalar));
    }
}

#[test]
fn numbers_have_the_kernels_type_or_the_headers() {
    assert_eq!(bytes("<size=4> 1 -1 127 -128", buffer("char")), [1, 255, 127, 128]);
    assert_eq!(
        bytes("<size=8 float>\n1\n0.5", buffer("int")),
        le(&[1.0f32.to_ne_bytes(), 0.5f32.to_ne_bytes()])
    );
    // A buffer of vectors contains their numbers.
    assert_eq!(bytes("<size=8> 1 2", buffer("float4")), le(&[1.0f32.to_ne_bytes(), 2.0f32.to_ne_bytes()]));
    assert_eq!(bytes("<size=4 range=3:-1:0>", buffer("uchar")), [3, 2, 1, 0]);
    let tenths = bytes("<size=12 range=0:0.1:0.2>", buffer("float"));
    assert_eq!(tenths, le(&[0.0f32.to_ne_bytes(), 0.1f32.to_ne_bytes(), 0.2f32.to_ne_bytes()]));
    assert_eq!(bytes("<size=4 hex> 0 7f ff 0X80", buffer("char")), [0, 0x7f, 0xff, 0x80]);
    assert_eq!(bytes("<size=4 hex fill=8000>", buffer("short")), le(&[0x8000u16.to_ne_bytes(); 2]));
    assert_eq!(bytes("<size=8 hex> ffffffffffffffff", buffer("ulong")), [0xff; 8]);
    // Base 16 is only for integers.
    assert_eq!(bytes("<size=4 hex> 10", buffer("float")), 10.0f32.to_ne_bytes());
    // Numbers follow the header on the same line and on later lines, up to the next header.
    assert_eq!(bytes("<size=3> 1 2#3\n4", buffer("uchar")), [1, 2, 4]);
}

#[test]
fn arguments_take_the_type_of_the_parameter() {
    let passed = |argument: &str, kind| load(argument, &[kind]).unwrap().arguments.remove(0);
    assert_eq!(
        passed("<size=16> 1 2 3 4", value("float4")),
        Argument::Value(Value::from([1.0f32, 2.0, 3.0, 4.0]))
    );
    assert_eq!(passed("<size=16> 1 2 3 4", value("int3")), Argument::Value(Value::from([1i32, 2, 3])));
    assert_eq!(passed("<size=8 range=1:2:3>", value("int2")), Argument::Value(Value::from([1i32, 3])));
    assert_eq!(passed("<size=8 fill=5>", value("int2")), Argument::Value(Value::from([5i32, 5])));
    // 1.0f has the bits 0x3f800000.
    assert_eq!(passed("<size=4 float> 1", value("int")), Argument::Value(Value::from(0x3f80_0000)));
    let opaque = ParameterKind::Opaque { type_name: "struct s".to_owned(), bytes: None };
    let three = le(&[42.0f32.to_ne_bytes(), 3.0f32.to_ne_bytes(), 18.0f32.to_ne_bytes()]);
    assert_eq!(passed("<size=12 float>\n42\n3\n18", opaque), Argument::Bytes(three.into()));
    assert_eq!(passed("<null>", buffer("int")), Argument::Null);
    // A buffer of size 0, which does not exist in OpenCL.
    for empty in ["<size=0>", "<size=0 noinit>", "<size=0 fill=1>", "<size=0 dump>"] {
        assert_eq!(passed(empty, buffer("int")), Argument::Null, "{empty}");
    }
    for (text, kind, want) in [
        ("<size=0>", ParameterKind::Local, "at least 1 byte"),
        ("<size=0>", value("int"), "at least 1 byte"),
        ("<size=0> 1", buffer("int"), "0 bytes"),
    ] {
        let error = load(text, &[kind]).unwrap_err().to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
    assert_eq!(passed("<size=64>", ParameterKind::Local), Argument::Local { bytes: 64 });
    let loaded = load("<size=6 noinit>", &[ParameterKind::Buffer { element: None }]).unwrap();
    assert_eq!((loaded.memory[0].initial.as_ref(), loaded.memory[0].array.bytes()), (None, Some(6)));
    assert_ne!(Contents::Unwritten, Contents::Fill(vec![Number::Integer(0)]));
}

#[test]
fn invalid_texts_are_rejected() {
    let refuses = |text: &str, message: &str| {
        let error = parse(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
        assert_eq!(error, format!("k.sim:{message}"), "{text}");
    };
    refuses("", "1:1: the file ends here, but want the program's file");
    refuses("# nothing\nk.cl\n", "2:5: the file ends here, but want the kernel's name");
    refuses(
        "k.cl k 8 8\n",
        "1:11: the file ends here, but want the global size: three numbers of at least 1",
    );
    refuses("k.cl k 8 8 0 1 1 1", "1:12: found `0`, but want the global size: three numbers of at least 1");
    refuses("k.cl k 8 1 1 x", "1:14: found `x`, but want the work-group size: three numbers of at least 1");
    refuses(
        "k.cl k 8 1 1 <size=4>",
        "1:14: an argument's header follows, but want the work-group size: three numbers of at least 1",
    );
    let header = |words: &str, message: &str| refuses(&format!("{HEAD}{words}"), &format!("4:{message}"));
    header("5", "1: found `5`, but want an argument's header, <size=...>");
    header("<size=4\n>", "1: the header does not end on its line, but want a `>`");
    header("<>", "1: the header has no size, but want size=BYTES");
    header("<size=-1>", "1: the header has `size=-1`, but want size=BYTES, a whole number");
    header("<size=4k>", "1: the header has `size=4k`, but want size=BYTES, a whole number");
    header("<size 4>", "1: the header has `size`, but want `size=`");
    header(
        "<size=4 flot>",
        "1: the header has `flot`, but want a type or one of size=, fill=, range=, hex, dump, noinit, null, ro, wo",
    );
    header("<size=4 noint>", "1: the header has `noint`, but want `noinit`");
    header(
        "<size=4 float4>",
        "1: the header has `float4`, but want a type or one of size=, fill=, range=, hex, dump, noinit, null, ro, wo",
    );
    header("<size=4 int uint>", "1: the header has `uint`, but want only one type");
    header("<size=4 ro wo>", "1: the header has `wo`, but want only one of `ro` and `wo`");
    header(
        "<size=4 fill=1 noinit>",
        "1: the header has `noinit`, but want only one of fill, range, noinit and null",
    );
    header("<size=4 null>", "1: the header has `size`, but want nothing else beside `null`");
    header("<size=4 range=1:2>", "1: the header has `range=1:2`, but want range=START:INC:END");
    header(
        "<size=4 fill=>",
        "1: the header has `fill=`, but want size=BYTES, fill=VALUE or range=START:INC:END",
    );

    let loads = |arguments: &str, kind, message: &str| {
        let error = load(arguments, &[kind]).err().unwrap_or_else(|| panic!("{arguments}")).to_string();
        assert_eq!(error, format!("k.sim:4:1: {message}"), "{arguments}");
    };
    loads("<size=8> 1", buffer("int"), "1 numbers for 8 bytes of `int`, that is 2");
    loads("<size=6> 1", buffer("int"), "6 bytes, but want a multiple of the size of `int`");
    loads("<size=4> x", buffer("int"), "found `x` instead of a number, but want one of type `int`");
    loads(
        "<size=4 hex> xyz",
        buffer("int"),
        "found `xyz` instead of a number, but want one of type `int` in hexadecimal digits",
    );
    loads("<size=1> 256", buffer("uchar"), "256 does not fit `uchar` (0 to 255)");
    loads("<size=1 hex> 100", buffer("char"), "256 does not fit `char` (-128 to 127)");
    loads(
        "<size=16 range=0:1:4>",
        buffer("int"),
        "range=0:1:4 makes 5 numbers, but want 4, to match the size",
    );
    loads(
        "<size=16 range=0:0:4>",
        buffer("int"),
        "range=0:0:4 makes inf numbers, but want 4, to match the size",
    );
    loads(
        "<size=4 dump> 5",
        value("int"),
        "`a` is a value of type `int`, but want `dump` with a buffer only",
    );
    loads(
        "<null>",
        value("int"),
        "`a` is a value of type `int`, but want `null` and `noinit` with a buffer only",
    );
    loads("<size=8> 1 2", value("int"), "8 bytes are given for `a`, but want 4, for a `int`");
    loads("<size=4> 1", ParameterKind::Local, "`a` is local memory, but want no numbers with it");
    loads(
        "<size=4> 1",
        ParameterKind::Buffer { element: None },
        "the type of `a` is not known; add `type`, e.g. type = \"int\"",
    );
    loads(
        "<size=4> 1",
        ParameterKind::Image,
        "`a` is an image, but want a buffer, a value or local memory: take a .toml launch file",
    );
    let opaque = ParameterKind::Opaque { type_name: "struct s".to_owned(), bytes: None };
    loads(
        "<size=99999999996 int fill=0>",
        opaque,
        "`a` is a value of type `struct s`, but want at most 65536 bytes by value",
    );
    // A small file that requests more memory than the limit.
    let error = load("<size=1099511627776 fill=0>", &[buffer("int")]).unwrap_err().to_string();
    assert!(error.contains("over the limit"), "{error}");
}
