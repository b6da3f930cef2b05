//! Control frames that the agent writes (protocol, sections A.14 and B.5).

use crate::grammar::{Read, record};
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `control_request`: the agent asks the host.
    pub ControlRequest<'a> {
        /// Names the request in the host's answer.
        request_id: Option<Str<'a>> = "request_id",
        /// The request, an object with a `subtype`. See [`ControlRequest::body`].
        request: Option<RawJson<'a>> = "request",
    }
}

/// What the agent asks for.
#[derive(Clone, Debug)]
pub enum RequestBody<'a> {
    /// `can_use_tool`: may this tool run?
    CanUseTool(CanUseTool<'a>),
    /// `hook_callback`: a hook of the host is due.
    HookCallback(HookCallback<'a>),
    /// `mcp_message`: a message for an MCP server inside the host.
    McpMessage(McpMessage<'a>),
    /// Any other request; it is kept raw.
    Other {
        /// The `subtype`.
        subtype: Str<'a>,
    },
}

record! {
    /// May this tool run?
    pub CanUseTool<'a> {
        /// The tool.
        tool_name: Option<Str<'a>> = "tool_name",
        /// Its arguments.
        input: Option<RawJson<'a>> = "input",
        /// The call.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// The sub-agent that asks.
        agent_id: Option<Str<'a>> = "agent_id",
        /// What to call the tool before a user.
        display_name: Option<Str<'a>> = "display_name",
        /// What the call is for.
        description: Option<Str<'a>> = "description",
        /// Rules that the user may want to add, an array.
        permission_suggestions: Option<RawJson<'a>> = "permission_suggestions",
        /// The path that needs the permission.
        blocked_path: Option<Str<'a>> = "blocked_path",
        /// Why the agent asks.
        decision_reason: Option<Str<'a>> = "decision_reason",
        /// Only a person can answer (`AskUserQuestion`).
        requires_user_interaction: bool = "requires_user_interaction",
    }
}

record! {
    /// A hook of the host is due.
    pub HookCallback<'a> {
        /// The hook, as the host registered it.
        callback_id: Option<Str<'a>> = "callback_id",
        /// The hook's payload.
        input: Option<RawJson<'a>> = "input",
        /// The call that the hook is about.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
    }
}

record! {
    /// A message for an MCP server inside the host.
    pub McpMessage<'a> {
        /// The server.
        server_name: Option<Str<'a>> = "server_name",
        /// The JSON-RPC message.
        message: Option<RawJson<'a>> = "message",
    }
}

impl<'a> ControlRequest<'a> {
    /// The `subtype` of the request; empty when there is none.
    #[must_use]
    pub fn subtype(&self) -> Str<'a> {
        self.request
            .and_then(|request| request.get("subtype"))
            .and_then(RawJson::as_str)
            .unwrap_or_default()
    }

    /// What the agent asks for.
    #[must_use]
    pub fn body(&self) -> RequestBody<'a> {
        let text = self.request.map_or("{}", RawJson::text);
        let subtype = self.subtype();
        match &*subtype.decode() {
            "can_use_tool" => RequestBody::CanUseTool(read(text)),
            "hook_callback" => RequestBody::HookCallback(read(text)),
            "mcp_message" => RequestBody::McpMessage(read(text)),
            _ => RequestBody::Other { subtype },
        }
    }
}

fn read<'a, T: Read<'a> + Default>(text: &'a str) -> T {
    let mut value = T::default();
    // The text is validated, so the walk cannot stop.
    let _ = value.read(text, 0);
    value
}

record! {
    /// `control_response`: the agent answers the host. With `--replay-user-messages` the host's
    /// own answers come back in this shape too; their ids are the agent's.
    pub ControlResponse<'a> {
        /// The answer.
        response: ControlAnswer<'a> = "response",
    }
}

record! {
    /// The inside of a `control_response`.
    pub ControlAnswer<'a> {
        /// `success` or `error`.
        subtype: Option<Str<'a>> = "subtype",
        /// The request that is answered.
        request_id: Option<Str<'a>> = "request_id",
        /// What the request gives back.
        response: Option<RawJson<'a>> = "response",
        /// Why the request failed.
        error: Option<Str<'a>> = "error",
        /// The failure as a code, such as `unsupported_request`.
        error_code: Option<Str<'a>> = "error_code",
        /// Permission requests that are still open, after a second `initialize`.
        pending_permission_requests: Option<RawJson<'a>> = "pending_permission_requests",
    }
}
