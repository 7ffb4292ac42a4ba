//! `tripipe template`: its output for the signatures written here, which the other commands accept without changes.

use std::path::Path;

use crate::run_kernel::compiles;
use crate::{Bench, complaint};

const SCALE: &str = "kernel void scale(global const float* in, global float* out, float factor) {\n    \
                     size_t i = get_global_id(0);\n    out[i] = in[i] * factor;\n}\n";

#[test]
fn the_template_lists_the_kernel_arguments() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("scale.cl", SCALE);
    let said = bench.succeed(&["template", "scale.cl", "--global", "300", "--options", "-D N=4"]);
    let want = r#"# A template: sizes, numbers and contents are guesses. Replace them with the values that the kernel is
# written for. docs/launch-files.md lists all keys.
source = "scale.cl"
options = "-D N=4"
kernel = "scale"
global = 300

[[argument]]
name = "in"
buffer = "float"
count = 300  # for 300 work-items
random = { seed = 1, low = 0, high = 1 }
access = "read"

[[argument]]
name = "out"
buffer = "float"
count = 300  # for 300 work-items
random = { seed = 2, low = 0, high = 1 }
# dump = true  # shows it after the run

[[argument]]
name = "factor"
value = 0.5  # `float`: a guess
"#;
    assert_eq!(said, want);
    bench.write("scale.toml", said);
    bench.succeed(&["check", "scale.toml"]);
    bench.succeed(&["run-kernel", "scale.toml"]);
}

/// What the command line gives is in the file, which works from where it was written.
#[test]
fn a_template_is_written_to_a_file() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path().join("launches")).unwrap();
    std::fs::create_dir(bench.path().join("include")).unwrap();
    bench.write("include/more.h", "#define MORE 1\n");
    bench.write("scale.cl", format!("#include <more.h>\n{SCALE}"));
    let given = ["--global", "300", "--local", "20", "--arg", "factor=1.5", "-I", "include"];
    for file in ["scale.toml", "launches/scale.toml"] {
        let said = bench.succeed(&[&["template", "scale.cl", "-o", file], &given[..]].concat());
        assert_eq!(said, "", "{file}");
        let text = String::from_utf8(bench.read(file)).unwrap();
        for words in ["global = 300\nlocal = 20  # given\n", "value = 1.5  # `float`: given\n"] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        bench.succeed(&["run-kernel", file]);
    }
    bench.refuse(&["template", "scale.toml"], &["scale.toml is a launch file already"]);
    bench.refuse(&["template", "scale.cl", "-I", "include", "-o", "none/scale.toml"], &["none/scale.toml"]);
}

#[test]
fn every_kind_of_argument() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let text = "typedef uint number;\n\
         typedef struct { float a[3]; } triple;\n\
         typedef struct { float a; int b; char c; } mixed;\n\
         kernel __attribute__((reqd_work_group_size(16, 4, 1)))\n\
         void all(constant ushort4* indices, global triple* triples, global mixed* structs, global void* raw,\n\
             local float2* scratch, mixed by_value, number stride, int4 offsets, char height, double2 pair,\n\
             read_only image2d_t photo, write_only image3d_t volume, read_only image2d_array_depth_t depths,\n\
             read_only image1d_buffer_t line, sampler_t sampler) {\n\
             uint4 texel = read_imageui(line, (int)get_global_id(0));\n\
             write_imagef(volume, (int4)(0), read_imagef(photo, sampler, (float2)(0.0f)));\n\
         }\n";
    bench.write("all.cl", text);
    let said = bench.succeed(&["template", "all.cl"]);
    for lines in [
        // Two dimensions, from the work-group size.
        "global = [32, 32]\nlocal = [16, 4]  # the kernel requires it\n",
        "name = \"indices\"\nbuffer = \"ushort4\"\ncount = 1024  # for 32 x 32 work-items\n\
         random = { seed = 1, low = 0, high = 1023 }\naccess = \"read\"\n",
        // 3 floats each.
        "name = \"triples\"\nbuffer = \"float\"\ncount = [1024, 3]  # for 32 x 32 work-items: a `triple`\n",
        // 4 + 4 + 1 bytes and 3 of padding.
        "name = \"structs\"\nbuffer = \"uchar\"\ncount = 12288  # 12 bytes for each `mixed`, one per work-item\nfill = 0\n",
        "name = \"raw\"\nbuffer = \"uchar\"\ncount = 16384  # 16 bytes for each work-item\nfill = 0\n",
        // 8 bytes for 16 * 4 work-items.
        "name = \"scratch\"\nlocal = 512  # bytes: a `float2` for each work-item of a group\n",
        "name = \"by_value\"\n# `mixed`, padding included\nbytes = \"\"\"\n00 00 00 00 00 00 00 00 00 00 00 00\"\"\"\n",
        "name = \"stride\"\ntype = \"uint\"\nvalue = 32  # `number`: a guess\n",
        "name = \"offsets\"\nvalue = [0, 0, 0, 0]  # `int4`: a guess\n",
        "name = \"height\"\nvalue = 32  # `char`: a guess\n",
        "name = \"pair\"\nvalue = [0.5, 0.5]  # `double2`: a guess\n",
        "name = \"photo\"\nimage = { width = 32, height = 32, order = \"rgba\", channel = \"float\" }\n\
         random = { seed = 11, low = 0, high = 1 }\naccess = \"read\"\n",
        "name = \"volume\"\nimage = { width = 32, height = 32, depth = 64, order = \"rgba\", channel = \"float\" }\n\
         access = \"write\"\n# dump = true",
        "name = \"depths\"\nimage = { width = 32, height = 32, layers = 64, order = \"depth\", channel = \"float\" }\n",
        "name = \"line\"\nimage = { width = 32, over_buffer = true, order = \"rgba\", channel = \"unsigned-int8\" }\n\
         random = { seed = 14, low = 0, high = 255 }\n",
        "name = \"sampler\"\nsampler = { normalized = false, addressing = \"clamp-to-edge\", filter = \"nearest\" }\n",
    ] {
        assert!(said.contains(lines), "{lines}\nis not in\n{said}");
    }
    bench.write("all.toml", said);
    bench.succeed(&["run-kernel", "all.toml"]);

    bench.refuse(
        &["template", "all.cl", "--global", "100,100"],
        &["`all`", "work-groups of 16 x 4 x 1", "--global"],
    );
    let said = bench.succeed(&["template", "all.cl", "--global", "16,8,2"]);
    assert!(said.contains("global = [16, 8, 2]\nlocal = [16, 4, 1]  # the kernel requires it\n"), "{said}");
}

