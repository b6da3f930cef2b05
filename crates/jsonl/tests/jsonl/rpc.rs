//! JSON-RPC lines are read as `serde_json` reads them.

use bowline_jsonl::RawJson;
use bowline_jsonl::rpc::{Id, Message};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::for_each;

/// What a line says, by this parser.
fn parsed(line: &str) -> Option<Value> {
    let value = |raw: RawJson<'_>| serde_json::from_str::<Value>(raw.text()).expect("valid");
    let id = |id: Id<'_>| serde_json::from_str::<Value>(id.text()).expect("valid");
    Some(match Message::parse(RawJson::parse(line)?)? {
        Message::Request {
            id: it,
            method,
            params,
        } => json!({"id": id(it), "method": &*method.decode(), "params": params.map(value)}),
        Message::Notification {
            method,
            params,
            emitted_at_ms,
        } => json!({"method": &*method.decode(), "params": params.map(value), "at": emitted_at_ms}),
        Message::Response { id: it, result } => match result {
            Ok(result) => json!({"id": it.map(id), "result": value(result)}),
            Err(error) => json!({
                "id": it.map(id),
                "code": error.code,
                "message": error.message.map(|it| it.decode().into_owned()),
                "data": error.data.map(value),
            }),
        },
    })
}

/// What a line says, by `serde_json` and the rules of JSON-RPC.
fn expected(line: &str) -> Option<Value> {
    let object: Map<String, Value> = serde_json::from_str(line).ok()?;
    let member = |key: &str| object.get(key).filter(|it| !it.is_null());
    let id = member("id");
    if id.is_some_and(|id| !id.is_string() && !id.is_number()) {
        return None;
    }
    if let Some(method) = object.get("method") {
        let method = method.as_str()?;
        return Some(match id {
            Some(id) => json!({"id": id, "method": method, "params": member("params")}),
            None => json!({"method": method, "params": member("params"),
                           "at": object.get("emittedAtMs").and_then(Value::as_u64)}),
        });
    }
    if !object.contains_key("id") {
        return None;
    }
    match member("error") {
        Some(error) => Some(json!({
            "id": id,
            "code": error.get("code").and_then(Value::as_i64),
            "message": error.get("message").and_then(Value::as_str),
            "data": error.get("data").filter(|it| !it.is_null()),
        })),
        None => Some(json!({"id": id, "result": object.get("result")?})),
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("session/update")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = prop_oneof![
            Just("code".to_owned()),
            Just("message".to_owned()),
            "[a-z]{0,4}"
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

const KEYS: &[&str] = &[
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "emittedAtMs",
    "other",
];

/// An object with members of JSON-RPC and others, in any order, some twice, with spaces.
fn line() -> impl Strategy<Value = String> {
    let member = (prop::sample::select(KEYS), value(), 0..3_usize);
    prop::collection::vec(member, 0..8).prop_map(|members| {
        let members = members.into_iter().map(|(key, value, spaces)| {
            let space = " ".repeat(spaces);
            // The first letter as an escape is the same key.
            let (first, rest) = key.split_at(1);
            let key = match spaces {
                2 => format!("\\u{:04x}{rest}", first.as_bytes()[0]),
                _ => key.to_owned(),
            };
            format!("{space}\"{key}\"{space}:{space}{value}{space}")
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn line_is_read_as_serde_json_reads_it(line in line()) {
        prop_assert_eq!(parsed(&line), expected(&line), "{}", line);
    }
}

#[test]
fn id_is_kept_as_written() {
    for id in [
        "0",
        "-7",
        "1.50",
        "18446744073709551615",
        r#""a\u0062""#,
        r#""""#,
    ] {
        let line = format!(r#"{{"result":{{}},"id": {id} }}"#);
        let Some(Message::Response { id: Some(read), .. }) =
            Message::parse(RawJson::parse(&line).expect("valid"))
        else {
            panic!("{line}");
        };
        assert_eq!(read.text(), id);
    }
}

#[test]
fn member_that_nests_too_deep_refuses_line() {
    for (levels, is_read) in [(120, true), (121, false)] {
        let params = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let line = format!(r#"{{"method":"m","params":{params}}}"#);
        for_each([line.into()], |item| {
            let message = Message::parse(item.event.expect("an object").raw);
            assert_eq!(message.is_some(), is_read, "{levels}");
        });
    }
}

#[test]
fn line_that_is_no_message_is_refused() {
    for line in [
        "{}",
        r#"{"type":"assistant"}"#,
        r#"{"id":1}"#,
        r#"{"result":1}"#,
        r#"{"method":7}"#,
        r#"{"id":[1],"method":"m"}"#,
    ] {
        assert!(
            Message::parse(RawJson::parse(line).expect("valid")).is_none(),
            "{line}"
        );
    }
}
