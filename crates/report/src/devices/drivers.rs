//! What real drivers do wrong, as text and as a result.

use std::fmt::Write as _;

use tripipe_device::drivers::Quirk;
use tripipe_results::{Devices, DriverQuirk};

use crate::style::{Canvas, paragraph};

/// Each quirk with its versions, effect, workaround and link.
pub fn text(quirks: &[&Quirk], canvas: Canvas) -> String {
    let mut out = String::new();
    for quirk in quirks {
        let mut head = vec![quirk.versions_text()];
        head.extend((!quirk.gpus.is_empty()).then(|| quirk.gpus.join(", ")));
        head.push(quirk.kind.name().to_owned());
        head.extend(quirk.pattern.is_empty().then(|| "not seen in a kernel".to_owned()));
        head.extend(quirk.injection.map(|_| "injectable".to_owned()));
        out.push_str(&paragraph(canvas, "", 2, &format!("{}: {}", quirk.id, head.join("; "))));
        out.push_str(&paragraph(canvas, "  ", 4, &format!("{}: {}", quirk.trigger, quirk.effect)));
        out.push_str(&paragraph(canvas, "  instead: ", 4, &quirk.workaround));
        let _ = writeln!(out, "  {}\n", quirk.thread);
    }
    let recognised = quirks.iter().filter(|quirk| !quirk.pattern.is_empty()).count();
    let legend = format!(
        "{} entries; `tripipe check --driver VERSION` recognises {recognised} of them in kernels, and a virtual driver makes the \
         injectable ones (TRIPIPE_INJECT, docs/driver.md).",
        quirks.len()
    );
    out.push_str(&paragraph(canvas, "", 0, &legend));
    out
}

/// The quirks as a result.
pub fn result(quirks: &[&Quirk]) -> Devices {
    let quirk = |quirk: &&Quirk| DriverQuirk {
        id: quirk.id.clone(),
        driver: quirk.maker.word().to_owned(),
        kind: quirk.kind.name().to_owned(),
        versions: quirk.versions_text(),
        gpus: quirk.gpus.clone(),
        trigger: quirk.trigger.clone(),
        recognised: !quirk.pattern.is_empty(),
        effect: quirk.effect.clone(),
        workaround: quirk.workaround.clone(),
        thread: quirk.thread.clone(),
        basis: quirk.basis.to_string(),
        injectable: quirk.injection.is_some(),
    };
    Devices::Drivers { drivers: quirks.iter().map(quirk).collect() }
}
