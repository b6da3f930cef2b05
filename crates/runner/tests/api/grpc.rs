//! Frames over gRPC.

use std::collections::BTreeMap;

use bowline_runner::wire::{
    Attach, AttachMode, Decoder, Frame, Hello, Lease, Message, StreamId, VERSION, code, encode,
};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use prost::Message as _;
use serde_json::json;
use tonic::client::Grpc;
use tonic::codec::{Codec, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstDecoder;

use crate::support::{TestRunner, within_limit};

/// The `Frame` of `proto/runner.proto`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
struct Data {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
}

/// Sends messages that need not be valid protobuf, and receives [`Data`].
#[derive(Default)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Data;
    type Encoder = Self;
    type Decoder = ProstDecoder<Data>;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> ProstDecoder<Data> {
        ProstDecoder::default()
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(message);
        Ok(())
    }
}

fn data(data: Bytes) -> Bytes {
    Data { data }.encode_to_vec().into()
}

async fn attach(runner: &TestRunner, token: &str, id: &str) -> Result<Streaming<Data>, Status> {
    attach_and_send(runner, token, id, Lease::Read, Vec::new()).await
}

async fn connect(runner: &TestRunner) -> Channel {
    let uri = format!("http://{}", runner.address());
    Endpoint::try_from(uri).unwrap().connect().await.unwrap()
}

async fn attach_and_send(
    runner: &TestRunner,
    token: &str,
    id: &str,
    lease: Lease,
    then: Vec<Bytes>,
) -> Result<Streaming<Data>, Status> {
    attach_over(connect(runner).await, token, id, lease, then).await
}

async fn attach_over(
    channel: Channel,
    token: &str,
    id: &str,
    lease: Lease,
    then: Vec<Bytes>,
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
            lease,
            resume_generation: None,
            size: None,
            credit: 1 << 20,
            client: "test client".to_owned(),
        };
        encode(&Frame::new(0, Message::Attach(attach)), &mut frames);
    }
    let first = data(frames.freeze());
    let mut request = Request::new(stream::iter([first].into_iter().chain(then)));
    let metadata = request.metadata_mut();
    let bearer = MetadataValue::try_from(format!("Bearer {token}")).unwrap();
    metadata.insert("authorization", bearer);
    metadata.insert("bowline-session", MetadataValue::try_from(id).unwrap());
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.unwrap();
    let path = PathAndQuery::from_static("/bowline.runner.v1.Runner/Attach");
    let response = within_limit("a response", grpc.streaming(request, path, RawCodec)).await?;
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
        let attached = attach_over(channel.clone(), &ticket, &id, Lease::Read, Vec::new()).await;
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
async fn oversized_or_invalid_message_is_refused() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    // An integer in place of bytes, and the length of bytes that do not follow.
    let (integer, cut) = (
        Bytes::from_static(&[0x08, 1]),
        Bytes::from_static(&[0x0a, 9]),
    );
    for message in [data(vec![0; 8 << 20].into()), integer, cut] {
        let messages = attach_and_send(&runner, runner.token(), &id, Lease::Read, vec![message]);
        let (_, status) = read_to_end(messages.await.unwrap()).await;
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert!(status.message().contains("bytes per message"), "{status:?}");
    }
    assert_eq!(runner.session(&id).await["state"], "running");
}

#[tokio::test]
async fn client_of_stopped_shim_is_refused_after_the_deadline() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let pid = runner.folder(&id).info().unwrap().unwrap().shim_pid;
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    // More than a socket buffers.
    let mut input = BytesMut::new();
    let bytes = Bytes::from(vec![b'x'; 60_000]);
    let offset = 0;
    encode(&Frame::new(1, Message::Input { offset, bytes }), &mut input);
    let messages = vec![data(input.freeze()); 100];
    let messages = attach_and_send(&runner, runner.token(), &id, Lease::Write, messages);
    let (_, status) = read_to_end(messages.await.unwrap()).await;
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert!(status.message().starts_with("TIMEOUT"), "{status:?}");
}

#[tokio::test]
async fn lost_session_is_not_reported_as_ended() {
    let runner = TestRunner::start().await;
    let id = runner.shell("sleep 1000").await;
    let folder = runner.folder(&id);
    let pid = folder.info().unwrap().unwrap().shim_pid.cast_signed();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let gone = async { while folder.connect().await.is_ok() {} };
    within_limit("the shim's end", gone).await;
    let refused = attach(&runner, runner.token(), &id).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound, "{refused:?}");
    assert!(
        refused.message().starts_with("SESSION_KILLED"),
        "{refused:?}"
    );
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
