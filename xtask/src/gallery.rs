//! Makes `docs/gallery`: results of the shipped kernels on virtual GPUs, and their pages.

use std::fs;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::MetadataCommand;
use cargo_metadata::camino::Utf8Path;
use serde_json::Value;

/// A page: its name, and the commands whose JSON it is made of, each with the name of its result. Results with names are
/// compared.
struct Page {
    name: &'static str,
    commands: &'static [(&'static str, &'static [&'static str])],
}

const PUBLISHED: &str = "crates/ladders/src/laplace/published.cl";

/// A command for a kernel of the published ladder: kernel, GPUs, global size and what else is given.
macro_rules! launch {
    ($command:literal, $kernel:literal, $gpus:literal, $global:literal $(, $more:literal)*) => {
        &[$command, PUBLISHED, "-k", $kernel, "-g", $gpus, "--global", $global, "--arg", "width=768" $(, $more)*]
    };
}

const PAGES: [Page; 8] = [
    Page {
        name: "ladder-laplace",
        commands: &[(
            "",
            &["ladder", "laplace", "--device", "virtual:mali-t604", "--published", "--time-only"],
        )],
    },
    Page {
        name: "ladder-gemm",
        commands: &[(
            "",
            &[
                "ladder",
                "gemm",
                "--device",
                "virtual:mali-g77,virtual:adreno-650",
                "--time-only",
                "--sizes",
                "256",
            ],
        )],
    },
    Page {
        name: "ladder-gemv",
        commands: &[(
            "",
            &["ladder", "gemv", "--device", "virtual:adreno-620", "--published", "--time-only"],
        )],
    },
    Page {
        name: "analyze",
        commands: &[(
            "",
            launch!("analyze", "scalar", "mali-t604,mali-g77,adreno-650", "766,430", "--arg", "height=432"),
        )],
    },
    Page {
        name: "simulate",
        commands: &[(
            "",
            launch!(
                "simulate",
                "eight_pixels",
                "mali-g77,adreno-650",
                "96,432",
                "--what-if",
                "clock=800,cores=8,bandwidth=25.6,local=32,4",
                "--counters"
            ),
        )],
    },
    Page {
        name: "changes",
        commands: &[
            (
                "1-groups-16x4.json",
                launch!(
                    "simulate",
                    "scalar",
                    "mali-g77",
                    "766,430",
                    "--arg",
                    "height=432",
                    "--local",
                    "16,4"
                ),
            ),
            (
                "2-groups-8x8.json",
                launch!("simulate", "scalar", "mali-g77", "766,430", "--arg", "height=432", "--local", "8,8"),
            ),
        ],
    },
    Page {
        name: "compare",
        commands: &[(
            "",
            &[
                "compare",
                "docs/gallery/data/mali-g78.csv",
                PUBLISHED,
                "-k",
                "eight_pixels",
                "-g",
                "mali-g77",
                "--global",
                "96,432",
                "--arg",
                "width=768",
            ],
        )],
    },
    Page { name: "check", commands: &[("", &["check", "docs/gallery/smooth.toml"])] },
];

/// The capture of the page `compare`: the counters of another virtual GPU.
const CAPTURE: &[&str] = launch!(
    "simulate",
    "eight_pixels",
    "mali-g78",
    "96,432",
    "--counters-csv",
    "docs/gallery/data/mali-g78.csv"
);

/// The page whose picture is in the README, and the window of the picture.
const PICTURED: (&str, &str) = ("ladder-laplace", "1200,1000");

/// The window of the small pictures of all pages, which have half of its size.
const SMALL: &str = "1000,750";

/// Runs the commands of all pages, and writes their JSON, the pages and their pictures. Two runs give the same JSON and
/// the same pages: all times are predicted.
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
    run(CAPTURE)?;
    for Page { name, commands } in PAGES {
        let mut files = Vec::new();
        for (result, command) in commands {
            let output = run(&[*command, &["--format", "json"]].concat())?;
            let mut lines = String::new();
            for line in String::from_utf8(output.stdout)?.lines() {
                let mut result: Value = serde_json::from_str(line)?;
                // The only time that is measured: how long the check took.
                if result["command"] == "check" {
                    for launch in result["launches"].as_array_mut().into_iter().flatten() {
                        launch["seconds"] = Value::Null;
                    }
                }
                lines.push_str(&result.to_string());
                lines.push('\n');
            }
            let data = if result.is_empty() {
                folder.join(format!("data/{name}.json"))
            } else {
                fs::create_dir_all(folder.join("data").join(name))?;
                folder.join("data").join(name).join(result)
            };
            fs::write(&data, lines).with_context(|| format!("{data} cannot be written"))?;
            files.push(data);
        }
        let page = folder.join(format!("{name}.html"));
        let files: Vec<&str> = files.iter().map(|file| file.as_str()).collect();
        run(&[&["view"], &files[..], &["--output", page.as_str()]].concat())?;
    }
    let pictured = pictures(&folder)?;
    Ok(format!("{} pages in {folder}; {pictured}", PAGES.len()))
}

/// The pictures, if there is a browser: a small one of each page, and that of the README.
fn pictures(folder: &Utf8Path) -> Result<&'static str> {
    let profile = folder.join(".profile");
    let shoot = |page: &str, window: &str, scale: &str, to: &Utf8Path| {
        let shot = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={profile}"))
            .arg(format!("--screenshot={to}"))
            .arg(format!("--window-size={window}"))
            .arg(format!("--force-device-scale-factor={scale}"))
            .arg(format!("file://{}", folder.join(format!("{page}.html"))))
            .output();
        shot.is_ok_and(|shot| shot.status.success())
    };
    fs::create_dir_all(folder.join("small"))?;
    let (page, window) = PICTURED;
    let mut done = shoot(page, window, "1", &folder.join("gallery.webp"));
    for Page { name, .. } in PAGES {
        done &= shoot(name, SMALL, "0.5", &folder.join(format!("small/{name}.webp")));
    }
    if profile.exists() {
        fs::remove_dir_all(&profile)?;
    }
    Ok(if done { "the pictures are new" } else { "the pictures are the old ones: there is no chromium" })
}
