//! `--device virtual:GPU`: predicted times, computed results.

use serde_json::Value;

use crate::Bench;
use crate::run_kernel::compiles;

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn they_are_listed_with_their_limits() {
    let said = Bench::new().succeed(&["devices", "--virtual", "--format", "json"]);
    let value: Value = serde_json::from_str(&said).unwrap();
    let devices = value["devices"].as_array().unwrap();
    assert_eq!(devices.len(), tripipe_device::catalog().len());
    let device = devices.iter().find(|device| device["device"] == "virtual:mali-t604").unwrap();
    assert_eq!((&device["compute_units"], &device["clock_mhz"]), (&4.into(), &533.into()));
    assert_eq!(device["model"]["id"], "mali-t604");
    let said = Bench::new().succeed(&["devices", "--virtual"]);
    assert!(said.contains("virtual:mali-g1 Mali-G1"), "{said}");
}

#[test]
fn ladders_are_verified_and_compared_side_by_side() {
    if !compiles() {
        return;
    }
    let gpus = "virtual:mali-t604,virtual:mali-g77,virtual:adreno-650";
    let said =
        Bench::new().succeed(&["ladder", "gemm", "--sizes", "32", "--device", gpus, "--format", "json"]);
    let climbs = objects(&said);
    assert_eq!(climbs.len(), 3);
    for climb in &climbs {
        assert_eq!(climb["predicted"], true);
        assert!(climb["serial_seconds"].as_array().unwrap().is_empty());
        for step in climb["steps"].as_array().unwrap() {
            assert_eq!(step["outcome"][0], "verified", "{step}");
            assert!(step["seconds"][0].as_f64().unwrap() > 1e-6);
        }
    }
    let said = Bench::new().succeed(&["ladder", "gemm", "--sizes", "32", "--device", gpus, "--time-only"]);
    assert!(said.contains("Side by side"), "{said}");
    assert!(!said.contains("serial CPU"), "{said}");
}

/// The published kernels at a small size, and the anomaly of the published ladder: of two widths that differ little,
/// the one that leaves a prime number of columns of work-items takes far longer.
#[test]
fn the_published_ladder_runs_on_the_gpu_it_was_published_for() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let ladder = ["ladder", "laplace", "--published", "--device", "virtual:mali-t604", "--format", "json"];
    let [climb] = objects(&bench.succeed(&[&ladder[..], &["--sizes", "85x37"]].concat())).try_into().unwrap();
    for step in climb["steps"].as_array().unwrap() {
        assert_eq!(step["outcome"][0], "verified", "{step}");
    }
    let sizes = ["--time-only", "--sizes", "2045x2048,2040x2048"];
    let [climb] = objects(&bench.succeed(&[&ladder[..], &sizes].concat())).try_into().unwrap();
    let seconds = |step: usize, size: usize| climb["steps"][step]["seconds"][size].as_f64().unwrap();
    // 2045 / 5 = 409 is prime; 2040 / 5 = 408 is not.
    assert!(seconds(1, 0) > 2.0 * seconds(1, 1));
    assert_eq!(climb["steps"][1]["outcome"][0], "not executed");
    assert!(climb["steps"][1]["verified"].is_null());
    let said = bench.succeed(&[
        "ladder",
        "laplace",
        "--published",
        "--device",
        "virtual:mali-t604",
        "--sizes",
        "768x432",
        "--time-only",
    ]);
    assert!(said.contains("Mean error of the 6 speed-ups"), "{said}");
}

/// The published time of the Arndale's core at that size, to which two figures of its model are fitted.
#[test]
fn a_board_shows_its_core_beside_the_gpu() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let ladder = ["ladder", "laplace", "--published", "--time-only", "--sizes", "768x432", "--device"];
    let said = bench.succeed(&[&ladder[..], &["virtual:arndale"]].concat());
    let row = said.lines().find(|line| line.contains("serial Cortex-A15")).unwrap();
    assert!(row.contains("22.8  22.9"), "{row}");
    let said = bench.succeed(&[&ladder[..], &["virtual:mali-t604"]].concat());
    assert!(!said.contains("Cortex-A15 "), "{said}");
}

