//! Conversations of Claude Code (`crates/jsonl/PROTOCOL.md`, Conversations on disk).

mod agents;
mod convert;
mod files;
mod line;
mod prompt;
mod summary;
mod system;
mod tree;

use std::io;
use std::path::Path;

use crate::file::read;
use crate::stream::StreamWriter;

pub(crate) use files::conversations;
pub(crate) use summary::summary;

/// Returns a conversation as the lines that the agent would have printed.
///
/// # Errors
///
/// The file cannot be read. A sub-agent that cannot be read is a damaged line.
pub(crate) fn stream(path: &Path) -> io::Result<StreamWriter> {
    let data = read(path)?;
    let agents = agents::load(path);
    let mut out = StreamWriter::default();
    convert::conversation(&data, &agents, &mut out);
    Ok(out)
}
