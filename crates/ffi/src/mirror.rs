//! Enums without members that stand for ones of the lifecycle.

/// Declares an enum for the hosts and how the lifecycle's own becomes it. An enum that may grow
/// names the variant that stands for what this version does not know.
macro_rules! mirror {
    (
        $(#[$doc:meta])*
        $name:ident = $core:path $(, else $other:ident)? {
            $( $(#[$variant_doc:meta])* $variant:ident, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
        pub enum $name {
            $( $(#[$variant_doc])* $variant, )*
        }

        impl From<$core> for $name {
            fn from(value: $core) -> Self {
                use $core as Core;
                match value {
                    $( Core::$variant => Self::$variant, )*
                    $( _ => Self::$other, )?
                }
            }
        }
    };
}

pub(crate) use mirror;