#[test]
fn a_picture_and_a_product_are_the_cpu_paths() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let picture =
        image::RgbImage::from_fn(61, 43, |x, y| image::Rgb([x as u8 * 3, y as u8 * 5, (x * y) as u8]));
    picture.save(bench.path().join("in.png")).unwrap();
    let said =
        bench.succeed(&["filter", "gaussian:5", "in.png", "virtual.png", "--device", "virtual:adreno-650"]);
    assert!(said.contains("is predicted to take"), "{said}");
    bench.succeed(&["filter", "gaussian:5", "in.png", "cpu.png", "--device", "cpu"]);
    let read = |name: &str| image::open(bench.path().join(name)).unwrap().into_rgb8();
    assert_eq!(read("virtual.png"), read("cpu.png"));
}

/// One launch: the host works for its 18.7 us, and waits for the kernel's predicted time.
#[test]
fn the_load_of_the_host_is_predicted() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    image::GrayImage::from_fn(256, 128, |x, y| image::Luma([(x * y) as u8]))
        .save(bench.path().join("in.png"))
        .unwrap();
    let filter = ["filter", "laplace", "in.png", "out.png", "--explain", "--device"];
    let said = bench.succeed(&[&filter[..], &["virtual:adreno-620"]].concat());
    let after = |text: &str, word: &str| -> f64 {
        let rest = text.split_once(word).unwrap_or_else(|| panic!("{word} in {text}")).1;
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    let load = after(&said, "  CPU load    ");
    assert!(said.contains("CPU cores busy (predicted: "), "{said}");
    let line = said.lines().find(|line| line.starts_with("  predicted   ")).unwrap();
    let unit = match line.split_whitespace().nth(2).unwrap() {
        "ms" => 1e3,
        "us" | "µs" => 1.0,
        other => panic!("{other}: {said}"),
    };
    let kernel = after(line, "predicted   ") * unit;
    assert!((load - 18.7 / (18.7 + kernel)).abs() < 0.01, "{said}");
    let measured = bench.succeed(&[&filter[..], &["cpu"]].concat());
    assert!(!measured.contains("(predicted: "), "{measured}");
}

#[test]
fn launch_files_run_with_the_limits_of_the_gpu() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("twice.cl", "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }");
    let file = |local: usize| {
        format!(
            "source = 'twice.cl'\nglobal = 1024\nlocal = {local}\n[[argument]]\nname = 'x'\nbuffer = 'int'\n\
             count = 1024\nfill = 21\nexpect = {{ fill = 42 }}\n"
        )
    };
    bench.write("good.toml", file(64));
    let gpu = ["--device", "virtual:mali-t604"];
    let said = bench.succeed(&[&["run-kernel", "good.toml"], &gpu[..]].concat());
    assert!(
        said.contains("on Mali-T604 (predicted)") && said.contains("1,024 numbers as expected"),
        "{said}"
    );
    let said = bench.succeed(&[&["run-kernel", "good.toml", "--time-only"], &gpu[..]].concat());
    assert!(!said.contains("as expected"), "{said}");
    // Arm's guide: work-groups of at most 256 work-items on Midgard.
    bench.write("large.toml", file(512));
    bench.refuse(&[&["run-kernel", "large.toml"], &gpu[..]].concat(), &["256", "Mali-T604"]);
}

#[test]
fn tuning_ranks_predicted_times() {
    if !compiles() {
        return;
    }
    let only = ["--only", "--also", "tile 4x4", "--also", "tile 1x4"];
    let tune = ["tune", "gemm", "--sizes", "64", "--device", "virtual:mali-g77"];
    for verify in [&[][..], &["--verify"]] {
        let said = Bench::new().succeed(&[&tune[..], &only[..], verify].concat());
        let rows: Vec<&str> = said.lines().filter(|line| line.contains("GFLOP/s")).collect();
        let rates: Vec<f64> =
            rows.iter().map(|row| row.split_whitespace().next().unwrap().parse().unwrap()).collect();
        // A core does 32 multiply-adds a clock; 9 cores, 836 MHz.
        assert!(rates.len() == 2 && rates[0] >= rates[1] && rates[0] < 2.0 * 32.0 * 9.0 * 0.836, "{said}");
    }
}

