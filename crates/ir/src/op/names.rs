//! Enums whose variants have a name in the text form.

/// Declares an enum with `name()`, `ALL` and `named()`; each variant has a word and a doc comment.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum { $($(#[$doc])* $variant,)* }

        impl $enum {
            /// Every variant, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word in the text form.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The variant with this word.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.name() == name)
            }
        }
    };
}

pub(crate) use named;
