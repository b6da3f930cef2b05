//! Conversations of Codex: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`. Each line has a
//! `timestamp`, a `type` and a `payload`.

mod convert;
mod files;
mod summary;

use std::io;
use std::path::Path;

use crate::file::read;
use crate::stream::StreamWriter;

pub(crate) use files::{conversations, id, names};
pub(crate) use summary::summary;

/// Returns a conversation as lines in the agent's output format.
///
/// # Errors
///
/// The file cannot be read. A sub-agent that cannot be read is a damaged line.
pub(crate) fn stream(path: &Path, title: Option<&str>) -> io::Result<StreamWriter> {
    let data = read(path)?;
    let sessions = path.ancestors().nth(4);
    let agents = sessions.map(files::by_thread).unwrap_or_default();
    let mut out = StreamWriter::default();
    convert::conversation(&data, &agents, title, &mut out);
    Ok(out)
}
