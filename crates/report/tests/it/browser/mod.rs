//! Pages in a real browser: nothing is loaded, nothing fails, and what can be clicked does what it says. The pages are
//! made of the documents of `docs/gallery`, and of two results of one device.

mod client;

use std::fs;
use std::path::{Path, PathBuf};

use client::Browser;
use serde_json::{Value, json};
use tempfile::TempDir;
use tripipe_report::page::{page, read};

/// The pages in a folder of their own.
struct Pages {
    folder: TempDir,
    names: Vec<String>,
}

impl Pages {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery/data");
        let files = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
        let is_result = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let mut files: Vec<PathBuf> = files.filter(is_result).collect();
        files.sort();
        let mut names = Vec::new();
        let mut add = |name: String, files: &[(&str, &str)]| {
            let documents: Vec<_> = files.iter().flat_map(|(file, text)| read(file, text).unwrap()).collect();
            fs::write(folder.path().join(&name), page(&documents)).unwrap();
            names.push(name);
        };
        let mut all = String::new();
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            add(format!("{}.html", path.file_stem().unwrap().to_str().unwrap()), &[("a.json", &text)]);
            all.push_str(&text);
        }
        let why = include_str!("../../why.json");
        add("why.html".to_owned(), &[("why.json", why)]);
        all.push_str(why);
        // All of them on one page, and the differences of two results.
        add("all.html".to_owned(), &[("before.json", &all), ("after.json", &all)]);
        Self { folder, names }
    }

    fn url(&self, name: &str) -> String {
        format!("file://{}", self.folder.path().join(name).display())
    }
}

/// A page with a text, to be sure that there is one.
fn having<'a>(pages: &'a Pages, text: &str) -> &'a str {
    let has = |name: &&String| fs::read_to_string(pages.folder.path().join(name)).unwrap().contains(text);
    pages.names.iter().find(has).unwrap()
}

#[test]
fn pages_load_nothing_fail_nowhere_and_fit_narrow_screens() {
    let Some(mut browser) = Browser::start() else { return };
    let pages = Pages::new();
    for name in &pages.names {
        let url = pages.url(name);
        for width in [400, 1280, 1920] {
            browser.open(&url, width, "light");
            let found = browser.evaluate(
                "(() => {
                    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
                    const named = (element) => element.querySelector('title')?.textContent
                        && document.getElementById(element.getAttribute('aria-labelledby'))
                        && document.getElementById(element.getAttribute('aria-describedby'))?.textContent;
                    const heads = [...document.querySelectorAll('h1, h2, h3, h4')].map((head) => Number(head.localName[1]));
                    const blocks = [...document.querySelectorAll('figure, .scroll, .verdict, article')]
                        .map((block) => block.getBoundingClientRect().right);
                    return {
                        filled: Math.max(...blocks) > 0.8 * document.documentElement.clientWidth,
                        overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
                        repeated: ids.filter((id, index) => ids.indexOf(id) !== index),
                        nameless: [...document.querySelectorAll('svg, img')].filter((one) => !named(one)).length,
                        charts: document.querySelectorAll('svg').length,
                        captions: [...document.querySelectorAll('table')].filter((one) => !one.caption?.textContent).length,
                        skipped: heads.filter((level, index) => index > 0 && level > heads[index - 1] + 1).length,
                        labels: [...document.querySelectorAll('input')].filter((one) => !one.labels.length).length,
                        tiny: [...document.querySelectorAll('svg')].filter((one) => one.getClientRects().length)
                            .filter((one) => one.getBoundingClientRect().width < 0.75 * one.viewBox.baseVal.width).length,
                    };
                })()",
            );
            let charts = found["charts"].clone();
            let want = json!({ "filled": true, "overflow": 0, "repeated": [], "nameless": 0, "charts": charts, "captions": 0,
                "skipped": 0, "labels": 0, "tiny": 0 });
            assert_eq!(found, want, "{name} at {width} pixels");
        }
    }
    let kind = |method: &str| -> Vec<Value> {
        browser.events.iter().filter(|event| event["method"] == method).cloned().collect()
    };
    for method in
        ["Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Audits.issueAdded"]
    {
        assert_eq!(kind(method), Vec::<Value>::new(), "{method}");
    }
    let requests = kind("Network.requestWillBeSent");
    let urls: Vec<&str> =
        requests.iter().filter_map(|request| request["params"]["request"]["url"].as_str()).collect();
    assert!(urls.len() >= pages.names.len());
    let own: Vec<String> = pages.names.iter().map(|name| pages.url(name)).collect();
    for url in urls {
        assert!(own.iter().any(|own| own == url) || url.starts_with("data:"), "{url}");
    }
}

