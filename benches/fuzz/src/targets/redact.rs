//! The removal of secrets from what an agent wrote.

use bowline_recording::{Redaction, Redactor, Secrets};

use super::{rpc, same, whole};
use crate::corpus::Corpus;
use crate::guided::{Check, Target};
use crate::shipped::jsonl::{JsonKind, RawJson};

/// A secret that is known by its value. No pattern matches it.
const VALUE: &str = "planted by value";

/// The lowest bit of the first byte selects what is removed; the rest is a stream.
pub(super) static REDACT: Target = Target {
    name: "redact",
    what: "a redacted stream has the same lines and shape, no string with a known secret, and no line of a private key",
    longest: 1_500,
    seeds,
    dictionary: &TOKENS,
    repair: whole,
    check: || Ok(check()),
};

const TOKENS: [&[u8]; 30] = [
    b"planted by value",
    b"planted\\u0020by value",
    b"planted by ",
    b"value",
    b"\\u0070lanted",
    b"sk-ant-api03-Planted0123456789abcdef",
    b"ghp_Planted0123456789abcdefABCDEF0123",
    b"Authorization: Bearer ",
    b"password=",
    b"\"api_key\":\"",
    b"\"token\":{",
    b"https://me:pw@host/",
    b"-----BEGIN PRIVATE KEY-----",
    b"-----END PRIVATE KEY-----",
    b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.",
    b"\"",
    b"\\",
    b"\\\"",
    b"\\n",
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\ud83d",
    b"\\ude00",
    b"\xc3\xa9",
    b"\xf0\x9f\x98\x80",
    b"\xff",
    b" ",
];

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let corpus = Corpus::load()?;
    let lines = corpus.lines().iter().filter(|line| line.len() < 700);
    let messages = rpc::seeds(&["acp.", "app-server."])?;
    let messages = messages.iter().filter(|line| line.len() < 700);
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for (number, line) in lines.step_by(9).chain(messages.step_by(9)).enumerate() {
        seeds.push([&[number as u8], &line[..], b"\n"].concat());
    }
    let planted: [&[u8]; 4] = [
        b"\x00-----BEGIN PRIVATE KEY-----\nUGxhbnRlZEtleQ==\n-----END PRIVATE KEY-----\nafter\n",
        b"\x00{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"planted by value\"}]}}\n",
        b"\x00{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"planted \"}}}\n{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"by value\"}}}\n",
        b"\x01export DB_PASSWORD=planted by value\n{\"cut\":\"planted by value",
    ];
    seeds.extend(planted.map(<[u8]>::to_vec));
    Ok(seeds)
}

fn check() -> Check {
    let redactor = |redaction| Redactor::new(redaction, Secrets::default().with_value(VALUE));
    let redactors = [Redaction::Secrets, Redaction::Content].map(redactor);
    Box::new(move |input| {
        let Some((&selector, stream)) = input.split_first() else {
            return Ok(());
        };
        let mut redacted = stream.to_vec();
        redactors[usize::from(selector & 1)].redact(&mut redacted);
        let lines = |bytes: &[u8]| {
            bytes
                .split(|&it| it == b'\n')
                .map(<[u8]>::len)
                .collect::<Vec<_>>()
        };
        same("the lines", &lines(&redacted), &lines(stream))?;
        let both = redacted.split(|&it| it == b'\n');
        let mut last: &[u8] = b"";
        for (after, before) in both.zip(stream.split(|&it| it == b'\n')) {
            line(after, before)?;
            key_line(after, before, last)?;
            last = before;
        }
        Ok(())
    })
}

fn line(after: &[u8], before: &[u8]) -> Result<(), String> {
    let parse = |line| {
        let line = std::str::from_utf8(line).ok();
        let json = line.and_then(|it| RawJson::parse(it.trim()));
        json.filter(|json| json.text().starts_with(['{', '[']))
    };
    let is_shown = match (parse(before), parse(after)) {
        (None, _) => after.windows(VALUE.len()).any(|it| it == VALUE.as_bytes()),
        (Some(_), None) => return Err(format!("no JSON: {}", after.escape_ascii())),
        (Some(before), Some(after)) => {
            shape(after, before)?;
            has_value(after)
        }
    };
    if is_shown {
        return Err(format!("the secret is in {}", after.escape_ascii()));
    }
    Ok(())
}

/// Checks that base64 after the beginning of a private key is removed.
fn key_line(after: &[u8], before: &[u8], last: &[u8]) -> Result<(), String> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let is_first = last == b"-----BEGIN PRIVATE KEY-----";
    if is_first && before.iter().all(is_base64) && after.iter().any(|byte| *byte != b'*') {
        return Err(format!("a line of a key is {}", after.escape_ascii()));
    }
    Ok(())
}

/// Checks that both have the same kinds of values at the same places.
fn shape(after: RawJson<'_>, before: RawJson<'_>) -> Result<(), String> {
    same("a kind", &after.kind(), &before.kind())?;
    match before.kind() {
        JsonKind::Object => {
            same(
                "a number of members",
                &after.members().count(),
                &before.members().count(),
            )?;
            let both = after.members().zip(before.members());
            both.map(|((_, after), (_, before))| (after, before))
                .try_for_each(|(after, before)| shape(after, before))
        }
        JsonKind::Array => {
            same(
                "a number of elements",
                &after.elements().count(),
                &before.elements().count(),
            )?;
            let mut both = after.elements().zip(before.elements());
            both.try_for_each(|(after, before)| shape(after, before))
        }
        _ => Ok(()),
    }
}

/// Returns whether a string or the name of a member has the secret.
fn has_value(json: RawJson<'_>) -> bool {
    match json.kind() {
        JsonKind::Object => json
            .members()
            .any(|(name, value)| name.decode().contains(VALUE) || has_value(value)),
        JsonKind::Array => json.elements().any(has_value),
        _ => json
            .as_str()
            .is_some_and(|text| text.decode().contains(VALUE)),
    }
}
