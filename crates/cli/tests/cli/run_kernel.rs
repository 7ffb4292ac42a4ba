//! `tripipe run-kernel`: launch files on the simulator and on an OpenCL device; results compared with arithmetic done
//! here, and with the output of `oclgrind-kernel` for the same file.

use std::env;
use std::process::Command;

use image::{Rgba, RgbaImage};
use tripipe_ir::front::clang::Clang;

use crate::npy::{self, f32s};
use crate::{Bench, complaint, done, refused};

/// Whether source can be compiled here; prints a message if not, which is a failure if `TRIPIPE_REQUIRE_CLANG` is set.
pub(crate) fn compiles() -> bool {
    match Clang::find() {
        Ok(_) => true,
        Err(error) => {
            assert!(env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            false
        }
    }
}

fn f32_out(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

const SCALE: &str = "kernel void scale(global const float* in, global float* out, float factor) {\n    \
                     size_t i = get_global_id(0);\n    out[i] = in[i] * factor;\n}\n";

/// `scale` over four numbers; `more` is added to its output argument.
fn scale(more: &str) -> String {
    format!(
        "source = 'scale.cl'\nglobal = 4\nlocal = 2\n\
         [[argument]]\nname = 'in'\nbuffer = 'float'\nvalues = [1, 2, 3, -0.5]\naccess = 'read'\n\
         [[argument]]\nname = 'out'\nbuffer = 'float'\ncount = [2, 2]\n{more}\n\
         [[argument]]\nname = 'factor'\nvalue = 0.5\n"
    )
}

#[test]
fn shows_and_compares() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("scale.cl", SCALE);
    bench.write("right.toml", scale("dump = true\nexpect = { values = [0.5, 1, 1.5, -0.25] }"));
    let said = bench.succeed(&["run-kernel", "right.toml"]);
    let (first, rest) = said.split_once('\n').unwrap();
    assert!(first.starts_with("scale of scale.cl over 4 in groups of 2, on Tripipe simulator: "), "{first}");
    let shown = "\nArgument 'out': 16 bytes\n  out[0][0] = 0.5\n  out[0][1] = 1.0\n  out[1][0] = 1.5\n  \
                 out[1][1] = -0.25\n\nout: 4 numbers as expected, exactly\n";
    assert_eq!(rest, shown);

    bench.write("near.toml", scale("dump = 'hex'\nexpect = { fill = 1, absolute = 1.25 }"));
    let said = bench.succeed(&["run-kernel", "near.toml"]);
    // The bits of -0.25 in IEEE 754.
    assert!(said.contains("  out[1][1] = 0xbe800000\n"), "{said}");
    assert!(said.ends_with("out: 4 numbers as expected, within 1.25\n"), "{said}");

    bench.write("wrong.toml", scale("expect = { values = [0.5, 1, 7, 9], relative = 0.1 }"));
    let output = bench.run(&["run-kernel", "wrong.toml"]);
    assert_eq!((output.status.code(), complaint(&output.stderr)), (Some(1), String::new()));
    let said = String::from_utf8(output.stdout).unwrap();
    let differences = "out: 2 of 4 numbers not as expected; the largest difference is 9.25\n  \
                       out[1][0] is 1.5, expected 7.0\n  out[1][1] is -0.25, expected 9.0\n";
    assert!(said.ends_with(differences), "{said}");

    let output = bench.run(&["run-kernel", "wrong.toml", "--format", "json", "--threads", "2"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [run, out] = &lines[..] else { panic!("{said}") };
    assert_eq!((&run["kernel"], &run["global"], &run["local"]), (&"scale".into(), &[4].into(), &[2].into()));
    assert_eq!((&out["name"], &out["extents"], &out["argument"]), (&"out".into(), &[2, 2].into(), &1.into()));
    assert_eq!(out["comparison"]["differing"], 2);
    assert_eq!(
        out["comparison"]["first"][0],
        serde_json::json!({"index": [1, 0], "found": 1.5, "expected": 7.0})
    );
}

#[test]
fn says_which_memory_the_kernel_may_write() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    // `read` is not `const`, and never written; `both` is the memory of `sum`, which is.
    bench.write(
        "sum.cl",
        "kernel void sum(global int* read, global int* sum, global int* both) {\n    \
         sum[get_global_id(0)] = read[get_global_id(0)] + both[get_global_id(0)];\n}\n",
    );
    let buffer = "[[argument]]\nbuffer = 'int'\nvalues = [1, 2]\ndump = true\n";
    bench.write(
        "sum.toml",
        format!("source = 'sum.cl'\nglobal = 2\n{buffer}{buffer}[[argument]]\nsame_as = 1\n"),
    );
    let said = bench.succeed(&["run-kernel", "sum.toml", "--format", "json"]);
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [run, read, sum] = &lines[..] else { panic!("{said}") };
    assert_eq!(run["version"], 1);
    assert_eq!((&read["written"], &read["numbers"]), (&false.into(), &[1, 2].into()));
    assert_eq!((&sum["written"], &sum["numbers"]), (&true.into(), &[2, 4].into()));
}

#[test]
fn files_in_and_out() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path().join("sub")).unwrap();
    bench.write(
        "sub/copy.cl",
        "#include \"type.h\"\n#include <more.h>\nkernel void copy(global const T* in, global T* out) {\n    \
                size_t i = get_global_id(0);\n    out[i] = in[i] + ADDED;\n}\nkernel void other() {}\n",
    );
    bench.write("sub/type.h", "typedef NUMBER T;\n");
    std::fs::create_dir(bench.path().join("sub/include")).unwrap();
    bench.write("sub/include/more.h", "#define ADDED 1\n");
    let numbers = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    // A 2x3 array in Fortran order.
    bench.write("sub/in.npy", npy::file("<f4", true, "(2, 3)", &f32s(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])));
    bench.write("sub/in.bin", f32s(&numbers));
    let want: Vec<f32> = numbers.iter().map(|number| number + 1.0).collect();
    for (input, dump) in [("npy = 'in.npy'", "out.npy"), ("file = 'in.bin'", "out.bin")] {
        let text = format!(
            "source = 'copy.cl'\nkernel = 'copy'\noptions = '-D NUMBER=float -I include'\nglobal = 6\n\
             [[argument]]\nbuffer = 'float'\n{input}\n\
             [[argument]]\nbuffer = 'float'\ncount = [3, 2]\ndump = '{dump}'\n"
        );
        bench.write("sub/copy.toml", text);
        let said = bench.succeed(&["run-kernel", "sub/copy.toml"]);
        assert!(said.ends_with(&format!("\nout -> {dump}\n")), "{said}");
        let written = bench.read(&format!("sub/{dump}"));
        if dump == "out.npy" {
            let (header, data) = npy::parts(&written);
            assert!(header.contains("'shape': (3, 2") && header.contains("'<f4'"), "{header}");
            assert_eq!(f32_out(data), want);
        } else {
            assert_eq!(f32_out(&written), want);
        }
    }
    // Vectors of 3 take the space of 4, and are saved without the padding.
    let text = "source = 'copy.cl'\nkernel = 'copy'\noptions = '-DNUMBER=float3 -Iinclude'\nglobal = 2\n\
                [[argument]]\nbuffer = 'float3'\nnpy = 'in.npy'\n\
                [[argument]]\nbuffer = 'float3'\ncount = 2\ndump = 'out3.npy'\nexpect = { values = [[2, 3, 4], [5, 6, 7]] }\n";
    bench.write("sub/three.toml", text);
    bench.succeed(&["run-kernel", "sub/three.toml"]);
    let written = bench.read("sub/out3.npy");
    let (header, data) = npy::parts(&written);
    assert!(header.contains("'shape': (2, 3"), "{header}");
    assert_eq!(f32_out(data), want);
}

