//! `tripipe gemm`.

use half::f16;

use crate::npy::{f32s, file, parts};
use crate::{Bench, done};

/// Small integers, so that every sum is exact in every type.
fn matrix(rows: usize, columns: usize, seed: usize) -> Vec<f32> {
    (0..rows * columns).map(|index| ((index * 7 + seed * 5) % 9) as f32 - 4.0).collect()
}

fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let mut c = vec![0.0; m * n];
    for row in 0..m {
        for column in 0..n {
            c[row * n + column] = (0..k).map(|inner| a[row * k + inner] * b[inner * n + column]).sum();
        }
    }
    c
}

fn transposed(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}

#[test]
fn float_in_either_order() {
    let bench = Bench::new();
    let [m, n, k] = [5, 7, 13];
    let (a, b) = (matrix(m, k, 1), matrix(k, n, 2));
    bench.write("a.npy", file("<f4", false, "(5, 13)", &f32s(&a)));
    bench.write("b.npy", file("<f4", true, "(13, 7)", &f32s(&transposed(&b, k, n))));
    let said = bench.succeed(&["gemm", "a.npy", "b.npy", "-o", "c.npy"]);
    assert!(said.contains("5x13") && said.contains("13x7") && said.contains("CPU path"), "{said}");
    assert!(said.lines().count() <= 2, "{said}");
    let c = bench.read("c.npy");
    bench.succeed(&["gemm", "a.npy", "b.npy", "last.npy"]);
    assert_eq!(bench.read("last.npy"), c);
    let (header, data) = parts(&c);
    assert!(header.contains("'<f4'") && header.contains("(5, 7"), "{header}");
    assert!(header.contains("'fortran_order': False"), "{header}");
    assert_eq!(data, f32s(&product(&a, &b, [m, n, k])));
}

#[test]
fn half_and_double_keep_their_type() {
    let bench = Bench::new();
    let size = [3, 4, 6];
    let (a, b) = (matrix(3, 6, 3), matrix(6, 4, 4));
    let want = product(&a, &b, size);
    let halves = |values: &[f32]| -> Vec<u8> {
        values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
    };
    let doubles = |values: &[f32]| -> Vec<u8> {
        values.iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect()
    };
    for (descr, bytes) in [("<f2", &halves as &dyn Fn(&[f32]) -> Vec<u8>), ("<f8", &doubles)] {
        bench.write("a.npy", file(descr, false, "(3, 6)", &bytes(&a)));
        bench.write("b.npy", file(descr, false, "(6, 4)", &bytes(&b)));
        bench.succeed(&["gemm", "a.npy", "b.npy", "-o", "c.npy", "--device", "cpu"]);
        let c = bench.read("c.npy");
        let (header, data) = parts(&c);
        assert!(header.contains(descr), "{header}");
        assert_eq!(data, bytes(&want), "{descr}");
    }
}

/// float64 supports everything that float32 does: transposes, factors, a bias, an activation, on every device.
#[test]
fn double_precision_with_everything() {
    let bench = Bench::new();
    let [m, n, k] = [3, 4, 6];
    let (a, b, bias) = (matrix(m, k, 3), matrix(k, n, 4), matrix(1, n, 5));
    // A number that float32 cannot represent.
    let far = f64::from(1 << 30) + 1.0;
    let doubles =
        |values: &[f64]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|value| f64::from(*value)).collect() };
    let biases: Vec<f64> = wide(&bias).into_iter().map(|value| value + far).collect();
    bench.write("a.npy", file("<f8", false, "(6, 3)", &doubles(&wide(&transposed(&a, m, k)))));
    bench.write("b.npy", file("<f8", true, "(6, 4)", &doubles(&wide(&transposed(&b, k, n)))));
    bench.write("bias.npy", file("<f8", false, "(4,)", &doubles(&biases)));
    let sums = wide(&product(&a, &b, [m, n, k]));
    let want: Vec<f64> =
        sums.iter().enumerate().map(|(i, sum)| (-0.5 * sum + biases[i % n]).max(0.0)).collect();
    let all = ["--transpose-a", "--alpha", "-0.5", "--bias", "bias.npy", "--activation", "relu", "--explain"];
    for device in ["auto", "cpu", "opencl"] {
        let command = ["gemm", "a.npy", "b.npy", "-o", "c.npy", "--device", device];
        let mut command = bench.command(&[&command[..], &all].concat());
        if device == "opencl" {
            command.env_remove("TRIPIPE_OPENCL");
        }
        let said = done(&command.output().unwrap());
        assert!(said.contains("f64 product 3x4x6"), "{said}");
        assert_eq!(said.contains("double precision"), device == "opencl", "{said}");
        assert_eq!(parts(&bench.read("c.npy")).1, doubles(&want), "{device}");
    }
}

