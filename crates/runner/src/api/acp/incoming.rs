//! Lines of an editor.

use std::borrow::Cow;

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A message of an editor.
pub(super) enum Message<'a> {
    /// A request, to be answered with its id.
    Request {
        id: RequestId,
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    /// The answer to a request of this side; `None` for an error.
    Response {
        id: RequestId,
        result: Option<&'a RawValue>,
    },
}

/// Arguments of a method.
#[derive(Clone, Copy)]
pub(super) struct Params<'a>(Option<&'a RawValue>);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Parses a line.
///
/// # Errors
///
/// The line is not JSON, or not a message of JSON-RPC (JSON-RPC 2.0, section 5.1); batches are none.
pub(super) fn parse(line: &str) -> Result<Message<'_>, Error> {
    let value: &RawValue =
        serde_json::from_str(line).map_err(|error| Error::parse_error().data(error.to_string()))?;
    let invalid = |why: String| Error::invalid_request().data(why);
    let envelope: Envelope<'_> =
        serde_json::from_str(value.get()).map_err(|error| invalid(error.to_string()))?;
    let id = match envelope.id {
        None => None,
        Some(id) => Some(request_id(id)?),
    };
    let params = Params(envelope.params);
    match (envelope.method, id) {
        (Some(method), Some(id)) => Ok(Message::Request { id, method, params }),
        (Some(method), None) => Ok(Message::Notification { method, params }),
        (None, Some(id)) if envelope.result.is_some() || envelope.error.is_some() => {
            Ok(Message::Response {
                id,
                result: envelope.result.filter(|_| envelope.error.is_none()),
            })
        }
        (None, _) => Err(invalid("a message has a method, or a result".to_owned())),
    }
}

fn request_id(id: &RawValue) -> Result<RequestId, Error> {
    serde_json::from_str(id.get())
        .map_err(|_| Error::invalid_request().data("an id is an integer or a string"))
}

impl Params<'_> {
    /// Reads the arguments; none are an empty object.
    ///
    /// # Errors
    ///
    /// The arguments do not match the method.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T, Error> {
        let text = self.0.map_or("{}", RawValue::get);
        serde_json::from_str(text).map_err(|error| Error::invalid_params().data(error.to_string()))
    }
}
