//! `tripipe improve`: a ladder in every format, the files it writes; inputs that cannot be improved.

use serde_json::Value;

use crate::run_kernel::compiles;
use crate::{Bench, sarif_shape};

/// Neighbours in dimension 0 read a column each: several rewrites are faster on every GPU.
const COLUMNS: &str = "// Doubles a matrix.
kernel void scale(global const float *in, global float *out, int width) {
    int y = get_global_id(0), x = get_global_id(1);
    out[y * width + x] = 2.0f * in[y * width + x]; // twice
}
";

const LAUNCH: &str = "# A matrix.
source = 'scale.cl'
global = [256, 128] # rows, columns
[[argument]]
name = 'in'
buffer = 'float'
count = 32768
random = { seed = 1 }
[[argument]]
name = 'out'
buffer = 'float'
count = 32768
[[argument]]
name = 'width'
value = 128
";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("scale.cl", COLUMNS);
    bench.write("scale.toml", LAUNCH);
    bench
}

fn improve(bench: &Bench, arguments: &[&str]) -> String {
    bench.succeed(&[&["improve", "scale.toml", "-g", "mali-t604"], arguments].concat())
}

#[test]
fn the_ladder_says_what_changed_and_what_it_is_worth() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let said = improve(&bench, &["--diff", "-o", "better.cl"]);
    for words in [
        "scale of scale.cl, 256 x 128 x 1 work-items\n",
        "\noriginal",
        "values the same on",
        "the given one among",
        "\n--- a/scale.cl\n+++ b/scale.cl\n",
    ] {
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }
    // Comments stay; the launch runs as it is.
    let better = String::from_utf8(bench.read("better.cl")).unwrap();
    assert!(better != COLUMNS && better.contains("// Doubles a matrix.\n"), "{better}");
    let launch = String::from_utf8(bench.read("better.toml")).unwrap();
    assert!(launch.starts_with("# Written by Tripipe "), "{launch}");
    assert!(launch.contains("\n# A matrix.\nsource = \"better.cl\"\n"), "{launch}");
    assert!(launch.contains(" # rows, columns\n"), "{launch}");
    bench.succeed(&["run-kernel", "better.toml"]);
    assert_eq!(bench.run(&["check", "better.toml"]).status.code(), Some(0));
    assert_eq!(bench.read("scale.cl"), COLUMNS.as_bytes());
}

#[test]
fn json_has_every_step_on_every_gpu() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let arguments = ["improve", "scale.toml", "-g", "mali-t604,adreno-650", "--format", "json"];
    let said: Value = serde_json::from_str(&bench.succeed(&arguments)).unwrap();
    assert_eq!((&said["command"], &said["version"]), (&"improve".into(), &1.into()));
    let steps = said["steps"].as_array().unwrap();
    assert!(steps.len() >= 4 && steps.len().is_multiple_of(2), "{said}");
    for (index, step) in steps.iter().enumerate() {
        assert_eq!(step["gpu"], ["Mali-T604", "Adreno 650"][index % 2]);
        assert_eq!(step["verified"], true);
        let [seconds, low, high] = [&step["seconds"], &step["error_band"][0], &step["error_band"][1]]
            .map(|number| number.as_f64().unwrap());
        assert!(low <= seconds && seconds <= high, "{step}");
        assert_eq!(step["launches"].as_u64().unwrap() > 0, index >= 2);
        assert_eq!(step["why"].as_str().unwrap().is_empty(), index < 2);
    }
    assert!(said["diff"].as_str().unwrap().starts_with("--- a/scale.cl\n"));
    assert!(said["launch"].as_str().unwrap().contains("global = ["));
    assert!(said["source"].as_str().unwrap().contains("// Doubles a matrix.\n"));
    assert!(said["speedup"].as_f64().unwrap() > 1.1, "{said}");
    // The same times as `simulate` has.
    let own: Value = serde_json::from_str(
        bench.succeed(&["simulate", "scale.toml", "-g", "mali-t604", "--format", "json"]).trim(),
    )
    .unwrap();
    assert_eq!(steps[0]["seconds"], own["seconds"]);
    assert_eq!(steps[0]["error_band"], own["error_band"]);
}

#[test]
fn pages_and_sarif_have_the_new_source() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let page = improve(&bench, &["--format", "html"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("The source before and after"), "{page}");
    assert!(page.contains("int y = get_global_id(0), x = get_global_id(1);"));
    let sarif: Value = serde_json::from_str(&improve(&bench, &["--format", "sarif"])).unwrap();
    sarif_shape::check(&sarif);
    let replacement = &sarif["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"][0];
    let text = replacement["insertedContent"]["text"].as_str().unwrap();
    assert!(text != COLUMNS && text.contains("// Doubles a matrix.\n"), "{text}");
    // Five lines, of which the last one ends.
    assert_eq!(replacement["deletedRegion"]["endLine"], 6);
}

