//! Claims conversations for sessions: one writer for each in the fleet.

use bowline_process::SessionId;

use crate::bus::{Bucket, BusError, Entry, KeyStore};
use crate::directory::{
    ClaimDecision, ClaimRecord, ConversationKey, RunnerId, SessionRecord, decide_claim,
};

/// Attempts to write a claim that other runners write at the same time.
const ATTEMPTS: usize = 8;

/// Whether a session has the claim of its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It has, under this revision of the key.
    Held(u64),
    /// Another session has it.
    Refused(ClaimRecord),
}

/// Claims a conversation for a session, unless another session that has not ended has it. `takes_over` is set when a
/// person or a policy asked for a takeover.
///
/// # Errors
///
/// The broker fails.
pub async fn claim<B: KeyStore>(
    bus: &B,
    conversation: &ConversationKey,
    runner: &RunnerId,
    session: SessionId,
    takes_over: bool,
) -> Result<ClaimOutcome, BusError> {
    let key = conversation.key();
    for _ in 0..ATTEMPTS {
        let found = bus.get(Bucket::Claims, &key).await?;
        let revision = found.as_ref().map_or(0, |it| it.revision);
        let stored = found.as_ref().and_then(record::<ClaimRecord>);
        let is_free = match &stored {
            Some(by) if !takes_over => has_ended(bus, by).await?,
            _ => takes_over,
        };
        match decide_claim(stored.as_ref(), runner, session, is_free) {
            ClaimDecision::Held => return Ok(ClaimOutcome::Held(revision)),
            ClaimDecision::Refused { by } => return Ok(ClaimOutcome::Refused(by)),
            ClaimDecision::Put(claim) => {
                let value = serde_json::to_vec(&claim).map_err(|error| other(&error))?;
                match bus.cas(Bucket::Claims, &key, revision, value.into()).await {
                    Ok(revision) => return Ok(ClaimOutcome::Held(revision)),
                    Err(BusError::WrongLast) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Err(BusError::WrongLast)
}

/// Gives up the claim of a conversation, if the session has it.
///
/// # Errors
///
/// The broker fails, or the claim was taken over meanwhile.
pub async fn release<B: KeyStore>(
    bus: &B,
    conversation: &ConversationKey,
    runner: &RunnerId,
    session: SessionId,
) -> Result<(), BusError> {
    let key = conversation.key();
    let Some(found) = bus.get(Bucket::Claims, &key).await? else {
        return Ok(());
    };
    let is_own = |it: &ClaimRecord| it.runner == *runner && it.session == session;
    if record::<ClaimRecord>(&found).as_ref().is_some_and(is_own) {
        bus.delete(Bucket::Claims, &key, found.revision).await?;
    }
    Ok(())
}

/// Returns whether the session of a claim has ended, as the runner of the claim has recorded it. The claim of a runner
/// that was stopped before it gave it up is free then; that of a silent one is not.
async fn has_ended<B: KeyStore>(bus: &B, claim: &ClaimRecord) -> Result<bool, BusError> {
    let found = bus
        .get(Bucket::Sessions, &claim.session.to_string())
        .await?;
    let session = found.as_ref().and_then(record::<SessionRecord>);
    Ok(session.is_some_and(|it| it.runner == claim.runner && it.has_ended()))
}

/// Reads a value. One that a later version wrote differently counts as absent.
fn record<T: serde::de::DeserializeOwned>(entry: &Entry) -> Option<T> {
    serde_json::from_slice(entry.value.as_deref()?).ok()
}

fn other(error: &serde_json::Error) -> BusError {
    BusError::Other(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeBus;

    fn runner(name: &str) -> RunnerId {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn claim_is_held_until_released_or_taken_over() {
        let (bus, conversation) = (FakeBus::default(), ConversationKey::new("claude", "c"));
        let (a, b) = (runner("a"), runner("b"));
        let (first, second) = (SessionId::random(), SessionId::random());
        let claim = async |runner: &RunnerId, session, takes_over| {
            claim(&bus, &conversation, runner, session, takes_over)
                .await
                .unwrap()
        };
        let is_held = |it: &ClaimOutcome| matches!(it, ClaimOutcome::Held(_));
        assert!(is_held(&claim(&a, first, false).await));
        assert!(is_held(&claim(&a, first, false).await));
        let ClaimOutcome::Refused(by) = claim(&b, second, false).await else {
            panic!("another runner has it");
        };
        assert_eq!(
            (by.runner, by.session, by.generation),
            (a.clone(), first, 1)
        );
        // The holder's own release, and that of another session.
        release(&bus, &conversation, &b, second).await.unwrap();
        assert!(!is_held(&claim(&b, second, false).await));
        assert!(is_held(&claim(&b, second, true).await));
        release(&bus, &conversation, &a, first).await.unwrap();
        assert!(!is_held(&claim(&a, first, false).await));
        release(&bus, &conversation, &b, second).await.unwrap();
        assert!(is_held(&claim(&a, first, false).await));
    }

    #[tokio::test]
    async fn concurrent_claims_have_one_holder() {
        let (bus, conversation) = (FakeBus::default(), ConversationKey::new("claude", "c"));
        let mut claims = tokio::task::JoinSet::new();
        for n in 0..16 {
            let (bus, conversation) = (bus.clone(), conversation.clone());
            claims.spawn(async move {
                let runner = runner(&format!("r{n}"));
                claim(&bus, &conversation, &runner, SessionId::random(), false).await
            });
        }
        let outcomes = claims.join_all().await;
        let held = outcomes
            .iter()
            .filter(|it| matches!(it, Ok(ClaimOutcome::Held(_))));
        assert_eq!(held.count(), 1, "{outcomes:?}");
    }
}
