//! Bowline as an ACP agent: the protocol of one editor's connection, over transcripts of recordings.

mod draft;
mod editor;
mod fixture;
mod messages;
mod permissions;
mod prompts;
mod recorded;
mod replay;
