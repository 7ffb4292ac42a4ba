//! Impossible pictures, outputs and options: each gives one line that names the file and the way out.

use image::{DynamicImage, Rgb, RgbImage};

use crate::Bench;
use crate::npy::file;
use crate::run_kernel::compiles;

fn picture() -> RgbImage {
    RgbImage::from_fn(64, 48, |x, y| Rgb([(x * 4) as u8, (y * 5) as u8, (x * y) as u8]))
}

/// A PNG header for an RGB picture of this size, without any data after it.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut chunk = b"IHDR".to_vec();
    chunk.extend(width.to_be_bytes());
    chunk.extend(height.to_be_bytes());
    chunk.extend([8, 2, 0, 0, 0]);
    let mut crc = !0u32;
    for byte in &chunk {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
    file.extend(chunk);
    file.extend((!crc).to_be_bytes());
    // An empty data chunk: a decoder looks for one before it reports the size of the picture.
    file.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e");
    file
}

#[test]
fn not_a_picture() {
    let bench = Bench::new();
    bench.write("text.png", "not a picture at all");
    bench.write("empty.png", "");
    for name in ["text.png", "empty.png"] {
        bench.refuse(&["filter", "laplace", name, "out.png"], &[name, "not a picture", "PNG"]);
    }
    bench.refuse(&["filter", "laplace", "missing.png", "out.png"], &["missing.png", "check the path"]);
    bench.refuse(&["filter", "laplace", ".", "out.png"], &["is a folder"]);
    bench.refuse(&["ladder", "laplace", "--image", "text.png"], &["text.png", "not a picture"]);
}

#[test]
fn truncated_pictures_of_every_format() {
    let bench = Bench::new();
    for ending in ["png", "jpg", "ppm", "bmp", "tiff", "webp"] {
        let name = format!("a.{ending}");
        picture().save(bench.path().join(&name)).unwrap();
        let whole = bench.read(&name);
        for cut in [whole.len() / 2, whole.len() * 9 / 10] {
            bench.write(&name, &whole[..cut]);
            bench.refuse(&["filter", "laplace", &name, "out.png"], &[&name]);
        }
    }
}

#[test]
fn pictures_without_pixels() {
    let bench = Bench::new();
    bench.write("a.png", png_header(0, 0));
    bench.write("a.ppm", "P6 0 0 255\n");
    bench.refuse(&["filter", "laplace", "a.png", "out.png"], &["a.png"]);
    bench.refuse(&["filter", "laplace", "a.ppm", "out.png"], &["a.ppm"]);
}

#[test]
fn headers_that_promise_too_much() {
    let bench = Bench::new();
    bench.write("a.png", png_header(100_000, 100_000));
    bench.write("a.ppm", "P6 100000 100000 255\n");
    let mut bmp = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bmp.extend(100_000u32.to_le_bytes());
    bmp.extend(100_000u32.to_le_bytes());
    bmp.extend([1, 0, 24, 0]);
    bmp.resize(54, 0);
    bench.write("a.bmp", bmp);
    for name in ["a.png", "a.ppm", "a.bmp"] {
        let start = std::time::Instant::now();
        bench.refuse(&["filter", "laplace", name, "out.png"], &[name]);
        // Detected from the header: decoding 30 GB would take longer.
        assert!(start.elapsed().as_secs() < 5, "{name}");
    }
    bench.refuse(&["filter", "laplace", "a.png", "out.png"], &["100000x100000", "at most 2 GiB"]);
}

#[test]
fn invalid_outputs_are_rejected() {
    let bench = Bench::new();
    picture().save(bench.path().join("a.png")).unwrap();
    DynamicImage::ImageRgb8(picture()).to_rgba8().save(bench.path().join("alpha.png")).unwrap();
    std::fs::create_dir(bench.path().join("folder.png")).unwrap();
    let cases: [(&str, &str, &[&str]); 7] = [
        ("a.png", "missing/out.png", &["missing/out.png", "create it first"]),
        ("a.png", "folder.png", &["folder.png", "is a folder"]),
        ("a.png", "a.png/out.png", &["a.png/out.png"]),
        ("a.png", "out.gif", &["out.gif", ".png"]),
        ("a.png", "out", &["out", ".png"]),
        ("a.png", "out.pgm", &["out.pgm", "PPM"]),
        ("alpha.png", "out.jpg", &["out.jpg", "alpha", "PNG"]),
    ];
    for (input, output, words) in cases {
        bench.refuse(&["filter", "laplace", input, output], words);
    }
    bench.refuse(&["ladder", "laplace", "--save", "missing/x.png"], &["missing/x.png"]);
    bench.refuse(&["ladder", "laplace", "--save", "x.gif"], &["x.gif"]);
}

