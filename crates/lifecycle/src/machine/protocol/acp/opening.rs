//! The handshake with an agent: `initialize`, then a session.

use bowline_jsonl::acp::write::{self, Opening as Method};
use bowline_jsonl::acp::{Initialized, Mode, Opened, PromptResult, SessionList};
use bowline_jsonl::rpc::RpcError;
use bowline_jsonl::{RawJson, Str};

use super::{Acp, hidden_permission};
use crate::conversations::Conversation;
use crate::error::HandshakeError;
use crate::machine::input::Reply;
use crate::machine::protocol::opening::Stage;
use crate::machine::protocol::{Link, Signal};
use crate::machine::requests::CompletedRequest;
use crate::mcp;

/// The version of the protocol that the host speaks.
const VERSION: u64 = 1;

/// An agent that sends a part of a loaded conversation after the response, by the name that it states.
const LATE_REPLAYING_AGENT: &str = "gemini-cli";

/// The name of a request without an effect, whose response follows a conversation that comes late. With a prompt
/// before it, the conversation could not be distinguished from the answer.
const AFTER_REPLAY: &str = "initialize after session/load";

/// What the agent declares.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentMethods {
    pub(super) load: bool,
    pub(super) resume: bool,
    pub(super) fork: bool,
    pub(super) list: bool,
    pub(super) takes_images: bool,
    /// Whether the host is not asked for the permissions of sub-agents.
    pub(super) hides_permissions: bool,
    /// Whether a part of a loaded conversation comes after the response.
    replays_late: bool,
    has_http_servers: bool,
    has_sse_servers: bool,
    /// Names of the ways to log in.
    logins: Vec<String>,
    /// What to do for them, where the agent says it.
    login_steps: Vec<String>,
}

impl AgentMethods {
    fn of(initialized: &Initialized<'_>) -> Self {
        let it = &initialized.capabilities;
        let logins = || initialized.auth_methods.into_iter().flat_map(Mode::list);
        let decoded = |text: Str<'_>| text.decode().into_owned();
        let names = logins().filter_map(|it| it.name.or(it.id)).map(decoded);
        let steps = logins()
            .filter_map(|it| it.description.or(it.name))
            .map(decoded);
        Self {
            load: it.load_session,
            resume: it.session.resume,
            fork: it.session.fork,
            list: it.session.list,
            takes_images: it.prompt.image,
            replays_late: initialized
                .agent_info
                .name
                .is_some_and(|it| it == LATE_REPLAYING_AGENT),
            hides_permissions: initialized
                .agent_info
                .name
                .is_some_and(|it| it == hidden_permission::AGENT),
            has_http_servers: it.mcp.http,
            has_sse_servers: it.mcp.sse,
            logins: names.collect(),
            login_steps: steps.collect(),
        }
    }
}

impl Acp {
    pub(super) fn initialize(&self, link: &mut Link<'_>) {
        self.request_initialize("initialize", link);
    }

    /// Sends the request under a name of the host.
    fn request_initialize(&self, name: &str, link: &mut Link<'_>) {
        let version = env!("CARGO_PKG_VERSION");
        link.request(name, None, |id| write::initialize(id, "bowline", version));
    }

