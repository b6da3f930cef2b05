//! The gRPC door: the same frames in messages of a stream.

use std::collections::BTreeMap;

use bowline_runner::wire::{
    Attach, AttachMode, Decoder, Frame, Hello, Lease, Message, StreamId, VERSION, code, encode,
};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::support::{Served, soon};

/// One or more whole frames, as `proto/runner.proto` has them.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
struct Data {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
}

async fn attach(served: &Served, token: &str, id: &str) -> Result<Streaming<Data>, Status> {
    let uri = format!("http://{}", served.address());
    let channel: Channel = Endpoint::try_from(uri).unwrap().connect().await.unwrap();
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
            client: "a test".to_owned(),
        };
        encode(&Frame::new(0, Message::Attach(attach)), &mut frames);
    }
    let first = Data {
        data: frames.freeze(),
    };
    let mut request = Request::new(stream::iter([first]));
    let metadata = request.metadata_mut();
    let bearer = MetadataValue::try_from(format!("Bearer {token}")).unwrap();
    metadata.insert("authorization", bearer);
    metadata.insert("bowline-session", MetadataValue::try_from(id).unwrap());
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.unwrap();
    let path = PathAndQuery::from_static("/bowline.runner.v1.Runner/Attach");
    let codec = ProstCodec::<Data, Data>::default();
    let answer = soon("an answer", grpc.streaming(request, path, codec)).await?;
    Ok(answer.into_inner())
}

#[tokio::test]
async fn frames_come_in_messages_of_a_stream() {
    let served = Served::start().await;
    let id = served.shell("echo over gRPC; read x").await;
    let mut stream = attach(&served, served.token(), &id).await.unwrap();
    let (mut decoder, mut text) = (Decoder::new(), Vec::new());
    while !String::from_utf8_lossy(&text).contains("over gRPC") {
        let message = soon("a message", stream.message()).await.unwrap();
        decoder.push(message.expect("the stream goes on").data);
        while let Some(frame) = decoder.next().unwrap() {
            if let Message::Data { bytes, .. } = frame.message {
                text.extend_from_slice(&bytes);
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_token_or_ticket_and_a_wrong_session_are_told_apart() {
    let served = Served::start().await;
    let id = served.shell("read x").await;
    let nobody = "00000000-0000-4000-8000-000000000000";
    for (token, session, code) in [
        ("wrong", id.as_str(), Code::Unauthenticated),
        (served.token(), nobody, Code::NotFound),
        (served.token(), "no id", Code::InvalidArgument),
        // A made-up ticket comes as far as this door, and is told nothing of it.
        ("ticket-made-up", "no id", Code::Unauthenticated),
        ("ticket-made-up", nobody, Code::Unauthenticated),
    ] {
        let refused = attach(&served, token, session).await;
        let status = refused.expect_err("it is refused");
        assert_eq!(status.code(), code, "{status}");
    }
}

/// Reads to the end of a stream: what was said last, and its status.
async fn last_of(mut messages: Streaming<Data>) -> (Option<Message>, Status) {
    let (mut decoder, mut last) = (Decoder::new(), None);
    loop {
        match soon("a message", messages.message()).await {
            Ok(Some(Data { data })) => decoder.push(data),
            Ok(None) => panic!("shut without a status"),
            Err(status) => break (last, status),
        }
        while let Some(frame) = decoder.next().unwrap() {
            last = Some(frame.message);
        }
    }
}

#[tokio::test]
async fn a_client_of_the_stream_is_told_of_a_killed_shim() {
    let served = Served::start().await;
    let id = served.shell("sleep 1000").await;
    let messages = attach(&served, served.token(), &id).await.unwrap();
    let pid = served.folder(&id).info().unwrap().unwrap().shim_pid;
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let (last, status) = last_of(messages).await;
    let Some(Message::Error { code: it, .. }) = last else {
        panic!("{last:?}");
    };
    assert_eq!(it, code::UNKNOWN_SESSION);
    assert_eq!(status.code(), Code::NotFound, "{status:?}");
}

#[tokio::test]
async fn a_client_of_the_stream_is_told_that_the_runner_goes() {
    let served = Served::start().await;
    let id = served.shell("sleep 1000").await;
    let messages = attach(&served, served.token(), &id).await.unwrap();
    let again = tokio::spawn(served.again(|_| {}));
    let (last, status) = last_of(messages).await;
    assert!(matches!(last, Some(Message::GoAway { .. })), "{last:?}");
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    again.await.unwrap();
}
