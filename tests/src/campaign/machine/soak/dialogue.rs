//! Dialogues of a soak run: each transcript must equal that of the same conversation without
//! interruptions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::time::Duration;

use bowline_lifecycle::{
    AgentLocation, DialectName, DialogueConfiguration, DialogueSession, HostRequest, Prompt,
    ReceiptState,
};
use bowline_transport::{Remote, SessionId};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio::time::{Instant as At, sleep_until};

use crate::campaign::Report;
use crate::campaign::machine::program::AGENT;
use crate::campaign::support::{own, within};
use crate::normalize::{difference, normalized};
use crate::session::{terminate, transcript};

/// Pause between an answer and the next prompt.
const PAUSE: Duration = Duration::from_secs(2);

/// Prompts of a dialogue, repeated.
const PROMPTS: [&str; 5] = [
    "hello",
    "/tool ls",
    "/agent look around",
    "/lines 40",
    "/fail ls",
];

/// The protocols of the dialogues, in turn.
pub(super) const DIALECTS: [DialectName; 3] =
    [DialectName::Claude, DialectName::Codex, DialectName::Acp];

/// A dialogue with the understudy.
#[derive(Debug)]
pub(super) struct Dialogue {
    session: DialogueSession,
    dialect: DialectName,
    prompts: usize,
}

impl Dialogue {
    /// Starts a dialogue at a runner, or in this process.
    pub(super) async fn start(
        remote: Option<&Remote>,
        dialect: DialectName,
    ) -> Result<Self, String> {
        // The mode of this program comes before the arguments of the protocol.
        let mode = [AGENT, "--pace", "0", "--dialect", dialect.as_str()];
        let configuration = DialogueConfiguration {
            program: own().into(),
            dialect,
            cwd: Some("/".into()),
            leading_args: mode.map(OsString::from).to_vec(),
            location: remote
                .cloned()
                .map_or(AgentLocation::Local, AgentLocation::Runner),
            ..DialogueConfiguration::default()
        };
        let session = within("a dialogue", DialogueSession::start(configuration)).await?;
        let session = session.map_err(|error| error.to_string())?;
        Ok(Self {
            session,
            dialect,
            prompts: 0,
        })
    }

    pub(super) fn id(&self) -> SessionId {
        self.session.id()
    }

    /// Sends each prompt once, and waits until the agent has written everything about them: some lines come after an
    /// answer, and all before the response to a later request.
    pub(super) async fn send_each(&mut self) -> Result<(), String> {
        for _ in PROMPTS {
            self.send_prompt().await?;
        }
        let request = HostRequest::Other {
            subtype: "get_context_usage".to_owned(),
            fields: Map::new(),
        };
        let response = within("a response", self.session.request(request)).await?;
        response.map(drop).map_err(|error| error.to_string())
    }

    /// Sends prompts until `end`.
    pub(super) fn until(mut self, end: At) -> JoinHandle<Result<Finished, String>> {
        tokio::spawn(async move {
            while At::now() < end {
                self.send_prompt().await?;
                sleep_until(At::now() + PAUSE).await;
            }
            Ok(Finished {
                dialect: self.dialect,
                prompts: self.prompts,
                transcript: self.end().await,
            })
        })
    }

    /// Sends the next prompt. The error of an unanswered prompt includes the state of session and
    /// link.
    async fn send_prompt(&mut self) -> Result<(), String> {
        let prompt = Prompt::text(PROMPTS[self.prompts % PROMPTS.len()]);
        let sent = within("a prompt", self.session.send(prompt)).await?;
        let mut receipt = sent.map_err(|error| error.to_string())?;
        let settled = within("an answer", receipt.settled()).await;
        self.prompts += 1;
        if settled == Ok(ReceiptState::Answered) {
            return Ok(());
        }
        let (number, id, state) = (self.prompts, self.session.id(), receipt.state());
        let link = self.session.connection().borrow().clone();
        let last_activity = self.session.last_activity().await;
        Err(format!(
            "prompt {number} of {id} is {state:?} ({settled:?}); the link is {link:?}, last activity: \
             {last_activity:?}"
        ))
    }

    pub(super) async fn end(self) -> Value {
        let transcript = normalized(transcript(&self.session).await);
        terminate(&self.session).await;
        transcript
    }
}

/// A dialogue that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    dialect: DialectName,
    prompts: usize,
    transcript: Value,
}

/// Compares each transcript with that of an uninterrupted conversation.
pub(super) async fn check(
    dialogues: Vec<JoinHandle<Result<Finished, String>>>,
    report: &mut Report,
) -> Result<(), String> {
    let (mut prompts, mut equal) = (0, 0);
    let mut uninterrupted_transcripts = HashMap::new();
    for dialogue in dialogues {
        let ended = within("a dialogue's end", dialogue).await?;
        let ended = ended.unwrap_or_else(|error| Err(error.to_string()));
        let Finished {
            dialect,
            prompts: count,
            transcript,
        } = match ended {
            Ok(finished) => finished,
            Err(why) => {
                report.violation(why);
                continue;
            }
        };
        prompts += count;
        let expected = match uninterrupted_transcripts.entry((dialect.as_str(), count)) {
            Entry::Occupied(it) => it.into_mut(),
            Entry::Vacant(it) => it.insert(uninterrupted(dialect, count).await?),
        };
        match difference(&transcript, expected, "transcript") {
            None => equal += 1,
            Some(what) => {
                let dialect = dialect.as_str();
                report.violation(format!("{dialect}, after {count} prompts: {what}"));
            }
        }
    }
    report.note(format!(
        "{equal} dialogues of {prompts} prompts equal uninterrupted ones"
    ));
    Ok(())
}

/// Transcript of this number of prompts without interruptions.
async fn uninterrupted(dialect: DialectName, count: usize) -> Result<Value, String> {
    let mut dialogue = Dialogue::start(None, dialect).await?;
    while dialogue.prompts < count {
        dialogue.send_prompt().await?;
    }
    Ok(dialogue.end().await)
}
