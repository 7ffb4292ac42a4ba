//! `tripipe kernel`.

use std::process::Command;

use crate::Bench;

#[test]
fn without_a_name_they_are_listed() {
    let said = Bench::new().succeed(&["kernel"]);
    for name in ["gemm ", "gemm/tile", "filter/median", "elementwise/map"] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {said}");
    }
}

/// Each compiles by itself, and has the kernel that its first lines name.
#[test]
fn the_printed_source_compiles() {
    let bench = Bench::new();
    let has_clang = Command::new("clang-15").arg("--version").output().is_ok();
    assert!(
        has_clang || std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(),
        "scripts/setup installs clang-15"
    );
    for (arguments, device, entry) in [
        (&["gemm", "-m", "512", "-n", "512", "-k", "512", "-g", "adreno-650"][..], "Adreno 650", "gemm_tile"),
        (&["gemm", "--type", "f16", "--transpose-b", "-g", "g77"], "Mali-G77", "gemm_tile"),
        (
            &["gemm", "--type", "f16", "-g", "g77", "--parameters", "local 8x4 depth=8 group=8x8"],
            "Mali-G77",
            "gemm_local",
        ),
        (&["gaussian:5", "-g", "mali-t604"], "Mali-T604", "filter_window"),
        (&["gaussian:5"], "Mali-G610", "filter_"),
        (
            &["gaussian:5", "--parameters", "8x4 loads=shared sums=paired fuse=pixels group=16x4"],
            "Mali-G610",
            "filter_pairs",
        ),
        (&["gray,median:5", "--channels", "4", "--planar", "--type", "f32"], "Mali-G610", "filter_"),
        (&["gray,median:5", "--type", "u16", "--program", "2"], "Mali-G610", "filter_window"),
        (&["filter/gradient", "-D", "LANES=8", "-D", "ROWS=2"], "", "filter_window"),
    ] {
        let arguments = [&["kernel"], arguments].concat();
        let said = bench.succeed(&arguments);
        let header: Vec<&str> = said.lines().take_while(|line| line.starts_with("//")).collect();
        let header = header.join("\n");
        assert!(header.contains(device), "{arguments:?}: {header}");
        assert!(said.contains(&format!("void {entry}")), "{arguments:?}: {said}");
        assert!(!said.lines().any(|line| line.starts_with("#if") || line.starts_with("#line")), "{said}");
        if has_clang {
            bench.write("kernel.cl", &said);
            let output = Command::new("clang-15")
                .args(["-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown", "-fsyntax-only"])
                .args(["-Xclang", "-finclude-default-header", "kernel.cl"])
                .current_dir(bench.path())
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{arguments:?}: {errors}\n{said}");
        }
    }
}

#[test]
fn macros_replace_those_that_were_chosen() {
    let bench = Bench::new();
    let plain = bench.succeed(&["kernel", "gemm/tile"]);
    assert!(plain.contains("#define ROWS 4\n"), "{plain}");
    let other = bench.succeed(&["kernel", "gemm/tile", "-D", "ROWS=8", "-D", "A_FROM=IMAGE"]);
    assert!(other.contains("#define ROWS 8\n") && other.contains("read_imagef"), "{other}");
    assert!(!plain.contains("read_imagef"), "{plain}");
}

#[test]
fn unknown_names_are_rejected() {
    let bench = Bench::new();
    for (arguments, words) in [
        (&["gemm/tyle"][..], &["gemm/tyle", "gemm/tile"][..]),
        (&["gausian:5"], &["gausian", "gaussian", "tripipe kernel"]),
        (&["gaussian:4"], &["4x4"]),
        (&["gemm", "-g", "mali-g9999"], &["mali-g9999"]),
        (&["gemm", "--type", "u8"], &["u8", "f32, f16 or i8"]),
        (&["gemm", "-m", "0"], &["nothing to compute"]),
        (&["gemm", "--parameters", "tile 4x"], &["4x"]),
        (&["gemm", "--program", "9"], &["--program 9"]),
        (&["gemm/tile", "--program", "1"], &["-D"]),
        (&["gaussian:5", "--size", "0x5"], &["1920x1080"]),
        (&["gemm/tile", "-D", "ROWS"], &["KEY=VALUE"]),
        (&["gemm/tile", "-D", "2=3"], &["not the name of a macro"]),
        (&["gemm/tile", "-D", "ROVS=8"], &["ROVS", "did you mean ROWS"]),
        (&["gemm/tile", "-D", "ELEMENTS=(1"], &["gemm/elements.cl, line", "`)`"]),
    ] {
        bench.refuse(&[&["kernel"], arguments].concat(), words);
    }
}
