//! What a runner reads from the servers of a fleet: records of the directory, packets of links, messages of a
//! session's log, and replies.

use bowline_fleet::{
    ClaimRecord, LinkGrant, LinkOpening, LogMessage, OwnershipDecision, Packet, Positions, Replica,
    RunnerId, RunnerRecord, SessionRecord, decide_claim, decide_ownership, take_over,
};
use bowline_transport::SessionId;
use bowline_transport::wire::Epoch;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::same;
use super::sealed::{header, mend_segment, record};
use crate::guided::{Check, Target};

/// The first byte selects the reader of the rest.
pub(super) static FLEET: Target = Target {
    name: "fleet",
    what: "a record, a packet or a message is read as it was written or refused, and a log has no byte twice",
    longest: 700,
    seeds,
    dictionary: &[
        b"\"",
        b",",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b"0",
        b"-1",
        b"null",
        b"18446744073709551615",
        b"\"1:5\"",
        b"\"coarse\":",
        b"\"err_code\":",
        b"10071",
        b"\"entries\":[[0,1]]",
        b"\"generation\":",
        b"\0\0\0\0\0\0\0\0",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
    ],
    repair,
    check,
};

/// Values of the first byte.
const RECORD: u8 = b'r';
const PACKET: u8 = b'p';
const MESSAGE: u8 = b'm';
const REPLY: u8 = b's';

const ID: &str = "00000000-0000-4000-8000-000000000000";

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let earlier = json!({"runner": "a", "generation": 1, "epoch": 1, "copied": "1:5"});
    let session = json!({
        "runner": "tower", "generation": 2, "epoch": 7, "summary": {"id": ID, "title": "t"},
        "ends": "1:4096,2:10", "copied": "1:4000", "is_durable": true,
        "index": {"entries": [[0, 1], [1048576, 9]], "coarse": 0}, "earlier": [earlier],
    });
    let records = [
        session.to_string(),
        json!({"runner": "tower", "generation": 1, "epoch": 0, "summary": null}).to_string(),
        json!({"runner": "a", "name": "A", "boot": "b", "version": "1", "link": "l", "sessions": 2})
            .to_string(),
        json!({"runner": "a", "session": ID, "generation": 3}).to_string(),
        json!({"inbox": "i", "from": "f", "scope": "own"}).to_string(),
        json!({"inbox": "i"}).to_string(),
        json!({"refused": "why"}).to_string(),
        "0:1,2:18446744073709551615".to_owned(),
    ];
    let with = |kind: u8, rest: &[u8]| [&[kind], rest].concat();
    let records = records.iter().map(|it| with(RECORD, it.as_bytes()));
    let data = Packet::Data {
        offset: 5,
        bytes: Bytes::from_static(b"bytes"),
    };
    let packets = [
        data,
        Packet::Ack { offset: 1 },
        Packet::End { offset: 9 },
        Packet::Ping,
    ];
    let packets = packets.iter().map(|it| with(PACKET, &it.encode()));
    let gap = [&50_u64.to_le_bytes()[..], b"lost"].concat();
    let messages = [
        vec![
            header(2, &[(1, 0)]),
            record(1, 0, 0, b"one"),
            record(1, 0, 3, b"two"),
        ],
        vec![
            header(2, &[(1, 6), (2, 0)]),
            record(1, 1, 6, &gap),
            record(2, 0, 0, b"other"),
        ],
        vec![
            header(2, &[(1, u64::MAX - 5)]),
            record(1, 0, u64::MAX - 5, b"end"),
        ],
    ];
    let messages = messages.iter().map(|it| with(MESSAGE, &it.concat()));
    let replies = [
        json!({"stream": "BL_LOG", "seq": 7}),
        json!({"error": {"code": 400, "err_code": 10071, "description": "wrong last sequence: 5"}, "seq": 0}),
        json!({"error": {"code": 503, "err_code": 10077, "description": "maximum bytes exceeded"}}),
        json!({"server": {"name": "n1", "time": "2026-01-01T00:00:00Z"}, "data": {"config": {"sync_always": true}}}),
    ];
    let replies = replies.map(|it| with(REPLY, it.to_string().as_bytes()));
    Ok(records
        .chain(packets)
        .chain(messages)
        .chain(replies)
        .collect())
}

