//! Broken connections, crashes, floods and failing disks.

use bowline_runner::SessionPhase;
use bowline_runner::wire::{Lease, Message, StreamId};
use bowline_transport::journal::{Folder, JournalReader};
use bowline_transport::{ExitStatus, Piece};
use rustix::process::Signal;

use crate::client::{Client, Memory};
use crate::support::{
    Dice, OUT, Place, TTY, is_alive, kill, memory_of, on_terminal, script, until,
};

#[tokio::test]
async fn input_is_applied_once_over_random_cuts() {
    let place = Place::new();
    let shim = place.start(script("cat")).await;
    let mut dice = Dice::new(1);
    let whole: Vec<u8> = (0..300_000_u64).map(|at| b'a' + (at % 23) as u8).collect();
    let mut memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    for _ in 0..200 {
        let mut client = Client::join(&shim.folder, memory).await;
        let next = client.attached.as_ref().unwrap().input_next as usize;
        // Repeats some input, like a host that has missed an acknowledgement.
        let from = next - dice.roll(next.min(500) as u64 + 1) as usize;
        let to = whole.len().min(next + dice.roll(6_000) as usize);
        client
            .type_in(from as u64, whole[from..to.max(from)].to_vec())
            .await;
        for _ in 0..dice.roll(4) {
            client.next().await;
            if client.memory.acked >= to as u64 {
                break;
            }
        }
        memory = client.cut();
    }
    let mut client = Client::join(&shim.folder, memory).await;
    let next = client.attached.as_ref().unwrap().input_next;
    client.type_in(next, whole[next as usize..].to_vec()).await;
    client
        .send(Message::InputEnd {
            offset: whole.len() as u64,
        })
        .await;
    let memory = client.finish().await;
    assert!(memory.streams[&OUT] == whole, "each byte once and in order");
    assert_eq!(memory.missing.get(&OUT), None);
}

#[tokio::test]
async fn journal_of_a_killed_shim_is_a_prefix() {
    let place = Place::new();
    let mut dice = Dice::new(2);
    for _ in 0..10 {
        let shim = place
            .start(script("i=0; while :; do echo line $i; i=$((i+1)); done"))
            .await;
        let memory = Memory::new(shim.id, Lease::Write, &[OUT]);
        let mut client = Client::join(&shim.folder, memory).await;
        let wanted = dice.roll(300_000);
        client.until(|memory| memory.next(OUT) >= wanted).await;
        kill(shim.shim_pid.unwrap(), Signal::KILL);
        while client.next().await.is_some() {}
        let seen = client.cut();
        let mut journal = JournalReader::open(Folder::at(shim.folder.journal())).unwrap();
        assert_eq!(journal.epoch(), seen.epoch);
        let mut kept = Vec::new();
        while let Some(piece) = journal.read(OUT, kept.len() as u64, 1 << 20).unwrap() {
            match piece {
                Piece::Bytes { bytes, .. } => kept.extend_from_slice(&bytes),
                gap => panic!("{gap:?}"),
            }
        }
        assert!(
            kept.starts_with(&seen.streams[&OUT]),
            "everything delivered is recorded"
        );
        let text = String::from_utf8(kept).unwrap();
        let (whole, _) = text.rsplit_once('\n').unwrap();
        let right = whole.lines().enumerate();
        assert!(
            right
                .clone()
                .all(|(index, line)| line == format!("line {index}"))
        );
        until("the end of the child", || !is_alive(shim.pid.unwrap())).await;
    }
}

#[tokio::test]
async fn stopped_client_pauses_neither_terminal_nor_other_clients() {
    const BYTES: u64 = 1_000_000;
    let place = Place::new();
    let mut spec = on_terminal(&format!("yes | head -c {BYTES}; echo; echo end; cat"));
    (spec.journal.on, spec.ring_bytes) = (false, Some(64 * 1024));
    let shim = place.start(spec).await;
    let reader = || Memory::new(shim.id, Lease::Read, &[TTY]);
    let stopped = Client::join(&shim.folder, reader()).await;
    let mut live = Client::join(&shim.folder, reader()).await;
    live.until(|memory| memory.next(TTY) == BYTES + 5).await;
    let mut stopped = stopped;
    stopped.until(|memory| memory.next(TTY) == BYTES + 5).await;
    assert!(stopped.memory.missing[&TTY] > 0, "the gap is reported");
    assert_eq!(stopped.memory.next(TTY), live.memory.next(TTY));
}