#[test]
fn empty_operands() {
    let bench = Bench::new();
    bench.write("a.npy", file("<f4", false, "(2, 0)", &[]));
    bench.write("b.npy", file("<f4", false, "(0, 3)", &[]));
    bench.succeed(&["gemm", "a.npy", "b.npy", "-o", "c.npy"]);
    assert_eq!(parts(&bench.read("c.npy")).1, f32s(&[0.0; 6]));
    bench.write("a.npy", file("<f4", false, "(0, 2)", &[]));
    bench.write("b.npy", file("<f4", false, "(2, 3)", &f32s(&[1.0; 6])));
    bench.succeed(&["gemm", "a.npy", "b.npy", "-o", "c.npy"]);
    assert_eq!(parts(&bench.read("c.npy")).1, [0u8; 0]);
}

#[test]
fn the_output_may_be_an_input() {
    let bench = Bench::new();
    bench.write("a.npy", file("<f4", false, "(1, 1)", &f32s(&[3.0])));
    bench.succeed(&["gemm", "a.npy", "a.npy", "-o", "a.npy"]);
    assert_eq!(parts(&bench.read("a.npy")).1, f32s(&[9.0]));
    assert_eq!(bench.files(), ["a.npy"]);
}

#[test]
fn invalid_products_are_rejected() {
    let bench = Bench::new();
    let good = file("<f4", false, "(2, 3)", &f32s(&[1.0; 6]));
    bench.write("good.npy", &good);
    let cases: [(&str, Vec<u8>, &[&str]); 17] = [
        ("big.npy", file(">f4", false, "(3, 2)", &[0; 24]), &["big-endian", "astype('<f4')"]),
        ("int.npy", file("<i4", false, "(3, 2)", &[0; 24]), &["'<i4'", "a.astype('float64') keeps every"]),
        ("unsigned.npy", file("|u1", false, "(3, 2)", &[0; 6]), &["a.astype('float32') keeps every"]),
        ("long.npy", file("<i8", false, "(3, 2)", &[0; 48]), &["a.astype('float64')", "2^53"]),
        ("truth.npy", file("|b1", false, "(3, 2)", &[0; 6]), &["a.astype('int8') keeps every"]),
        ("complex.npy", file("<c8", false, "(3, 2)", &[0; 48]), &["a.real", "a.imag"]),
        ("bytes.npy", file("|i1", false, "(3, 2)", &[0; 6]), &["convert bytes.npy with a.astype('float32')"]),
        ("row.npy", file("<f4", false, "(3,)", &[0; 12]), &["1 dimensions", "reshape"]),
        ("cube.npy", file("<f4", false, "(3, 1, 1, 1)", &[0; 12]), &["4 dimensions", "reshape"]),
        ("cut.npy", file("<f4", false, "(3, 2)", &[0; 23]), &["cut short", "3x2"]),
        ("liar.npy", file("<f4", false, "(3, 300000000000)", &[0; 24]), &["cut short"]),
        ("huge.npy", file("<f4", false, "(4294967296, 4294967296)", &[0; 24]), &["too many elements"]),
        (
            "double.npy",
            file("<f8", false, "(3, 2)", &[0; 48]),
            &["convert good.npy with a.astype('float64')"],
        ),
        ("same.npy", good.clone(), &["2x3", "transpose B"]),
        ("other.npy", file("<f4", false, "(5, 4)", &[0; 80]), &["2x3", "5x4"]),
        ("text.npy", b"1 2 3\n4 5 6\n".to_vec(), &["not a .npy file"]),
        ("empty.npy", Vec::new(), &["not a .npy file"]),
    ];
    for (name, bytes, words) in cases {
        bench.write(name, bytes);
        bench.refuse(&["gemm", "good.npy", name, "-o", "c.npy"], &[&[name], words].concat());
    }
    bench.refuse(&["gemm", "good.npy", "missing.npy", "-o", "c.npy"], &["missing.npy"]);
    bench.refuse(&["gemm", "good.npy", ".", "-o", "c.npy"], &["not a regular file"]);
}