#[test]
fn where_nothing_gains_the_source_stays() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    // A single work-item.
    bench.write("one.cl", "kernel void one(global int *a) { a[0] = 1; }\n");
    bench.write("one.toml", "source = 'one.cl'\nglobal = 1\n[[argument]]\nbuffer = 'int'\ncount = 1\n");
    let said = bench.succeed(&["improve", "one.toml", "-g", "g78", "-o", "same.cl"]);
    assert!(said.contains("no rewrite applies"), "{said}");
    assert_eq!(bench.read("same.cl"), bench.read("one.cl"));
    assert!(!bench.files().contains(&"same.toml".to_owned()));
}

#[test]
fn a_kernel_for_each_gpu_has_a_file_of_its_own() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let arguments = ["improve", "scale.toml", "-g", "mali-t604,adreno-650", "--each", "-o", "better.cl"];
    bench.succeed(&arguments);
    let files = bench.files();
    for file in ["better-adreno-650.cl", "better-mali-t604.cl"] {
        assert!(files.contains(&file.to_owned()), "{files:?}");
    }
    assert!(!files.contains(&"better.cl".to_owned()));
}

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    let bench = bench();
    let output = ["-g", "g78", "-o", "better.cl"];
    let refuse = |arguments: &[&str], words: &[&str]| {
        bench.refuse(&[&["improve"], arguments, &output].concat(), words);
    };
    refuse(&["scale.cl"], &["its launch is not known", "--global", "tripipe template"]);
    refuse(&["nothing.cl"], &["nothing.cl cannot be read"]);
    refuse(&["missing.toml"], &["missing.toml", "cannot be read"]);
    refuse(&["scale.toml", "--format", "json", "--diff"], &["--diff prints text"]);
    bench.refuse(&["improve", "scale.toml", "-g", "g78", "-o", "no/better.cl"], &["create it first"]);
    if !compiles() {
        return;
    }
    // The last row is read twice as far.
    bench.write("wrong.toml", LAUNCH.replace("value = 128", "value = 256"));
    refuse(&["wrong.toml"], &["the kernel itself is wrong", "line 4", "out-of-bounds", "tripipe check"]);
    bench.write("double.cl", "kernel void d(global double *a) { a[get_global_id(0)] *= 3; }\n");
    refuse(&["scale.toml", "-k", "other"], &["has no kernel `other`"]);
    let original = ["-g", "g78", "-o", "scale.cl"];
    bench.refuse(&[&["improve", "scale.toml"], &original[..]].concat(), &["is read by this command"]);
    bench.write("broken.cl", "kernel void b(global int *a) { a[get_global_id(0)] = ; }\n");
    let before = bench.files();
    bench.refuse_said(
        &[&["improve", "broken.cl", "--global", "64"], &output[..]].concat(),
        &["broken.cl", "does not compile"],
    );
    bench.refuse_said(
        &[&["improve", "double.cl", "--global", "64"], &output[..]].concat(),
        &["double", "Mali-G78 does not offer"],
    );
    assert_eq!(bench.files(), before);
}

/// A product of matrices whose operands an Adreno reads as images: the launch file that is written describes them.
const PRODUCT: &str =
    "kernel void product(global const float *a, global const float *b, global float *c, int n, int k) {
    int x = 4 * get_global_id(0), y = get_global_id(1);
    if (x >= n) return;
    float4 sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[y * k + i] * vload4(0, &b[i * n + x]);
    vstore4(sum, 0, &c[y * n + x]);
}
";

#[test]
fn launches_with_images_are_written_and_run() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("product.cl", PRODUCT);
    let matrix = |name: &str| {
        format!(
            "[[argument]]\nname = '{name}'\nbuffer = 'float'\ncount = [256, 256]\nrandom = {{ seed = 1 }}\n"
        )
    };
    let value = |name: &str| format!("[[argument]]\nname = '{name}'\nvalue = 256\n");
    let all = [matrix("a"), matrix("b"), matrix("c"), value("n"), value("k")].concat();
    bench.write("product.toml", format!("source = 'product.cl'\nglobal = [64, 256]\nlocal = [8, 8]\n{all}"));
    let said = bench.succeed(&[
        "improve",
        "product.toml",
        "-g",
        "adreno-740",
        "-o",
        "better.cl",
        "--allow-rounding",
        "--limit",
        "30",
    ]);
    let launch = String::from_utf8(bench.read("better.toml")).unwrap();
    assert!(said.contains("as an image2d_t"), "{said}");
    assert!(
        launch.contains("image = { width = 64, height = 256, order = \"rgba\", channel = \"float\" }"),
        "{launch}"
    );
    bench.succeed(&["check", "better.toml"]);
}

/// A kernel of two microseconds is not what takes the time.
#[test]
fn a_launch_that_takes_longer_than_the_kernel_is_said() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("scale.cl", COLUMNS);
    bench.write("scale.toml", LAUNCH.replace("[256, 128]", "[16, 8]").replace("= 128", "= 8"));
    let said = improve(&bench, &[]);
    assert!(said.contains("the host's launch takes"), "{said}");
}

