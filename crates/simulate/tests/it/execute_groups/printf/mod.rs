//! Compares `printf` with that of C, whose output is in `values.txt`, next to the program that wrote it.

use std::fmt::Write as _;

use tripipe_launch::NdRange;
use tripipe_simulate::Options;

use crate::execute_groups::bench::{Bench, memory};

impl Bench {
    /// The output of kernels since the last call.
    fn printed(&mut self) -> String {
        String::from_utf8(self.simulator.take_printed()).unwrap()
    }
}

/// A line of `values.txt`: kind, format, argument, text.
fn values() -> impl Iterator<Item = [&'static str; 4]> {
    include_str!("values.txt").lines().map(|line| {
        let (call, text) = line.split_once(" [").unwrap();
        let (kind, call) = call.split_once(' ').unwrap();
        let (format, argument) = call.rsplit_once(' ').unwrap();
        [kind, format, argument, text.strip_suffix(']').unwrap()]
    })
}

#[test]
fn numbers_and_strings_as_in_c() {
    // The lines of one format are adjacent.
    let all: Vec<[&str; 4]> = values().collect();
    let formats: Vec<&[[&str; 4]]> = all.chunk_by(|a, b| a[..2] == b[..2]).collect();
    let mut source = String::from("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    for (index, lines) in formats.iter().enumerate() {
        let [kind, format, argument, _] = lines[0];
        let (ty, value) = match kind {
            "string" => ("int", format!("\"{argument}\"")),
            kind => (kind, "a[get_global_id(0)]".to_owned()),
        };
        writeln!(
            source,
            "kernel void k{index}(global const {ty} *a) {{ printf(\"{format}\\n\", {value}); }}"
        )
        .unwrap();
    }
    let Some(mut bench) = Bench::new(source, "-cl-std=CL1.2 -Wno-format") else { return };
    for (index, lines) in formats.iter().enumerate() {
        let arguments = lines.iter().map(|line| line[2]);
        let buffer = match lines[0][0] {
            "int" => bench.buffer(&arguments.map(|text| text.parse().unwrap()).collect::<Vec<i32>>()),
            "long" => bench.buffer(&arguments.map(|text| text.parse().unwrap()).collect::<Vec<i64>>()),
            "double" => bench.buffer(&arguments.map(|text| text.parse().unwrap()).collect::<Vec<u64>>()),
            _ => bench.buffer(&[0]),
        };
        bench.run(&format!("k{index}"), NdRange::d1(lines.len()), &[memory(buffer)]);
        let printed = bench.printed();
        assert_eq!(printed.lines().count(), lines.len(), "{}", lines[0][1]);
        for (found, [kind, format, argument, wanted]) in printed.lines().zip(*lines) {
            assert_eq!(found, *wanted, "{format} of {kind} {argument}");
        }
    }
}