#[test]
fn pictures_in_and_out() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let picture = RgbaImage::from_fn(7, 5, |x, y| {
        Rgba([(x * 30) as u8, (y * 40) as u8, (x * y * 5) as u8, 255 - (x * 9) as u8])
    });
    picture.save(bench.path().join("in.png")).unwrap();
    // Each texel becomes its left neighbour, clamped to the edge, with red and blue swapped.
    bench.write(
        "left.cl",
        "kernel void left(read_only image2d_t in, write_only image2d_t out, sampler_t s) {\n    \
         int2 at = (int2)(get_global_id(0), get_global_id(1));\n    \
         write_imagef(out, at, read_imagef(in, s, at - (int2)(1, 0)).zyxw);\n}\n",
    );
    let want = RgbaImage::from_fn(7, 5, |x, y| {
        let Rgba([r, g, b, a]) = *picture.get_pixel(x.max(1) - 1, y);
        Rgba([b, g, r, a])
    });
    want.save(bench.path().join("want.png")).unwrap();
    for (order, channel) in
        [("rgba", "unorm-int8"), ("bgra", "unorm-int8"), ("rgba", "float"), ("rgba", "half-float")]
    {
        let text = format!(
            "source = 'left.cl'\nglobal = [7, 5]\n\
             [[argument]]\nname = 'in'\nimage = {{ order = '{order}', channel = '{channel}' }}\npicture = 'in.png'\naccess = 'read'\n\
             [[argument]]\nimage = {{ width = 7, height = 5, order = '{order}', channel = '{channel}' }}\naccess = 'write'\n\
             dump = 'out.png'\nexpect = {{ picture = 'want.png' }}\n\
             [[argument]]\nsampler = {{ normalized = false, addressing = 'clamp-to-edge', filter = 'nearest' }}\n"
        );
        bench.write("left.toml", text);
        bench.succeed(&["run-kernel", "left.toml"]);
        let out = image::open(bench.path().join("out.png")).unwrap().to_rgba8();
        assert_eq!(out, want, "{order} {channel}");
    }
    // A buffer of pixels is an array [height, width, channels].
    bench.write(
        "negative.cl",
        "kernel void negative(global uchar* p) { p[get_global_id(0)] = 255 - p[get_global_id(0)]; }\n",
    );
    let text = "source = 'negative.cl'\nglobal = 105\n\
                [[argument]]\nbuffer = 'uchar'\ncount = [5, 7, 3]\npicture = 'in.png'\ndump = 'negative.ppm'\n";
    bench.write("negative.toml", text);
    bench.succeed(&["run-kernel", "negative.toml"]);
    let out = image::open(bench.path().join("negative.ppm")).unwrap().to_rgb8();
    for (x, y, pixel) in out.enumerate_pixels() {
        let Rgba([r, g, b, _]) = *picture.get_pixel(x, y);
        assert_eq!(pixel.0, [255 - r, 255 - g, 255 - b]);
    }
}