#[test]
fn groups_and_dimensions_follow_from_the_kernel() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "g.cl",
        "kernel void cube(global int* a, int n) {\n    \
             size_t i = (get_global_id(2) * n + get_global_id(1)) * n + get_global_id(0);\n    a[i] = 1;\n}\n\
         kernel void sum(global const int* a, global int* out, local int* s) {\n    \
             s[get_local_id(0)] = a[get_global_id(0)];\n    barrier(CLK_LOCAL_MEM_FENCE);\n    \
             if (get_local_id(0) == 0) out[get_group_id(0)] = s[get_local_size(0) - 1];\n}\n",
    );
    let said = bench.succeed(&["template", "g.cl", "-k", "cube"]);
    assert!(said.contains("kernel = \"cube\"\nglobal = [16, 8, 8]\n\n"), "{said}");
    let said = bench.succeed(&["template", "g.cl", "--kernel", "sum"]);
    assert!(
        said.contains("global = 1024\nlocal = 64  # a guess") && said.contains("local = 256  # bytes"),
        "{said}"
    );
    bench.write("sum.toml", said);
    bench.succeed(&["check", "sum.toml"]);
    // A kernel that never queries an id is launched for one work-item.
    bench.write(
        "one.cl",
        "kernel void one(global int* a, int n) { for (int i = 0; i < n; i++) a[i] += i; }\n",
    );
    let said = bench.succeed(&["template", "one.cl"]);
    assert!(said.contains("global = 1  # the kernel uses no id\n"), "{said}");
    assert!(said.contains("count = 1024  # a guess\n") && said.contains("value = 1024  # `int`"), "{said}");
    bench.write("one.toml", said);
    bench.succeed(&["check", "one.toml"]);
    // 4 divides 100 and 64.
    let said = bench.succeed(&["template", "g.cl", "-k", "sum", "--global", "100"]);
    assert!(
        said.contains("global = 100\nlocal = 4  # a guess") && said.contains("local = 16  # bytes"),
        "{said}"
    );
}

