//! Invalid launch files: each error gives its location and how to fix it.

use tripipe_launch_file::{Limits, ParameterKind, Signature};

use super::{Shelf, buffer, kernel, load, parse, value, with};

/// Checks that `text` is rejected with exactly this message after the file's name.
fn refuses(text: &str, message: &str) {
    let error = parse(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
    assert_eq!(error, format!("k.toml:{message}"), "{text}");
}

/// Like [`refuses`], for an argument whose first line is the file's fourth.
fn refuses_argument(argument: &str, message: &str) {
    refuses(&with(&format!("[[argument]]\n{argument}\n")), message);
}

#[test]
fn the_run() {
    refuses("source = ", "1:10: not TOML: string values must be quoted, expected literal string");
    refuses("", "1:1: a launch file needs one of source, spirv");
    refuses("source = 'a.cl'\nspirv = 'a.spv'", "2:9: a launch file has both `source` and `spirv`; keep one");
    refuses("source = ''\n", "1:10: `source` is '', but must be not empty");
    refuses("source = 5\n", "1:10: `source` must be a string, not integer");
    refuses("source = 'a.cl'", "1:1: a launch file needs `global`");
    refuses(
        "source = 'a.cl'\nglobla = 5",
        "2:1: unknown key `globla` in a launch file, did you mean `global`?; there are source, spirv, options, assume, \
         driver, kernel, global, local, offset, argument, tune",
    );
    let head = "source = 'a.cl'\n";
    let global = |said: &str, message: &str| refuses(&format!("{head}global = {said}"), message);
    global("0", "2:10: `global` is 0, but must be from 1 to 18446744073709551615");
    global("-5", "2:10: `global` is -5, but must be from 1 to 18446744073709551615");
    global("1.5", "2:10: `global` must be a whole number, not float");
    global(
        "'4 * WG'",
        "2:10: \"4 * WG\": `WG` is neither a macro of the options (-D) nor a named argument that is a whole number",
    );
    global("'4 - 4'", "2:10: \"4 - 4\": it is 0, want from 1 to 18446744073709551615");
    global("[]", "2:10: `global` is [], but must be one number, or a list of 1 to 3");
    global("[1, 2, 3, 4]", "2:10: `global` is [1, 2, 3, 4], but must be one number, or a list of 1 to 3");
    global("[1, [2]]", "2:14: `global` must be a whole number, not array");
    global(
        "[4294967296, 4294967296]",
        "2:10: `global` is [4294967296, 4294967296], but must be smaller: their product overflows",
    );
    let more = |said: &str, message: &str| refuses(&format!("{head}global = [4, 4]\n{said}"), message);
    more("local = 2", "3:9: `local` is 2, but must be as many numbers as `global` has, 2");
    more("local = [2, 0]", "3:13: `local` is 0, but must be from 1 to 18446744073709551615");
    more("offset = [1, 2, 3]", "3:10: `offset` is [1, 2, 3], but must be as many numbers as `global` has, 2");
    more("offset = [-1, 2]", "3:11: `offset` is -1, but must be from 0 to 18446744073709551615");
    more("options = 'N=4'", "3:11: `N=4` in the options: options start with `-`, and values have no spaces");
    more("options = ['-D', 'N']", "3:11: `options` must be a string, not array");
    more("kernel = ''", "3:10: `kernel` is '', but must be not empty");
    more("argument = 5", "3:12: `argument` must be a table, not integer");
    more("[argument]\nvalue = 5\n[argument]\nvalue = 6", "5:2: not TOML: duplicate key");
}

#[test]
fn arguments() {
    refuses_argument(
        "",
        "3:1: argument 0 needs one of buffer, image, value, bytes, local, sampler, null, same_as, use",
    );
    refuses_argument(
        "bufer = 'int'",
        "4:1: unknown key `bufer` in argument 0, did you mean `buffer`?; there are name, buffer, image, value, bytes, \
         local, sampler, null, same_as, use, count, fill, range, random, values, file, npy, picture, access, dump, \
         expect, type",
    );
    refuses_argument("buffer = 'int'\nvalue = 5", "5:9: argument 0 has both `buffer` and `value`; keep one");
    refuses_argument(
        "value = 5\ncount = 7",
        "5:1: unknown key `count` in argument 0 (`value`); there are name, value, type",
    );
    refuses_argument(
        "local = 5\ntype = 'int'",
        "5:1: unknown key `type` in argument 0 (`local`); there are name, local",
    );
    refuses_argument("local = 0", "4:9: `local` is 0, but must be from 1 to 18446744073709551615");
    refuses_argument("null = false", "4:8: `null` is false, but must be true, or left out");
    refuses_argument("null = 1", "4:8: `null` must be true, not integer");
    refuses_argument("value = 'x'", "4:9: `value` must be a number, not string");
    refuses_argument("value = []\ntype = 'int'", "4:9: 0 numbers for one `int`, which takes 1");
    refuses_argument("value = [1, 2]\ntype = 'int4'", "4:9: 2 numbers for one `int4`, which takes 4");
    refuses_argument("value = 300\ntype = 'uchar'", "4:9: 300 does not fit `uchar` (0 to 255)");
    refuses_argument("value = 1.5\ntype = 'int'", "4:9: 1.5 does not fit `int` (-2147483648 to 2147483647)");
    refuses_argument("value = 1e39\ntype = 'float'", "4:9: 1e39 does not fit `float`");
    refuses_argument("value = 1e999", "4:9: `value` is 1e999, but must be a number that a double holds");
    refuses_argument(
        &format!("value = 1{}", "0".repeat(50)),
        &format!("4:9: `value` is 1{}, but must be a number of at most 127 bits", "0".repeat(50)),
    );
    refuses_argument("value = 1\nname = 5", "5:8: `name` must be a string, not integer");
    refuses_argument(
        "bytes = '0g'",
        "4:9: `bytes` is '0g', but must be pairs of hexadecimal digits, e.g. \"00 01 ff\"",
    );
    refuses_argument(
        "bytes = '000'",
        "4:9: `bytes` is '000', but must be pairs of hexadecimal digits, e.g. \"00 01 ff\"",
    );
    refuses_argument(
        "bytes = { fill = 0 }",
        "4:11: unknown key `fill` in `bytes`, did you mean `file`?; there are file",
    );
    refuses_argument("bytes = {}", "4:9: `bytes` needs `file`");
    refuses_argument("bytes = 5", "4:9: `bytes` must be a table, not integer");
}

#[test]
fn types() {
    let element = |name: &str| {
        parse(&with(&format!("[[argument]]\nbuffer = '{name}'\ncount = 1"))).unwrap_err().to_string()
    };
    assert!(
        element("flaot")
            .starts_with("k.toml:4:10: `buffer` is \"flaot\", did you mean `float`?; there are char, char2,")
    );
    assert!(element("float5").contains("did you mean `float"));
    assert!(element("struct s").contains("`buffer` is \"struct s\"; there are char"));
    let error = parse(&with("[[argument]]\nvalue = 5\ntype = 'size_t'")).unwrap_err().to_string();
    assert!(error.starts_with("k.toml:5:8: `type` is \"size_t\""), "{error}");
}

#[test]
fn buffers_and_contents() {
    let of = |said: &str, message: &str| refuses_argument(&format!("buffer = 'uchar2'\n{said}"), message);
    of("", "3:1: the size of argument 0 (`buffer`) is missing; add `count`");
    of("fill = 0", "3:1: the size of argument 0 (`buffer`) is missing; add `count`");
    of("count = 0", "5:9: `count` is 0, but must be from 1 to 18446744073709551615");
    of("values = []", "5:10: 0 numbers for one or more `uchar2` of 2 each");
    of("values = [1, 2, 3]", "5:10: 3 numbers for one or more `uchar2` of 2 each");
    of(
        "count = 9223372036854775808\nvalues = [1, 2]",
        "6:10: 2 numbers for 9223372036854775808 uchar2, which take too many to count",
    );
    of("count = [2, 2]\nvalues = [1, 2, 3]", "6:10: 3 numbers for 2x2 uchar2, which take 8");
    of("values = [1, 256]", "5:10: 256 does not fit `uchar2` (0 to 255)");
    of("values = [1, 'x']", "5:14: `values` must be a number, not string");
    of("count = 2\nfill = 0\nrange = {}", "7:9: argument 0 (`buffer`) has both `fill` and `range`; keep one");
    of("count = 2\nfill = [1, 2, 3]", "6:8: 3 numbers for the lanes of one `uchar2`, 2");
    of("count = 2\nfill = -1", "6:8: -1 does not fit `uchar2` (0 to 255)");
    of("count = 2\nrange = 5", "6:9: `range` must be a table, not integer");
    of("count = 2\nrange = { begin = 5 }", "6:11: unknown key `begin` in `range`; there are start, step");
    of("count = 2\nrange = { step = 0.5 }", "6:18: `step` is 0.5, but must be a whole number, for `uchar2`");
    of("count = 2\nrange = { start = 300 }", "6:9: 300 does not fit `uchar2` (0 to 255)");
    of("count = 2\nrandom = { seed = -1 }", "6:19: `seed` is -1, but must be from 0 to 18446744073709551615");
    of(
        "count = 2\nrandom = { sede = 1 }",
        "6:12: unknown key `sede` in `random`, did you mean `seed`?; there are seed, low, high",
    );
    of(
        "count = 2\nrandom = { low = 9, high = 3 }",
        "6:10: `random` is { low = 9, high = 3 }, but must be from `low` to `high`, with `low` <= `high` \
        and a finite difference",
    );
    of("count = 2\nrandom = { high = 256 }", "6:10: 256 does not fit `uchar2` (0 to 255)");
    of("count = 2\nrandom = { low = 0.5 }", "6:10: 0.5 does not fit `uchar2` (0 to 255)");
    of("count = 2\nrandom = { low = nan }", "6:18: `low` is nan, but must be a finite number");
    of("count = 2\nfile = ''", "6:8: `file` is '', but must be not empty");
    of(
        "count = 2\naccess = 'raed'",
        "6:10: `access` is \"raed\", did you mean `read`?; there are read, write, read-write",
    );
    of(
        "count = 2\ndump = 'out.txt'",
        "6:8: `dump` is 'out.txt', but must be true, \"hex\", or a path that ends in .bin, .npy or a picture's ending \
         (.png, .jpg, .jpeg, .ppm, .pgm, .pnm, .pam, .bmp, .tif, .tiff, .webp)",
    );
    of("count = 2\ndump = 5", "6:8: `dump` must be true or false, not integer");
    of("count = 2\nexpect = 5", "6:10: `expect` must be a table, not integer");
    of(
        "count = 2\nexpect = { absolute = 1 }",
        "6:10: `expect` needs one of fill, range, random, values, file, npy, picture",
    );
    of("count = 2\nexpect = { values = [1, 2, 3] }", "6:21: 3 numbers for 2 uchar2, which take 4");
    of("count = 2\nexpect = { fill = 0, absolute = -1 }", "6:33: `absolute` is -1, but must be 0 or more");
    of("count = 2\nexpect = { fill = 0, relative = inf }", "6:33: `relative` is inf, but must be 0 or more");
    of(
        "count = 2\nexpect = { fill = 0, ulp = 1 }",
        "6:28: `ulp` is 1, but must be left out: `uchar2` is not a float",
    );
    refuses_argument(
        "buffer = 'float'\ncount = 2\nrandom = { high = 1e39 }",
        "6:10: 1e39 does not fit `float`",
    );
    refuses_argument(
        "buffer = 'float'\ncount = 2\nrandom = { low = -1e308, high = 1e308 }",
        "6:10: `random` is { low = -1e308, high = 1e308 }, but must be from `low` to `high`, with `low` <= \
        `high` and a finite difference",
    );
}

#[test]
fn images_and_samplers() {
    let of = |said: &str, message: &str| refuses_argument(&format!("image = {{ {said} }}"), message);
    let format = "order = 'r', channel = 'float'";
    of("width = 2, order = 'r'", "4:9: `image` needs `channel`");
    of("width = 2, channel = 'float'", "4:9: `image` needs `order`");
    of(format, "4:9: the size of argument 0 (`image`) is missing; add `width`");
    of(&format!("height = 2, {format}"), "4:9: the size of argument 0 (`image`) is missing; add `width`");
    of(&format!("width = 2, depth = 2, {format}"), "4:9: a 3D `image` needs `height`");
    of(
        &format!("width = 2, depth = 2, layers = 2, {format}"),
        "4:42: `image` has both `depth` and `layers`; keep one",
    );
    of(
        &format!("width = 2, height = 2, over_buffer = true, {format}"),
        "4:9: `image` has both `over_buffer` and `height`; keep one",
    );
    of(
        "width = 2, order = 'rgb', channel = 'float'",
        "4:9: CL_RGB texels cannot have CL_FLOAT channels; they can have CL_UNORM_SHORT_565, CL_UNORM_SHORT_555, \
         CL_UNORM_INT_101010",
    );
    of(
        "width = 2, order = 'depth', channel = 'float'",
        "4:9: a depth image of 2 texels: depth images are 2D, or arrays of 2D",
    );
    of(
        "width = 2, order = 'rbga', channel = 'float'",
        "4:30: `order` is \"rbga\", did you mean `rgba`?; there are r, a, rg, ra, rgb, rgba, bgra, argb, abgr, \
         intensity, luminance, depth, srgba, sbgra",
    );
    of(
        "widht = 2",
        "4:11: unknown key `widht` in `image`, did you mean `width`?; there are width, height, depth, \
         layers, over_buffer, order, channel",
    );
    refuses_argument(
        &format!("image = {{ width = 2, {format} }}\ncount = 2"),
        "5:1: unknown key `count` in argument 0 (`image`); there are name, image, fill, range, random, values, file, \
         npy, picture, access, dump, expect",
    );
    refuses_argument(
        "image = { width = 2, order = 'rgba', channel = 'float' }\nvalues = [1, 2]",
        "5:10: 2 numbers for 2 float4, which take 8",
    );
    let sampler = |said: &str, message: &str| refuses_argument(&format!("sampler = {{ {said} }}"), message);
    sampler("normalized = true, filter = 'linear'", "4:11: `sampler` needs `addressing`");
    sampler(
        "normalized = false, addressing = 'repeat', filter = 'linear'",
        "4:46: `addressing` is 'repeat', but must be none, clamp-to-edge or clamp, unless `normalized` is true",
    );
    sampler(
        "normalized = true, addressing = 'repeat', filter = 'cubic'",
        "4:64: `filter` is \"cubic\"; there are nearest, linear",
    );
    sampler(
        "normalised = true",
        "4:13: unknown key `normalised` in `sampler`, did you mean `normalized`?; there are \
         normalized, addressing, filter",
    );
}

#[test]
fn memory_passed_twice() {
    let same = |said: &str, message: &str| {
        let text = with(&format!("[[argument]]\nlocal = 4\n[[argument]]\nsame_as = {said}\n"));
        refuses(&text, message);
    };
    same("0", "6:11: `same_as` names argument 0, which is neither a buffer nor an image");
    same("1", "6:11: `same_as` names argument 1, which is not an argument before this one");
    same("'x'", "6:11: `same_as` names `x`, which is not an argument before this one");
    same("-1", "6:11: `same_as` is -1, but must be from 0 to 18446744073709551615");
}

#[test]
fn more_arguments_than_any_device_takes() {
    let text = with(&"[[argument]]\nnull = true\n".repeat(1025));
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("at most 1024 arguments"), "{error}");
}

