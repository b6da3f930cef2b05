//! Members of a line that no record reads.

use crate::event::body::{Body, Event};
use crate::event::control::{CanUseTool, HookCallback, McpMessage};
use crate::event::line::known_members;
use crate::grammar::{Known, KnownMembers, Record, set_known};
use crate::unknown_members::unknown_members;

impl Event<'_> {
    /// Returns the members of the line that this version of the crate does not know, as JSON pointers (RFC 6901) in
    /// the order of the line. Known are those that are read, and those that are skipped by name; the contents of a
    /// value that is kept as raw JSON, such as the input of a tool, are not looked at. Empty if the type of the line
    /// is unknown ([`Event::is_known`]).
    ///
    /// ```
    /// let line = "{\"type\":\"result\",\"novelty\":1,\"usage\":{\"input_tokens\":4,\"a/b\":5}}\n";
    /// let mut framer = bowline_jsonl::Framer::default();
    /// framer.push(line.into());
    /// let frame = framer.next_frame().unwrap();
    /// let event = frame.items().next().unwrap().event.unwrap();
    /// assert_eq!(event.unknown_members(), ["/novelty", "/usage/a~1b"]);
    /// ```
    #[must_use]
    pub fn unknown_members(&self) -> Vec<String> {
        if !self.is_known() {
            return Vec::new();
        }
        let Some(mut known) = known_members(self.raw) else {
            return Vec::new();
        };
        if let Body::ControlRequest(request) = &self.body {
            // The subtype of a request decides which members it has.
            let members = request_members(&request.subtype().decode());
            set_known(&mut known, "request", members);
        }
        unknown_members(self.raw, &known)
    }
}

fn request_members(subtype: &str) -> Known {
    match subtype {
        "can_use_tool" => Known::Object(with_subtype::<CanUseTool<'_>>),
        "hook_callback" => Known::Object(with_subtype::<HookCallback<'_>>),
        "mcp_message" => Known::Object(with_subtype::<McpMessage<'_>>),
        _ => Known::Value,
    }
}

fn with_subtype<'a, R: Record<'a>>() -> KnownMembers {
    let mut known = R::known_members();
    known.push(("subtype", Known::Value));
    known
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::framer::Framer;

    fn unknown(line: &str) -> Vec<String> {
        let mut framer = Framer::default();
        framer.push(Bytes::copy_from_slice(line.as_bytes()));
        framer.finish();
        let frame = framer.next_frame().expect("a line");
        let item = frame.items().next().expect("a line");
        item.event.expect("an event").unknown_members()
    }

    #[test]
    fn unknown_members_are_found_at_every_level() {
        let block = r#"{"type":"text","text":"","new":1}"#;
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"t","content":[{block}]}}"#);
        let message = format!(
            r#"{{"id":"m","content":[{block},{result}],"usage":{{"input_tokens":1,"new":2}},"new":3}}"#
        );
        let line = format!(r#"{{"type":"assistant","message":{message},"uuid":"u","new":4}}"#);
        let expected = [
            "/message/content/0/new",
            "/message/content/1/content/0/new",
            "/message/usage/new",
            "/message/new",
            "/new",
        ];
        assert_eq!(unknown(&line), expected);
    }

    #[test]
    fn unknown_members_follow_type_and_subtype() {
        let lines = [
            (
                r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"","new":0}}}"#,
                vec!["/event/delta/new"],
            ),
            (
                r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":{"any":0},"new":0}}"#,
                vec!["/request/new"],
            ),
            (
                r#"{"type":"system","subtype":"init","cwd":"/","new":0}"#,
                vec!["/new"],
            ),
            (r#"{"new":0,"type":"keep_alive"}"#, vec!["/new"]),
            // The line as a whole is unknown, or of another agent.
            (r#"{"type":"novelty","new":0}"#, vec![]),
            (r#"{"jsonrpc":"2.0","method":"session/update"}"#, vec![]),
        ];
        for (line, expected) in lines {
            assert_eq!(unknown(line), expected, "{line}");
        }
    }

    #[test]
    fn deeply_nested_blocks_are_looked_at_to_a_limit() {
        let levels = 40;
        let open = r#"[{"type":"tool_result","new":0,"content":"#.repeat(levels);
        let close = "}]".repeat(levels);
        let line = format!(r#"{{"type":"user","message":{{"content":{open}""{close}}}}}"#);
        let found = unknown(&line).len();
        assert!(found > 2 && found < levels, "{found}");
    }
}
