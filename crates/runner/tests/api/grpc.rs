//! Frames over gRPC.

use std::collections::BTreeMap;

use bowline_runner::wire::{
    Attach, AttachMode, Decoder, Frame, Hello, Lease, Message, StreamId, VERSION, code, encode,
};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use serde_json::json;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::support::{TestRunner, within_limit};

/// The `Frame` of `proto/runner.proto`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
struct Data {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
}

async fn attach(runner: &TestRunner, token: &str, id: &str) -> Result<Streaming<Data>, Status> {
    attach_and_send(runner, token, id, None).await
}

async fn connect(runner: &TestRunner) -> Channel {
    let uri = format!("http://{}", runner.address());
    Endpoint::try_from(uri).unwrap().connect().await.unwrap()
}

async fn attach_and_send(
    runner: &TestRunner,
    token: &str,
    id: &str,
    then: Option<Data>,
) -> Result<Streaming<Data>, Status> {
    attach_over(connect(runner).await, token, id, then).await
}

async fn attach_over(
    channel: Channel,
    token: &str,
    id: &str,
    then: Option<Data>,
) -> Result<Streaming<Data>, Status> {
    let mut frames = BytesMut::new();
    let hello = Hello {
        versions: (VERSION, VERSION),
        features: Vec::new(),
    };
    encode(&Frame::new(0, Message::Hello(hello)), &mut frames);
    if let Ok(session) = id.parse() {
        let attach = Attach {
            session,
            epoch: None,
            cursors: BTreeMap::from([(StreamId::TTY, 0)]),
            mode: AttachMode::Resume,
            lease: Lease::Read,
            resume_generation: None,
            size: None,
            credit: 1 << 20,
            client: "test client".to_owned(),
        };
        encode(&Frame::new(0, Message::Attach(attach)), &mut frames);
    }
    let first = Data {
        data: frames.freeze(),
    };
    let mut request = Request::new(stream::iter([first].into_iter().chain(then)));
    let metadata = request.metadata_mut();
    let bearer = MetadataValue::try_from(format!("Bearer {token}")).unwrap();
    metadata.insert("authorization", bearer);
    metadata.insert("bowline-session", MetadataValue::try_from(id).unwrap());
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.unwrap();
    let path = PathAndQuery::from_static("/bowline.runner.v1.Runner/Attach");
    let codec = ProstCodec::<Data, Data>::default();
    let response = within_limit("an response", grpc.streaming(request, path, codec)).await?;
    Ok(response.into_inner())
}

#[tokio::test]
async fn output_is_streamed() {
    let runner = TestRunner::start().await;
    let id = runner.shell("echo over gRPC; read x").await;
    let mut stream = attach(&runner, runner.token(), &id).await.unwrap();
    let (mut decoder, mut text) = (Decoder::new(), Vec::new());
    while !String::from_utf8_lossy(&text).contains("over gRPC") {
        let message = within_limit("a message", stream.message()).await.unwrap();
        decoder.push(message.expect("the stream continues").data);
        while let Some(frame) = decoder.next().unwrap() {
            if let Message::Data { bytes, .. } = frame.message {
                text.extend_from_slice(&bytes);
            }
        }
    }
}

#[tokio::test]
async fn refusals_have_distinct_status_codes() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (token, session, code) in [
        ("wrong", id.as_str(), Code::Unauthenticated),
        (runner.token(), unknown, Code::NotFound),
        (runner.token(), "not an id", Code::InvalidArgument),
        // An unknown ticket passes the authentication layer, and is refused by the endpoint.
        ("ticket-made-up", "not an id", Code::Unauthenticated),
        ("ticket-made-up", unknown, Code::Unauthenticated),
    ] {
        let refused = attach(&runner, token, session).await;
        let status = refused.expect_err("the attach is refused");
        assert_eq!(status.code(), code, "{status}");
    }
}

#[tokio::test]
async fn tickets_attach_one_session_over_a_connection() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let wanted = json!({"session": id, "lease": "read"});
    let channel = connect(&runner).await;
    let mut streams = Vec::new();
    for expected in [None, Some(Code::ResourceExhausted)] {
        let ticket = runner.request("POST", "/api/tickets", Some(&wanted)).await;
        let ticket = ticket.json()["ticket"].as_str().unwrap().to_owned();
        let attached = attach_over(channel.clone(), &ticket, &id, None).await;
        assert_eq!(attached.as_ref().err().map(Status::code), expected);
        streams.extend(attached);
    }
    for _ in 0..3 {
        let other = attach(&runner, runner.token(), &id).await;
        streams.push(other.unwrap());
    }
}

/// Reads to the end of a stream. Returns the last message and the status.
async fn read_to_end(mut messages: Streaming<Data>) -> (Option<Message>, Status) {
    let (mut decoder, mut last) = (Decoder::new(), None);
    loop {
        match within_limit("a message", messages.message()).await {
            Ok(Some(Data { data })) => decoder.push(data),
            Ok(None) => panic!("ended without a status"),
            Err(status) => break (last, status),
        }
        while let Some(frame) = decoder.next().unwrap() {
            last = Some(frame.message);
        }
    }
}

#[tokio::test]
async fn oversized_message_is_refused() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let data = Data {
        data: vec![0; 8 << 20].into(),
    };
    let messages = attach_and_send(&runner, runner.token(), &id, Some(data));
    let (_, status) = read_to_end(messages.await.unwrap()).await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert!(status.message().contains("bytes per message"), "{status:?}");
}

#[tokio::test]
async fn client_is_notified_of_killed_shim() {
    let runner = TestRunner::start().await;
    let id = runner.shell("sleep 1000").await;
    let messages = attach(&runner, runner.token(), &id).await.unwrap();
    let pid = runner.folder(&id).info().unwrap().unwrap().shim_pid;
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let (last, status) = read_to_end(messages).await;
    let Some(Message::Error { code: it, .. }) = last else {
        panic!("{last:?}");
    };
    assert_eq!(it, code::UNKNOWN_SESSION);
    assert_eq!(status.code(), Code::NotFound, "{status:?}");
}

#[tokio::test]
async fn client_is_notified_of_shutdown() {
    let runner = TestRunner::start().await;
    let id = runner.shell("sleep 1000").await;
    let messages = attach(&runner, runner.token(), &id).await.unwrap();
    let again = tokio::spawn(runner.restart(|_| {}));
    let (last, status) = read_to_end(messages).await;
    assert!(matches!(last, Some(Message::GoAway { .. })), "{last:?}");
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    again.await.unwrap();
}
