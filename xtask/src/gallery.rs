//! Makes `docs/gallery`: results of the shipped kernels on virtual GPUs, and their pages.

use std::fs;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::MetadataCommand;
use cargo_metadata::camino::Utf8Path;
use serde_json::Value;

/// The pages: a name, and the command whose JSON they are made of.
const PAGES: [(&str, &[&str]); 6] = [
    ("ladder-laplace", &["ladder", "laplace", "--device", "virtual:mali-t604", "--published", "--time-only"]),
    (
        "ladder-gemm",
        &[
            "ladder",
            "gemm",
            "--device",
            "virtual:mali-g77,virtual:adreno-650",
            "--time-only",
            "--sizes",
            "256",
        ],
    ),
    ("ladder-gemv", &["ladder", "gemv", "--device", "virtual:adreno-620", "--published", "--time-only"]),
    (
        "analyze",
        &[
            "analyze",
            "crates/ladders/src/laplace/published.cl",
            "-k",
            "scalar",
            "-g",
            "mali-t604,mali-g77,adreno-650",
            "--global",
            "766,430",
            "--arg",
            "width=768",
            "--arg",
            "height=432",
        ],
    ),
    (
        "simulate",
        &[
            "simulate",
            "crates/ladders/src/laplace/published.cl",
            "-k",
            "eight_pixels",
            "-g",
            "mali-g77,adreno-650",
            "--global",
            "96,432",
            "--arg",
            "width=768",
            "--what-if",
            "clock=800,cores=8,bandwidth=25.6,local=32,4",
            "--counters",
        ],
    ),
    ("check", &["check", "docs/gallery/smooth.toml"]),
];

/// The page whose picture is `gallery.png`, and the size of the picture.
const PICTURED: (&str, &str) = ("ladder-laplace", "1200,1000");

/// Runs the commands of all pages, and writes their JSON, the pages and a picture of one. Two runs give the same JSON
/// and the same pages: all times are predicted.
///
/// # Errors
/// The command does not build, one of the commands fails, or a file cannot be written.
pub(crate) fn rebuild() -> Result<String> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = &metadata.workspace_root;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--package", "tripipe-cli"]).current_dir(root).status()?;
    ensure!(built.success(), "tripipe-cli does not build");
    let tripipe = metadata.target_directory.join("debug/tripipe");
    let run = |arguments: &[&str]| -> Result<Output> {
        let output = Command::new(&tripipe).args(arguments).current_dir(root).output();
        let output = output.with_context(|| format!("{tripipe} cannot be run"))?;
        // A check that finds something ends with 1.
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("tripipe {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output)
    };
    let folder = root.join("docs/gallery");
    fs::create_dir_all(folder.join("data"))?;
    for (name, command) in PAGES {
        let output = run(&[command, &["--format", "json"]].concat())?;
        let mut lines = String::new();
        for line in String::from_utf8(output.stdout)?.lines() {
            let mut result: Value = serde_json::from_str(line)?;
            // The only time that is measured: how long the check took.
            for launch in result["launches"].as_array_mut().into_iter().flatten() {
                launch["seconds"] = Value::Null;
            }
            lines.push_str(&result.to_string());
            lines.push('\n');
        }
        let data = folder.join(format!("data/{name}.json"));
        fs::write(&data, lines).with_context(|| format!("{data} cannot be written"))?;
        run(&["view", data.as_str(), "--output", folder.join(format!("{name}.html")).as_str()])?;
    }
    let pictured = picture(&folder)?;
    Ok(format!("{} pages in {folder}; {pictured}", PAGES.len()))
}

/// A picture of a page, if there is a browser.
fn picture(folder: &Utf8Path) -> Result<&'static str> {
    let (page, size) = PICTURED;
    let profile = folder.join(".profile");
    let shot = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={profile}"))
        .arg(format!("--screenshot={}", folder.join("gallery.png")))
        .arg(format!("--window-size={size}"))
        .arg(format!("file://{}", folder.join(format!("{page}.html"))))
        .output();
    if profile.exists() {
        fs::remove_dir_all(&profile)?;
    }
    Ok(match shot {
        Ok(shot) if shot.status.success() => "the picture is new",
        _ => "the picture is the old one: there is no chromium",
    })
}