#[test]
fn a_product_no_machine_can_hold() {
    let bench = Bench::new();
    // 4 MB each make a product of 4 TB.
    bench.write("a.npy", file("<f4", false, "(1000000, 1)", &vec![0; 4_000_000]));
    bench.write("b.npy", file("<f4", false, "(1, 1000000)", &vec![0; 4_000_000]));
    bench.refuse(&["gemm", "a.npy", "b.npy", "-o", "c.npy"], &["1000000x1000000", "a.npy", "blocks"]);
}

#[test]
fn the_old_product_survives_a_failure() {
    let bench = Bench::new();
    bench.write("a.npy", file("<f4", false, "(2, 3)", &f32s(&[1.0; 6])));
    bench.write("c.npy", "what was there");
    bench.refuse(&["gemm", "a.npy", "a.npy", "-o", "c.npy"], &["a.npy"]);
    assert_eq!(bench.read("c.npy"), b"what was there");
}

#[test]
fn added_to_another_matrix() {
    let bench = Bench::new();
    let size = [3, 4, 5];
    let (a, b, c) = (matrix(3, 5, 1), matrix(5, 4, 2), matrix(3, 4, 3));
    bench.write("a.npy", file("<f4", false, "(3, 5)", &f32s(&a)));
    bench.write("b.npy", file("<f4", false, "(5, 4)", &f32s(&b)));
    bench.write("c.npy", file("<f4", true, "(3, 4)", &f32s(&transposed(&c, 3, 4))));
    let product = product(&a, &b, size);
    let check = |factors: &[&str], [alpha, beta]: [f32; 2]| {
        bench.succeed(&[&["gemm", "a.npy", "b.npy", "--c", "c.npy", "-o", "d.npy"], factors].concat());
        let want: Vec<f32> = product.iter().zip(&c).map(|(ab, c)| alpha * ab + beta * c).collect();
        assert_eq!(parts(&bench.read("d.npy")).1, f32s(&want), "{factors:?}");
    };
    check(&[], [1.0, 1.0]);
    check(&["--beta", "-0.5", "--alpha", "2"], [2.0, -0.5]);
    check(&["--beta", "0"], [1.0, 0.0]);
    // The output may overwrite C.
    bench.succeed(&["gemm", "a.npy", "b.npy", "--c", "c.npy", "-o", "c.npy"]);
    let want: Vec<f32> = product.iter().zip(&c).map(|(ab, c)| ab + c).collect();
    assert_eq!(parts(&bench.read("c.npy")).1, f32s(&want));
    bench.refuse(&["gemm", "a.npy", "b.npy", "--c", "b.npy", "-o", "d2.npy"], &["b.npy is 5x4", "3x4"]);
    // Products of bytes are accumulated in 32 bits, and added to a C of 32 bits.
    let bytes = |values: &[f32]| values.iter().map(|value| *value as i8 as u8).collect::<Vec<u8>>();
    let words =
        |values: &[f32]| values.iter().flat_map(|value| (*value as i32).to_le_bytes()).collect::<Vec<u8>>();
    bench.write("a8.npy", file("|i1", false, "(3, 5)", &bytes(&a)));
    bench.write("b8.npy", file("|i1", false, "(5, 4)", &bytes(&b)));
    bench.write("c32.npy", file("<i4", false, "(3, 4)", &words(&c)));
    bench.succeed(&["gemm", "a8.npy", "b8.npy", "--c", "c32.npy", "--beta", "3", "-o", "d.npy"]);
    let want: Vec<f32> = product.iter().zip(&c).map(|(ab, c)| ab + 3.0 * c).collect();
    assert_eq!(parts(&bench.read("d.npy")).1, words(&want));
    bench.refuse(&["gemm", "a8.npy", "b8.npy", "--c", "c.npy", "-o", "d2.npy"], &["float32", "int32"]);
    bench.refuse(
        &["gemm", "a8.npy", "b8.npy", "--c", "c32.npy", "--beta", "0.5", "-o", "d2.npy"],
        &["beta", "integer"],
    );
}

