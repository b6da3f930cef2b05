//! Writes diagnostics bundles.

use std::io;
use std::path::Path;

use bowline_recording::{Bundle, Redactor, Secrets, SessionStreams};

use super::Redaction;
use crate::core;
use crate::error::{BowlineError, Result};
use crate::logging::recent_lines;

/// Writes a bundle into a new file.
pub(crate) fn create(known: core::Diagnostics, path: &str, redaction: Redaction) -> Result<()> {
    let variables = std::env::vars_os();
    let variables = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let secrets = Secrets::default().with_environment(variables);
    let redactor = Redactor::new(redaction.into(), secrets);
    let (dialect, facts) = (known.dialect, known.facts.clone());
    let log = recent_lines(facts["id"].as_str().unwrap_or_default());
    let bundle = Bundle::new(SessionStreams::from(known))
        .with_dialect(Some(dialect))
        .with_session(facts)
        .with_log(log);
    bundle
        .create(Path::new(path), &redactor)
        .map_err(|error| failed(path, &error))
}

fn failed(path: &str, error: &io::Error) -> BowlineError {
    let next = match error.kind() {
        io::ErrorKind::AlreadyExists => "; name another file, or remove it",
        _ => "",
    };
    BowlineError::Io {
        reason: format!("write the bundle {path}: {error}{next}"),
    }
}