#[test]
#[cfg(target_os = "linux")]
fn unwritable_paths_are_rejected() {
    let bench = Bench::new();
    picture().save(bench.path().join("a.png")).unwrap();
    bench.write("a.npy", file("<f4", false, "(2, 2)", &[0; 16]));
    bench.refuse(&["filter", "laplace", "a.png", "/proc/out.png"], &["/proc/out.png", "another folder"]);
    bench.refuse(&["gemm", "a.npy", "a.npy", "-o", "/proc/c.npy"], &["/proc/c.npy", "another folder"]);
    bench.refuse(
        &["filter", "copy", "a.png", "/dev/full", "--to", "png"],
        &["/dev/full could not be written"],
    );
    bench.refuse(
        &["filter", "copy", "a.png", "/dev/full", "--to", "tiff"],
        &["/dev/full could not be written"],
    );
    bench.refuse(&["gemm", "a.npy", "a.npy", "-o", "/dev/full"], &["/dev/full could not be written"]);
    for arguments in [
        &["filter", "copy", "a.png", "-"][..],
        &["gemm", "a.npy", "a.npy", "-o", "-"],
        &["histogram", "a.png"],
        &["devices", "--models"],
    ] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = bench.command(arguments).stdout(full).output().unwrap();
        crate::refused(&output, &["standard output"]);
    }
    // The device is full as soon as it is written to.
    let output =
        bench.command(&["devices"]).stdout(std::fs::File::create("/dev/full").unwrap()).output().unwrap();
    crate::refused(&output, &["standard output"]);
}

#[test]
#[cfg(unix)]
fn names_of_any_kind() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    picture().save(bench.path().join("a.png")).unwrap();
    for name in [&b"two\nlines.png"[..], b"\xff\xfe.png", b"-dash.png", b"tab\there.png"] {
        let name = OsStr::from_bytes(name);
        let run = |arguments: &[&OsStr]| {
            bench.command(&["filter", "copy"]).arg("--").args(arguments).output().unwrap()
        };
        let said = crate::done(&run(&["a.png".as_ref(), name]));
        assert_eq!(said.lines().count(), 2, "{said}");
        crate::done(&run(&[name, "b.png".as_ref()]));
        assert_eq!(image::open(bench.path().join("b.png")).unwrap().to_rgb8(), picture());
        std::fs::remove_file(bench.path().join(name)).unwrap();
        crate::refused(&run(&[name, "b.png".as_ref()]), &["check the path"]);
        let gemm = bench.command(&["gemm", "-o", "c.npy", "--"]).args([name, name]).output().unwrap();
        crate::refused(&gemm, &["check the path"]);
    }
}