/// Three launches: the first two become one, and each kernel is rewritten; the results stay.
#[test]
fn launches_of_a_list_are_fused_and_rewritten() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "chain.cl",
        "kernel void scale(global const uchar *in, global uchar *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width) return;
    out[y * width + x] = in[y * width + x] / 2;
}
kernel void shift(global const uchar *in, global uchar *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width) return;
    out[y * width + x] = in[y * width + x] + 3;
}
kernel void smooth(global const uchar *in, global uchar *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width - 2) return;
    out[y * width + x] = (in[y * width + x] + 2 * in[y * width + x + 1] + in[y * width + x + 2]) / 4;
}
",
    );
    let argument = |text: &str| format!("[[launch.argument]]\n{text}\n");
    let buffer = |name: &str, more: &str| {
        argument(&format!("name = '{name}'\nbuffer = 'uchar'\ncount = [480, 640]\n{more}"))
    };
    let width = argument("name = 'width'\nvalue = 640");
    let launch = |kernel: &str| format!("[[launch]]\nkernel = '{kernel}'\nglobal = [640, 480]\n");
    let text = [
        "# Kept.\nsource = 'chain.cl'\n".to_owned(),
        launch("scale"),
        buffer("in", "random = { seed = 3 }\naccess = 'read'"),
        buffer("out", ""),
        width.clone(),
        launch("shift"),
        argument("use = 'scale.out'"),
        buffer("out", ""),
        width.clone(),
        launch("smooth"),
        argument("use = 'shift.out'"),
        buffer("out", "fill = 0\ndump = 'out.npy'"),
        width,
    ]
    .concat();
    bench.write("chain.toml", text);
    let improved = bench.succeed(&[
        "improve",
        "chain.toml",
        "-g",
        "mali-g78,adreno-740",
        "--limit",
        "20",
        "--format",
        "json",
        "-o",
        "better.cl",
    ]);
    let improved: Value = serde_json::from_str(&improved).unwrap();
    let steps = improved["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names[..4], ["original", "original", "fuse-launches", "fuse-launches"], "{names:?}");
    assert!(names.len() > 4 && improved["speedup"].as_f64().unwrap() > 1.2, "{improved}");
    let times: Vec<f64> = steps.iter().map(|step| step["seconds"].as_f64().unwrap()).collect();
    // On the Mali the host's launches take longest.
    assert!(times[1] > times[3] && times[3] > times[times.len() - 1], "{times:?}");
    let launch = improved["launch"].as_str().unwrap();
    assert!(launch.starts_with("# Kept.") && launch.contains("use = \"scale_shift.out_1\""), "{launch}");
    assert!(!launch.contains("kernel = 'shift'"), "{launch}");
    bench.succeed(&["run-kernel", "chain.toml"]);
    let before = std::fs::read(bench.path().join("out.npy")).unwrap();
    bench.succeed(&["check", "better.toml"]);
    bench.succeed(&["run-kernel", "better.toml"]);
    assert!(before == std::fs::read(bench.path().join("out.npy")).unwrap());
}

/// A size by an argument that both kernels would share, and contents that are not there.
#[test]
fn lists_that_cannot_be_fused_or_read_say_so() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "kernel void f(global const float *a, int n, global float *b) { int i = get_global_id(0); if (i < n) b[i] = a[i] + 1; }
kernel void g(int m, global const float *b, global float *c) { int i = get_global_id(0); if (i < m) c[i] = b[i] * 2; }
",
    );
    let list = |contents: &str| {
        format!(
            "source = 'k.cl'\n[[launch]]\nkernel = 'f'\nglobal = 64\n\
             [[launch.argument]]\nname = 'a'\nbuffer = 'float'\ncount = 64\n{contents}\n\
             [[launch.argument]]\nname = 'n'\nvalue = 64\n\
             [[launch.argument]]\nname = 'b'\nbuffer = 'float'\ncount = 64\n\
             [[launch]]\nkernel = 'g'\nglobal = 'm'\n\
             [[launch.argument]]\nname = 'm'\nvalue = 64\n[[launch.argument]]\nuse = 'f.b'\n\
             [[launch.argument]]\nname = 'c'\nbuffer = 'float'\ncount = 'm'\n"
        )
    };
    bench.write("l.toml", list("random = { seed = 1 }"));
    let said = bench.succeed(&["improve", "l.toml", "-g", "mali-g78", "--limit", "5", "-o", "new.cl"]);
    assert!(said.contains("`f` and `g` stay two launches: in the new launch file"), "{said}");
    assert!(said.contains("f, g of k.cl, 2 launches"), "{said}");
    bench.write("l.toml", list("npy = 'none.npy'"));
    bench.refuse(&["improve", "l.toml", "-g", "mali-g78", "--limit", "5"], &["none.npy"]);
}
