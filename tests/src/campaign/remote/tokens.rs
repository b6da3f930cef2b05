//! Unauthenticated clients: wrong tokens of every kind, foreign host names and origins, and bare
//! upgrades.
//!
//! Checked: each of them receives a refusal and nothing else, whatever it sends afterwards; no
//! session is reached; and the timing of a refusal does not depend on how wrong the token was.

mod timing;
mod ways;

use std::sync::Arc;

use bowline_transport::{Configuration, PtyMode, SessionId};
use bytes::Bytes;
use tokio::task::JoinSet;

use super::super::support::{on_pty, runtime};
use super::super::{Job, Random, Report};
use super::daemon::Daemon;
use super::http::Caller;

/// Number of concurrent clients.
const LANES: u64 = 16;

/// Session output that must not leak.
const SECRET: &str = "canary-4711";

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(attack(job, &mut report)) {
        report.violation(error);
    }
    report
}

/// The targets of the requests, and the data that must not leak.
#[derive(Debug)]
struct Target {
    daemon: Daemon,
    session: SessionId,
}

async fn attack(job: &Job, report: &mut Report) -> Result<(), String> {
    let daemon = Daemon::start()?;
    let mut shell = on_pty(Configuration::new("/bin/sh"), PtyMode::Cooked);
    shell.args = vec!["-c".into(), format!("echo {SECRET}; cat").into()];
    let session = daemon.leave(shell).await?;
    let target = Arc::new(Target { daemon, session });
    let attaches = target.attaches().await?;
    guess(job, &target, report).await?;
    let cases = ways::all(&target).await?;
    report.note(format!(
        "{cases} hosts, pages and upgrades were turned away"
    ));
    if target.attaches().await? != attaches {
        report.violation("a session was reached".to_owned());
    }
    timing::compare(&target, job, report).await
}

impl Target {
    /// Number of attaches that any endpoint accepted.
    async fn attaches(&self) -> Result<Vec<String>, String> {
        let response = self.daemon.remote();
        let response = response.ask("GET", "/metrics", Bytes::new()).await;
        let (_, text) = response.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text.lines().filter(|line| line.contains("attaches"));
        let lines: Vec<_> = lines.map(str::to_owned).collect();
        if lines.is_empty() {
            return Err("the metrics do not count attaches".to_owned());
        }
        Ok(lines)
    }

    /// Whether a response is a refusal that reveals nothing.
    fn is_refused(&self, status: u16, text: &str) -> Result<(), String> {
        let secrets = [SECRET, self.daemon.token(), &self.session.to_string()];
        // gRPC reports a refusal in a header: 16 (unauthenticated) or 7 (permission denied).
        let is_grpc = ["grpc-status: 16\r", "grpc-status: 7\r"];
        let is_grpc = status == 200 && is_grpc.iter().any(|it| text.contains(it));
        let is_refusal = (400..500).contains(&status) || is_grpc;
        if !is_refusal || secrets.iter().any(|it| text.contains(it)) {
            return Err(format!("{status}: {text:?}"));
        }
        Ok(())
    }
}

/// Tries wrong tokens concurrently.
async fn guess(job: &Job, target: &Arc<Target>, report: &mut Report) -> Result<(), String> {
    let mut lanes = JoinSet::new();
    let share = job.count.div_ceil(LANES);
    for lane in 0..LANES {
        let target = Arc::clone(target);
        let mut random = Random::new(job.seed ^ (lane << 32));
        lanes.spawn(async move {
            let mut done = 0;
            while done < share {
                done += u64::from(try_one(&target, &mut random).await?);
            }
            Ok::<u64, String>(done)
        });
    }
    while let Some(done) = lanes.join_next().await {
        match done.map_err(|error| error.to_string())? {
            Ok(done) => report.done += done,
            Err(why) => report.violation(why),
        }
    }
    Ok(())
}

/// Sends a request and checks the response, after which the connection ends. Returns whether it was
/// answered; a connection that was too slow is closed without a response.
async fn try_one(target: &Target, random: &mut Random) -> Result<bool, String> {
    let mut caller = Caller::connect(target.daemon.address(), random).await?;
    let head = head(target, random);
    let answer = match caller.ask(&head).await {
        Ok(answer) => answer,
        Err(_) if caller.is_overdue() => return Ok(false),
        Err(why) => return Err(why),
    };
    let refused = target.is_refused(answer.status, &answer.text);
    refused.map_err(|why| format!("{head:?} is answered {why}"))?;
    let rest = caller.rest().await;
    if rest.is_empty() {
        return Ok(true);
    }
    let rest = String::from_utf8_lossy(&rest);
    Err(format!("{head:?} is answered twice: {rest:?}"))
}

fn head(target: &Target, random: &mut Random) -> String {
    let shown = wrong(target.daemon.token(), random);
    let (method, path) = ways::place(target.session, random.draw());
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\n{shown}\r\n",
        target.daemon.address()
    )
}

/// A header with a wrong token, or none.
fn wrong(token: &str, random: &mut Random) -> String {
    let length = token.len() as u64;
    let cut = random.below(length) as usize;
    let (front, back) = token.split_at(cut);
    let noise: String = (0..length)
        .map(|_| char::from(b'A' + random.below(26) as u8))
        .collect();
    let (first, other) = (back.chars().next(), random.below(26) as u8);
    let other = char::from(b'a' + other);
    let other = if first == Some(other) { '0' } else { other };
    let flipped: String = front
        .chars()
        .chain([other])
        .chain(back.chars().skip(1))
        .collect();
    let bearer = |it: &str| format!("Authorization: Bearer {it}\r\n");
    match random.below(12) {
        0 => String::new(),
        1 => bearer(front),
        2 => bearer(back.get(1..).unwrap_or_default()),
        3 => bearer(&flipped),
        4 => bearer(&format!("{token}{other}")),
        5 => bearer(&format!("ticket-{noise}")),
        6 => format!("Authorization: Basic {token}\r\n"),
        7 => format!("Cookie: token={token}\r\n"),
        8 => bearer(&format!("{front} {back}")),
        9 => bearer(token) + &bearer(&noise),
        10 => format!("X-Token: {token}\r\nSec-WebSocket-Protocol: tok.{noise}\r\n"),
        _ => bearer(&noise),
    }
}