#[test]
fn vectors_and_the_rest() {
    // The first two are examples from the specification; expected texts by hand from OpenCL C 3.0, 6.15.14.
    let cases = [
        (r#""%2.2v4hlf", (float4)(1.0f, 2.0f, 3.0f, 4.0f)"#, "1.00,2.00,3.00,4.00"),
        (r#""%#v4hhx", (uchar4)(0xFA, 0xFB, 0xFC, 0xFD)"#, "0xfa,0xfb,0xfc,0xfd"),
        (r#""%v3hd|", (short3)(-1, 300, -32768)"#, "-1,300,-32768|"),
        (r#""%v3hu", (ushort3)(65535, 300, 0)"#, "65535,300,0"),
        (r#""%v4hhd", (char4)(-1, 127, -128, 0)"#, "-1,127,-128,0"),
        (r#""%4v2hld", (int2)(-7, 12345)"#, "  -7,12345"),
        (r#""%-4v2hli|", (int2)(-7, 1)"#, "-7  ,1   |"),
        (r#""%+v2ld", (long2)(1L << 40, -(1L << 62))"#, "+1099511627776,-4611686018427387904"),
        (r#""%04v2hlX", (uint2)(255, 0xBEEF)"#, "00FF,BEEF"),
        (
            r#""%v2lf %.1v2le", (double2)(0.5, -2.0), (double2)(10.0, 0.25)"#,
            "0.500000,-2.000000 1.0e+01,2.5e-01",
        ),
        (
            r#""%v2hf %v2hg", (half2)(1.5h, -0.25h), (half2)(65504.0h, 0.1h)"#,
            "1.500000,-0.250000 65504,0.0999756",
        ),
        (
            r#""%v16hhu", (uchar16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255)"#,
            "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255",
        ),
        (
            r#""%v8hla", (float8)(1, 2, 3, 4, 5, 6, 7, 8)"#,
            "0x1p+0,0x1p+1,0x1.8p+1,0x1p+2,0x1.4p+2,0x1.8p+2,0x1.cp+2,0x1p+3",
        ),
        (r#""%v2hle", (float2)(INFINITY, -INFINITY)"#, "inf,-inf"),
        (r#""%d %s %c%c %u%% %x", -5, "and", 'o', 107, 7u, 255"#, "-5 and ok 7% ff"),
        (r#""%3c|%-3c|", 'a', 'b'"#, "  a|b  |"),
        (r#""%f %g", 0.1f, 16777216.0f"#, "0.100000 1.67772e+07"),
        (r#""%hhd %hd", 300, 70000"#, "44 4464"),
        (r#""%.6d %s", 12, i ? "yes" : "no""#, "000012 yes"),
        (r#""%p", (global int *)0"#, "(nil)"),
        (r#""%s", (constant char *)0"#, "(null)"),
        (r#""plain %% 100%%""#, "plain % 100%"),
        (r#""""#, ""),
    ];
    let mut source = String::from(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    );
    for (index, (call, _)) in cases.iter().enumerate() {
        writeln!(source, "kernel void k{index}(int i) {{ printf({call}); }}").unwrap();
    }
    source += "
        kernel void address(global int *a) { printf(\"%p %p\", a, a + 1); }
        kernel void wide(global int *a) {
            printf(\"%.70000d|%70000s|%.70000f|%.70000e\", 42, \"ab\", 1.5, 1.5);
        }
        kernel void result(global int *a) { a[0] = printf(\"ab\"); }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL1.2 -Wno-format") else { return };
    for (index, (call, text)) in cases.iter().enumerate() {
        bench.run(&format!("k{index}"), NdRange::d1(1), &[1.into()]);
        assert_eq!(bench.printed(), *text, "{call}");
    }
    let a = bench.buffer(&[7]);
    bench.run("address", NdRange::d1(1), &[memory(a)]);
    let printed = bench.printed();
    let [first, second]: [u64; 2] = printed
        .split(' ')
        .map(|text| u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!(second - first, 4, "{printed}");
    bench.run("wide", NdRange::d1(1), &[memory(a)]);
    let (zeros, spaces) = ("0".repeat(70_000), " ".repeat(70_000));
    let wide = [
        format!("{}42", &zeros[2..]),
        format!("{}ab", &spaces[2..]),
        format!("1.5{}", &zeros[1..]),
        format!("1.5{}e+00", &zeros[1..]),
    ];
    assert_eq!(bench.printed(), wide.join("|"));
    // 0 reports success.
    bench.run("result", NdRange::d1(1), &[memory(a)]);
    assert_eq!(bench.read::<i32>(a, 1), [0]);
}

fn run_on(threads: usize, source: &str, entry: &str, items: usize) -> Option<String> {
    let options = Options { threads, ..Options::default() };
    let mut bench = Bench::with(options, source, "-cl-std=CL1.2")?;
    let buffer = bench.buffer(&[0]);
    bench.run(entry, NdRange::d1(items).local(10, 1, 1), &[memory(buffer)]);
    Some(bench.printed())
}

#[test]
fn in_the_order_of_work_items() {
    let source = "
        kernel void f(global int *a) {
            int i = get_global_id(0);
            if (i % 3 == 0)
                printf(\"%d divides\\n\", i);
            else if (i % 3 == 1)
                printf(\"%d leaves one\\n\", i);
        }";
    let mut wanted = String::new();
    for group in 0..9 {
        for (rest, text) in [(0, "divides"), (1, "leaves one")] {
            for i in (group * 10..group * 10 + 10).filter(|i| i % 3 == rest) {
                writeln!(wanted, "{i} {text}").unwrap();
            }
        }
    }
    for threads in [1, 4] {
        let Some(printed) = run_on(threads, source, "f", 90) else { return };
        // The two branches run one after the other, in either order.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&printed), sorted(&wanted));
        for rest in ["divides", "leaves one"] {
            let numbers: Vec<u32> =
                printed.lines().filter_map(|line| line.strip_suffix(rest)?.trim().parse().ok()).collect();
            assert!(numbers.is_sorted() && numbers.len() == 30, "{threads} threads, {rest}: {numbers:?}");
        }
    }
}

#[test]
fn too_much_is_cut_with_a_note() {
    let source = "
        kernel void f(global int *a) {
            for (int k = 0; k < 1000; k++)
                printf(\"%1000d\", k);
        }";
    for threads in [1, 2] {
        let Some(printed) = run_on(threads, source, "f", 40) else { return };
        let (text, note) = printed.split_at(16 << 20);
        assert!(text.bytes().all(|byte| byte == b' ' || byte.is_ascii_digit()));
        assert!(text.starts_with(&" ".repeat(999)), "{}", &text[..10]);
        assert_eq!(note, "\n[printf: output beyond 16 MiB is left out]\n");
    }
}

#[test]
fn a_string_that_is_none_is_a_fault() {
    let source = "kernel void f(constant char *text) { printf(\"%s %.3s\", text + 1, text); }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL1.2 -Wno-format") else { return };
    let ended = bench.buffer(b"abcd\0");
    bench.run("f", NdRange::d1(1), &[memory(ended)]);
    assert_eq!(bench.printed(), "bcd abc");
    let endless = bench.buffer(b"abcd");
    let error = bench.try_run("f", NdRange::d1(1), &[memory(endless)]).unwrap_err();
    assert!(error.contains("reads 1 byte at offset 4 of `text`, which has 4 bytes"), "{error}");
}
