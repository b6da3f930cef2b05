//! The log on standard error.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::fmt;

use crate::args::LogFormat;
use crate::failure::Failure;
use crate::stdio::eprint;

/// The variable with the filter.
const FILTER: &str = "RUST_LOG";

/// Installs the subscriber that writes the log to standard error.
///
/// The filter is `RUST_LOG`. Without that variable only events at `default` and above are logged;
/// if `default` is `None`, nothing is.
///
/// # Errors
/// If `RUST_LOG` is no filter.
pub(crate) fn install(format: LogFormat, default: Option<&str>) -> Result<(), Failure> {
    let variable = std::env::var(FILTER).ok().filter(|it| !it.is_empty());
    let Some(filter) = variable.as_deref().or(default) else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(format!(
            "{FILTER} is no log filter: {error}; set it to something like info or bowline_runner=debug"
        ))
    })?;
    let builder = fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // They are printed with `eprintln!`, which panics when standard error is closed.
        .log_internal_errors(false);
    let installed = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    if let Err(error) = installed {
        eprint(&format!("bowline: no log: {error}\n"));
    }
    Ok(())
}
