//! The pages of `docs/gallery` are those of their documents. `BLESS=1` writes them; `cargo xtask gallery` also runs the
//! commands that the documents come from.

use std::fs;
use std::path::Path;

use tripipe_report::page::{page, read};

#[test]
fn pages_of_the_gallery_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let index = fs::read_to_string(folder.join("index.html")).unwrap();
    let mut bytes = 0;
    let mut count = 0;
    for entry in fs::read_dir(folder.join("data")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "csv") {
            continue;
        }
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let name = format!("{stem}.html");
        // A folder has the results that one page compares.
        let mut files = vec![path.clone()];
        if path.is_dir() {
            files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.sort();
        }
        let documents: Vec<_> = files
            .iter()
            .flat_map(|file| {
                let text = fs::read_to_string(file).unwrap();
                bytes += text.len();
                read(file.file_name().unwrap().to_str().unwrap(), &text).unwrap()
            })
            .collect();
        let page = page(&documents);
        let stored = folder.join(&name);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&stored, &page).unwrap();
        }
        let same = fs::read_to_string(&stored).is_ok_and(|stored| stored == page);
        assert!(
            same,
            "{name} differs from its document; BLESS=1 cargo test -p tripipe-report --test it gallery"
        );
        for link in [format!("href=\"{name}\""), format!("src=\"small/{stem}.webp\"")] {
            assert!(index.contains(&link), "docs/gallery/index.html has no {link}");
        }
        bytes += page.len() + fs::metadata(folder.join(format!("small/{stem}.webp"))).unwrap().len() as usize;
        count += 1;
    }
    assert!(count >= 8 && bytes < 1_500_000, "{count} pages of {bytes} bytes");
}
