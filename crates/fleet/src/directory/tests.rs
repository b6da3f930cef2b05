//! The directory against a model of runners that are cut off, take sessions over and come back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bowline_process::SessionId;
use bowline_wire::Epoch;
use proptest::prelude::*;

use super::*;
use crate::log::Positions;

fn runner(n: usize) -> RunnerId {
    format!("runner-{n}").parse().unwrap()
}

fn record(owner: usize, generation: u64, epoch: u128) -> SessionRecord {
    SessionRecord {
        runner: runner(owner),
        generation,
        epoch: Epoch(epoch),
        summary: serde_json::json!({}),
        ends: Positions::default(),
        copied: Positions::default(),
        is_durable: false,
        index: LogIndex::default(),
        earlier: Vec::new(),
        claimed_by: None,
        git: None,
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// A runner reads the record of the session.
    Read(usize),
    /// It writes what it decided from what it read.
    Update(usize),
    /// It takes the session over, from what it read.
    TakeOver(usize),
    /// The child at the runner starts again, in a new epoch.
    Relaunch(usize),
}

/// A runner's view: what it runs, and what it read of the directory.
#[derive(Clone, Debug, Default)]
struct Runner {
    epoch: Option<u128>,
    generation: u64,
    read: Option<(u64, Option<SessionRecord>)>,
    is_fenced: bool,
}

proptest! {
    #[test]
    fn takeovers_keep_every_epoch_and_one_owner_a_generation(
        events in prop::collection::vec((0_usize..3, 0_usize..4).prop_map(|(n, kind)| match kind {
            0 => Event::Read(n),
            1 => Event::Update(n),
            2 => Event::TakeOver(n),
            _ => Event::Relaunch(n),
        }), 0..80)
    ) {
        let mut runners = vec![Runner::default(); 3];
        runners[0] = Runner { epoch: Some(1), generation: 1, ..Runner::default() };
        let mut next_epoch = 2;
        let mut stored: (u64, Option<SessionRecord>) = (0, None);
        let mut owners: BTreeMap<u64, RunnerId> = BTreeMap::new();
        let mut published: BTreeSet<u128> = BTreeSet::new();
        for event in events {
            match event {
                Event::Read(n) => runners[n].read = Some(stored.clone()),
                Event::Relaunch(n) => if runners[n].epoch.is_some() {
                    runners[n].epoch = Some(next_epoch);
                    next_epoch += 1;
                },
                Event::Update(n) => {
                    let (Some(epoch), Some((revision, read))) = (runners[n].epoch, runners[n].read.take()) else {
                        continue;
                    };
                    let own = record(n, runners[n].generation, epoch);
                    match decide_ownership(read.as_ref(), own) {
                        OwnershipDecision::Superseded { generation, .. } => {
                            prop_assert!(generation >= runners[n].generation);
                            runners[n].is_fenced = true;
                        }
                        // Compare and set.
                        OwnershipDecision::Put(record) => if revision == stored.0 {
                            runners[n].generation = record.generation;
                            published.insert(record.epoch.0);
                            let owner = owners.entry(record.generation).or_insert_with(|| record.runner.clone());
                            prop_assert_eq!(&*owner, &record.runner);
                            stored = (revision + 1, Some(*record));
                        },
                    }
                }
                Event::TakeOver(n) => {
                    let Some((revision, Some(read))) = runners[n].read.take() else { continue };
                    let record = take_over(&read, runner(n), Epoch(next_epoch));
                    if revision == stored.0 {
                        prop_assert!(record.generation > read.generation);
                        prop_assert!(owners.insert(record.generation, runner(n)).is_none());
                        let before = read.generation;
                        runners[n] = Runner {
                            epoch: Some(next_epoch), generation: before + 1, ..Runner::default()
                        };
                        published.insert(next_epoch);
                        next_epoch += 1;
                        stored = (revision + 1, Some(record));
                    }
                }
            }
            if let Some(record) = &stored.1 {
                let kept: BTreeSet<_> = record.earlier.iter().map(|it| it.epoch.0).chain([record.epoch.0]).collect();
                prop_assert_eq!(&kept, &published);
                let generations: Vec<_> = record.earlier.iter().map(|it| it.generation).chain([record.generation]).collect();
                prop_assert!(generations.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", generations);
            }
        }
        // A runner that reads what another one took over is fenced.
        if let Some(stored) = &stored.1 {
            for (n, it) in runners.iter().enumerate().filter(|(n, _)| runner(*n) != stored.runner) {
                if let Some(epoch) = it.epoch {
                    let decided = decide_ownership(Some(stored), record(n, it.generation, epoch));
                    let is_superseded = matches!(decided, OwnershipDecision::Superseded { .. });
                    prop_assert!(is_superseded);
                }
            }
        }
    }
}

#[test]
fn claim_is_taken_only_when_asked() {
    let (a, b) = (SessionId::random(), SessionId::random());
    let ClaimDecision::Put(first) = decide_claim(None, &runner(0), a, false) else {
        panic!("a free conversation is claimed");
    };
    assert_eq!(
        decide_claim(Some(&first), &runner(0), a, false),
        ClaimDecision::Held
    );
    let refused = decide_claim(Some(&first), &runner(1), b, false);
    assert_eq!(refused, ClaimDecision::Refused { by: first.clone() });
    let taken = decide_claim(Some(&first), &runner(1), b, true);
    let expected = ClaimRecord {
        runner: runner(1),
        session: b,
        generation: 2,
    };
    assert_eq!(taken, ClaimDecision::Put(expected));
}

#[test]
fn lease_is_held_for_its_age_from_the_write() {
    let start = Instant::now();
    let mut lease = Lease::new("a".into(), start);
    assert_eq!(lease.poll(start), Some(LeaseStep::Create));
    let later = start + Duration::from_secs(3);
    lease.on_reply(LeaseReply::Written(7), start, later);
    assert_eq!(lease.poll(later), None);
    assert_eq!(lease.poll(start + RENEW_EVERY), Some(LeaseStep::Update(7)));
    let before = start + LEASE_AGE - Duration::from_millis(1);
    assert_eq!(lease.state(before), LeaseState::Held);
    lease.on_reply(LeaseReply::Failed, later, later);
    assert_eq!(lease.state(start + LEASE_AGE), LeaseState::Lapsed);
    // The server forgot it.
    lease.on_reply(LeaseReply::Found(None), later, later);
    assert_eq!(lease.poll(later), Some(LeaseStep::Create));
    // A write whose reply was lost.
    lease.on_reply(LeaseReply::Found(Some((9, "a".into()))), later, later);
    assert_eq!(lease.poll(later), Some(LeaseStep::Update(9)));
    lease.on_reply(LeaseReply::Found(Some((11, "b".into()))), later, later);
    assert_eq!(lease.state(later), LeaseState::Taken("b".into()));
}

#[test]
fn silence_is_derived_from_the_lease() {
    let session = record(0, 1, 1);
    let lease = RunnerRecord {
        runner: runner(0),
        name: "laptop".into(),
        boot: "x".into(),
        version: "1".into(),
        link: link_subject(&runner(0)),
        sessions: 1,
    };
    let live = Reach::Live {
        link: "bl.link.runner-0".into(),
    };
    assert_eq!(reach(&session, Some(&lease), Some(5)), live);
    assert_eq!(
        reach(&session, None, Some(5)),
        Reach::Silent { since_ms: Some(5) }
    );
}

#[test]
fn names_fit_in_subjects_and_keys() {
    for bad in ["", "a.b", "a b", "*", ">", "ü", &"x".repeat(65)] {
        assert_eq!(bad.parse::<RunnerId>(), Err(BadName), "{bad}");
    }
    let conversation = ConversationKey::new("claude", "ab.c d");
    assert_eq!(conversation.key(), "claude.ab=2Ec=20d");
    let (session, epoch) = (SessionId::random(), Epoch(1));
    assert!(log_subject(session, epoch).starts_with(&log_filter(session).replace('>', "")));
}
