//! Converts an answer of the script to an HTTP response.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, header};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::gate::Gates;
use super::{Answer, ApiError, Gate, Reply, Request, sse};

/// Returns the response to a request for a message with this `id`.
pub(super) async fn response_to(
    answer: Answer,
    request: &Request,
    id: &str,
    gates: &Gates,
) -> Response<Body> {
    let model = request.model();
    let complete = |reply| steps(reply, &sse::events(reply, id, model), gates);
    match answer {
        Answer::Reply(reply) if request.streams() => streamed(complete(&reply)),
        Answer::Reply(reply) => json_body(StatusCode::OK, &sse::message(&reply, id, model)),
        Answer::CutAfter(events, reply) if request.streams() => {
            streamed(cut(complete(&reply), events))
        }
        Answer::CutAfter(..) => streamed(cut(Vec::new(), 0)),
        Answer::ApiError(error) => error_body(&error),
        Answer::Hang => std::future::pending().await,
    }
}

/// Returns a response with a JSON body.
pub(super) fn json_body(status: StatusCode, body: &Value) -> Response<Body> {
    let response = Response::builder().status(status);
    let response = response.header(header::CONTENT_TYPE, "application/json");
    response
        .body(body.to_string().into())
        .expect("a fixed head")
}

/// Returns an error response as the API formats it.
pub(super) fn error_body(error: &ApiError) -> Response<Body> {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"type": "error", "error": {"type": error.kind, "message": error.message}});
    let mut response = json_body(status, &body);
    if let Some(seconds) = error.retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// One step of a streamed response: waits, then sends the data or, without data, breaks the connection.
struct StreamStep {
    pace: Duration,
    gate: Option<Gate>,
    data: Option<Bytes>,
}

/// Returns a step for each event, and a last one that sends nothing, for a gate after the last event.
fn steps(reply: &Reply, events: &[Value], gates: &Gates) -> Vec<StreamStep> {
    let data = events
        .iter()
        .map(|event| (sse::is_delta(event), sse::encode(event).into()));
    let data = data.chain([(false, Bytes::new())]);
    let step = |(sent, (is_delta, data))| StreamStep {
        pace: if is_delta { reply.pace } else { Duration::ZERO },
        gate: reply.gate_after(sent).map(|name| gates.named(name)),
        data: Some(data),
    };
    data.enumerate().map(step).collect()
}

/// Replaces the steps after the first `events` by one that breaks the connection, at the same gate.
fn cut(mut steps: Vec<StreamStep>, events: usize) -> Vec<StreamStep> {
    let gate = steps.get_mut(events).and_then(|step| step.gate.take());
    steps.truncate(events);
    steps.push(StreamStep {
        pace: Duration::ZERO,
        gate,
        data: None,
    });
    steps
}

fn streamed(steps: Vec<StreamStep>) -> Response<Body> {
    let body = Body::from_stream(stream::iter(steps).then(send));
    let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    response.body(body).expect("a fixed head")
}

async fn send(step: StreamStep) -> io::Result<Bytes> {
    if let Some(gate) = step.gate {
        gate.pass().await;
    }
    if !step.pace.is_zero() {
        tokio::time::sleep(step.pace).await;
    }
    // hyper writes its buffer when the next item is not ready. Without this yield, a cut would discard
    // events of earlier steps.
    tokio::task::yield_now().await;
    step.data
        .ok_or_else(|| io::ErrorKind::ConnectionReset.into())
}
