//! Control lines of the agent (PROTOCOL.md, Control lines).

use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `control_request`: a request to the host.
    pub ControlRequest<'a> {
        /// Identifies the request in the host's response.
        request_id: Option<Str<'a>> = "request_id",
        /// The request, an object with a `subtype`. See [`ControlRequest::body`].
        request: Option<RawJson<'a>> = "request",
    }
}

/// The content of a request, by its `subtype`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RequestBody<'a> {
    /// `can_use_tool`: a permission request.
    CanUseTool(CanUseTool<'a>),
    /// `hook_callback`: a call of one of the host's hooks.
    HookCallback(HookCallback<'a>),
    /// `mcp_message`: a message for an MCP server inside the host.
    McpMessage(McpMessage<'a>),
    /// Any other request; [`ControlRequest::request`] has it.
    Other {
        /// The `subtype`.
        subtype: Str<'a>,
    },
}

record! {
    /// A permission request (PROTOCOL.md, Permissions).
    pub CanUseTool<'a> {
        /// The tool.
        tool_name: Option<Str<'a>> = "tool_name",
        /// Its arguments.
        input: Option<RawJson<'a>> = "input",
        /// The call.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// The sub-agent that calls the tool.
        agent_id: Option<Str<'a>> = "agent_id",
        /// Name of the tool for display.
        display_name: Option<Str<'a>> = "display_name",
        /// Purpose of the call.
        description: Option<Str<'a>> = "description",
        /// Permission updates that the user may want to apply, an array.
        permission_suggestions: Option<RawJson<'a>> = "permission_suggestions",
        /// The path that needs the permission.
        blocked_path: Option<Str<'a>> = "blocked_path",
        /// Why permission is needed.
        decision_reason: Option<Str<'a>> = "decision_reason",
        /// Whether only a person can answer (`AskUserQuestion`).
        requires_user_interaction: bool = "requires_user_interaction",
    }
}

record! {
    /// A call of one of the host's hooks.
    pub HookCallback<'a> {
        /// The hook's id, which the host registered.
        callback_id: Option<Str<'a>> = "callback_id",
        /// The hook's payload.
        input: Option<RawJson<'a>> = "input",
        /// The tool call that triggered the hook.
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
    /// Returns the `subtype` of the request; empty when there is none.
    #[must_use]
    pub fn subtype(&self) -> Str<'a> {
        self.request
            .and_then(|request| request.get("subtype"))
            .and_then(RawJson::as_str)
            .unwrap_or_default()
    }

    /// Parses the content of the request.
    #[must_use]
    pub fn body(&self) -> RequestBody<'a> {
        let request = self.request.unwrap_or(RawJson::validated("{}"));
        let subtype = self.subtype();
        match &*subtype.decode() {
            "can_use_tool" => RequestBody::CanUseTool(request.parse_as()),
            "hook_callback" => RequestBody::HookCallback(request.parse_as()),
            "mcp_message" => RequestBody::McpMessage(request.parse_as()),
            _ => RequestBody::Other { subtype },
        }
    }
}

record! {
    /// `control_response`: a response to the host. With `--replay-user-messages` the host's own
    /// responses are echoed in this shape too; their ids are those of the agent's requests.
    pub ControlResponse<'a> {
        /// The response.
        response: ControlAnswer<'a> = "response",
    }
}

record! {
    /// The inside of a `control_response`.
    pub ControlAnswer<'a> {
        /// `success` or `error`.
        subtype: Option<Str<'a>> = "subtype",
        /// The request.
        request_id: Option<Str<'a>> = "request_id",
        /// The result of the request.
        response: Option<RawJson<'a>> = "response",
        /// Why the request failed.
        error: Option<Str<'a>> = "error",
        /// The failure as a code, such as `unsupported_request`.
        error_code: Option<Str<'a>> = "error_code",
        /// Permission requests that are still open, after a second `initialize`.
        pending_permission_requests: Option<RawJson<'a>> = "pending_permission_requests",
    }
}