#[test]
fn every_kind_of_argument() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "all.cl",
        "typedef struct { float scale; int add; } S;\n\
         kernel void all(global int* a, global int* b, S s, local int* tmp, global int* none, uchar4 v, half h,\n                \
         global ulong* wide) {\n    \
         int i = get_global_id(0) - get_global_offset(0);\n    tmp[get_local_id(0)] = a[i];\n    \
         barrier(CLK_LOCAL_MEM_FENCE);\n    \
         b[i] = (int)(tmp[1 - get_local_id(0)] * s.scale) + s.add + (none == 0) + v.z;\n    \
         if (i == 0) { wide[0] += 1; printf(\"%d %d %d\\n\", v.x, v.w, (int)(h * 8)); }\n}\n",
    );
    // { 2.0f, -3 } as bytes.
    bench.write(
        "all.toml",
        "source = 'all.cl'\nglobal = [4]\nlocal = [2]\noffset = [100]\n\
         [[argument]]\nname = 'a'\nbuffer = 'int'\nvalues = [10, 20, 30, 40]\nexpect = { values = [56, 36, 96, 76] }\n\
         [[argument]]\nsame_as = 'a'\n\
         [[argument]]\nbytes = '00 00 00 40 fd ff ff ff'\n\
         [[argument]]\nlocal = 8\n\
         [[argument]]\nnull = true\n\
         [[argument]]\nvalue = [1, 2, 18, 255]\n\
         [[argument]]\nvalue = 0.5\n\
         [[argument]]\nbuffer = 'ulong'\nvalues = [0xFFFF_FFFF_FFFF_FFFE]\ndump = true\n",
    );
    let said = bench.succeed(&["run-kernel", "all.toml"]);
    assert!(said.starts_with("1 255 4\nall of all.cl over 4 from 100 in groups of 2, on "), "{said}");
    assert!(said.contains("  wide[0] = 18446744073709551615\n"), "{said}");
    assert!(said.contains("a: 4 numbers as expected, exactly\n"), "{said}");
}

