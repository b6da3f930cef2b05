//! The parser on recorded streams, on hostile input and beside `serde_json`.

mod cuts;
mod fixtures;
mod hostile;
mod oracle;
mod support;
