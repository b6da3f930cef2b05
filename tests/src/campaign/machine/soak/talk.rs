//! Dialogues of a soak: each transcript is to be the one of the same conversation that nobody
//! interrupted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use bowline_lifecycle::{
    AgentLocation, DialogueConfiguration, DialogueSession, Prompt, ReceiptState,
};
use bowline_transport::Remote;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant as At, sleep_until};

use crate::campaign::Report;
use crate::campaign::machine::program::AGENT;
use crate::campaign::support::{own, within};
use crate::faceless::{difference, faceless};
use crate::session::{terminate, transcript};

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
            location: remote
                .cloned()
                .map_or(AgentLocation::Local, AgentLocation::Runner),
            ..DialogueConfiguration::default()
        };
        let session = within("a dialogue", DialogueSession::start(configuration)).await?;
        let session = session.map_err(|error| error.to_string())?;
        Ok(Self { session, said: 0 })
    }

    /// Talks until then; answers with the number of prompts and what the transcript is.
    pub(super) fn until(mut self, end: At) -> JoinHandle<Result<(usize, Value), String>> {
        tokio::spawn(async move {
            while At::now() < end {
                self.say().await?;
                sleep_until(At::now() + PAUSE).await;
            }
            Ok((self.said, self.end().await))
        })
    }

    /// Says the next prompt. When it is not answered, how far it and the link have come says why.
    async fn say(&mut self) -> Result<(), String> {
        let prompt = Prompt::text(PROMPTS[self.said % PROMPTS.len()]);
        let sent = within("a prompt", self.session.send(prompt)).await?;
        let mut receipt = sent.map_err(|error| error.to_string())?;
        let settled = within("an answer", receipt.settled()).await;
        self.said += 1;
        if settled == Ok(ReceiptState::Answered) {
            return Ok(());
        }
        let (number, id, state) = (self.said, self.session.id(), receipt.state());
        let link = self.session.connection().borrow().clone();
        let heard = self.session.last_activity().await;
        Err(format!(
            "prompt {number} of {id} is {state:?} ({settled:?}); the link is {link:?}, last heard: \
             {heard:?}"
        ))
    }

    async fn end(self) -> Value {
        let told = faceless(transcript(&self.session).await);
        terminate(&self.session).await;
        told
    }
}

/// Each transcript is the one of the same conversation that nobody interrupted.
pub(super) async fn check(
    talks: Vec<JoinHandle<Result<(usize, Value), String>>>,
    report: &mut Report,
) -> Result<(), String> {
    let (mut said, mut equal) = (0, 0);
    let mut calm = HashMap::new();
    for talk in talks {
        let ended = within("a dialogue's end", talk).await?;
        let ended = ended.unwrap_or_else(|error| Err(error.to_string()));
        let (count, told) = match ended {
            Ok(talked) => talked,
            Err(why) => {
                report.violation(why);
                continue;
            }
        };
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
        talk.say().await?;
    }
    Ok(talk.end().await)
}