fn repair(input: &mut [u8]) {
    if let Some((&mut MESSAGE, segment)) = input.split_first_mut() {
        mend_segment(segment);
    }
}

fn check() -> Result<Check, String> {
    Ok(Box::new(|input| match input.split_first() {
        Some((&RECORD, rest)) => std::str::from_utf8(rest).map_or(Ok(()), records),
        Some((&PACKET, rest)) => packet(rest),
        Some((&MESSAGE, rest)) => message(rest),
        Some((&REPLY, rest)) => bowline_fleet::fuzz::reply(rest),
        _ => Ok(()),
    }))
}

/// Reads a text as each kind of record, and decides with what it finds.
fn records(text: &str) -> Result<(), String> {
    if let Ok(positions) = text.parse::<Positions>() {
        same(
            "positions",
            &positions.to_string().parse(),
            &Ok(positions.clone()),
        )?;
        let _ = (positions.total(), positions.past(&Positions::default()));
    }
    written::<RunnerRecord>(text)?;
    written::<LinkOpening>(text)?;
    written::<LinkGrant>(text)?;
    let own: RunnerId = "own".parse().map_err(|_| "an id")?;
    if let Some(claim) = written::<ClaimRecord>(text)? {
        let _ = decide_claim(Some(&claim), &own, SessionId::random(), true);
    }
    let Some(stored) = written::<SessionRecord>(text)? else {
        return Ok(());
    };
    let mut index = stored.index.clone();
    let _ = index.sequence_for(u64::MAX);
    for before in [0, 1 << 30, u64::MAX] {
        index.add(before, before);
        let found = index.sequence_for(before);
        if found > before {
            return Err(format!("byte {before} is in message {found} of an index"));
        }
    }
    let taken = take_over(&stored, own.clone(), Epoch(1));
    if taken.runner != own || taken.generation < stored.generation {
        return Err(format!("taken over as {taken:?}"));
    }
    match decide_ownership(Some(&stored), taken) {
        OwnershipDecision::Put(put) if put.generation >= stored.generation => Ok(()),
        OwnershipDecision::Superseded { .. } if stored.generation == u64::MAX => Ok(()),
        other => Err(format!("after a takeover: {other:?}")),
    }
}

/// Reads a record, and checks that it is read again as it is written.
fn written<T>(text: &str) -> Result<Option<T>, String>
where
    T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug,
{
    let Ok(record) = serde_json::from_str::<T>(text) else {
        return Ok(None);
    };
    let again = serde_json::to_string(&record).map_err(|error| error.to_string())?;
    let again = serde_json::from_str(&again).map_err(|error| error.to_string())?;
    same("a record", &record, &again)?;
    Ok(Some(record))
}

fn packet(bytes: &[u8]) -> Result<(), String> {
    let Ok(packet) = Packet::decode(Bytes::copy_from_slice(bytes)) else {
        return Ok(());
    };
    same("a packet", &Packet::decode(packet.encode()), &Ok(packet))
}

/// Takes a message twice. Each stream must be without overlaps, and whole at the end.
fn message(bytes: &[u8]) -> Result<(), String> {
    let bytes = Bytes::copy_from_slice(bytes);
    let decoded = LogMessage::decode(&bytes);
    let begin = decoded
        .as_ref()
        .map(|it| it.begin.clone())
        .unwrap_or_default();
    let mut replica = Replica::starting_at(begin.clone());
    for sequence in 1..=2 {
        replica.take(sequence, &bytes);
    }
    same(
        "damage",
        &replica.damage().len(),
        &(2 * usize::from(decoded.is_err())),
    )?;
    replica.finish();
    let mut at = begin;
    for record in replica.take_records() {
        same("an offset", &record.offset, &at.at(record.stream))?;
        at.set(record.stream, record.end());
    }
    same("the end", replica.end(), &at)
}