#[test]
fn headings_sort_by_click_and_by_key() {
    let Some(mut browser) = Browser::start() else { return };
    let pages = Pages::new();
    browser.open(&pages.url(having(&pages, "Heat of each source line")), 1600, "light");
    browser.evaluate(
        "table = [...document.querySelectorAll('table')].find((one) => one.caption.textContent.startsWith('Heat'));
         keys = (column) => [...table.tBodies[0].rows].map((row) => Number(row.cells[column].dataset.key));
         sorted = (column) => table.tHead.rows[0].cells[column].getAttribute('aria-sort');
         button = (column) => table.tHead.rows[0].cells[column].querySelector('button'); 0",
    );
    let ordered = |values: &Value| -> Vec<f64> {
        values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let at_first = ordered(&browser.evaluate("keys(1)"));
    assert!(at_first.len() > 2 && !at_first.is_sorted(), "{at_first:?}");
    assert_eq!(browser.evaluate("sorted(1)"), "none");
    browser.evaluate("button(1).click()");
    assert!(ordered(&browser.evaluate("keys(1)")).is_sorted());
    assert_eq!(browser.evaluate("sorted(1)"), "ascending");
    // The other way round, by keyboard.
    browser.evaluate("button(1).focus()");
    browser.press("Enter", 13, "\r");
    let down = ordered(&browser.evaluate("keys(1)"));
    assert!(down.iter().rev().is_sorted_by(|a, b| a <= b), "{down:?}");
    assert_eq!(browser.evaluate("[sorted(1), sorted(0)]"), json!(["descending", "none"]));
    browser.evaluate("button(0).click()");
    assert!(ordered(&browser.evaluate("keys(0)")).is_sorted());
    assert_eq!(browser.evaluate("[sorted(0), sorted(1)]"), json!(["ascending", "none"]));
}

#[test]
fn the_switch_shows_one_gpu_and_paper_shows_all() {
    let Some(mut browser) = Browser::start() else { return };
    let pages = Pages::new();
    browser.open(&pages.url(having(&pages, "<legend>Device</legend>")), 1600, "light");
    let shown = "[...document.querySelectorAll('fieldset.switch')].filter((one) => one.textContent.startsWith('Device'))
        .map((one) => [...document.querySelectorAll(`[data-switch=\"${one.id}\"]`)]
            .map((panel) => panel.checkVisibility()))[0]";
    let all = browser.evaluate(shown).as_array().unwrap().len();
    assert!(all > 1);
    let only = |index: usize| (0..all).map(|at| Value::Bool(at == index)).collect::<Vec<_>>();
    assert_eq!(browser.evaluate(shown), json!(only(0)));
    browser.evaluate(
        "inputs = [...document.querySelectorAll('fieldset.switch')]
            .find((one) => one.textContent.startsWith('Device')).querySelectorAll('input'); inputs[1].click()",
    );
    assert_eq!(browser.evaluate(shown), json!(only(1)));
    // The arrow keys of a group of radio buttons.
    browser.evaluate("inputs[1].focus()");
    browser.press("ArrowLeft", 37, "");
    assert_eq!(browser.evaluate(shown), json!(only(0)));
    browser.call("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    assert_eq!(browser.evaluate(shown), json!(vec![true; all]));
    browser.call("Emulation.setEmulatedMedia", &json!({ "media": "" }));
}

#[test]
fn findings_are_filtered_by_severity() {
    let Some(mut browser) = Browser::start() else { return };
    let pages = Pages::new();
    browser.open(&pages.url(having(&pages, "class=\"filter\"")), 1600, "light");
    let shown = "[...document.querySelectorAll('article.finding')].filter((one) => one.checkVisibility())
        .map((one) => one.dataset.value)";
    let all: Vec<String> = serde_json::from_value(browser.evaluate(shown)).unwrap();
    assert!(all.iter().any(|severity| severity == "error") && all.iter().any(|severity| severity != "error"));
    browser.evaluate("document.querySelector('fieldset.filter input[value=error]').click()");
    let others: Vec<String> = serde_json::from_value(browser.evaluate(shown)).unwrap();
    assert_eq!(others, all.into_iter().filter(|severity| severity != "error").collect::<Vec<_>>());
}

/// The lowest contrast of a text with its background, as WCAG 2 defines it, and that text. Colours are resolved by
/// painting them, background over background.
const CONTRAST: &str = "(() => {
    const context = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
        .getContext('2d', { willReadFrequently: true });
    const painted = (colours) => {
        context.clearRect(0, 0, 1, 1);
        for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const luminance = (rgb) => {
        const [r, g, b] = rgb.map((value) => value / 255)
            .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    let worst = [Infinity, ''];
    const check = (text, backgrounds, colour) => {
        const [a, b] = [painted([...backgrounds, colour]), painted(backgrounds)].map(luminance);
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < worst[0]) worst = [ratio, text];
    };
    for (const element of document.querySelectorAll('body *')) {
        const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join('');
        if (!text || !element.checkVisibility() || element.closest('script, style, title, desc')) continue;
        const style = getComputedStyle(element);
        const backgrounds = [];
        for (let up = element; up; up = up.parentElement) backgrounds.unshift(getComputedStyle(up).backgroundColor);
        const colour = element.closest('svg') ? style.fill : style.color;
        check(text, backgrounds, colour);
        // A number over a bar.
        if (element.classList.contains('value')) {
            const bar = getComputedStyle(document.documentElement).getPropertyValue('--bar');
            const probe = document.createElement('i');
            probe.style.color = bar; document.body.append(probe);
            check(`${text} over a bar`, [...backgrounds, getComputedStyle(probe).color], colour);
            probe.remove();
        }
    }
    return worst;
})()";

/// The contrast of text that level AA of WCAG 2 requires.
const LEAST: f64 = 4.5;

#[test]
fn text_has_contrast_in_both_themes() {
    let Some(mut browser) = Browser::start() else { return };
    let pages = Pages::new();
    for name in &pages.names {
        let mut backgrounds = Vec::new();
        for theme in ["light", "dark"] {
            browser.open(&pages.url(name), 1600, theme);
            let worst = browser.evaluate(CONTRAST);
            assert!(worst[0].as_f64().is_some_and(|ratio| ratio >= LEAST), "{name}, {theme}: {worst}");
            backgrounds.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
        }
        assert_ne!(backgrounds[0], backgrounds[1]);
        // The button overrides the system: dark to light.
        browser.evaluate("document.getElementById('theme').click()");
        let own = browser.evaluate(
            "[getComputedStyle(document.body).backgroundColor, document.getElementById('theme').textContent]",
        );
        assert_eq!(own, json!([backgrounds[0], "Theme: light"]), "{name}");
    }
}
