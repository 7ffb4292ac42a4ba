//! Lists the models in `data`, so that adding a file adds a GPU.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut list = String::new();
    for vendor in ["arm", "qualcomm"] {
        let folder = format!("data/{vendor}");
        println!("cargo::rerun-if-changed={folder}");
        let files = fs::read_dir(&folder)?.map(|file| Ok(file?.file_name()));
        let mut files: Vec<_> = files.collect::<io::Result<_>>()?;
        files.sort();
        for file in files {
            let path = format!("{vendor}/{}", file.to_string_lossy());
            let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/data/{path}\"))");
            writeln!(list, "    ({path:?}, {text}),")?;
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("models.rs"), format!("&[\n{list}]"))?;
    Ok(())
}
