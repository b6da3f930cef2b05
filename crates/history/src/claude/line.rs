//! A line of a conversation's file, as far as its place in the tree is concerned.

use bowline_jsonl::{RawJson, Str};

use crate::lines::parse;

/// One line.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    /// The bytes of the line, without its end.
    pub(super) bytes: &'a [u8],
    /// The object; `None` for a damaged line.
    pub(super) object: Option<RawJson<'a>>,
    pub(super) kind: &'a str,
    pub(super) uuid: Option<&'a str>,
    pub(super) parent: Option<&'a str>,
    pub(super) is_sidechain: bool,
    pub(super) message_id: Option<&'a str>,
    /// Ids of the tool calls that a message makes.
    pub(super) calls: Vec<&'a str>,
    /// Ids of the tool calls whose results the line holds.
    pub(super) results: Vec<&'a str>,
    /// The sub-agent that a result is of.
    pub(super) agent: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut line = Self {
            bytes,
            object: parse(bytes),
            kind: "",
            uuid: None,
            parent: None,
            is_sidechain: false,
            message_id: None,
            calls: Vec::new(),
            results: Vec::new(),
            agent: None,
        };
        let mut logical_parent = None;
        for (key, value) in line.object.into_iter().flat_map(RawJson::members) {
            match key.raw() {
                "type" => line.kind = id(value).unwrap_or_default(),
                "uuid" => line.uuid = id(value),
                "parentUuid" => line.parent = id(value),
                // After a compaction, the tree continues from here.
                "logicalParentUuid" => logical_parent = id(value),
                "isSidechain" => line.is_sidechain = value.as_bool() == Some(true),
                "message" => line.message(value),
                "toolUseResult" => line.agent = value.get("agentId").and_then(id),
                _ => {}
            }
        }
        line.parent = line.parent.or(logical_parent);
        line
    }

    fn message(&mut self, message: RawJson<'a>) {
        for (key, value) in message.members() {
            match key.raw() {
                "id" => self.message_id = id(value),
                "content" => value.elements().for_each(|block| self.block(block)),
                _ => {}
            }
        }
    }

    fn block(&mut self, block: RawJson<'a>) {
        let of = |key| block.get(key).and_then(id);
        match of("type") {
            Some("tool_use") => self.calls.extend(of("id")),
            Some("tool_result") => self.results.extend(of("tool_use_id")),
            _ => {}
        }
    }
}

/// An id as it is written: ids have no escapes.
fn id(value: RawJson<'_>) -> Option<&str> {
    value.as_str().map(Str::raw).filter(|id| !id.is_empty())
}

/// The lines of a file; blank ones are left out.
pub(super) fn lines(data: &[u8]) -> Vec<Line<'_>> {
    let lines = data.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    lines.map(Line::new).collect()
}
