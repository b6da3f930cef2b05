//! The host: a dialogue at the runner with hooks, everything that can go wrong with it, and a panic
//! that shows all it has.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use bowline_hooks::{
    ExposeSecret as _, HookBackend, HookConfiguration, HookGate, HookHelper, HookKind, HookReply,
    HookServer, SecretString,
};
use bowline_lifecycle::{
    AgentDocument, AgentLocation, DialogueConfiguration, DialogueSession, Prompt, SessionId,
};
use bowline_transport::{Identity, Remote, Token, Trust};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Canaries, HostOrder, Live, Words, read_json, write_json};
use crate::session::{answered, within};

/// Does it all, and says twice that there is something to look at: in the middle of a dialogue, and
/// after the panic.
pub fn run() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let done = runtime.and_then(|runtime| runtime.block_on(host()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use io::Write as _;
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn host() -> io::Result<()> {
    tracing::trace!("the host logs at this level");
    let order: HostOrder = read_json()?;
    let canaries = &order.canaries;
    let remote = remote(&order, &canaries.token)?;
    let server = hooks(canaries).await?;
    let configuration = configuration(&server, &remote, canaries)?;
    let started = DialogueSession::start(configuration.clone());
    let session = within("a dialogue", started)
        .await
        .map_err(io::Error::other)?;
    for prompt in ["hello", "/tool"] {
        answered(&session, &format!("{prompt} {}", canaries.prompt)).await;
    }
    answered(&session, &format!("/tool {}", canaries.payload)).await;
    let mut messages = Vec::new();
    let ticket = ticket(&remote, session.id(), &mut messages).await?;
    let variables = server.environment("i").map_err(io::Error::other)?;
    let token = variables
        .iter()
        .find(|(name, _)| *name == "BOWLINE_HOOK_TOKEN");
    write_json(&Live {
        ticket: ticket.clone(),
        hook_token: token
            .map(|(_, it)| it.expose_secret().to_owned())
            .unwrap_or_default(),
    })?;
    read_json::<Value>()?;
    errors(&order, &remote, &configuration, &mut messages).await?;
    strangers(&server, canaries, &mut messages).await?;
    for path in ["/api/sessions", "/metrics", "/openapi.json"] {
        let (status, body) = remote
            .ask("GET", path, Bytes::new())
            .await
            .map_err(io::Error::other)?;
        messages.push(format!(
            "{path} {status} {}",
            String::from_utf8_lossy(&body)
        ));
    }
    panic_with(&(&configuration, &remote, &server, &session));
    within("the end", session.terminate()).await;
    let late = session.send(Prompt::text(&canaries.prompt)).await;
    messages.push(format!("{:?}", late.err()));
    let report = server.stop().await;
    messages.push(format!("{report:?}"));
    write_json(&messages)
}

fn remote(order: &HostOrder, token: &str) -> io::Result<Remote> {
    let url = order.served.url.parse().map_err(io::Error::other)?;
    let mut remote = Remote::new(url).with_credentials(Token::new(token));
    let digits = order.served.fingerprint.as_bytes().chunks(2);
    let bytes = digits.map(|two| {
        let text = std::str::from_utf8(two).unwrap_or_default();
        u8::from_str_radix(text, 16).map_err(io::Error::other)
    });
    let bytes = bytes.collect::<io::Result<Vec<u8>>>()?;
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| io::Error::other("no fingerprint"))?;
    remote.trust = Trust::Certificates(vec![bytes]);
    let (certificate, key) = order.identity.clone();
    remote.identity = Some(Identity { certificate, key });
    Ok(remote)
}

/// A server without a forwarding target.
async fn hooks(canaries: &Canaries) -> io::Result<HookServer> {
    let configuration = HookConfiguration {
        helper: Some(HookHelper {
            program: std::env::current_exe()?,
            args: vec![Words::HOOK.into()],
        }),
        gate: Some(HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline: Duration::from_millis(1),
            default: HookReply::allow(),
        }),
        backend: Some(HookBackend {
            token: Some(SecretString::from(canaries.backend.clone())),
            attempts: 1,
            ..HookBackend::new("http://127.0.0.1:9", "s")
        }),
        ..HookConfiguration::default()
    };
    HookServer::start(configuration)
        .await
        .map_err(io::Error::other)
}

fn configuration(
    server: &HookServer,
    remote: &Remote,
    canaries: &Canaries,
) -> io::Result<DialogueConfiguration> {
    let mut configuration = DialogueConfiguration {
        program: std::env::current_exe()?.into(),
        leading_args: vec![Words::AGENT.into()],
        args: vec!["--pace".into(), "0".into()],
        location: AgentLocation::Runner(remote.clone()),
        ..DialogueConfiguration::default()
    };
    configuration.env.set("CANARY", &canaries.variable);
    for (name, value) in server.environment("i").map_err(io::Error::other)? {
        configuration.env.set(name, value.expose_secret());
    }
    let settings = server.settings("i").map_err(io::Error::other)?;
    configuration.options.settings = Some(AgentDocument::Json(settings.to_string()));
    Ok(configuration)
}