/// A kernel, options of the command, and the counts of buffers by their names.
type Reach = (&'static str, &'static [&'static str], &'static [(&'static str, usize)]);

/// Kernels that need more than one element for each work-item, with the options of their launch, and what each buffer
/// needs by the arithmetic of its indices.
const FAR: [Reach; 10] = [
    // The last rows and columns do nothing.
    (
        "kernel void rim(global const uchar* rgb, global uchar* out, int width, int height) {\n    \
         int x = get_global_id(0), y = get_global_id(1);\n    \
         if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;\n    int sum = 0;\n    \
         for (int d = -1; d <= 1; d++) sum += rgb[3 * ((y + d) * width + x + d) + 1];\n    \
         out[y * width + x] = sum / 3;\n}",
        &["--global", "640,480", "--arg", "width=640", "--arg", "height=480"],
        &[("rgb", 921_599), ("out", 307_200)],
    ),
    // Three numbers of each pixel.
    (
        "kernel void gray(global const uchar* rgb, global uchar* out) {\n    int i = get_global_id(0);\n    \
         out[i] = (rgb[3 * i] + rgb[3 * i + 1] + rgb[3 * i + 2]) / 3;\n}\n",
        &["--global", "100"],
        &[("rgb", 300), ("out", 100)],
    ),
    // The same by a pointer that moves, in rows with room at their ends: the last pixel ends at 9 * 200 + 3 * 50.
    (
        "kernel void row(global const uchar* rgb, global float* out, int pitch) {\n    \
         global const uchar* p = rgb + get_global_id(1) * pitch;\n    p += 3 * get_global_id(0);\n    float sum = 0;\n    \
         for (int c = 0; c < 3; c++) sum += *p++;\n    \
         out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = sum;\n}\n",
        &["--global", "50,10", "--arg", "pitch=200"],
        &[("rgb", 1950), ("out", 500)],
    ),
    // Rows with little room: the last pixel ends at 39 * 64 + 60.
    (
        "kernel void pitched(global const float* in, global float* out, int pitch) {\n    \
         int x = get_global_id(0), y = get_global_id(1);\n    \
         out[y * get_global_size(0) + x] = in[y * pitch + x];\n}\n",
        &["--global", "60,40", "--arg", "pitch=64"],
        &[("in", 2556), ("out", 2400)],
    ),
    // Three planes.
    (
        "kernel void planes(global const float* in, global float* out, uint plane) {\n    size_t i = get_global_id(0);\n    \
         out[i] = 0.3f * in[i] + 0.6f * in[plane + i] + 0.1f * in[2 * plane + i];\n}\n",
        &["--global", "100", "--arg", "plane=100"],
        &[("in", 300), ("out", 100)],
    ),
    // A product of 12 x 40 and 40 x 20.
    (
        "kernel void product(global const float* a, global const float* b, global float* c, int m, int n, int k) {\n    \
         int row = get_global_id(1), col = get_global_id(0);\n    if (row >= m || col >= n) return;\n    float sum = 0;\n    \
         for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];\n    c[row * n + col] = sum;\n}\n",
        &["--global", "20,12", "--arg", "m=12", "--arg", "n=20", "--arg", "k=40"],
        &[("a", 480), ("b", 800), ("c", 240)],
    ),
    // A window of 3 x 3 behind each of 30 x 20 pixels.
    (
        "kernel void window(global const ushort* in, global ushort* out, int w) {\n    \
         int x = get_global_id(0), y = get_global_id(1);\n    uint sum = 0;\n    \
         for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++) sum += in[(y + j) * (w + 2) + x + i];\n    \
         out[y * w + x] = sum / 9;\n}\n",
        &["--global", "30,20", "--arg", "w=30"],
        &[("in", 704), ("out", 600)],
    ),
    // A window that a test keeps inside.
    (
        "kernel void inside(global const float* in, global float* out, int w, int h) {\n    \
         int x = get_global_id(0), y = get_global_id(1);\n    \
         if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;\n    \
         out[y * w + x] = in[(y - 1) * w + x - 1] + in[(y + 1) * w + x + 1];\n}\n",
        &["--global", "30,20", "--arg", "w=30", "--arg", "h=20"],
        &[("in", 600), ("out", 600)],
    ),
    // NV12: a plane of 64 x 32, and one of half the rows behind it.
    (
        "kernel void nv12(global const uchar* in, global uchar4* out, int width, int height) {\n    \
         int x = get_global_id(0), y = get_global_id(1);\n    int uv = width * height + y / 2 * width + (x & ~1);\n    \
         out[y * width + x] = (uchar4)(in[y * width + x], in[uv], in[uv + 1], 255);\n}\n",
        &["--global", "64,32", "--arg", "width=64", "--arg", "height=32"],
        &[("in", 3072), ("out", 2048)],
    ),
    // Vectors of a buffer of numbers, and places that another buffer says: 256 for bytes.
    (
        "kernel void bins(global const uchar* in, global int* bins, global const float* xyz, global float* out) {\n    \
         size_t i = get_global_id(0);\n    atomic_inc(&bins[in[i]]);\n    out[i] = vload3(i, xyz).z;\n}\n",
        &["--global", "300"],
        &[("bins", 300), ("xyz", 900), ("out", 300)],
    ),
];

/// The number of elements that a template has for a buffer.
fn count_of(template: &str, name: &str) -> usize {
    let argument = template.split("name = ").find(|text| text.starts_with(&format!("\"{name}\""))).unwrap();
    let count = argument.split("count = ").nth(1).unwrap();
    count.split([' ', '\n']).next().unwrap().parse().unwrap()
}

#[test]
fn buffers_are_as_large_as_the_kernel_reaches() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    for (source, options, counts) in FAR {
        bench.write("k.cl", source);
        let said = bench.succeed(&[&["template", "k.cl"], options].concat());
        for (name, count) in counts {
            assert_eq!(count_of(&said, name), *count, "{name}:\n{said}");
        }
        bench.write("k.toml", &said);
        bench.succeed(&["check", "k.toml"]);
        let output = bench.run(&[&["check", "k.cl"], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// A larger buffer mends no index below 0, nor one that has wrapped; and a rim that nothing leaves out is no reason for one.
#[test]
fn what_no_size_mends_is_still_found() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let text = "kernel void stencil(global const float* in, global float* out) {\n    int i = get_global_id(0);\n    \
                out[i] = in[i - 1] + in[i] + in[i + 1];\n}\n";
    for text in [text.to_owned(), text.replace("int i", "uint i"), text.replace("i - 1", "i + 2")] {
        bench.write("s.cl", text);
        let said = bench.succeed(&["template", "s.cl", "--global", "100"]);
        assert_eq!(count_of(&said, "in"), 100, "{said}");
        bench.write("s.toml", said);
        let output = bench.run(&["check", "s.toml"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("out-of-bounds") && said.contains("s.cl:3"), "{said}");
    }
    // What is enlarged is said.
    bench.write("s.cl", text.replace("i - 1", "2 * i"));
    let output = bench.run(&["check", "s.cl", "--global", "100"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("`in` as large as the kernel reaches"), "{err}");
}

/// Bytes have all their values, however many of them there are.
#[test]
fn bytes_have_all_their_values() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "kernel void k(global const uchar* a, global const char* b, global ushort* c) {\n    \
         c[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)];\n}\n",
    );
    let said = bench.succeed(&["template", "k.cl", "--global", "70000"]);
    for high in
        ["seed = 1, low = 0, high = 255", "seed = 2, low = 0, high = 127", "seed = 3, low = 0, high = 65535"]
    {
        assert!(said.contains(high), "{high}\n{said}");
    }
}

#[test]
fn takes_spirv() {
    // Stored next to the kernels' sources, and built from them by clang.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ladders/spirv");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "spv"));
    paths.sort();
    assert!(paths.len() > 8, "{paths:?}");
    let bench = Bench::new();
    for path in paths.iter().step_by(paths.len() / 8) {
        std::fs::copy(path, bench.path().join("ladder.spv")).unwrap();
        let output = bench.run(&["template", "ladder.spv", "--global", "64"]);
        let said = String::from_utf8(output.stdout).unwrap();
        if output.status.code() == Some(0) {
            assert!(said.contains("\nspirv = \"ladder.spv\"\nkernel = \""), "{said}");
            bench.write("ladder.toml", said);
            // Guesses may be wrong for the kernel, but the file must be valid.
            let output = bench.run(&["check", "ladder.toml"]);
            let said = complaint(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {said}", path.display());
        } else {
            let said = complaint(&output.stderr);
            assert!(said.contains("kernels; choose one") || said.contains("requires work-groups"), "{said}");
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let bench = Bench::new();
    bench.refuse(&["template", "missing.cl"], &["missing.cl"]);
    bench.refuse(&["template", "a.cl", "--global", "0"], &["0", "work-items"]);
    bench.refuse(&["template", "a.cl", "--global", "1,2,3,4"], &["1 to 3 dimensions, not 4"]);
    bench.refuse(&["template", "a.cl", "--options", "N=4"], &["--options", "`N=4`"]);
    bench.write("no.spv", b"no module");
    bench.refuse(&["template", "no.spv"], &["no.spv"]);
    if !compiles() {
        return;
    }
    bench.write("two.cl", "kernel void first(global int* a) {}\nkernel void second(global int* a) {}\n");
    bench.refuse(&["template", "two.cl"], &["2 kernels", "--kernel", "`first`, `second`"]);
    bench.refuse(&["template", "two.cl", "-k", "third"], &["no kernel `third`", "`first`, `second`"]);
    bench.write("none.cl", "int f(int a) { return a; }\n");
    bench.refuse(&["template", "none.cl"], &["none.cl has no kernel"]);
}