#[test]
fn ceilings_are_predicted() {
    if !compiles() {
        return;
    }
    let peaks =
        ["peaks", "--only", "launch", "--device", "virtual:mali-t604,virtual:adreno-650", "--format", "json"];
    let found = objects(&Bench::new().succeed(&peaks));
    assert_eq!(found.len(), 2);
    for peaks in &found {
        let rows = peaks["peaks"].as_array().unwrap();
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row["value"].as_f64().is_some_and(|value| value > 0.0)),
            "{peaks}"
        );
    }
}

/// A product of 64 x 64 x 64: its operations over the energy, where there is an estimate.
#[test]
fn ladders_have_energies_or_say_why_not() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let gpus = "virtual:mali-g610,virtual:mali-g77";
    let ladder = ["ladder", "gemm", "--sizes", "64", "--device", gpus, "--time-only", "--energy"];
    let [known, unknown] =
        objects(&bench.succeed(&[&ladder[..], &["--format", "json"]].concat())).try_into().unwrap();
    for step in known["steps"].as_array().unwrap() {
        let joules = step["joules"][0].as_f64().unwrap();
        let rate = step["gflops_per_watt"][0].as_f64().unwrap();
        assert!(joules > 0.0 && (rate * joules * 1e9 - 524_288.0).abs() < 1.0, "{step}");
    }
    assert!(known["energy"].as_str().unwrap().contains("mali_kbase_ipa_counter_csf.c"), "{known}");
    assert!(unknown["steps"][0].get("joules").is_none(), "{unknown}");
    assert!(unknown["energy"].as_str().unwrap().contains("no estimate"), "{unknown}");
    let said = bench.succeed(&ladder);
    for words in ["mJ", "GFLOP/s per W", "Energy: no estimate"] {
        assert!(said.contains(words), "`{words}` is not in\n{said}");
    }
    let page = bench.succeed(&[&ladder[..], &["--format", "html"]].concat());
    assert!(page.contains("GFLOP/s per W") && page.contains("no estimate"));
}

/// With few terms, loads and stores bound, and with 256 arithmetic: then the time doubles with the terms.
#[test]
fn arithmetic_is_free_until_it_bounds() {
    if !compiles() {
        return;
    }
    let ladder = ["ladder", "saxpy-ratio", "--device", "virtual:mali-t604", "--format", "json", "--sizes"];
    let climb = |more: &[&str]| {
        let [climb] = objects(&Bench::new().succeed(&[&ladder[..], more].concat())).try_into().unwrap();
        climb
    };
    let verified = climb(&["5,129"]);
    assert!(verified["steps"].as_array().unwrap().iter().all(|step| step["verified"] == true), "{verified}");
    let climb = climb(&["65536", "--time-only"]);
    let time = |name: &str| {
        let mut steps = climb["steps"].as_array().unwrap().iter();
        steps.find(|step| step["name"] == name).unwrap()["seconds"][0].as_f64().unwrap()
    };
    assert!(time("terms-4") < 1.1 * time("terms-1"), "{climb}");
    assert!((1.8..2.1).contains(&(time("terms-256") / time("terms-128"))), "{climb}");
    assert!(climb["balance"][0].as_str().unwrap().contains("arithmetic is free"), "{climb}");
}

#[test]
fn bad_requests_name_the_way_out() {
    let bench = Bench::new();
    bench.refuse(&["ladder", "saxpy", "--time-only", "--device", "cpu"], &["--time-only", "virtual:GPU"]);
    bench.refuse(&["run-kernel", "x.toml", "--time-only"], &["--time-only", "virtual:GPU"]);
    let names = |arguments: &[&str], words: &[&str]| bench.refuse(arguments, words);
    names(&["ladder", "saxpy", "--device", "virtual:mali-g777"], &["mali-g777", "did you mean Mali-G77?"]);
    names(&["filter", "gray", "a.png", "b.png", "--device", "virtual"], &["virtual:GPU"]);
}