#[test]
fn launches_that_cannot_run_are_rejected() {
    let bench = Bench::new();
    bench.write("binary.toml", [0xff, 0xfe, 0]);
    std::fs::create_dir(bench.path().join("folder.toml")).unwrap();
    bench.write("bad.toml", "source = 'scale.cl'\nglobla = 5\n");
    bench.write("bad.sim", "scale.cl scale 4 1 1 2 1\n");
    bench.write("lost.toml", "source = 'lost.cl'\nglobal = 4\n");
    bench.write("fake.toml", "spirv = 'bad.sim'\nglobal = 4\n");
    let refuse =
        |arguments: &[&str], words: &[&str]| bench.refuse(&[&["run-kernel"], arguments].concat(), words);
    refuse(&["none.toml"], &["none.toml", "check the path"]);
    refuse(&["folder.toml"], &["folder.toml is a folder"]);
    refuse(&["binary.toml"], &["binary.toml is not UTF-8 text", "docs/launch-files.md"]);
    refuse(&["bad.toml"], &["bad.toml:2:1", "did you mean `global`?"]);
    refuse(&["bad.sim"], &["bad.sim:1:", "work-group size"]);
    refuse(&["lost.toml"], &["lost.cl", "check the path"]);
    refuse(&["fake.toml"], &["bad.sim", "not a SPIR-V module"]);
    refuse(&["bad.toml", "--device", "cpu"], &["cpu cannot run launch files", "simulator"]);
    refuse(&["bad.toml", "--device", "gpu"], &["gpu", "simulator, opencl, opencl:N or virtual:GPU"]);
    refuse(&["bad.toml", "--limit-memory", "4GB"], &["4GB", "GiB"]);
    refuse(&["bad.toml", "--limit-steps", "0"], &["--limit-steps"]);
    refuse(&["bad.toml", "--threads", "0"], &["--threads"]);
    refuse(&[], &["LAUNCH.toml"]);
    if !compiles() {
        return;
    }
    bench.write("scale.cl", SCALE);
    let with = |name: &str, text: &str, words: &[&str]| {
        bench.write(name, text);
        refuse(&[name], words);
    };
    let text = scale("");
    with(
        "a.toml",
        &text.replace("global = 4", "global = 4\nkernel = 'scael'"),
        &["a.toml:3:10", "did you mean `scale`"],
    );
    with(
        "a.toml",
        &text.replace("name = 'factor'", "name = 'faktor'"),
        &["a.toml:", "`faktor` here and `factor`"],
    );
    with(
        "a.toml",
        &text.replace("value = 0.5", "local = 8"),
        &["argument 2 (`factor`)", "a value of type `float`"],
    );
    with("a.toml", &text.replace("value = 0.5", ""), &["argument 2 needs one of"]);
    with("a.toml", &scale("npy = 'scale.cl'"), &["scale.cl is not a .npy file"]);
    with("a.toml", &scale("file = 'scale.cl'"), &["scale.cl has", "instead of 16"]);
    with("a.toml", &scale("dump = 'missing/out.npy'"), &["missing/out.npy", "create it first"]);
    with(
        "a.toml",
        &scale("dump = 'out.png'").replace("[2, 2]", "4"),
        &["out.png cannot show `out`", "4 float"],
    );
    bench.write("a.toml", scale("").replace("[2, 2]", "4000000000"));
    refuse(&["a.toml"], &["16000000016 bytes", "limit of 4294967296 bytes"]);
    bench.write("a.toml", scale(""));
    refuse(&["a.toml", "--limit-memory", "31"], &["32 bytes", "limit of 31 bytes"]);
    bench.write("endless.cl", "kernel void endless(global int* a) { while (a[0] == 0) a[1]++; }\n");
    bench.write(
        "endless.toml",
        "source = 'endless.cl'\nglobal = 4\n[[argument]]\nbuffer = 'int'\ncount = 2\nfill = 0\n",
    );
    refuse(&["endless.toml", "--limit-steps", "10000"], &["10000 instructions", "endless"]);
}

#[test]
fn compilers_speak_for_themselves() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("typo.cl", "kernel void typo(global float* a) {\n    a[0] = b;\n}\n");
    bench.write("typo.toml", "source = 'typo.cl'\nglobal = 1\n[[argument]]\nbuffer = 'float'\ncount = 1\n");
    let output = bench.run(&["run-kernel", "typo.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = complaint(&output.stderr);
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("error: typo.cl does not compile: typo.cl:2:12: error: "), "{said}");
    // The line with its caret, as in clang's message.
    assert!(said.contains("    a[0] = b;\n") && said.contains('^'), "{said}");
}

