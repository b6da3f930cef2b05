//! Macros for exported enums without fields that have a counterpart in the core.

/// Declares an enum and its conversion from the core's. Unknown variants of a core enum that may grow
/// become the variant after `else`. The core may have the enum only with the feature after `in`.
macro_rules! mirror {
    (
        $(#[$doc:meta])*
        $name:ident = $core:path $(, in $feature:literal)? $(, else $other:ident)? {
            $( $(#[$variant_doc:meta])* $variant:ident, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
        pub enum $name {
            $( $(#[$variant_doc])* $variant, )*
        }

        $(#[cfg(feature = $feature)])?
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

/// Declares an enum and its conversion into the core's, which may have the enum only with the feature after `in`.
macro_rules! mirror_into {
    (
        $(#[$doc:meta])*
        $name:ident = $core:path $(, in $feature:literal)? {
            $( $(#[$variant_doc:meta])* $variant:ident, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
        pub enum $name {
            $( $(#[$variant_doc])* $variant, )*
        }

        $(#[cfg(feature = $feature)])?
        impl From<$name> for $core {
            fn from(value: $name) -> Self {
                match value {
                    $( $name::$variant => Self::$variant, )*
                }
            }
        }
    };
}

pub(crate) use {mirror, mirror_into};