/// Checks that loading for a kernel with this parameter is rejected with this message.
fn refuses_to_load(argument: &str, kind: ParameterKind, message: &str) {
    let text = with(&format!("[[argument]]\n{argument}\n"));
    let error = load(&text, &[kind]).err().unwrap_or_else(|| panic!("{text}")).to_string();
    assert_eq!(error, format!("k.toml:{message}"), "{text}");
}

#[test]
fn arguments_that_do_not_fit_the_kernel_are_rejected() {
    let mismatch = |argument: &str, kind, message: &str| {
        refuses_to_load(argument, kind, &format!("3:1: argument 0 (`a`) of kernel `k` is {message}"));
    };
    mismatch("value = 5", buffer("float"), "a buffer of `float`, not a value");
    mismatch("value = 5\ntype = 'int'", value("uint"), "a value of type `uint`, not a value of type `int`");
    mismatch("buffer = 'int'\ncount = 1", value("int"), "a value of type `int`, not a buffer of `int`");
    mismatch("buffer = 'int'\ncount = 1", ParameterKind::Image, "an image, not a buffer of `int`");
    mismatch("local = 4", ParameterKind::Sampler, "a sampler, not 4 bytes of local memory");
    mismatch("null = true", ParameterKind::Local, "local memory, not NULL");
    let opaque = ParameterKind::Opaque { type_name: "struct s".to_owned(), bytes: Some(12) };
    mismatch("bytes = '00'", opaque.clone(), "a value of 12 bytes (`struct s`), not 1 bytes");
    mismatch(
        "value = 5\ntype = 'int'",
        opaque.clone(),
        "a value of 12 bytes (`struct s`), not a value of type `int`",
    );
    refuses_to_load(
        "value = 5",
        opaque,
        "3:1: the type of `a` is not known; add `type`, e.g. type = \"int\"",
    );
    refuses_to_load(
        "value = 5",
        ParameterKind::Unknown,
        "3:1: the type of `a` is not known; add `type`, e.g. type = \"int\"",
    );
    refuses_to_load("value = 300", value("uchar"), "3:1: 300 does not fit `uchar` (0 to 255)");
    refuses_to_load("value = [1, 2]", value("float4"), "3:1: 2 numbers for one `float4`, which takes 4");
    refuses_to_load(
        "name = 'b'\nvalue = 5",
        value("int"),
        "3:1: argument 0 is called `b` here and `a` in kernel `k`; are they in order?",
    );
    let text = with("[[argument]]\nvalue = 1\n[[argument]]\nvalue = 2\n");
    let error = |kinds: &[ParameterKind]| load(&text, kinds).unwrap_err().to_string();
    assert_eq!(error(&[value("int")]), "k.toml:5:1: kernel `k` takes 1 arguments (a), the file has 2");
    let three = [value("int"), value("int"), value("int")];
    assert_eq!(error(&three), "k.toml:5:1: kernel `k` takes 3 arguments (a, b, c), the file has 2");
}

