//! A connection that carries frames: a byte stream, a WebSocket or a gRPC call.

use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::batch::batch;
use super::network::ByteStream;

/// Size of a read, in bytes: the usual size of a frame of output.
const READ_BYTES: usize = 64 << 10;

pub(super) enum Link {
    /// A byte stream of frames.
    Raw(Box<dyn ByteStream>),
    /// A WebSocket whose binary messages have whole frames.
    Socket(Box<WebSocketStream<Box<dyn ByteStream>>>),
    /// A gRPC stream whose messages have whole frames.
    #[cfg(feature = "grpc")]
    Grpc(Box<super::grpc::GrpcLink>),
}

impl Link {
    /// Sends the bytes in `out` and returns the next bytes received.
    ///
    /// Cancel safe: unsent bytes remain in `out` or in the link.
    pub(super) async fn turn(&mut self, out: &mut BytesMut) -> Result<Bytes, String> {
        poll_fn(|cx| self.poll_turn(cx, out)).await
    }

    /// Sends all bytes in `out`.
    pub(super) async fn flush(&mut self, out: &mut BytesMut) -> Result<(), String> {
        poll_fn(|cx| self.poll_send(cx, out)).await
    }

    fn poll_turn(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut BytesMut,
    ) -> Poll<Result<Bytes, String>> {
        // A peer that does not read may still send.
        if let Poll::Ready(Err(why)) = self.poll_send(cx, out) {
            return Poll::Ready(Err(why));
        }
        match self {
            Self::Raw(stream) => poll_read(stream, cx),
            Self::Socket(socket) => poll_message(socket, cx),
            #[cfg(feature = "grpc")]
            Self::Grpc(link) => link.poll_message(cx),
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, out: &mut BytesMut) -> Poll<Result<(), String>> {
        match self {
            Self::Raw(stream) => {
                while !out.is_empty() {
                    let written = ready!(Pin::new(&mut *stream).poll_write(cx, out));
                    match written {
                        Ok(0) => {
                            return Poll::Ready(Err(
                                "the connection accepts no more bytes".to_owned()
                            ));
                        }
                        Ok(written) => drop(out.split_to(written)),
                        Err(error) => return Poll::Ready(Err(error.to_string())),
                    }
                }
                *out = BytesMut::new();
                Pin::new(stream).poll_flush(cx).map_err(|it| it.to_string())
            }
            Self::Socket(socket) => {
                let mut socket = Pin::new(&mut **socket);
                while !out.is_empty() {
                    ready!(socket.as_mut().poll_ready(cx)).map_err(|it| it.to_string())?;
                    let message = Message::Binary(batch(out));
                    socket
                        .as_mut()
                        .start_send(message)
                        .map_err(|it| it.to_string())?;
                }
                socket.poll_flush(cx).map_err(|it| it.to_string())
            }
            #[cfg(feature = "grpc")]
            Self::Grpc(link) => link.poll_send(cx, out),
        }
    }
}

fn poll_read(
    stream: &mut Box<dyn ByteStream>,
    cx: &mut Context<'_>,
) -> Poll<Result<Bytes, String>> {
    // On the stack, so that an idle link holds no buffer.
    let mut space = [MaybeUninit::uninit(); READ_BYTES];
    let mut buffer = ReadBuf::uninit(&mut space);
    match ready!(Pin::new(stream).poll_read(cx, &mut buffer)) {
        Ok(()) if buffer.filled().is_empty() => {
            Poll::Ready(Err("the runner closed the connection".to_owned()))
        }
        Ok(()) => Poll::Ready(Ok(Bytes::copy_from_slice(buffer.filled()))),
        Err(error) => Poll::Ready(Err(error.to_string())),
    }
}

fn poll_message(
    socket: &mut WebSocketStream<Box<dyn ByteStream>>,
    cx: &mut Context<'_>,
) -> Poll<Result<Bytes, String>> {
    loop {
        let message = ready!(Pin::new(&mut *socket).poll_next(cx));
        return Poll::Ready(match message {
            Some(Ok(Message::Binary(bytes))) => Ok(bytes),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Close(Some(close)))) => Err(format!(
                "the runner closed the connection: {} {}",
                close.code, close.reason
            )),
            Some(Ok(Message::Text(_))) => {
                Err("the runner sent a text message in place of frames".to_owned())
            }
            Some(Err(error)) => Err(error.to_string()),
            Some(Ok(_)) | None => Err("the runner closed the connection".to_owned()),
        });
    }
}