/// A ticket for the session.
async fn ticket(remote: &Remote, id: SessionId, messages: &mut Vec<String>) -> io::Result<String> {
    let body = json!({"session": id.to_string(), "lease": "read"}).to_string();
    let response = remote.ask("POST", "/api/tickets", Bytes::from(body)).await;
    let (status, body) = response.map_err(io::Error::other)?;
    messages.push(format!("a ticket: {status}"));
    let body: Value = serde_json::from_slice(&body)?;
    let ticket = body["ticket"].as_str();
    ticket
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other("no ticket"))
}

/// What goes wrong with a runner, as a host would show it.
async fn errors(
    order: &HostOrder,
    remote: &Remote,
    good: &DialogueConfiguration,
    messages: &mut Vec<String>,
) -> io::Result<()> {
    let canaries = &order.canaries;
    let unauthorized = self::remote(order, &canaries.guess)?;
    let mut nameless = remote.clone();
    nameless.identity = None;
    let mut keyless = remote.clone();
    // The key in place of the certificate: an error of the parser could quote it.
    let key = order.identity.1.clone();
    keyless.identity = Some(Identity {
        certificate: key.clone(),
        key,
    });
    for remote in [&unauthorized, &nameless, &keyless] {
        let mut wrong = good.clone();
        wrong.location = AgentLocation::Runner(remote.clone());
        record(
            messages,
            DialogueSession::start(wrong.clone()).await.map(drop),
        );
        record(
            messages,
            DialogueSession::attach(remote, SessionId::random(), wrong)
                .await
                .map(drop),
        );
    }
    let mut missing = good.clone();
    missing.program = "/no/such/agent".into();
    record(messages, DialogueSession::start(missing).await.map(drop));
    let attached = DialogueSession::attach(remote, SessionId::random(), good.clone());
    record(messages, attached.await.map(drop));
    // A session whose order is not one, with secrets in it.
    for body in [
        json!({"kind": "dialogue", "program": 7, "env": {"set": {"CANARY": canaries.variable}}}),
        json!({"kind": "dialogue", "program": "/no/such", "env": {"set": {"CANARY": canaries.variable}}}),
        json!({"kind": "dialogue", "program": "sh", "env": {"set": [canaries.variable]}}),
        json!({"session": canaries.token}),
    ] {
        let response = remote
            .ask("POST", "/api/sessions", Bytes::from(body.to_string()))
            .await;
        let (status, body) = response.map_err(io::Error::other)?;
        messages.push(format!("{status} {}", String::from_utf8_lossy(&body)));
    }
    Ok(())
}

fn record<E: std::fmt::Display + std::fmt::Debug>(messages: &mut Vec<String>, done: Result<(), E>) {
    messages.push(match done {
        Ok(()) => "it went well".to_owned(),
        Err(error) => format!("{error} {error:?}"),
    });
}

/// A request to the hook server by another process.
async fn strangers(
    server: &HookServer,
    canaries: &Canaries,
    messages: &mut Vec<String>,
) -> io::Result<()> {
    let variables = server.environment("i").map_err(io::Error::other)?;
    let value = |wanted: &str| {
        let found = variables.iter().find(|(name, _)| *name == wanted);
        found
            .map(|(_, value)| value.expose_secret().to_owned())
            .unwrap_or_default()
    };
    let url = value("BOWLINE_HOOK_URL");
    let rest = url.strip_prefix("http://").unwrap_or_default();
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    for token in [value("BOWLINE_HOOK_TOKEN"), canaries.guess.clone()] {
        let mut stream = TcpStream::connect(address).await?;
        let junk = &canaries.junk;
        let head = format!(
            "POST /{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{junk}",
            junk.len()
        );
        stream.write_all(head.as_bytes()).await?;
        let mut answer = String::new();
        within("an answer", stream.read_to_string(&mut answer)).await?;
        messages.push(answer);
    }
    Ok(())
}

/// A panic that shows what the host has.
fn panic_with(shown: &(dyn std::fmt::Debug + Sync)) {
    std::thread::scope(|scope| {
        let fallen = scope.spawn(|| fall(shown));
        // It is what was wanted.
        let _ = fallen.join();
    });
}

fn fall(shown: &dyn std::fmt::Debug) {
    panic!("the host falls with {shown:#?}");
}
