//! Diagnostics bundles.

#[cfg(not(feature = "full"))]
mod absent;
#[cfg(feature = "full")]
mod create;

use crate::mirror::mirror_into;
#[cfg(not(feature = "full"))]
pub(crate) use absent::create;
#[cfg(feature = "full")]
pub(crate) use create::create;

mirror_into! {
    /// What is removed from a diagnostics bundle.
    Redaction = crate::core::Redaction, in "full" {
        /// Secrets: tokens, keys, passwords and credentials, also the values of this process's environment
        /// variables with such names.
        Secrets,
        /// Also prompts, answers, and the content of tools and files. Replacements have the same length, so
        /// that the transcript keeps its shape.
        Content,
    }
}
