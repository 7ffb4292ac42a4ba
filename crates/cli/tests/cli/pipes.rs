//! Standard input and output instead of files.

use std::io::{Read, Write};
use std::process::{Output, Stdio};

use image::{Rgb, RgbImage};

use crate::npy::{f32s, file, parts};
use crate::{Bench, complaint, refused};

/// A run with `input` on standard input.
fn piped(bench: &Bench, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = bench
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that has read enough closes its end.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn quiet(output: Output) -> Vec<u8> {
    assert_eq!(complaint(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    output.stdout
}

fn picture() -> RgbImage {
    RgbImage::from_fn(20, 10, |x, y| Rgb([(x * 12) as u8, (y * 25) as u8, (x * y) as u8]))
}

fn ppm() -> Vec<u8> {
    let mut bytes = b"P6\n20 10\n255\n".to_vec();
    bytes.extend(picture().into_raw());
    bytes
}

#[test]
fn pictures() {
    let bench = Bench::new();
    // Standard output contains only the picture, as a PNG unless another format is requested.
    let png = quiet(piped(&bench, &["filter", "copy", "-", "-"], &ppm()));
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(image::load_from_memory(&png).unwrap().to_rgb8(), picture());
    assert_eq!(quiet(piped(&bench, &["filter", "copy", "-", "-", "--to", "ppm"], &png)), ppm());
    // A file on one end.
    let output = piped(&bench, &["filter", "copy", "-", "a.ppm"], &png);
    assert!(String::from_utf8(quiet(output)).unwrap().starts_with("standard input 20x10 RGB -> a.ppm\n"));
    assert_eq!(bench.read("a.ppm"), ppm());
    let tiff = quiet(piped(&bench, &["filter", "copy", "a.ppm", "-", "--to", "tiff"], &[]));
    assert_eq!(image::load_from_memory(&tiff).unwrap().to_rgb8(), picture());
    // The explanation goes to standard error.
    let output = piped(&bench, &["filter", "laplace", "a.ppm", "-", "--to", "ppm", "--explain"], &[]);
    assert!(output.stdout.starts_with(b"P6\n") && complaint(&output.stderr).contains("kernel"));
    // A frame.
    let frame = quiet(piped(&bench, &["filter", "copy", "-", "-", "--to", "nv12"], &png));
    assert_eq!(frame.len(), 20 * 10 * 3 / 2);
    let back = quiet(piped(&bench, &["filter", "copy", "-", "-", "--from", "nv12:20x10"], &frame));
    assert_eq!(image::load_from_memory(&back).unwrap().width(), 20);
    let counted = quiet(piped(&bench, &["histogram", "-", "--format", "json"], &png));
    assert!(String::from_utf8(counted).unwrap().contains("\"standard input\""));
}

#[test]
fn matrices() {
    let bench = Bench::new();
    let a = file("<f4", false, "(2, 3)", &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    bench.write("b.npy", file("<f4", true, "(3, 2)", &f32s(&[1.0, 0.0, 2.0, 0.0, 1.0, -1.0])));
    let c = quiet(piped(&bench, &["gemm", "-", "b.npy", "-o", "-"], &a));
    let (header, data) = parts(&c);
    assert!(header.contains("(2, 2") && header.contains("'<f4'"), "{header}");
    assert_eq!(data, f32s(&[7.0, -1.0, 16.0, -1.0]));
    let said = quiet(piped(&bench, &["gemm", "-", "b.npy", "-o", "c.npy"], &a));
    assert!(
        String::from_utf8(said).unwrap().starts_with("standard input 2x3 * b.npy 3x2 -> c.npy 2x2 float32\n")
    );
    assert_eq!(bench.read("c.npy"), c);
}

#[test]
fn inputs_that_are_neither_images_nor_arrays_are_rejected() {
    let bench = Bench::new();
    let png = quiet(piped(&bench, &["filter", "copy", "-", "-"], &ppm()));
    bench.write("b.npy", file("<f4", false, "(1, 1)", &f32s(&[1.0])));
    let liar = file("<f4", false, "(1000000, 1000000)", &[0; 16]);
    let short = file("<f4", false, "(2, 2)", &[0; 15]);
    let cases: [(&[&str], &[u8], &[&str]); 7] = [
        (&["filter", "copy", "-", "-"], b"", &["standard input is not a picture"]),
        (&["filter", "copy", "-", "-"], b"hello", &["standard input is not a picture"]),
        (&["filter", "copy", "-", "-"], &png[..png.len() / 2], &["standard input is broken or truncated"]),
        (&["filter", "copy", "-", "-", "--from", "nv12:4x4"], &[0; 23], &["23 bytes", "24"]),
        (&["gemm", "-", "b.npy", "-o", "-"], b"hello", &["standard input is not a .npy file"]),
        (&["gemm", "-", "b.npy", "-o", "-"], &short, &["cut short", "15 bytes follow"]),
        (&["gemm", "-", "b.npy", "-o", "-"], &liar, &["standard input", "read it from a file"]),
    ];
    for (arguments, input, words) in cases {
        let output = piped(&bench, arguments, input);
        refused(&output, words);
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let bench = Bench::new();
    // More than the pipe buffer holds.
    let mut large = b"P6\n1000 1000\n255\n".to_vec();
    large.extend(vec![7; 3_000_000]);
    bench.write("a.ppm", large);
    let side = 600;
    bench.write("a.npy", file("<f4", false, &format!("({side}, {side})"), &vec![0; 4 * side * side]));
    for arguments in [
        &["filter", "copy", "a.ppm", "-", "--to", "ppm"][..],
        &["filter", "laplace", "a.ppm", "-", "--to", "bmp"],
        &["gemm", "a.npy", "a.npy", "-o", "-"],
    ] {
        let mut child =
            bench.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 2];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let mut said = Vec::new();
        child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!((code, complaint(&said).as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn pipes_with_a_name() {
    let bench = Bench::new();
    let made = std::process::Command::new("mkfifo").arg(bench.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let pipe = bench.path().join("pipe");
    let writer = std::thread::spawn(move || std::fs::write(pipe, ppm()).unwrap());
    bench.succeed(&["filter", "copy", "pipe", "a.ppm"]);
    writer.join().unwrap();
    assert_eq!(bench.read("a.ppm"), ppm());
}