#[test]
fn batches() {
    let bench = Bench::new();
    let (count, [m, n, k]) = (3, [2, 5, 4]);
    let a: Vec<Vec<f32>> = (0..count).map(|i| matrix(m, k, i)).collect();
    let b: Vec<Vec<f32>> = (0..count).map(|i| matrix(k, n, i + 7)).collect();
    bench.write("a.npy", file("<f4", false, "(3, 2, 4)", &f32s(&a.concat())));
    let transposes: Vec<f32> = b.iter().flat_map(|b| transposed(b, k, n)).collect();
    bench.write("b.npy", file("<f4", false, "(3, 5, 4)", &f32s(&transposes)));
    let said = bench.succeed(&["gemm", "a.npy", "b.npy", "--transpose-b", "-o", "c.npy"]);
    assert!(
        said.starts_with("a.npy 3 times 2x4 * b.npy 3 times 5x4 transposed -> c.npy 3 times 2x5 float32\n"),
        "{said}"
    );
    let want: Vec<f32> = (0..count).flat_map(|i| product(&a[i], &b[i], [m, n, k])).collect();
    let c = bench.read("c.npy");
    assert!(parts(&c).0.contains("(3, 2, 5"), "{}", parts(&c).0);
    assert_eq!(parts(&c).1, f32s(&want));
    // One matrix for all products; a C for each, in Fortran order.
    bench.write("one.npy", file("<f4", false, "(4, 5)", &f32s(&b[0])));
    let added: Vec<f32> = (0..30u8).map(f32::from).collect();
    let fortran: Vec<f32> = (0..30).map(|at| added[at % 3 * 10 + at / 3 % 2 * 5 + at / 6]).collect();
    bench.write("added.npy", file("<f4", true, "(3, 2, 5)", &f32s(&fortran)));
    bench.succeed(&["gemm", "a.npy", "one.npy", "--c", "added.npy", "--beta", "2", "-o", "c.npy"]);
    let products = (0..count).flat_map(|i| product(&a[i], &b[0], [m, n, k]));
    let want: Vec<f32> = products.zip(&added).map(|(ab, c)| ab + 2.0 * c).collect();
    assert_eq!(parts(&bench.read("c.npy")).1, f32s(&want));
    // A batch without products.
    bench.write("none.npy", file("<f4", false, "(0, 2, 4)", &[]));
    bench.succeed(&["gemm", "none.npy", "one.npy", "-o", "c.npy"]);
    assert!(parts(&bench.read("c.npy")).0.contains("(0, 2, 5"));
    let doubles: Vec<u8> = a.concat().iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect();
    bench.write("a64.npy", file("<f8", false, "(3, 2, 4)", &doubles));
    let doubles: Vec<u8> = b[0].iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect();
    bench.write("one64.npy", file("<f8", false, "(4, 5)", &doubles));
    bench.succeed(&["gemm", "a64.npy", "one64.npy", "-o", "c.npy"]);
    let want: Vec<u8> = (0..count)
        .flat_map(|i| product(&a[i], &b[0], [m, n, k]))
        .flat_map(|value| f64::from(value).to_le_bytes())
        .collect();
    assert_eq!(parts(&bench.read("c.npy")).1, want);
    bench.refuse(&["gemm", "a.npy", "none.npy", "--transpose-b", "-o", "d.npy"], &["batch of 3", "one of 0"]);
    bench
        .refuse(&["gemm", "a.npy", "one.npy", "--c", "one.npy", "-o", "d.npy"], &["one.npy is 4x5", "3x2x5"]);
}
