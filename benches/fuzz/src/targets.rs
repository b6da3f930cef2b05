//! The fuzz targets.

mod archive;
mod config;
mod cursor;
mod dialects;
mod editor;
mod fleet;
mod frames;
mod history;
mod hooks;
mod http;
mod journal;
mod json;
mod lines;
mod login;
mod panel;
mod parser;
mod policy;
mod recording;
mod redact;
mod reducer;
mod replay;
mod replies;
mod rest;
mod rpc;
mod screen;
mod screen_record;
mod sealed;

use crate::guided::Target;

/// All targets.
pub static ALL: [&Target; 27] = [
    &parser::PARSER,
    &parser::FRAMER,
    &frames::FRAMES,
    &journal::JOURNAL,
    &lines::LINES,
    &screen::SCREEN,
    &replay::REPLAY,
    &reducer::REDUCER,
    &dialects::CODEX,
    &dialects::ACP,
    &dialects::OUTPUTS,
    &hooks::HOOKS,
    &panel::PANEL,
    &rest::REST,
    &rpc::RPC,
    &cursor::CURSOR,
    &config::CONFIG,
    &policy::POLICY,
    &fleet::FLEET,
    &editor::EDITOR,
    &history::HISTORY,
    &archive::ARCHIVE,
    &recording::RECORDING,
    &redact::REDACT,
    &login::LOGIN,
    &screen_record::SCREEN_RECORD,
    &replies::REPLIES,
];

/// For inputs without checksums.
const fn whole(_: &mut [u8]) {}

/// Splits a stream into chunks whose lengths depend on `pattern`: often one byte, or a few in turn.
fn pieces(stream: &[u8], pattern: u8) -> impl Iterator<Item = &[u8]> {
    let lengths = [
        usize::from(pattern & 15) + 1,
        usize::from(pattern >> 4) * 3 + 1,
    ];
    let (mut rest, mut turn) = (stream, 0);
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.len().min(lengths[turn & 1]));
        (rest, turn) = (after, turn + 1);
        (!piece.is_empty()).then_some(piece)
    })
}

/// Fails with both values if they differ.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, one: &T, other: &T) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    Err(format!("{what}: {one:?} is {other:?}"))
}
