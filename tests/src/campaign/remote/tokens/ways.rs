//! Requests that must be refused: the right token with a foreign host name or origin, and upgrades
//! without a token.

use bowline_transport::SessionId;

use super::super::super::Random;
use super::super::daemon::ORIGIN;
use super::super::http::Caller;
use super::Target;

/// The head of an upgrade.
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// The target of a request, by number.
pub(super) fn place(session: SessionId, number: u64) -> (&'static str, String) {
    let of = |rest: &str| format!("/api/sessions/{session}{rest}");
    match number % 10 {
        0 => ("GET", "/api/sessions".to_owned()),
        1 => ("POST", "/api/sessions".to_owned()),
        2 => ("GET", of("")),
        3 => ("DELETE", of("?force=true")),
        4 => ("GET", of("/log")),
        5 => ("GET", of("/attach")),
        6 => ("GET", "/api/panel".to_owned()),
        7 => ("POST", "/api/tickets".to_owned()),
        8 => ("GET", "/metrics".to_owned()),
        _ => ("POST", "/bowline.runner.v1.Runner/Attach".to_owned()),
    }
}

/// Tries every request and returns how many there are.
pub(super) async fn all(target: &Target) -> Result<usize, String> {
    let token = target.daemon.token();
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let own = format!("Host: {}\r\n", target.daemon.address());
    let port = target.daemon.address().port();
    let mut heads = Vec::new();
    for host in hosts(port) {
        heads.push(format!("Host: {host}\r\n{bearer}"));
    }
    heads.push(bearer.clone());
    heads.push(format!("{own}{own}{bearer}"));
    for origin in origins(port) {
        heads.push(format!("{own}{bearer}Origin: {origin}\r\n"));
    }
    heads.push(format!(
        "{own}{bearer}Origin: {ORIGIN}\r\nOrigin: {ORIGIN}\r\n"
    ));
    for site in ["cross-site", "same-site", "", "NONE"] {
        heads.push(format!("{own}{bearer}Sec-Fetch-Site: {site}\r\n"));
    }
    // Without a token: like a program, like the allowed origin, and with an obscured header.
    heads.push(own.clone());
    heads.push(format!("{own}Origin: {ORIGIN}\r\n"));
    for protocol in [
        "bowline.panel.v1",
        "bowline.frames.v1",
        "bowline.frames.v1, tok.",
    ] {
        heads.push(format!(
            "{own}Origin: {ORIGIN}\r\nSec-WebSocket-Protocol: {protocol}\r\n"
        ));
    }
    for head in &heads {
        for number in [0, 5, 6, 9] {
            one(target, head, number).await?;
        }
    }
    Ok(heads.len())
}

/// Sends a request on its own connection, followed by frames as if it had been accepted.
async fn one(target: &Target, head: &str, number: u64) -> Result<(), String> {
    let mut random = Random::new(number ^ head.len() as u64);
    let mut caller = Caller::connect(target.daemon.address(), &mut random).await?;
    let (method, path) = place(target.session, number);
    let upgrade = if matches!(number, 5 | 6) { UPGRADE } else { "" };
    let request = format!("{method} {path} HTTP/1.1\r\n{head}{upgrade}\r\n");
    let answer = caller.ask(&request).await?;
    let refused = target.is_refused(answer.status, &answer.text);
    refused.map_err(|why| format!("{request:?} is answered {why}"))?;
    // The bytes of a client's WebSocket message. The runner must not process them.
    let _ = caller.send("\u{2}\u{5}hello").await;
    let rest = String::from_utf8_lossy(&caller.rest().await).into_owned();
    let is_nothing = rest.is_empty() || rest.starts_with("HTTP/1.1 400");
    is_nothing
        .then_some(())
        .ok_or_else(|| format!("{request:?} receives {rest:?} after its refusal"))
}

/// Host names that resolve to this machine, or resemble ours, and are not ours.
fn hosts(port: u16) -> Vec<String> {
    let other = port.wrapping_add(1).max(1);
    vec![
        "attacker.example".to_owned(),
        format!("attacker.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{other}"),
        format!("127.0.0.1:{port}.attacker.example"),
        format!("127.0.0.1.attacker.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f000001:{port}"),
        format!("0177.0.0.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::]:{port}"),
        format!("[::1]:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        "localhost".to_owned(),
        format!("localhost.:{port}"),
        format!("localhost.attacker.example:{port}"),
        format!("localhost:{other}"),
        format!("user@127.0.0.1:{port}"),
        format!("127.0.0.1:{port},attacker.example"),
        format!("127.0.0.1:{port} attacker.example"),
    ]
}

/// Origins that are not allowed.
fn origins(port: u16) -> Vec<String> {
    vec![
        "null".to_owned(),
        "file://".to_owned(),
        "https://attacker.example".to_owned(),
        format!("{ORIGIN}:443"),
        format!("{ORIGIN}/"),
        format!("{ORIGIN}.attacker.example"),
        ORIGIN.replace("https", "http"),
        ORIGIN.to_uppercase(),
        ORIGIN.replace("panel", "sub.panel"),
        format!("{ORIGIN}, https://attacker.example"),
        format!("https://attacker.example/{ORIGIN}"),
        // Only pages of the server itself are accepted without being listed.
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", port ^ 1),
        format!("http://localhost.attacker.example:{port}"),
        "chrome-extension://".to_owned(),
    ]
}
