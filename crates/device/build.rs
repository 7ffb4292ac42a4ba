//! Lists the files in `data`, so that adding a file adds a GPU, a CPU, a board or a driver.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

/// Each list, and the folders whose files it has: by path, or by name without ending if there is one folder.
const LISTS: [(&str, &[&str]); 4] = [
    ("models", &["arm", "qualcomm"]),
    ("cpus", &["cpu"]),
    ("boards", &["boards"]),
    ("drivers", &["drivers"]),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, folders) in LISTS {
        let mut list = String::new();
        for folder in folders {
            println!("cargo::rerun-if-changed=data/{folder}");
            let files = fs::read_dir(format!("data/{folder}"))?.map(|file| Ok(file?.file_name()));
            let mut files: Vec<_> = files.collect::<io::Result<_>>()?;
            files.sort();
            for file in files {
                let file = file.to_string_lossy();
                if !file.ends_with(".toml") {
                    continue;
                }
                let path = format!("{folder}/{file}");
                let id = if folders.len() > 1 { &path } else { file.trim_end_matches(".toml") };
                let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/data/{path}\"))");
                writeln!(list, "    ({id:?}, {text}),")?;
            }
        }
        fs::write(Path::new(&env::var("OUT_DIR")?).join(format!("{name}.rs")), format!("&[\n{list}]"))?;
    }
    Ok(())
}
