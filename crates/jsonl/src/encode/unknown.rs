//! Members of lines of a host that the protocol does not have.

use crate::raw::RawJson;

/// The members of a prompt (PROTOCOL.md, Prompts).
const PROMPT: &[&str] = &[
    "type",
    "message/role",
    "message/content/*/type",
    "message/content/*/text",
    "message/content/*/title",
    "message/content/*/source/type",
    "message/content/*/source/media_type",
    "message/content/*/source/data",
    "message/content/*/source/url",
    "parent_tool_use_id",
    "session_id",
    "uuid",
    "priority",
    "client_composed",
    "shouldQuery",
    "origin/kind",
];

/// The members of each control request.
const REQUEST: &[&str] = &["type", "request_id", "request/subtype"];

/// The members of each answer.
const ANSWER: &[&str] = &[
    "type",
    "response/subtype",
    "response/request_id",
    "response/error",
];

/// The members of a decision about a permission (PROTOCOL.md, Permissions).
const DECISION: &[&str] = &[
    "response/response/behavior",
    "response/response/updatedInput",
    "response/response/updatedPermissions",
    "response/response/message",
    "response/response/interrupt",
];

/// An answer that its request decides.
const OTHER_ANSWER: &[&str] = &["response/response"];

/// Returns the members of a line that a host writes to Claude Code which this version of the crate neither writes nor has
/// in its description of the protocol, as JSON pointers (RFC 6901) in the order of the line. The contents of a value that
/// the host chooses, such as the input of an allowed tool, are not looked at.
///
/// Returns `None` for a line that is not described: one of another type, or a control request of another subtype.
///
/// ```
/// use bowline_jsonl::{RawJson, unknown_input_members};
///
/// let line = r#"{"type":"control_request","request_id":"r","request":{"subtype":"interrupt","novelty":1}}"#;
/// let members = unknown_input_members(RawJson::parse(line).unwrap());
/// assert_eq!(members.unwrap(), ["/request/novelty"]);
/// ```
#[must_use]
pub fn unknown_input_members(line: RawJson<'_>) -> Option<Vec<String>> {
    let known = match &*text(line, "type") {
        "user" => PROMPT.to_vec(),
        "control_request" => {
            let subtype = line.get("request").map(|request| text(request, "subtype"));
            [REQUEST, request_members(&subtype?)?].concat()
        }
        "control_response" => {
            let answer = line.get("response").and_then(|it| it.get("response"));
            let behavior = answer.map(|answer| text(answer, "behavior"));
            let is_decision = matches!(behavior.as_deref(), Some("allow" | "deny"));
            [ANSWER, if is_decision { DECISION } else { OTHER_ANSWER }].concat()
        }
        "control_cancel_request" => vec!["type", "request_id"],
        "keep_alive" => vec!["type"],
        "update_environment_variables" => vec!["type", "variables"],
        _ => return None,
    };
    Some(line.unknown_members(&known))
}

/// Returns the members of a control request beside its subtype (PROTOCOL.md, Control requests of the host).
fn request_members(subtype: &str) -> Option<&'static [&'static str]> {
    Some(match subtype {
        "initialize" => &[
            "request/hooks",
            "request/sdkMcpServers",
            "request/systemPrompt",
            "request/appendSystemPrompt",
            "request/agents",
            "request/forwardSubagentText",
        ],
        "interrupt" => &["request/cancel_queued"],
        "set_permission_mode" => &["request/mode"],
        "set_model" => &["request/model"],
        "set_max_thinking_tokens" => &["request/max_thinking_tokens"],
        "apply_flag_settings" => &["request/settings"],
        "mcp_message" => &["request/server_name", "request/message"],
        "rewind_files" => &["request/user_message_id", "request/dry_run"],
        "cancel_async_message" => &["request/message_uuid"],
        "stop_task" => &["request/task_id"],
        "rename_session" => &["request/title"],
        "end_session" | "get_binary_version" | "get_settings" | "get_context_usage"
        | "get_session_cost" | "list_models" | "mcp_status" => &[],
        _ => return None,
    })
}

fn text(value: RawJson<'_>, key: &str) -> String {
    let text = value.get(key).and_then(RawJson::as_str);
    text.unwrap_or_default().decode().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(line: &str) -> Option<Vec<String>> {
        unknown_input_members(RawJson::parse(line).expect("JSON"))
    }

    #[test]
    fn members_are_those_of_the_line() {
        let lines = [
            (
                r#"{"type":"user","message":{"role":"user","content":"plain","new":0},"new":1}"#,
                &["/message/new", "/new"][..],
            ),
            (
                r#"{"type":"user","message":{"content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"u","new":0},"new":1}]}}"#,
                &["/message/content/1/source/new", "/message/content/1/new"],
            ),
            (
                r#"{"type":"control_request","request_id":"r","request":{"subtype":"set_model","model":"m","mode":"plan"}}"#,
                &["/request/mode"],
            ),
            (
                r#"{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{"any":0},"new":1}}}"#,
                &["/response/response/new"],
            ),
            // The answer to a hook is as the hook wants it.
            (
                r#"{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"any":0},"new":1}}"#,
                &["/response/new"],
            ),
            (r#"{"type":"control_cancel_request","new":0}"#, &["/new"]),
            (r#"{"type":"keep_alive","new":0}"#, &["/new"]),
            (
                r#"{"type":"update_environment_variables","variables":{"A":"b"},"new":0}"#,
                &["/new"],
            ),
        ];
        for (line, expected) in lines {
            assert_eq!(unknown(line).expect("a known line"), expected, "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_described() {
        for line in [
            r#"{"type":"novelty","new":0}"#,
            r#"{"type":"control_request","request":{"subtype":"novelty","new":0}}"#,
            r#"{"type":"control_request"}"#,
            r#"{"jsonrpc":"2.0","method":"session/prompt"}"#,
            "[]",
        ] {
            assert_eq!(unknown(line), None, "{line}");
        }
    }
}
