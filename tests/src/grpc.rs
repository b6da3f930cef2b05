//! A way to a session through a runner's gRPC door, as a network for the remote client: it speaks
//! frames, and here they go in the messages of a stream.

use std::io;
use std::net::SocketAddr;

use bowline_transport::{Address, Boxed, ByteStream, Network, Remote, RemoteUrl, SessionId};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Endpoint, Uri};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

/// Bytes between the client and the stream, each way.
const PIPE_BYTES: usize = 512 << 10;

/// Messages of the client that wait for the stream.
const WAITING: usize = 4;

/// The longest message: what the door puts into one.
const MESSAGE_BYTES: usize = 2 << 20;

/// One or more whole frames, as `proto/runner.proto` has them.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Frames {
    /// Their bytes.
    #[prost(bytes = "bytes", tag = "1")]
    pub data: Bytes,
}

/// One session behind a gRPC door.
#[derive(Clone, Debug)]
pub struct GrpcNetwork {
    /// What is connected to: the runner, or what stands in front of it.
    pub via: SocketAddr,
    /// The runner itself, as it is named in requests.
    pub runner: SocketAddr,
    /// Its token.
    pub token: String,
    /// The session.
    pub session: SessionId,
}

impl GrpcNetwork {
    /// The session as a remote one: frame after frame, whatever is underneath.
    #[must_use]
    pub fn remote(self) -> Remote {
        let mut remote = Remote::new(RemoteUrl::Shim("/grpc".into()));
        remote.network = std::sync::Arc::new(self);
        remote
    }

    async fn call(&self) -> io::Result<DuplexStream> {
        let via = Endpoint::try_from(format!("http://{}", self.via)).map_err(io::Error::other)?;
        let named = Uri::try_from(format!("http://{}", self.runner)).map_err(io::Error::other)?;
        let via = via.tcp_nodelay(true).origin(named);
        let channel = via.connect().await.map_err(io::Error::other)?;
        let (give, taken) = mpsc::channel(WAITING);
        let requests = stream::unfold(taken, |mut taken| async {
            let next: Frames = taken.recv().await?;
            Some((next, taken))
        });
        let mut request = Request::new(requests);
        let text = |text: String| MetadataValue::try_from(text).map_err(io::Error::other);
        let metadata = request.metadata_mut();
        metadata.insert("authorization", text(format!("Bearer {}", self.token))?);
        metadata.insert("bowline-session", text(self.session.to_string())?);
        let mut grpc = Grpc::new(channel).max_decoding_message_size(MESSAGE_BYTES);
        grpc.ready().await.map_err(io::Error::other)?;
        let path = PathAndQuery::from_static("/bowline.runner.v1.Runner/Attach");
        let codec = ProstCodec::<Frames, Frames>::default();
        let answer = grpc.streaming(request, path, codec).await;
        let answers = answer.map_err(io::Error::other)?.into_inner();
        let (ours, theirs) = duplex(PIPE_BYTES);
        tokio::spawn(carry(theirs, give, answers));
        Ok(ours)
    }
}

impl Network for GrpcNetwork {
    fn connect<'a>(&'a self, _: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async move {
            let stream: Box<dyn ByteStream> = Box::new(self.call().await?);
            Ok(stream)
        })
    }
}

/// Carries frames both ways until one side is gone.
async fn carry(stream: DuplexStream, give: mpsc::Sender<Frames>, mut answers: Streaming<Frames>) {
    let (mut read, mut write) = tokio::io::split(stream);
    let up = async {
        let mut buffer = BytesMut::new();
        while read
            .read_buf(&mut buffer)
            .await
            .is_ok_and(|count| count > 0)
        {
            let data = buffer.split().freeze();
            if give.send(Frames { data }).await.is_err() {
                return;
            }
        }
    };
    let down = async {
        while let Ok(Some(frames)) = answers.message().await {
            if write.write_all(&frames.data).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}
