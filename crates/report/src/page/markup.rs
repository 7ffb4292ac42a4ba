//! Finished pieces of HTML, and identifiers within a page.

use std::cell::Cell;

use horrorshow::{Render, RenderMut, RenderOnce, TemplateBuffer};

/// A finished piece of HTML, whose text is escaped. Only [`markup`] makes one, besides the SVG of charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markup(pub(super) String);

/// A template of `horrorshow` as [`Markup`]. Text and attributes are escaped.
macro_rules! markup {
    ($($template:tt)*) => {{
        // A template fails only if the text cannot grow.
        let text = horrorshow::Template::into_string(horrorshow::html!($($template)*)).unwrap_or_default();
        $crate::page::markup::Markup(text)
    }};
}
pub(super) use markup;

impl Markup {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<I: IntoIterator<Item = Markup>>(all: I) -> Self {
        Self(all.into_iter().map(|markup| markup.0).collect())
    }
}

impl RenderOnce for Markup {
    fn render_once(self, buffer: &mut TemplateBuffer<'_>) {
        self.render(buffer);
    }
}

impl RenderMut for Markup {
    fn render_mut(&mut self, buffer: &mut TemplateBuffer<'_>) {
        self.render(buffer);
    }
}

impl Render for Markup {
    fn render(&self, buffer: &mut TemplateBuffer<'_>) {
        buffer.write_raw(&self.0);
    }
}

/// Identifiers that are unique within a page.
#[derive(Debug, Default)]
pub(super) struct Ids(Cell<usize>);

impl Ids {
    /// A new identifier.
    pub(super) fn next(&self, kind: &str) -> String {
        // All sections of a page share the counter.
        self.0.set(self.0.get() + 1);
        format!("{kind}-{}", self.0.get())
    }
}

#[cfg(test)]
mod tests {

    #[test]
    fn text_and_attributes_are_escaped_once() {
        let hostile = "</p><script>alert('1')</script> \"&amp;";
        let inner = markup! { b(title = hostile) : hostile; };
        let escaped = "&lt;/p&gt;&lt;script&gt;alert('1')&lt;/script&gt; &quot;&amp;amp;";
        let outer = markup! { p : &inner; };
        let inside = outer.0.strip_prefix("<p><b title=\"").and_then(|rest| rest.strip_suffix("</b></p>"));
        let (attribute, text) = inside.and_then(|inside| inside.split_once("\">")).unwrap();
        assert_eq!(attribute, escaped);
        assert!(!text.contains('<') && text.contains("&lt;script&gt;"), "{text}");
    }
}
