//! The times that advice of `tripipe analyze` promises, beside published ones.

use serde_json::Value;

use crate::Bench;
use crate::run_kernel::compiles;

/// The advice for a GPU with its predicted speed-up, from a kernel of the published ladders, and the predicted time of
/// another kernel of the same file.
fn priced(bench: &Bench, arguments: &[&str], code: &str) -> f64 {
    let text = bench.succeed(&[&["analyze", "--format", "json"], arguments].concat());
    let object: Value = serde_json::from_str(&text).unwrap();
    let advice = object["advice"].as_array().unwrap();
    let advice = advice.iter().find(|advice| advice["code"] == code);
    let advice = advice.unwrap_or_else(|| panic!("no {code}: {}", object["advice"]));
    object["prediction"]["seconds"].as_f64().unwrap() / advice["seconds"].as_f64().unwrap()
}

/// Published: from one pixel to five in vectors 6.2 times as fast at 7680x4320; at 2048x2048 four pixels, which divide it,
/// 5.3 times. 4 x 4 outputs of a product are 17 times as fast on a Mali-G77. The rewrites know the advice, not the published
/// kernels.
#[test]
fn advice_gains_as_much_time_as_the_published_steps() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, file) in [
        ("laplace_t604.cl", "ladders/src/laplace/published.cl"),
        ("gemm_fp16.cl", "analyze/tests/held/gemm_fp16.cl"),
    ] {
        bench.write(name, std::fs::read(crates.join(file)).unwrap());
    }
    let near = |found: f64, published: f64| {
        assert!((0.67..1.5).contains(&(found / published)), "{found:.2} instead of {published}");
    };
    let scalar = ["laplace_t604.cl", "-k", "scalar", "-g", "t604"];
    let large = ["--global", "4320,7680", "--arg", "width=7680", "--arg", "height=4320"];
    let gain = priced(&bench, &[&scalar[..], &large].concat(), "single-output");
    near(gain, 6.2);
    let square = ["--global", "2048,2048", "--arg", "width=2048", "--arg", "height=2048"];
    // With more pixels than four.
    let square = priced(&bench, &[&scalar[..], &square].concat(), "single-output");
    assert!(square > 5.3 / 1.5, "{square:.2}");
    let vectors =
        ["laplace_t604.cl", "-k", "vectorise", "-g", "t604", "--global", "2048,409", "--arg", "width=2048"];
    near(priced(&bench, &vectors, "indivisible-size"), 5.3 / 1.7);
    let product = ["gemm_fp16.cl", "-k", "naive", "-g", "g77", "--global", "1024,1024", "--arg", "n=1024"];
    near(priced(&bench, &[&product[..], &["--arg", "k=1024"]].concat(), "unblocked-product"), 17.0);
    let text = bench.succeed(&[&["analyze"], &scalar[..], &large].concat());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["Predicted time: ", "x faster.", "By `widen`, "] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}