/// The numbers in a dump, by the argument's name.
fn dumped(text: &str) -> Vec<(String, f64)> {
    text.lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once(" = "))
        .map(|(name, number)| {
            let number = match number.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).unwrap() as f64,
                None => number.parse().unwrap(),
            };
            (name.to_owned(), number)
        })
        .collect()
}

#[test]
fn oclgrind_reads_its_files_the_same() {
    if !compiles() {
        return;
    }
    let oclgrind = Command::new("oclgrind-kernel").arg("--version").output();
    if oclgrind.is_err() {
        eprintln!("left out: no oclgrind-kernel");
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "typedef struct { float x; int y; float z; } S;\n\
         kernel void add(global float* a, global float* b, global float* c, int n) {\n    \
         int i = get_global_id(0);\n    if (i < n) c[i] = a[i] + b[i];\n}\n\
         kernel void kinds(char4 v, S s, global short* h, local int* l, global uchar* none, global long* out, constant uint* u) {\n    \
         l[0] = s.y;\n    out[0] = v.x + v.w; out[1] = (long)(s.x * s.z) + l[0]; out[2] = h[2]; out[3] = none == 0; out[4] = u[1];\n}\n\
         kernel void grid(global int* out) {\n    \
         size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n    \
         out[(z * get_global_size(1) + y) * get_global_size(0) + x] = x * 100 + y * 10 + z + 1000 * get_local_size(1);\n}\n",
    );
    let files = [
        "k.cl add\n16 1 1\n4 1 1\n<size=64 range=0:1:15>\n<size=64 fill=0.25> # a quarter\n<size=64 dump fill=0>\n<size=4> 13\n",
        "k.cl\nadd\n4 1 1 2 1 1\n<size=16 float> 1 2.5 -3e2\n4\n<size=16 range=1:0.5:2.5 ro>\n<size=16 dump\two noinit>\n<size=4 hex> f\n",
        "k.cl kinds 1 1 1 1 1 1\n<size=4> -128 2 3 127\n<size=12 float> 42 0 18\n<size=8 hex dump> 7fff 1 abc 0\n\
         <size=4>\n<null>\n<size=40 fill=-7 dump>\n<size=8 hex> deadbeef 80000000\n",
        "k.cl grid 2 3 2 1 3 2\n<size=48 noinit dump>\n",
    ];
    for file in files {
        bench.write("k.sim", file);
        let theirs = Command::new("oclgrind-kernel").arg("k.sim").current_dir(bench.path()).output().unwrap();
        assert!(theirs.status.success(), "{file}\n{}", complaint(&theirs.stderr));
        let theirs = dumped(&String::from_utf8(theirs.stdout).unwrap());
        assert!(!theirs.is_empty(), "{file}");
        assert_eq!(dumped(&bench.succeed(&["run-kernel", "k.sim"])), theirs, "{file}");
    }
}

#[test]
fn an_opencl_device_runs_the_same_files() {
    if let Err(error) = tripipe_opencl::devices() {
        assert!(env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "{error}");
        eprintln!("left out: {error}");
        return;
    }
    let bench = Bench::new();
    let run = |arguments: &[&str]| {
        bench
            .command(&[&["run-kernel", "--device", "opencl"], arguments].concat())
            .env_remove("TRIPIPE_OPENCL")
            .output()
            .unwrap()
    };
    bench.write("half.h", "#define HALF 0.5f\n");
    bench.write(
        "scale.cl",
        format!("#include \"half.h\"\n{}", SCALE.replace("* factor", "* factor * HALF * 2")),
    );
    bench.write("scale.toml", scale("dump = 'out.bin'\nexpect = { values = [0.5, 1, 1.5, -0.25] }"));
    let said = done(&run(&["scale.toml"]));
    assert!(said.starts_with("scale of scale.cl over 4 in groups of 2, on "), "{said}");
    assert!(said.ends_with("out -> out.bin\nout: 4 numbers as expected, exactly\n"), "{said}");
    assert_eq!(f32_out(&bench.read("out.bin")), [0.5, 1.0, 1.5, -0.25]);
    bench.write("wrong.toml", scale("").replace("value = 0.5", "value = [1, 2]"));
    refused(&run(&["wrong.toml"]), &["wrong.toml:14:1", "one `float`"]);
    bench.write("scale.cl", "kernel void scale( {");
    let output = run(&["scale.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output.stderr).contains("scale.cl does not build"));
}