#[test]
fn kernels() {
    let two: Vec<Signature> =
        ["blur", "sharpen"].map(|name| Signature { kernel: name.to_owned(), parameters: Vec::new() }).into();
    let load = |text: &str, kernels: &[Signature]| {
        parse(text).unwrap().load(kernels, &mut Shelf::default(), Limits::default())
    };
    let file = "source = 'k.cl'\nglobal = 1\n";
    assert_eq!(
        load(file, &two).unwrap_err().to_string(),
        "k.toml:1:1: `kernel` is missing, and k.cl has blur, sharpen; name one"
    );
    assert_eq!(
        load(file, &[]).unwrap_err().to_string(),
        "k.toml:1:1: `kernel` is missing, and k.cl has none; name one"
    );
    assert_eq!(
        load(&format!("{file}kernel = 'sharpn'"), &two).unwrap_err().to_string(),
        "k.toml:3:10: k.cl has no kernel `sharpn`, did you mean `sharpen`?; it has blur, sharpen"
    );
    assert_eq!(load(file, &two[..1]).unwrap().kernel, "blur");
    assert_eq!(load(&format!("{file}kernel = 'sharpen'"), &two).unwrap().kernel, "sharpen");
}

#[test]
fn files_that_hold_something_else() {
    let of = |argument: &str, name: &str, message: &str| {
        refuses_to_load(argument, buffer(name), &format!("3:1: {message}"));
    };
    of("buffer = 'int'\nfile = 'missing.bin'", "int", "missing.bin is not there; check the path");
    of("buffer = 'int'\ncount = 2\nfile = 'a.bin'", "int", "a.bin has more than 8 bytes");
    of(
        "buffer = 'int'\ncount = 4\nfile = 'a.bin'",
        "int",
        "a.bin holds 12 bytes, but `a` needs 4 int (16 bytes)",
    );
    of("buffer = 'long'\nfile = 'a.bin'", "long", "a.bin holds 12 bytes, but `a` needs 1 long (8 bytes)");
    of(
        "buffer = 'int'\nnpy = 'a.npy'",
        "int",
        "a.npy holds 2x3 float, but `a` needs `int`; save it as a.astype('int32')",
    );
    of("buffer = 'float'\ncount = 5\nnpy = 'a.npy'", "float", "a.npy holds 2x3 float, but `a` needs 5 float");
    of(
        "buffer = 'float4'\nnpy = 'a.npy'",
        "float4",
        "a.npy holds 2x3 float, but `a` needs `float4`; its last dimension must be the 4 lanes",
    );
    of(
        "buffer = 'int'\npicture = 'a.png'",
        "int",
        "a.png holds a picture, but `a` needs `int`; pictures go into uchar, half and float, and into images with such channels",
    );
    of(
        "buffer = 'uchar'\ncount = [2, 2, 3]\npicture = 'a.png'",
        "uchar",
        "a.png holds 2x1 pixels of 3 channels, but `a` needs 2x2x3 uchar",
    );
    of(
        "buffer = 'uchar8'\npicture = 'a.png'",
        "uchar8",
        "a.png holds a picture, but `a` needs `uchar8`; pixels have at most 4 channels",
    );
    of(
        "buffer = 'uchar'\ncount = 8\ndump = 'b.png'",
        "uchar",
        "b.png cannot show `a`, which is 8 uchar: pictures are [height, width] elements of up to 4 lanes, \
        or [height, width, channels], of uchar, half or float; set `count` accordingly, or choose .npy",
    );
    refuses_to_load(
        "image = { order = 'rgba', channel = 'unorm-int16' }\npicture = 'a.png'",
        ParameterKind::Image,
        "3:1: a.png holds a picture, but `a` needs `ushort4`; pictures go into uchar, half and float, and into images with such channels",
    );
    let opaque = ParameterKind::Opaque { type_name: "struct s".to_owned(), bytes: Some(8) };
    refuses_to_load(
        "bytes = { file = 'a.bin' }",
        opaque,
        "3:1: a.bin holds 12 bytes, but `a` needs a value of 8 bytes (`struct s`)",
    );
    assert_eq!(kernel(&[]).parameters, []);
}