#[test]
fn invalid_options_are_rejected() {
    let bench = Bench::new();
    let cases: [(&[&str], &[&str]); 35] = [
        (&["ladder", "lapalce"], &["lapalce", "did you mean laplace"]),
        (&["ladder", "zzz"], &["zzz", "vector-add"]),
        (&["ladder", "laplace", "--sizes", "0x5"], &["0x5"]),
        (&["ladder", "laplace", "--sizes", "axb"], &["axb", "WIDTHxHEIGHT"]),
        (&["ladder", "laplace", "--sizes", "1x2x3"], &["1x2x3", "WIDTHxHEIGHT"]),
        (&["ladder", "laplace", "--sizes", "5x5,,7x7"], &["WIDTHxHEIGHT"]),
        (&["ladder", "laplace", "--sizes", "99999999999999999999x1"], &["99999999999999999999x1"]),
        (&["ladder", "laplace", "--sizes", "100000x100000"], &["100000x100000"]),
        (&["ladder", "gemm", "--sizes", "1x2"], &["1x2", "MxNxK"]),
        (&["ladder", "vector-add", "--sizes", "5x5"], &["5x5", "number of elements"]),
        (&["ladder", "laplace", "--runs", "0"], &["--runs"]),
        (&["ladder", "laplace", "--format", "xml"], &["xml", "json"]),
        (&["ladder", "gemm", "--image", "a.png"], &["--image", "gemm"]),
        (&["ladder", "gemm", "--save", "a.png"], &["--save", "gemm"]),
        (&["ladder", "laplace", "--device", "gpu"], &["gpu", "opencl:N"]),
        (&["peaks", "--device", "opencl:x"], &["opencl:x"]),
        (&["ladder", "laplace", "--device", "opencl"], &["OpenCL", "--device cpu"]),
        (&["peaks", "--device", "opencl:99"], &["OpenCL"]),
        (&["gemm", "a.npy", "b.npy"], &["--output"]),
        (&["gemm", "a.npy", "b.npy", "-o", "c.npy", "--beta", "2"], &["--c"]),
        (&["gemm", "-", "-", "-o", "c.npy"], &["more than one array"]),
        (&["tune", "gemm", "--limit", "0"], &["--limit", "none"]),
        (&["tune", "gemm", "--candidates", "0"], &["--candidates", "0"]),
        (&["tune", "gemm", "--strategy", "blind"], &["want exhaustive, random, predicted or learned"]),
        (&["tune", "gemm", "--constant", "c"], &["only a and b"]),
        (&["tune", "conv"], &["conv"]),
        (&["tune", "filter", "lapalce"], &["did you mean laplace"]),
        (&["tune", "filter", "laplace", "--element", "u9"], &["u9", "want u8, i16"]),
        (&["tune", "quantised", "--formats", "q5_1"], &["q5_1", "want f16, i8, q8_0 or q4_0"]),
        (&["tune", "quantised", "--vectors", "i8"], &["i8", "want f16 or f32"]),
        (&["tune", "quantised", "--sizes", "1x2"], &["1x2"]),
        (&["tune", "quantised", "--sizes", "1x1000000x1000000"], &["1x1000000x1000000", "one operand"]),
        (&["tune", "gemm", "--device", "cpu"], &["--device opencl"]),
        (&["tune", "show", "none.jsonl"], &["none.jsonl"]),
        (&["polish"], &["polish"]),
    ];
    for (arguments, words) in cases {
        bench.refuse(arguments, words);
    }
}

/// No output replaces what the command reads, nor what somebody wrote beside it.
#[test]
fn originals_stay() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("twice.cl", "kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }\n");
    bench.succeed(&["template", "twice.cl", "--global", "64", "-o", "twice.toml"]);
    let json = ["simulate", "twice.toml", "-g", "g78", "--format", "json", "-o"];
    bench.succeed(&[&json[..], &["earlier.json"]].concat());
    bench.write("mine.toml", "source = \"mine.cl\"\n");
    let before = bench.files();
    let read = "is read by this command";
    bench.refuse(&["template", "twice.cl", "-o", "twice.cl"], &["twice.cl exists", "name another file"]);
    bench.refuse(&["template", "twice.cl", "-o", "twice.toml"], &["twice.toml exists"]);
    bench.refuse(&[&json[..], &["twice.toml"]].concat(), &["twice.toml", read]);
    bench.refuse(&[&json[..], &["./twice.cl"]].concat(), &["twice.cl", read]);
    bench.refuse(&[&json[..], &["earlier.json", "--diff", "earlier.json"]].concat(), &["earlier.json", read]);
    bench.refuse(&["check", "twice.toml", "--format", "sarif", "-o", "twice.cl"], &["twice.cl", read]);
    bench.refuse(&["view", "earlier.json", "-o", "earlier.json"], &["earlier.json", read]);
    let improve = ["improve", "twice.toml", "-g", "g78", "--limit", "1", "-o"];
    bench.refuse(&[&improve[..], &["mine.cl"]].concat(), &["mine.toml", "not a result of this command"]);
    assert_eq!(bench.files(), before);
    // A former result is replaced.
    bench.write("mine.toml", "# Written by Tripipe with the source beside it, and replaced with it.\n");
    bench.succeed(&[&improve[..], &["mine.cl"]].concat());
}

/// Ids behind the largest number.
#[test]
fn an_offset_has_an_end() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("o.cl", "kernel void o(global int *a) { a[0] = get_global_id(0); }\n");
    let launch =
        "source = 'o.cl'\nglobal = 64\n[[argument]]\nname = 'a'\nbuffer = 'int'\ncount = 64\nfill = 0\n";
    for offset in ["18446744073709551615", "9223372036854775807"] {
        bench.write("o.toml", format!("offset = {offset}\n{launch}"));
        for command in ["check", "simulate", "run-kernel", "analyze"] {
            let output = bench.run(&[command, "o.toml"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // `analyze` has costs without a time.
            assert!(command == "analyze" || output.status.code() == Some(2), "{command}: {said}");
            assert!(!said.contains("panicked"), "{command}: {said}");
        }
        bench.refuse(&["check", "o.toml"], &["at most 2^62"]);
    }
}
