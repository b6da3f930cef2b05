//! A runner that is killed at random moments while it drives agents.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bowline_transport::Remote;
use bytes::Bytes;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::station::Station;
use crate::campaign::hidden::AGENT;
use crate::campaign::support::{own, run_to_end, within};
use crate::campaign::{Job, Random, Report};
use crate::script::write_script;

/// The protocols of the agents, one session each.
pub(super) const DIALECTS: [&str; 3] = ["claude", "codex", "acp"];

/// Prompts that are sent around each kill.
const PROMPTS: u64 = 3;

/// Latest kill after the first prompt of a run, in microseconds. The start of an agent, and a turn of the
/// understudy, take some milliseconds.
const KILL_WITHIN_US: u64 = 30_000;

/// Pause before a request is repeated that the runner did not answer.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

pub(crate) fn run(job: &Job) -> Report {
    run_to_end(job, campaign)
}

/// A conversation, and the ids of the prompts that were sent.
struct Driven {
    id: String,
    dialect: &'static str,
    prompts: Vec<String>,
}

async fn campaign(job: &Job, report: &mut Report) -> Result<(), String> {
    let mut random = Random::new(job.seed);
    let mut station = Station::new().await?;
    let mut sessions = Vec::new();
    for dialect in DIALECTS {
        sessions.push(start(&station.remote(), station.folder(), dialect).await?);
    }
    for _ in 0..job.count {
        let outcome = one(&mut random, &mut station, &mut sessions).await;
        report.one(outcome);
    }
    for session in &sessions {
        if let Err(error) = check(&station.remote(), session).await {
            report.violation(format!("{}: {error}", session.dialect));
        }
    }
    let sent: usize = sessions.iter().map(|it| it.prompts.len()).sum();
    report.note(format!("{sent} prompts in {} sessions", sessions.len()));
    Ok(())
}

/// Starts an agent. Its start is not killed here, since only the response tells the session's id.
async fn start(remote: &Remote, folder: &Path, dialect: &'static str) -> Result<Driven, String> {
    let mut args = vec![AGENT, "--pace", "0"];
    if dialect != "claude" {
        args.extend(["--dialect", dialect]);
    }
    // The mode of this program comes before the arguments of the protocol.
    let (program, args) = (own(), args.join(" "));
    let script = format!("#!/bin/sh\nexec '{}' {args} \"$@\"\n", program.display());
    let agent = folder.join(dialect);
    write_script(&agent, &script).map_err(|error| error.to_string())?;
    let body = json!({"agent": agent, "dialect": dialect, "cwd": "/"});
    let (status, started) = ask(remote, "POST", "/api/sessions", &body).await?;
    let id = started["id"].as_str().filter(|_| status == 201);
    let id = id.ok_or_else(|| format!("{dialect}: {status} {started}"))?;
    Ok(Driven {
        id: id.to_owned(),
        dialect,
        prompts: Vec::new(),
    })
}

/// Sends prompts, of which some are repeated, and kills the runner meanwhile.
async fn one(
    random: &mut Random,
    station: &mut Station,
    sessions: &mut [Driven],
) -> Result<(), String> {
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..PROMPTS {
        let session = &mut sessions[random.below(DIALECTS.len() as u64) as usize];
        let number = session.prompts.len();
        let bytes = random.bytes(6);
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let prompt = format!("00000000-0000-4000-8000-{digits}");
        session.prompts.push(prompt.clone());
        let body = json!({"text": format!("prompt {number}"), "id": prompt});
        let path = format!("/api/sessions/{}/prompt", session.id);
        sending.spawn(send(station.remote(), path, body, random.below(2) == 0));
    }
    sleep(Duration::from_micros(random.below(KILL_WITHIN_US))).await;
    station.end_runner(Signal::KILL).await?;
    station.start().await?;
    while let Some(sent) = sending.join_next().await {
        sent.map_err(|error| error.to_string())??;
    }
    Ok(())
}

/// Sends a prompt until it is accepted, and maybe once more.
async fn send(remote: Remote, path: String, body: Value, again: bool) -> Result<(), String> {
    let accepted = async {
        let mut left = if again { 2 } else { 1 };
        while left > 0 {
            match ask(&remote, "POST", &path, &body).await {
                Ok((202, _)) => left -= 1,
                Ok((status, problem)) if !(500..600).contains(&status) => {
                    return Err(format!("{path}: {status} {problem}"));
                }
                _ => sleep(RETRY_PAUSE).await,
            }
        }
        Ok(())
    };
    within("an accepted prompt", accepted).await?
}

/// Checks that each prompt was written and answered once.
async fn check(remote: &Remote, session: &Driven) -> Result<(), String> {
    let path = format!("/api/sessions/{}/transcript", session.id);
    let idle = async {
        loop {
            let (_, transcript) = ask(remote, "GET", &path, &Value::Null).await?;
            let entries = transcript["entries"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let is_prompt = |it: &&Value| it["kind"] == "user";
            let shown = entries.iter().filter(is_prompt).count();
            if transcript["status"]["phase"] == "idle" && shown >= session.prompts.len() {
                return Ok::<_, String>(shown);
            }
            sleep(RETRY_PAUSE).await;
        }
    };
    let shown = within("the answers", idle).await??;
    if shown != session.prompts.len() {
        return Err(format!(
            "{shown} of {} prompts are shown",
            session.prompts.len()
        ));
    }
    let log = format!("/api/sessions/{}/log?stream=input", session.id);
    let (_, input) = fetch(remote, "GET", &log, Bytes::new()).await?;
    let input = String::from_utf8_lossy(&input);
    let mut written = Vec::new();
    for line in input.lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let method = line["method"].as_str().unwrap_or_default();
        if line["type"] == "user" {
            written.push(line["uuid"].to_string());
        } else if ["turn/start", "session/prompt"].contains(&method) {
            written.push(line["id"].to_string());
        }
    }
    let distinct: BTreeSet<_> = written.iter().collect();
    if distinct.len() != written.len() || written.len() != session.prompts.len() {
        let (count, sent) = (written.len(), session.prompts.len());
        return Err(format!(
            "{count} prompts written, {} distinct, of {sent}",
            distinct.len()
        ));
    }
    Ok(())
}

async fn ask(
    remote: &Remote,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<(u16, Value), String> {
    let body = match body {
        Value::Null => Bytes::new(),
        body => Bytes::from(body.to_string()),
    };
    let (status, body) = fetch(remote, method, path, body).await?;
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

async fn fetch(
    remote: &Remote,
    method: &str,
    path: &str,
    body: Bytes,
) -> Result<(u16, Bytes), String> {
    let asked = remote.ask(method, path, body).await;
    asked.map_err(|error| error.to_string())
}
