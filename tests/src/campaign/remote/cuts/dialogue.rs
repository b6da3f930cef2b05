//! A complete conversation with the understudy through a proxy; its transcript must equal that of a
//! local conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_lifecycle::{AgentLocation, DialogueConfiguration, DialogueSession, TerminationPolicy};
use bowline_transport::{Address, Boxed, ByteStream, Network};
use serde_json::Value;

use super::super::super::hidden;
use super::super::super::support::{own, within};
use super::super::daemon::Daemon;
use super::super::network::Detour;
use super::{CuttingProxy, Tally};
use crate::chaos::Impatient;
use crate::normalize::{difference, normalized};
use crate::session::{converse, terminate, transcript};

/// The transcript of a local conversation.
pub(in crate::campaign) async fn expected() -> Result<Value, String> {
    transcript_of(configuration(AgentLocation::Local), || {}).await
}

pub(super) async fn run(
    daemon: &Daemon,
    faults: &CuttingProxy<'_>,
    expected: &Value,
    is_grpc: bool,
) -> Result<Tally, String> {
    let first = Arc::new(Detour(daemon.address()));
    let network = BehindTheFirst::new(first, Arc::new(Detour(faults.proxy.address())));
    let mut remote = daemon.remote_over(Arc::new(Impatient::new(Arc::new(network))));
    if is_grpc {
        let url = format!("grpc://{}", daemon.address()).parse();
        remote.url = url.map_err(|error| format!("{error}"))?;
    }
    let interrupted = transcript_of(configuration(AgentLocation::Runner(remote)), || {
        faults.calm()
    })
    .await?;
    match difference(&interrupted, expected, "transcript") {
        Some(difference) => Err(difference),
        None => Ok(Tally {
            dialogues: 1,
            ..Tally::default()
        }),
    }
}

pub(crate) fn configuration(place: AgentLocation) -> DialogueConfiguration {
    DialogueConfiguration {
        program: own().into(),
        leading_args: vec![hidden::AGENT.into()],
        args: vec!["--pace".into(), "0".into()],
        location: place,
        termination: TerminationPolicy {
            eof_grace: Duration::from_millis(200),
            term_grace: Duration::from_millis(200),
            ..TerminationPolicy::default()
        },
        ..DialogueConfiguration::default()
    }
}

/// Holds a conversation, and returns its transcript, which is whole when `at_its_end` is called.
pub(in crate::campaign) async fn transcript_of(
    configuration: DialogueConfiguration,
    at_its_end: impl Fn(),
) -> Result<Value, String> {
    let session = within("a start", DialogueSession::start(configuration)).await?;
    let session = session.map_err(|error| error.to_string())?;
    converse(&session).await;
    let transcript_of = normalized(transcript(&session).await);
    at_its_end();
    terminate(&session).await;
    Ok(transcript_of)
}

/// The request that creates the session is not retried, so its connection is made over a network that is not
/// interrupted, and the connections after it over another one.
#[derive(Debug)]
pub(in crate::campaign) struct BehindTheFirst {
    first: Arc<dyn Network>,
    later: Arc<dyn Network>,
    is_made: AtomicBool,
}

impl BehindTheFirst {
    pub(in crate::campaign) fn new(first: Arc<dyn Network>, later: Arc<dyn Network>) -> Self {
        Self {
            first,
            later,
            is_made: AtomicBool::new(false),
        }
    }
}

impl Network for BehindTheFirst {
    fn connect<'a>(&'a self, to: Address<'a>) -> Boxed<'a, std::io::Result<Box<dyn ByteStream>>> {
        if self.is_made.swap(true, Ordering::Relaxed) {
            self.later.connect(to)
        } else {
            self.first.connect(to)
        }
    }
}