    /// Continues the handshake after a request of it has ended.
    pub(super) fn handshake(&mut self, request: &CompletedRequest, link: &mut Link<'_>) {
        let response = match &request.reply {
            Ok(Reply::Response(response)) => RawJson::parse(response),
            Ok(Reply::Done) => None,
            Err(error) if request.ticket.is_none() && self.stage == Stage::Opening => {
                let error = HandshakeError::from(error.clone()).with_logins(&self.methods.logins);
                return self.stage.fail(error, link);
            }
            Err(_) => return,
        };
        let Some(response) = response else { return };
        match &*request.name {
            "initialize" => self.initialized(response, link),
            "session/list" if self.stage == Stage::Opening => {
                let newest = SessionList::parse(response).sessions().next();
                match newest.and_then(|it| it.session_id).map(Str::decode) {
                    Some(id) => self.open_past(&id, false, link),
                    None => self.stage.fail(HandshakeError::NothingToContinue, link),
                }
            }
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                let opened = Opened::parse(response);
                self.settings.open(&opened);
                let logins = &self.methods.login_steps;
                if self.settings.lacks_models() && !logins.is_empty() {
                    // opencode without a provider opens sessions, and then fails each prompt without a reason.
                    let error = HandshakeError::NotLoggedIn {
                        reason: "it offers no model".to_owned(),
                        logins: logins.clone(),
                    };
                    return self.stage.fail(error, link);
                }
                if &*request.name == "session/load" && self.methods.replays_late {
                    return self.request_initialize(AFTER_REPLAY, link);
                }
                self.opened(opened.session_id, link);
            }
            AFTER_REPLAY => self.opened(None, link),
            "session/set_config_option" => self.settings.replace(response.get("configOptions")),
            _ => {}
        }
    }

    /// Learns from the answers to another host's requests.
    pub(super) fn overhear(
        &mut self,
        result: &Result<RawJson<'_>, RpcError<'_>>,
        link: &mut Link<'_>,
    ) {
        let Ok(result) = *result else { return };
        if result.get("protocolVersion").is_some() {
            self.methods = AgentMethods::of(&Initialized::parse(result));
        } else if PromptResult::parse(result).stop_reason.is_some() {
            self.turn_ended(None, link);
        } else if self.stage == Stage::Opening {
            let opened = Opened::parse(result);
            self.settings.open(&opened);
            self.opened(opened.session_id, link);
        }
    }

    fn initialized(&mut self, response: RawJson<'_>, link: &mut Link<'_>) {
        let initialized = Initialized::parse(response);
        self.methods = AgentMethods::of(&initialized);
        let version = initialized.protocol_version;
        if version != Some(VERSION) {
            return self
                .stage
                .fail(HandshakeError::UnsupportedVersion { version }, link);
        }
        let (http, sse) = (self.methods.has_http_servers, self.methods.has_sse_servers);
        if let Some(server) = mcp::unreachable(&self.opening.mcp_servers, http, sse) {
            return self.stage.unsupported(server, link);
        }
        match self.opening.conversation.clone() {
            Conversation::New => {
                let (cwd, servers) = (self.cwd(), self.servers());
                link.request("session/new", None, |id| {
                    write::new_session(id, &cwd, &servers)
                });
            }
            Conversation::NewAs(_) => {
                self.stage
                    .unsupported("a conversation id of the host's choice", link);
            }
            Conversation::Resume { id, fork } => self.open_past(&id, fork, link),
            Conversation::Continue if self.methods.list => {
                let cwd = self.cwd();
                link.request("session/list", None, |id| {
                    write::list_sessions(id, Some(&cwd), None)
                });
            }
            Conversation::Continue => self
                .stage
                .unsupported("continuing the last conversation", link),
        }
    }

    fn open_past(&mut self, session: &str, fork: bool, link: &mut Link<'_>) {
        let methods = &self.methods;
        let loads = methods.load && !(self.opening.has_past && methods.resume);
        let (name, method) = if fork && methods.fork {
            ("session/fork", Method::Fork)
        } else if fork {
            return self.stage.unsupported("forking a conversation", link);
        } else if loads {
            ("session/load", Method::Load)
        } else if methods.resume {
            ("session/resume", Method::Resume)
        } else {
            return self.stage.unsupported("resuming a conversation", link);
        };
        if !fork {
            // The answer may leave it out.
            self.session = Some(session.to_owned());
        }
        let (cwd, servers) = (self.cwd(), self.servers());
        link.request(name, None, |id| {
            write::open_session(id, method, session, &cwd, &servers)
        });
    }

    /// The session is open, under this id or the requested one.
    pub(super) fn opened(&mut self, id: Option<Str<'_>>, link: &mut Link<'_>) {
        if let Some(id) = id {
            self.session = Some(id.decode().into_owned());
        }
        if self.session.is_none() || self.stage != Stage::Opening {
            return;
        }
        self.stage = Stage::Ready;
        if !self.opening.is_resumed {
            self.apply_settings(link);
        }
        if self.stage == Stage::Ready {
            link.signal(Signal::Ready);
        }
    }

    /// Sets the mode, the model and the effort that the session is to begin with.
    fn apply_settings(&mut self, link: &mut Link<'_>) {
        let wanted = [
            ("mode", self.opening.mode.clone()),
            ("model", self.opening.model.clone()),
            ("thought_level", self.opening.effort.clone()),
        ];
        let session = self.session.clone().unwrap_or_default();
        for (option, value) in wanted {
            let Some(value) = value else { continue };
            match self.settings.change(&session, option, &value) {
                Some((method, encode)) => link.request(method, None, encode),
                None => {
                    self.stage
                        .unsupported(format!("the {option} {value}"), link);
                    return;
                }
            }
        }
    }

    fn servers(&self) -> String {
        mcp::acp(&self.opening.mcp_servers)
    }

    fn cwd(&self) -> String {
        self.opening.cwd.clone().unwrap_or_else(|| "/".to_owned())
    }
}