/// A journaled session is never paused, and the shim's memory does not grow, except for freed
/// blocks that the C library retains: 13 MB at most so far.
#[tokio::test]
async fn stopped_client_of_a_journaled_stream_costs_no_memory() {
    const BYTES: u64 = 100 << 20;
    const KEPT: u64 = 20 << 20;
    let place = Place::new();
    let text = format!("echo up; head -c {BYTES} /dev/zero; echo end >&2; cat");
    let shim = place.start(script(&text)).await;
    let pid = shim.shim_pid.unwrap();
    let mut memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    memory.credit = 3;
    let mut stopped = Client::join(&shim.folder, memory).await;
    stopped.until(|memory| memory.text(OUT) == "up\n").await;
    let before = memory_of(pid);
    let end = Memory::new(shim.id, Lease::Read, &[StreamId::STDERR]);
    let mut other = Client::join(&shim.folder, end).await;
    other
        .until(|memory| memory.text(StreamId::STDERR) == "end\n")
        .await;
    let grown = memory_of(pid).saturating_sub(before);
    assert!(grown <= KEPT, "the shim has grown by {grown} bytes");
    stopped
        .send(Message::Credit {
            stream: OUT,
            n: 1 << 40,
        })
        .await;
    stopped.until(|memory| memory.next(OUT) == BYTES + 3).await;
    assert_eq!(stopped.memory.missing.get(&OUT), None);
    let grown = memory_of(pid).saturating_sub(before);
    assert!(grown <= KEPT, "the shim has grown by {grown} bytes");
}

/// Without a journal, the child is paused for a disconnected or slow writer.
#[tokio::test]
async fn unjournaled_child_is_paused_for_its_writer() {
    let place = Place::new();
    let mut spec = script("echo up; head -c 30000000 /dev/zero; exit 9");
    spec.journal.on = false;
    let shim = place.start(spec).await;
    let mut memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    let mut cuts = 0;
    while memory.exit.is_none() {
        let mut client = Client::join(&shim.folder, memory).await;
        let goal = client.memory.next(OUT) + 5_000_000;
        client
            .until(|memory| memory.exit.is_some() || memory.next(OUT) >= goal)
            .await;
        memory = client.cut();
        cuts += 1;
    }
    assert!(cuts > 5);
    assert_eq!(
        (memory.next(OUT), memory.missing.get(&OUT)),
        (30_000_003, None)
    );
    assert_eq!(memory.exit.as_ref().unwrap().status, ExitStatus::Code(9));
    Client::join(&shim.folder, memory).await.finish().await;
    until("the shim's end", || !is_alive(shim.shim_pid.unwrap())).await;
}

/// Bytes that a client still needs are not dropped from a small journal.
#[tokio::test]
async fn small_journal_pauses_the_child_for_a_lagging_writer() {
    let place = Place::new();
    let mut spec = script("echo up; head -c 12000000 /dev/zero; exit 0");
    spec.journal.cap_bytes = 2 << 20;
    let shim = place.start(spec).await;
    let mut memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    memory.credit = 3;
    let mut client = Client::join(&shim.folder, memory).await;
    client.until(|memory| memory.text(OUT) == "up\n").await;
    client
        .send(Message::Credit {
            stream: OUT,
            n: 1 << 40,
        })
        .await;
    client.until(|memory| memory.exit.is_some()).await;
    assert_eq!(client.memory.missing.get(&OUT), None);
    assert_eq!(client.memory.next(OUT), 12_000_003);
}

/// The journal's directory is moved away: the session is degraded and continues.
#[tokio::test]
async fn unwritable_journal_degrades_the_session() {
    let place = Place::new();
    let mut spec = script("while read -r n; do head -c $n /dev/zero; echo; done");
    spec.journal.cap_bytes = 1 << 20;
    let shim = place.start(spec).await;
    std::fs::rename(shim.folder.journal(), place.file("away")).unwrap();
    let mut client = Client::join(
        &shim.folder,
        Memory::new(shim.id, Lease::Write, &[OUT, StreamId::LIFECYCLE]),
    )
    .await;
    client.type_in(0, "3000000\n").await;
    let kind = client
        .find(|message| match message {
            Message::Degraded { kind, .. } => Some(kind.clone()),
            _ => None,
        })
        .await;
    assert_eq!(kind, "journal");
    client.until(|memory| memory.next(OUT) == 3_000_001).await;
    client
        .until(|memory| memory.text(StreamId::LIFECYCLE).contains("degraded"))
        .await;
    std::fs::rename(place.file("away"), shim.folder.journal()).unwrap();
    client
        .until(|memory| memory.text(StreamId::LIFECYCLE).contains("recovered"))
        .await;
    client.type_in(8, "10\n").await;
    client.until(|memory| memory.next(OUT) == 3_000_012).await;
    client.send(Message::InputEnd { offset: 11 }).await;
    client.finish().await;
    let info = || shim.folder.info().unwrap().unwrap();
    until("the final record", || info().phase == SessionPhase::Closed).await;
}
