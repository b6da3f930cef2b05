//! The frames door: what comes out is what the shim said, and nobody gets more than a lease.

use bowline_runner::wire::{Lease, Message, code};
use bowline_transport::Ladder;
use serde_json::json;

use crate::support::{Frames, Served, soon};

const ECHO: &str = "stty -echo; echo ready; while read line; do echo \"got $line\"; done";

#[tokio::test]
async fn frames_go_both_ways() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let (mut host, attached) = Frames::attach(&served, &id, Lease::Write).await;
    assert!(attached.generation > 0);
    host.reads("ready").await;
    let offset = attached.input_next;
    let bytes = "hello\n".into();
    host.says(Message::Input { offset, bytes }).await;
    host.reads("got hello").await;
}

#[tokio::test]
async fn a_host_reads_everything_from_the_beginning() {
    let served = Served::start().await;
    let id = served
        .shell("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end; read x")
        .await;
    let (mut host, _) = Frames::attach(&served, &id, Lease::Read).await;
    let text = host.reads("end").await;
    assert_eq!(text.matches('x').count(), 3_000_000);
}

#[tokio::test]
async fn a_new_holder_fences_the_old_one() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let (mut old, first) = Frames::attach(&served, &id, Lease::Write).await;
    let (mut new, second) = Frames::attach(&served, &id, Lease::Write).await;
    assert!(second.generation > first.generation);
    let (offset, bytes) = (0, "stale\n".into());
    old.says(Message::Input { offset, bytes }).await;
    let bytes = "fresh\n".into();
    new.says(Message::Input { offset, bytes }).await;
    let text = new.reads("got fresh").await;
    assert!(!text.contains("stale"), "{text:?}");
    let fenced = loop {
        match old.hear().await {
            Some(Message::Fenced { generation }) => break generation,
            Some(_) => {}
            None => panic!("shut without a word"),
        }
    };
    assert_eq!(fenced, second.generation);
}

#[tokio::test]
async fn a_ticket_gives_no_more_than_its_lease() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    for (lease, wants, is_given) in [
        ("read", Lease::Read, true),
        ("read", Lease::Append, false),
        ("read", Lease::Write, false),
        ("append", Lease::Append, true),
        ("append", Lease::Write, false),
        ("write", Lease::Write, true),
    ] {
        let wanted = json!({"session": id, "lease": lease});
        let ticket = served
            .ask("POST", "/api/tickets", Some(&wanted))
            .await
            .json();
        let ticket = ticket["ticket"].as_str().unwrap();
        let mut host = Frames::open(&served, &id, ticket).await.unwrap();
        let joined = host.join(&id, wants).await;
        assert_eq!(joined.is_ok(), is_given, "{lease} {wants:?}: {joined:?}");
    }
}

#[tokio::test]
async fn a_reader_may_neither_type_nor_kill() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let (mut host, _) = Frames::attach(&served, &id, Lease::Read).await;
    host.reads("ready").await;
    let (offset, bytes) = (0, "no\n".into());
    let kill = Message::Kill {
        id: "k".to_owned(),
        ladder: Ladder::AT_ONCE,
    };
    for message in [Message::Input { offset, bytes }, kill] {
        host.says(message).await;
        let refused = loop {
            match host.hear().await {
                Some(Message::Error { code, .. }) => break code,
                Some(_) => {}
                None => panic!("shut without a word"),
            }
        };
        assert_eq!(refused, code::NO_LEASE);
    }
}

#[tokio::test]
async fn an_attach_to_another_session_is_shut_out() {
    let served = Served::start().await;
    let (id, other) = (served.shell(ECHO).await, served.shell(ECHO).await);
    let mut host = Frames::open(&served, &id, served.token()).await.unwrap();
    assert_eq!(
        host.join(&other, Lease::Read).await.err().as_deref(),
        Some("closed")
    );
}

#[tokio::test]
async fn what_is_not_there_is_told_before_the_upgrade() {
    let served = Served::start().await;
    let nobody = "00000000-0000-4000-8000-000000000000";
    let opened = Frames::open(&served, nobody, served.token()).await;
    assert_eq!(opened.err(), Some(404));
    let opened = Frames::open(&served, "no-id", served.token()).await;
    assert_eq!(opened.err(), Some(404));
    let id = served.shell("exit 0").await;
    let path = format!("/api/sessions/{id}?keep=true");
    served.ask("DELETE", &path, None).await;
    assert_eq!(
        Frames::open(&served, &id, served.token()).await.err(),
        Some(410)
    );
}

#[tokio::test]
async fn a_killed_shim_is_told_as_a_loss_and_not_as_an_end() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let folder = served.folder(&id);
    let pid = folder.info().unwrap().unwrap().shim_pid.cast_signed();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let gone = async { while folder.connect().await.is_ok() {} };
    soon("the shim's end", gone).await;
    let opened = Frames::open(&served, &id, served.token()).await;
    assert_eq!(opened.err(), Some(404));
}

#[tokio::test]
async fn a_host_is_told_of_a_killed_shim_where_it_is() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let (mut host, _) = Frames::attach(&served, &id, Lease::Write).await;
    let folder = served.folder(&id);
    let pid = folder.info().unwrap().unwrap().shim_pid.cast_signed();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    loop {
        match host.hear().await {
            Some(Message::Error { code: it, .. }) => break assert_eq!(it, code::UNKNOWN_SESSION),
            Some(_) => {}
            None => panic!("shut without a word"),
        }
    }
}

#[tokio::test]
async fn a_host_is_told_that_the_runner_goes_and_finds_everything_again() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let (mut host, attached) = Frames::attach(&served, &id, Lease::Write).await;
    let again = tokio::spawn(served.again(|_| {}));
    loop {
        match host.hear().await {
            Some(Message::GoAway { .. }) => break,
            Some(_) => {}
            None => panic!("shut without a word"),
        }
    }
    let served = again.await.unwrap();
    let (mut host, back) = Frames::attach(&served, &id, Lease::Write).await;
    assert_eq!(back.epoch, attached.epoch);
    host.reads("ready").await;
}

#[tokio::test]
async fn too_many_attaches_are_held_back() {
    let served = Served::with(|limits| limits.attaches_per_second = 1).await;
    let id = served.shell(ECHO).await;
    for _ in 0..2 {
        Frames::open(&served, &id, served.token()).await.unwrap();
    }
    let third = Frames::open(&served, &id, served.token()).await;
    assert_eq!(third.err(), Some(429));
}
