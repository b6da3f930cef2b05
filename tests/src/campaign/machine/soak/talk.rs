//! Dialogues of a soak: each transcript is to be the one of the same conversation that nobody
//! interrupted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession, Place};
use bowline_transport::Remote;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant as At, sleep_until};

use crate::campaign::Report;
use crate::campaign::machine::program::AGENT;
use crate::campaign::support::{own, within};
use crate::faceless::{difference, faceless};
use crate::session::{answered, terminate, transcript};

/// Between an answer and the next prompt.
const PAUSE: Duration = Duration::from_secs(2);

/// Prompts of a dialogue, over and over.
const PROMPTS: [&str; 5] = [
    "hello",
    "/tool ls",
    "/agent look around",
    "/lines 40",
    "/fail ls",
];

/// A dialogue with the understudy.
#[derive(Debug)]
pub(super) struct Talk {
    session: DialogueSession,
    said: usize,
}

impl Talk {
    /// Begins one at a runner, or here.
    pub(super) async fn start(remote: Option<&Remote>) -> Result<Self, String> {
        let configuration = DialogueConfiguration {
            program: own().into(),
            leading_args: vec![AGENT.into()],
            args: vec!["--pace".into(), "0".into()],
            place: remote.cloned().map_or(Place::Here, Place::Runner),
            ..DialogueConfiguration::default()
        };
        let session = within("a dialogue", DialogueSession::start(configuration)).await?;
        let session = session.map_err(|error| error.to_string())?;
        Ok(Self { session, said: 0 })
    }

    /// Talks until then; answers with the number of prompts and what the transcript is.
    pub(super) fn until(mut self, end: At) -> JoinHandle<(usize, Value)> {
        tokio::spawn(async move {
            while At::now() < end {
                self.say().await;
                sleep_until(At::now() + PAUSE).await;
            }
            (self.said, self.end().await)
        })
    }

    async fn say(&mut self) {
        answered(&self.session, PROMPTS[self.said % PROMPTS.len()]).await;
        self.said += 1;
    }

    async fn end(self) -> Value {
        let told = faceless(transcript(&self.session).await);
        terminate(&self.session).await;
        told
    }
}

/// Each transcript is the one of the same conversation that nobody interrupted.
pub(super) async fn check(
    talks: Vec<JoinHandle<(usize, Value)>>,
    report: &mut Report,
) -> Result<(), String> {
    let (mut said, mut equal) = (0, 0);
    let mut calm = HashMap::new();
    for talk in talks {
        let ended = within("a dialogue's end", talk).await?;
        let (count, told) = ended.map_err(|error| error.to_string())?;
        said += count;
        let expected = match calm.entry(count) {
            Entry::Occupied(it) => it.into_mut(),
            Entry::Vacant(it) => it.insert(calmly(count).await?),
        };
        match difference(&told, expected, "transcript") {
            None => equal += 1,
            Some(what) => report.violation(format!("after {count} prompts: {what}")),
        }
    }
    report.note(format!(
        "{equal} dialogues of {said} prompts are as those nobody interrupted"
    ));
    Ok(())
}

/// What so many prompts come to when nobody interrupts.
async fn calmly(count: usize) -> Result<Value, String> {
    let mut talk = Talk::start(None).await?;
    while talk.said < count {
        talk.say().await;
    }
    Ok(talk.end().await)
}
