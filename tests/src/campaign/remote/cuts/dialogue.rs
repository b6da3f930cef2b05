//! A complete conversation with the understudy through a proxy; its transcript must equal that of a
//! local conversation.

use std::sync::Arc;
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
pub(super) async fn expected() -> Result<Value, String> {
    transcript_of(configuration(AgentLocation::Local), || {}).await
}

pub(super) async fn run(
    daemon: &Daemon,
    faults: &CuttingProxy<'_>,
    expected: &Value,
    is_grpc: bool,
) -> Result<Tally, String> {
    let network = BehindTheFirst {
        runner: Detour(daemon.address()),
        proxy: Detour(faults.proxy.address()),
        is_made: false.into(),
    };
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

fn configuration(place: AgentLocation) -> DialogueConfiguration {
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

async fn transcript_of(
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

/// The request that creates the session is not retried, so it goes directly to the runner;
/// everything after it goes through the proxy.
#[derive(Debug)]
struct BehindTheFirst {
    runner: Detour,
    proxy: Detour,
    is_made: std::sync::atomic::AtomicBool,
}

impl Network for BehindTheFirst {
    fn connect<'a>(&'a self, to: Address<'a>) -> Boxed<'a, std::io::Result<Box<dyn ByteStream>>> {
        if self
            .is_made
            .swap(true, std::sync::atomic::Ordering::Relaxed)
        {
            self.proxy.connect(to)
        } else {
            self.runner.connect(to)
        }
    }
}
