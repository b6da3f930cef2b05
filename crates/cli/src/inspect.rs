//! `bowline inspect`: counts of a recorded stream.

mod report;

use std::process::ExitCode;

use crate::args;
use crate::failure::Failure;
use crate::input::Recording;
use crate::view::print;

use report::Report;

/// Counts the lines of a recording and prints the counts.
pub(crate) fn inspect(options: &args::Inspect) -> Result<ExitCode, Failure> {
    let mut report = Report::default();
    Recording::open(&options.file)?.read_into(&mut report)?;
    print(&if options.json {
        report.json()
    } else {
        report.text()
    })?;
    Ok(ExitCode::SUCCESS)
}
